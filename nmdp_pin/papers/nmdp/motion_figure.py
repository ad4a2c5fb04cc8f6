"""Fig. 3, 4 and 5: what the torso does under each method and step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nmdp_pin.papers.curve import DISTANCE, HEIGHT, TILT, Curve, Quantity, time_grid
from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.kept_run import KeptRun
from nmdp_pin.papers.nmdp.paper import JUMP, WALK, WALK_FAST, Motion
from nmdp_pin.papers.nmdp.study import NmdpStudy
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.table import Table, number
from nmdp_pin.viz.style import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID = 0.05  # [s] between rows of the CSV: the paper's largest step
# A run that explodes is cut here, or nobody would see the others.
_PICTURE = {TILT: (0.0, 60.0), HEIGHT: (-1.0, 2.5), DISTANCE: (-2.0, 12.0)}
# Name of one figure of a run, how it is read off, and its decimals; NaN where a run has ended.
_MEASURES: dict[Quantity, tuple[str, Callable[[np.ndarray], float], int]] = {
    TILT: ("largest tilt [°]", lambda y: float(np.nanmax(y)), 1),
    HEIGHT: ("largest rise [m]", lambda y: float(np.nanmax(y) - y[0]), 2),
    DISTANCE: ("distance at the end [m]", lambda y: float(y[-1]), 2),
}
_LEAVES, _FAILS, _BURIED = "↗", "†", "▿"


def _specs(motions: Sequence[Motion], study: NmdpStudy) -> list[RunSpec]:
    return [
        study.spec(motion, method, dt)
        for motion in motions
        for method in study.methods
        for dt in study.steps_of(method)
    ]


def _make(
    name: str,
    quantity: Quantity,
    motions: Sequence[Motion],
    study: NmdpStudy,
    runs: Runs,
    folder: Path,
) -> Product:
    """A picture and a CSV for each motion."""
    pictures, data = {}, []
    for motion in motions:
        specs = _specs([motion], study)
        curves = {spec: quantity.curve(runs[spec].recording()) for spec in specs}
        stem = _stem(name, motions, motion, study)
        shows = f"{quantity.name.partition(' [')[0].capitalize()}, {motion.title}"
        path = folder / f"{stem}.png"
        _draw(path, f"{shows}  ·  {study.title}", quantity, curves, study, runs)
        pictures[path] = f"{shows} (preset {study.name})"
        data.append(_write(folder / f"{stem}.csv", curves, study.length(motion.duration)))
    return Product(pictures, tuple(data), notes=_notes(motions, study, runs))


def _stem(name: str, motions: Sequence[Motion], motion: Motion, study: NmdpStudy) -> str:
    """Name of the files of a motion."""
    gait = motion.scenario.partition("-")[2]
    return f"{name}-{study.name}" if len(motions) == 1 else f"{name}-{gait}-{study.name}"


def _tables(
    name: str, quantity: Quantity, motions: Sequence[Motion], study: NmdpStudy, folder: Path
) -> tuple[Table, ...]:
    """One figure of each run: the largest tilt, the largest rise, or the distance at the end."""
    what, measure, digits = _MEASURES[quantity]
    tables = []
    for motion in motions:
        rows = read_data(folder / f"{_stem(name, motions, motion, study)}.csv")
        found: dict[str, list[tuple[str, str]]] = {}
        for column in [key for key in rows[0] if key != "t [s]"]:
            method, dt, _ = column.split()
            y = np.array([value(row, column) for row in rows])
            found.setdefault(method, []).append((dt, number(measure(y), digits)))
        cells = tuple(
            (method, *(", ".join(parts) for parts in zip(*own, strict=True)))
            for method, own in found.items()
        )
        tables.append(Table(f"{motion.title}, each run", ("method", "Δt [ms]", what), cells))
    return tuple(tables)


def _notes(motions: Sequence[Motion], study: NmdpStudy, runs: Runs) -> tuple[str, ...]:
    """Sentence that lists the runs that failed."""
    made = [runs[spec] for spec in _specs(motions, study)]
    failed = [
        f"{_named(run)} (after {run.end:.3g} s: {run.failure})" for run in made if run.failure
    ]
    return (
        f"Failed before the end: {', '.join(failed)}." if failed else "Every run reached its end.",
    )


def _named(run: KeptRun) -> str:
    return f"{run.spec.scenario} {run.spec.method} at {1e3 * run.spec.dt:g} ms"


def _write(path: Path, curves: dict[RunSpec, Curve], duration: float) -> Path:
    """The curves every 50 ms; empty where a run has ended."""
    grid = time_grid(_GRID, duration)
    names = [f"{spec.method} {1e3 * spec.dt:g} ms" for spec in curves]
    columns = [grid, *(curve.on(grid) for curve in curves.values())]
    rows = [[float(value) for value in row] for row in np.column_stack(columns)]
    return write_data(path, ["t [s]", *names], rows)


def _draw(
    path: Path,
    title: str,
    quantity: Quantity,
    curves: dict[RunSpec, Curve],
    study: NmdpStudy,
    runs: Runs,
) -> None:
    """A panel a method, a line a step."""
    n = len(study.methods)
    columns = 1 if n == 1 else 2 if n in (2, 4) else 3
    lines = -(-n // columns)
    figure = new_figure(4.0 * columns + 1.0, 3.1 * lines + 0.5)
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axis in axes[n:]:
        axis.remove()
    low, high = _limits(quantity, list(curves.values()))
    for k, (axis, method) in enumerate(zip(axes, study.methods, strict=False)):
        own = {spec: curve for spec, curve in curves.items() if spec.method == method}
        _panel(axis, own, runs, (low, high), f"({'abcdefgh'[k]}) {study.label(method)};  Δt [ms]:")
        axis.set_ylim(low, high)
        axis.set_xlim(0.0, max(spec.duration for spec in curves))
        if k % columns == 0:
            axis.set_ylabel(quantity.name)
        if k + columns >= n:
            axis.set_xlabel("time [s]")
            axis.tick_params(labelbottom=True)
    signs = f"{_LEAVES} leaves the picture, {_FAILS} fails before the end, "
    signs += f"{_BURIED} has a body under the ground"
    figure.suptitle(f"{title}\n{signs}", fontsize=10, fontweight="bold")
    save_figure(figure, path)


def _panel(
    axis: Axes, curves: dict[RunSpec, Curve], runs: Runs, limits: tuple[float, float], title: str
) -> None:
    for color, (spec, curve) in zip(_shades(len(curves)), curves.items(), strict=True):
        leaves = bool((curve.y < limits[0]).any() or (curve.y > limits[1]).any())
        run = runs[spec]
        signs = _LEAVES * leaves + _FAILS * bool(run.failure) + _BURIED * (run.buried > 0.0)
        label = f"{1e3 * spec.dt:g}{signs}"
        axis.plot(curve.t, curve.y, color=color, linewidth=1.0, label=label)
    axis.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        title=title,
        alignment="left",
        title_fontsize=8,
        fontsize=7,
        ncols=5,
        frameon=False,
        borderaxespad=0.0,
        columnspacing=1.0,
        handlelength=1.2,
    )


def _limits(quantity: Quantity, curves: Sequence[Curve]) -> tuple[float, float]:
    """Limits of the vertical axis that show all curves that stay in the picture."""
    least, most = _PICTURE[quantity]
    inside = [c.y for c in curves if c.y.min() >= least and c.y.max() <= most]
    if not inside:
        return least, most
    low, high = min(y.min() for y in inside), max(y.max() for y in inside)
    if len(inside) < len(curves):  # leave room to see where the others go
        low, high = max(low - 0.25 * (high - low), least), min(high + 0.25 * (high - low), most)
    margin = max(0.05 * (high - low), 1e-3)
    return (0.0 if quantity is TILT else low - margin), high + margin


def _shades(n: int) -> list[tuple[float, ...]]:
    """Colours from dark (small steps) to light (large ones)."""
    from matplotlib import colormaps

    return [tuple(colormaps["viridis"](x)) for x in np.linspace(0.0, 0.9, n)]


def _figure(name: str, shows: str, quantity: Quantity, *motions: Motion) -> Figure[Any]:
    make = partial(_make, name, quantity, motions)
    tables = partial(_tables, name, quantity, motions)
    return Figure(name, shows, partial(_specs, motions), make, tables=tables)


FIG3 = _figure("fig3", "torso tilt of the jump", TILT, JUMP)
FIG4 = _figure("fig4", "torso height of the jump", HEIGHT, JUMP)
# The paper's axis goes to 10 m in 10 s: that is the fast gait, at 0.8 m/s.
FIG5 = _figure("fig5", "distance of the walks", DISTANCE, WALK, WALK_FAST)
