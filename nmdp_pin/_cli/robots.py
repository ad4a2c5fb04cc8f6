"""Commands on robots and scenarios that there are: `nmdp-pin robots`, `scenarios` and `check`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from nmdp_pin._cli.terminal import WRONG_INPUT, note, printable
from nmdp_pin._robot import Base, bundled_robots, example_robots
from nmdp_pin._robot.check import check_robot
from nmdp_pin._scenario import bundled_scenarios


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
