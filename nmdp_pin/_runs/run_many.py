"""Execution of many runs, each made once."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nmdp_pin._parallel.tasks import Progress, shown, side_by_side
from nmdp_pin._runs.run import Observer, compile_kernels, run
from nmdp_pin._runs.run_store import (
    PlannedRun,
    RunStore,
    Summary,
    code_version,
    recording_digest,
    recording_name,
)
from nmdp_pin._runs.run_summary import summary
from nmdp_pin._scenario import Scenario, Setup
from nmdp_pin.errors import NmdpError, WorkerError

Watch = Callable[[PlannedRun, Setup], Observer]
"""Makes the observer of a run; its robot has visual geometry."""


def run_many(
    runs: Sequence[PlannedRun],
    store: RunStore,
    *,
    n_jobs: int | None = None,
    progress: bool | Progress = False,
    watch: Watch | None = None,
) -> list[Summary]:
    """Make the runs that a store lacks; all scenarios are built before the first run.

    Runs that are watched are made one after another in this process.
    """
    n_jobs = n_jobs if watch is None else 1
    found = [store.find(run) for run in runs]
    places = [place for place, known in enumerate(found) if known is None]
    missing = [runs[place] for place in places]
    for _ in side_by_side(_build, None, missing, n_jobs=n_jobs):
        pass
    done = len(runs) - len(missing)
    with shown(progress, "runs", len(runs)) as show:
        show(done, len(runs))
        for number, made in side_by_side(
            _make, (code_version(), store.folder, watch), missing, n_jobs=n_jobs
        ):
            store.keep(missing[number], made)
            found[places[number]] = made
            done += 1
            show(done, len(runs))
    return [made for made in found if made is not None]


def _build(shared: None, planned: PlannedRun) -> None:
    """Check that a run can be started."""
    with _naming(planned):
        Scenario.from_dict(planned.scenario).build(visuals=False)


def _make(shared: tuple[str, Path | None, Watch | None], planned: PlannedRun) -> Summary:
    """Make a run, keep its recording where that is wanted, and return its summary."""
    code, folder, watch = shared
    if code_version() != code:
        raise WorkerError(
            "a worker has another version of this package's code than the process that started "
            "it: install the same one everywhere, and start again"
        )
    # Other work on the machine disturbs the time of the processor less than that on the wall.
    clock = time.thread_time if planned.repeat else time.perf_counter
    with _naming(planned):
        scenario = Scenario.from_dict(planned.scenario)
        setup = scenario.build(visuals=watch is not None)
        compile_kernels(scenario, setup)
        observer = None if watch is None else watch(planned, setup)
        recording = run(scenario, setup=setup, observer=observer, meta={"code": code}, clock=clock)
    made = summary(recording, setup) | {"scenario_hash": planned.scenario_hash, "code": code}
    if folder is not None:
        path = folder / recording_name(planned)
        recording.save(path)
        made["recording"] = recording_digest(path)
    return made


@contextmanager
def _naming(planned: PlannedRun) -> Iterator[None]:
    """Name the run in errors, whose type is kept."""
    try:
        yield
    except NmdpError as error:
        error.args = (f"{planned.name}: {error}",)
        raise
