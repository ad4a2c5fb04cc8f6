"""Rollouts: many trajectories, from many starts and under many torques."""

import warnings
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nmdp_pin._control.controller import Command
from nmdp_pin._dynamics.commands import new_plan, write_plan
from nmdp_pin._dynamics.parameter_set import ParameterSet
from nmdp_pin._integrators.integrator import time_after
from nmdp_pin._kernels.tree.joints import Commands
from nmdp_pin._options import check_part, check_parts, numbers
from nmdp_pin._parallel.jax_backend import Jax, check_backend
from nmdp_pin._parallel.ray_cluster import ray_cluster
from nmdp_pin._parallel.tasks import Progress, shown, side_by_side, workers
from nmdp_pin._robot.overlaps import OverlapCheck, contact_depth, overlap_sentences
from nmdp_pin._simulator.argument_check import check_count, check_step
from nmdp_pin._simulator.control_input import CommandOf, ControlInput
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.errors import (
    ControlError,
    IntegratorError,
    ParameterError,
    RobotWarning,
    StateError,
    WorkerError,
)

if TYPE_CHECKING:  # JAX is optional
    from nmdp_pin._jax.roller import DeviceRoller

__all__ = ["Jax", "Rollout", "ray_cluster", "rollout"]

_AT_ONCE = 100  # steps of a compiled call, which neither Ctrl-C nor another thread interrupts
_LOOKED_AT = 16  # of the last states, for overlaps
_CHECKED: weakref.WeakSet[Simulator] = weakref.WeakSet()
_CHUNKS = 10  # for each worker, so that none has much left when the others are done
_WORTH_IT = 500  # steps that make a task, which costs a millisecond: the fastest take 10


@dataclass(frozen=True, eq=False)
class Rollout:
    """Result of a rollout: nb trajectories of nt steps.

    Args:
        x: [q; v] at the end of each step, shape (nb, nt, nx); from a step that failed on, the
            last good one.
        status: codes of `Status`, 0 for complete trajectories, shape (nb,).
        steps: number of steps made: nt, or the index of the step that failed, shape (nb,).
        final: last good state of each trajectory with its warm start, (nb,); a rollout from
            there continues to the bit.
    """

    x: np.ndarray
    status: np.ndarray
    steps: np.ndarray
    final: tuple[State, ...]

    @property
    def ok(self) -> np.ndarray:
        """Mask of the complete trajectories, shape (nb,)."""
        result: np.ndarray = self.status == Status.CONVERGED.code
        return result


@dataclass(frozen=True, eq=False)
class _Chunk:
    """A part of the trajectories; an axis of u of length 1 stands for all.

    Without parameters or controls of its own a trajectory has those of all.
    """

    starts: tuple[State, ...]
    parameters: Sequence[Mapping[str, Any]]
    controls: Sequence[ControlInput]
    u: np.ndarray
    steps: int
    h: float


def rollout(
    simulator: Simulator,
    x0: np.ndarray | State | Sequence[State],
    u: np.ndarray | None = None,
    *,
    h: float,
    steps: int | None = None,
    command: CommandOf | Command | Sequence[Command] | None = None,
    targets: bool = False,
    parameters: Sequence[Mapping[str, Any]] = (),
    n_jobs: int | None = None,
    chunk: int | None = None,
    out: np.ndarray | None = None,
    progress: bool | Progress = False,
    backend: Jax | None = None,
) -> Rollout:
    """Make nt steps of each of nb trajectories; the bits do not depend on the workers.

    The first call for a simulator warns of bodies that overlap at the ends of trajectories, in up
    to 31 of these.

    nb is the length of the first axis of x0 and u, of `parameters` and of several commands, nt that
    of the second axis of u; an axis of length 1 stands for all trajectories, or for all steps.

    Args:
        simulator: simulator of the steps.
        x0: starts [q; v], shape (nb or 1, nx) or (nx,); or states, which may have a warm start.
        u: torques of the driven joints, or of all velocities [N m], shape (nb or 1, nt or 1,
            nu or nv) or (nt or 1, nu or nv); with `command` any last axis. None: no torque.
        h: length of each step [s].
        steps: number of steps nt; None: that of u.
        command: a `Command`, whose gains and targets hold for all steps, and to whose torque u is
            added; None: u is the torque. Or one for each trajectory, (nb,), such as with other
            gains. Or a function that turns u into the command of a step, which costs the time of a
            call of Python in each.
        targets: whether u moves the targets of `command`, instead of adding torques [rad, m].
        parameters: parameters of `Simulator.with_parameters` for each trajectory, (nb,), or one
            set for all; empty: those of the simulator.
        n_jobs: number of processes, -1: one a core; None: what `joblib.parallel_config` says, else
            1. Its backend may be threads, where steps of `pbd` and `pbfd` run in parallel.
        chunk: number of trajectories in a task; None: ten tasks for each worker, or fewer of 500
            steps, of `Jax` one.
        out: array for x, such as a `numpy.memmap`.
        progress: True draws a bar on a terminal; a function is called with the number of
            trajectories done and the number of all.
        backend: None: compiled steps, or a `Jax`, which makes all trajectories of a task at once.

    Raises:
        IntegratorError: the backend is unknown, or lacks what the simulator has.
        MissingExtra: JAX is not installed.
        StateError: x0, h, steps, chunk or out cannot be used.
        ControlError: u cannot be used.
        ParameterError: a set of parameters cannot be used.
        WorkerError: a worker died, or `command` ended its process.
    """
    check_step(h)
    asked, starts = simulator, _starts(simulator, x0)
    parameters = _sets(simulator, parameters)
    u, steps = _controls(simulator, u, steps, any_size=callable(command))
    commands = command if isinstance(command, Sequence) else (command,)
    controls = [ControlInput.of(simulator, each, targets=targets) for each in commands]
    nb = _batch(x0=len(starts), u=len(u), parameters=max(len(parameters), 1), command=len(controls))
    if len(starts) != nb:
        starts = starts * nb
    if len(parameters) == 1:
        simulator, parameters = simulator.with_parameters(**parameters[0]), ()
    control, controls = controls[0], controls[: len(controls) if len(controls) > 1 else 0]
    roller = _roller(simulator, control, backend, n_jobs)
    if roller and (parameters or controls):
        raise IntegratorError(
            "a Jax backend has one set of parameters and one command for all trajectories, got "
            f"{max(len(parameters), len(controls))}"
        )
    if chunk is None:
        chunk = max(1, nb if roller else _chunk(nb, steps, workers(n_jobs)))
    check_count("chunk", chunk, 1)
    x = _array_for(out, (nb, steps, simulator.vector.nx))
    status, made, final = np.zeros(nb, int), np.zeros(nb, int), list(starts)
    done, shared = 0, (simulator, control)
    with shown(progress, "trajectories", nb) as show:
        parts = (slice(begin, begin + chunk) for begin in range(0, nb, chunk))
        tasks = (
            _Chunk(starts[at], parameters[at], controls[at], u if len(u) == 1 else u[at], steps, h)
            for at in parts
        )
        made_chunks = (
            enumerate(_run_on_device(simulator, roller, task) for task in tasks)
            if roller
            else side_by_side(_run_chunk, shared, tasks, n_jobs=n_jobs)
        )
        for place, (xs, codes, counts, states) in made_chunks:
            here = slice(place * chunk, place * chunk + len(xs))
            x[here], status[here], made[here], final[here] = xs, codes, counts, states
            done += len(xs)
            show(done, nb)
    _warn_of_overlaps(asked, final)
    return Rollout(x, status, made, tuple(final))


def _chunk(nb: int, steps: int, workers: int) -> int:
    """Number of trajectories in a task: equal shares of the workers, of tasks worth their cost."""
    each = min(max(nb * steps // (_WORTH_IT * workers), 1), _CHUNKS)
    return -(-nb // (each * workers))


def _warn_of_overlaps(simulator: Simulator, final: Sequence[State]) -> None:
    """Warn once of bodies that are in each other or the ground, in some of the last states."""
    if simulator in _CHECKED:
        return
    _CHECKED.add(simulator)
    some = final[:: max(1, len(final) // _LOOKED_AT)]
    robot, terrain = simulator.system.robot, simulator.terrain
    q = np.array([state.q for state in some]).reshape(-1, robot.model.nq)
    found = OverlapCheck(robot, terrain).deepest(q, contact_depth(robot, terrain, q))
    for sentence in overlap_sentences(found, [state.t for state in some]):
        warnings.warn(sentence, RobotWarning, stacklevel=3)


def _run_chunk(
    shared: tuple[Simulator, ControlInput], chunk: _Chunk
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[State]]:
    """Trajectories of one task: x, status codes, steps made, last states."""
    simulator, control = shared
    n = len(chunk.starts)
    x = np.empty((n, chunk.steps, simulator.vector.nx))
    codes, counts, states = np.zeros(n, int), np.zeros(n, int), []
    u = np.broadcast_to(chunk.u, (n, chunk.steps, chunk.u.shape[2]))
    plan = new_plan(_AT_ONCE, simulator.vector.nq, simulator.vector.nv)
    control.write(plan)
    for i, start in enumerate(chunk.starts):
        if chunk.controls:
            control = chunk.controls[i]
            control.write(plan)
        own = simulator.with_parameters(**chunk.parameters[i]) if chunk.parameters else simulator
        status, counts[i], state = _run(own, control, plan, start, u[i], chunk.h, x[i])
        codes[i] = status.code
        states.append(state)
    return x, codes, counts, states


def _roller(
    simulator: Simulator,
    control: ControlInput,
    backend: Jax | None,
    n_jobs: int | None,
) -> "DeviceRoller | None":
    """What makes the trajectories on a device; None: they are made by compiled steps."""
    check_backend(backend)
    if backend is None:
        return None
    if n_jobs is not None:
        raise WorkerError(f"a Jax backend has no workers: leave n_jobs out, got {n_jobs!r}")
    from nmdp_pin._jax.roller import DeviceRoller

    if control.target:
        raise IntegratorError("a Jax backend moves no targets: leave targets out")
    return DeviceRoller(simulator, control.command, backend)


def _run_on_device(
    simulator: Simulator, roller: "DeviceRoller", chunk: _Chunk
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[State]]:
    """Trajectories of one task on a device, as `_run_chunk`."""
    x, codes, counts = roller(chunk.starts, chunk.u, chunk.steps, chunk.h)
    states = []
    for start, ends, made in zip(chunk.starts, x, counts.tolist(), strict=True):
        t = time_after(start.t, chunk.h, made)
        states.append(simulator.vector.unpack(ends[made - 1], t) if made else start)
    return x, codes, counts, states


def _run(
    simulator: Simulator,
    control: ControlInput,
    plan: Commands,
    state: State,
    u: np.ndarray,
    h: float,
    x: np.ndarray,
) -> tuple[Status, int, State]:
    """Make one trajectory into x; returns status, number of steps and last state.

    The rows of `plan` hold the command that u is added to, and are written here.
    """
    k, begin, end, command, space = 0, 0, 0, control.command, simulator.vector
    told = Command() if command is None or callable(command) else command
    while k < len(u):
        if k == end and callable(command):
            told, begin, end = simulator.checked_command(command(state, u[k], h)), k, k + 1
            write_plan(plan, 0, told)
        elif k == end:
            begin, end = k, min(k + len(plan.tau), len(u))
            control.add(simulator, u[begin:end], plan, told.tau)
        if not told.wrenches:  # whose Jacobians are those of the start of each step
            made, state = simulator.advance(state, told, plan, k - begin, h, x[begin:end])
            k = begin + made
        if k < end:  # a step that failed, or of a method that has no compiled call
            at = k - begin
            targets = {"q_target": plan.q_target[at]} if control.target else {}
            result = simulator.step(state, replace(told, tau=plan.tau[at], **targets), h)
            if not result.status.ok:
                x[k:] = space.pack(state)
                return result.status, k, state
            state = result.state
            x[k] = space.pack(state)
            k += 1
    return Status.CONVERGED, k, state


def _sets(
    simulator: Simulator, given: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    """Sets of parameters, whose mistakes are found before any step."""
    sets = check_parts("parameters", given, Mapping, ParameterError)
    for each in sets:
        ParameterSet.of(each).changed(simulator.system)
    return sets


def _starts(simulator: Simulator, x0: np.ndarray | State | Sequence[State]) -> tuple[State, ...]:
    """The starts as checked states."""
    check_part("simulator", simulator, Simulator, StateError)
    if isinstance(x0, State):
        x0 = (x0,)
    if isinstance(x0, Sequence) and len(x0) and isinstance(x0[0], State):
        return tuple(simulator.checked_state(state) for state in x0)
    space = simulator.vector
    x = numbers("x0", x0, StateError)
    nx, shape = space.nx, x.shape
    if x.ndim == 1:
        x = x[None]
    if x.ndim != 2 or x.shape[1] != nx:
        raise StateError(
            f"x0 has shape {shape}, expected (nb, {nx}) or ({nx},): "
            f"q of {space.nq} numbers, then v of {space.nv}"
        )
    states = []
    for place, row in enumerate(x):
        try:  # with the checks that `unpack` leaves out
            states.append(simulator.state(row[: space.nq], row[space.nq :]))
        except StateError as error:
            raise StateError(f"x0[{place}]: {error}") from error
    return tuple(states)


def _controls(
    simulator: Simulator, u: np.ndarray | None, steps: int | None, *, any_size: bool
) -> tuple[np.ndarray, int]:
    """Controls with three axes, and the number of steps."""
    if steps is not None:
        check_count("steps", steps, 0)
    nu, nv = len(simulator.robot.driven), simulator.vector.nv
    if u is None:
        if steps is None:
            raise ControlError("say with `steps` how many steps to make, or give u")
        return np.zeros((1, 1, nu)), steps
    given = numbers("u", u, ControlError)
    array = given[None] if given.ndim == 2 else given
    if array.ndim != 3 or not (any_size or array.shape[2] in (nu, nv)):
        size = "any" if any_size else f"{nu}" if nu == nv else f"{nu} or {nv}"
        raise ControlError(
            f"u has shape {given.shape}, expected (nb, nt, nu) or (nt, nu) with nu = {size}: "
            f"of {nu} driven joints, or of {nv} velocities"
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise ControlError(f"u must hold finite numbers; u{bad[0].tolist()} is not one")
    if steps is not None and array.shape[1] not in (1, steps):
        raise ControlError(f"u has {array.shape[1]} steps, expected 1 or steps = {steps}")
    return array, array.shape[1] if steps is None else steps


def _batch(**lengths: int) -> int:
    """Number of trajectories."""
    several = {name: n for name, n in lengths.items() if n != 1}
    if len(set(several.values())) > 1:
        given = " and ".join(f"{name} has {n} trajectories" for name, n in several.items())
        raise StateError(f"{given}: give as many, or one for all")
    return next(iter(several.values()), 1)


def _array_for(out: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    if out is None:
        return np.empty(shape)
    if not (isinstance(out, np.ndarray) and out.shape == shape and out.dtype == float):
        raise StateError(
            f"out has shape {np.shape(out)} and type {getattr(out, 'dtype', type(out).__name__)}, "
            f"expected {shape} of float64"
        )
    return out
