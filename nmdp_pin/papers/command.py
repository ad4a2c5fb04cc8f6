"""`nmdp-pin paper`: figures and tables of the papers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from nmdp_pin._cli.terminal import PLOTS, check_extras, stoppable
from nmdp_pin_command import ended_at_once

if TYPE_CHECKING:
    from nmdp_pin.papers.figure import Figure, S

app = typer.Typer(help="Reproduce figures and tables of a paper.", no_args_is_help=True)

_WIDTH = 220  # [characters] a table that is cut to a narrow window loses its figures

Folder = Annotated[Path, typer.Option(help="Folder of the pictures and data.")]
Runs = Annotated[Path | None, typer.Option(help="Folder of the recordings; default: OUT/runs.")]
Workers = Annotated[int | None, typer.Option(help="Number of processes; default: one a core.")]
Duration = Annotated[float | None, typer.Option(help="Largest simulated time in seconds.")]
Page = Annotated[
    Path | None, typer.Option(help="Page (.md) between whose markers the results are written.")
]


@app.callback()
def paper() -> None:
    """Reproduce figures and tables of a paper."""


@app.command("nmdp")
def nmdp(
    figure: Annotated[
        str, typer.Argument(help="fig2, fig3, fig4, fig5, fig6, table1, error or all.")
    ] = "all",
    out: Folder = Path("out/paper-nmdp"),
    runs: Runs = None,
    workers: Workers = None,
    preset: Annotated[
        str,
        typer.Option(
            help='Settings: "paper" (its authors\'), "recommended" (ours) or "paper-contact" (ours '
            "with the authors' contact)."
        ),
    ] = "paper",
    objective: Annotated[str, typer.Option(help="Objective in place of that of the preset.")] = "",
    order: Annotated[int, typer.Option(min=0, help="Order in place of that of the preset.")] = 0,
    variant: Annotated[
        str, typer.Option(help='Inertias of Robosimian: "listed" (the paper\'s) or "com".')
    ] = "listed",
    base: Annotated[str, typer.Option(help='"planar" (the paper\'s) or "free-flyer".')] = "planar",
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method to compare, repeatable; default: the five of the paper."),
    ] = None,
    span: Annotated[
        str,
        typer.Option(
            help='Steps: "published" (1 to 5 ms of ne-mdp, 30 to 50 ms of the others) or "wide" '
            "(1 to 14 ms, 5 to 50 ms)."
        ),
    ] = "published",
    dt: Annotated[
        list[float] | None,
        typer.Option(help="Step in seconds, repeatable; default: those of --span."),
    ] = None,
    duration: Duration = None,
    page: Page = None,
) -> None:
    """Evaluate the NMDP paper: figures, Table I, and errors against a reference.

    Runs that are kept from before are not made again. Exit codes: 0 done, also where runs failed
    numerically (they are listed: that is a result), 2 wrong input, 130 stopped with Ctrl-C.
    """
    with ended_at_once():
        from nmdp_pin.papers.nmdp import FIGURES, NmdpStudy, preset_named

    study = NmdpStudy(
        preset=preset_named(preset),
        objective=objective,
        order=order,
        variant=variant,
        base=base,
        methods=tuple(method) if method else NmdpStudy.methods,
        span=span,
        steps=tuple(sorted(set(dt or ()))),
        duration=duration,
    )
    _paper(figure, FIGURES, study, out, runs, workers, page)


@app.command("pbad")
def pbad(
    figure: Annotated[str, typer.Argument(help="fig4, fig5, fig6, table1, batch or all.")] = "all",
    out: Folder = Path("out/paper-pbad"),
    runs: Runs = None,
    workers: Workers = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Number of timed repetitions; the median counts.")
    ] = 3,
    duration: Duration = None,
    page: Page = None,
) -> None:
    """Evaluate the PBAD paper: PBD, PBFD and their optimisers.

    Runs that are kept from before are not made again. Those whose computing times are compared are
    made last, one after the other in one process. Exit codes as of `paper nmdp`.
    """
    with ended_at_once():
        from nmdp_pin.papers.pbad import FIGURES, PbadStudy

    folder = (runs or out / "runs").parent  # generated chains do not belong among the pictures
    study = PbadStudy(repeats=repeats, duration=duration, folder=folder)
    _paper(figure, FIGURES, study, out, runs, workers, page)


@app.command("sand")
def sand(
    figure: Annotated[str, typer.Argument(help="calibration, walk, modes or all.")] = "all",
    out: Folder = Path("out/paper-sand"),
    runs: Runs = None,
    workers: Workers = None,
    dt: Annotated[
        list[float] | None, typer.Option(help="Step in seconds, repeatable; default: 5 to 50 ms.")
    ] = None,
    duration: Duration = None,
    page: Page = None,
) -> None:
    """Evaluate granular contact: walking on sand and rock, a foot that sticks and slides.

    Runs that are kept from before are not made again. Exit codes as of `paper nmdp`.
    """
    with ended_at_once():
        from nmdp_pin.papers.sand import FIGURES, SandStudy

    steps = tuple(sorted(set(dt))) if dt else SandStudy.steps
    study = SandStudy(steps=steps, duration=duration)
    _paper(figure, FIGURES, study, out, runs, workers, page)


def _paper(
    figure: str,
    known: Mapping[str, Figure[S]],
    study: S,
    out: Path,
    runs: Path | None,
    workers: int | None,
    page: Path | None,
) -> None:
    """Evaluate one figure or all of them, and report."""
    from nmdp_pin.papers.campaign import Campaign
    from nmdp_pin.papers.evaluation import evaluate, figures_named
    from nmdp_pin.papers.figure import marker
    from nmdp_pin.papers.page import check_page, update_page

    check_extras(PLOTS)
    figures = figures_named(figure, known)
    if page is not None:
        check_page(page, [marker(one.name, study) for one in figures])
    campaign = Campaign(runs or out / "runs", workers=workers)
    with stoppable(campaign.folder):
        products, failed = evaluate(study, figures, campaign, out)
    if page is not None:
        parts = {marker(n, study): p.markdown(page, study.command(n)) for n, p in products.items()}
        update_page(page, parts)
    console = Console(width=_WIDTH)
    for product in products.values():
        for table in (*product.tables, *product.aside):
            console.print(table.rich())
            console.print(*table.notes, "", sep="\n", highlight=False)
        print("\n".join(f"wrote {path}" for path in (*product.pictures, *product.data)))
    if page is not None:
        print(f"wrote {page}")
    for run in failed:
        print(f"failed after {run.end:.3g} s: {run.spec.name}: {run.failure}", file=sys.stderr)
