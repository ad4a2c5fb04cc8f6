"""The tables of the pages, each as it follows from its data."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers import nmdp, pbad, sand
from nmdp_pin.papers.data_file import link, read_data, value, write_data
from nmdp_pin.papers.figure import marker
from nmdp_pin.papers.nmdp.paper import SPANS
from nmdp_pin.papers.nmdp.table1 import wide_table
from nmdp_pin.papers.page import parts_of, update_page
from nmdp_pin.papers.table import Table
from tools.results.parts import PARTS, Part

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
        *(
            (nmdp.NmdpStudy(preset=preset, order=order, span=span), nmdp.FIGURES)
            for preset in nmdp.PRESETS.values()
            for order in (0, 2)
            for span in SPANS
        ),
        (pbad.PbadStudy(), pbad.FIGURES),
        (sand.SandStudy(), sand.FIGURES),
    ):
        for figure in figures.values():
            if marker(figure.name, study) == name:
                return tuple(figure.tables(study, folder))
    if name in DERIVED:
        return (DERIVED[name].table(folder),)
    if any(name in part.tables for part in PARTS):
        rows = read_data(folder / f"{name}.csv")
        return (Table("", tuple(rows[0]), tuple(tuple(row.values()) for row in rows)),)
    raise ExperimentError(f"no command makes the part '{name}' of a page")


def refresh(pages: list[Path], folder: Path) -> None:
    """Write the tables that programs printed, and those of several data files, on the pages.

    Those of the papers' figures are written with the figures.
    """
    makers = _makers()
    for page in pages:
        new = {}
        for name in parts_of(page):
            derived = DERIVED.get(name)
            sources = derived.sources if derived else (name,) * (name in makers)
            if not (sources or derived) or not all((folder / f"{s}.csv").exists() for s in sources):
                continue
            new[name] = "\n\n".join(
                [*(t.markdown() for t in tables_of(name, folder)), *_below(page, sources, folder)]
            )
        if new:
            update_page(page, new)


def _makers() -> dict[str, Part]:
    """Part that prints each table."""
    return {name: part for part in PARTS for name in part.tables}


def _below(page: Path, sources: tuple[str, ...], folder: Path) -> list[str]:
    """Commands that made the data, and links to them."""
    if not sources:
        return []
    makers = _makers()
    words = dict.fromkeys(f"`python {makers[name].words}`" for name in sources)
    links = [link(folder / f"{name}.csv", page) for name in sources]
    return [f"{', '.join(words)}; data: {', '.join(links)}."]


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


def _cells(folder: Path, name: str) -> dict[tuple[str, str], str]:
    """Texts of a data file by the first cell of their row and the title of their column."""
    return {
        (next(iter(row.values())), title): text
        for row in read_data(folder / f"{name}.csv")
        for title, text in row.items()
    }


def _rises(folder: Path) -> Table:
    """Rise of Robosimian's first jump at each step."""
    lines = {
        title: {row["dt ms"]: row["first rise m"] for row in read_data(folder / f"{name}.csv")}
        for title, name in _RISES.items()
    }
    steps = tuple(lines["first order"])
    columns = ("rise [m] with steps of", *(f"{step} ms" for step in steps))
    return Table("", columns, tuple((n, *(own[s] for s in steps)) for n, own in lines.items()))


_RISES = {"second order (default)": "jump-order2", "first order": "jump-order1"}


def _hard_ground(folder: Path) -> Table:
    """Evaluations a step on rigid and soft ground, of all robots and methods: mean and largest."""
    found: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for row in read_data(folder / "hard-ground.csv"):
        if row["depth"] == "0" or (row["depth"] == "0.001" and row["noise"] != "0"):
            cells = found.setdefault((row["order"], row["noise"], row["depth"]), {})
            cells.setdefault(row["step"], []).append(value(row, "evaluations"))
    lines = tuple(
        (
            *(order, noise, "rigid" if depth == "0" else f"{1e3 * float(depth):g}"),
            *(
                f"{np.mean(own):.1f} ({max(own):.1f})"
                for own in found[order, noise, depth].values()
            ),
        )
        for order, noise, depth in sorted(found)
    )
    heads = (f"{1e3 * float(step):g} ms" for step in next(iter(found.values())))
    return Table("", ("order", "noise [rad]", "static depth [mm]", *heads), lines)


def _ratios(folder: Path) -> Table:
    """Least and most of the ratios of a case."""
    rows: dict[str, list[str]] = {}
    for row in read_data(folder / "work-precision-ratios.csv"):
        if row["case"] in _CASES:
            rows.setdefault(row["case"], []).extend(row[error] for error in ("3 %", "1 %", "0.3 %"))
    cells = tuple((_CASES[case], _range(texts)) for case, texts in rows.items())
    return Table("", ("motion", "CPU time over MuJoCo's"), cells)


def _range(texts: list[str]) -> str:
    """From the least number to the most, and the texts that are none."""
    words = dict.fromkeys(text for text in texts if not text[0].isdigit())
    numbers = [float(text) for text in texts if text not in words]
    ends = [f"{min(numbers):g} to {max(numbers):g}"] if numbers else []
    return ", ".join([*ends, *words])


_CASES = {
    "jump-kp1e3": "Robosimian jumps, kp = 1e3",
    "jump-kp1e4": "Robosimian jumps, kp = 1e4",
    "jump-kp1e5": "Robosimian jumps, kp = 1e5",
    "spider-walk": "Spider walks",
    "go2-stand-up": "Go2 stands up",
    "a1-trot": "A1 trots",
    "arm-push-off": "a Panda in weightlessness pushes off a wall",
    "panda-push": "a Panda pushes a box",
    "panda-push-aside": "a Panda pushes a box off its centre",
}


def _physics(folder: Path) -> Table:
    """Errors of both forms in first order."""
    sliding, angle, creep, acceleration, rolling, chain = (
        _cells(folder, f"physics-{name}") for name in _PHYSICS
    )

    def row(scene: str, exact: str, cell: Callable[[str], str]) -> tuple[str, ...]:
        return (scene, exact, *(cell(f"{form} dissipation") for form in ("ne-nmdp", "pbd-nmdp")))

    far = sliding["ne-nmdp dissipation, 0.2", "v²/(2 mu g)"]
    down = next(text for (name, title), text in rolling.items() if title == "5/7 g sin a")
    rows = (
        row(
            *("slab sent at 1 m/s, μ = 0.2, 10 ms", f"{far} mm"),
            lambda form: f"{sliding[f'{form}, 0.2', '10 ms']} mm",
        ),
        row(
            *("angle at which a slab begins to slide, 10 ms", "arctan μ"),
            lambda form: f"{100.0 * (float(angle[form, '10 ms']) - 1.0):+.1f} %",
        ),
        row(
            *("acceleration on a slope, 10 ms", "g (sin α − μ cos α)"),
            lambda form: f"{acceleration[f'{form}, 1.5', '10 ms']} m/s²",
        ),
        row(
            *("creep at 0.9 of that angle, 50 ms", "0"),
            lambda form: f"{creep[form, '50 ms']} µm/s",
        ),
        row(
            *("ball rolling down 0.2 rad, 10 ms", f"{down} m/s²"),
            lambda form: f"{rolling[f'{form}, translation + spherical', '10 ms']} m/s²",
        ),
        row(
            *("chain of ten links, 1 ms, after 0.2 s", "DOP853"),
            lambda form: f"{chain[f'{form}, angles, rad', '1 ms']} rad",
        ),
    )
    return Table("", ("scene", "closed form", "`ne-nmdp`", "`pbd-nmdp`"), rows)


_PHYSICS = ("sliding", "slope", "slope-creep", "slope-acceleration", "rolling", "chain")


@dataclass(frozen=True)
class Derived:
    """A table that follows from data of one or more other tables.

    Args:
        table: makes it of the data in a folder.
        sources: names of the data; none where the page names them in its own words.
    """

    table: Callable[[Path], Table]
    sources: tuple[str, ...] = ()


DERIVED = {
    "table1-wide": Derived(lambda folder: wide_table(folder, _WIDE)),
    "locomotion": Derived(_locomotion),
    "rises": Derived(_rises, tuple(_RISES.values())),
    "hard-ground": Derived(_hard_ground),
    "ratios": Derived(_ratios, ("work-precision-ratios",)),
    "physics": Derived(_physics, tuple(f"physics-{name}" for name in _PHYSICS)),
}
