"""What a run leaves: arrays with one row a step, and the facts needed to repeat it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin.files.json_text import to_json
from nmdp_pin.files.recording_file import (
    FORMAT,
    INTEGERS,
    ROWS,
    SINCE_2,
    SINCE_3,
    read_arrays,
    row_shape,
    write_arrays,
)
from nmdp_pin.integrators.integrator import StepResult
from nmdp_pin.robot import Robot
from nmdp_pin.state import State
from nmdp_pin.status import Status

PACKAGES = ("nmdp-pin", "pin", "coal", "proxsuite", "numpy")
"""Distributions whose versions a recording states."""

# These follow from q, so that they are filled in once, at the end.
_KINEMATIC = frozenset({"base_position", "base_rotation", "contact_position"})


@dataclass(frozen=True, eq=False)
class Recording:
    """A recorded run; the first row is the initial state, each further row the end of a step.

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
        kinetic_energy: [J], shape (n,).
        potential_energy: of gravity [J], shape (n,).
        objective: K at the end of the step, NaN in the first row, shape (n,).
        status: codes of `Status`, shape (n,).
        outer_iterations: outer iterations of the solver, shape (n,).
        evaluations: evaluations of the dynamics residual, shape (n,).
        step_size: smallest sub-step of the step, 0 in the first row [s], shape (n,).
        halvings: sub-steps made beyond the first, shape (n,).
        wall_time: time that computing the step took [s], shape (n,).
        residual: norm of the dynamics residual G at the end [N, N m], shape (n,); this and the
            next four as in `StepResult`, NaN where not known, as in the first row.
        rejected: outer iterations whose step was not taken, shape (n,).
        discarded: sub-steps tried and not kept, shape (n,).
        condition: estimated condition number of dG/dq, shape (n,).
        error: estimated error over the one that the tolerances allow, shape (n,).
        primal: how far the impulses are from the friction cones [N s], shape (n,); this and the
            next two of methods that solve a complementarity problem, NaN for the others.
        dual: how far the contacts' velocities are from the dual cones [m/s], shape (n,).
        complementarity: work of the impulses on those velocities [J], shape (n,).
        meta: resolved scenario, versions, names of the robot, joints, contacts and statuses.
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
        """Number of rows: the steps and the initial state."""
        return len(self.t)

    @property
    def duration(self) -> float:
        """Simulated time from the first to the last row [s]."""
        return float(self.t[-1] - self.t[0])

    @property
    def dt(self) -> float:
        """Usual time between two rows [s]; 0 when there is one row only."""
        return float(np.median(np.diff(self.t))) if self.n > 1 else 0.0

    @property
    def real_time_factor(self) -> float:
        """Simulated time over the time that computing took; 0 when nothing was computed."""
        wall = float(self.wall_time.sum())
        return self.duration / wall if wall > 0.0 else 0.0

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contact points, (n_contacts,)."""
        return tuple(self.meta["contacts"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording as a compressed `.npz`, whole or not at all.

        Raises:
            RecordingError: the path cannot be written.
        """
        write_arrays(path, {name: getattr(self, name) for name in ROWS}, self.meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a recording; never runs code that a file may hold.

        Raises:
            RecordingError: there is no such file, or it is truncated, no recording, of a later
                version of this package, lacks an array or holds one of a wrong shape or type.
        """
        arrays, meta = read_arrays(path)
        return cls(**arrays, meta=meta)


class Recorder:
    """Collects the results of steps; what is collected can be saved at any time.

    Args:
        robot: the robot that is simulated.
        state0: the initial state, the first row.
        meta: facts to keep with the arrays, such as {"scenario": {...}}; must be JSON data.

    Raises:
        RecordingError: `meta` is not JSON data.
    """

    def __init__(self, robot: Robot, state0: State, meta: dict[str, Any] | None = None) -> None:
        self._robot = robot
        self._meta = {**(meta or {}), **_facts(robot)}
        to_json(self._meta)  # a run must not find out at its end that it cannot be saved
        self._n = 0
        self._columns: dict[str, np.ndarray] = {}
        self._grow(256)
        self._record_initial(state0)

    def record(self, result: StepResult, wall_time: float) -> None:
        """Append the end of a step; its arrays are copied.

        Args:
            result: what the step left.
            wall_time: time that computing it took [s].
        """
        if self._n == self._capacity:
            self._grow(2 * self._capacity)
        i, c, state = self._n, self._columns, result.state
        c["t"][i] = state.t
        c["q"][i] = state.q
        c["v"][i] = state.v
        c["tau"][i] = result.tau
        c["contact_force"][i] = result.contact_forces
        c["contact_depth"][i] = result.contact_depths
        c["kinetic_energy"][i] = result.kinetic_energy
        c["potential_energy"][i] = result.potential_energy
        c["objective"][i] = result.objective
        c["status"][i] = result.status.code
        c["outer_iterations"][i] = result.iterations
        c["evaluations"][i] = result.evaluations
        c["step_size"][i] = min(result.step_sizes, default=0.0)
        c["halvings"][i] = result.halvings
        c["wall_time"][i] = wall_time
        for name in (*SINCE_2, *SINCE_3):
            c[name][i] = getattr(result, name)
        self._n = i + 1  # last, so that an interrupt leaves whole rows only

    def recording(self) -> Recording:
        """What was recorded so far; an own copy."""
        arrays = {name: column[: self._n].copy() for name, column in self._columns.items()}
        arrays |= _kinematics(self._robot, arrays["q"])
        return Recording(**arrays, meta=self._meta)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was recorded so far, whole or not at all.

        Raises:
            RecordingError: the path cannot be written.
        """
        self.recording().save(path)

    @property
    def _capacity(self) -> int:
        return len(self._columns["t"])

    def _grow(self, capacity: int) -> None:
        """Make room for `capacity` rows; doubling makes a row cheap on average."""
        sizes = _sizes(self._robot)
        for name in ROWS.keys() - _KINEMATIC:
            kind = np.int64 if name in INTEGERS else np.float64
            column = np.zeros((capacity, *row_shape(name, sizes)), dtype=kind)
            if self._n:
                column[: self._n] = self._columns[name][: self._n]
            self._columns[name] = column

    def _record_initial(self, state: State) -> None:
        model = self._robot.model
        data = model.createData()
        c = self._columns
        c["t"][0] = state.t
        c["q"][0] = state.q
        c["v"][0] = state.v
        c["kinetic_energy"][0] = pin.computeKineticEnergy(model, data, state.q, state.v)
        c["potential_energy"][0] = pin.computePotentialEnergy(model, data, state.q)
        for name in ("objective", "residual", "condition", "error", *SINCE_3):
            c[name][0] = np.nan
        self._n = 1


def base_frame(model: pin.Model) -> int:
    """Index of the frame of the base link: the first link that has a mass.

    Args:
        model: a robot; its base may float, slide in a plane or be fixed.
    """
    bodies = [i for i, frame in enumerate(model.frames) if frame.type == pin.FrameType.BODY]
    heavy = [i for i in bodies if model.inertias[model.frames[i].parentJoint].mass > 0.0]
    return (heavy or bodies or [0])[0]


def _kinematics(robot: Robot, q: np.ndarray) -> dict[str, np.ndarray]:
    """Placements that follow from the configurations q, shape (n, nq)."""
    model, contacts = robot.model, robot.contact_points
    data = model.createData()
    frame = model.frames[base_frame(model)]
    base_position = np.empty((len(q), 3))
    base_rotation = np.empty((len(q), 3, 3))
    contact_position = np.empty((len(q), len(contacts), 3))
    for i, row in enumerate(q):
        pin.forwardKinematics(model, data, row)
        base = data.oMi[frame.parentJoint] * frame.placement
        base_position[i] = base.translation
        base_rotation[i] = base.rotation
        for k, joint in enumerate(contacts.joints):
            contact_position[i, k] = data.oMi[int(joint)].act(contacts.positions[k])
    return {
        "base_position": base_position,
        "base_rotation": base_rotation,
        "contact_position": contact_position,
    }


def _facts(robot: Robot) -> dict[str, Any]:
    """What a reader of the file needs to know of the robot and the software."""
    return {
        "format": FORMAT,
        "versions": versions(),
        "robot": robot.name,
        "source": robot.source,
        "mass": float(sum(inertia.mass for inertia in robot.model.inertias)),
        "joints": list(robot.model.names[1:]),
        "contacts": list(robot.contact_points.names),
        "statuses": [status.value for status in Status],
        "sizes": _sizes(robot),
    }


def versions() -> dict[str, str]:
    """Versions of `PACKAGES` as they are installed."""
    return {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def _sizes(robot: Robot) -> dict[str, int]:
    return {"nq": robot.model.nq, "nv": robot.model.nv, "nc": len(robot.contact_points)}
