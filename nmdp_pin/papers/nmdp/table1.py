"""Table I: how far the runs of each method at its several steps are apart."""

from __future__ import annotations

from pathlib import Path

from nmdp_pin.papers.consistency import Consistency, consistency
from nmdp_pin.papers.curve import time_grid
from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.kept_run import KeptRun
from nmdp_pin.papers.nmdp.paper import TABLE, TABLE_METHODS, Motion
from nmdp_pin.papers.nmdp.study import NmdpStudy
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.table import Table, number

_FLAWS = ("failed at dt [ms]", "body under the ground at dt [ms]")
_COLUMNS = (
    *("motion", "quantity", "method", "mean std across dt [m]", "runs", "cut short"),
    *("of meaningful runs [m]", "meaningful runs", "paper [m]", *_FLAWS),
)


def _methods(study: NmdpStudy) -> list[str]:
    """The paper's columns, those of them that are evaluated."""
    return [method for method in TABLE_METHODS if method in study.methods]


def _specs_of(study: NmdpStudy, motion: Motion, method: str) -> list[RunSpec]:
    return [study.spec(motion, method, dt) for dt in study.steps_of(method)]


def _specs(study: NmdpStudy) -> list[RunSpec]:
    return [s for motion in TABLE for m in _methods(study) for s in _specs_of(study, motion, m)]


def _measure(study: NmdpStudy, runs: Runs, motion: Motion, specs: list[RunSpec]) -> Consistency:
    curves = [motion.quantity.curve(runs[spec].recording()) for spec in specs]
    grid = time_grid(max(spec.dt for spec in specs), study.length(motion.duration))
    return consistency(curves, grid)


def _make(study: NmdpStudy, runs: Runs, folder: Path) -> Product:
    records: list[list[object]] = []
    flaws: list[tuple[str, ...]] = []
    for motion, published in TABLE.items():
        theirs = dict(zip(TABLE_METHODS, published, strict=bool(published)))
        for method in _methods(study):
            specs = _specs_of(study, motion, method)
            good = [spec for spec in specs if runs[spec].meaningful]
            found = _measure(study, runs, motion, specs)
            kept = _measure(study, runs, motion, good).spread if good else float("nan")
            flawed = _flaws([runs[spec] for spec in specs])
            counts = (found.spread, found.runs, found.cut, kept, len(good), theirs.get(method))
            records.append(
                [motion.title, motion.quantity.name, study.label(method), *counts, *flawed]
            )
            if len(good) < len(specs):
                flaws.append((motion.title, method, *flawed))
    data = write_data(folder / f"table1-{study.name}.csv", _COLUMNS, records)
    title = "Runs that are not meaningful"
    aside = Table(title, ("", "method", *_FLAWS), tuple(flaws))
    return Product({}, (data,), aside=(aside,) if flaws else ())


def _tables(study: NmdpStudy, folder: Path) -> tuple[Table, ...]:
    """Spreads beside those of the paper."""
    methods = _methods(study)
    rows: dict[str, list[str]] = {}
    for row in read_data(folder / f"table1-{study.name}.csv"):
        theirs = value(row, "paper [m]")
        apart = f" ({value(row, _COLUMNS[3]) - theirs:+.2f})" if theirs == theirs else ""
        rows.setdefault(row["motion"], [row["motion"], row["quantity"]])
        rows[row["motion"]] += [_cell(row), number(theirs) + apart]
    columns = ["", "quantity"]
    for method in methods:
        columns += [method, "paper (difference)"]
    steps = {study.steps_of(method) for method in methods}
    grids = " and ".join(
        f"{1e3 * max(h):g} ms ({len(h)} runs from {1e3 * min(h):g} to {1e3 * max(h):g} ms)"
        for h in sorted(steps)
    )
    return (
        Table(
            f"Mean over time of the standard deviation across Δt [m] (preset {study.name})",
            tuple(columns),
            tuple(map(tuple, rows.values())),
            (f"Interpolated on a grid of the coarsest step, {grids}.",),
        ),
    )


def _cell(row: dict[str, str]) -> str:
    spread, meaningful = value(row, _COLUMNS[3]), int(row["meaningful runs"])
    if meaningful == int(row["runs"]):
        return number(spread)
    kept = f"{_short(value(row, _COLUMNS[6]))} of the {meaningful} meaningful"
    return f"{_short(spread)} ({kept if meaningful else 'none meaningful'})"


def wide_table(folder: Path, presets: tuple[str, ...], method: str = "ne-nmdp") -> Table:
    """The statistic of a method over all steps, a column a preset.

    Args:
        folder: folder of the data.
        presets: names of the presets.
        method: name of the integrator.
    """
    rows: dict[str, list[str]] = {}
    for preset in presets:
        for row in read_data(folder / f"table1-{preset}-wide.csv"):
            if row["method"].partition(",")[0] == method:
                rows.setdefault(row["motion"], [row["motion"]]).append(_cell(row))
    columns = ("[m]", *(f"`{preset}`" for preset in presets))
    return Table("", columns, tuple(map(tuple, rows.values())))


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


TABLE1 = Figure("table1", "Table I: consistency across steps", _specs, _make, tables=_tables)
