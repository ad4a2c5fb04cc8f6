"""Fig. 4: iterations and evaluations of each optimiser, on a chain that swings and one that falls.

Times are not compared: L-BFGS is SciPy's and calls Python, LM is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.pbad.paper import OPTIMISERS, Optimiser
from nmdp_pin.papers.pbad.study import PbadStudy
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.table import Table, number
from nmdp_pin.papers.timing import Timing, timing
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

STEPS = (0.005, 0.02)
"""Steps [s]; the first is drawn."""

_DURATION = 2.0  # [s]


@dataclass(frozen=True)
class _Chain:
    """One of the two benchmarks of the figure."""

    scenario: str
    title: str


CHAINS = (
    _Chain("chain-swing", "fixed chain, no contact"),
    _Chain("chain-ground", "floating chain on the ground"),
)
"""Panels (c, e) and (d, f) of the paper."""

Timings = dict[tuple[_Chain, Optimiser, float], Timing]


def _spec(study: PbadStudy, chain: _Chain, optimiser: Optimiser, dt: float) -> RunSpec:
    return RunSpec(
        scenario=chain.scenario,
        method=optimiser.method,
        dt=dt,
        duration=study.length(_DURATION),
        preset=optimiser.name,
        overrides=optimiser.settings,
    )


def _specs(study: PbadStudy) -> list[RunSpec]:
    return [
        _spec(study, chain, optimiser, dt)
        for chain in CHAINS
        for dt in STEPS
        for optimiser in OPTIMISERS
    ]


def _make(study: PbadStudy, runs: Runs, folder: Path) -> Product:
    timings: Timings = {
        (chain, optimiser, dt): timing(runs, [_spec(study, chain, optimiser, dt)])
        for chain in CHAINS
        for optimiser in OPTIMISERS
        for dt in STEPS
    }
    picture = folder / "pbad-fig4.png"
    _draw(picture, timings)
    data = (_write_summary(folder, timings), *(_write(folder, c, timings) for c in CHAINS))
    shows = "Iterations and evaluations of each optimiser, step by step"
    return Product({picture: shows}, data)


def _tables(study: PbadStudy, folder: Path) -> tuple[Table, ...]:
    """Work of each optimiser."""
    columns = (
        *("chain", "Δt [ms]", "method and optimiser", "iterations a step"),
        *("evaluations a step", "halved steps", "failed"),
    )
    rows = tuple(
        (
            row["chain"],
            f"{1e3 * float(row['dt [s]']):g}",
            row["optimiser"],
            number(value(row, "mean iterations"), 1),
            number(value(row, "mean evaluations"), 1),
            row["halved steps"],
            row["failure"] or "no",
        )
        for row in read_data(folder / "pbad-fig4.csv")
    )
    return (Table("Optimisers on the two chains", columns, rows),)


def _write_summary(folder: Path, timings: Timings) -> Path:
    """A row a chain, step and optimiser."""
    columns = (
        *("chain", "dt [s]", "optimiser", "mean iterations", "largest iterations"),
        *("mean evaluations", "halved steps", "failure"),
    )
    rows = [
        (
            *(chain.title, dt, optimiser.label, float(own.iterations.mean())),
            *(int(own.iterations.max()), float(own.evaluations.mean())),
            *(int((own.halvings > 0).sum()), own.failure),
        )
        for chain in CHAINS
        for dt in STEPS
        for optimiser in OPTIMISERS
        for own in [timings[chain, optimiser, dt]]
    ]
    return write_data(folder / "pbad-fig4.csv", columns, rows)


def _write(folder: Path, chain: _Chain, timings: Timings) -> Path:
    """Every step of a chain in steps of the first length."""
    own = [timings[chain, optimiser, STEPS[0]] for optimiser in OPTIMISERS]
    names = [optimiser.label for optimiser in OPTIMISERS]
    columns = [
        *("step", *(f"iterations, {name}" for name in names)),
        *(f"evaluations, {name}" for name in names),
    ]
    nothing = float("nan")
    rows = [
        [
            k + 1,
            *(int(t.iterations[k]) if k < len(t.walls) else nothing for t in own),
            *(int(t.evaluations[k]) if k < len(t.walls) else nothing for t in own),
        ]
        for k in range(max(len(t.walls) for t in own))
    ]
    return write_data(folder / f"pbad-fig4-{chain.scenario}.csv", columns, rows)


def _draw(path: Path, timings: Timings) -> None:
    figure = new_figure(11.0, 6.6)
    axes = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, chain in enumerate(CHAINS):
        for color, optimiser in zip(COLORS, OPTIMISERS, strict=False):
            own = timings[chain, optimiser, STEPS[0]]
            steps = range(1, len(own.walls) + 1)
            look = {"color": color, "linewidth": 1.1}
            label = optimiser.label if column == 0 else None
            axes[0, column].plot(steps, own.iterations, label=label, **look)
            axes[1, column].plot(steps, own.evaluations, **look)
        axes[0, column].set_title(f"({'cd'[column]}, {'ef'[column]}) {chain.title}", fontsize=10)
        axes[1, column].set_xlabel("step")
    axes[0, 0].set_ylabel("iterations of a step")
    axes[1, 0].set_ylabel("evaluations of a step")
    for row in axes:
        row[0].set_yscale("log")
        row[0].yaxis.set_major_formatter("{x:g}")
    figure.suptitle(f"Optimisers, steps of {1e3 * STEPS[0]:g} ms", fontsize=10, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    save_figure(figure, path)


FIG4: Figure[PbadStudy] = Figure(
    "fig4",
    "iterations and evaluations of each optimiser",
    _specs,
    _make,
    tables=_tables,
)
