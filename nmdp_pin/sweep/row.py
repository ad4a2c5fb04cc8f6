"""One run of a sweep, and the row that is kept of it."""

from __future__ import annotations

import time
from typing import Any

from nmdp_pin.errors import SweepError
from nmdp_pin.experiments.code_version import code_version
from nmdp_pin.recording import Recorder, Recording
from nmdp_pin.scenario import Scenario
from nmdp_pin.status import Status
from nmdp_pin.viz.comparison import compare_table, tilt


def made_row(code: str, scenario: dict[str, Any]) -> dict[str, Any]:
    """Make a run, to its end or to the step that fails.

    Args:
        code: what `code_version` says where the sweep was started.
        scenario: with every default.

    Returns:
        What the table holds of it, beside the grid's values; see docs/rollouts.md.

    Raises:
        SweepError: the package is another one here.
        NmdpError: parts of the scenario do not fit each other.
    """
    if code_version() != code:
        raise SweepError(
            "a worker has another version of the package's code than the sweep was started "
            "with: install the same one everywhere, and start it again"
        )
    loaded = Scenario.from_dict(scenario)
    setup = loaded.build(visuals=False)
    recorder = Recorder(setup.robot, setup.state)
    results = setup.simulator.run(
        setup.state, setup.controller, dt=loaded.integrator.dt, duration=loaded.duration
    )
    start = time.perf_counter()
    for result in results:
        recorder.record(result, time.perf_counter() - start)
        start = time.perf_counter()
    return _summary(recorder.recording())


def _summary(run: Recording) -> dict[str, Any]:
    """How a run ended, where the robot is, what it took."""
    figures = compare_table([run])[0]
    x, y, z = run.base_position[-1].tolist()
    return {
        "status": list(Status)[int(run.status[-1])].name.lower(),
        "t": float(run.t[-1]),
        "steps": run.n - 1 - figures.failed,
        "q": run.q[-1].tolist(),
        "v": run.v[-1].tolist(),
        "base_x": x,
        "base_y": y,
        "base_z": z,
        "tilt": float(tilt(run)[-1]),
        "height_gain": figures.height_gain,
        "distance": figures.distance,
        "max_penetration": float(run.contact_depth.max(initial=0.0)),
        "kinetic_energy": float(run.kinetic_energy[-1]),
        "potential_energy": float(run.potential_energy[-1]),
        "iterations": int(run.outer_iterations.sum()),
        "evaluations": int(run.evaluations.sum()),
        "halvings": figures.halvings,
        "wall_time": float(run.wall_time.sum()),
    }
