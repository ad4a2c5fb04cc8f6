"""Recorder: collects the results of steps, and keeps them in a file while a run goes on."""

import os
import time
from contextlib import AbstractContextManager, suppress
from importlib import metadata
from types import NoneType
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._dynamics.joint_bounds import joints_of
from nmdp_pin._files.array_file import to_json
from nmdp_pin._files.journal import Journal, journal_path
from nmdp_pin._files.output_file import check_writable
from nmdp_pin._files.repetition import Repetition
from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._kernels.tree.springs import spring_energy
from nmdp_pin._options import check_part
from nmdp_pin._robot import Robot
from nmdp_pin._robot.contact_points import in_world
from nmdp_pin._robot.frames import base_frame
from nmdp_pin._robot.lift import LiftForces
from nmdp_pin._robot.loop_closure import loop_energy
from nmdp_pin._runs.recorded_scene import scene_table
from nmdp_pin._runs.recording import (
    FORMAT,
    ROWS,
    Recording,
    kinds_of,
    member,
    members,
    row_type,
)
from nmdp_pin._sensors.sensors import Sensors
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import RecordingError

PACKAGES = ("nmdp-pin", "pin", "coal", "proxsuite", "numpy")
"""Distributions whose versions a recording states."""

# Fields of a result that are kept under their own names, and those not known of the first row.
_OF_RESULT = (
    *("tau", "contact_forces", "contact_depths", "kinetic_energy", "potential_energy"),
    *("objective", "iterations", "evaluations", "halvings"),
    *("residual", "rejected", "discarded", "condition", "error"),
    *("primal", "dual", "complementarity"),
)
_UNKNOWN = ("objective", "residual", "condition", "error", "primal", "dual", "complementarity")
_INTERVAL, _SYNC = 0.02, 0.5  # [s] between two chunks of the journal, and until they are on disk


class Recorder(AbstractContextManager["Recorder"]):
    """Recorder of the results of steps, which can be saved at any time.

    With `out` it is a context manager. Rows are appended to a journal, `out` with ".unfinished"
    behind its name: a process that is killed loses those of 20 ms, a power failure those of half a
    second. At the end, also by an exception, the recording is written to `out` and the journal is
    removed.

    Args:
        robot: the robot that is simulated.
        state0: the initial state, the first row.
        meta: facts to keep with the arrays, such as {"scenario": {...}}; must be JSON data.
            Without a scenario the robot and its terrain are kept, so that they can be viewed.
        terrain: terrain of the robot; None: that of the sensors, or none.
        sensors: sensors whose readings are recorded; None: none.
        seed: seed of their noise.
        out: file of the recording (.npz); None: it is kept in memory only.
        replace: whether files that are already there may be replaced.

    Raises:
        RecordingError: `meta` is not JSON data, or `out` cannot be written.
    """

    def __init__(
        self,
        robot: Robot,
        state0: State,
        meta: dict[str, Any] | None = None,
        *,
        terrain: Terrain | None = None,
        sensors: Sensors | None = None,
        seed: int = 0,
        out: str | os.PathLike[str] | None = None,
        replace: bool = False,
    ) -> None:
        check_part("robot", robot, Robot, RecordingError)
        check_part("state0", state0, State, RecordingError)
        check_part("meta", meta, (dict, NoneType), RecordingError)
        check_part("sensors", sensors, (Sensors, NoneType), RecordingError)
        self._robot, self._sensors = robot, sensors
        self._readings = None if sensors is None else sensors.read(state0, seed=seed)
        kinds = kinds_of(self._readings or {})
        self._meta = {**(meta or {}), **_facts(robot), "sensors": kinds}
        if "scenario" not in self._meta:
            ground = sensors.terrain if terrain is None and sensors is not None else terrain
            self._meta["scene"] = scene_table(robot, ground)
        text = to_json(self._meta)  # a run must not find out at its end that it cannot be saved
        self._rows = np.zeros(256, row_type(_sizes(robot), kinds))
        self._n, self._placed = 0, 0  # rows, and those whose placements are known
        model, q, v = robot.model, state0.q, state0.v
        data = model.createData()
        self._append(
            t=state0.t,
            q=q,
            v=v,
            kinetic_energy=kinetic_energy(model, data, q, v),
            potential_energy=pin.computePotentialEnergy(model, data, q)
            + spring_energy(joints_of(robot).springs, np.asarray(q, dtype=float))
            + loop_energy(robot, q)
            - LiftForces(model, robot.lifts).energy(q),
            **dict.fromkeys(_UNKNOWN, np.nan),
            **members(self._readings or {}),
        )
        self._out, self._replace = out, replace
        self._journal = None if out is None else _new_journal(out, replace)
        self._kept, self._kept_at = 0, time.monotonic()  # rows in the journal
        if self._journal is not None:
            self._journal.append(text.encode())
            self._keep(self._journal)
            self._syncs = Repetition(self._journal.sync, _SYNC)

    def record(self, result: StepResult, wall_time: float = 0.0) -> None:
        """Append the end of a step; its arrays are copied.

        Args:
            result: result of the step.
            wall_time: time that computing it took [s], where it is known.

        Raises:
            RecordingError: the journal cannot be written, as where the disk is full.
        """
        state = result.state
        if self._sensors is not None:
            self._readings = self._sensors.read(result, self._readings)
        self._append(
            t=state.t,
            q=state.q,
            v=state.v,
            status=result.status.code,
            step_size=min(result.step_sizes, default=0.0),
            wall_time=wall_time,
            **{name: getattr(result, name) for name in _OF_RESULT},
            **members(self._readings or {}),
        )
        if self._journal is not None and time.monotonic() - self._kept_at > _INTERVAL:
            self._keep(self._journal)

    def recording(self) -> Recording:
        """Copy of the recording so far."""
        self._place()
        rows = self._rows[: self._n]
        return Recording(
            **{name: rows[name].copy() for name in ROWS},
            meta=self._meta,
            readings={name: rows[member(name)].copy() for name in self._readings or ()},
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording so far.

        Raises:
            RecordingError: the path cannot be written.
        """
        self.recording().save(path)

    def close(self) -> None:
        """Write the recording to `out` and remove the journal.

        Raises:
            RecordingError: `out` cannot be written; the journal stays, and the message names it.
        """
        journal, self._journal = self._journal, None
        if journal is None or self._out is None:
            return
        self._syncs.close()
        try:
            with suppress(RecordingError):  # the compressed file may fit on a disk that is full
                self._keep(journal)
            self.recording().save(self._out, replace=self._replace)
            journal.close(remove=True)
        except RecordingError as error:
            raise RecordingError(
                f"{error}. What was recorded is in {journal.path}: nmdp-pin recover {journal.path}"
            ) from error
        finally:
            journal.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _append(self, **values: Any) -> None:
        """Append a row; what is not given is 0."""
        if self._n == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        row = self._rows[self._n]
        for name, value in values.items():
            row[name] = value
        self._n += 1  # last, so that an interrupt leaves whole rows only

    def _keep(self, journal: Journal) -> None:
        """Append the rows that are not in the journal yet."""
        self._place()
        n = self._n
        if n > self._kept:
            journal.append(self._rows[self._kept : n].tobytes(), sync=False)
        self._kept, self._kept_at = n, time.monotonic()

    def _place(self) -> None:
        """Fill in the placements that follow from the configurations."""
        model, contacts = self._robot.model, self._robot.contact_points
        data = model.createData()
        frame = model.frames[base_frame(model)]
        for i in range(self._placed, self._n):
            row = self._rows[i]
            pin.forwardKinematics(model, data, row["q"])
            base = data.oMi[frame.parentJoint] * frame.placement
            row["base_position"] = base.translation
            row["base_rotation"] = base.rotation
            row["contact_positions"] = in_world(data, contacts.joints, contacts.positions)
        self._placed = self._n


def versions() -> dict[str, str]:
    """Versions of `PACKAGES`, as recordings state them."""
    return {name: version_of(name) for name in PACKAGES}


def version_of(package: str) -> str:
    """Version of a package as it is installed, or "unknown"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def _new_journal(out: str | os.PathLike[str], replace: bool) -> Journal:
    """An empty journal for a recording."""
    check_writable(out, replace=replace)
    journal = Journal(journal_path(out))
    if journal.chunks and not replace:
        journal.close()
        raise RecordingError(
            f"{journal.path} holds a run that was killed: nmdp-pin recover {journal.path} makes "
            "a recording of it; remove it, or --force, to lose it"
        )
    journal.clear()
    return journal


def _facts(robot: Robot) -> dict[str, Any]:
    """Metadata of the robot and the software."""
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


def _sizes(robot: Robot) -> dict[str, int]:
    return {"nq": robot.model.nq, "nv": robot.model.nv, "nc": len(robot.contact_points)}


def kinetic_energy(model: pin.Model, data: pin.Data, q: np.ndarray, v: np.ndarray) -> float:
    """Kinetic energy v' M v / 2 [J].

    Pinocchio's own function leaves out the armature of hinges about other axes than x, y and z
    (4.1.0).
    """
    M = pin.crba(model, data, q)  # its upper triangle
    return float(v @ (np.triu(M) @ v) - 0.5 * (M.diagonal() @ (v * v)))
