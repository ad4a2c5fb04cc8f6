"""The contract of figures and tables: which runs one needs, and what it makes of them."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar

from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.data_file import link as data_link
from nmdp_pin.papers.kept_run import KeptRun
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.table import Table

Runs = Mapping[RunSpec, KeptRun]


@dataclass(frozen=True, kw_only=True)
class Study(abc.ABC):
    """Settings of an evaluation; those with a "flag" are options of the command line.

    Args:
        duration: longest simulated time [s]; None for the durations of the figures.
    """

    paper: ClassVar[str]
    """Word of the command line."""

    duration: float | None = field(default=None, metadata={"flag": "--duration"})

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Suffix of its files and page markers; "" for the paper's settings."""

    @abc.abstractmethod
    def check(self) -> None:
        """Check what only this study has.

        Raises:
            NmdpError: something that cannot be evaluated.
        """

    def checked(self) -> Self:
        """The same study, or an error that says what cannot be evaluated."""
        if self.duration is not None and not self.duration > 0.0:
            raise ExperimentError(f"duration must be > 0 s, got {self.duration:g}")
        self.check()
        return self

    def length(self, *longest: float | None) -> float:
        """Simulated time of a run [s]: the least of what is given and the study's duration."""
        return min(limit for limit in (*longest, self.duration) if limit is not None)

    def command(self, figure: str) -> str:
        """The command that makes a figure of this study."""
        words = [f"nmdp-pin paper {self.paper} {figure}"]
        for setting in fields(self):
            flag, given = setting.metadata.get("flag"), getattr(self, setting.name)
            if flag is not None and given != setting.default:
                words += [f"{flag} {v}" for v in (given if isinstance(given, tuple) else (given,))]
        return " ".join(words)


S = TypeVar("S", bound=Study)


@dataclass(frozen=True)
class Product:
    """Output of a figure or table.

    Args:
        pictures: PNG files and what each shows.
        data: CSV files.
        tables: tables of the page, which follow from the data.
        aside: tables for the terminal.
        notes: sentences that belong below.
    """

    pictures: Mapping[Path, str]
    data: tuple[Path, ...]
    tables: tuple[Table, ...] = ()
    aside: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()

    def markdown(self, page: Path, command: str) -> str:
        """Its part of a page: pictures, tables, notes, data, and the command."""
        folder = page.resolve().parent

        def link(path: Path) -> str:
            return Path(os.path.relpath(path.resolve(), folder)).as_posix()

        pictures = [f"![{shows}]({link(path)})" for path, shows in self.pictures.items()]
        data = ", ".join(data_link(path, page) for path in self.data)
        made = f"`{command}`; data: {data}." if data else f"`{command}`."
        return "\n\n".join([*pictures, *(t.markdown() for t in self.tables), *self.notes, made])


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
        tables: tables of the page, read from the data in a folder.
    """

    name: str
    shows: str
    specs: Callable[[S], list[RunSpec]]
    make: Callable[[S, Runs, Path], Product]
    timed: Callable[[S], list[RunSpec]] = field(default=lambda study: [])
    tables: Callable[[S, Path], tuple[Table, ...]] = field(default=lambda study, folder: ())


def marker(figure: str, study: Study) -> str:
    """Name of the place of a figure on a page."""
    return f"{figure}-{study.name}" if study.name else figure
