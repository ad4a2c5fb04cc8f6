"""Fig. 4: iterations and time of each optimiser, on a chain that swings and on one that falls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nmdp_pin.experiments.figure import Figure, Product, Runs
from nmdp_pin.experiments.pbad.paper import OPTIMISERS, USUAL, Optimiser
from nmdp_pin.experiments.pbad.study import Study
from nmdp_pin.experiments.run_spec import RunSpec
from nmdp_pin.experiments.timing import Timing, timing
from nmdp_pin.files.text_table import Table, number, write_csv
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


def _spec(study: Study, chain: _Chain, optimiser: Optimiser, dt: float) -> RunSpec:
    return RunSpec(
        scenario=chain.scenario,
        method=optimiser.method,
        dt=dt,
        duration=study.length(_DURATION),
        preset=optimiser.name,
        overrides=optimiser.settings,
    )


def _specs(study: Study) -> list[RunSpec]:
    return [
        _spec(study, chain, optimiser, dt)
        for chain in CHAINS
        for dt in STEPS
        for optimiser in OPTIMISERS
    ]


def _make(study: Study, runs: Runs, folder: Path) -> Product:
    timings: Timings = {
        (chain, optimiser, dt): timing(runs, study.repeats_of(_spec(study, chain, optimiser, dt)))
        for chain in CHAINS
        for optimiser in OPTIMISERS
        for dt in STEPS
    }
    picture = folder / "pbad-fig4.png"
    _draw(picture, timings)
    data = [_write(folder, chain, timings) for chain in CHAINS]
    shows = "Iterations and computing time of each optimiser, step by step"
    return Product({picture: shows}, tuple(data), (_table(timings),))


def _table(timings: Timings) -> Table:
    columns = (
        *("chain", "Δt [ms]", "method and optimiser", "iterations a step, mean", "largest"),
        *("evaluations a step, mean", "ms a step, mean", "time over pbfd jtj-lm's"),
        *("ms an iteration", "halved steps", "failed"),
    )
    rows = []
    for chain in CHAINS:
        for dt in STEPS:
            usual = timings[chain, USUAL, dt]
            for optimiser in OPTIMISERS:
                own = timings[chain, optimiser, dt]
                rows.append(
                    (
                        chain.title,
                        f"{1e3 * dt:g}",
                        optimiser.label,
                        number(float(own.iterations.mean()), 1),
                        str(int(own.iterations.max())),
                        number(float(own.evaluations.mean()), 1),
                        number(1e3 * own.total / len(own.walls)),
                        number(own.of(1.0) / usual.of(1.0)),
                        number(1e3 * own.of_iteration, 3),
                        str(int((own.halvings > 0).sum())),
                        own.failure or "no",
                    )
                )
    return Table("Optimisers on the two chains", columns, tuple(rows))


def _write(folder: Path, chain: _Chain, timings: Timings) -> Path:
    """Every step of a chain in steps of the first length."""
    own = [timings[chain, optimiser, STEPS[0]] for optimiser in OPTIMISERS]
    names = [optimiser.label for optimiser in OPTIMISERS]
    columns = [
        *("step", *(f"iterations, {name}" for name in names)),
        *(f"evaluations, {name}" for name in names),
        *(f"ms, {name}" for name in names),
    ]
    nothing = float("nan")
    rows = [
        [
            k + 1,
            *(int(t.iterations[k]) if k < len(t.walls) else nothing for t in own),
            *(int(t.evaluations[k]) if k < len(t.walls) else nothing for t in own),
            *(1e3 * float(t.walls[k]) if k < len(t.walls) else nothing for t in own),
        ]
        for k in range(max(len(t.walls) for t in own))
    ]
    return write_csv(folder / f"pbad-fig4-{chain.scenario}.csv", columns, rows)


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
            axes[1, column].plot(steps, 1e3 * own.walls, **look)
        axes[0, column].set_title(f"({'cd'[column]}, {'ef'[column]}) {chain.title}", fontsize=10)
        axes[1, column].set_xlabel("step")
    axes[0, 0].set_ylabel("iterations of a step")
    axes[1, 0].set_ylabel("time of a step [ms]")
    for row in axes:
        row[0].set_yscale("log")
        row[0].yaxis.set_major_formatter("{x:g}")
    figure.suptitle(f"Optimisers, steps of {1e3 * STEPS[0]:g} ms", fontsize=10, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    save_figure(figure, path)


FIG4: Figure[Study] = Figure(
    "fig4",
    "iterations and time of each optimiser",
    lambda study: [],
    _make,
    timed=lambda study: study.rounds(_specs(study)),
)
