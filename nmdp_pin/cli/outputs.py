"""Output files of the commands, checked before the work that fills them."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Annotated

import typer

from nmdp_pin.errors import MissingExtra, RecordingError
from nmdp_pin.files.output_file import check_writable

RECORDINGS = (".npz",)
PLOTS = (".png", ".svg", ".pdf")
PAGES = (".html",)
FILMS = (".mp4",)
TABLES = (".parquet",)

Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]


def check_outputs(*outputs: tuple[Path | None, tuple[str, ...]], force: bool) -> None:
    """Check that the given files can be written.

    Args:
        outputs: paths, and the endings that their names may have.
        force: whether files that are there already may be replaced.

    Raises:
        RecordingError: another ending, a place that cannot be written to, a file that is there
            already, or one file given twice.
        MissingExtra: a plot or a film is asked for, and what makes it is not installed.
    """
    given: set[str] = set()
    for path, endings in outputs:
        if path is None:
            continue
        if path.suffix not in endings:
            raise RecordingError(
                f"cannot write {path}: the name must end in {' or '.join(endings)}, "
                f"not in '{path.suffix}'"
            )
        check_writable(path, replace=force)
        if os.path.realpath(path) in given:
            raise RecordingError(f"cannot write {path}: two outputs are this file")
        given.add(os.path.realpath(path))
        if endings is PLOTS:
            check_plots()
        if endings is FILMS:
            check_films()


def check_plots() -> None:
    """Check that figures can be drawn.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib", "plots")


def check_films() -> None:
    """Check that films can be made.

    Raises:
        MissingExtra: VTK or PyAV is not installed.
    """
    for module, package in (("vtkmodules", "vtk"), ("av", "av")):
        if importlib.util.find_spec(module) is None:
            raise MissingExtra(package, "video")
