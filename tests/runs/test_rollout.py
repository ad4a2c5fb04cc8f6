"""Rollouts: shapes, broadcasting, failures held, the same bits whatever the backend."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from rollout_commands import TwoWords, exits, grows, kills, lacks, raises

from nmdp_pin._contact import Penalty
from nmdp_pin._control import Command
from nmdp_pin._parallel.tasks import side_by_side, workers
from nmdp_pin._robot import load_robot
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import ControlError, MissingExtra, RobotWarning, StateError, WorkerError
from nmdp_pin.rollout import _chunk, rollout

H = 0.02  # [s]
NB, NT = 5, 4
PATIENCE = 60.0  # [s] for processes to end on a machine that is busy


@pytest.fixture(scope="module")
def simulator():
    """The planar Robosimian on the ground."""
    return Scenario.load("robosimian-jump-paper").build(visuals=False).simulator


def starts(simulator, nb=NB):
    """Standing, each with another velocity, (nb, nx)."""
    rng = np.random.default_rng(0)
    robot = simulator.robot
    v = 0.1 * rng.standard_normal((nb, robot.model.nv))
    return np.hstack([np.tile(robot.standing, (nb, 1)), v])


def torques(simulator, nb=NB, nt=NT):
    """Small ones of the driven joints, (nb, nt, nu)."""
    rng = np.random.default_rng(1)
    return rng.standard_normal((nb, nt, len(simulator.robot.driven)))


def same(one, other):
    """Whether two rollouts agree to the bit, warm starts included."""
    return (
        np.array_equal(one.x, other.x)
        and np.array_equal(one.status, other.status)
        and np.array_equal(one.steps, other.steps)
        and all(
            np.array_equal(a.q, b.q) and a.t == b.t and np.array_equal(a.warm.w, b.warm.w)
            for a, b in zip(one.final, other.final, strict=True)
        )
    )


def test_a_rollout_is_the_steps_one_by_one(simulator):
    """Rows are [q; v] after each step, without the start, of each start and its torques."""
    x0, u = starts(simulator), torques(simulator)
    result = rollout(simulator, x0, u, h=H)
    nq = simulator.robot.model.nq
    assert result.x.shape == (NB, NT, x0.shape[1])
    assert result.ok.all()
    assert (result.steps == NT).all()
    for b in range(NB):
        state = simulator.state(x0[b, :nq], x0[b, nq:])
        for k in range(NT):
            state = simulator.step(state, u[b, k], H).state
            assert np.array_equal(result.x[b, k], np.concatenate([state.q, state.v]))
        assert result.final[b].t == state.t


def test_single_axes_stand_for_all(simulator):
    """One start, one trajectory of torques or one torque is used for all."""
    x0, u = starts(simulator, 3), torques(simulator, 3)
    full = rollout(simulator, np.repeat(x0[:1], 3, axis=0), u, h=H)
    assert same(full, rollout(simulator, x0[0], u, h=H))
    assert same(full, rollout(simulator, x0[:1], u, h=H))
    full = rollout(simulator, x0, np.repeat(u[:1], 3, axis=0), h=H)
    assert same(full, rollout(simulator, x0, u[0], h=H))
    full = rollout(simulator, x0[:2], np.repeat(u[:2, :1], NT, axis=1), h=H)
    assert same(full, rollout(simulator, x0[:2], u[:2, :1], h=H, steps=NT))
    none = rollout(simulator, x0[:2], h=H, steps=2)
    assert same(none, rollout(simulator, x0[:2], 0.0 * u[:1, :2], h=H))
    whole = np.zeros((3, NT, simulator.robot.model.nv))
    whole[:, :, simulator.robot.driven] = u
    assert same(rollout(simulator, x0, u, h=H), rollout(simulator, x0, whole, h=H))


def test_a_rollout_goes_on_where_another_ended(simulator):
    """Two halves from the final states are one whole to the bit."""
    x0, u = starts(simulator, 2), torques(simulator, 2)
    whole = rollout(simulator, x0, u, h=H)
    first = rollout(simulator, x0, u[:, :2], h=H)
    second = rollout(simulator, first.final, u[:, 2:], h=H)
    assert np.array_equal(whole.x, np.concatenate([first.x, second.x], axis=1))
    assert same(replace(whole, x=second.x, steps=second.steps), second)


def test_failed_trajectories_are_marked_and_held(simulator):
    """Status and step of the failure are told, the last good state stays, others go on."""
    hopeless = Scenario.load(
        "robosimian-jump-paper",
        overrides=[
            "integrator.vi_newton.max_iterations=1",
            "integrator.control.min_step=0.02",
            "integrator.dt=0.02",
        ],
    )
    short = hopeless.build(visuals=False).simulator
    x0 = starts(short, 2)
    x0[:, short.robot.model.nq :] = 0.0
    x0[:, 1] += [1.0, 0.02]  # [m]; the first stays in the air, where there is nothing to iterate
    result = rollout(short, x0, h=H, steps=8)
    assert result.ok.tolist() == [True, False]
    assert 0 < result.steps[1] < 8
    for b in np.flatnonzero(~result.ok):
        k = result.steps[b]
        last = result.x[b, k - 1] if k else x0[b]
        assert (result.x[b, k:] == last).all()
        assert result.status[b] > 0
        assert result.final[b].t == pytest.approx(k * H)
    assert np.isfinite(result.x).all()


def test_commands_of_ones_own(simulator):
    """What u means may be said by a function, such as targets of implicit PD."""
    driven = simulator.robot.driven
    nv = simulator.robot.model.nv

    def track(state, u, h):
        gains = np.zeros(nv)
        gains[driven] = 1000.0
        target = simulator.robot.standing.copy()
        target[-len(driven) :] += u[0]
        return Command(kp=gains, kd=0.1 * gains, q_target=target)

    u = np.array([0.0, 0.2]).reshape(2, 1, 1)  # [rad]
    result = rollout(simulator, starts(simulator, 1), u, h=H, steps=NT, command=track)
    nq = simulator.robot.model.nq
    assert result.ok.all()
    moved = result.x[1, -1, :nq] - result.x[0, -1, :nq]
    assert np.abs(moved[-len(driven) :]).max() > 0.05


@pytest.mark.parametrize(
    ("nb", "steps", "chunk"), [(96, 50, 12), (3, 2, 2), (1000, 100, 50), (4, 10_000, 1), (0, 5, 0)]
)
def test_tasks_are_equal_shares(nb, steps, chunk):
    """Of two workers: ten tasks each, or fewer that are worth their cost; none stays idle."""
    assert _chunk(nb, steps, workers=2) == chunk


@pytest.mark.parametrize(("backend", "chunk"), [("loky", 1), ("loky", 2), ("threading", 1)])
def test_workers_give_the_same_bits(simulator, backend, chunk):
    """Whatever the backend and the size of the chunks, also of functions without a name."""
    x0, u = starts(simulator), torques(simulator)
    here = rollout(simulator, x0, 2.0 * u, h=H)
    with parallel_config(backend, n_jobs=2):
        assert same(
            here, rollout(simulator, x0, u, h=H, chunk=chunk, command=lambda state, u, h: 2.0 * u)
        )


@pytest.mark.timeout(60)
def test_a_worker_that_grows_is_replaced():
    """By joblib, whose warning, an error here, would end the thread that hands out the tasks."""
    with parallel_config("loky", n_jobs=2):
        assert sorted(side_by_side(grows, None, range(6))) == [(k, k) for k in range(6)]


@pytest.fixture(scope="module")
def falling():
    """A box over the ground, by pbfd."""
    robot = load_robot("box", base="free-flyer", visuals=False)
    return Simulator(robot, Terrain([Plane(friction=0.5)]), Penalty(), "pbfd")


def tossed(simulator, nb=NB):
    """Boxes that fall with other velocities, (nb, nx)."""
    rng, robot = np.random.default_rng(2), simulator.robot
    v = rng.standard_normal((nb, robot.model.nv))
    return np.hstack([np.tile(robot.standing, (nb, 1)), v])


@pytest.mark.parametrize("gains", [None, "hold"])
def test_threads_give_the_bits_of_single_steps(falling, gains):
    """Whole trajectories in one call, side by side, are the steps that `step` makes."""
    x0, nv = tossed(falling), falling.robot.model.nv
    u = np.random.default_rng(3).standard_normal((NB, 12, nv))
    command = None
    if gains:
        kp = np.full(nv, 5.0)
        command = Command(kp=kp, kd=0.1 * kp, q_target=falling.robot.standing, base_gains=True)
    with parallel_config("threading", n_jobs=2):
        found = rollout(falling, x0, u, h=H, command=command, chunk=1)
    assert found.ok.all()
    for i, start in enumerate(x0):
        state = falling.state(start[: falling.vector.nq], start[falling.vector.nq :])
        for k, tau in enumerate(u[i]):
            told = tau if command is None else replace(command, tau=tau)
            state = falling.step(state, told, H).state
            assert np.array_equal(found.x[i, k], falling.vector.pack(state))
        assert found.final[i].t == state.t


def test_a_failed_step_of_a_trajectory_is_halved(falling):
    """Where the compiled trajectory stops, the step is made as `step` makes it, and it goes on."""
    sim = Simulator(falling.robot, falling.terrain, Penalty(), "pbfd", max_iterations=2)
    x0 = tossed(sim, 1)
    x0[0, sim.vector.nq + 2] = -5.0
    found = rollout(sim, x0, h=H, steps=12)
    state, halved = sim.state(x0[0, : sim.vector.nq], x0[0, sim.vector.nq :]), 0
    for k in range(12):
        result = sim.step(state, None, H)
        state, halved = result.state, halved + result.halvings
        assert np.array_equal(found.x[0, k], sim.vector.pack(state))
    assert halved > 0


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_errors_of_workers_are_typed(simulator, backend):
    """What a worker raises is raised here: of a state of another robot."""
    other = State(0.0, np.zeros(3), np.zeros(3))
    with parallel_config(backend, n_jobs=2), pytest.raises(StateError, match="shape"):
        rollout(simulator, [other, other], h=H, steps=1)


def test_a_killed_process_is_an_error(simulator):
    """It says what may have happened; the next rollout has new processes."""
    x0, u = starts(simulator), torques(simulator)
    with pytest.raises(WorkerError, match="a worker died"):
        rollout(simulator, x0, u, h=H, n_jobs=2, command=kills)
    assert rollout(simulator, x0, u, h=H, n_jobs=2).ok.all()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_memory_is_bounded(backend):
    """Tasks are taken as there is room for them: two a worker are under way."""
    taken = []

    def tasks():
        for k in range(50):
            taken.append(k)
            yield k

    with parallel_config(backend, n_jobs=2):
        results = side_by_side(paused, 2, tasks())
        first = next(results)
        assert len(taken) < 20
        assert sorted([first, *results]) == [(k, 2**k) for k in range(50)]


def paused(base, task):
    """A power, some time later."""
    time.sleep(0.05)
    return base**task


def test_workers_that_stay_take_what_is_shared_anew():
    """Processes are kept for the next call, which shares something else."""
    assert dict(side_by_side(pow, 2, [3, 4], n_jobs=2)) == {0: 8, 1: 16}
    assert dict(side_by_side(pow, 3, [3, 4], n_jobs=2)) == {0: 27, 1: 81}


def test_results_come_as_they_are_made():
    """A task that takes long does not hold back those behind it."""
    results = side_by_side(time_of, None, [1.0, 0.0, 0.0], n_jobs=2)
    assert [place for place, _ in results][-1] == 0


def time_of(shared, task):
    """Sleep so long."""
    time.sleep(task)


def test_out_and_progress(simulator, tmp_path):
    """Results are written into the array that is given, and progress is told."""
    x0, u = starts(simulator), torques(simulator)
    shape = (NB, NT, x0.shape[1])
    out = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=shape)
    told = []
    result = rollout(
        simulator, x0, u, h=H, out=out, chunk=2, progress=lambda done, n: told.append((done, n))
    )
    assert result.x is out
    assert np.array_equal(out, rollout(simulator, x0, u, h=H).x)
    assert told == [(2, NB), (4, NB), (NB, NB)]


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"x0": np.zeros((2, 3))}, StateError, r"x0 has shape \(2, 3\), expected \(nb, 30\)"),
        ({"x0": np.zeros((2, 2, 30))}, StateError, "x0 has shape"),
        ({"x0": "standing"}, StateError, "x0 must be an array of numbers"),
        ({"x0": np.full((2, 30), np.nan)}, StateError, r"x0\[0\]: q must hold finite"),
        ({"u": np.zeros(12)}, ControlError, r"expected \(nb, nt, nu\)"),
        ({"u": np.zeros((2, 4, 7))}, ControlError, "nu = 12 or 15"),
        ({"u": np.full((2, 4, 12), np.inf)}, ControlError, r"u\[0, 0, 0\] is not one"),
        ({"u": np.zeros((3, 4, 12))}, StateError, "x0 has 2 trajectories and u has 3"),
        ({"u": None}, ControlError, "say with `steps`"),
        ({"steps": 7}, ControlError, "u has 4 steps, expected 1 or steps = 7"),
        ({"steps": -1}, StateError, "steps must be a whole number >= 0"),
        ({"chunk": 0}, StateError, "chunk must be a whole number >= 1"),
        ({"out": np.zeros((2, 4, 29))}, StateError, r"expected \(2, 4, 30\) of float64"),
    ],
)
def test_wrong_arguments(simulator, change, error, says):
    """Each mistake is refused before anything is computed, and says what was expected."""
    given = {"x0": starts(simulator, 2), "u": torques(simulator, 2), "h": H, **change}
    with pytest.raises(error, match=says):
        rollout(simulator, given.pop("x0"), given.pop("u"), **given)


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "two"])
def test_wrong_numbers_of_workers(n_jobs):
    """They are whole numbers, as joblib takes them."""
    with pytest.raises(WorkerError, match="n_jobs must be a whole number"):
        workers(n_jobs)


def test_the_number_of_workers_is_that_of_joblib():
    """One, but where n_jobs or the surrounding context says so."""
    assert workers() == 1
    assert workers(3) == 3
    with parallel_config("threading", n_jobs=2):
        assert workers() == 2


def test_nothing_to_do(simulator):
    """No trajectory and no step are a rollout too."""
    nx = starts(simulator).shape[1]
    assert rollout(simulator, np.zeros((0, nx)), h=H, steps=3).x.shape == (0, 3, nx)
    still = rollout(simulator, starts(simulator, 2), h=H, steps=0)
    assert still.x.shape == (2, 0, nx)
    assert still.ok.all()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_errors_of_tasks_arrive(backend):
    """Those of this package as they are; others never hang, though they cannot be sent."""
    with parallel_config(backend, n_jobs=2):
        with pytest.raises(MissingExtra, match="onnx is not installed"):
            list(side_by_side(lacks, None, [0]))
        with pytest.raises((TwoWords, WorkerError)):
            list(side_by_side(raises, None, [0]))


@pytest.mark.parametrize("backend", ["sequential", "loky", "threading"])
def test_a_task_that_exits_is_an_error(backend):
    """A task that calls sys.exit ends neither the program nor the worker for the next task."""
    with parallel_config(backend, n_jobs=1 if backend == "sequential" else 2):
        with pytest.raises(WorkerError, match=r"sys\.exit\(3\)"):
            list(side_by_side(exits, None, [3]))
        assert dict(side_by_side(pow, 2, [3])) == {0: 8}


INTERRUPTS = """
import signal
from rollout_commands import blocked
from nmdp_pin._parallel.tasks import side_by_side
print([mask for _, mask in side_by_side(blocked, None, range(2), n_jobs=2)])
print(blocked(None, 0))
"""


def test_workers_leave_ctrl_c_to_the_program():
    """A terminal sends it to all processes, and workers that start or compute would print it."""
    made = subprocess.run(
        [sys.executable, "-c", INTERRUPTS],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert made.stdout.splitlines() == ["[True, True]", "False"], made.stderr


def test_workers_end_with_a_killed_program(tmp_path):
    """They neither compute on nor wait, in the middle of a task."""
    code = (
        "import os, signal, time\n"
        "from nmdp_pin._parallel.tasks import side_by_side\n"
        "def told(folder, task):\n"
        "    open(f'{folder}/{os.getpid()}', 'w').close()\n"
        "    time.sleep(task)\n"
        "for _ in side_by_side(told, os.environ['FOLDER'], [0.0, 300.0, 300.0], n_jobs=2):\n"
        "    while len(os.listdir(os.environ['FOLDER'])) < 2:\n"
        "        time.sleep(0.05)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    script, folder = tmp_path / "script.py", tmp_path / "folder"
    script.write_text(code)
    folder.mkdir()
    environment = {**os.environ, "FOLDER": str(folder)}
    done = subprocess.run([sys.executable, str(script)], env=environment, timeout=PATIENCE)
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + PATIENCE
    while any(Path("/proc", name).exists() for name in os.listdir(folder)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_overlaps_are_told_once():
    """A box whose one contact point is its middle lies in the ground, as `run` says of it, too."""
    robot = load_robot("box", contacts=[("middle", "box", (0.0, 0.0, 0.0), 0.01)])
    sunk = Simulator(robot, Terrain(Plane()), Penalty(), "pbfd")
    q = robot.standing.copy()
    q[2] = 0.02
    with pytest.warns(RobotWarning, match="'box' and the ground overlap by 0.08 m"):
        rollout(sunk, sunk.state(q), h=1e-4, steps=2)
    rollout(sunk, sunk.state(q), h=1e-4, steps=1)
