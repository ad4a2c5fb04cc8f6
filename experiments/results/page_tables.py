"""The tables of the pages, each as it follows from its data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nmdp_pin.errors import ExperimentError
from nmdp_pin.experiments import nmdp, pbad, sand
from nmdp_pin.experiments.data_file import read_data, value, write_data
from nmdp_pin.experiments.figure import marker
from nmdp_pin.experiments.nmdp.table1 import wide_table
from nmdp_pin.experiments.page import parts_of, update_page
from nmdp_pin.experiments.results.parts import PARTS, Part
from nmdp_pin.experiments.table import Table

_RULE = re.compile(r"\|[-|: ]+\|")
_WIDE = ("paper", "recommended", "paper-contact")
_LOCOMOTION = "hopper", "walker"


def printed_tables(text: str) -> list[list[tuple[str, ...]]]:
    """Cells of the tables in a markdown text, headings first."""
    found: list[list[tuple[str, ...]]] = []
    inside = False
    for line in map(str.strip, text.splitlines()):
        if not (line.startswith("|") and line.endswith("|")):
            inside = False
        elif not _RULE.fullmatch(line):
            found += [] if inside else [[]]
            found[-1].append(tuple(cell.strip() for cell in line[1:-1].split("|")))
            inside = True
    return found


def keep_tables(part: Part, said: str, folder: Path) -> None:
    """Write the tables that the command of a part printed as data.

    Raises:
        ExperimentError: it printed fewer.
        RecordingError: they cannot be written.
    """
    tables = printed_tables(said)
    for name, place in part.tables.items():
        if not -len(tables) <= place < len(tables):
            raise ExperimentError(f"'{part.words}' printed {len(tables)} tables: none is '{name}'")
        columns, *rows = tables[place]
        write_data(folder / f"{name}.csv", columns, rows)


def tables_of(name: str, folder: Path) -> tuple[Table, ...]:
    """Tables of the part of a page with that name; its data are in the folder.

    Raises:
        ExperimentError: there is no such part, or its data cannot be read.
    """
    for study, figures in (
        *((nmdp.NmdpStudy(preset=preset), nmdp.FIGURES) for preset in nmdp.PRESETS.values()),
        (pbad.PbadStudy(), pbad.FIGURES),
        (sand.SandStudy(), sand.FIGURES),
    ):
        for figure in figures.values():
            if marker(figure.name, study) == name:
                return tuple(figure.tables(study, folder))
    if name in _DERIVED:
        return (_DERIVED[name](folder),)
    if any(name in part.tables for part in PARTS):
        rows = read_data(folder / f"{name}.csv")
        return (Table("", tuple(rows[0]), tuple(tuple(row.values()) for row in rows)),)
    raise ExperimentError(f"no command makes the part '{name}' of a page")


def refresh(pages: list[Path], folder: Path) -> None:
    """Write the tables that programs printed, and those of several data files, on the pages.

    Those of the papers' figures are written with the figures.
    """
    made = {name: part for part in PARTS for name in part.tables}
    for page in pages:
        new = {}
        for name in parts_of(page):
            if name in made and (folder / f"{name}.csv").exists():
                link = Path(os.path.relpath(folder / f"{name}.csv", page.parent)).as_posix()
                words = made[name].words
                below = f"`python {words}`; data: [{name}.csv]({link})."
                new[name] = "\n\n".join([*(t.markdown() for t in tables_of(name, folder)), below])
            elif name in _DERIVED:
                new[name] = "\n\n".join(table.markdown() for table in tables_of(name, folder))
        if new:
            update_page(page, new)


def _locomotion(folder: Path) -> Table:
    """Means and deviations of the policies' returns and ways over all episodes."""
    columns = (
        *("robot", "step", "return in `pbfd`", "return in `ne-ncp`", "distance in `pbfd` [m]"),
        *("distance in `ne-ncp` [m]", "falls in both"),
    )
    rows = []
    for robot in _LOCOMOTION:
        found = [
            row
            for path in sorted(folder.glob(f"locomotion-{robot}-*.csv"))
            for row in read_data(path)
        ]
        for step in dict.fromkeys(row["step"] for row in found):
            own = [
                [row for row in found if (row["step"], row["method"]) == (step, method)]
                for method in ("pbfd", "ne-ncp")
            ]
            cells = [
                f"{np.mean(numbers):.{digits}f} ± {np.std(numbers):.{digits}f}"
                for key, digits in (("return", 0), ("distance", 2))
                for numbers in ([value(row, key) for row in rows_of] for rows_of in own)
            ]
            falls = ", ".join(str(sum(row["fell"] == "1" for row in rows_of)) for rows_of in own)
            trained = ", as trained" if float(step) == 0.02 else ""
            rows.append((robot, f"{1e3 * float(step):g} ms{trained}", *cells, falls))
    return Table("", columns, tuple(rows))


_DERIVED: dict[str, Callable[[Path], Table]] = {
    "table1-wide": lambda folder: wide_table(folder, _WIDE),
    "locomotion": _locomotion,
}
