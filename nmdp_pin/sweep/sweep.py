"""A sweep: the runs of a grid, each made once, in one table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmdp_pin.errors import SweepError
from nmdp_pin.executors import Executor, Serial
from nmdp_pin.executors.progress import Progress, shown
from nmdp_pin.experiments.code_version import code_version
from nmdp_pin.files.output_file import check_writable
from nmdp_pin.recording import versions
from nmdp_pin.sweep.grid import GridAxis
from nmdp_pin.sweep.journal import Journal
from nmdp_pin.sweep.plan import plan
from nmdp_pin.sweep.row import made_row
from nmdp_pin.sweep.table import read_rows, require_parquet, write_rows

Rows = dict[str, dict[str, Any]]  # by the hash of the scenario


@dataclass(frozen=True)
class SweepOutcome:
    """What a sweep did.

    Args:
        runs: how many there are in the table.
        kept: how many of them were there before.
        failed: how many ended with a step that failed.
    """

    runs: int
    kept: int
    failed: int


class Sweep:
    """One scenario at every point of a grid; all points are checked here, before any run.

    Args:
        source: a bundled scenario or the path of a TOML file.
        axes: the grid, at least one axis.
        overrides: what is the same for all runs, such as "duration=1.0".

    Raises:
        ScenarioError: a key or a value that the scenario does not take.
        SweepError: no axis, an axis given twice, or two points that are the same run.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        axes: Sequence[GridAxis],
        *,
        overrides: Sequence[str] = (),
    ) -> None:
        if not axes:
            raise SweepError("a sweep needs a grid, such as integrator.dt=0.01,0.02")
        self.source, self.axes, self.overrides = os.fspath(source), tuple(axes), tuple(overrides)
        self.runs = plan(self.source, self.axes, self.overrides)

    def run(
        self,
        out: str | os.PathLike[str],
        *,
        executor: Executor | None = None,
        progress: bool | Progress = False,
    ) -> SweepOutcome:
        """Make the runs that are not there yet, and write the table when all are.

        However this ends, a run that was finished is on disk, and the next call goes on from it.

        Args:
            out: the table (.parquet). One that is there is completed: the grid may have grown.
            executor: where the runs are made; None: here, one after the other.
            progress: True draws a bar on a terminal; a function is called with the number of
                runs done and the number of all.

        Raises:
            MissingExtra: pyarrow is not installed.
            SweepError: the file is of another sweep, or of other code, or being written.
            RecordingError: the file cannot be written.
            ExecutorError: workers died again and again.
        """
        path, executor = Path(out), executor or Serial()
        require_parquet()
        check_writable(path)
        with Journal(path) as journal:
            rows = self._known(read_rows(path), path) | self._known(journal.rows, journal.path)
            kept = len(rows)
            self._make_missing(rows, journal, executor, progress)
            if len(rows) > kept or journal.rows:
                self._write(path, rows)
                journal.remove()
        failed = sum(row["status"] != "converged" for row in rows.values())
        return SweepOutcome(len(rows), kept, failed)

    def _known(self, rows: Iterable[dict[str, Any]], path: Path) -> Rows:
        """Finished runs of this sweep by their hashes; a file of another one is left alone."""
        known: Rows = {}
        planned, code = {run.scenario_hash for run in self.runs}, code_version()
        for row in rows:
            if row.get("scenario_hash") not in planned:
                raise SweepError(
                    f"{path} holds runs that are not of this sweep (its grid, its scenario or a "
                    "file of it differs): give another --out, or remove it"
                )
            if row.get("code") != code:
                raise SweepError(
                    f"{path} holds runs that were made with other code or other packages: give "
                    "another --out, or remove it to make them again"
                )
            known[row["scenario_hash"]] = row
        return known

    def _make_missing(
        self, rows: Rows, journal: Journal, executor: Executor, progress: bool | Progress
    ) -> None:
        missing = [run for run in self.runs if run.scenario_hash not in rows]
        scenarios = (run.scenario for run in missing)
        code, total = code_version(), len(self.runs)
        with shown(progress, "runs", total) as show:
            show(len(rows), total)
            for place, made in executor.map(made_row, code, scenarios):
                key = missing[place].scenario_hash
                row = {"scenario_hash": key, "code": code, **made}
                journal.append(row)
                rows[key] = row
                show(len(rows), total)

    def _write(self, path: Path, rows: Rows) -> None:
        """The table, in the order of the grid, with the grid's values in front."""
        keys = [axis.key for axis in self.axes]
        made = rows[self.runs[0].scenario_hash]
        columns = [name for name in made if name not in keys]
        table = [
            {**run.values, **{name: rows[run.scenario_hash][name] for name in columns}}
            for run in self.runs
        ]
        meta = {
            "source": self.source,
            "overrides": self.overrides,
            "grid": {axis.key: axis.values for axis in self.axes},
            "versions": versions(),
        }
        write_rows(path, table, keys, meta)
