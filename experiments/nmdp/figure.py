"""The contract of figures and tables: which runs one needs, and what it makes of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nmdp_pin.experiments.kept_run import KeptRun
from nmdp_pin.experiments.nmdp.study import Study
from nmdp_pin.experiments.run_spec import RunSpec
from nmdp_pin.experiments.table import Table

Runs = Mapping[RunSpec, KeptRun]


@dataclass(frozen=True)
class Product:
    """What a figure or table left.

    Args:
        pictures: PNG files and what each shows.
        data: CSV files.
        tables: for the terminal and the page.
        notes: sentences that belong below.
    """

    pictures: Mapping[Path, str]
    data: tuple[Path, ...]
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()

    def markdown(self, page: Path, command: str) -> str:
        """Its part of a page: pictures, tables, notes, data, and the command that made them."""
        folder = page.resolve().parent

        def link(path: Path) -> str:
            return Path(os.path.relpath(path.resolve(), folder)).as_posix()

        pictures = [f"![{shows}]({link(path)})" for path, shows in self.pictures.items()]
        data = ", ".join(f"[{path.name}]({link(path)})" for path in self.data)
        made = f"`{command}`; data: {data}."
        return "\n\n".join([*pictures, *(t.markdown() for t in self.tables), *self.notes, made])


@dataclass(frozen=True)
class Figure:
    """A figure or table of the paper.

    Args:
        name: as commands and files name it.
        shows: one line about it.
        specs: the runs that it needs.
        make: writes its files into a folder; the runs are those of `specs`, and maybe others.
    """

    name: str
    shows: str
    specs: Callable[[Study], list[RunSpec]]
    make: Callable[[Study, Runs, Path], Product]
