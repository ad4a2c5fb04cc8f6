"""A table of texts, for the terminal and for a page."""

from __future__ import annotations

from dataclasses import dataclass

from rich.table import Table as RichTable
from rich.text import Text


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Args:
        title: what it shows, with units.
        columns: headings.
        rows: one text a column each.
        notes: sentences that belong below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table as markdown, its title above and its notes below."""
        lines = ["| " + " | ".join(line) + " |" for line in (self.columns, *self.rows)]
        lines.insert(1, "|" + "---|" * len(self.columns))
        title = [f"{self.title}:"] if self.title else []
        return "\n\n".join([*title, "\n".join(lines), *self.notes])

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


def span(values: list[float], digits: int = 2) -> str:
    """Text of the least and the largest of some numbers, "0.1 to 0.4"; one where they agree."""
    low, high = (number(f(values), digits) for f in (min, max))
    return low if low == high else f"{low} to {high}"
