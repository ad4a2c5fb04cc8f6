"""Tables of measured samples: columns with units, from CSV or npz files."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from nmdp_pin.errors import ContactError
from nmdp_pin.files.array_file import read_npz
from nmdp_pin.files.input_file import read_text

Columns = Mapping[str, str]  # name of a column -> its unit
_WHAT = "table of samples"
_LARGEST = 2**28  # [bytes] of a CSV file
_HEADER = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\[(.*)\])?\s*")


def read_samples(
    path: str | os.PathLike[str], required: Columns, *optional: Columns
) -> dict[str, np.ndarray]:
    """Columns of a file by name, each of shape (n,) and finite.

    A CSV file starts with a line of titles "name [unit]", separated by commas; lines that start
    with # are remarks. An npz file has one array per column under such a title.

    Args:
        path: ends in .csv or .npz.
        required: columns that must be there, with their units.
        optional: groups of columns that may be there, all of a group or none.

    Raises:
        ContactError: no such file, another format, a column that is missing, unknown, doubled, in
            another unit or of another length, or an entry that is not a finite number.
    """
    file = Path(path)
    readers = {".csv": _read_csv, ".npz": _read_npz}
    if file.suffix.lower() not in readers:
        raise ContactError(
            f"{file}: samples are read from .csv and .npz files, not '{file.suffix}'"
        )
    titled = readers[file.suffix.lower()](file)
    known = {name: unit for group in (required, *optional) for name, unit in group.items()}
    columns = _named(titled, known, str(file))
    _check_complete(columns, required, optional, str(file))
    _check_numbers(columns, str(file))
    return columns


def title(name: str, unit: str) -> str:
    """Title of a column in a file."""
    return f"{name} [{unit}]"


def _read_csv(path: Path) -> list[tuple[str, np.ndarray]]:
    text = read_text(path, _WHAT, largest=_LARGEST, error=ContactError).splitlines()
    lines = [(i, line) for i, line in enumerate(text, 1) if line.strip() and line.strip()[0] != "#"]
    if not lines:
        raise ContactError(f"{path}: the file is empty; its first line must be titles")
    titles = _cells(lines[0][1])
    values = np.empty((len(lines) - 1, len(titles)))
    for row, (i, line) in zip(values, lines[1:], strict=True):
        cells = _cells(line)
        if len(cells) != len(titles):
            raise ContactError(
                f"{path}: line {i} has {len(cells)} entries where there are {len(titles)} titles"
            )
        for k, cell in enumerate(cells):
            row[k] = _number(cell, f"{path}: line {i}, {titles[k]}")
    return list(zip(titles, values.T, strict=True))


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line.strip()], skipinitialspace=True))]
    except csv.Error as error:
        raise ContactError(f"'{line[:80]}' is not a line of a table: {error}") from None


def _number(cell: str, where: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ContactError(f"{where}: '{cell}' is not a number") from None


def _read_npz(path: Path) -> list[tuple[str, np.ndarray]]:
    return list(read_npz(path, _WHAT, error=ContactError).items())


def _named(
    titled: Iterable[tuple[str, np.ndarray]], known: Columns, file: str
) -> dict[str, np.ndarray]:
    """Columns by name, their units checked."""
    allowed = ", ".join(f"'{title(name, unit)}'" for name, unit in known.items())
    columns: dict[str, np.ndarray] = {}
    for text, values in titled:
        match = _HEADER.fullmatch(text)
        name = match[1] if match else text
        if match is None or name not in known:
            raise ContactError(f"{file}: '{text}' is not a column; the columns are {allowed}")
        if match[2] is None:
            raise ContactError(
                f"{file}: column '{name}' has no unit; write '{title(name, known[name])}'"
            )
        if match[2].strip() != known[name]:
            raise ContactError(
                f"{file}: column '{name}' is in '{match[2]}'; give it in '{known[name]}'"
            )
        if name in columns:
            raise ContactError(f"{file}: column '{name}' is there twice")
        columns[name] = values
    return columns


def _check_complete(
    columns: Mapping[str, np.ndarray], required: Columns, optional: tuple[Columns, ...], file: str
) -> None:
    begun = [group for group in optional if any(name in columns for name in group)]
    for group in (required, *begun):
        for name, unit in group.items():
            if name not in columns:
                raise ContactError(f"{file}: column '{title(name, unit)}' is missing")


def _check_numbers(columns: dict[str, np.ndarray], file: str) -> None:
    """Check lengths and finiteness, and convert to floats."""
    lengths = {}
    for name, values in columns.items():
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.number):
            raise ContactError(
                f"{file}: column '{name}' must be numbers of shape (n,), got {values.dtype} of "
                f"shape {values.shape}"
            )
        columns[name] = values.astype(float)
        lengths[name] = len(values)
        bad = np.flatnonzero(~np.isfinite(columns[name]))
        if bad.size:
            raise ContactError(
                f"{file}: column '{name}' holds {columns[name][bad[0]]} in sample {bad[0]} "
                "(from 0); remove samples that are not finite numbers"
            )
    if len(set(lengths.values())) > 1:
        raise ContactError(f"{file}: columns of different length: {lengths}")
