"""Table I: what one iteration of each optimiser costs, against the number of freedoms."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.pbad.paper import OPTIMISERS, Optimiser
from nmdp_pin.papers.pbad.study import PbadStudy
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.table import Table, number
from nmdp_pin.papers.timing import Timing, timing
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

LINKS = (5, 10, 20, 40, 80, 160)
"""Chains: so many freedoms each."""

_STEP = 0.01  # [s]
_DURATION = 0.2  # [s]
_LARGE = 40  # freedoms from which an exponent is fitted: below, calls cost more than arithmetic

Timings = dict[tuple[Optimiser, int], Timing]


def _spec(study: PbadStudy, optimiser: Optimiser, links: int) -> RunSpec:
    return RunSpec(
        scenario=study.chain(links),
        method=optimiser.method,
        dt=_STEP,
        duration=study.length(_DURATION),
        preset=optimiser.name,
        overrides=optimiser.settings,
    )


def _specs(study: PbadStudy) -> list[RunSpec]:
    return [_spec(study, optimiser, links) for links in LINKS for optimiser in OPTIMISERS]


def exponent(links: tuple[int, ...], costs: list[float]) -> float:
    """Slope of the straight line through the logarithms."""
    return float(np.polyfit(np.log(links), np.log(costs), 1)[0])


def _make(study: PbadStudy, runs: Runs, folder: Path) -> Product:
    timings = {
        (optimiser, links): timing(runs, study.repeats_of(_spec(study, optimiser, links)))
        for optimiser in OPTIMISERS
        for links in LINKS
    }
    picture = folder / "pbad-table1.png"
    _draw(picture, timings)
    rows = [
        (optimiser.method, optimiser.name, n, own.of_iteration, int(own.iterations.sum()))
        for (optimiser, n), own in timings.items()
    ]
    columns = ("method", "optimiser", "freedoms", "time of an iteration [s]", "iterations")
    data = write_data(folder / "pbad-table1.csv", columns, rows)
    shows = "Time of one iteration against the number of freedoms"
    return Product({picture: shows}, (data,))


def _tables(study: PbadStudy, folder: Path) -> tuple[Table, ...]:
    """Times of an iteration of some chains, and exponents."""
    found: dict[str, dict[int, float]] = {}
    for row in read_data(folder / "pbad-table1.csv"):
        label = f"{row['method']} {row['optimiser']}"
        found.setdefault(label, {})[int(row["freedoms"])] = value(row, "time of an iteration [s]")
    links = tuple(sorted(next(iter(found.values()))))
    shown, large = links[1::2], tuple(n for n in links if n >= _LARGE)  # the CSV has all
    columns = (
        "method and optimiser",
        *(f"n = {n}" for n in shown),
        "fitted exponent, all n",
        f"from n = {_LARGE} on",
        "paper, one iteration on a CPU",
    )
    rows = []
    for optimiser in OPTIMISERS:
        cost = found[optimiser.label]
        rows.append(
            (
                optimiser.label,
                *(number(1e3 * cost[n], 3) for n in shown),
                number(exponent(links, [cost[n] for n in links])),
                number(exponent(large, [cost[n] for n in large])),
                f"O({optimiser.complexity})",
            )
        )
    notes = (
        "An iteration is one linear solve and its trial evaluations for `lm` and `jtj-lm`, one "
        "direction and its line search for `lbfgs`. That is SciPy's and calls Python: its times "
        "are compared with each other, not with those of LM, which is compiled. Eq. 13 with its "
        "exact Hessian is left out, as in the paper's comparisons: third derivatives cost O(n³) "
        "at least.",
    )
    title = "Time of one iteration [ms], fixed chains of n links that swing"
    return (Table(title, columns, tuple(rows), notes),)


def _draw(path: Path, timings: Timings) -> None:
    figure = new_figure(6.4, 4.2)
    axis = figure.subplots()
    for color, optimiser in zip(COLORS, OPTIMISERS, strict=False):
        y = [1e3 * timings[optimiser, n].of_iteration for n in LINKS]
        axis.plot(LINKS, y, color=color, marker="o", ms=4.0, lw=1.2, label=optimiser.label)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(LINKS, [str(n) for n in LINKS])
    axis.minorticks_off()
    axis.yaxis.set_major_formatter("{x:g}")
    axis.set_xlabel("freedoms n")
    axis.set_ylabel("time of an iteration [ms]")
    axis.legend(frameon=False, fontsize=9)
    save_figure(figure, path)


TABLE1: Figure[PbadStudy] = Figure(
    "table1",
    "Table I: time of one iteration against the number of freedoms",
    lambda study: [],
    _make,
    timed=lambda study: study.rounds(_specs(study)),
    tables=_tables,
)
