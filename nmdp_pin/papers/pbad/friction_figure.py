"""Fig. 5: how far a box slides against the parameter of its friction, at growing steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nmdp_pin._contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin._contact.penalty import friction_coefficient_for
from nmdp_pin.papers.data_file import read_data, value, write_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.pbad.paper import BASELINE
from nmdp_pin.papers.pbad.study import PbadStudy
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.table import Table, number
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = (BASELINE, "pbd", "pbfd", "ne-nmdp")
"""Dry friction, the paper's two methods, and the contact of the NMDP paper."""

STEPS = (0.005, 0.01, 0.025, 0.05, 0.1)
"""Steps [s]."""

FRICTIONS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0)
"""Coefficients mu of dry friction; for PBD and PBFD the C_par that the lookup gives for them."""

SPEED = 1.0
"""At which the box is sent [m/s]."""

# 1 kg on four corners at 1 mm, the depth from which the scenario starts. [N/m^2]
NORMAL_STIFFNESS = 9.81 / (4 * 0.001**2)
_DURATION = 10.0  # [s]; PBFD with the smallest friction loses all but 6e-5 of its speed
_AT_REST = 0.01  # of the first speed; a box that is faster at the end is still on its way
_ROCKING = 0.01  # [m] that the centre of a box may move which stops at once and rocks
_LEAST = 0.001  # [m]; a box that stops at once is left out of the picture, logarithms have no zero


@dataclass(frozen=True)
class _Slide:
    """Distance that a box slid.

    Args:
        distance: distance [m]; NaN where the run failed.
        stopped: False where it still slides at the end.
    """

    distance: float
    stopped: bool


Slides = dict[tuple[str, float, float], _Slide]


def closed_form(mu: float) -> float:
    """Stopping distance of dry friction [m]."""
    return SPEED**2 / (2.0 * mu * STANDARD_GRAVITY)


def friction_stiffness(mu: float, dt: float) -> float:
    """C_par of the lookup."""
    return friction_coefficient_for(mu, dt, normal_stiffness=NORMAL_STIFFNESS, speed=SPEED)


def _spec(study: PbadStudy, method: str, mu: float, dt: float) -> RunSpec:
    if method in ("pbd", "pbfd"):
        settings = [
            f"contact.normal_stiffness={NORMAL_STIFFNESS!r}",
            f"contact.friction_stiffness={friction_stiffness(mu, dt)!r}",
        ]
    else:
        settings = [f"terrain.shapes.0.friction={mu!r}"]
        settings += ["contact.recovery=0"] * (method != BASELINE)
    if method == BASELINE:  # rigid: it starts on the ground, not in it
        settings.append("robot.initial.position=[0.0, 0.0, 0.1]")
    return RunSpec(
        scenario="sliding-box-planar",
        method=method,
        dt=dt,
        duration=study.length(_DURATION),
        preset=f"mu{mu:g}",
        overrides=tuple(settings),
    )


def _cases() -> list[tuple[str, float, float]]:
    return [(method, mu, dt) for method in METHODS for dt in STEPS for mu in FRICTIONS]


def _specs(study: PbadStudy) -> list[RunSpec]:
    return [_spec(study, *case) for case in _cases()]


def _slide(runs: Runs, spec: RunSpec) -> _Slide:
    run = runs[spec]
    if run.failure:
        return _Slide(float("nan"), False)
    recording = run.recording()
    x = recording.base_position[:, 0]
    return _Slide(float(x[-1] - x[0]), bool(abs(recording.v[-1, 0]) < _AT_REST * SPEED))


def _make(study: PbadStudy, runs: Runs, folder: Path) -> Product:
    slides = {case: _slide(runs, _spec(study, *case)) for case in _cases()}
    picture = folder / "pbad-fig5.png"
    _draw(picture, slides)
    shows = "Stopping distance against friction, at growing steps"
    data = _write(folder / "pbad-fig5.csv", slides)
    return Product({picture: shows}, (data,), aside=(_table(slides),))


def turning_point(slides: Slides, method: str, dt: float) -> float:
    """The mu of the shortest distance; NaN where a larger mu never takes the box farther."""
    distances = np.array([slides[method, mu, dt].distance for mu in FRICTIONS])
    if not np.isfinite(distances).any():
        return float("nan")
    shortest = int(np.nanargmin(distances))
    rise = np.nanmax(distances[shortest:]) - distances[shortest]
    return FRICTIONS[shortest] if rise > _ROCKING else float("nan")


def _table(slides: Slides) -> Table:
    """Distances of all methods over mu at each step, and where they turn up."""
    columns = ("method", "Δt [ms]", *(f"µ = {mu:g}" for mu in FRICTIONS), "turns up past µ =")
    exact = tuple(number(closed_form(mu), 3) for mu in FRICTIONS)
    rows = [("v²/(2µg)", "", *exact, "")]
    for method in METHODS:
        for dt in STEPS:
            own = [slides[method, mu, dt] for mu in FRICTIONS]
            cells = [number(s.distance, 3) + "→" * (not s.stopped) for s in own]
            turn = turning_point(slides, method, dt)
            rows.append((method, f"{1e3 * dt:g}", *cells, "never" if turn != turn else f"{turn:g}"))
    notes = (
        "For `pbd` and `pbfd` µ stands for the C∥ that `friction_coefficient_for` gives at 1 m/s. "
        f"→: still sliding after {_DURATION:g} s, faster than {_AT_REST:g} of the first speed.",
    )
    return Table("Distance of a box sent at 1 m/s [m]", columns, tuple(rows), notes)


def _tables(study: PbadStudy, folder: Path) -> tuple[Table, ...]:
    """Largest error of the look-up against the closed form."""
    worst: dict[str, tuple[float, str]] = {}
    mus = []
    for row in read_data(folder / "pbad-fig5.csv"):
        if row["method"] != "pbfd":
            continue
        error = value(row, "distance [m]") / value(row, "closed form [m]") - 1.0
        before, _ = worst.setdefault(row["dt [s]"], (0.0, row["mu"]))
        mus.append(row["mu"])
        if not abs(error) <= abs(before):
            worst[row["dt [s]"]] = error, row["mu"]
    title = "Largest error of `pbfd`'s distance under `friction_coefficient_for`, against v²/(2µg)"
    rows = tuple(
        (f"{1e3 * float(dt):g}", f"{100.0 * error:+.2f}", mu) for dt, (error, mu) in worst.items()
    )
    over = f"over µ = {mus[0]} to {mus[-1]}"
    return (Table(f"{title}, {over}", ("Δt [ms]", "error [%]", "at µ"), rows),)


def _write(path: Path, slides: Slides) -> Path:
    columns = (
        *("method", "dt [s]", "mu", "C_par [N/m^3]", "distance [m]", "stopped"),
        "closed form [m]",
    )
    rows = [
        (
            *(method, dt, mu),
            friction_stiffness(mu, dt) if method in ("pbd", "pbfd") else float("nan"),
            *(slides[method, mu, dt].distance, int(slides[method, mu, dt].stopped)),
            closed_form(mu),
        )
        for method, mu, dt in _cases()
    ]
    return write_data(path, columns, rows)


def _draw(path: Path, slides: Slides) -> None:
    """(a) all methods at 10 ms, (b) to (d) one method each at growing steps."""
    figure = new_figure(11.0, 7.4)
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for axis in axes:
        axis.plot(FRICTIONS, [closed_form(mu) for mu in FRICTIONS], color="0.2", ls=":", lw=1.6)
    for color, method in zip(COLORS, METHODS, strict=False):
        _curve(axes[0], slides, method, STEPS[1], color, method)
    _finish(axes[0], f"(a) all, Δt = {1e3 * STEPS[1]:g} ms")
    for axis, method, letter in zip(axes[1:], ("pbd", "pbfd", BASELINE), "bcd", strict=True):
        for color, dt in zip(COLORS, STEPS, strict=False):
            _curve(axis, slides, method, dt, color, f"Δt = {1e3 * dt:g} ms")
        _finish(axis, f"({letter}) {method}")
    for axis in axes[2:]:
        axis.set_xlabel("µ; for pbd and pbfd C∥ Δt v₀ / C⊥")
    for axis in axes[::2]:
        axis.set_ylabel("distance [m]")
    figure.suptitle(
        "A box sent at 1 m/s; dotted: v₀²/(2µg); open: still sliding at the end",
        fontsize=10,
        fontweight="bold",
    )
    save_figure(figure, path)


def _curve(axis: Axes, slides: Slides, method: str, dt: float, color: str, label: str) -> None:
    own = [slides[method, mu, dt] for mu in FRICTIONS]
    distances = np.array([s.distance if s.distance > _LEAST else np.nan for s in own])
    axis.plot(FRICTIONS, distances, color=color, linewidth=1.2, label=label)
    for k, slide in enumerate(own):
        face = color if slide.stopped else "white"
        axis.plot(FRICTIONS[k], distances[k], "o", color=color, mfc=face, markersize=4.0)


def _finish(axis: Axes, title: str) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.legend(frameon=False, fontsize=8)


FIG5: Figure[PbadStudy] = Figure(
    "fig5", "stopping distance against friction", _specs, _make, tables=_tables
)
