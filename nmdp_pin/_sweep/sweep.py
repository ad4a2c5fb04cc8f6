"""Sweeps: the runs of a grid in one table, a Parquet file."""

import difflib
import importlib
import itertools
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmdp_pin._files.output_file import check_writable, write_whole
from nmdp_pin._options import check_part, check_parts
from nmdp_pin._parallel.tasks import Progress
from nmdp_pin._runs.recorder import versions
from nmdp_pin._runs.run_many import Watch, run_many
from nmdp_pin._runs.run_store import PlannedRun, RunStore, leaves
from nmdp_pin._scenario import Scenario
from nmdp_pin._scenario.scenario import FRICTION
from nmdp_pin._sweep.grid import MOST_POINTS, GridAxis, as_toml
from nmdp_pin.errors import MissingExtra, ScenarioError, SweepError

_WORDS = {"mu": "friction"}  # what others call it: what it is called here
_ALIKE = 0.75  # of two keys, as difflib measures it
_META = b"nmdp_pin._sweep"  # key of what a table says of itself


@dataclass(frozen=True, eq=False)
class GridPoint:
    """Point of a grid: values of its keys, and the run there."""

    values: dict[str, Any]
    run: PlannedRun


@dataclass(frozen=True, eq=False)
class SweepOutcome:
    """Outcome of a sweep.

    Args:
        rows: rows of the table, with the value of each column by its name.
        kept: number of runs that existed before.
    """

    rows: tuple[dict[str, Any], ...]
    kept: int

    @property
    def runs(self) -> int:
        """Number of runs in the table."""
        return len(self.rows)

    @property
    def failed(self) -> int:
        """Number of runs that ended with a failed step."""
        return sum(row["status"] != "converged" for row in self.rows)


class Sweep:
    """Sweep of a scenario over a grid, whose points are checked before the first run.

    Args:
        source: a bundled scenario or the path of a TOML file.
        axes: axes of the grid, at least one; the last varies fastest.
        overrides: overrides of all runs, such as "duration=1.0".

    Attributes:
        points: points of the grid, in the order of the table.

    Raises:
        ScenarioError: the scenario does not accept a key or a value.
        SweepError: there is no axis, an axis is given twice, or two points are the same run.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        axes: Sequence[GridAxis],
        *,
        overrides: Sequence[str] = (),
    ) -> None:
        check_part("source", source, (str, os.PathLike), SweepError)
        axes = check_parts("axes", axes, GridAxis, SweepError)
        self.source, self.axes = os.fspath(source), axes
        self.overrides = check_parts("overrides", overrides, str, SweepError)
        if not axes:
            raise SweepError("a sweep needs a grid, such as integrator.dt=0.01,0.02")
        keys = [axis.key for axis in axes]
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise SweepError(f"the grid has '{twice[0]}' twice: give all its values at once")
        count = math.prod(len(axis.values) for axis in axes)
        if count > MOST_POINTS:
            raise SweepError(f"the grid has {count} points; at most {MOST_POINTS} are run")
        self._base = Scenario.load(self.source, overrides=self.overrides).resolved()
        points: dict[str, GridPoint] = {}
        for values in itertools.product(*(axis.values for axis in axes)):
            point = self._point(dict(zip(keys, values, strict=True)))
            other = points.setdefault(point.run.scenario_hash, point)
            if other is not point:
                raise SweepError(
                    f"{point.values} and {other.values} are the same run: two keys of the grid "
                    "set the same thing"
                )
        self.points = list(points.values())

    def run(
        self,
        out: str | os.PathLike[str],
        *,
        n_jobs: int | None = None,
        progress: bool | Progress = False,
        watch: Watch | None = None,
    ) -> SweepOutcome:
        """Make the missing runs and write the table.

        Finished runs are kept on disk, and the next call continues after any interruption.

        Args:
            out: path of the table (.parquet); a table of a sweep is replaced. The runs are kept in
                a file beside it, with the suffix ".runs".
            n_jobs: number of processes, as in `nmdp_pin.rollout`.
            progress: True draws a bar on a terminal; a function is called with the number of
                runs done and the number of all.
            watch: called with each planned run and its setup, makes the observer of the run; the
                runs are then made one after another in this process.

        Raises:
            MissingExtra: pyarrow is not installed.
            SweepError: `out` is a file of another kind.
            RecordingError: the table or the file of the runs cannot be written, or another sweep
                is writing it.
            NmdpError: a scenario cannot be built; the message names the point of the grid.
            WorkerError: a worker died.
        """
        path = Path(out)
        check_table(path)
        runs = [point.run for point in self.points]
        with RunStore(path.with_name(f"{path.name}.runs")) as store:
            kept = sum(store.find(run) is not None for run in runs)
            rows = run_many(runs, store, n_jobs=n_jobs, progress=progress, watch=watch)
        keys = [axis.key for axis in self.axes]
        columns = [name for name in ("scenario_hash", "code", *rows[0]) if name not in keys]
        table = tuple(
            point.values | {name: row[name] for name in columns}
            for point, row in zip(self.points, rows, strict=True)
        )
        meta = {
            "source": self.source,
            "overrides": self.overrides,
            "grid": {axis.key: axis.values for axis in self.axes},
            "versions": versions(),
        }
        write_rows(path, table, keys, meta)
        return SweepOutcome(table, kept)

    def _point(self, values: dict[str, Any]) -> GridPoint:
        given = [f"{key}={as_toml(key, value)}" for key, value in values.items()]
        try:
            scenario = Scenario.load(self.source, overrides=[*self.overrides, *given]).resolved()
        except ScenarioError as error:
            hints = [hint for key in values if (hint := _alike(key, self._base))]
            told = ". ".join([str(error).rstrip("."), *hints])
            raise ScenarioError(f"grid point {values}: {told}") from error
        return GridPoint(values, PlannedRun(f"grid point {values}", scenario))


def _alike(key: str, scenario: dict[str, Any]) -> str:
    """Similar keys of the scenario; empty where the key exists."""
    names = [name for name, _ in leaves("", scenario)]
    if key in names or "*" in key or key == FRICTION:
        return ""
    last = _WORDS.get(key.rpartition(".")[2], key.rpartition(".")[2])
    same = [name for name in names if name.rpartition(".")[2] == last]
    close = same or difflib.get_close_matches(key, names, cutoff=_ALIKE)
    return f"Keys of this scenario like '{key}': {', '.join(close)}" if close else ""


def check_table(path: Path) -> None:
    """Check that a table can be written, and that no other file is lost by it."""
    parquet = _pyarrow("parquet")
    check_writable(path)
    try:
        known = not path.exists() or _META in (parquet.read_schema(path).metadata or {})
    except (OSError, ValueError):
        known = False
    if not known:
        raise SweepError(f"{path} is not the table of a sweep: give another --out")


def write_rows(
    path: Path, rows: Sequence[dict[str, Any]], keys: Sequence[str], meta: dict[str, Any]
) -> None:
    """Write the table, whole or not at all."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns |= {key: _of_one_type(columns[key]) for key in keys}
    table = _pyarrow("lib").table(columns)
    table = table.replace_schema_metadata({_META: json.dumps(meta).encode()})
    write_whole(path, lambda file: _pyarrow("parquet").write_table(table, file))


def _pyarrow(module: str) -> Any:
    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError as error:
        raise MissingExtra("pyarrow", "sweep") from error


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values of a grid in one type: numbers, flags, texts or lists of numbers, else JSON."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return [float(value) for value in values]
    if kinds == {list} and all(type(x) in (int, float) for value in values for x in value):
        return [[float(x) for x in value] for value in values]
    simple = len(kinds) == 1 and kinds <= {int, float, bool, str}
    return values if simple else [json.dumps(value) for value in values]
