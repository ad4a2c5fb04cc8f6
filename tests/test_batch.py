"""Batches: agreement with the sequential code, the schedule, failures, arguments."""

import re
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pinocchio as pin
import pytest
from batch_samples import QUICK, ground_under, robot, starts

from nmdp_pin import (
    Command,
    NmdpError,
    Penalty,
    Plane,
    Simulator,
    Status,
    Terrain,
    load_robot,
)
from nmdp_pin.batch import Batch, BatchResult
from nmdp_pin.errors import BatchError

AGREEMENT = 1e-9  # [rad, m] of configurations: what is asked for; the largest seen is 8e-12
VELOCITY = 1e-7  # [rad/s, m/s] the same over a step of 5 ms
LANES = 1e-10  # between places in a batch: compilers may sum in another order
SINGLE = 2e-3  # [m, rad] single precision over 20 steps
K, T = 3, 20
LAW = {"friction_stiffness", "beta"}
CASES = [
    ("chain", "fixed", "pbfd", {}, 0.005),
    ("chain", "free-flyer", "pbfd", {}, 0.005),
    ("box", "free-flyer", "pbd", {"optimiser": "lm"}, 0.01),
    ("robosimian", "free-flyer", "pbfd", {"friction_stiffness": 1e9}, 0.005),
    ("spider", "planar", "pbd", {"optimiser": "jtj-lm"}, 0.005),
    ("box", "planar", "pbfd", {"beta": 1.5}, 0.01),
]


def commands(name: str, base: str):
    """Torques of the driven joints, and gains that hold the standing pose."""
    bot, rng = robot(name, base), np.random.default_rng(3)
    tau, kp, kd = np.zeros((K, T, bot.model.nv)), np.zeros(bot.model.nv), np.zeros(bot.model.nv)
    tau[:, :, bot.driven] = 0.05 * rng.normal(size=(K, T, len(bot.driven)))
    kp[bot.driven], kd[bot.driven] = 20.0, 0.5
    return tau, kp, kd


@pytest.mark.parametrize(("name", "base", "method", "options", "h"), CASES)
def test_agreement_with_the_sequential_code(name, base, method, options, h):
    """The same steps in as many iterations, in contact, with torques and gains."""
    bot = robot(name, base)
    q0, v0 = starts(bot, K)
    terrain = ground_under(bot, q0)
    tau, kp, kd = commands(name, base)
    batch = Batch(bot, terrain, method, compiler_options=QUICK, **options)
    found = batch.rollout(q0, v0, tau, h=h, kp=kp, kd=kd, q_target=bot.standing)
    assert found.ok.all()
    assert found.q.shape == (K, T + 1, bot.model.nq)
    law = Penalty(**{k: v for k, v in options.items() if k in LAW})
    rest = {k: v for k, v in options.items() if k not in LAW}
    simulator = Simulator(bot, terrain, law, method, **rest)
    touched = 0
    for k in range(K):
        state = simulator.state(q0[k], v0[k])
        for i in range(T):
            command = Command(tau=tau[k, i], kp=kp, kd=kd, q_target=bot.standing)
            result = simulator.step(state, command, h)
            assert result.status.ok
            assert result.halvings == 0
            state = result.state
            touched += result.contact_depths.any()
            np.testing.assert_allclose(found.q[k, i + 1], state.q, rtol=0.0, atol=AGREEMENT)
            np.testing.assert_allclose(found.v[k, i + 1], state.v, rtol=0.0, atol=VELOCITY)
            assert found.iterations[k, i] == result.iterations
    assert touched > T / 2


@pytest.fixture(scope="module")
def box():
    """A box in the plane, on the ground."""
    bot = robot("box", "planar")
    q0, v0 = starts(bot, K)
    return Batch(bot, ground_under(bot, q0), compiler_options=QUICK, chunk=K), q0, v0


def test_trajectories_do_not_see_each_other(box):
    """Another order of the trajectories gives the same trajectories."""
    batch, q0, v0 = box
    one, other = (
        batch.rollout(q0, v0, h=0.01, steps=T),
        batch.rollout(q0[::-1], v0[::-1], h=0.01, steps=T),
    )
    np.testing.assert_allclose(one.q, other.q[::-1], rtol=0.0, atol=LANES)
    np.testing.assert_array_equal(one.iterations, other.iterations[::-1])


def test_the_same_arguments_give_the_same_bits(box):
    """A rollout is a pure function."""
    batch, q0, v0 = box
    one, other = (batch.rollout(q0, v0, h=0.01, steps=T) for _ in range(2))
    np.testing.assert_array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.v, other.v)


def test_a_failure_stops_one_trajectory(box):
    """A trajectory that fails is marked and stays where it is; the others go on."""
    batch, q0, v0 = box
    good = batch.rollout(q0, v0, h=0.01, steps=T)
    v0 = v0.copy()
    v0[1] = 1e200
    found = batch.rollout(q0, v0, h=0.01, steps=T)
    assert found.statuses[1] is Status.NOT_FINITE
    assert found.ok.tolist() == [True, False, True]
    assert found.steps.tolist() == [T, 0, T]
    np.testing.assert_array_equal(found.q[1], np.tile(q0[1], (T + 1, 1)))
    np.testing.assert_array_equal(found.v[1], np.tile(v0[1], (T + 1, 1)))
    np.testing.assert_allclose(found.q[[0, 2]], good.q[[0, 2]], rtol=0.0, atol=LANES)


def test_nobody_waits(box):
    """Fast trajectories are not held up by slow ones: fewer sweeps than in lock-step."""
    batch, q0, v0 = box
    q0 = q0.copy()
    q0[0, 1] += 1.0  # falls freely: one iteration a step
    found = batch.rollout(q0, v0, h=0.01, steps=T)
    assert found.iterations[0].sum() < found.iterations[1:].sum(axis=1).min()
    slowest = (found.iterations + 1).sum(axis=1).max()
    assert found.sweeps.tolist() == [slowest + 1]  # and one for the start
    assert found.lock_step_utilisation <= found.utilisation < 1.0


def test_chunks_and_single_axes(box):
    """Chunks, the last one filled up, and arrays given once for all trajectories or steps."""
    batch, q0, _ = box
    whole = batch.rollout(q0, h=0.01, steps=T)
    chunked = Batch(batch.robot, batch.terrain, chunk=2, compiler_options=QUICK)
    torque = np.zeros((1, 1, 3))
    parts = chunked.rollout(q0, np.zeros(3), torque, h=0.01, steps=T)
    np.testing.assert_allclose(parts.q, whole.q, rtol=0.0, atol=LANES)
    assert len(parts.sweeps) == 2
    assert parts.chunk == 2


def test_single_precision(box):
    """Single precision is close to double, and neither changes what others compute with."""
    batch, q0, v0 = box
    single = Batch(batch.robot, batch.terrain, precision="single", compiler_options=QUICK, chunk=K)
    double = batch.rollout(q0, v0, h=0.01, steps=T)
    found = single.rollout(q0, v0, h=0.01, steps=T)
    assert found.ok.all()
    np.testing.assert_allclose(found.q, double.q, rtol=0.0, atol=SINGLE)
    assert jnp.zeros(1).dtype == np.float32


def test_utilisation_is_counted():
    """A result's shares, from known iterations: a chunk of two, three steps."""
    iterations = np.array([[1, 3, 1], [2, 0, 0]])
    result = BatchResult(
        q=np.zeros((2, 4, 1)),
        v=np.zeros((2, 4, 1)),
        statuses=(Status.CONVERGED, Status.STALLED),
        iterations=iterations,
        steps=np.array([3, 1]),
        sweeps=np.array([10]),
        chunk=2,
    )
    made = (2 + 4 + 2) + 3
    assert result.utilisation == made / 20
    assert result.lock_step_utilisation == made / (2 * (3 + 4 + 2))


def wrong(**changes):
    """Arguments of a rollout with some of them changed."""
    bot = robot("box", "free-flyer")
    return {"q0": np.tile(bot.standing, (2, 1)), "h": 0.01, "steps": 3, **changes}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (wrong(q0=np.zeros((2, 6))), r"q0 has shape \(2, 6\)"),
        (wrong(q0=np.zeros((2, 7))), "not of unit length"),
        (wrong(q0="here"), "array of numbers"),
        (wrong(v0=np.full(6, np.nan)), "6 are not"),
        (wrong(v0=np.zeros((3, 6))), "first axis of q0 has length 2, but must have 3 or 1"),
        (wrong(tau=np.zeros((2, 4, 6))), "steps = 3|second axis of steps"),
        (wrong(steps=None), "give steps"),
        (wrong(steps=0), "steps must be an integer >= 1"),
        (wrong(h=10.0), "h must be a length"),
        (wrong(kp=np.ones(6)), "without q_target"),
        (wrong(kd=-np.ones(6)), ">= 0"),
        (wrong(kd=np.ones(5)), r"expected \(6,\)"),
    ],
)
def test_mistakes_in_arrays(arguments, says):
    """Each is a BatchError that says what was given."""
    batch = Batch(robot("box", "free-flyer"), Terrain([Plane()]))
    with pytest.raises(BatchError, match=says):
        batch.rollout(arguments.pop("q0"), **arguments)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "ne-nmdp"}, "method must be one of"),
        ({"precision": "half"}, "precision must be"),
        ({"optimiser": "lbfgs"}, "not 'lbfgs'"),
        ({"chunk": 0}, "chunk must be"),
        ({"alpha": 0.5}, "alpha must be"),
        ({"tolerance": 2.0}, "tolerance must be"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_mistakes_in_options(options, says):
    """Each is an NmdpError that says what is allowed."""
    with pytest.raises(NmdpError, match=says):
        Batch(robot("box", "planar"), Terrain([Plane()]), **options)


def test_the_documents_snippet_runs(capsys):
    """What the page on batches shows runs as it stands, and the faster box slides farther."""
    page = (Path(__file__).parents[1] / "docs/batch.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names = {"__name__": "__main__"}
    exec(compile(code, "docs/batch.md", "exec"), names)
    assert capsys.readouterr().out.startswith("True")
    distance = names["result"].q[:, -1, 0] - names["q0"][:, 0]
    assert (np.diff(distance) > 0.0).all()


def test_without_jax_the_extra_is_named():
    """Importing the package without jax says what to install."""
    code = "import sys; sys.modules['jax'] = None\nimport nmdp_pin.batch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "MissingExtra: jax is not installed" in done.stderr
    assert "nmdp-pin[batch]" in done.stderr


def test_a_robot_without_contact_points():
    """A pendulum that nothing touches keeps to the sequential code."""
    bot = load_robot("chain", base="fixed", contacts=[], visuals=False)
    q0 = pin.integrate(bot.model, bot.standing, np.full(bot.model.nv, 0.1))
    terrain = Terrain([Plane(height=-9.0)])
    found = Batch(bot, terrain, compiler_options=QUICK).rollout(q0, h=0.02, steps=5)
    simulator = Simulator(bot, terrain, Penalty(), "pbfd")
    state = simulator.state(q0)
    for i in range(5):
        state = simulator.step(state, None, 0.02).state
        np.testing.assert_allclose(found.q[0, i + 1], state.q, rtol=0.0, atol=AGREEMENT)
