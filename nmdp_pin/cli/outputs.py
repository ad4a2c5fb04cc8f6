"""Output files of the commands, checked before the work that fills them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from nmdp_pin.errors import MissingExtra, RecordingError
from nmdp_pin.files.output_file import check_writable

RECORDINGS = (".npz",)
PLOTS = (".png",)
PAGES = (".html",)
TABLES = (".parquet",)


def check_output(path: Path | None, endings: tuple[str, ...]) -> None:
    """Check that a file of this kind can be written; nothing where no path is given.

    Raises:
        RecordingError: another ending, or a place that cannot be written to.
        MissingExtra: a plot is asked for, but matplotlib is not installed.
    """
    if path is None:
        return
    if path.suffix not in endings:
        raise RecordingError(
            f"cannot write {path}: the name must end in {' or '.join(endings)}, "
            f"not in '{path.suffix}'"
        )
    check_writable(path)
    if endings is PLOTS:
        check_plots()


def check_plots() -> None:
    """Check that figures can be drawn.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib", "plots")
