"""Summary of a run: how it ended, where the robot is, what it took."""

from __future__ import annotations

from typing import Any

from nmdp_pin.robot.feasibility import buried_depth
from nmdp_pin.runs.recording import Recording
from nmdp_pin.runs.run_figures import compare_table, tilt
from nmdp_pin.scenario.run_warnings import recorded_overlaps
from nmdp_pin.scenario.scenario import Setup
from nmdp_pin.status import Status


def summary(run: Recording, setup: Setup) -> dict[str, Any]:
    """Row of a table of runs, as JSON data; see docs/rollouts.md.

    Args:
        run: recording of the run.
        setup: objects of its scenario.
    """
    overlaps = recorded_overlaps(setup.overlap_check, run)
    good = run.q[run.status == 0]
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
        "overlap": max((overlap.depth for overlap in overlaps), default=0.0),
        "buried": float(buried_depth(setup.robot, setup.terrain, good).max(initial=0.0)),
        "kinetic_energy": float(run.kinetic_energy[-1]),
        "potential_energy": float(run.potential_energy[-1]),
        "iterations": int(run.outer_iterations.sum()),
        "evaluations": int(run.evaluations.sum()),
        "halvings": figures.halvings,
        "wall_time": float(run.wall_time.sum()),
    }
