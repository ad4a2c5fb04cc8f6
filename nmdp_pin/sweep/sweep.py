"""A sweep: the runs of a grid, each made once, in one table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmdp_pin.errors import SweepError
from nmdp_pin.executors import Executor
from nmdp_pin.executors.progress import Progress
from nmdp_pin.recorder import versions
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
    """One scenario at every point of a grid; all points are checked here, before any run.

    Args:
        source: a bundled scenario or the path of a TOML file.
        axes: the grid, at least one axis.
        overrides: overrides of all runs, such as "duration=1.0".

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
        self.points = plan(self.source, self.axes, self.overrides)

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
            out: the table (.parquet); one that a sweep made is replaced. The runs are kept beside
                it, in a file with ".runs" behind its name.
            executor: executor of the runs; None: serial.
            progress: True draws a bar on a terminal; a function is called with the number of
                runs done and the number of all.

        Raises:
            MissingExtra: pyarrow is not installed.
            SweepError: there is another file at `out`.
            RecordingError: the table or the file of the runs cannot be written, or another sweep
                is writing it.
            NmdpError: a scenario that cannot be built; the message names the point of the grid.
            ExecutorError: a worker died repeatedly.
        """
        path = Path(out)
        check_table(path)
        runs = [point.run for point in self.points]
        with RunStore(path.with_name(f"{path.name}.runs")) as store:
            kept = sum(store.find(run) is not None for run in runs)
            rows = run_many(runs, store, executor=executor, progress=progress)
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
