"""`rollout` with the arguments of `mujoco.rollout`; mujoco itself is not needed.

Code that calls `mujoco.rollout.rollout(model, data, initial_state, control)` keeps its shapes: a
state is [t; q; v] (as `mjSTATE_FULLPHYSICS` of a model without activations), batches broadcast,
the initial state is left out of what is returned, and what diverges is held. In the place of
(model, data) are a simulator and the length of its step. Quaternions are Pinocchio's (x, y, z, w).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import numpy as np

from nmdp_pin.errors import StateError
from nmdp_pin.executors import Executor, Processes, Serial
from nmdp_pin.number_array import numbers
from nmdp_pin.rollout import rollout as roll_out
from nmdp_pin.simulator import Simulator
from nmdp_pin.state import State, WarmStart

Sensors = Callable[[np.ndarray], np.ndarray]
"""What is measured at a state [t; q; v], shape (nsensordata,)."""


class Rollout:
    """Rollouts by a pool of processes that stays; a context manager, as MuJoCo's.

    Args:
        nthread: workers; None or 0: in this process. Pinocchio holds the interpreter's lock, so
            they are processes: a script needs `if __name__ == "__main__":`.
    """

    def __init__(self, *, nthread: int | None = None) -> None:
        self._executor: Executor = Processes(nthread) if nthread else Serial()

    def rollout(
        self,
        simulator: Simulator,
        h: float,
        initial_state: np.ndarray,
        control: np.ndarray | None = None,
        *,
        nstep: int | None = None,
        initial_warmstart: Sequence[WarmStart | None] | None = None,
        state: np.ndarray | None = None,
        sensors: Sensors | None = None,
        sensordata: np.ndarray | None = None,
        chunk_size: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See the function `rollout`."""
        starts = _starts(simulator, initial_state, initial_warmstart)
        if control is None and nstep is None:
            nstep = 1
        u = None if control is None else _with_batch(np.asarray(control, dtype=float))
        made = roll_out(
            simulator, starts, u, h=h, steps=nstep, executor=self._executor, chunk=chunk_size
        )
        nb, nt, nx = made.x.shape
        found = _filled("state", state, (nb, nt, 1 + nx))
        found[:, :, 1:] = made.x
        # Time stands still with the state where a rollout failed.
        count = np.minimum(np.arange(1, nt + 1), made.steps[:, None])
        found[:, :, 0] = np.array([start.t for start in starts])[:, None] + h * count
        if sensors is None:
            return found, _filled("sensordata", sensordata, (nb, nt, 0))
        measured = np.array([[sensors(row) for row in rows] for rows in found], dtype=float)
        given = _filled("sensordata", sensordata, measured.reshape(nb, nt, -1).shape)
        given[...] = measured.reshape(given.shape)
        return found, given

    def close(self) -> None:
        """End the processes."""
        self._executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def rollout(
    simulator: Simulator,
    h: float,
    initial_state: np.ndarray,
    control: np.ndarray | None = None,
    *,
    nthread: int | None = None,
    nstep: int | None = None,
    initial_warmstart: Sequence[WarmStart | None] | None = None,
    state: np.ndarray | None = None,
    sensors: Sensors | None = None,
    sensordata: np.ndarray | None = None,
    chunk_size: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Roll out a batch of trajectories from [t; q; v] under torques.

    Args:
        simulator: makes the steps; in the place of MuJoCo's model and data.
        h: length of a step [s], MuJoCo's `model.opt.timestep`.
        initial_state: shape (nbatch or 1, nstate) or (nstate,), with nstate = 1 + nq + nv.
        control: torques of the driven joints [N m], shape (nbatch or 1, nstep or 1, nu); missing
            axes at the front are added. None: no torque.
        nthread: worker processes, which end with the call: use `Rollout` to keep them.
        nstep: number of steps, where control does not say it.
        initial_warmstart: one for each initial state.
        state: array for the states, as is returned.
        sensors: what to measure at each state that is returned.
        sensordata: array for it.
        chunk_size: trajectories in a task.

    Returns:
        States (nbatch, nstep, nstate) at the end of each step, and what was measured there
        (nbatch, nstep, nsensordata).

    Raises:
        StateError, ControlError: shapes that do not fit.
    """
    with Rollout(nthread=nthread) as roller:
        return roller.rollout(
            simulator,
            h,
            initial_state,
            control,
            nstep=nstep,
            initial_warmstart=initial_warmstart,
            state=state,
            sensors=sensors,
            sensordata=sensordata,
            chunk_size=chunk_size,
        )


def _starts(
    simulator: Simulator, rows: np.ndarray, warm: Sequence[WarmStart | None] | None
) -> list[State]:
    """States of [t; q; v]."""
    array = np.atleast_2d(numbers("initial_state", rows, StateError))
    nq, nx = simulator.robot.model.nq, simulator.vector.nx
    if array.ndim != 2 or array.shape[1] != 1 + nx:
        raise StateError(
            f"initial_state has shape {array.shape}, expected (nbatch, {1 + nx}): "
            f"time, then q of {nq} numbers, then v of {nx - nq}"
        )
    if warm is not None and len(warm) != len(array):
        raise StateError(
            f"initial_warmstart has {len(warm)} entries, expected one for each of the "
            f"{len(array)} initial states"
        )
    starts = []
    for i, row in enumerate(array):
        checked = simulator.state(row[1 : 1 + nq], row[1 + nq :], float(row[0]))
        kept = None if warm is None else warm[i]
        starts.append(State(checked.t, checked.q, checked.v, kept))
    return starts


def _with_batch(control: np.ndarray) -> np.ndarray:
    """Three axes; missing ones at the front are added."""
    return control.reshape((1,) * max(0, 3 - control.ndim) + control.shape)


def _filled(name: str, array: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    if array is None:
        return np.zeros(shape)
    if array.shape != shape or array.dtype != float:
        raise StateError(
            f"{name} has shape {array.shape} and type {array.dtype}, expected {shape} of float64"
        )
    return array
