"""The file of a recording: a .npz of plain arrays and one JSON text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from nmdp_pin.errors import RecordingError
from nmdp_pin.npz_file import check_version, read_npz, to_json, write_npz

FORMAT = 3
"""Version of the file format; a file of a later one is refused."""

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

SINCE_2 = ("residual", "rejected", "discarded", "condition", "error")
"""Arrays that files of format 1 lack; read as NaN and 0."""

SINCE_3 = ("primal", "dual", "complementarity")
"""Arrays that files of formats 1 and 2 lack; likewise."""


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays of `ROWS` and the meta data; never runs code that a file may hold.

    Raises:
        RecordingError: there is no such file, or it is truncated, no recording, of a later
            version of this package, lacks an array or holds one of a wrong shape or type.
    """
    arrays = read_npz(Path(path), (*ROWS, "meta"), "recording")
    meta = _read_meta(arrays, path)
    shape = np.shape(arrays["t"])
    for name in _later_than(int(meta["format"])):
        arrays[name] = np.zeros(shape, int) if name in INTEGERS else np.full(shape, np.nan)
    _check_arrays(arrays, meta, path)
    return {name: arrays[name] for name in ROWS}, meta


def write_arrays(
    path: str | os.PathLike[str], arrays: dict[str, np.ndarray], meta: dict[str, Any]
) -> None:
    """Write a recording as a compressed `.npz`, whole or not at all.

    Raises:
        RecordingError: the path cannot be written.
    """
    write_npz(path, {**arrays, "meta": np.array(to_json(meta))})


def row_shape(name: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """Shape of a row of the array `name` for a robot of the given sizes."""
    return tuple(size if isinstance(size, int) else sizes[size] for size in ROWS[name])


def _later_than(version: int) -> tuple[str, ...]:
    """Arrays that files of a format lack."""
    return (SINCE_2 if version < 2 else ()) + (SINCE_3 if version < 3 else ())


def _read_meta(arrays: dict[str, np.ndarray], path: str | os.PathLike[str]) -> dict[str, Any]:
    missing = [name for name in (*ROWS, "meta") if name not in arrays]
    if [name for name in missing if name not in _later_than(1)]:
        raise RecordingError(f"'{path}' is not a recording: it lacks {', '.join(missing)}")
    try:
        meta = json.loads(str(arrays["meta"][()]))
        version, sizes = int(meta["format"]), meta["sizes"]
        names = (len(meta["joints"]), len(meta["contacts"]) - sizes["nc"], len(meta["statuses"]))
        if version < 1 or names[1] or any(int(sizes[k]) < 0 for k in ("nq", "nv", "nc")):
            raise ValueError("the sizes and names that it states disagree")
    except (ValueError, TypeError, KeyError) as error:
        raise RecordingError(f"'{path}': its meta data cannot be used ({error})") from error
    check_version(version, FORMAT, path)
    missing = [name for name in missing if name not in _later_than(version)]
    if missing:
        raise RecordingError(f"'{path}' is not a recording: it lacks {', '.join(missing)}")
    return dict(meta)


def _check_arrays(
    arrays: dict[str, np.ndarray], meta: dict[str, Any], path: str | os.PathLike[str]
) -> None:
    n = arrays["t"].shape[0] if arrays["t"].ndim == 1 else 0
    if n == 0:
        raise RecordingError(f"'{path}': t has shape {arrays['t'].shape}, expected (n,), n > 0")
    for name in ROWS:
        shape = (n, *row_shape(name, meta["sizes"]))
        if arrays[name].shape != shape:
            raise RecordingError(
                f"'{path}': {name} has shape {arrays[name].shape}, expected {shape}"
            )
        kind = "i" if name in INTEGERS else "f"
        if arrays[name].dtype.kind != kind:
            raise RecordingError(f"'{path}': {name} has the type {arrays[name].dtype}")
