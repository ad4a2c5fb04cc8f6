"""Many runs, made in parallel, each kept in a file of its own and made only once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from nmdp_pin.errors import ExperimentError
from nmdp_pin.executors.one_thread import one_thread
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
        _simulate(job, lambda: False)
        yield job.spec


def _apart(jobs: Sequence[_Job], workers: int) -> Generator[RunSpec, None, None]:
    """Run in other processes, yielding each spec as it is done."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(
        min(workers, len(jobs)), context, initializer=_prepare, initargs=(stop,)
    )
    try:
        with one_thread():
            futures = {pool.submit(_simulate_in_worker, job): job.spec for job in jobs}
        for future in as_completed(futures):
            future.result()
            yield futures[future]
    except BrokenProcessPool as error:
        raise ExperimentError(
            "a process of the evaluation died (out of memory, or killed); the finished runs "
            "are kept: start it again, with fewer workers if memory was short"
        ) from error
    finally:
        stop.set()  # a run that is under way ends after its present step, unsaved
        pool.shutdown(wait=True, cancel_futures=True)


def _simulate(job: _Job, stopped: Callable[[], bool]) -> None:
    """Make one run and keep it; one that is stopped is not kept."""
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
        if stopped():
            return
        start = clock()
    recorder.save(job.path)


_stop: Event | None = None  # of this worker process; arguments of a task cannot carry it


def _prepare(stop: Event) -> None:
    """Set up a worker process: Ctrl-C is its parent's business, and it dies with its parent."""
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _simulate_in_worker(job: _Job) -> None:
    if code_version() != job.made_with["code"]:
        raise ExperimentError(
            "the package's sources changed while the evaluation started: start it again"
        )
    _simulate(job, _stop.is_set if _stop is not None else lambda: False)
