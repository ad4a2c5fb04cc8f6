"""Tables of measured samples: columns with units, from CSV or npz files."""

import csv
import os
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nmdp_pin._files.array_file import read_npz
from nmdp_pin._files.input_file import read_text
from nmdp_pin.errors import ContactError

Columns = Mapping[str, str]  # name of a column -> its unit
_WHAT = "table of samples"
_LARGEST = 2**28  # [bytes] of a CSV file
_TITLE = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\[(.*)\])?\s*")


def read_samples(
    path: str | os.PathLike[str], required: Columns, *optional: Columns
) -> dict[str, np.ndarray]:
    """Columns of a file by name, each of shape (n,) and finite.

    A CSV file starts with a line of titles "name [unit]", separated by commas; lines that start
    with # are remarks. An npz file has one array per column under such a title.
    """
    file = Path(path)
    if file.suffix.lower() == ".csv":
        titled = _read_csv(file)
    elif file.suffix.lower() == ".npz":
        titled = list(read_npz(file, _WHAT, error=ContactError).items())
    else:
        raise ContactError(
            f"{file}: samples are read from .csv and .npz files, not '{file.suffix}'"
        )
    known = {name: unit for group in (required, *optional) for name, unit in group.items()}
    columns: dict[str, np.ndarray] = {}
    for text, values in titled:
        name = _name(text, known, str(file))
        if name in columns:
            raise ContactError(f"{file}: column '{name}' is there twice")
        columns[name] = _floats(name, values, str(file))
    begun = [group for group in optional if any(name in columns for name in group)]
    for name, unit in (item for group in (required, *begun) for item in group.items()):
        if name not in columns:
            raise ContactError(f"{file}: column '{title(name, unit)}' is missing")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ContactError(f"{file}: columns of different length: {lengths}")
    return columns


def title(name: str, unit: str) -> str:
    """Title of a column in a file."""
    return f"{name} [{unit}]"


def _read_csv(path: Path) -> list[tuple[str, np.ndarray]]:
    text = read_text(path, _WHAT, largest=_LARGEST, error=ContactError)
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and line[0] != "#"]
    if not lines:
        raise ContactError(f"{path}: the file is empty; its first line must be titles")
    try:
        titles = [cell.strip() for cell in next(csv.reader(lines[:1], skipinitialspace=True))]
        if len(lines) == 1:
            return [(title, np.zeros(0)) for title in titles]
        values = np.loadtxt(lines[1:], delimiter=",", quotechar='"', ndmin=2)
    except (csv.Error, ValueError) as error:
        raise ContactError(f"{path}: the lines below the titles: {error}") from None
    if values.shape[1] != len(titles):
        raise ContactError(
            f"{path}: the lines have {values.shape[1]} entries where there are {len(titles)} titles"
        )
    return list(zip(titles, values.T, strict=True))


def _name(text: str, known: Columns, file: str) -> str:
    """Name in the title of a column, whose unit is checked."""
    match = _TITLE.fullmatch(text)
    if match is None or match[1] not in known:
        allowed = ", ".join(f"'{title(name, unit)}'" for name, unit in known.items())
        raise ContactError(f"{file}: '{text}' is not a column; the columns are {allowed}")
    name, unit = match[1], match[2]
    if unit is None:
        raise ContactError(
            f"{file}: column '{name}' has no unit; write '{title(name, known[name])}'"
        )
    if unit.strip() != known[name]:
        raise ContactError(f"{file}: column '{name}' is in '{unit}'; give it in '{known[name]}'")
    return name


def _floats(name: str, values: np.ndarray, file: str) -> np.ndarray:
    """A column as finite floats."""
    if values.ndim != 1 or not np.issubdtype(values.dtype, np.number):
        raise ContactError(
            f"{file}: column '{name}' must be numbers of shape (n,), got {values.dtype} of "
            f"shape {values.shape}"
        )
    values = values.astype(float)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ContactError(
            f"{file}: column '{name}' holds {values[bad[0]]} in sample {bad[0]} (from 0); remove "
            "samples that are not finite numbers"
        )
    return values
