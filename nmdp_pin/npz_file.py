"""Files of arrays and one JSON text: .npz archives, written whole, read without running code."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from nmdp_pin.errors import RecordingError
from nmdp_pin.output_file import write_whole


def write_npz(path: str | os.PathLike[str], arrays: dict[str, np.ndarray]) -> None:
    """Write a compressed `.npz`, whole or not at all.

    Raises:
        RecordingError: the path cannot be written.
    """
    write_whole(path, lambda file: np.savez_compressed(file, allow_pickle=False, **arrays))


def read_npz(path: Path, names: Iterable[str], what: str) -> dict[str, np.ndarray]:
    """Those of the arrays that the file has; never runs code that a file may hold.

    Args:
        path: the file.
        names: arrays to read.
        what: it should be, for messages.

    Raises:
        RecordingError: there is no such file, or it is no whole archive.
    """
    if not path.exists():
        raise RecordingError(f"there is no {what} '{path}'")
    if path.is_dir():
        raise RecordingError(f"'{path}' is a folder; a {what} is a .npz file")
    try:
        if not zipfile.is_zipfile(path):
            raise RecordingError(
                f"'{path}' is not a {what}, or it is truncated: it is not a whole .npz archive"
            )
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in names if name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise RecordingError(f"'{path}' is damaged and cannot be read: {error}") from error


def to_json(meta: dict[str, Any]) -> str:
    """The meta data as text.

    Raises:
        RecordingError: `meta` is not JSON data.
    """
    try:
        return json.dumps(meta)
    except (TypeError, ValueError) as error:
        raise RecordingError(
            f"the meta data of a recording must be JSON data (numbers, strings, lists, "
            f"dictionaries): {error}"
        ) from error


def take_meta(
    arrays: dict[str, np.ndarray], key: str, latest: int, path: str | os.PathLike[str], what: str
) -> dict[str, Any]:
    """The JSON text among the arrays, taken out of them.

    Args:
        arrays: those of the file.
        key: of the version of the format in it.
        latest: version that is understood.
        path: the file, for messages.
        what: it should be, likewise.

    Raises:
        RecordingError: it is something else, or of a later version of this package.
    """
    try:
        meta = dict(json.loads(str(arrays.pop("meta")[()])))
        version = int(meta[key])
    except (KeyError, TypeError, ValueError) as error:
        raise RecordingError(f"'{path}' is not a {what}: its meta data {error!r}") from error
    check_version(version, latest, path)
    return meta


def check_version(version: int, latest: int, path: str | os.PathLike[str]) -> None:
    """Check that the format of a file is understood.

    Raises:
        RecordingError: it is a later one.
    """
    if version > latest:
        raise RecordingError(
            f"'{path}' has format {version}; this nmdp-pin reads up to {latest}: update nmdp-pin"
        )
