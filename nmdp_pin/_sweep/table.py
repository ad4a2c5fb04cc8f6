"""The table of a sweep as a Parquet file."""

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmdp_pin._files.output_file import check_writable, write_whole
from nmdp_pin.errors import MissingExtra, SweepError

_META = b"nmdp_pin._sweep"


def check_table(path: Path) -> None:
    """Check that a table can be written, and that no other file is lost by it."""
    parquet = _pyarrow("parquet")
    check_writable(path)
    try:
        known = not path.exists() or _META in (parquet.read_schema(path).metadata or {})
    except (OSError, ValueError):
        known = False
    if not known:
        raise SweepError(f"{path} is not the table of a sweep: give another --out")


def write_rows(
    path: Path, rows: Sequence[dict[str, Any]], keys: Sequence[str], meta: dict[str, Any]
) -> None:
    """Write the table, whole or not at all."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns |= {key: _of_one_type(columns[key]) for key in keys}
    table = _pyarrow("lib").table(columns)
    table = table.replace_schema_metadata({_META: json.dumps(meta).encode()})
    write_whole(path, lambda file: _pyarrow("parquet").write_table(table, file))


def _pyarrow(module: str) -> Any:
    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError as error:
        raise MissingExtra("pyarrow", "sweep") from error


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values of a grid in one type: numbers, flags, texts or lists of numbers, else JSON."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return [float(value) for value in values]
    if kinds == {list} and all(type(x) in (int, float) for value in values for x in value):
        return [[float(x) for x in value] for value in values]
    simple = len(kinds) == 1 and kinds <= {int, float, bool, str}
    return values if simple else [json.dumps(value) for value in values]
