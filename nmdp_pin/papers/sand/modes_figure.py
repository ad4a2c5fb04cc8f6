"""A foot in sand that sticks, slides and sticks again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from nmdp_pin._control.trajectory import GaitTrajectory
from nmdp_pin._robot import load_robot
from nmdp_pin._runs.recording import Recording
from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.sand.study import SandStudy
from nmdp_pin.papers.table import Table
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

STEPS = (0.005, 0.01, 0.02, 0.05)
"""Steps that are compared [s]."""

SLIDES = 1e-3
"""Speed of the foot from which on it slides [m/s]."""


def _specs(study: SandStudy) -> list[RunSpec]:
    return [study.drag(dt) for dt in STEPS]


def _make(study: SandStudy, runs: Runs, folder: Path) -> Product:
    recordings = {dt: runs[study.drag(dt)].recording() for dt in STEPS}
    picture = folder / "sand-modes.png"
    _draw(picture, recordings)
    columns = ("dt [s]", "t [s]", "foot x [m]", "pulled to [m]", "depth [m]", "force x [N]", "mode")
    rows = [
        (
            *(dt, float(t), float(x), float(goal), float(depth), float(force)),
            "slides" if slides else "sticks",
        )
        for dt, r in recordings.items()
        for t, x, goal, depth, force, slides in zip(
            r.t, r.q[:, 0], _goal(r), r.contact_depths[:, 0], _pull(r), sliding(r), strict=True
        )
    ]
    data = write_data(folder / "sand-modes.csv", columns, rows)
    shows = "A foot in sand that sticks and slides"
    return Product({picture: shows}, (data,))


def sliding(recording: Recording) -> np.ndarray:
    """Whether the foot slides in each row."""
    moves: np.ndarray = np.abs(recording.v[:, 0]) > SLIDES
    return moves


def _pull(recording: Recording) -> np.ndarray:
    """Level force of the sand against the drag [N]."""
    force: np.ndarray = -recording.contact_forces[:, 0, 0]
    return force


def _goal(recording: Recording) -> np.ndarray:
    """Target of the spring [m]."""
    robot = load_robot("probe", visuals=False)
    target = GaitTrajectory(robot, robot.gaits["drag"])
    return np.array([target(float(t))[0][0] for t in recording.t])


def _tables(study: SandStudy, folder: Path) -> tuple[Table, ...]:
    """When the mode changes, and at which force."""
    by_step: dict[str, list[dict[str, str]]] = {}
    for row in read_data(folder / "sand-modes.csv"):
        by_step.setdefault(row["dt [s]"], []).append(row)
    rows = []
    for dt, own in by_step.items():
        # the force of the last row before a change: what the sand could just hold
        shown = [
            f"{value(now, 't [s]'):.2f} s, {abs(value(before, 'force x [N]')):.1f} N"
            for before, now in pairwise(own)
            if before["mode"] != now["mode"]
        ][:4]
        rows.append((f"{1e3 * float(dt):g}", *shown, *["—"] * (4 - len(shown))))
    return (
        Table(
            "Changes of the mode: when, and the level force just before",
            ("Δt [ms]", "slides", "sticks", "slides back", "sticks"),
            tuple(rows),
            (f"A foot slides where it is faster than {1e3 * SLIDES:g} mm/s.",),
        ),
    )


def _draw(path: Path, recordings: dict[float, Recording]) -> None:
    """Position, force and depth against time; the times of sticking are shaded."""
    figure = new_figure(9.0, 7.0)
    axes = figure.subplots(3, 1, sharex=True)
    finest = recordings[min(recordings)]
    axes[0].plot(finest.t, _goal(finest), color="0.2", ls=":", lw=1.4, label="pulled to")
    for color, (dt, r) in zip(COLORS, recordings.items(), strict=False):
        # row 0 is where the run starts: no step has found forces and depths yet
        lines = (r.q[:, 0], _pull(r), 1e3 * r.contact_depths[:, 0])
        for axis, y in zip(axes, lines, strict=True):
            axis.plot(r.t[1:], y[1:], color=color, lw=1.1, label=f"Δt = {1e3 * dt:g} ms")
    edges = np.flatnonzero(np.diff(np.r_[1, sliding(finest).astype(int), 1]))
    for axis in axes:
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            axis.axvspan(finest.t[begin], finest.t[end - 1], color="0.5", alpha=0.15, lw=0)
    for axis, label in zip(
        axes, ("foot [m]", "level force of the sand [N]", "depth [mm]"), strict=True
    ):
        axis.set_ylabel(label)
    axes[2].set_xlabel("time [s]")
    axes[0].legend(frameon=False, fontsize=8)
    figure.suptitle(
        "A ball under 4 kg is dragged through sand by a spring; shaded: it sticks",
        fontsize=10,
        fontweight="bold",
    )
    save_figure(figure, path)


MODES: Figure[SandStudy] = Figure(
    "modes", "a foot in sand that sticks and slides", _specs, _make, tables=_tables
)
