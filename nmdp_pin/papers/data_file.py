"""Data of a figure or table as CSV; the first line names the commit and the day they are of."""

from __future__ import annotations

import csv
import functools
import io
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from nmdp_pin._files.output_file import write_text
from nmdp_pin.errors import ExperimentError

_DIGITS = 6  # significant
_STAMP = re.compile(r"# commit (\S+) of (\d{4}-\d\d-\d\d)\n")


@functools.cache
def commit() -> str:
    """Commit of the checkout, with "+" where tracked files differ; "unknown" outside a clone."""
    here = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/nmdp_pin")
        return (git("rev-parse", "--short=10", "HEAD") or "unknown") + "+" * bool(changed)
    except OSError:
        return "unknown"


def write_data(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
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
    write_text(path, stamped(text.getvalue()))
    return path


def stamped(text: str) -> str:
    """Content of a CSV under the line that names the commit and the day."""
    return f"# commit {commit()} of {datetime.now(UTC):%Y-%m-%d}\n{text}"


def origin(path: Path) -> tuple[str, str]:
    """Commit with which a data file was made, and the day, as YYYY-MM-DD.

    Raises:
        ExperimentError: it cannot be read, or names none.
    """
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline()
    except (OSError, ValueError) as error:
        raise ExperimentError(f"'{path}' cannot be read: {error}") from error
    stamp = _STAMP.fullmatch(first)
    if not stamp:
        raise ExperimentError(f"'{path}' is no data file: it names no commit and day")
    return stamp[1], stamp[2]


def link(path: Path, page: Path) -> str:
    """Link of a page to a data file, with the day that it was made."""
    place = Path(os.path.relpath(path.resolve(), page.resolve().parent)).as_posix()
    return f"[{path.name}]({place}) of {origin(path)[1]}"


def read_data(path: Path) -> list[dict[str, str]]:
    """Rows of a data file by the names of its columns.

    Raises:
        ExperimentError: it cannot be read, or names no commit.
    """
    origin(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            file.readline()
            return list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise ExperimentError(f"'{path}' cannot be read: {error}") from error


def value(row: dict[str, str], column: str) -> float:
    """Number of a cell; NaN where it is empty."""
    return float(row[column] or "nan")


def _cell(value: object) -> object:
    if not isinstance(value, float):
        return value
    return "" if value != value else f"{value:.{_DIGITS}g}"
