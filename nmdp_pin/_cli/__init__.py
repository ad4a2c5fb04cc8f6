"""The command line: `nmdp-pin run`, `view`, `plot`, `compare`, `paper` and more.

Mistakes become a message and an exit code.
"""

import sys
import warnings
from importlib import metadata
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from nmdp_pin._cli.recordings import compare, export, plot, recover, repeat
from nmdp_pin._cli.run import RunCommand
from nmdp_pin._cli.sweep import sweep
from nmdp_pin._cli.terminal import STOPPED, WRONG_INPUT, note, printable
from nmdp_pin._cli.view import view
from nmdp_pin._robot import Base, bundled_robots, example_robots
from nmdp_pin._robot.check import check_robot
from nmdp_pin._scenario import bundled_scenarios
from nmdp_pin.errors import NmdpError, RobotWarning


class _Commands(TyperGroup):
    """Commands that Ctrl-C ends with one line, where they have not more to say."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            note("stopped")
            raise typer.Exit(STOPPED) from None


app = typer.Typer(
    name="nmdp-pin",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",  # paragraphs of docstrings are filled
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


def robots() -> None:
    """List the names of robots."""
    console = Console()
    console.print(f"Bundled: {', '.join(bundled_robots())}", highlight=False)
    console.print(f"From example-robot-data: {', '.join(example_robots())}", highlight=False)
    console.print("Any URDF or MJCF file can be given by its path.")


def scenarios() -> None:
    """List the bundled scenarios."""
    table = Table(box=None, pad_edge=False)
    table.add_column("scenario", no_wrap=True)
    table.add_column("what it shows")
    for name, summary in bundled_scenarios().items():
        table.add_row(name, summary)
    Console().print(table)


def check(
    robot: Annotated[str, typer.Argument(help="Name or file of a robot.")],
    base: Annotated[
        Base | None, typer.Option(help="How the root link is held: free-flyer, planar or fixed.")
    ] = None,
    package_dir: Annotated[
        list[Path] | None, typer.Option(help="Folder that is searched for package://.")
    ] = None,
) -> None:
    """Report on a robot: mass, joints, contact points, unphysical inertias, missing meshes."""
    report = check_robot(robot, base=base, package_dirs=package_dir or ())
    if not report.file:
        note(f"error: {report.errors[0]}")
    else:
        print(printable(report))
    if not report.ok:
        raise typer.Exit(WRONG_INPUT)


def run(**options: Any) -> None:
    """Run the command whose options these are."""
    RunCommand(**options)()


# Typer reads options from a signature.
run.__signature__, run.__doc__ = signature(RunCommand), RunCommand.__doc__  # type: ignore[attr-defined]
for _command in (
    *(run, repeat, recover, export, sweep, view, plot, compare),
    *(robots, scenarios, check),
):
    app.command(_command.__name__)(_command)
# The evaluations of the papers stand outside the core, which does not know them.
for _entry in metadata.entry_points(group="nmdp_pin.commands"):
    app.add_typer(_entry.load(), name=_entry.name)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit codes: 0 done, 1 the simulation failed, 2 wrong input."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RobotWarning)  # `run` and `check` tell them themselves
            app(arguments)
    except NmdpError as error:
        note(f"error: {error}")
        sys.exit(WRONG_INPUT)
