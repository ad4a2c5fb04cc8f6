"""The contract of figures and tables: which runs one needs, and what it makes of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from nmdp_pin.experiments.kept_run import KeptRun
from nmdp_pin.experiments.run_spec import RunSpec
from nmdp_pin.files.text_table import Table

Runs = Mapping[RunSpec, KeptRun]

LONGEST_TABLE = 12
"""Rows of a table on a page; longer tables are for the terminal, and their data for the CSV."""


class Study(Protocol):
    """Settings of an evaluation."""

    @property
    def name(self) -> str:
        """Suffix of its files and page markers; "" for the paper's settings."""

    def checked(self) -> Self:
        """The same study, or an error that says what cannot be evaluated."""

    def command(self, figure: str) -> str:
        """The command that makes a figure of this study."""


S = TypeVar("S", bound=Study)


@dataclass(frozen=True)
class Product:
    """Output of a figure or table.

    Args:
        pictures: PNG files and what each shows.
        data: CSV files.
        tables: for the terminal and, unless long or aside, the page.
        notes: sentences that belong below.
    """

    pictures: Mapping[Path, str]
    data: tuple[Path, ...]
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()

    def markdown(self, page: Path, command: str) -> str:
        """Its part of a page: pictures, short tables, notes, data, and the command."""
        folder = page.resolve().parent

        def link(path: Path) -> str:
            return Path(os.path.relpath(path.resolve(), folder)).as_posix()

        pictures = [f"![{shows}]({link(path)})" for path, shows in self.pictures.items()]
        data = ", ".join(f"[{path.name}]({link(path)})" for path in self.data)
        short = [t for t in self.tables if len(t.rows) <= LONGEST_TABLE and not t.aside]
        tables = [t.markdown() for t in short]
        made = f"`{command}`; data: {data}." if data else f"`{command}`."
        return "\n\n".join([*pictures, *tables, *self.notes, made])


@dataclass(frozen=True)
class Figure(Generic[S]):
    """A figure or table of a paper.

    Args:
        name: as commands and files name it.
        shows: one line about it.
        specs: the runs that it needs.
        make: writes its files into a folder; the runs are those of `specs` and `timed`, and maybe
            others.
        timed: the runs whose computing times it compares, in the order in which they are made.
    """

    name: str
    shows: str
    specs: Callable[[S], list[RunSpec]]
    make: Callable[[S, Runs, Path], Product]
    timed: Callable[[S], list[RunSpec]] = field(default=lambda study: [])


def marker(figure: str, study: Study) -> str:
    """Name of the place of a figure on a page."""
    return f"{figure}-{study.name}" if study.name else figure
