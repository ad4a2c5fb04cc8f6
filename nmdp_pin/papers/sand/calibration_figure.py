"""The lift of a rod in sand: measured, and by resistive force theory at one scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nmdp_pin.contact import Granular, Rod
from nmdp_pin.papers.data_file import read_data, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.sand.study import SandStudy
from nmdp_pin.papers.table import Table, number
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

MEASURED = ((0.01, 48.5), (0.03, 124.6), (0.05, 230.6))
"""Depth of the end [m] and largest lift over all motions [N] of an upright rod in sand.

Zhu, Abdulmajeid and Hauser, "A data-driven approach for fast simulation of robot locomotion on
granular media" (ICRA 2019): Robosimian's ankle rod. Only these three maxima are used; their tables
have no licence.
"""

ROD = Rod(radius=0.0267, length=0.15)
"""What was measured."""

_DEEPEST = 0.07  # [m] of the figure


def largest_lift(depths: np.ndarray, *, scale: float = 1.0) -> np.ndarray:
    """Largest upward force on the upright rod over all sampled motions [N], shape (n,).

    Args:
        depths: depths of the rod's end [m], shape (n,).
        scale: zeta, factor of all stresses.
    """
    upright = np.tile([0.0, 0.0, 1.0], (len(depths), 1))
    lift: np.ndarray = scale * Granular(intruder=ROD).table.vertices(depths, upright)[:, 2]
    result: np.ndarray = lift.max(axis=1)
    return result


def calibrated_scale() -> float:
    """The scale at which measured over computed lifts have the geometric mean 1."""
    depths, lifts = np.array(MEASURED).T
    return float(np.exp(np.log(lifts / largest_lift(depths)).mean()))


def _specs(study: SandStudy) -> list[RunSpec]:
    return []


def _make(study: SandStudy, runs: Runs, folder: Path) -> Product:
    depths, lifts = np.array(MEASURED).T
    scale = calibrated_scale()
    unscaled, scaled = largest_lift(depths), largest_lift(depths, scale=scale)
    data = write_data(
        folder / "sand-calibration.csv",
        ("depth [m]", "measured [N]", "scale 1 [N]", "calibrated [N]"),
        np.array([depths, lifts, unscaled, scaled]).T.tolist(),
    )
    picture = folder / "sand-calibration.png"
    _draw(picture, scale)
    return Product({picture: "Lift of a rod over its depth"}, (data,))


def _tables(study: SandStudy, folder: Path) -> tuple[Table, ...]:
    rows = []
    for row in read_data(folder / "sand-calibration.csv"):
        depth, measured, unscaled, scaled = map(float, row.values())
        cells = (number(measured, 1), number(unscaled, 1), number(scaled, 1))
        rows.append((f"{1e3 * depth:g}", *cells, f"{100 * (scaled / measured - 1):+.0f}"))
    scale = f"scale {scaled / unscaled:.2f} [N]"
    columns = ("depth [mm]", "measured [N]", "scale 1 [N]", scale, "error [%]")
    return (Table("Largest lift of an upright rod", columns, tuple(rows)),)


def _draw(path: Path, scale: float) -> None:
    """Lift over depth, the measured points among the curves."""
    figure = new_figure(6.4, 4.2)
    axis = figure.subplots()
    depths = np.linspace(0.0, _DEEPEST, 71)
    for color, factor in zip(COLORS, (scale, 1.0), strict=False):
        lift = largest_lift(depths, scale=factor)
        axis.plot(
            1e3 * depths, lift, color=color, label=f"resistive force theory, scale {factor:.2f}"
        )
    x, y = np.array(MEASURED).T
    axis.plot(1e3 * x, y, "o", color="0.1", label="measured (Zhu et al., 2019)")
    axis.set_ylim(bottom=0.0)
    axis.set_xlabel("depth of the rod's end [mm]")
    axis.set_ylabel("largest lift [N]")
    axis.legend(frameon=False, fontsize=8)
    figure.suptitle("An upright rod in sand, 53.4 mm thick", fontsize=10, fontweight="bold")
    save_figure(figure, path)


CALIBRATION: Figure[SandStudy] = Figure(
    "calibration", "the lift of a rod in sand, measured and computed", _specs, _make, tables=_tables
)
