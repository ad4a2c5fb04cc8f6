"""Arrays in files: .npz archives and .npy arrays, read without trust in what they hold.

No pickled object is read, and no size that a file states is believed before it is checked.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Container, Mapping
from typing import IO, Any

import numpy as np

from nmdp_pin.errors import NmdpError, RecordingError
from nmdp_pin.files.input_file import LARGEST, open_input
from nmdp_pin.files.json_text import from_json, to_json
from nmdp_pin.files.output_file import write_whole

_MOST_MEMBERS = 256
_LARGEST_FILE = 2**40  # [bytes]
_RATIO = 100  # of unpacked to packed bytes, beyond LARGEST; recordings have 2 to 16
_LONGEST_HEADER = 4096  # [characters]; that of a plain array has about 80
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1  # bit of a member's flags
_TYPES = {"f": np.float64, "i": np.int64, "u": np.uint64}  # by the kind of a dtype


def write_npz(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    meta: Mapping[str, Any],
    *,
    replace: bool = True,
) -> None:
    """Write a compressed `.npz` of arrays and one JSON text "meta", whole or not at all.

    Raises:
        RecordingError: the path cannot be written, or `meta` is not JSON data.
    """
    members: dict[str, Any] = {**arrays, "meta": np.array(to_json(meta))}
    write_whole(
        path,
        lambda file: np.savez_compressed(file, allow_pickle=False, **members),
        replace=replace,
    )


def read_npz(
    path: str | os.PathLike[str],
    what: str,
    names: Container[str] | None = None,
    *,
    error: type[NmdpError] = RecordingError,
) -> dict[str, np.ndarray]:
    """Arrays of an `.npz` by name: floats (float64), whole numbers (int64, uint64) and texts.

    Args:
        path: path of the file.
        what: it should be, for messages.
        names: arrays to read, where the file has them; None: all.
        error: type of the error.

    Raises:
        NmdpError: an error of the type `error`: the file does not exist, or is no whole archive of
            arrays, has more than 256 of them, or more than `LARGEST` bytes and 100 times as many as
            the file when it is unpacked.
    """
    with open_input(path, what, largest=_LARGEST_FILE, error=error) as file:
        # Damaged input makes zipfile, zlib and numpy raise errors of many types.
        try:
            if not zipfile.is_zipfile(file):
                raise error(
                    f"'{os.fspath(path)}' is not a {what}, or it is truncated: it is not a whole "
                    ".npz archive"
                )
            with zipfile.ZipFile(file) as archive:
                _check_members(archive.infolist(), os.fstat(file.fileno()).st_size)
                return {
                    name: _read_member(archive, info)
                    for info in archive.infolist()
                    if (name := info.filename.removesuffix(".npy")) and _wanted(name, names)
                }
        except NmdpError:
            raise
        except Exception as cause:
            raise error(f"'{os.fspath(path)}' is damaged and cannot be read: {cause}") from cause


def read_npy(
    path: str | os.PathLike[str], what: str, *, error: type[NmdpError] = RecordingError
) -> np.ndarray:
    """The array of an `.npy` file; otherwise as `read_npz`."""
    with open_input(path, what, error=error) as file:
        try:
            return read_array(file, os.fstat(file.fileno()).st_size)
        except Exception as cause:
            raise error(f"'{os.fspath(path)}' is damaged and cannot be read: {cause}") from cause


def read_array(stream: IO[bytes], size: int) -> np.ndarray:
    """An array in the format of `.npy`.

    Args:
        stream: at its beginning.
        size: number of bytes that it holds.

    Raises:
        ValueError, EOFError: it is not a whole array of numbers or texts; reading a damaged
            stream may raise others.
    """
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the .npy format is not read")
    read_header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, by_columns, dtype = read_header(stream, max_header_size=_LONGEST_HEADER)
    if dtype.kind not in "fiuU":
        raise ValueError(f"an array of type {dtype} is not read")
    length = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or length != size - stream.tell():
        raise ValueError(f"an array of shape {shape} does not have {size - stream.tell()} bytes")
    content = stream.read(length)
    if len(content) != length:
        raise EOFError("it ends in the middle of an array")
    array = np.frombuffer(content, dtype).reshape(shape, order="F" if by_columns else "C")
    return np.array(array, dtype=_TYPES.get(dtype.kind, dtype), order="C")


def array_bytes(array: np.ndarray) -> bytes:
    """An array in the format of `.npy`."""
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=False)
    return content.getvalue()


def take_meta(
    arrays: dict[str, np.ndarray],
    key: str,
    expected: int,
    path: str | os.PathLike[str],
    what: str,
) -> dict[str, Any]:
    """Remove and parse the JSON text "meta" among the arrays.

    Args:
        arrays: those of the file.
        key: key of the version of the format in it.
        expected: version that is read.
        path: path of the file, for messages.
        what: it should be, likewise.

    Raises:
        RecordingError: it is something else, or of another version of the format.
    """
    try:
        text = arrays.pop("meta")
        if text.shape != () or text.dtype.kind != "U":
            raise ValueError("it is not a text")
        meta = from_json(str(text))
        version = int(meta[key])
        if not isinstance(meta, dict):
            raise ValueError("it is not a table")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecordingError(
            f"'{os.fspath(path)}' is not a {what}: its meta data cannot be used ({error!r})"
        ) from error
    if version != expected:
        raise RecordingError(
            f"'{os.fspath(path)}' has format {version}; this nmdp-pin reads {expected}: use the "
            "nmdp-pin that wrote it, or a later one"
        )
    return meta


def check_dimensions(
    arrays: Mapping[str, np.ndarray], dimensions: Mapping[str, int], path: str | os.PathLike[str]
) -> None:
    """Check the types and numbers of axes of arrays; `contacts` are indices, the others numbers.

    Raises:
        RecordingError: an array has another type or number of axes.
    """
    for name, array in arrays.items():
        kind, what = ("i", "integers") if name == "contacts" else ("f", "floats")
        if array.ndim != dimensions[name] or array.dtype.kind != kind:
            raise RecordingError(
                f"'{os.fspath(path)}': {name} is {array.ndim}-dimensional of type {array.dtype}, "
                f"expected {dimensions[name]} dimensions of {what}"
            )


def _wanted(name: str, names: Container[str] | None) -> bool:
    return names is None or name in names


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Check what the directory of an archive of `size` bytes states, before it is unpacked."""
    if len(members) > _MOST_MEMBERS:
        raise ValueError(f"it has {len(members)} members; at most {_MOST_MEMBERS} are read")
    total = sum(member.file_size for member in members)
    most = max(LARGEST, _RATIO * size)
    if total > most:
        raise ValueError(f"unpacked it has {total} bytes; at most {most} are read")
    if len({member.filename for member in members}) < len(members):
        raise ValueError("it has two members of one name")
    for member in members:
        if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
            raise ValueError(f"member '{member.filename}' is encrypted or packed by other means")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as stream:
        array = read_array(stream, member.file_size)
        if stream.read(1):  # which also compares the checksum
            raise ValueError(f"member '{member.filename}' is longer than it states")
    return array
