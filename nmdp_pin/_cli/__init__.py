"""The command line: `nmdp-pin run`, `view`, `plot`, `compare`, `paper` and more.

Mistakes become a message and an exit code.
"""

import importlib
import sys
import warnings
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from nmdp_pin._cli.terminal import STOPPED, WRONG_INPUT, note
from nmdp_pin._registry import entry_points
from nmdp_pin.errors import NmdpError, RobotWarning
from nmdp_pin_command import ended_at_once

COMMANDS = {
    "run": ("run", "Simulate a scenario."),
    "repeat": ("recordings", "Repeat the failed step of a run, and compare both outcomes."),
    "recover": (
        "recordings",
        "Turn the journal of a killed run into a recording, and remove the journal.",
    ),
    "export": ("recordings", "Write the rows of a recording as a table of text."),
    "sweep": (
        "sweep",
        "Run a scenario at every point of a grid, write a table of the results and print it.",
    ),
    "view": ("view", "Replay a recording with pause, speed and scrubbing."),
    "plot": (
        "recordings",
        "Plot base, joints, torques, objects, sensors, forces, energy and solver work.",
    ),
    "compare": (
        "recordings",
        "Compare runs of one robot: motion and solver work; the first run is the reference.",
    ),
    "compile": ("compile", "Compile all kernels before they are used, on all cores."),
    "robots": ("robots", "List the names of robots."),
    "scenarios": ("robots", "List the bundled scenarios."),
    "check": (
        "robots",
        "Report on a robot: mass, joints, contact points, unphysical inertias, missing meshes.",
    ),
}
"""Module of each command, which is imported when the command is given, and its summary."""

_STYLE: dict[str, Any] = {
    "rich_markup_mode": "markdown",  # paragraphs of docstrings are filled
    "pretty_exceptions_enable": False,  # an unexpected error is a bug: keep its plain traceback
}


class _Commands(TyperGroup):
    """Commands that Ctrl-C ends with one line, where they have not more to say."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, _imported(name) if name in COMMANDS else command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            note("stopped")
            raise typer.Exit(STOPPED) from None


def _imported(name: str) -> Any:
    """The command of a name."""
    with ended_at_once():
        module = importlib.import_module(f"nmdp_pin._cli.{COMMANDS[name][0]}")
    alone = typer.Typer(add_completion=False, **_STYLE)
    alone.command(name)(getattr(module, name))
    return typer.main.get_command(alone)


app = typer.Typer(name="nmdp-pin", cls=_Commands, no_args_is_help=True, **_STYLE)


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


for _name, (_, _summary) in COMMANDS.items():
    app.command(_name, help=_summary)(lambda: None)  # an entry of the list; see `resolve_command`
# The evaluations of the papers stand outside the core, which does not know them.
for _entry in entry_points("nmdp_pin.commands"):
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
