"""Many runs, made in parallel, each kept in a file of its own and made only once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from nmdp_pin.errors import ExecutorError, ExperimentError
from nmdp_pin.executors import Processes
from nmdp_pin.experiments.code_version import code_version, file_version
from nmdp_pin.experiments.kept_run import KeptRun, find_run
from nmdp_pin.experiments.run_spec import RunSpec
from nmdp_pin.recording import Recorder
from nmdp_pin.scenario import Scenario


@dataclass(frozen=True)
class _Job:
    """A run, its file, and what the file's meta data say it was made with."""

    spec: RunSpec
    path: Path
    made_with: dict[str, Any]

    def kept(self) -> KeptRun | None:
        return find_run(self.spec, self.path, self.made_with)


class Campaign:
    """Makes the runs that a folder does not hold yet.

    A run is made again where its file is absent or damaged, where its settings differ, or where
    the code of this package or the packages it computes with has changed.

    Args:
        folder: of the recordings; made where there is none.
        workers: processes; 1 runs in this one, None takes one a core.
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
            in_turn: one after the other in the order given, in one process of one thread, so that
                their computing times can be compared.

        Returns:
            The kept runs. One that failed numerically is there too, with what it recorded.

        Raises:
            ExperimentError: the folder cannot be made, or a process died.
            NmdpError: settings that cannot be used.
        """
        jobs = self._jobs(dict.fromkeys(specs))
        runs = {job.spec: job.kept() for job in jobs}
        missing = [job for job in jobs if runs[job.spec] is None]
        if not in_turn:
            # The longest first, so that no process has much left at the end.
            missing.sort(key=lambda job: job.spec.dt / job.spec.duration)
        in_place = not missing if in_turn else self.workers == 1 or len(missing) <= 1
        workers = 1 if in_turn else self.workers
        # Closed here, so that an interruption stops the processes before it goes further up.
        finishing = closing(_here(missing) if in_place else _apart(missing, workers))
        with self._progress(len(jobs), len(jobs) - len(missing)) as done, finishing as finished:
            for spec in finished:
                done(spec)
        return {job.spec: _found(job, runs[job.spec] or job.kept()) for job in jobs}

    def _jobs(self, specs: Iterable[RunSpec]) -> list[_Job]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ExperimentError(
                f"cannot make the folder '{self.folder}' of the runs: {error.strerror or error}"
            ) from error
        jobs: dict[Path, _Job] = {}
        for spec in specs:
            path = self.folder / f"{spec.name}.npz"
            if path in jobs:
                raise ExperimentError(
                    f"two runs with different settings have the name '{spec.name}'; "
                    "give their presets different names"
                )
            scenario = spec.load()
            made_with = {"scenario": scenario.resolved(), "code": code_version()}
            if scenario.robot.urdf is not None:
                made_with["urdf"] = file_version(Path(scenario.robot.urdf))
            jobs[path] = _Job(spec, path, made_with)
        return list(jobs.values())

    @contextmanager
    def _progress(self, total: int, kept: int) -> Iterator[Callable[[RunSpec], None]]:
        """A bar on standard error; nothing where that is no terminal."""
        console = Console(stderr=True)
        bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=console,
            disable=self.quiet or not console.is_terminal,
        )
        with bar:
            task = bar.add_task(f"{kept} kept from before", total=total, completed=kept)
            yield lambda spec: bar.update(task, advance=1, description=f"done: {spec.name}")


def _found(job: _Job, run: KeptRun | None) -> KeptRun:
    if run is None:
        raise ExperimentError(f"'{job.path}' was removed or changed while the evaluation ran")
    return run


def _here(jobs: Sequence[_Job]) -> Generator[RunSpec, None, None]:
    for job in jobs:
        _simulate(job)
        yield job.spec


def _apart(jobs: Sequence[_Job], workers: int) -> Generator[RunSpec, None, None]:
    """Run in other processes, yielding each spec as it is done; what ends early is not kept."""
    with Processes(min(workers, len(jobs)), retries=0) as executor:
        try:
            for place, _ in executor.map(_simulate_apart, code_version(), jobs):
                yield jobs[place].spec
        except ExecutorError as error:
            raise ExperimentError(
                "a process of the evaluation died (out of memory, or killed); the finished runs "
                "are kept: start it again, with fewer workers if memory was short"
            ) from error


def _simulate_apart(code: str, job: _Job) -> None:
    if code_version() != code:
        raise ExperimentError(
            "the package's sources changed while the evaluation started: start it again"
        )
    _simulate(job)


def _simulate(job: _Job) -> None:
    """Make one run and keep it."""
    scenario = Scenario.from_dict(job.made_with["scenario"])
    setup = scenario.build(visuals=False)
    recorder = Recorder(setup.robot, setup.state, job.made_with)
    results = setup.simulator.run(
        setup.state, setup.controller, dt=scenario.integrator.dt, duration=scenario.duration
    )
    # Other work on the machine disturbs the time of the processor less than that on the wall.
    clock = time.process_time if job.spec.repeat else time.perf_counter
    start = clock()
    for result in results:
        recorder.record(result, clock() - start)
        start = clock()
    recorder.save(job.path)
