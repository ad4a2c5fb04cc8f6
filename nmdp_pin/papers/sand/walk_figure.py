"""Robosimian walks on sand and on rock: how far, how deep, how alike at all steps, at what cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nmdp_pin._runs.recording import Recording
from nmdp_pin.papers.consistency import consistency
from nmdp_pin.papers.curve import DISTANCE, Curve, Quantity, time_grid
from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.sand.study import SandStudy
from nmdp_pin.papers.table import Table, number, span
from nmdp_pin.papers.timing import timing
from nmdp_pin.viz.style import new_figure, save_figure

ROWS = (
    ("rock", "ne-nmdp"),
    ("rock", "pbd-nmdp"),
    ("sand", "ne-nmdp"),
    ("sand", "pbd-nmdp"),
    ("sand", "ne-zonmdp"),
)
"""Grounds and methods that are compared."""

ORDERS = (("ne-nmdp", "ne-zonmdp"), ("pbd-nmdp", "pbd-zonmdp"))
"""Methods of first order, each with its zeroth order."""

_DEPTHS = ("std of depth [m]", "mean depth [m]")
_PANELS = ROWS[0], ROWS[2]
_SETTLED = 1.0  # [s]; before, the robot falls onto its feet


def _deepest(recording: Recording) -> np.ndarray:
    """Depth of the deepest foot [m]."""
    depths: np.ndarray = recording.contact_depths.max(axis=1)
    return depths


SINKAGE = Quantity("depth of the deepest foot [m]", _deepest)


def _specs(study: SandStudy) -> list[RunSpec]:
    return [study.walk(*row, dt) for row in ROWS for dt in study.steps]


def _timed(study: SandStudy) -> list[RunSpec]:
    longest = max(study.steps)
    return [study.walk("sand", m, longest, repeat=1) for pair in ORDERS for m in pair]


def _curves(study: SandStudy, runs: Runs, row: tuple[str, str], of: Quantity) -> list[Curve]:
    return [of.curve(runs[study.walk(*row, dt)].recording()) for dt in study.steps]


def _make(study: SandStudy, runs: Runs, folder: Path) -> Product:
    picture, data = folder / "sand-walk.png", folder / "sand-walk.csv"
    _draw(picture, study, runs)
    found = [_row(study, runs, row) for row in ROWS]
    write_data(
        data,
        (
            *("ground", "method", "std of distance [m]", *_DEPTHS),
            *(f"distance at {1e3 * dt:g} ms [m]" for dt in study.steps),
        ),
        [[*row, *values] for row, values in zip(ROWS, found, strict=True)],
    )
    shows = "Distance and sinkage of Robosimian on rock and on sand"
    return Product({picture: shows}, (data,), aside=(_cost(study, runs),))


def _row(study: SandStudy, runs: Runs, row: tuple[str, str]) -> list[float]:
    """Spreads of distance and sinkage, mean sinkage, and the distance at each step."""
    grid = time_grid(max(study.steps), study.length(10.0))
    ways, depths = (_curves(study, runs, row, q) for q in (DISTANCE, SINKAGE))
    sunk = [float(c.y[c.t >= min(_SETTLED, c.t[-1])].mean()) for c in depths]
    spreads = [consistency(curves, grid).spread for curves in (ways, depths)]
    return [*spreads, float(np.mean(sunk)), *(float(c.y[-1]) for c in ways)]


def _tables(study: SandStudy, folder: Path) -> tuple[Table, ...]:
    """Spreads over the steps, and how deep and far the robot walks."""
    rows = []
    for row in read_data(folder / "sand-walk.csv"):
        ends = [value(row, column) for column in row if column.startswith("distance at")]
        cells = (number(1e3 * value(row, c), d) for c, d in zip(_DEPTHS, (2, 1), strict=True))
        way = number(value(row, "std of distance [m]"), 3)
        rows.append((row["ground"], row["method"], way, *cells, span(ends)))
    first, last = (f"{1e3 * dt:g} ms" for dt in (study.steps[0], study.steps[-1]))
    return (
        Table(
            "Robosimian walks; standard deviations across Δt, averaged over time",
            (
                *("ground", "method", "std of the distance [m]", "std of the depth [mm]"),
                *("depth [mm]", "distance [m]"),
            ),
            tuple(rows),
            (
                f"{len(study.steps)} steps from {first} to {last}; the statistic of the paper's "
                "Table I. Depth: of the deepest foot, its mean after the first second.",
            ),
        ),
    )


def _cost(study: SandStudy, runs: Runs) -> Table:
    """First against zeroth order on sand, at the longest step."""
    longest, rows = max(study.steps), []
    for first, zeroth in ORDERS:
        x = {}
        for method in (first, zeroth):
            spec = study.walk("sand", method, longest, repeat=1)
            cost, recording = timing(runs, [spec]), runs[spec].recording()
            x[method] = DISTANCE.curve(recording).y
            n = min(len(x[first]), len(x[method]))
            apart = float(np.abs(x[first][:n] - x[method][:n]).max())
            rows.append(
                (
                    method,
                    number(float(cost.iterations.mean()), 1),
                    number(float(cost.evaluations.mean()), 1),
                    str(int((cost.halvings > 0).sum())),
                    number(1e3 * float(np.median(cost.walls)), 1),
                    "" if method == first else f"{apart:.1e}",
                )
            )
    return Table(
        f"First and zeroth order on sand, Δt = {1e3 * longest:g} ms",
        (
            *("method", "iterations a step", "evaluations a step", "steps halved"),
            *("median ms a step", "largest difference of the distance [m]"),
        ),
        tuple(rows),
        ("The difference is to the row above.",),
    )


def _draw(path: Path, study: SandStudy, runs: Runs) -> None:
    """A column a ground, distance above sinkage."""
    figure = new_figure(10.0, 5.6)
    axes = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, row in enumerate(_PANELS):
        for axis, quantity in zip(axes[:, column], (DISTANCE, SINKAGE), strict=True):
            curves = _curves(study, runs, row, quantity)
            shades = np.linspace(0.9, 0.25, len(curves))
            for shade, dt, curve in zip(shades, study.steps, curves, strict=True):
                color = (0.9 * (1 - shade), 0.35 + 0.3 * shade, shade)
                axis.plot(curve.t, curve.y, color=color, lw=0.9, label=f"{1e3 * dt:g}")
            if column == 0:
                axis.set_ylabel(quantity.name)
        axes[0, column].set_title(f"{row[0]}, {row[1]}", fontsize=10)
        axes[1, column].set_xlabel("time [s]")
    axes[0, 0].legend(title="Δt [ms]", fontsize=7, title_fontsize=8, ncols=2, frameon=False)
    figure.suptitle("Robosimian walks on rock and on sand", fontsize=10, fontweight="bold")
    save_figure(figure, path)


WALK: Figure[SandStudy] = Figure(
    "walk", "walking on sand and on rock", _specs, _make, _timed, _tables
)
