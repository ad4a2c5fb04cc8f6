"""Recordings of runs: arrays with one row a step, and the metadata needed to repeat the run."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import numpy as np

from nmdp_pin._files.array_file import read_npz, take_meta, write_npz
from nmdp_pin._files.input_file import open_input
from nmdp_pin._files.journal import MAGIC, journal_path, read_chunks
from nmdp_pin._files.output_file import write_whole
from nmdp_pin._options import readable
from nmdp_pin.errors import RecordingError

if TYPE_CHECKING:
    from nmdp_pin._robot import Robot
    from nmdp_pin._terrain import Terrain

FORMAT = 4
"""Version of the file format; files of others are refused."""


@readable
@dataclass(frozen=True, eq=False)
class Recording:
    """Recorded run; the first row is the initial state, each further row the end of a step.

    Args:
        t: time [s], shape (n,).
        q: configuration, shape (n, nq).
        v: tangent velocity, shape (n, nv).
        tau: torque of the command [N m], shape (n, nv).
        contact_forces: forces on the robot, world frame [N], shape (n, n_contacts, 3).
        contact_depths: penetration of the contact spheres [m], shape (n, n_contacts).
        contact_positions: centres of the contact spheres, world frame [m], likewise.
        base_position: origin of the base link, world frame [m], shape (n, 3).
        base_rotation: rotation of the base link, from its frame to the world's, shape (n, 3, 3).
        kinetic_energy: kinetic energy [J], shape (n,).
        potential_energy: potential energy of gravity and of the springs of joints [J], shape (n,).
        objective: K at the end of the step, NaN in the first row, shape (n,).
        status: codes of `Status`, shape (n,).
        iterations: outer iterations of the solver, shape (n,).
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
        meta: resolved scenario, versions, and names of robot, joints, contacts, statuses and
            sensors.
        readings: readings of the sensors by name, shape (n, ...) each.
    """

    t: Annotated[np.ndarray, float]
    q: Annotated[np.ndarray, float, "nq"]
    v: Annotated[np.ndarray, float, "nv"]
    tau: Annotated[np.ndarray, float, "nv"]
    contact_forces: Annotated[np.ndarray, float, "nc", 3]
    contact_depths: Annotated[np.ndarray, float, "nc"]
    contact_positions: Annotated[np.ndarray, float, "nc", 3]
    base_position: Annotated[np.ndarray, float, 3]
    base_rotation: Annotated[np.ndarray, float, 3, 3]
    kinetic_energy: Annotated[np.ndarray, float]
    potential_energy: Annotated[np.ndarray, float]
    objective: Annotated[np.ndarray, float]
    status: Annotated[np.ndarray, int]
    iterations: Annotated[np.ndarray, int]
    evaluations: Annotated[np.ndarray, int]
    step_size: Annotated[np.ndarray, float]
    halvings: Annotated[np.ndarray, int]
    wall_time: Annotated[np.ndarray, float]
    residual: Annotated[np.ndarray, float]
    rejected: Annotated[np.ndarray, int]
    discarded: Annotated[np.ndarray, int]
    condition: Annotated[np.ndarray, float]
    error: Annotated[np.ndarray, float]
    primal: Annotated[np.ndarray, float]
    dual: Annotated[np.ndarray, float]
    complementarity: Annotated[np.ndarray, float]
    meta: dict[str, Any]
    readings: Mapping[str, np.ndarray] = field(default_factory=dict)

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

    def scene(self) -> tuple["Robot", "Terrain | None"]:
        """The robot and its terrain, for views and plots; those of a scenario are built by it.

        Nothing is simulated with the robot of another recording: it has neither springs, loops nor
        surfaces.

        Raises:
            RecordingError: the recording does not hold them.
            ScenarioError, RobotError: its scenario cannot be built.
        """
        if "scene" not in self.meta and self.meta.get("scenario"):
            from nmdp_pin._scenario import Scenario

            scenario = Scenario.from_dict(self.meta["scenario"])
            robot = scenario.build_robot()
            return robot, scenario.build_terrain(robot)
        from nmdp_pin._runs.recorded_scene import (
            scene_of,
        )  # with pinocchio, which is slow to import

        return scene_of(self.meta.get("scene"))

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the recording as a compressed `.npz`.

        Args:
            path: path of the file.
            replace: whether an existing file may be replaced.

        Raises:
            RecordingError: the path cannot be written.
        """
        arrays = {name: getattr(self, name) for name in ROWS} | members(self.readings)
        write_npz(path, arrays, self.meta, replace=replace)

    def write_csv(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the rows as a table of text, one column a number, such as "q.0" or "tau.2".

        Contacts have their names in place of an index, and statuses are words. Readings of sensors
        are "sensors.NAME.0" and so on; pictures are left out.

        Args:
            path: path of the file.
            replace: whether an existing file may be replaced.

        Raises:
            RecordingError: the path cannot be written.
        """
        columns: dict[str, list[Any]] = {}
        for name, (_, *sizes) in ROWS.items():
            places = [self.contact_names if size == "nc" else None for size in sizes]
            array = getattr(self, name)
            for index in np.ndindex(array.shape[1:]):
                parts = [str(n[i] if n else i) for n, i in zip(places, index, strict=True)]
                columns[".".join([name, *parts])] = array[(slice(None), *index)].tolist()
        for name, array in self.readings.items():
            for index in np.ndindex(array.shape[1:] if array.dtype == float else (0,)):
                parts = [member(name), *map(str, index)]
                columns[".".join(parts)] = array[(slice(None), *index)].tolist()
        columns["status"] = [self.meta["statuses"][code] for code in columns["status"]]
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
        write_whole(path, lambda file: file.write(text.getvalue().encode()), replace=replace)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Recording":
        """Read a recording or its journal; code in a file is never run.

        Raises:
            RecordingError: the file does not exist, is truncated, is no recording, is of a later
                version, or an array is missing or has a wrong shape or type.
        """
        left = journal_path(path)
        if not os.path.exists(path) and left.exists():
            raise RecordingError(
                f"there is no recording '{path}', but an unfinished one, '{left}': "
                "give its name, or make a recording of it with nmdp-pin recover"
            )
        with open_input(path, "recording") as file:
            unfinished = file.read(len(MAGIC)) == MAGIC
        arrays = _read_journal(path) if unfinished else read_npz(path, "recording", _Kept())
        if "meta" not in arrays:
            raise RecordingError(f"'{path}' is not a recording: it lacks meta")
        meta = take_meta(arrays, "format", FORMAT, path, "recording")
        missing = [name for name in ROWS if name not in arrays]
        if missing:
            raise RecordingError(f"'{path}' is not a recording: it lacks {', '.join(missing)}")
        try:
            kinds = _checked_kinds(meta)
            readings = {name: _take_reading(arrays, name, kinds[name]) for name in kinds}
            _check(arrays, row_type(_checked_sizes(meta)), len(meta["statuses"]))
        except ValueError as error:
            raise RecordingError(f"'{path}': {error}") from error
        return cls(**{name: arrays[name] for name in ROWS}, meta=meta, readings=readings)


ROWS: dict[str, tuple[Any, ...]] = {
    name: hint.__metadata__
    for name, hint in get_type_hints(Recording, include_extras=True).items()
    if name not in ("meta", "readings")
}
"""Arrays of a recording: type and shape of a row; nq, nv, nc stand for sizes of the robot."""


_READING = "sensors."  # before the names of readings, in files
_TYPES = {"float64": float, "uint8": np.uint8}  # of readings: numbers, and pictures
Kinds = Mapping[str, Sequence[Any]]
"""Type and shape of the readings of each sensor."""


class _Kept:
    """Names of the arrays of a recording in a file."""

    def __contains__(self, name: object) -> bool:
        return name in ROWS or name == "meta" or str(name).startswith(_READING)


def member(name: str) -> str:
    """Name of the readings of a sensor in files."""
    return f"{_READING}{name}"


def members(readings: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Readings by their names in files."""
    return {member(name): value for name, value in readings.items()}


def kinds_of(readings: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
    """Types and shapes of readings."""
    return {name: [value.dtype.name, *value.shape] for name, value in readings.items()}


def row_type(sizes: dict[str, int], kinds: Kinds | None = None) -> np.dtype:
    """A row of all arrays as one structured type, in which journals keep them."""
    rows = [(name, row[0], [sizes.get(n, n) for n in row[1:]]) for name, row in ROWS.items()]
    rows += [(member(name), _TYPES[kind], shape) for name, (kind, *shape) in (kinds or {}).items()]
    return np.dtype([(name, kind, tuple(shape)) for name, kind, shape in rows])


def _read_journal(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Arrays of a journal so far."""
    chunks = read_chunks(path, "recording")
    try:
        text = np.array(chunks[0].decode())
        meta = take_meta({"meta": text}, "format", FORMAT, path, "recording")
        kinds = _checked_kinds(meta)
        rows = np.frombuffer(b"".join(chunks[1:]), row_type(_checked_sizes(meta), kinds))
    except (IndexError, ValueError, OverflowError, MemoryError) as error:
        raise RecordingError(f"'{path}' is not the journal of a recording: {error}") from error
    return {"meta": text, **{name: rows[name].copy() for name in rows.dtype.names or ()}}


def _checked_sizes(meta: dict[str, Any]) -> dict[str, int]:
    """Sizes nq, nv and nc, checked against the lists of names."""
    try:
        sizes = {name: int(meta["sizes"][name]) for name in ("nq", "nv", "nc")}
        names = [*meta["joints"], *meta["contacts"], *meta["statuses"], meta["robot"]]
        dict(meta["versions"])
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"its meta data cannot be used ({error!r})") from error
    texts = all(isinstance(name, str) for name in names)
    if min(sizes.values()) < 0 or len(meta["contacts"]) != sizes["nc"] or not texts:
        raise ValueError("its meta data cannot be used (sizes and names disagree)")
    return sizes


def _checked_kinds(meta: dict[str, Any]) -> dict[str, list[Any]]:
    """Types and shapes of the readings; recordings of before sensors have none."""
    try:
        kinds = {str(name): list(kind) for name, kind in dict(meta.get("sensors", {})).items()}
        for kind, *shape in kinds.values():
            if kind not in _TYPES or any(type(n) is not int or n < 0 for n in shape):
                raise ValueError([kind, *shape])
    except (ValueError, TypeError) as error:
        raise ValueError(f"its meta data cannot be used (sensors: {error!r})") from error
    return kinds


def _take_reading(arrays: dict[str, np.ndarray], name: str, kind: Sequence[Any]) -> np.ndarray:
    """Remove the readings of a sensor from arrays of a file."""
    if member(name) not in arrays:
        raise ValueError(f"it lacks the readings of sensor '{name}'")
    array, shape = arrays.pop(member(name)), (len(arrays["t"]), *kind[1:])
    whole = array.dtype.kind in "iu"
    if array.shape != shape or whole is not (kind[0] == "uint8"):
        raise ValueError(
            f"the readings of sensor '{name}' are {array.dtype} of shape {array.shape}, "
            f"expected {kind[0]} of {shape}"
        )
    return array.astype(_TYPES[kind[0]])


def _check(arrays: dict[str, np.ndarray], row: np.dtype, n_statuses: int) -> None:
    """Check arrays against the type of a row."""
    n = arrays["t"].shape[0] if arrays["t"].ndim == 1 else 0
    if n == 0:
        raise ValueError(f"t has shape {arrays['t'].shape}, expected (n,), n > 0")
    for name in ROWS:
        array, expected = arrays[name], row[name]
        if array.shape != (n, *expected.shape):
            raise ValueError(f"{name} has shape {array.shape}, expected {(n, *expected.shape)}")
        if array.dtype != expected.base:
            raise ValueError(f"{name} has the type {array.dtype}")
    for name in ("t", "q", "v", "base_position", "base_rotation"):
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} holds numbers that are not finite")
    if (np.diff(arrays["t"]) < 0.0).any():
        raise ValueError("the times decrease")
    if not ((arrays["status"] >= 0) & (arrays["status"] < n_statuses)).all():
        raise ValueError(f"it has a status that is not among its {n_statuses}")
