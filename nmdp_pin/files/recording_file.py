"""The file of a recording: a .npz of plain arrays and one JSON text."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from nmdp_pin.errors import RecordingError
from nmdp_pin.files.array_file import read_npz, take_meta
from nmdp_pin.files.input_file import open_input
from nmdp_pin.files.journal import MAGIC, journal_path, read_chunks

FORMAT = 3
"""Version of the file format; files of others are refused."""

ROWS: dict[str, tuple[int | str, ...]] = {
    "t": (),
    "q": ("nq",),
    "v": ("nv",),
    "tau": ("nv",),
    "contact_force": ("nc", 3),
    "contact_depth": ("nc",),
    "contact_position": ("nc", 3),
    "base_position": (3,),
    "base_rotation": (3, 3),
    "kinetic_energy": (),
    "potential_energy": (),
    "objective": (),
    "status": (),
    "outer_iterations": (),
    "evaluations": (),
    "step_size": (),
    "halvings": (),
    "wall_time": (),
    "residual": (),
    "rejected": (),
    "discarded": (),
    "condition": (),
    "error": (),
    "primal": (),
    "dual": (),
    "complementarity": (),
}
"""Arrays of a recording and the shape of a row; nq, nv, nc stand for sizes of the robot."""

INTEGERS = frozenset(
    {"status", "outer_iterations", "evaluations", "halvings", "rejected", "discarded"}
)
"""Arrays of whole numbers; the others hold floats."""


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays of `ROWS` and the metadata; code in a file is never run.

    Raises:
        RecordingError: the file does not exist, or is truncated, no recording, of a later
            version of this package, lacks an array or holds one of a wrong shape or type.
    """
    if not os.path.exists(path) and journal_path(path).exists():
        raise RecordingError(
            f"there is no recording '{path}', but an unfinished one, '{journal_path(path)}': "
            "give its name, or make a recording of it with nmdp-pin recover"
        )
    with open_input(path, "recording") as file:
        unfinished = file.read(len(MAGIC)) == MAGIC
    arrays = _read_journal(path) if unfinished else read_npz(path, "recording", (*ROWS, "meta"))
    missing = [name for name in (*ROWS, "meta") if name not in arrays]
    if missing:
        raise RecordingError(f"'{path}' is not a recording: it lacks {', '.join(missing)}")
    meta = take_meta(arrays, "format", FORMAT, path, "recording")
    sizes = _checked_sizes(meta, path)
    _check_arrays(arrays, sizes, len(meta["statuses"]), path)
    return {name: arrays[name] for name in ROWS}, meta


def row_shape(name: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """Shape of a row of the array `name` for a robot of the given sizes."""
    return tuple(size if isinstance(size, int) else sizes[size] for size in ROWS[name])


def row_type(sizes: dict[str, int]) -> np.dtype:
    """A row of all arrays as one structured type, in which journals keep them."""
    kinds = ((name, "<i8" if name in INTEGERS else "<f8") for name in ROWS)
    return np.dtype([(name, kind, row_shape(name, sizes)) for name, kind in kinds])


def _read_journal(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Arrays of a journal so far."""
    chunks = read_chunks(path, "recording")
    try:
        arrays = {"meta": np.array(chunks[0].decode())}
        meta = take_meta(dict(arrays), "format", FORMAT, path, "recording")
        kind = row_type(_checked_sizes(meta, path))
        rows = np.frombuffer(b"".join(chunks[1:]), kind)
    except (IndexError, ValueError, OverflowError, MemoryError) as error:
        raise RecordingError(f"'{path}' is not the journal of a recording: {error}") from error
    return arrays | {name: rows[name].copy() for name in ROWS}


def _checked_sizes(meta: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, int]:
    """Sizes nq, nv and nc, checked against the lists of names."""
    try:
        sizes = {name: int(meta["sizes"][name]) for name in ("nq", "nv", "nc")}
        names = [*meta["joints"], *meta["contacts"], *meta["statuses"], meta["robot"]]
        if min(sizes.values()) < 0 or len(meta["contacts"]) != sizes["nc"]:
            raise ValueError("the sizes and names that it states disagree")
        if not all(isinstance(name, str) for name in names):
            raise ValueError("it has names that are not texts")
        dict(meta["versions"])
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise RecordingError(f"'{path}': its meta data cannot be used ({error})") from error
    return sizes


def _check_arrays(
    arrays: dict[str, np.ndarray],
    sizes: dict[str, int],
    n_statuses: int,
    path: str | os.PathLike[str],
) -> None:
    n = arrays["t"].shape[0] if arrays["t"].ndim == 1 else 0
    if n == 0:
        raise RecordingError(f"'{path}': t has shape {arrays['t'].shape}, expected (n,), n > 0")
    for name in ROWS:
        shape = (n, *row_shape(name, sizes))
        if arrays[name].shape != shape:
            raise RecordingError(
                f"'{path}': {name} has shape {arrays[name].shape}, expected {shape}"
            )
        kind = "i" if name in INTEGERS else "f"
        if arrays[name].dtype.kind != kind:
            raise RecordingError(f"'{path}': {name} has the type {arrays[name].dtype}")
    for name in ("t", "q", "v", "base_position", "base_rotation"):
        if not np.isfinite(arrays[name]).all():
            raise RecordingError(f"'{path}': {name} holds numbers that are not finite")
    if (np.diff(arrays["t"]) < 0.0).any():
        raise RecordingError(f"'{path}': the times decrease")
    if not ((arrays["status"] >= 0) & (arrays["status"] < n_statuses)).all():
        raise RecordingError(f"'{path}': it has a status that is not among its {n_statuses}")
