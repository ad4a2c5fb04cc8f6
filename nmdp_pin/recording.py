"""Recordings of runs: arrays with one row a step, and the metadata needed to repeat the run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmdp_pin.files.array_file import write_npz
from nmdp_pin.files.recording_file import ROWS, read_arrays


@dataclass(frozen=True, eq=False)
class Recording:
    """Recorded run; the first row is the initial state, each further row the end of a step.

    Args:
        t: time [s], shape (n,).
        q: configuration, shape (n, nq).
        v: tangent velocity, shape (n, nv).
        tau: torque of the command [N m], shape (n, nv).
        contact_force: forces on the robot, world frame [N], shape (n, n_contacts, 3).
        contact_depth: penetration of the contact spheres [m], shape (n, n_contacts).
        contact_position: centres of the contact spheres, world frame [m], shape (n, n_contacts, 3).
        base_position: origin of the base link, world frame [m], shape (n, 3).
        base_rotation: rotation of the base link, from its frame to the world's, shape (n, 3, 3).
        kinetic_energy: kinetic energy [J], shape (n,).
        potential_energy: potential energy of gravity [J], shape (n,).
        objective: K at the end of the step, NaN in the first row, shape (n,).
        status: codes of `Status`, shape (n,).
        outer_iterations: outer iterations of the solver, shape (n,).
        evaluations: evaluations of the dynamics residual, shape (n,).
        step_size: smallest sub-step of the step, 0 in the first row [s], shape (n,).
        halvings: number of sub-steps beyond the first, shape (n,).
        wall_time: computing time of the step [s], shape (n,).
        residual: norm of the dynamics residual G at the end [N, N m], shape (n,); this and the
            next four are as in `StepResult`, NaN where unknown, as in the first row.
        rejected: outer iterations whose step was rejected, shape (n,).
        discarded: sub-steps that were tried and discarded, shape (n,).
        condition: estimated condition number of dG/dq, shape (n,).
        error: ratio of the estimated error to the tolerance, shape (n,).
        primal: distance of the impulses from the friction cones [N s], shape (n,); this and the
            next two belong to complementarity methods and are NaN for the others.
        dual: distance of the contact velocities from the dual cones [m/s], shape (n,).
        complementarity: work of the impulses on these velocities [J], shape (n,).
        meta: resolved scenario, versions, and names of robot, joints, contacts and statuses.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    contact_force: np.ndarray
    contact_depth: np.ndarray
    contact_position: np.ndarray
    base_position: np.ndarray
    base_rotation: np.ndarray
    kinetic_energy: np.ndarray
    potential_energy: np.ndarray
    objective: np.ndarray
    status: np.ndarray
    outer_iterations: np.ndarray
    evaluations: np.ndarray
    step_size: np.ndarray
    halvings: np.ndarray
    wall_time: np.ndarray
    residual: np.ndarray
    rejected: np.ndarray
    discarded: np.ndarray
    condition: np.ndarray
    error: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    complementarity: np.ndarray
    meta: dict[str, Any]

    @property
    def n(self) -> int:
        """Number of rows: initial state and steps."""
        return len(self.t)

    @property
    def duration(self) -> float:
        """Simulated time from the first to the last row [s]."""
        return float(self.t[-1] - self.t[0])

    @property
    def dt(self) -> float:
        """Median time between two rows [s]; 0 for a single row."""
        return float(np.median(np.diff(self.t))) if self.n > 1 else 0.0

    @property
    def real_time_factor(self) -> float:
        """Ratio of simulated to computing time; 0 where nothing was computed."""
        wall = float(self.wall_time.sum())
        return self.duration / wall if wall > 0.0 else 0.0

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contact points, (n_contacts,)."""
        return tuple(self.meta["contacts"])

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the recording as a compressed `.npz`.

        Args:
            path: path of the file.
            replace: whether an existing file may be replaced.

        Raises:
            RecordingError: the path cannot be written.
        """
        arrays = {name: getattr(self, name) for name in ROWS}
        write_npz(path, arrays, self.meta, replace=replace)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a recording or its journal; code in a file is never run.

        Raises:
            RecordingError: the file does not exist, is truncated, is no recording, is of a later
                version, or an array is missing or has a wrong shape or type.
        """
        arrays, meta = read_arrays(path)
        return cls(**arrays, meta=meta)
