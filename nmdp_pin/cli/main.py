"""Entry point of the command line: mistakes become a message and an exit code."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Annotated

import typer

from nmdp_pin.cli import (
    compare,
    listings,
    plot,
    recover,
    repeat,
    run,
    sweep,
    view,
)
from nmdp_pin.cli.printable import printable
from nmdp_pin.errors import NmdpError

WRONG_INPUT = 2

app = typer.Typer(
    name="nmdp-pin",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # an unexpected error is a bug: keep its plain traceback
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"nmdp-pin {metadata.version('nmdp-pin')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """A robotics simulator on Pinocchio whose time steps are optimisation problems."""


app.command("run")(run.run)
app.command("repeat")(repeat.repeat)
app.command("recover")(recover.recover)
app.command("sweep")(sweep.sweep)
app.command("view")(view.view)
app.command("plot")(plot.plot)
app.command("compare")(compare.compare)
app.command("robots")(listings.robots)
app.command("scenarios")(listings.scenarios)
app.command("check")(listings.check)
# The evaluations of the papers stand outside the core, which does not know them.
for _command in metadata.entry_points(group="nmdp_pin.commands"):
    app.add_typer(_command.load(), name=_command.name)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit codes: 0 done, 1 the simulation failed, 2 wrong input.

    Args:
        arguments: words after the name of the program; None: those of the process.
    """
    try:
        app(arguments)
    except NmdpError as error:
        print(f"error: {printable(error)}", file=sys.stderr)
        sys.exit(WRONG_INPUT)
