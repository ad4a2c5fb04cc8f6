"""Plots of recordings."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from nmdp_pin._files.output_file import check_writable
from nmdp_pin._runs.motion import Motion
from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run_figures import apart, base_moves, distance, height, tilt
from nmdp_pin.errors import RecordingError
from nmdp_pin.viz.panels import curve, motion_panels, run_panels, stairs
from nmdp_pin.viz.style import COLORS, literal, new_figure, save_figure

_ROW, _WIDTH = 2.75, 13.0  # [inch]


def plot_recording(
    recording: Recording, path: str | os.PathLike[str], *, motion: Motion | None = None
) -> None:
    """Plot the motion, forces, energy and solver work of a run.

    Args:
        recording: the run.
        path: figure to write, .png, .svg or .pdf.
        motion: motion of joints and objects by `motion_of`; None: no panels of them.

    Raises:
        MissingExtra: matplotlib is not installed.
        RecordingError: the path cannot be written.
    """
    check_writable(path)
    panels = [*motion_panels(recording, motion or Motion()), *run_panels(recording)]
    rows = (len(panels) + 1) // 2
    figure = new_figure(_WIDTH, _ROW * rows)
    grid = figure.subplots(rows, 2, sharex=True, squeeze=False)
    for axis, panel in zip(grid.flat, panels, strict=False):
        panel(axis)
    for axis in grid.flat[len(panels) :]:
        axis.remove()
    for axis in grid.flat[: len(panels)]:
        for k in np.flatnonzero(recording.status != 0):
            axis.axvline(recording.t[k], color="red", linewidth=1.2, linestyle=":")
    for axis in grid.flat[max(len(panels) - 2, 0) : len(panels)]:
        axis.set_xlabel("time [s]")
        axis.tick_params(labelbottom=True)
    grid[0, 0].set_xlim(*_span(recording.t))
    figure.suptitle(_title(recording), fontsize=12, fontweight="bold")
    save_figure(figure, path)


def plot_comparison(
    recordings: Sequence[Recording], labels: Sequence[str], path: str | os.PathLike[str]
) -> None:
    """Plot several runs in common panels.

    Panels show height, tilt and distance of a moving base, or the distance of the configurations
    from those of the first run, and the solver work.

    Args:
        recordings: the runs, at least one, of the same robot.
        labels: labels of the runs.
        path: figure to write, .png, .svg or .pdf.

    Raises:
        MissingExtra: matplotlib is not installed.
        RecordingError: there is no recording, labels do not match, runs cannot be compared, or the
            path cannot be written.
    """
    if not recordings or len(recordings) != len(labels):
        raise RecordingError(
            f"a comparison needs one label a recording, and a recording: "
            f"{len(recordings)} recordings and {len(labels)} labels given"
        )
    check_comparable(recordings, labels)
    check_writable(path)
    figure = new_figure(_WIDTH, 7.0)
    axes = figure.subplots(2, 2, sharex=True)
    moves = any(base_moves(recording) for recording in recordings)
    for k, (recording, label) in enumerate(zip(recordings, labels, strict=True)):
        color, t = COLORS[k % len(COLORS)], recording.t
        if moves:
            curve(axes[0, 0], t, height(recording), "base height [m]", color=color, label=label)
            curve(axes[0, 1], t, tilt(recording), "base tilt [°]", color=color)
            curve(axes[1, 0], t, distance(recording), "distance [m]", color=color)
        else:
            name = "largest difference of q\nfrom the first run [rad, m]"
            differences = apart(recording, recordings[0], lambda run: run.q)
            curve(axes[0, 0], *differences, name, color=color, label=label)
            force = np.linalg.norm(recording.contact_force.sum(axis=1), axis=1)
            curve(axes[0, 1], t, force, "resultant of contacts [N]", color=color)
            curve(axes[1, 0], t, recording.kinetic_energy, "kinetic energy [J]", color=color)
        stairs(axes[1, 1], t, recording.outer_iterations, "outer iterations", color)
    for axis in axes[:, 1]:
        axis.set_ylim(bottom=0.0)
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    spans = np.array([_span(recording.t) for recording in recordings])
    axes[0, 0].set_xlim(spans[:, 0].min(), spans[:, 1].max())
    figure.legend(loc="outside upper center", ncols=min(len(labels), 4), frameon=False)
    save_figure(figure, path)


def check_comparable(recordings: Sequence[Recording], labels: Sequence[str]) -> None:
    """Check that runs are of one robot and overlap in time.

    Raises:
        RecordingError: a run differs from the first; names the difference.
    """
    first = recordings[0]
    for recording, label in zip(recordings[1:], labels[1:], strict=True):
        reason = ""
        if recording.meta["robot"] != first.meta["robot"]:
            reason = f"it is of {recording.meta['robot']!r}, not of {first.meta['robot']!r}"
        elif recording.meta["joints"] != first.meta["joints"]:
            reason = "its robot has other joints or objects"
        elif recording.t[-1] < first.t[0] or recording.t[0] > first.t[-1]:
            reason = (
                f"it is from {recording.t[0]:g} to {recording.t[-1]:g} s, the first one "
                f"from {first.t[0]:g} to {first.t[-1]:g} s"
            )
        if reason:
            raise RecordingError(
                f"{label} cannot be compared with {labels[0]}: {reason}. Compare runs of one "
                "robot that share some time"
            )


def _span(t: np.ndarray) -> tuple[float, float]:
    """Limits of the time axis, of some width even for a single row."""
    return float(t[0]), float(max(t[-1], t[0] + 1e-3))


def _title(recording: Recording) -> str:
    meta = recording.meta
    scenario = meta.get("scenario") or {}
    integrator = scenario.get("integrator") or {}
    gait = (scenario.get("controller") or {}).get("gait")
    parts = [str(meta["robot"]), gait and str(gait), integrator.get("name")]
    parts.append(f"{1e3 * recording.dt:.4g} ms steps")
    parts.append(f"{recording.duration:.4g} s in {recording.wall_time.sum():.3g} s")
    failed = int(np.count_nonzero(recording.status))
    parts.append(f"{failed} failed steps" if failed else "")
    return literal("  ·  ".join(str(part) for part in parts if part))
