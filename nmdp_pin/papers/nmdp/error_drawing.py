"""Errors over the step and over computing time, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmdp_pin.papers.nmdp.run_error import Competitor, RunError
from nmdp_pin.viz.style import COLORS, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 1e-7  # [m]; an error below it is drawn there, logarithms have no zero


def draw_errors(
    path: Path, title: str, peak: str, errors: Sequence[RunError], doubt: RunError
) -> None:
    """Two measures, each over the step and over the wall time of a simulated second.

    A colour an objective, a line style an order, a marker a method.

    Args:
        path: the PNG to write.
        title: above all.
        peak: name of the single figure that is compared.
        errors: errors of all runs.
        doubt: how far the reference itself is from its limit.
    """
    figure = new_figure(9.6, 7.0)
    axes = figure.subplots(2, 2, sharex="col", sharey="row")
    competitors = list(dict.fromkeys(error.who for error in errors))
    looks = _looks(competitors)
    for who in competitors:
        own = sorted((e for e in errors if e.who == who), key=lambda error: error.dt)
        own = [error for error in own if error.mean_error == error.mean_error]
        steps, walls = [1e3 * e.dt for e in own], [e.wall for e in own]
        for row, measure in enumerate(("peak_error", "mean_error")):
            y = [max(getattr(error, measure), _LEAST) for error in own]
            axes[row, 0].plot(steps, y, label=who.label if row == 0 else None, **looks[who])
            axes[row, 1].plot(walls, y, **looks[who])
    for row, level in enumerate((doubt.peak_error, doubt.mean_error)):
        for axis in axes[row]:
            axis.axhline(max(level, _LEAST), color="0.4", linewidth=1.0, linestyle=":", zorder=1)
        _say(axes[row, 0], f"change of the reference from {1e3 * doubt.dt:g} ms on", level)
    for row, measure in enumerate(("peak_error", "mean_error")):
        levels = [getattr(error, measure) for error in (*errors, doubt)]
        levels = [max(level, _LEAST) for level in levels if level == level]
        for axis in axes[row]:
            axis.set_yscale("log")
            axis.set_xscale("log")
            axis.set_ylim(min(levels, default=1.0) / 1.5, max(levels, default=1.0) * 1.5)
    axes[0, 0].set_ylabel(f"error of the {peak} [m]")
    axes[1, 0].set_ylabel("mean difference over time [m]")
    axes[1, 0].set_xlabel("Δt [ms]")
    axes[1, 1].set_xlabel("computing time of a simulated second [s]")
    _limit(axes[1, 0], [1e3 * error.dt for error in errors])
    _limit(axes[1, 1], [error.wall for error in errors])
    _plain_ticks(axes[1, 0], sorted({1e3 * error.dt for error in errors}))
    figure.suptitle(title, fontsize=10, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8, handlelength=3.5)
    save_figure(figure, path)


def _looks(competitors: Sequence[Competitor]) -> dict[Competitor, dict[str, object]]:
    """Colour, line and marker of each curve."""
    objectives = list(dict.fromkeys(who.objective for who in competitors))
    methods = list(dict.fromkeys(who.method for who in competitors))
    return {
        who: {
            "color": COLORS[objectives.index(who.objective) % len(COLORS)],
            "linestyle": "--" if who.order > 1 else "-",
            "marker": "osxv^"[methods.index(who.method) % 5],
            "markersize": 4.5,
            "linewidth": 1.2,
        }
        for who in competitors
    }


def _say(axis: Axes, text: str, level: float) -> None:
    """Words on a horizontal line, at its right end, where no curve is that low."""
    axis.annotate(
        text,
        (0.99, max(level, _LEAST)),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=7,
        color="0.3",
        bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.5},
    )


def _limit(axis: Axes, values: Sequence[float]) -> None:
    if values:
        axis.set_xlim(min(values) / 1.2, max(values) * 1.2)


def _plain_ticks(axis: Axes, values: Sequence[float]) -> None:
    """The steps themselves instead of powers of ten."""
    axis.set_xticks(values, [f"{value:g}" for value in values])
    axis.set_xticks([], minor=True)
