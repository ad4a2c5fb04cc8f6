"""The runs of an evaluation, in one folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from nmdp_pin._runs.run_many import run_many
from nmdp_pin._runs.run_store import RunStore, recording_name
from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.kept_run import KeptRun
from nmdp_pin.papers.run_spec import RunSpec


class Campaign:
    """Runner of those runs that a folder lacks.

    A run is made again where its recording is absent or damaged, where its settings differ, or
    where the code of this package or the packages it computes with has changed.

    Args:
        folder: folder of the recordings; made where there is none.
        workers: number of processes; None: one a core.
        quiet: show no progress.
    """

    def __init__(self, folder: Path, *, workers: int | None = None, quiet: bool = False) -> None:
        if workers is not None and workers < 1:
            raise ExperimentError(f"workers must be at least 1, got {workers}")
        self.folder = folder
        self.workers = workers or os.cpu_count() or 1
        self.quiet = quiet

    def run(self, specs: Iterable[RunSpec], *, in_turn: bool = False) -> Mapping[RunSpec, KeptRun]:
        """Make what is missing; the finished runs stay when this is interrupted.

        Args:
            specs: the runs; one that is named twice is made once.
            in_turn: one after the other in the order given, in this thread, so that their
                computing times can be compared.

        Returns:
            The kept runs. One that failed numerically is there too, with what it recorded.

        Raises:
            ExperimentError: the folder cannot be made, or two runs have one name.
            WorkerError: a process died.
            NmdpError: settings that cannot be used.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ExperimentError(
                f"cannot make the folder '{self.folder}' of the runs: {error.strerror or error}"
            ) from error
        order = list(dict.fromkeys(specs))
        if not in_turn:
            # The longest first, so that no process has much left at the end.
            order.sort(key=lambda spec: spec.dt / spec.duration)
        planned = [spec.planned() for spec in order]
        names = [run.name for run in planned]
        for name in names:
            if names.count(name) > 1:
                raise ExperimentError(
                    f"two runs with different settings have the name '{name}'; "
                    "give their presets different names"
                )
        with RunStore(self.folder / "runs.journal", folder=self.folder) as store:
            n_jobs = 1 if in_turn else self.workers
            made = run_many(planned, store, n_jobs=n_jobs, progress=not self.quiet)
        return {
            spec: KeptRun(spec, self.folder / recording_name(run), summary)
            for spec, run, summary in zip(order, planned, made, strict=True)
        }
