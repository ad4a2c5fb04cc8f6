"""`nmdp-pin sweep`: a table of runs of a scenario over a grid."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nmdp_pin._cli.terminal import (
    TABLES,
    WIDTH,
    Overrides,
    Quiet,
    check_outputs,
    note,
    printable,
    stoppable,
)
from nmdp_pin._cli.view import live_viewer, replay_live
from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._parallel.ray_cluster import ray_cluster
from nmdp_pin._runs.run import Observer
from nmdp_pin._runs.run_store import PlannedRun
from nmdp_pin._scenario import Scenario, Setup
from nmdp_pin._sweep import GridAxis, Sweep, SweepOutcome
from nmdp_pin.errors import SweepError

if TYPE_CHECKING:
    from nmdp_pin.viz.viewer import Viewer

_MOST_ROWS = 50  # that are printed
_COLUMNS = {  # title: column of the table, factor, digits
    "t [s]": ("t", 1.0, ".4g"),
    "rise [m]": ("height_gain", 1.0, ".4f"),
    "distance [m]": ("distance", 1.0, ".4f"),
    "tilt [°]": ("tilt", 1.0, ".2f"),
    "depth [mm]": ("max_penetration", 1e3, ".3g"),
    "iterations": ("iterations", 1, "d"),
    "halvings": ("halvings", 1, "d"),
    "time [s]": ("wall_time", 1.0, ".3g"),
}


def sweep(
    scenario: Annotated[str, typer.Argument(help="Bundled scenario or .toml file.")],
    grid: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUES", help="V1,V2,... or FIRST:LAST:COUNT[:log]; repeatable."),
    ],
    overrides: Overrides = None,
    out: Annotated[
        Path | None, typer.Option(help="Table (.parquet); default: SCENARIO-sweep.parquet.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of parallel runs; default: 1, or all cores with --ray."),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Address of a Ray cluster; 'local' starts Ray here."),
    ] = None,
    view: Annotated[
        bool, typer.Option("--view", help="Show the runs in meshcat, one after another.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario at every point of a grid, write a table of the results and print it.

    A sweep that was stopped or killed goes on where it was when the same command is given again.
    Exit codes: 0 done (runs that failed are rows too), 2 wrong input, 130 stopped with Ctrl-C.
    """
    out = out or Path(f"{Path(scenario).stem}-sweep.parquet")
    check_outputs((out, TABLES), force=True)  # a table of the same sweep is completed
    planned = Sweep(scenario, [GridAxis.parse(text) for text in grid], overrides=overrides or ())
    if not quiet:
        note(f"{len(planned.points)} runs of {scenario}")
    if view and (ray is not None or (workers or 1) > 1):
        raise SweepError("--view shows one run after another: leave --workers and --ray out")
    with stoppable(f"{out}.runs"), ExitStack() as stack:
        if ray is not None:
            stack.enter_context(ray_cluster(ray, n_jobs=workers or -1))
        window = stack.enter_context(_Window()) if view else None
        bar = not quiet and not view
        outcome = planned.run(out, n_jobs=workers, progress=bar, watch=window)
        if not quiet:
            _print(outcome, [axis.key for axis in planned.axes])
            print(f"wrote {out}")
        if window is not None:
            window.replay()


class _Window(ExitStack):
    """Window of meshcat in which the runs of a sweep are drawn, one after another."""

    def __init__(self) -> None:
        super().__init__()
        self._viewers: list[Viewer] = []

    def __call__(self, planned: PlannedRun, setup: Setup) -> Observer:
        """Observer that draws a run."""
        note(planned.name)
        scenario, window = Scenario.from_dict(planned.scenario), next(iter(self._viewers), None)
        viewer = self.enter_context(live_viewer(scenario, setup, window=window))
        self._viewers.append(viewer)

        def draw(result: StepResult) -> None:
            if result.status.ok:
                viewer.draw(result.state.t, result.state.q, result.contact_forces)

        return draw

    def replay(self) -> None:
        """Replay the last run."""
        if self._viewers:
            replay_live(self._viewers[-1], self._viewers[0])


def _print(outcome: SweepOutcome, keys: list[str]) -> None:
    """Print the first rows of a table: the values of the grid and what is most asked for."""
    titles = [*keys, "status", *_COLUMNS]
    table = Table(*(escape(printable(title)) for title in titles), box=None, pad_edge=False)
    for row in outcome.rows[:_MOST_ROWS]:
        values = [str(row[key]) for key in [*keys, "status"]]
        values += [format(factor * row[name], form) for name, factor, form in _COLUMNS.values()]
        table.add_row(*(escape(printable(value)) for value in values))
    Console(width=WIDTH).print(table)
    print(f"{outcome.runs} runs, {outcome.kept} kept from before, {outcome.failed} failed")
