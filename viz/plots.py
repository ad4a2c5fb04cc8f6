"""Plots of recordings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nmdp_pin._files.output_file import check_writable
from nmdp_pin._options import check_part
from nmdp_pin._runs.motion import Motion, motion_in
from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run_summary import apart, base_moves, distance, height, tilt
from nmdp_pin.errors import RecordingError
from nmdp_pin.viz.panels import (
    ANGLE,
    ENERGY,
    FORCE,
    LENGTH,
    Panel,
    curve,
    motion_panels,
    run_panels,
    sensor_panels,
    stairs,
)
from nmdp_pin.viz.style import COLORS, literal, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW, _PANEL, _WIDTH = 2.75, 3.5, 13.0  # [inch], a row of a run, of a comparison, and both


def plot_recording(
    recording: Recording, path: str | os.PathLike[str], *, motion: Motion | None = None
) -> None:
    """Plot the motion, forces, energy and solver work of a run, without what is constant.

    Args:
        recording: the run.
        path: figure to write, .png, .svg or .pdf.
        motion: motion of joints and objects by `motion_of`; None: without targets, of the robot
            that the recording holds.

    Raises:
        MissingExtra: matplotlib is not installed.
        RecordingError: the path cannot be written.
    """
    check_part("recording", recording, Recording, RecordingError)
    check_part("path", path, (str, os.PathLike), RecordingError)
    check_writable(path)
    motion = motion_in(recording)[0] if motion is None else motion
    made = [
        *motion_panels(recording, motion),
        *sensor_panels(recording),
        *run_panels(recording),
    ]
    figure, axes = _drawn(made, _ROW)
    for axis in axes:
        for k in np.flatnonzero(recording.status != 0):
            axis.axvline(recording.t[k], color="red", linewidth=1.2, linestyle=":")
    axes[0].set_xlim(*_span(recording.t))
    figure.suptitle(_title(recording), fontsize=12, fontweight="bold")
    save_figure(figure, path)


def plot_comparison(
    recordings: Sequence[Recording], labels: Sequence[str], path: str | os.PathLike[str]
) -> None:
    """Plot several runs in common panels.

    Panels show height, tilt and distance of a moving base, or the distance of the configurations
    from those of the first run, and the solver work; what is constant and the same is left out.

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
    figure, axes = _drawn(_compared(recordings), _PANEL)
    spans = np.array([_span(recording.t) for recording in recordings])
    axes[0].set_xlim(spans[:, 0].min(), spans[:, 1].max())
    lines = axes[0].lines[: len(labels)]
    names = [literal(label) for label in labels]
    figure.legend(
        lines, names, loc="outside upper center", ncols=min(len(labels), 4), frameon=False
    )
    save_figure(figure, path)


def _drawn(made: list[Panel], height: float) -> tuple[Any, list[Any]]:
    """A figure of the panels that vary, in rows of two of a height [inch]; their axes."""
    panels = [panel for panel in made if panel.varies] or made
    rows = (len(panels) + 1) // 2
    figure = new_figure(_WIDTH, height * rows)
    grid = list(figure.subplots(rows, 2, sharex=True, squeeze=False).flat)
    axes = grid[: len(panels)]
    for axis, panel in zip(axes, panels, strict=True):
        panel.fill(axis)
    for axis in grid[len(panels) :]:
        axis.remove()
    for axis in axes[-2:]:
        axis.set_xlabel("time [s]")
        axis.tick_params(labelbottom=True)
    return figure, axes


def _compared(recordings: Sequence[Recording]) -> list[Panel]:
    """Panels with a curve of each run."""
    panels: list[Panel] = []
    shown: list[tuple[str, Callable[[Recording], np.ndarray], float]]
    if any(base_moves(recording) for recording in recordings):
        shown = [
            ("base height [m]", height, LENGTH),
            ("base tilt [°]", tilt, ANGLE),
            ("distance [m]", distance, LENGTH),
        ]
    else:
        name = "largest difference of q\nfrom the first run [rad, m]"
        differences = [
            apart(recording, recordings[0], lambda run: run.q) for recording in recordings
        ]
        panels.append(_panel(differences, name, LENGTH))
        shown = [
            ("resultant of contacts [N]", _resultant, FORCE),
            ("kinetic energy [J]", lambda run: run.kinetic_energy, ENERGY),
        ]
    for name, of, least in shown:
        curves = [(run.t, of(run)) for run in recordings]
        panels.append(_panel(curves, name, least, zero=of is not height))
    steps = [(run.t, run.iterations) for run in recordings]
    return [*panels, _panel(steps, "outer iterations", draw=stairs)]


def _resultant(recording: Recording) -> np.ndarray:
    """Magnitude of the sum of all contact forces [N], shape (n,)."""
    result: np.ndarray = np.linalg.norm(recording.contact_forces.sum(axis=1), axis=1)
    return result


def _panel(
    curves: Sequence[tuple[np.ndarray, np.ndarray]],
    name: str,
    least: float = 0.0,
    *,
    zero: bool = True,
    draw: Callable[..., None] = curve,
) -> Panel:
    """Panel of curves (t, y)."""

    def drawn(axis: Axes) -> None:
        for k, (t, y) in enumerate(curves):
            draw(axis, t, y, name, color=COLORS[k % len(COLORS)])

    # The first row is no step; where it is a state, it varies with the rest.
    return Panel(drawn, [np.concatenate([y[1:] for _, y in curves])], least, zero)


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
    wall = recording.wall_time.sum()  # 0 where nobody measured it
    parts.append(f"{recording.duration:.4g} s" + (f" in {wall:.3g} s" if wall else ""))
    failed = int(np.count_nonzero(recording.status))
    parts.append(f"{failed} failed steps" if failed else "")
    return literal("  ·  ".join(str(part) for part in parts if part))
