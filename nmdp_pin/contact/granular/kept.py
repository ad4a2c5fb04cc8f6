"""Arrays that are dear to make, kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from nmdp_pin.errors import RecordingError
from nmdp_pin.output_file import write_whole


def cache_folder() -> Path:
    """Where this system keeps what can be made again: ~/.cache/nmdp-pin, or its own place."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "nmdp-pin"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    given = os.environ.get(variable, "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "nmdp-pin"


def sources_version(folder: Path) -> str:
    """Fingerprint of the modules of a package and of numpy: other code, other arrays."""
    digest = hashlib.sha256(np.__version__.encode())
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kept_array(
    name: str, key: str, shape: tuple[int, ...], make: Callable[[], np.ndarray]
) -> np.ndarray:
    """An array from the cache, or made and put there; a cache that cannot be used is no error.

    Args:
        name: what the file's name begins with.
        key: all that the array depends on.
        shape: of the array; a file with another one counts as damaged.
        make: makes it.
    """
    path = cache_folder() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.npy"
    with suppress(OSError, ValueError, EOFError):
        found = np.load(path, allow_pickle=False)
        if found.shape == shape and found.dtype == np.float64:
            return found
    array = make()
    with suppress(OSError, RecordingError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: np.save(file, array))
    return array
