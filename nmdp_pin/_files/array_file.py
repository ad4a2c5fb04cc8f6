"""Arrays in files: .npz archives and .npy arrays, of numbers and texts only."""

import json
import os
from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from nmdp_pin._files.input_file import LARGEST, from_json, open_input
from nmdp_pin._files.output_file import write_whole
from nmdp_pin.errors import NmdpError, RecordingError

_LARGEST_FILE = 2**40  # [bytes]
_RATIO = 100  # of unpacked to packed bytes, beyond LARGEST; recordings have 2 to 16
_TYPES = {"f": np.float64, "i": np.int64, "u": np.uint64, "U": None}  # by the kind of a dtype


def write_npz(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    meta: Mapping[str, Any],
    *,
    replace: bool = True,
) -> None:
    """Write a compressed `.npz` of arrays and one JSON text "meta", whole or not at all."""
    members: dict[str, Any] = {**arrays, "meta": np.array(to_json(meta))}
    write_whole(
        path, lambda file: np.savez_compressed(file, allow_pickle=False, **members), replace=replace
    )


def read_npz(
    path: str | os.PathLike[str],
    what: str,
    names: Container[str] | None = None,
    *,
    error: type[NmdpError] = RecordingError,
) -> dict[str, np.ndarray]:
    """Arrays of an `.npz` by name: floats (float64), whole numbers (int64, uint64) and texts.

    Only those of `names` are read; None: all.
    """
    with open_input(path, what, largest=_LARGEST_FILE, error=error) as file:
        # Damaged input makes zipfile, zlib and numpy raise errors of many types.
        try:
            most = max(LARGEST, _RATIO * os.fstat(file.fileno()).st_size)
            with np.load(file, allow_pickle=False) as archive:
                size = sum(member.file_size for member in archive.zip.infolist())
                if size > most:
                    raise ValueError(f"unpacked it has {size} bytes; at most {most} are read")
                wanted = [name for name in archive.files if names is None or name in names]
                return {name: _plain(archive[name]) for name in wanted}
        except Exception as cause:
            raise error(
                f"'{os.fspath(path)}' is damaged or truncated, or not a {what}: it is not a whole "
                f".npz archive ({cause})"
            ) from cause


def read_npy(
    path: str | os.PathLike[str], what: str, *, error: type[NmdpError] = RecordingError
) -> np.ndarray:
    """The array of an `.npy` file; otherwise as `read_npz`."""
    with open_input(path, what, error=error) as file:
        try:
            return _plain(np.load(file, allow_pickle=False))
        except Exception as cause:
            raise error(f"'{os.fspath(path)}' is damaged and cannot be read: {cause}") from cause


def take_meta(
    arrays: dict[str, np.ndarray], key: str, expected: int, path: str | os.PathLike[str], what: str
) -> dict[str, Any]:
    """Remove and parse the JSON text "meta" among the arrays."""
    try:
        meta = from_json(str(arrays.pop("meta")))
        version = int(meta[key])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecordingError(
            f"'{os.fspath(path)}' is not a {what}: its meta data cannot be used ({error!r})"
        ) from error
    if version != expected:
        raise RecordingError(
            f"'{os.fspath(path)}' has format {version}; this nmdp-pin reads {expected}: use the "
            "nmdp-pin that wrote it, or a later one"
        )
    return dict(meta)


def to_json(value: Any) -> str:
    """JSON text of a value."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError(
            f"the meta data of a recording must be JSON data (numbers, strings, lists, "
            f"dictionaries): {error}"
        ) from error


def _plain(array: np.ndarray) -> np.ndarray:
    """An array of 64-bit numbers, or of texts, in the order of C."""
    if array.dtype.kind not in _TYPES:
        raise ValueError(f"an array of type {array.dtype} is not read")
    return np.array(array, dtype=_TYPES[array.dtype.kind] or array.dtype, order="C")
