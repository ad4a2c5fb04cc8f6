"""Fig. 6: what ten seconds of the chain that slides off a slope cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nmdp_pin._runs.recording import Recording
from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.pbad.paper import BASELINE, CONTACT_POINTS, LARGE_STEP, SAFE_STEP
from nmdp_pin.papers.pbad.study import PbadStudy
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.table import Table, number, span
from nmdp_pin.papers.timing import Timing, timing
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

METHODS = (BASELINE, "pbfd")

STEPS = {
    BASELINE: (0.001, 0.002, 0.0025, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.05),
    "pbfd": (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1),
}
"""Steps of panel (b) [s]."""

USUAL_STEP = {BASELINE: SAFE_STEP, "pbfd": LARGE_STEP}
"""Steps of panels (c) and (d) [s]."""

FRICTIONS = (0.1, 0.3, 0.6, 1.0)
"""Coefficients of the terrain in panel (d); PBFD takes its C_par from them by the lookup."""

POINTS, FRICTION = 64, 0.3
"""Of the scenario: contact points, and friction coefficient."""

SECONDS = 10.0
"""Simulated time whose cost is stated [s]."""

_SCENARIO = "chain-slide"
_SECONDS = "cost of 10 s [s]"
_SHARE = "share that is counted"
_WHILE = 2.0  # [s] of the run in which the baseline's contact solver is timed
# Energy may rise for a moment, since no method here conserves it; an explosion gains more than
# friction and impacts ever take.
_RISE = 0.1
# Errors of 1 % of the speed that a fall of one step gains are plenty here; the default of 1e-5
# would take the conventional simulator more iterations.
_SETTINGS = {BASELINE: ("integrator.tolerance=0.01",), "pbfd": ()}


@dataclass(frozen=True)
class _Case:
    """One run of the figure; with fixed steps none is halved."""

    method: str
    dt: float
    points: int = POINTS
    friction: float = FRICTION
    fixed: bool = False


def _by_step() -> list[_Case]:
    return [_Case(method, dt) for method in METHODS for dt in STEPS[method]]


def _fixed() -> list[_Case]:
    return [replace(case, fixed=True) for case in _by_step()]


def _by_points() -> list[_Case]:
    return [_Case(m, USUAL_STEP[m], points=n) for n in CONTACT_POINTS for m in METHODS]


def _by_friction() -> list[_Case]:
    return [_Case(m, USUAL_STEP[m], friction=mu) for mu in FRICTIONS for m in METHODS]


def _spec(study: PbadStudy, case: _Case) -> RunSpec:
    return RunSpec(
        scenario=_SCENARIO,
        method=case.method,
        dt=case.dt,
        duration=study.length(SECONDS),
        preset=f"points{case.points}-mu{case.friction:g}{'-fixed' * case.fixed}",
        overrides=(
            f"robot.contact_points={case.points}",
            f"terrain.shapes.0.friction={case.friction!r}",
            f"terrain.shapes.1.friction={case.friction!r}",
            *_SETTINGS[case.method],
            *(('integrator.control.kind="fixed"',) if case.fixed else ()),
        ),
    )


def _timed(study: PbadStudy) -> list[RunSpec]:
    # A case may be in several panels.
    cases = dict.fromkeys([*_by_step(), *_by_points(), *_by_friction()])
    return study.rounds(_spec(study, case) for case in cases)


@dataclass(frozen=True, eq=False)
class _Cost:
    """Cost and outcome of a case.

    Args:
        case: which.
        timing: timing of its runs.
        rise: largest rise of the energy over the energy lost in all [-].
        touching: contact points that touch, mean over time.
        smallest: smallest sub-step [s].
        of_solver: share of the time that is counted: that of the baseline in its contact solver,
            which is compiled; all of a method that is compiled as a whole.
    """

    case: _Case
    timing: Timing
    rise: float
    touching: float
    smallest: float
    of_solver: float = 1.0

    @property
    def stable(self) -> bool:
        """The run reached its end, and gained no energy to speak of."""
        return not self.timing.failure and self.rise <= _RISE

    @property
    def seconds(self) -> float:
        """Computing time of ten simulated seconds [s]; NaN with fixed steps: they are not timed."""
        return float("nan") if self.case.fixed else self.timing.of(SECONDS)

    @property
    def counted(self) -> float:
        """What of it is spent in compiled code, which is compared [s]."""
        return self.of_solver * self.seconds


def solver_share(study: PbadStudy, case: _Case) -> float:
    """Share of the time of a step that `ne-ncp` spends in Pinocchio's solver, over a while."""
    setup = _spec(study, case).load().build(visuals=False)
    ncp: Any = setup.simulator.integrator
    solve, inside = ncp.ncp.solve, [0.0]

    def timed(*arguments: Any) -> Any:
        begin = time.process_time()
        found = solve(*arguments)
        inside[0] += time.process_time() - begin
        return found

    ncp.ncp.solve = timed
    begin = time.process_time()
    for _ in setup.simulator.run(
        setup.state, setup.controller, dt=case.dt, duration=study.length(_WHILE)
    ):
        pass
    return inside[0] / (time.process_time() - begin)


def energy_rise(recording: Recording) -> float:
    """Largest rise of the energy above its lowest value before, over what is lost in all [-]."""
    energy = recording.kinetic_energy + recording.potential_energy
    lowest = np.minimum.accumulate(energy)
    lost = float(energy[0] - lowest[-1])
    rise = float((energy - lowest).max())
    return rise / lost if lost > 0.0 else float(rise > 0.0)


def _cost(study: PbadStudy, runs: Runs, case: _Case) -> _Cost:
    spec = _spec(study, case)
    repeats = [spec] if case.fixed else study.repeats_of(spec)
    recording = runs[repeats[0]].recording()
    touching = float((recording.contact_forces != 0.0).any(axis=2).sum(axis=1)[1:].mean())
    smallest = float(recording.step_size[1:].min(initial=case.dt))
    cost = _Cost(case, timing(runs, repeats), energy_rise(recording), touching, smallest)
    timed = case.method == BASELINE and not case.fixed
    return replace(cost, of_solver=solver_share(study, case)) if timed else cost


def _make(study: PbadStudy, runs: Runs, folder: Path) -> Product:
    panels = (_by_step(), _by_points(), _by_friction())
    cases = dict.fromkeys(case for panel in (*panels, _fixed()) for case in panel)
    costs = {case: _cost(study, runs, case) for case in cases}
    picture = folder / "pbad-fig6.png"
    _draw(picture, *([costs[case] for case in panel] for panel in panels))
    data = _write(folder / "pbad-fig6.csv", list(costs.values()))
    return Product({picture: "Cost of ten seconds of the chain that slides off a slope"}, (data,))


Rows = list[dict[str, str]]


def _tables(study: PbadStudy, folder: Path) -> tuple[Table, ...]:
    """Costs and stability over the step, and over the contact points."""
    rows = read_data(folder / "pbad-fig6.csv")
    usual = [r for r in rows if float(r["dt [s]"]) == USUAL_STEP[r["method"]] and not _is_fixed(r)]
    by_points = [row for row in usual if value(row, "friction") == FRICTION]
    by_friction = [row for row in usual if int(row["contact points"]) == POINTS]
    return _step_table(rows), _point_table(by_points, by_friction)


def _is_fixed(row: dict[str, str]) -> bool:
    return row["control"] == "fixed"


def _step_table(rows: Rows) -> Table:
    at = [r for r in rows if (int(r["contact points"]), float(r["friction"])) == (POINTS, FRICTION)]
    fixed = {(r["method"], r["dt [s]"]): r for r in at if _is_fixed(r)}
    own = [r for r in at if not _is_fixed(r)]
    safe = next(r for r in own if (r["method"], float(r["dt [s]"])) == (BASELINE, SAFE_STEP))
    columns = (
        *("method", "Δt [ms]", "s for 10 s", "counted [s]"),
        f"{BASELINE} at {1e3 * SAFE_STEP:g} ms over it",
        *("halved steps", "smallest sub-step [ms]", "energy rises by [% of loss]"),
        *("halving", "fixed steps"),
    )
    cells = [
        (
            row["method"],
            f"{1e3 * float(row['dt [s]']):g}",
            number(value(row, _SECONDS)),
            number(_counted(row), 3),
            number(_ratio(_counted(safe), _counted(row)), 1),
            f"{row['halved steps']} of {row['steps']}",
            number(1e3 * value(row, "smallest step [s]")) if int(row["halved steps"]) else "—",
            number(100.0 * value(row, "energy rise over loss"), 1),
            _verdict(row),
            _verdict(fixed.get((row["method"], row["dt [s]"]))),
        )
        for row in own
    ]
    note = (
        f"Counted is compiled code: of `{BASELINE}` Pinocchio's ADMM alone, without the assembly "
        "of its problem and the rest, which is Python; of `pbfd` the whole step. Stable: the run "
        "reaches its end, and its energy never rises above its lowest value before by more than "
        f"{100 * _RISE:g} % of what it loses in all."
    )
    title = f"Cost against the step ({POINTS} contact points, friction {FRICTION:g})"
    return Table(title, columns, tuple(cells), (note,))


def _counted(row: dict[str, str]) -> float:
    """Seconds in compiled code."""
    return value(row, _SHARE) * value(row, _SECONDS)


def _ratio(cost: float, other: float) -> float:
    """NaN where the other one is zero: a short run may touch nothing."""
    return cost / other if other else float("nan")


def _verdict(row: dict[str, str] | None) -> str:
    if row is None:
        return "—"
    if row["failure"]:
        return f"fails at {value(row, 'end [s]'):.3g} s"
    return "stable" if row["stable"] == "1" else "not stable"


def _point_table(by_points: Rows, by_friction: Rows) -> Table:
    """Both methods at their usual steps, side by side."""
    columns = (
        "contact points",
        *(f"{m} at {1e3 * USUAL_STEP[m]:g} ms" for m in METHODS),
        *(f"of that the ADMM of {BASELINE}", "ADMM over pbfd"),
    )
    rows = []
    for slow, fast in _pairs(by_points, "contact points"):
        cells = (number(value(row, _SECONDS)) for row in (slow, fast))
        ratio = number(_ratio(_counted(slow), _counted(fast)), 1)
        rows.append((slow["contact points"], *cells, number(_counted(slow)), ratio))
    ratios = [
        [_ratio(of(slow), of(fast)) for slow, fast in _pairs(own, what)]
        for of in (_counted, lambda row: value(row, _SECONDS))
        for own, what in ((by_points, "contact points"), (by_friction, "friction"))
    ]
    note = (
        f"The ADMM of `{BASELINE}` costs {span(ratios[0], 1)} times as much as `pbfd` over the "
        f"contact points and {span(ratios[1], 1)} times over the friction coefficients (paper: 5 "
        f"times); with the Python around it {span([*ratios[2], *ratios[3]], 0)} times."
    )
    return Table("Cost of 10 s [s] against the contact points", columns, tuple(rows), (note,))


def _pairs(rows: Rows, what: str) -> list[tuple[dict[str, str], dict[str, str]]]:
    """The baseline and PBFD at each value of a column."""
    found: dict[float, dict[str, dict[str, str]]] = {}
    for row in rows:
        found.setdefault(float(row[what]), {})[row["method"]] = row
    return [(found[x][METHODS[0]], found[x][METHODS[1]]) for x in sorted(found)]


def _write(path: Path, costs: Sequence[_Cost]) -> Path:
    columns = (
        *("method", "dt [s]", "contact points", "friction", "control", _SECONDS, "least [s]"),
        *("most [s]", _SHARE, "touching, mean", "mean iterations"),
        *("mean evaluations", "steps", "halved steps", "smallest step [s]"),
        *("energy rise over loss", "stable", "end [s]", "failure"),
    )
    none = (float("nan"), float("nan"))
    rows = [
        (
            *(c.case.method, c.case.dt, c.case.points, c.case.friction),
            *("fixed" if c.case.fixed else "halving", c.seconds),
            *(none if c.case.fixed else c.timing.range_of(SECONDS)),
            *(c.of_solver, c.touching, float(c.timing.iterations.mean())),
            *(float(c.timing.evaluations.mean()), len(c.timing.walls)),
            *(int((c.timing.halvings > 0).sum()), c.smallest, c.rise, int(c.stable)),
            *(c.timing.end, c.timing.failure),
        )
        for c in costs
    ]
    return write_data(path, columns, rows)


def _draw(path: Path, *panels: Sequence[_Cost]) -> None:
    figure = new_figure(11.0, 3.8)
    axes = figure.subplots(1, 3, sharey=True)
    values: tuple[Callable[[_Case], float], ...] = (
        lambda case: 1e3 * case.dt,
        lambda case: float(case.points),
        lambda case: case.friction,
    )
    names = ("(b) Δt [ms]", "(c) contact points", "(d) friction coefficient")
    for axis, costs, along, name in zip(axes, panels, values, names, strict=True):
        for method, color, style, label, of in _CURVES:
            own = [cost for cost in costs if cost.case.method == method]
            x, y = [along(cost.case) for cost in own], [of(cost) for cost in own]
            axis.plot(x, y, style, color=color, linewidth=1.2, label=label * (axis is axes[0]))
            for mark, stable in (("o", True), ("x", False)):
                k = [k for k, cost in enumerate(own) if cost.stable == stable]
                axis.plot([x[i] for i in k], [y[i] for i in k], mark, color=color, markersize=4.5)
        axis.set_xlabel(name)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("")
        if axis is not axes[2]:
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter("{x:g}")
    axes[0].set_ylabel("cost of 10 s [s]")
    steps = ", ".join(f"{m} at {1e3 * USUAL_STEP[m]:g} ms" for m in METHODS)
    figure.suptitle(
        f"A chain slides off a slope; (c), (d): {steps}; cross: not stable",
        fontsize=10,
        fontweight="bold",
    )
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    save_figure(figure, path)


_CURVES: tuple[tuple[str, str, str, str, Callable[[_Cost], float]], ...] = (
    (BASELINE, COLORS[0], "-", f"{BASELINE}: Pinocchio's ADMM alone", lambda cost: cost.counted),
    (BASELINE, COLORS[0], ":", f"{BASELINE} with its Python", lambda cost: cost.seconds),
    ("pbfd", COLORS[1], "-", "pbfd, all compiled", lambda cost: cost.seconds),
)


FIG6: Figure[PbadStudy] = Figure(
    "fig6",
    "cost of ten seconds against step, contact points and friction",
    lambda study: [_spec(study, case) for case in _fixed()],
    _make,
    _timed,
    _tables,
)
