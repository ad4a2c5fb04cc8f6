"""`nmdp-pin compare`: figures of several recordings, and one plot of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nmdp_pin.cli.outputs import PLOTS, Force, check_outputs
from nmdp_pin.recording import Recording

_WIDTH = 200  # [characters] a table that is cut to a narrow window loses its figures
_COLUMNS = {
    "dt [ms]": lambda f: f"{1e3 * f.dt:.4g}",
    "duration [s]": lambda f: f"{f.duration:.4g}",
    "height gain [m]": lambda f: f"{f.height_gain:.4f}",
    "distance [m]": lambda f: f"{f.distance:.4f}",
    "mean tilt [°]": lambda f: f"{f.mean_tilt:.3f}",
    "iterations": lambda f: f"{f.mean_iterations:.1f}",
    "halvings": lambda f: str(f.halvings),
    "failed": lambda f: str(f.failed),
    "x real time": lambda f: f"{f.real_time_factor:.1f}",
    "height off first [m]": lambda f: f"{f.height_difference:.4f}",
}


def compare(
    recordings: Annotated[list[Path], typer.Argument(help="Recordings (.npz).")],
    out: Annotated[Path | None, typer.Option(help="Draw them over each other (.png).")] = None,
    force: Force = False,
) -> None:
    """Compare runs: height, distance, tilt, work of the solver; the first one is the reference."""
    check_outputs((out, PLOTS), force=force)
    from nmdp_pin.runs.run_figures import compare_table

    loaded = [Recording.load(path) for path in recordings]
    labels = _labels(recordings)
    table = Table("recording", *map(escape, _COLUMNS), box=None, pad_edge=False)
    for label, figures in zip(labels, compare_table(loaded), strict=True):
        table.add_row(label, *(column(figures) for column in _COLUMNS.values()))
    Console(width=_WIDTH).print(table)
    if out is not None:
        from nmdp_pin.viz.plots import plot_comparison

        plot_comparison(loaded, labels, out)
        print(f"wrote {out}")


def _labels(paths: list[Path]) -> list[str]:
    """File names, or whole paths where two names are the same."""
    stems = [path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
