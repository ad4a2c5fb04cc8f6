"""`rollout` with the shapes of `mujoco.rollout`; mujoco itself is not needed.

A state is [t; q; v] (as `mjSTATE_FULLPHYSICS` of a model without activations), batches broadcast,
the initial state is left out of what is returned, and what diverges is held. In the place of
(model, data) are a simulator and the length of its step. Quaternions are Pinocchio's (x, y, z, w).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import NoneType

import numpy as np

from nmdp_pin._options import check_part, numbers
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin.errors import StateError
from nmdp_pin.rollout import rollout as roll_out

Sensors = Callable[[np.ndarray], np.ndarray]
"""What is measured at a state [t; q; v], shape (nsensordata,)."""


def rollout(
    simulator: Simulator,
    h: float,
    initial_state: np.ndarray,
    control: np.ndarray | None = None,
    *,
    nstep: int | None = None,
    initial_warmstart: Sequence[WarmStart | None] | None = None,
    sensors: Sensors | None = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Roll out a batch of trajectories from [t; q; v] under torques.

    Args:
        simulator: makes the steps; in the place of MuJoCo's model and data.
        h: length of a step [s], MuJoCo's `model.opt.timestep`.
        initial_state: shape (nbatch or 1, nstate) or (nstate,), with nstate = 1 + nq + nv.
        control: torques of the driven joints [N m], shape (nbatch or 1, nstep or 1, nu); missing
            axes at the front are added. None: no torque.
        nstep: number of steps; None: that of `control`, or 1.
        initial_warmstart: warm starts of the initial states.
        sensors: measurements of each returned state.
        n_jobs: number of processes in place of MuJoCo's threads, as in `nmdp_pin.rollout`.

    Returns:
        States (nbatch, nstep, nstate) at the end of each step, and the measurements there
        (nbatch, nstep, nsensordata).

    Raises:
        StateError, ControlError: a shape is wrong.
    """
    check_part("simulator", simulator, Simulator, StateError)
    check_part("sensors", sensors, (Callable, NoneType), StateError)
    starts = _starts(simulator, initial_state, initial_warmstart)
    u = None
    if control is not None:
        u = np.asarray(control, dtype=float)
        u = u.reshape((1,) * max(0, 3 - u.ndim) + u.shape)
    elif nstep is None:
        nstep = 1
    made = roll_out(simulator, starts, u, h=h, steps=nstep, n_jobs=n_jobs)
    nb, nt, _ = made.x.shape
    # Time stands still with the state where a rollout failed.
    count = np.minimum(np.arange(1, nt + 1), made.steps[:, None])
    t = np.array([start.t for start in starts])[:, None] + h * count
    states = np.concatenate([t[:, :, None], made.x], axis=2)
    if sensors is None:
        return states, np.zeros((nb, nt, 0))
    measured = np.array([[sensors(row) for row in rows] for rows in states], dtype=float)
    return states, measured.reshape(nb, nt, -1)


def _starts(
    simulator: Simulator, rows: np.ndarray, warm: Sequence[WarmStart | None] | None
) -> list[State]:
    """States of [t; q; v]."""
    array = np.atleast_2d(numbers("initial_state", rows, StateError))
    nq, nx = simulator.vector.nq, simulator.vector.nx
    if array.ndim != 2 or array.shape[1] != 1 + nx:
        raise StateError(
            f"initial_state has shape {array.shape}, expected (nbatch, {1 + nx}): "
            f"time, then q of {nq} numbers, then v of {nx - nq}"
        )
    warm = [None] * len(array) if warm is None else warm
    if len(warm) != len(array):
        raise StateError(
            f"initial_warmstart has {len(warm)} entries, expected one for each of the "
            f"{len(array)} initial states"
        )
    return [
        replace(simulator.state(row[1 : 1 + nq], row[1 + nq :], float(row[0])), warm=kept)
        for row, kept in zip(array, warm, strict=True)
    ]
