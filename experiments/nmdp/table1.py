"""Table I: how far the runs of each method at its several steps are apart."""

from __future__ import annotations

from pathlib import Path

from nmdp_pin.experiments.consistency import Consistency, consistency
from nmdp_pin.experiments.curve import time_grid
from nmdp_pin.experiments.figure import Figure, Product, Runs
from nmdp_pin.experiments.kept_run import KeptRun
from nmdp_pin.experiments.nmdp.paper import TABLE, TABLE_METHODS, Motion
from nmdp_pin.experiments.nmdp.study import Study
from nmdp_pin.experiments.run_spec import RunSpec
from nmdp_pin.files.text_table import Table, number, write_csv

_FLAWS = ("failed at dt [ms]", "body under the ground at dt [ms]")


def _methods(study: Study) -> list[str]:
    """The paper's columns, those of them that are evaluated."""
    return [method for method in TABLE_METHODS if method in study.methods]


def _specs_of(study: Study, motion: Motion, method: str) -> list[RunSpec]:
    return [study.spec(motion, method, dt) for dt in study.steps_of(method)]


def _specs(study: Study) -> list[RunSpec]:
    methods = _methods(study)
    return [s for row in TABLE for m in methods for s in _specs_of(study, row.motion, m)]


def _measure(study: Study, runs: Runs, motion: Motion, specs: list[RunSpec]) -> Consistency:
    curves = [motion.quantity.curve(runs[spec].recording()) for spec in specs]
    grid = time_grid(max(spec.dt for spec in specs), study.length(motion))
    return consistency(curves, grid)


def _make(study: Study, runs: Runs, folder: Path) -> Product:
    methods = _methods(study)
    rows, records = [], []
    flaws: list[tuple[str, ...]] = []
    for row in TABLE:
        cells = [row.motion.title, row.motion.quantity.name]
        for method in methods:
            specs = _specs_of(study, row.motion, method)
            good = [spec for spec in specs if runs[spec].meaningful]
            found = _measure(study, runs, row.motion, specs)
            kept = _measure(study, runs, row.motion, good).spread if good else float("nan")
            theirs = [row.published.get(method), row.engine.get(method)]
            cells += [_cell(found, kept, len(good))]
            cells += ["—" if x is None else number(x) for x in theirs]
            label = study.label(method)
            counts = [found.spread, found.runs, found.cut, kept, len(good)]
            flawed = _flaws([runs[spec] for spec in specs])
            records.append([*cells[:2], label, *counts, *theirs, *flawed])
            if len(good) < len(specs):
                flaws.append((row.motion.title, method, *flawed))
        rows.append(tuple(cells))
    columns = ["", "quantity"]
    for method in methods:
        columns += [method, "paper", "authors' engine"]
    data = write_csv(
        folder / f"table1-{study.name}.csv",
        (
            *("motion", "quantity", "method", "mean std across dt [m]", "runs", "cut short"),
            *("of meaningful runs [m]", "meaningful runs", "paper [m]", "authors' engine [m]"),
            *_FLAWS,
        ),
        records,
    )
    table = Table(
        f"Mean over time of the standard deviation across Δt [m] (preset {study.name})",
        tuple(columns),
        tuple(rows),
        (_explanation(study, methods),),
    )
    return Product({}, (data,), (table, *_flawed(flaws)))


def _cell(found: Consistency, kept: float, meaningful: int) -> str:
    if meaningful == found.runs:
        return number(found.spread)
    others = f"{_short(kept)} of the {meaningful} meaningful" if meaningful else "none meaningful"
    return f"{_short(found.spread)} ({others})"


def _short(spread: float) -> str:
    return number(spread) if spread < 100.0 else f"{spread:.0e}"


def _flaws(runs: list[KeptRun]) -> tuple[str, str]:
    """Steps of the runs that failed, and of those that buried a body [ms]."""
    failed = [f"{1e3 * run.spec.dt:g} (at {run.end:.3g} s)" for run in runs if run.failure]
    buried = [
        f"{1e3 * run.spec.dt:g} ({number(run.buried)} m)"
        for run in runs
        if run.buried and not run.failure
    ]
    return ", ".join(failed), ", ".join(buried)


def _flawed(rows: list[tuple[str, ...]]) -> list[Table]:
    """Table of the runs that are not meaningful; none where all are."""
    columns = ("", "method", *_FLAWS)
    title = "Runs that are not meaningful"
    return [Table(title, columns, tuple(rows), aside=True)] if rows else []


def _explanation(study: Study, methods: list[str]) -> str:
    steps = {study.steps_of(method) for method in methods}
    grids = " and ".join(
        f"{1e3 * max(h):g} ms ({len(h)} runs from {1e3 * min(h):g} to {1e3 * max(h):g} ms)"
        for h in sorted(steps)
    )
    return f"Interpolated on a grid of the coarsest step, {grids}."


TABLE1 = Figure("table1", "Table I: consistency across steps", _specs, _make)
