"""`nmdp-pin repeat`: repeat a failed step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nmdp_pin.cli.printable import printable
from nmdp_pin.runs.failed_step import FailedStep, figures
from nmdp_pin.runs.recorder import versions

FAILED = 1


def repeat(
    dump: Annotated[Path, typer.Argument(help="File of a failed step (.npz).")],
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override of a key, such as integrator.max_evaluations=9000.",
        ),
    ] = None,
) -> None:
    """Repeat the failed step of a run, and compare both outcomes.

    Exit codes: 0 the step converges, 1 it fails, 2 wrong input.
    """
    failed = FailedStep.load(dump)
    result = failed.repeat(overrides=overrides or ())
    print(f"step at t = {failed.state.t:.6g} s of h = {failed.h:.6g} s")
    table = Table("figure", "then", "now")
    now = figures(result)
    for name, value in now.items():
        table.add_row(name, _shown(failed.outcome.get(name)), _shown(value))
    Console().print(table)
    here = versions()
    for package, version in failed.versions.items():
        if here.get(package) != version:
            print(printable(f"made with {package} {version}; here is {here.get(package)}"))
    if not result.status.ok:
        raise typer.Exit(FAILED)


def _shown(value: Any) -> Text:
    """Short text of a value from a file."""
    if isinstance(value, list) and value and all(isinstance(entry, float) for entry in value):
        return Text(f"{len(value)}, shortest {min(value):.3g} s")
    return Text(f"{value:.6g}" if isinstance(value, float) else printable(value))
