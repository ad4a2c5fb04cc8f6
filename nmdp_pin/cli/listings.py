"""`nmdp-pin robots`, `scenarios` and `check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from nmdp_pin.cli.printable import printable
from nmdp_pin.robot import Base, bundled_robots, example_robots
from nmdp_pin.robot.check import check_robot
from nmdp_pin.scenario import bundled_scenarios

CANNOT_BE_USED = 2


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
        print(f"error: {printable(report.errors[0])}", file=sys.stderr)
    else:
        print(printable(report))
    if not report.ok:
        raise typer.Exit(CANNOT_BE_USED)
