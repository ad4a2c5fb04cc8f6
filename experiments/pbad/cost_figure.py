"""Fig. 6: what ten seconds of the chain that slides off a slope cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nmdp_pin.experiments.figure import Figure, Product, Runs
from nmdp_pin.experiments.pbad.paper import (
    BASELINE,
    CONTACT_POINTS,
    LARGE_STEP,
    SAFE_STEP,
)
from nmdp_pin.experiments.pbad.study import Study
from nmdp_pin.experiments.run_spec import RunSpec
from nmdp_pin.experiments.timing import Timing, timing
from nmdp_pin.files.text_table import Table, number, write_csv
from nmdp_pin.runs.recording import Recording
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
# Energy may rise for a moment, since no method here conserves it; an explosion gains more than
# friction and impacts ever take.
_RISE = 0.1
# Errors of 1 % of the speed that a fall of one step gains are plenty here; the default of 1e-5
# would take the conventional simulator more iterations.
_SETTINGS = {BASELINE: ("integrator.tolerance=0.01",), "pbfd": ()}


@dataclass(frozen=True)
class _Case:
    """One run of the figure."""

    method: str
    dt: float
    points: int = POINTS
    friction: float = FRICTION


def _by_step() -> list[_Case]:
    return [_Case(method, dt) for method in METHODS for dt in STEPS[method]]


def _by_points() -> list[_Case]:
    return [_Case(m, USUAL_STEP[m], points=n) for n in CONTACT_POINTS for m in METHODS]


def _by_friction() -> list[_Case]:
    return [_Case(m, USUAL_STEP[m], friction=mu) for mu in FRICTIONS for m in METHODS]


def _spec(study: Study, case: _Case) -> RunSpec:
    return RunSpec(
        scenario=_SCENARIO,
        method=case.method,
        dt=case.dt,
        duration=study.length(SECONDS),
        preset=f"points{case.points}-mu{case.friction:g}",
        overrides=(
            f"robot.contact_points={case.points}",
            f"terrain.shapes.0.friction={case.friction!r}",
            f"terrain.shapes.1.friction={case.friction!r}",
            *_SETTINGS[case.method],
        ),
    )


def _specs(study: Study) -> list[RunSpec]:
    # A case may be in several panels.
    cases = dict.fromkeys([*_by_step(), *_by_points(), *_by_friction()])
    return [_spec(study, case) for case in cases]


@dataclass(frozen=True, eq=False)
class _Cost:
    """Cost and outcome of a case.

    Args:
        case: which.
        timing: timing of its runs.
        rise: largest rise of the energy over the energy lost in all [-].
        touching: contact points that touch, mean over time.
    """

    case: _Case
    timing: Timing
    rise: float
    touching: float

    @property
    def stable(self) -> bool:
        """The run reached its end, and gained no energy to speak of."""
        return not self.timing.failure and self.rise <= _RISE

    @property
    def seconds(self) -> float:
        """Computing time of ten simulated seconds [s]."""
        return self.timing.of(SECONDS)


def energy_rise(recording: Recording) -> float:
    """Largest rise of the energy above its lowest value before, over what is lost in all [-]."""
    energy = recording.kinetic_energy + recording.potential_energy
    lowest = np.minimum.accumulate(energy)
    lost = float(energy[0] - lowest[-1])
    rise = float((energy - lowest).max())
    return rise / lost if lost > 0.0 else float(rise > 0.0)


def _cost(study: Study, runs: Runs, case: _Case) -> _Cost:
    repeats = study.repeats_of(_spec(study, case))
    recording = runs[repeats[0]].recording()
    touching = float((recording.contact_force != 0.0).any(axis=2).sum(axis=1)[1:].mean())
    return _Cost(case, timing(runs, repeats), energy_rise(recording), touching)


def largest_stable_step(costs: Sequence[_Cost]) -> float:
    """Largest step up to which all are stable [s]; NaN where the smallest is not."""
    stable = float("nan")
    for cost in sorted(costs, key=lambda cost: cost.case.dt):
        if not cost.stable:
            break
        stable = cost.case.dt
    return stable


def _make(study: Study, runs: Runs, folder: Path) -> Product:
    by_step, by_points, by_friction = (
        [_cost(study, runs, case) for case in cases]
        for cases in (_by_step(), _by_points(), _by_friction())
    )
    picture = folder / "pbad-fig6.png"
    _draw(picture, by_step, by_points, by_friction)
    data = _write(folder / "pbad-fig6.csv", [*by_step, *by_points, *by_friction])
    tables = (
        _step_table(by_step),
        _pair_table("contact points", by_points, lambda case: case.points),
        replace(
            _pair_table("friction coefficient", by_friction, lambda case: case.friction), aside=True
        ),
    )
    shows = "Cost of ten seconds of the chain that slides off a slope"
    return Product({picture: shows}, (data,), tables)


def _step_table(costs: Sequence[_Cost]) -> Table:
    safe = next(c for c in costs if (c.case.method, c.case.dt) == (BASELINE, SAFE_STEP))
    columns = (
        *("method", "Δt [ms]", "s for 10 s", f"{BASELINE} at {1e3 * SAFE_STEP:g} ms over it"),
        *("iterations a step", "halved steps", "energy rises by [% of loss]", "stable"),
    )
    rows = [
        (
            cost.case.method,
            f"{1e3 * cost.case.dt:g}",
            number(cost.seconds),
            number(safe.seconds / cost.seconds, 1),
            number(float(cost.timing.iterations.mean()), 1),
            str(int((cost.timing.halvings > 0).sum())),
            number(100.0 * cost.rise, 1),
            "yes" if cost.stable else cost.timing.failure or "no",
        )
        for cost in costs
    ]
    title = f"Cost against the step ({POINTS} contact points, friction {FRICTION:g})"
    limits = ", ".join(
        f"`{m}` {1e3 * largest_stable_step([c for c in costs if c.case.method == m]):g} ms"
        for m in METHODS
    )
    note = (
        f"Largest steps of the sweep up to which every run is stable: {limits}. Stable: it reaches "
        f"its end, and its energy never rises above its lowest value before by more than "
        f"{100 * _RISE:g} % of what it loses in all."
    )
    return Table(title, columns, tuple(rows), (note,))


def _pair_table(what: str, costs: Sequence[_Cost], value: Callable[[_Case], float]) -> Table:
    """Both methods at their usual steps, side by side."""
    columns = [what]
    for m in METHODS:
        columns += [f"{m} at {1e3 * USUAL_STEP[m]:g} ms"]
    columns += ["ratio"]
    rows = []
    for x in dict.fromkeys(value(cost.case) for cost in costs):
        pair = [
            next(c for c in costs if value(c.case) == x and c.case.method == m) for m in METHODS
        ]
        costs_of_pair = [number(cost.seconds) for cost in pair]
        rows.append((f"{x:g}", *costs_of_pair, number(pair[0].seconds / pair[1].seconds, 1)))
    return Table(f"Cost of 10 s [s] against the {what}", tuple(columns), tuple(rows))


def _write(path: Path, costs: Sequence[_Cost]) -> Path:
    columns = (
        *("method", "dt [s]", "contact points", "friction", "cost of 10 s [s]", "least [s]"),
        *("most [s]", "touching, mean", "mean iterations", "mean evaluations", "halved steps"),
        *("energy rise over loss", "stable", "failure"),
    )
    rows = [
        (
            *(c.case.method, c.case.dt, c.case.points, c.case.friction, c.seconds),
            *(*c.timing.range_of(SECONDS), c.touching),
            *(float(c.timing.iterations.mean()), float(c.timing.evaluations.mean())),
            *(int((c.timing.halvings > 0).sum()), c.rise, int(c.stable), c.timing.failure),
        )
        for c in {cost.case: cost for cost in costs}.values()
    ]
    return write_csv(path, columns, rows)


def _draw(path: Path, *panels: Sequence[_Cost]) -> None:
    figure = new_figure(11.0, 3.8)
    axes = figure.subplots(1, 3, sharey=True)
    values: tuple[Callable[[_Case], float], ...] = (
        lambda case: 1e3 * case.dt,
        lambda case: float(case.points),
        lambda case: case.friction,
    )
    names = ("(b) Δt [ms]", "(c) contact points", "(d) friction coefficient")
    for axis, costs, value, name in zip(axes, panels, values, names, strict=True):
        for color, method in zip(COLORS, METHODS, strict=False):
            own = [cost for cost in costs if cost.case.method == method]
            _curve(axis, [value(cost.case) for cost in own], own, color, name)
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
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    save_figure(figure, path)


def _curve(axis: Axes, x: Sequence[float], costs: Sequence[_Cost], color: str, name: str) -> None:
    """A line through the costs, crosses where the run was not stable."""
    y = [cost.seconds for cost in costs]
    label = costs[0].case.method if name.startswith("(b)") else None
    axis.plot(x, y, color=color, linewidth=1.2, label=label)
    for mark, stable in (("o", True), ("x", False)):
        own = [k for k, cost in enumerate(costs) if cost.stable == stable]
        axis.plot([x[k] for k in own], [y[k] for k in own], mark, color=color, markersize=4.5)


FIG6: Figure[Study] = Figure(
    "fig6",
    "cost of ten seconds against step, contact points and friction",
    lambda study: [],
    _make,
    timed=lambda study: study.rounds(_specs(study)),
)
