"""Rollouts: shapes, broadcasting, failures held, the same bits whatever the executor."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from rollout_commands import KillsOnce, exits, kills, lacks, raises

from nmdp_pin.contact import Penalty
from nmdp_pin.control import Command
from nmdp_pin.errors import ControlError, ExecutorError, MissingExtra, StateError
from nmdp_pin.executors import Processes, Serial, Threads
from nmdp_pin.robot import load_robot
from nmdp_pin.rollout import rollout
from nmdp_pin.scenario import Scenario
from nmdp_pin.simulator import Simulator
from nmdp_pin.state import State
from nmdp_pin.terrain import Plane, Terrain

H = 0.02  # [s]
NB, NT = 5, 4
PATIENCE = 60.0  # [s] for processes to end on a machine that is busy


@pytest.fixture(scope="module")
def simulator():
    """The planar Robosimian on the ground."""
    return Scenario.load("robosimian-jump").build(visuals=False).simulator


@pytest.fixture(scope="module")
def processes():
    """One pool for all tests."""
    with Processes(2) as pool:
        yield pool


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
        "robosimian-jump",
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


def test_processes_give_the_same_bits(simulator, processes):
    """Whatever the executor, the size of the chunks, and in a pool that is used again."""
    x0, u = starts(simulator), torques(simulator)
    here = rollout(simulator, x0, u, h=H, executor=Serial())
    assert same(here, rollout(simulator, x0, u, h=H, executor=processes, chunk=1))
    pids = set(processes._pool._processes)
    assert same(here, rollout(simulator, x0, u, h=H, executor=processes, chunk=2))
    assert set(processes._pool._processes) == pids


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
    with Threads(2) as threads:
        found = rollout(falling, x0, u, h=H, command=command, executor=threads, chunk=1)
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


def test_threads_raise_what_a_task_raises(falling):
    """A mistake in a task is an error of the caller."""
    with Threads(2) as threads, pytest.raises(StateError):
        rollout(falling, tossed(falling), h=20.0, steps=2, executor=threads)
    with pytest.raises(ExecutorError, match="workers"):
        Threads(0)


def test_a_killed_process_costs_nothing_but_time(simulator, processes, tmp_path):
    """The rollout is complete and the same to the bit."""
    x0, u = starts(simulator), torques(simulator)
    here = rollout(simulator, x0, u, h=H)
    marker = tmp_path / "killed"
    command = KillsOnce(marker, at=2 * H)
    there = rollout(simulator, x0, u, h=H, executor=processes, command=command, chunk=1)
    assert marker.exists()
    assert same(here, there)


def test_a_task_that_always_kills_is_given_up(simulator):
    """Retries are counted, and the error says what may have happened."""
    with Processes(1, retries=0) as pool, pytest.raises(ExecutorError, match="died 1 times"):
        rollout(simulator, starts(simulator), torques(simulator), h=H, executor=pool, command=kills)


def test_errors_of_workers_are_typed(simulator, processes):
    """What a worker raises is raised here: of a state of another robot."""
    other = State(0.0, np.zeros(3), np.zeros(3))
    with pytest.raises(StateError, match="shape"):
        rollout(simulator, [other, other], h=H, steps=1, executor=processes)


def asleep(shared, task):
    """Takes longer than anybody waits."""
    time.sleep(shared)


def test_processes_end_in_the_middle_of_a_task():
    """A pool can be closed without waiting for what is under way."""
    pool = Processes(1)
    future = pool._submit(asleep, pool._keep(10.0 * PATIENCE), 0)
    while not future.running():
        time.sleep(0.01)
    begin = time.monotonic()
    pool.close(at_once=True)
    assert time.monotonic() - begin < PATIENCE


def test_memory_is_bounded(processes):
    """Tasks are taken as there is room for them: two a worker are under way."""
    taken = []

    def tasks():
        for k in range(50):
            taken.append(k)
            yield k

    results = processes.map(pow, 2, tasks())
    first = next(results)
    assert len(taken) <= 2 * processes.workers + 1
    assert sorted([first, *results]) == [(k, 2**k) for k in range(50)]


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


def test_wrong_numbers_of_workers():
    """Workers and retries are counts."""
    with pytest.raises(ExecutorError, match="workers must be a whole number >= 1"):
        Processes(0)
    with pytest.raises(ExecutorError, match="retries must be a whole number >= 0"):
        Processes(1, retries=-1)


def test_nothing_to_do(simulator):
    """No trajectory and no step are a rollout too."""
    nx = starts(simulator).shape[1]
    assert rollout(simulator, np.zeros((0, nx)), h=H, steps=3).x.shape == (0, 3, nx)
    still = rollout(simulator, starts(simulator, 2), h=H, steps=0)
    assert still.x.shape == (2, 0, nx)
    assert still.ok.all()


def test_errors_of_tasks_arrive():
    """Those of this package as they are, others that cannot be sent by their text."""
    with Processes(1) as executor:
        with pytest.raises(MissingExtra, match="onnx is not installed"):
            list(executor.map(lacks, None, [0]))
        with pytest.raises(ExecutorError, match="a task failed: TwoWords: it fails"):
            list(executor.map(raises, None, [0]))


@pytest.mark.parametrize(
    "executor", [Serial(), Threads(1), Processes(1)], ids=["serial", "thread", "process"]
)
def test_a_task_that_exits_is_an_error(executor):
    """A task that calls sys.exit ends neither the program nor the worker for the next task."""
    with executor:
        with pytest.raises(ExecutorError, match=r"sys\.exit\(3\)"):
            list(executor.map(exits, None, [3]))
        assert dict(executor.map(pow, 2, [3])) == {0: 8}


def test_a_killed_program_leaves_no_folder(tmp_path):
    """The workers remove what their parent shared with them, and end."""
    code = (
        "import os, signal\n"
        "from nmdp_pin.executors import Processes\n"
        "if __name__ == '__main__':\n"
        "    executor = Processes(2)\n"
        "    assert dict(executor.map(pow, 2, [3])) == {0: 8}\n"
        "    assert os.listdir(os.environ['TMPDIR'])\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    folder = tmp_path / "shared"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, str(script)], env=environment, timeout=60)
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60.0
    while os.listdir(folder):
        assert time.monotonic() < deadline
        time.sleep(0.05)
