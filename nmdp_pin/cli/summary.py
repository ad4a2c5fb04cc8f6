"""Summary of a run."""

from __future__ import annotations

import numpy as np

from nmdp_pin.cli.printable import printable
from nmdp_pin.runs.motion import Motion
from nmdp_pin.runs.recording import Recording
from nmdp_pin.runs.run_figures import (
    RunFigures,
    base_moves,
    compare_table,
    fall,
    flights,
    tilt,
)


def summary(recording: Recording, motion: Motion | None = None) -> str:
    """Summary of steps, speed, and motion of base, joints and objects.

    Args:
        recording: the run; its first row is the initial state.
        motion: motion of its joints and objects; None: of these nothing is said.
    """
    steps = recording.n - 1
    failed = int(np.count_nonzero(recording.status))
    halved = int(np.count_nonzero((recording.halvings > 0) & (recording.status == 0)))
    how = "halved" if np.isnan(recording.error).all() else "divided"
    figures = compare_table([recording])[0]
    lines = [
        f"{printable(recording.meta['robot'])}: {recording.duration:.4g} s simulated in "
        f"{recording.wall_time.sum():.3g} s, {figures.real_time_factor:.1f} x real time",
        f"steps: {steps}, {steps - failed} converged ({halved} of them {how}), {failed} failed",
    ]
    if steps:
        iterations, evaluations = recording.outer_iterations[1:], recording.evaluations[1:]
        lines.append(
            f"work a step: {iterations.mean():.1f} iterations (at most {iterations.max()}), "
            f"{evaluations.mean():.1f} evaluations, {1e3 * recording.wall_time[1:].mean():.3g} ms"
        )
    if not np.isnan(recording.error).all():
        errors = recording.error[1:]
        sub_steps = recording.halvings[1:] + 1
        lines.append(
            f"error a step, of the tolerances': {np.nanmean(errors):.2f} (at most "
            f"{np.nanmax(errors):.2g}; {np.count_nonzero(errors > 1.0)} steps beyond), "
            f"{sub_steps.sum()} sub-steps, {recording.discarded.sum()} tries discarded"
        )
    lines += _movements(motion or Motion(), figures)
    lines += _events(recording, figures)
    deepest = 1e3 * recording.contact_depth.max(initial=0.0)
    lines.append(f"deepest contact {deepest:.3g} mm")
    return "\n".join(lines)


def _events(recording: Recording, figures: RunFigures) -> list[str]:
    """Flights and the fall of a robot whose base moves."""
    if not base_moves(recording):
        return []
    lines, jumps = [], flights(recording)
    if jumps:
        times = "once" if jumps == 1 else f"{jumps} times"
        lines.append(
            f"left the ground {times}, highest {figures.height_gain:.2f} m above the start"
        )
    row = fall(recording)
    if row is not None:
        angle = tilt(recording)[row:].max()
        lines.append(f"fell at {recording.t[row]:.3g} s: tilt up to {angle:.0f} deg")
    return lines


def _movements(motion: Motion, figures: RunFigures) -> list[str]:
    """Motion of the base, the joints and the objects, a line each."""
    lines = []
    if figures.distance > 0.0 or figures.height_gain > 0.0 or not motion.joints:
        lines.append(
            f"base: rose {figures.height_gain:.3f} m, moved {figures.distance:.3f} m, "
            f"mean tilt {figures.mean_tilt:.3g} deg"
        )
    if motion.joints:
        far = max(motion.joints, key=lambda joint: joint.travel)
        line = f"joints: {printable(far.name)} moved the most, {far.travel:.3g} {far.unit}"
        off = max(motion.joints, key=lambda joint: joint.off_target)
        if off.off_target > 0.0:
            line += f"; {printable(off.name)} was {off.off_target:.3g} {off.unit} off its target"
        hard = max(motion.joints, key=lambda joint: joint.effort)
        if hard.effort > 0.0:
            line += f"; {printable(hard.name)} needed {100.0 * hard.effort:.3g} % of its torque"
        lines.append(line)
    for item in motion.objects:
        moved = np.linalg.norm(item.position[-1] - item.position[0])
        lines.append(
            f"{printable(item.name)}: moved {moved:.3f} m, "
            f"turned {np.degrees(item.turned[-1]):.3g} deg"
        )
    return lines
