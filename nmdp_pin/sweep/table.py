"""The table of a sweep as a Parquet file."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from nmdp_pin.errors import MissingExtra, SweepError
from nmdp_pin.files.output_file import write_whole

_META = b"nmdp_pin.sweep"


def require_parquet() -> Any:
    """The module that reads and writes the tables.

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtra("pyarrow", "sweep") from error


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a table that a sweep wrote; none where there is no file.

    Raises:
        SweepError: the file is something else.
    """
    parquet = require_parquet()
    if not path.exists():
        return []
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:
        raise SweepError(f"{path} cannot be read ({error}): give another --out") from error
    if _META not in (table.schema.metadata or {}):
        raise SweepError(f"{path} is not the table of a sweep: give another --out")
    return table.to_pylist()


def write_rows(
    path: Path, rows: Sequence[dict[str, Any]], keys: Sequence[str], meta: dict[str, Any]
) -> None:
    """Write the table, whole or not at all.

    Args:
        path: of the file.
        rows: with the same columns each.
        keys: columns of the grid, whose values may be of several types.
        meta: JSON data that is kept in the file.

    Raises:
        RecordingError: the path cannot be written.
    """
    parquet = require_parquet()
    arrow = importlib.import_module("pyarrow")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns |= {key: _of_one_type(columns[key]) for key in keys}
    table = arrow.table(columns)
    table = table.replace_schema_metadata({_META: json.dumps(meta).encode()})

    def write(file: BinaryIO) -> None:
        parquet.write_table(table, file)

    write_whole(path, write)


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values of a grid as one type: numbers, flags, texts or lists of numbers; else as JSON."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return [float(value) for value in values]
    if kinds == {list} and all(type(x) in (int, float) for value in values for x in value):
        return [[float(x) for x in value] for value in values]
    simple = len(kinds) == 1 and kinds <= {int, float, bool, str}
    return values if simple else [json.dumps(value) for value in values]
