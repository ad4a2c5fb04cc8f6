"""`nmdp-pin sweep`: a table of runs of a scenario over a grid."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from nmdp_pin._cli.terminal import TABLES, Overrides, Quiet, check_outputs, note, stoppable
from nmdp_pin._parallel.ray_cluster import ray_cluster
from nmdp_pin._sweep import GridAxis, Sweep


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
    quiet: Quiet = False,
) -> None:
    """Run a scenario at every point of a grid and write a table of the results.

    A sweep that was stopped or killed goes on where it was when the same command is given again.
    Exit codes: 0 done (runs that failed are rows too), 2 wrong input, 130 stopped with Ctrl-C.
    """
    out = out or Path(f"{Path(scenario).stem}-sweep.parquet")
    check_outputs((out, TABLES), force=True)  # a table of the same sweep is completed
    planned = Sweep(scenario, [GridAxis.parse(text) for text in grid], overrides=overrides or ())
    if not quiet:
        note(f"{len(planned.points)} runs of {scenario}")
    on_ray = nullcontext() if ray is None else ray_cluster(ray, n_jobs=workers or -1)
    with stoppable(f"{out}.runs"), on_ray:
        outcome = planned.run(out, n_jobs=workers, progress=not quiet)
    if not quiet:
        print(f"{outcome.runs} runs, {outcome.kept} kept from before, {outcome.failed} failed")
        print(f"wrote {out}")
