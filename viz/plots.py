"""Plots of recordings; they need the recording only, no robot."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nmdp_pin.errors import RecordingError
from nmdp_pin.files.output_file import check_writable
from nmdp_pin.recording import Recording
from nmdp_pin.runs.run_figures import distance, height, tilt
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LINES = 8
"""Contact points up to which each has its own line; beyond it a plot shows their sum."""


def plot_recording(recording: Recording, path: str | os.PathLike[str]) -> None:
    """Draw what happened in a run: motion, forces, energy and the work of the solver.

    Args:
        recording: the run.
        path: the PNG to write, whole or not at all.

    Raises:
        MissingExtra: matplotlib is not installed.
        RecordingError: the path cannot be written.
    """
    check_writable(path)
    figure = new_figure(13.0, 11.0)
    axes = figure.subplots(4, 2, sharex=True)
    t = recording.t
    _line(axes[0, 0], t, height(recording), "torso height [m]")
    _line(axes[0, 1], t, tilt(recording), "torso tilt [°]", color=COLORS[1], zero=True)
    _line(axes[1, 0], t, distance(recording), "distance [m]", color=COLORS[2])
    _forces(axes[1, 1], recording)
    _line(axes[2, 0], t, recording.objective, "objective K", color=COLORS[5])
    _energies(axes[2, 1], recording)
    _steps(axes[3, 0], t, recording.outer_iterations, "outer iterations", COLORS[0])
    axes[3, 0].set_ylim(bottom=0.0)
    _step_sizes(axes[3, 1], recording)
    _mark_failures(axes, recording)
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    axes[0, 0].set_xlim(*_span(t))
    figure.suptitle(_title(recording), fontsize=12, fontweight="bold")
    save_figure(figure, path)


def plot_comparison(
    recordings: Sequence[Recording], labels: Sequence[str], path: str | os.PathLike[str]
) -> None:
    """Draw several runs over each other: height, tilt, distance and iterations.

    Args:
        recordings: the runs, at least one.
        labels: a name for each.
        path: the PNG to write, whole or not at all.

    Raises:
        MissingExtra: matplotlib is not installed.
        RecordingError: no recording, labels that do not match, or a path that cannot be written.
    """
    if not recordings or len(recordings) != len(labels):
        raise RecordingError(
            f"a comparison needs one label a recording, and a recording: "
            f"{len(recordings)} recordings and {len(labels)} labels given"
        )
    check_writable(path)
    figure = new_figure(13.0, 7.0)
    axes = figure.subplots(2, 2, sharex=True)
    for k, (recording, label) in enumerate(zip(recordings, labels, strict=True)):
        color = COLORS[k % len(COLORS)]
        t = recording.t
        _line(axes[0, 0], t, height(recording), "torso height [m]", color=color, label=label)
        _line(axes[0, 1], t, tilt(recording), "torso tilt [°]", color=color, zero=True)
        _line(axes[1, 0], t, distance(recording), "distance [m]", color=color)
        _steps(axes[1, 1], t, recording.outer_iterations, "outer iterations", color)
    axes[1, 1].set_ylim(bottom=0.0)
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    spans = np.array([_span(recording.t) for recording in recordings])
    axes[0, 0].set_xlim(spans[:, 0].min(), spans[:, 1].max())
    figure.legend(loc="outside upper center", ncols=min(len(labels), 4), frameon=False)
    save_figure(figure, path)


def _line(
    axis: Axes,
    t: np.ndarray,
    y: np.ndarray,
    name: str,
    *,
    color: str = COLORS[0],
    label: str | None = None,
    zero: bool = False,
) -> None:
    """A curve; `zero` puts the bottom of the axis there."""
    axis.plot(t, y, color=color, label=label, linewidth=1.3, alpha=0.9)
    axis.set_ylabel(name)
    if zero:
        axis.set_ylim(bottom=0.0)


def _steps(axis: Axes, t: np.ndarray, y: np.ndarray, name: str, color: str) -> None:
    """A value that belongs to the whole step that ends at t; the first row is no step."""
    axis.step(t[1:], y[1:], where="pre", color=color, linewidth=1.0)
    axis.set_ylabel(name)


def _forces(axis: Axes, recording: Recording) -> None:
    vertical = recording.contact_force[:, :, 2]
    names = recording.contact_names
    if len(names) <= MAX_LINES:
        # Thinner and thinner, so that forces that are alike are all seen.
        widths = np.linspace(3.0 if len(names) > 1 else 1.3, 1.0, len(names))
        for k, (name, width) in enumerate(zip(names, widths, strict=True)):
            axis.plot(recording.t, vertical[:, k], color=COLORS[k], label=name, linewidth=width)
    if len(names) != 1:
        total = vertical.sum(axis=1)
        axis.plot(recording.t, total, color="0.6", linewidth=0.9, label="sum", zorder=1)
    axis.set_ylabel("vertical contact force [N]")
    _legend(axis)


def _energies(axis: Axes, recording: Recording) -> None:
    potential = recording.potential_energy - recording.potential_energy[0]
    _line(axis, recording.t, recording.kinetic_energy, "", color=COLORS[1], label="kinetic")
    _line(axis, recording.t, potential, "", color=COLORS[4], label="potential, from the start")
    axis.set_ylabel("energy [J]")
    _legend(axis)


def _step_sizes(axis: Axes, recording: Recording) -> None:
    _steps(axis, recording.t, 1e3 * recording.step_size, "smallest sub-step [ms]", COLORS[3])
    axis.set_ylim(bottom=0.0)
    halved = np.flatnonzero(recording.halvings > 0)
    if halved.size:
        axis.plot(
            recording.t[halved],
            1e3 * recording.step_size[halved],
            linestyle="none",
            marker="v",
            markersize=4,
            color=COLORS[1],
            label=f"halved steps: {halved.size}",
        )
        _legend(axis)


def _legend(axis: Axes) -> None:
    """Names of the curves above the panel, where they hide nothing."""
    axis.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 0.98),
        fontsize=8,
        ncols=5,
        frameon=False,
        borderaxespad=0.0,
        columnspacing=1.2,
    )


def _mark_failures(axes: Any, recording: Recording) -> None:
    """A red line in every panel at the steps that failed."""
    for k in np.flatnonzero(recording.status != 0):
        for axis in axes.flat:
            axis.axvline(recording.t[k], color="red", linewidth=1.2, linestyle=":")


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
    return "  ·  ".join(str(part) for part in parts if part)
