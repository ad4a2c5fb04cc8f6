"""`nmdp-pin contact-table`: make, check and show the table of a granular contact."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from nmdp_pin.cli.outputs import Force, check_outputs
from nmdp_pin.contact.granular import Granular, Intruder, Plate, Rod, Sphere
from nmdp_pin.contact.granular.accuracy import accuracy
from nmdp_pin.contact.granular.table import WrenchTable
from nmdp_pin.errors import ContactError
from nmdp_pin.files.array_cache import cache_folder
from nmdp_pin.files.text_table import Table, number, write_csv

DATA = (".csv",)
_TILTS = ((0.0, 30.0), (30.0, 60.0), (60.0, 80.0))  # [deg]
_ROWS = 10  # depths in the table that is printed
_ROWS_OF_FILE = 50
_TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
_WRENCH = ("fx [N]", "fy [N]", "fz [N]", "mx [N m]", "my [N m]", "mz [N m]")
_WIDTH = 160  # [characters]


def contact_table(
    intruder: Annotated[str, typer.Option(help="rod, sphere or plate.")] = "rod",
    radius: Annotated[float, typer.Option(help="Radius [m].")] = 0.0267,
    length: Annotated[
        float | None, typer.Option(help="Length of a rod [m]; default: 0.15.")
    ] = None,
    medium: Annotated[
        str, typer.Option(help="generic, poppy-seeds-loose or poppy-seeds-close.")
    ] = "generic",
    scale: Annotated[float, typer.Option(help="Factor of all stresses.")] = 1.0,
    azimuths: Annotated[int, typer.Option(help="Number of horizontal directions, even.")] = 6,
    tilt: Annotated[
        float, typer.Option(help="Tilt of the foot in the table of forces [deg].")
    ] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Write all vertices over depth as CSV.")] = None,
    force: Force = False,
) -> None:
    """Make the table of a foot in sand, compare it with the integration, and show it.

    Tables are kept in the user's cache folder; a simulation that needs one that is not there makes
    it by itself.
    """
    check_outputs((out, DATA), force=force)
    begin = time.perf_counter()
    foot = _intruder(intruder, radius, length)
    table = Granular(intruder=foot, medium=medium, scale=scale, azimuths=azimuths).table
    took = time.perf_counter() - begin
    print(f"{foot}, {medium}: {len(table.twists)} vertices, to {table.deepest:g} m; {took:.2f} s")
    print(f"kept in {cache_folder()}")
    console = Console(width=_WIDTH)
    console.print(_errors(table).rich())
    console.print(_forces(table, scale, tilt).rich())
    if out is not None:
        print(f"wrote {_write(out, table, scale, tilt)}")


def _errors(table: WrenchTable) -> Table:
    rows = []
    for low, high in _TILTS if table.intruder.tilts else _TILTS[:1]:
        found = accuracy(table, tilts=(np.deg2rad(low), np.deg2rad(high)))
        errors = [*(f"{100 * e:.2f}" for e in found.force)]
        errors += [f"{1e3 * e:.2f}" for e in found.moment]
        rows.append((f"{low:g} to {high:g}", *errors, *(number(d) for d in found.dissipation)))
    return Table(
        "Errors at 100 random poses, and work of the polytope over that of the integration",
        (
            *("tilt [deg]", "force: median [%]", "95 % [%]", "lever: median [mm]"),
            *("95 % [mm]", "work: 5 %", "median", "95 %"),
        ),
        tuple(rows),
    )


def _forces(table: WrenchTable, scale: float, tilt: float) -> Table:
    depths = np.linspace(0.0, table.intruder.size, _ROWS + 1)[1:]
    # The first three motions are down, up and along x.
    down, _, level = scale * _vertices(table, depths, tilt).transpose(2, 0, 1)[:3]
    cells = zip(depths, down[:, 2], level[:, 0], level[:, 2], strict=True)
    return Table(
        f"Forces at a tilt of {tilt:g} deg",
        ("depth [mm]", "pressed down: up [N]", "moved along x: drag [N]", "lift [N]"),
        tuple((number(1e3 * d, 1), number(u), number(-x), number(z)) for d, u, x, z in cells),
    )


def _write(path: Path, table: WrenchTable, scale: float, tilt: float) -> Path:
    """Write all vertices at all depths, with the motions that they resist."""
    depths = np.linspace(0.0, table.intruder.size, _ROWS_OF_FILE + 1)
    V = scale * _vertices(table, depths, tilt)
    names = ("depth [m]", "vertex", *_TWIST, *_WRENCH)
    lines = [
        [float(d), str(j), *table.twists[j].tolist(), *V[i, :, j].tolist()]
        for i, d in enumerate(depths)
        for j in range(len(table.twists))
    ]
    return write_csv(path, names, lines)


def _vertices(table: WrenchTable, depths: np.ndarray, tilt: float) -> np.ndarray:
    """V over depth at a tilt [deg] about y, shape (n, 6, m)."""
    angle = np.deg2rad(tilt)
    axis = np.array([np.sin(angle), 0.0, np.cos(angle)])
    V: np.ndarray = table.vertices(depths, np.repeat(axis[None], len(depths), axis=0))
    return V


def _intruder(name: str, radius: float, length: float | None) -> Intruder:
    if name == "rod":
        return Rod(radius=radius, length=0.15 if length is None else length)
    if length is not None:
        raise ContactError(f"only a rod has a length; leave out --length for a {name}")
    if name in ("sphere", "plate"):
        return Sphere(radius=radius) if name == "sphere" else Plate(radius=radius)
    raise ContactError(f"intruder '{name}' is not known; choose from rod, sphere, plate")
