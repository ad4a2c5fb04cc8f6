"""Sweeps: the runs of a grid in one table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmdp_pin.errors import SweepError
from nmdp_pin.parallel import Progress
from nmdp_pin.runs.recorder import versions
from nmdp_pin.runs.run_many import run_many
from nmdp_pin.runs.run_store import RunStore, Summary
from nmdp_pin.sweep.grid import GridAxis
from nmdp_pin.sweep.plan import plan
from nmdp_pin.sweep.table import check_table, write_rows


@dataclass(frozen=True)
class SweepOutcome:
    """Outcome of a sweep.

    Args:
        runs: number of runs in the table.
        kept: number of runs that existed before.
        failed: number of runs that ended with a failed step.
    """

    runs: int
    kept: int
    failed: int


class Sweep:
    """Sweep of a scenario over a grid, whose points are checked before the first run.

    Args:
        source: a bundled scenario or the path of a TOML file.
        axes: axes of the grid, at least one.
        overrides: overrides of all runs, such as "duration=1.0".

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
        if not axes:
            raise SweepError("a sweep needs a grid, such as integrator.dt=0.01,0.02")
        self.source, self.axes, self.overrides = os.fspath(source), tuple(axes), tuple(overrides)
        self.points = plan(self.source, self.axes, self.overrides)

    def run(
        self,
        out: str | os.PathLike[str],
        *,
        n_jobs: int | None = None,
        progress: bool | Progress = False,
    ) -> SweepOutcome:
        """Make the missing runs and write the table.

        Finished runs are kept on disk, and the next call continues after any interruption.

        Args:
            out: path of the table (.parquet); a table of a sweep is replaced. The runs are kept in
                a file beside it, with the suffix ".runs".
            n_jobs: number of processes, as in `nmdp_pin.rollout`.
            progress: True draws a bar on a terminal; a function is called with the number of
                runs done and the number of all.

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
            rows = run_many(runs, store, n_jobs=n_jobs, progress=progress)
        self._write(path, rows)
        return SweepOutcome(len(rows), kept, sum(row["status"] != "converged" for row in rows))

    def _write(self, path: Path, rows: Sequence[Summary]) -> None:
        """The table, in the order of the grid, with the grid's values in front."""
        keys = [axis.key for axis in self.axes]
        columns = ["scenario_hash", "code", *rows[0]]
        table = [
            point.values | {name: row[name] for name in columns if name not in keys}
            for point, row in zip(self.points, rows, strict=True)
        ]
        meta = {
            "source": self.source,
            "overrides": self.overrides,
            "grid": {axis.key: axis.values for axis in self.axes},
            "versions": versions(),
        }
        write_rows(path, table, keys, meta)
