"""Steps on vectors, states in files, and what replays to the bit."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import derivative_scenes as scenes
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._runs.state_file import load_state, save_state
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import ErrorControl, Halving
from nmdp_pin.errors import RecordingError, StateError

ROUNDING = 1e-12
WARM = ("contacts", "w", "joints", "a")  # arrays of a warm start
H = scenes.H


def same(a, b):
    """Whether two states are the same to the bit, warm start too."""
    pairs = [(a.q, b.q), (a.v, b.v)]
    pairs += [(getattr(a.warm, name), getattr(b.warm, name)) for name in WARM]
    equal = all(np.array_equal(x, y) for x, y in pairs)
    return equal and a.t == b.t and a.warm.gamma == b.warm.gamma and a.h_next == b.h_next


@pytest.fixture
def robot():
    """A simulator of second order with error control, a state and a torque."""
    sim, state, command = scenes.standing("free-flyer", "ne-nmdp", True)
    ordinary = Simulator(
        sim.robot, sim.terrain, sim.contact, "ne-nmdp", control=ErrorControl(rtol=0.1)
    )
    return ordinary, state, command


def test_vectors_are_states(robot):
    """Pack and unpack invert each other; so do integrate and difference, on the manifold."""
    sim, state, _ = robot
    space, model = sim.vector, sim.robot.model
    assert (space.nx, space.ndx) == (model.nq + model.nv, 2 * model.nv)
    x = space.pack(state)
    again = space.unpack(x, t=2.0)
    assert np.array_equal(again.q, state.q)
    assert np.array_equal(again.v, state.v)
    assert again.t == 2.0
    assert space.unpack(x).t == 0.0
    dx = np.random.default_rng(0).standard_normal(space.ndx)
    x1 = space.integrate(x, dx)
    assert pin.isNormalized(model, x1[: model.nq], ROUNDING)
    np.testing.assert_allclose(space.difference(x, x1), dx, atol=ROUNDING)
    assert np.array_equal(space.neutral()[: model.nq], pin.neutral(model))
    assert not space.neutral()[model.nq :].any()
    x[:] = 0.0
    assert state.q.any(), "a vector is a copy"


@pytest.mark.parametrize(
    "call",
    [
        lambda space, x: space.unpack(x[:-1]),
        lambda space, x: space.difference(x, x[1:]),
        lambda space, x: space.integrate(x, x),
        lambda space, x: space.unpack("x"),
    ],
)
def test_wrong_vectors_say_so(robot, call):
    """A typed error with the shape that was given."""
    sim, state, _ = robot
    with pytest.raises(StateError, match=r"shape|numbers"):
        call(sim.vector, sim.vector.pack(state))


def test_a_step_on_vectors_has_no_memory(robot):
    """It is the step of the state, whatever was stepped before; a warm start is an argument."""
    sim, state, _ = robot
    u = 3.0 * np.ones(len(sim.robot.driven))
    x = sim.vector.pack(state)
    x1, info = sim.step_x(x, u, H)
    assert info.status.ok
    expected = sim.step(sim.state(state.q, state.v), u, H).state
    assert np.array_equal(x1, sim.vector.pack(expected))
    sim.step_x(x1, None, 2 * H, warm=info.state.warm)
    again, _ = sim.step_x(x, u, H)
    assert np.array_equal(x1, again)
    assert sim.step_x(x, u, H, t=1.0)[1].state.t == pytest.approx(1.0 + H)


def test_a_failed_step_stays(robot):
    """The vector that comes out is the one that went in."""
    sim, state, _ = robot
    stuck = Simulator(
        sim.robot,
        sim.terrain,
        sim.contact,
        vi_newton=ViNewton(max_iterations=1),
        restarts=False,
        control=Halving(min_step=H),
    )
    x = sim.vector.pack(state)
    x[-1] += 50.0
    x1, info = stuck.step_x(x, None, H)
    assert not info.status.ok
    assert np.array_equal(x1, x)


def test_a_saved_state_replays_to_the_bit(robot, tmp_path):
    """Warm start and the length to try next are in the file."""
    sim, state, command = robot
    for _ in range(3):
        state = sim.step(state, command, H).state
    assert state.warm is not None
    assert state.h_next is not None
    save_state(tmp_path / "state.npz", state)
    loaded = load_state(tmp_path / "state.npz")
    assert same(loaded, state)
    for _ in range(3):
        state, loaded = (sim.step(s, command, H).state for s in (state, loaded))
    assert same(loaded, state)


def test_what_a_file_holds_beside_a_state_is_ignored(robot, tmp_path):
    """Facts and arrays of other names are not read; the state is."""
    path = tmp_path / "state.npz"
    save_state(path, robot[1])
    with np.load(path) as archive:
        arrays = dict(archive)
    meta = json.loads(str(arrays["meta"])) | {"history": {"h": 0.1, "smooth": True}}
    arrays |= {f"history.{name}": np.zeros(18) for name in ("q0", "v0", "q1", "v1")}
    np.savez(path, **(arrays | {"meta": np.array(json.dumps(meta))}))
    loaded = load_state(path)
    assert np.array_equal(loaded.q, robot[1].q)
    assert np.array_equal(loaded.v, robot[1].v)


def test_other_files_are_refused(robot, tmp_path):
    """No file, no archive, an archive of something else, a later or an earlier format."""
    path = tmp_path / "state.npz"
    with pytest.raises(RecordingError, match="there is no state"):
        load_state(path)
    path.write_text("q = 0")
    with pytest.raises(RecordingError, match="not a state"):
        load_state(path)
    np.savez(path, q=np.zeros(3))
    with pytest.raises(RecordingError, match="not a state"):
        load_state(path)
    for version in (99, 1):
        meta = np.array(json.dumps({"state": version}))
        np.savez(path, q=np.zeros(3), v=np.zeros(3), meta=meta)
        with pytest.raises(RecordingError, match=f"has format {version}"):
            load_state(path)
    np.savez(path, q=np.array([None]), v=np.zeros(3), meta=np.array('{"state": 2}'))
    with pytest.raises(RecordingError, match="Object arrays"):
        load_state(path)
    np.savez(path, q=np.zeros(3), meta=np.array('{"state": 2, "t": 0, "h_next": null}'))
    with pytest.raises(RecordingError, match="'v'"):
        load_state(path)


def test_pickling_rebuilds_the_scratch(robot):
    """A copy by pickle shares no memory and makes the same steps to the bit."""
    sim, state, command = robot
    copy = pickle.loads(pickle.dumps(sim))
    assert copy.integrator is not sim.integrator
    assert copy.integrator.form.record is not sim.integrator.form.record
    first = sim.step(state, command, H).state
    copy.step(first, command, 2 * H)
    assert same(copy.step(state, command, H).state, first)


@pytest.mark.parametrize("shared", [False, True])
def test_threads(robot, shared):
    """Threads with a copy each, or with one simulator, get what one thread gets, to the bit."""
    sim, state, command = robot
    copies = [sim if shared else pickle.loads(pickle.dumps(sim)) for _ in range(3)]

    def run(simulator):
        s = state
        for _ in range(3):
            s = simulator.step(s, command, H).state
        return s

    with ThreadPoolExecutor(3) as pool:
        ends = list(pool.map(run, copies))
    expected = run(sim)
    assert all(same(found, expected) for found in ends)
