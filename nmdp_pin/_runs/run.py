"""Single runs of scenarios, with recordings."""

import os
import time
from collections.abc import Callable
from typing import Any

from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._options import check_part
from nmdp_pin._runs.failed_step import FailedStep
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._runs.recording import Recording
from nmdp_pin._scenario import Scenario, Setup
from nmdp_pin._simulator.step_control import StepFailed
from nmdp_pin.errors import ScenarioError

Observer = Callable[[StepResult], bool | None]
"""Called with the result of each step; True ends the run after it."""


def compile_kernels(scenario: Scenario, setup: Setup) -> None:
    """Make a step, which changes nothing, so that a run is timed without compilation."""
    h = scenario.integrator.dt
    setup.simulator.step(setup.state, setup.controller.command(setup.state, h), h)


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
    """Simulate a scenario to its end, or to a step that fails.

    Args:
        scenario: scenario to simulate.
        setup: result of `scenario.build`, if it exists already.
        out: path of the recording (.npz), kept up to date during the run; see `Recorder`.
        dump: path for the step that fails (.npz); see `FailedStep`.
        replace: whether `out` and `dump` may replace existing files.
        observer: function that receives every result, including that of a failed step.
        meta: metadata to keep with the recording, beside the scenario.
        clock: clock of the computing times [s].

    Returns:
        The recording; a step that failed is its last row.

    Raises:
        RobotError, ScenarioError: the scenario cannot be built.
        RecordingError: `out` or `dump` cannot be written.
        NmdpError: an error of the controller; `out` holds the steps until then.
    """
    check_part("scenario", scenario, Scenario, ScenarioError)
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
