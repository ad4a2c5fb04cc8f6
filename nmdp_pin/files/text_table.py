"""A table of results: for the terminal, for a page, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table as RichTable
from rich.text import Text

from nmdp_pin.files.output_file import write_text

_DIGITS = 6  # significant, in a CSV


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Args:
        title: what it shows, with units.
        columns: headings.
        rows: one text a column each.
        notes: sentences that belong below it.
        aside: whether it is for the terminal alone.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    aside: bool = False

    def markdown(self) -> str:
        """The table as markdown, its title above and its notes below."""
        rule = "|".join(["---"] * len(self.columns))
        lines = [self.columns, *self.rows]
        body = ["| " + " | ".join(line) + " |" for line in lines]
        table = "\n".join([body[0], f"|{rule}|", *body[1:]])
        return "\n\n".join([f"{self.title}:", table, *self.notes])

    def rich(self) -> RichTable:
        """The table for a terminal."""
        # As Text, because "[m]" in a plain string would be taken for markup.
        table = RichTable(title=Text(self.title), box=None, title_justify="left")
        for column in self.columns:
            table.add_column(Text(column))
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table


def number(value: float, digits: int = 2) -> str:
    """Text of a number with that many decimals; "—" for NaN, powers of ten for huge ones."""
    if value != value:
        return "—"
    return f"{value:.{digits}f}" if abs(value) < 1e4 else f"{value:.1e}"


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """Write numbers and texts as CSV, whole or not at all; NaN becomes an empty cell.

    Returns:
        The path.

    Raises:
        RecordingError: the path cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    write_text(path, text.getvalue())
    return path


def _cell(value: object) -> object:
    if not isinstance(value, float):
        return value
    return "" if value != value else f"{value:.{_DIGITS}g}"
