"""The error against a converged reference, which the paper leaves out: agreement is no accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nmdp_pin.papers.curve import Curve, time_grid
from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.nmdp.error_drawing import draw_errors
from nmdp_pin.papers.nmdp.paper import (
    BASELINE,
    JUMP,
    MDP_STEPS,
    SLIDING_BOX,
    WALK,
    WALK_FAST,
    Motion,
)
from nmdp_pin.papers.nmdp.run_error import Competitor, RunError
from nmdp_pin.papers.nmdp.study import NmdpStudy, objectives_of, orders_of
from nmdp_pin.papers.reference_error import final, mean_difference, rise
from nmdp_pin.papers.run_spec import RunSpec, method_label
from nmdp_pin.papers.table import Table, number

REFERENCE = Competitor("ne-nmdp", "dissipation", 2)
"""What the others are compared with: the same model in small steps."""

REFERENCE_STEPS = (0.00025, 0.0005)
"""Steps of the reference [s]; the first is the reference, the second says how far to trust it."""

ERROR_STEPS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05)
"""Steps of the curves [s]."""

TABLE_STEPS = (0.005, 0.01, 0.02, 0.05)
"""Steps of the tables [s]."""

# Zeroth-order methods seek the same solution as the first-order ones.
_METHODS = (BASELINE, "ne-nmdp", "pbd-nmdp")
_FIRST_JUMP = 1.9  # [s]; the robot has landed, and not yet jumped again


@dataclass(frozen=True)
class _Case:
    """A motion and what of it is compared with the reference.

    Args:
        motion: what is run.
        duration: simulated time [s].
        peak: name of the single figure that is compared.
        until: time of it [s].
        measure: reads it off a curve at that time.
    """

    motion: Motion
    duration: float
    peak: str
    until: float
    measure: Callable[[Curve, float], float]


CASES = (
    _Case(JUMP, 2.0, "first apex", _FIRST_JUMP, rise),
    _Case(WALK, 3.0, "distance at the end", 3.0, final),
    # Later its feet bounce, and runs at 0.5 and 0.25 ms part: there is no reference.
    _Case(WALK_FAST, 1.5, "distance at the end", 1.5, final),
    _Case(SLIDING_BOX, 1.0, "distance at the end", 1.0, final),
)


def _competitors(study: NmdpStudy) -> list[Competitor]:
    """Every objective and order of every method."""
    return [
        Competitor(method, objective, order)
        for method in _METHODS
        if method in study.methods
        for objective in objectives_of(method)
        for order in orders_of(method)
    ]


def _steps_of(study: NmdpStudy, method: str) -> list[float]:
    largest = MDP_STEPS[-1] if method == BASELINE and not study.steps else float("inf")
    return [dt for dt in study.steps or ERROR_STEPS if dt <= largest]


def _spec(study: NmdpStudy, case: _Case, who: Competitor, dt: float) -> RunSpec:
    return study.spec(
        case.motion, who.method, dt, longest=case.duration, objective=who.objective, order=who.order
    )


def _reference_specs(study: NmdpStudy, case: _Case) -> list[RunSpec]:
    return [_spec(study, case, REFERENCE, dt) for dt in REFERENCE_STEPS]


def _specs(study: NmdpStudy) -> list[RunSpec]:
    specs = []
    for case in CASES:
        specs += _reference_specs(study, case)
        for who in _competitors(study):
            specs += [_spec(study, case, who, dt) for dt in _steps_of(study, who.method)]
    return specs


def _error(study: NmdpStudy, runs: Runs, case: _Case, who: Competitor, spec: RunSpec) -> RunError:
    """Error of one run."""
    run = runs[spec]
    recording = run.recording()
    reference = runs[_reference_specs(study, case)[0]].recording()
    quantity, length = case.motion.quantity, study.length(case.motion.duration, case.duration)
    curve, true = quantity.curve(recording), quantity.curve(reference)
    until = min(case.until, length)
    grid = time_grid(max(study.steps or ERROR_STEPS), length)
    peak, target = case.measure(curve, until), case.measure(true, until)
    return RunError(
        who=who,
        dt=spec.dt,
        peak=peak,
        reference=target,
        peak_error=abs(peak - target),
        mean_error=mean_difference(curve, true, grid),
        wall=float(recording.wall_time.sum()) / max(recording.duration, spec.dt),
        halved=int((recording.halvings > 0).sum()),
        failed=bool(run.failure),
    )


def _make(study: NmdpStudy, runs: Runs, folder: Path) -> Product:
    pictures, tables, records = {}, [], []
    for case in CASES:
        doubt_spec = _reference_specs(study, case)[1]
        doubt = _error(study, runs, case, REFERENCE, doubt_spec)
        errors = [
            _error(study, runs, case, who, _spec(study, case, who, dt))
            for who in _competitors(study)
            for dt in _steps_of(study, who.method)
        ]
        path = folder / f"error-{case.motion.scenario}-{study.name}.png"
        against = f"{REFERENCE.label} at {1e3 * REFERENCE_STEPS[0]:g} ms"
        title = f"{case.motion.title}: error against {against}"
        settings = _settings(study, case.motion)
        draw_errors(path, f"{title}\n{settings}", case.peak, errors, doubt)
        pictures[path] = f"{title} ({settings})"
        tables.append(_table(study, case, errors, doubt))
        records += [_record(case, error) for error in errors]
    columns = (
        *("motion", "method", "objective", "order", "dt [s]", "measure", "value [m]"),
        *("reference [m]", "error [m]", "mean difference [m]", "wall time a second [s]"),
        *("halved steps", "failed"),
    )
    data = write_data(folder / f"error-{study.name}.csv", columns, records)
    return Product(pictures, (data,), aside=tuple(tables))


def _tables(study: NmdpStudy, folder: Path) -> tuple[Table, ...]:
    """Errors of the first apex of the jump in first order, at the steps of the tables."""
    case, steps = CASES[0], study.steps or TABLE_STEPS
    rows: dict[str, dict[float, str]] = {}
    reference = float("nan")
    for row in read_data(folder / f"error-{study.name}.csv"):
        if row["motion"] == case.motion.title and row["order"] in ("", "1"):
            reference = value(row, "reference [m]")
            error = "failed" if row["failed"] == "1" else number(value(row, "error [m]"), 3)
            label = method_label(row["method"], row["objective"], 0)
            rows.setdefault(label, {})[float(row["dt [s]"])] = error
    return (
        Table(
            f"Error of the {case.peak} of the jump in first order [m], of {number(reference, 3)} m",
            ("method", *(f"{1e3 * dt:g} ms" for dt in steps)),
            tuple((who, *(own.get(dt, "—") for dt in steps)) for who, own in rows.items()),
        ),
    )


def _settings(study: NmdpStudy, motion: Motion) -> str:
    """Settings common to all curves, except objective and order."""
    if not motion.planar:
        return "contact and robot as in the scenario"
    return f"{study.preset.name} contact, {study.variant} inertias, {study.base} base"


def _record(case: _Case, error: RunError) -> list[object]:
    who = error.who
    return [
        *(case.motion.title, who.method, who.objective, who.order or "", error.dt, case.peak),
        *(error.peak, error.reference, error.peak_error, error.mean_error, error.wall),
        *(error.halved, int(error.failed)),
    ]


def _table(study: NmdpStudy, case: _Case, errors: list[RunError], doubt: RunError) -> Table:
    """A row a method, objective and order; both measures at the steps of the table."""
    steps = study.steps or TABLE_STEPS
    rows = []
    for who in _competitors(study):
        own = {error.dt: error for error in errors if error.who == who}
        peaks = [_cell(own.get(dt), "peak_error") for dt in steps]
        means = [_cell(own.get(dt), "mean_error") for dt in steps]
        rows.append((who.label, *peaks, *means))
    in_ms = [f"{1e3 * dt:g} ms" for dt in steps]
    columns = ("", *(f"{case.peak}, {h}" for h in in_ms), *(f"mean, {h}" for h in in_ms))
    quantity = case.motion.quantity.name.partition(" [")[0]
    title = (
        f"{case.motion.title}, error [m] of the {case.peak} ({doubt.reference:.3f} m in the "
        f"reference) and mean over {study.length(case.motion.duration, case.duration):g} s of the "
        f"difference of {quantity}; {_settings(study, case.motion)}"
    )
    note = (
        f"Reference: {REFERENCE.label} at {1e3 * REFERENCE_STEPS[0]:g} ms; at "
        f"{1e3 * REFERENCE_STEPS[1]:g} ms it is off by {doubt.peak_error:.4f} m and "
        f"{doubt.mean_error:.4f} m."
    )
    return Table(title, columns, tuple(rows), (note,))


def _cell(error: RunError | None, measure: str) -> str:
    if error is None:
        return "—"
    return "failed" if error.failed else number(getattr(error, measure), 3)


ERROR = Figure("error", "error against a converged reference", _specs, _make, tables=_tables)
