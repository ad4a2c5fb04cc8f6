"""One run: a scenario simulated to its end, and recorded."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from nmdp_pin.failure import FailedStep
from nmdp_pin.integrators.integrator import StepResult
from nmdp_pin.recorder import Recorder
from nmdp_pin.recording import Recording
from nmdp_pin.scenario import Scenario, Setup
from nmdp_pin.step_failed import StepFailed

Observer = Callable[[StepResult], bool | None]
"""Called with the result of each step; True ends the run after it."""


def run(
    scenario: Scenario,
    *,
    setup: Setup | None = None,
    out: str | os.PathLike[str] | None = None,
    dump: str | os.PathLike[str] | None = None,
    replace: bool = False,
    observer: Observer | None = None,
    meta: dict[str, Any] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Recording:
    """Simulate a scenario to its end, to a step that fails, or until the observer ends it.

    Args:
        scenario: scenario to simulate.
        setup: result of `scenario.build`, if it exists already.
        out: recording (.npz), which is kept up to date while the run goes on: see `Recorder`.
        dump: file of the step that fails (.npz), if one does: see `FailedStep`.
        replace: whether `out` and `dump` may replace files that are already there.
        observer: sees every result, also of the step that fails.
        meta: facts to keep with the recording beside the scenario.
        clock: measures what computing a step took [s].

    Returns:
        All steps; where one failed it is the last row, whose status says why.

    Raises:
        RobotError, ScenarioError: the scenario cannot be built.
        RecordingError: `out` or `dump` cannot be written.
        NmdpError: an error of the controller; `out` holds the steps until then.
    """
    setup = setup or scenario.build(visuals=False)
    facts = {"scenario": scenario.resolved(), **(meta or {})}
    results = setup.simulator.run(
        setup.state,
        setup.controller,
        dt=scenario.integrator.dt,
        duration=scenario.duration,
        on_failure="raise",
    )
    with Recorder(setup.robot, setup.state, facts, out=out, replace=replace) as recorder:
        start = clock()
        try:
            for result in results:
                recorder.record(result, clock() - start)
                if observer is not None and observer(result):
                    break
                start = clock()
        except StepFailed as failure:
            recorder.record(failure.result, clock() - start)
            if observer is not None:
                observer(failure.result)
            if dump is not None:
                FailedStep.of(failure, scenario).save(dump, replace=replace)
    return recorder.recording()
