"""Fig. 6: what a step costs, over the four trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nmdp_pin._runs.recording import Recording
from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.nmdp.paper import COST_STEP, FOUR_TRAJECTORIES
from nmdp_pin.papers.nmdp.study import NmdpStudy
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.table import Table, number
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = 40


@dataclass(frozen=True, eq=False)
class _Steps:
    """All steps of a method of one length, over the four trajectories.

    Args:
        t: end of the step [s], shape (n,).
        wall: time that it took [s], shape (n,).
        iterations: outer iterations, shape (n,).
        evaluations: evaluations of the dynamics residual, shape (n,).
        size: smallest sub-step [s], shape (n,).
        apart: largest force on a contact point that touches nothing, the work of zeta [N].
        halved: steps that were made as several.
        failed: runs that did not reach their end.
    """

    t: np.ndarray
    wall: np.ndarray
    iterations: np.ndarray
    evaluations: np.ndarray
    size: np.ndarray
    apart: float
    halved: int
    failed: int


def _cost_step(study: NmdpStudy) -> float:
    return max(study.steps, default=COST_STEP)


def _specs_at(study: NmdpStudy, method: str, dt: float) -> list[RunSpec]:
    return [study.spec(motion, method, dt) for motion in FOUR_TRAJECTORIES]


def _specs(study: NmdpStudy) -> list[RunSpec]:
    return [
        spec
        for method in study.methods
        for dt in sorted({*study.steps_of(method), _cost_step(study)})
        for spec in _specs_at(study, method, dt)
    ]


def _steps(runs: Runs, specs: list[RunSpec]) -> _Steps:
    recordings = [runs[spec].recording() for spec in specs]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(r, name)[1:] for r in recordings])  # row 0 is no step

    return _Steps(
        t=joined("t"),
        wall=joined("wall_time"),
        iterations=joined("iterations"),
        evaluations=joined("evaluations"),
        size=joined("step_size"),
        apart=max(_force_apart(r) for r in recordings),
        halved=int(np.count_nonzero(joined("halvings"))),
        failed=sum(bool(runs[spec].failure) for spec in specs),
    )


def _force_apart(recording: Recording) -> float:
    """Largest force on a contact point that touches nothing [N]."""
    forces = np.linalg.norm(recording.contact_forces, axis=2)
    return float(forces[recording.contact_depths == 0.0].max(initial=0.0))


def _make(study: NmdpStudy, runs: Runs, folder: Path) -> Product:
    dt = _cost_step(study)
    at_cost_step = {m: _steps(runs, _specs_at(study, m, dt)) for m in study.methods}
    by_step = {
        m: {h: _steps(runs, _specs_at(study, m, h)) for h in study.steps_of(m)}
        for m in study.methods
    }
    picture = folder / f"fig6-{study.name}.png"
    _draw(picture, study, at_cost_step, by_step)
    shows = f"Cost of a step over the four trajectories (preset {study.name})"
    data = (
        _write_summary(folder / f"fig6-{study.name}.csv", by_step, dt, at_cost_step),
        *_write_histograms(folder, study, at_cost_step),
        _write_sizes(folder / f"fig6-d-step-size-{study.name}.csv", dt, at_cost_step),
    )
    return Product({picture: shows}, data)


def _tables(study: NmdpStudy, folder: Path) -> tuple[Table, ...]:
    """Steps of the cost step, a row a method."""
    dt = _cost_step(study)
    rows = [
        (
            row["method"],
            row["steps"],
            number(1e3 * value(row, "mean wall time [s]")),
            number(1e3 * value(row, "median wall time [s]")),
            number(value(row, "mean outer iterations"), 1),
            number(value(row, "mean evaluations"), 1),
            row["halved steps"],
            number(value(row, "largest force without contact [N]"), 1),
            f"{row['failed runs']} of {len(FOUR_TRAJECTORIES)}",
        )
        for row in read_data(folder / f"fig6-{study.name}.csv")
        if float(row["dt [s]"]) == dt
    ]
    columns = (
        *("method", "steps", "mean ms a step", "median ms a step", "mean outer iterations"),
        *("mean evaluations", "halved steps", "largest force without contact [N]", "failed runs"),
    )
    return (Table(f"Steps of {1e3 * dt:g} ms", columns, tuple(rows)),)


def _write_summary(
    path: Path,
    by_step: dict[str, dict[float, _Steps]],
    cost_step: float,
    at_cost_step: dict[str, _Steps],
) -> Path:
    """Fig. 6 c and more: means by method and step."""
    columns = (
        *("method", "dt [s]", "steps", "mean outer iterations", "mean evaluations"),
        *("mean wall time [s]", "median wall time [s]", "halved steps", "smallest step [s]"),
        *("largest force without contact [N]", "failed runs"),
    )
    rows = [
        (
            *(method, dt, len(s.t), float(s.iterations.mean()), float(s.evaluations.mean())),
            *(float(s.wall.mean()), float(np.median(s.wall)), s.halved, float(s.size.min())),
            *(s.apart, s.failed),
        )
        for method, by in by_step.items()
        for dt, s in ({cost_step: at_cost_step[method]} | by).items()
    ]
    return write_data(path, columns, rows)


def _write_histograms(folder: Path, study: NmdpStudy, steps: dict[str, _Steps]) -> list[Path]:
    """Fig. 6 a and b as counts."""
    paths = []
    panels = (
        (
            "a-frame-rate",
            "frames/s",
            _rate_edges(steps),
            {m: 1.0 / s.wall for m, s in steps.items()},
        ),
        (
            "b-iterations",
            "iterations",
            _count_edges(steps),
            {m: s.iterations for m, s in steps.items()},
        ),
    )
    for stem, unit, edges, values in panels:
        counts = [np.histogram(v, edges)[0] for v in values.values()]
        rows = [
            (float(edges[i]), float(edges[i + 1]), *(int(c[i]) for c in counts))
            for i in range(len(edges) - 1)
        ]
        columns = [f"from [{unit}]", f"to [{unit}]", *(f"steps, {m}" for m in values)]
        paths.append(write_data(folder / f"fig6-{stem}-{study.name}.csv", columns, rows))
    return paths


def _write_sizes(path: Path, dt: float, steps: dict[str, _Steps]) -> Path:
    """Fig. 6 d as numbers."""
    sizes = {method: _smallest(s, dt) for method, s in steps.items()}
    end = max((t[-1] for t, _ in sizes.values()), default=0.0)
    grid = dt * np.arange(1, round(end / dt) + 1)
    rows = []
    for k, t in enumerate(grid):
        row = [h[k] if k < len(h) else float("nan") for _, h in sizes.values()]
        rows.append([float(t), *(float(h) for h in row)])
    return write_data(path, ["t [s]", *(f"step [s], {method}" for method in sizes)], rows)


def _smallest(steps: _Steps, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Smallest sub-step of the four trajectories at each time, shapes (m,), (m,)."""
    # A failed step ends where it began: it belongs to the step after.
    k = np.maximum(np.ceil(steps.t / dt - 1e-6).astype(int), 1)
    sizes = np.full(k.max(initial=0), np.nan)
    np.fmin.at(sizes, k - 1, steps.size)
    return dt * np.arange(1, len(sizes) + 1), sizes


def _rate_edges(steps: dict[str, _Steps]) -> np.ndarray:
    rates = np.concatenate([1.0 / s.wall for s in steps.values()])
    return np.geomspace(0.99 * rates.min(), 1.01 * rates.max(), _BINS + 1)


def _count_edges(steps: dict[str, _Steps]) -> np.ndarray:
    """One bin a number while there are few, else of equal ratio."""
    most = int(max(s.iterations.max() for s in steps.values()))
    if most <= _BINS:
        return np.arange(0.5, most + 1.0)
    return np.unique(np.round(np.geomspace(1.0, most + 1.0, _BINS + 1))) - 0.5


def _draw(
    path: Path,
    study: NmdpStudy,
    at_cost_step: dict[str, _Steps],
    by_step: dict[str, dict[float, _Steps]],
) -> None:
    figure = new_figure(11.0, 7.4)
    axes = figure.subplots(2, 2)
    rates, counts = _rate_edges(at_cost_step), _count_edges(at_cost_step)
    for color, (method, s) in zip(COLORS, at_cost_step.items(), strict=False):
        label = study.label(method)
        axes[0, 0].stairs(*np.histogram(1.0 / s.wall, rates), color=color, label=label, lw=1.5)
        axes[0, 1].stairs(*np.histogram(s.iterations, counts), color=color, lw=1.5)
        by = by_step[method]
        means = [float(one.iterations.mean()) for one in by.values()]
        steps = [1e3 * dt for dt in by]
        axes[1, 0].plot(steps, means, color=color, marker="o", markersize=3.5, linewidth=1.2)
        t, sizes = _smallest(s, _cost_step(study))
        axes[1, 1].step(t, 1e3 * sizes, where="pre", color=color, linewidth=1.2)
    _label(axes[0, 0], "(a) instantaneous frame rate [1/s]", "steps", rates)
    _label(axes[0, 1], "(b) outer iterations of a step", "steps", counts)
    axes[0, 1].set_xscale("log" if counts[-1] > _BINS else "linear")
    axes[0, 0].set_xscale("log")
    axes[1, 0].set_xlabel("(c) Δt [ms]")
    axes[1, 0].set_ylabel("mean outer iterations")
    axes[1, 0].set_yscale("log")
    axes[1, 0].yaxis.set_major_formatter("{x:g}")
    widest = max(dt for by in by_step.values() for dt in by)
    axes[1, 0].set_xlim(0.0, 1.03e3 * widest)
    axes[1, 1].set_xlabel("(d) simulation time [s]")
    axes[1, 1].set_ylabel("smallest sub-step [ms]")
    axes[1, 1].set_ylim(0.0, 1.08e3 * _cost_step(study))
    figure.suptitle(
        f"Four trajectories; a, b, d at {1e3 * _cost_step(study):g} ms  ·  {study.title}",
        fontsize=10,
        fontweight="bold",
    )
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    save_figure(figure, path)


def _label(axis: Axes, name: str, count: str, edges: np.ndarray) -> None:
    axis.set_xlabel(name)
    axis.set_ylabel(count)
    axis.set_yscale("log")  # a method that always takes one iteration would hide the others
    axis.set_xlim(float(edges[0]), float(edges[-1]))
    axis.set_ylim(bottom=0.7)


FIG6 = Figure("fig6", "frame rate, iterations, adaptive step size", _specs, _make, tables=_tables)
