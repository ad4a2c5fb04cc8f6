"""Cache of arrays that are expensive to compute, in the user's cache folder."""

import hashlib
import io
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from nmdp_pin._files.output_file import write_whole
from nmdp_pin.errors import RecordingError

_DIGEST = hashlib.sha256().digest_size  # [bytes], at the beginning of a file


def cache_folder() -> Path:
    """Folder of caches: ~/.cache/nmdp-pin, or below XDG_CACHE_HOME where that is absolute."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "nmdp-pin"


def sources_version(folder: Path) -> str:
    """Digest of the modules of a package and of numpy's version."""
    digest = hashlib.sha256(np.__version__.encode())
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cached_array(name: str, key: str, make: Callable[[], np.ndarray]) -> np.ndarray:
    """Array from the cache, computed if it is missing.

    A file is used only where its digest, over the key and the array, is right. A cache that
    cannot be read or written is no error.
    """
    path = cache_folder() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.array"
    with suppress(OSError):
        content = path.read_bytes()
        if _digest(key, content[_DIGEST:]) == content[:_DIGEST]:
            result: np.ndarray = np.load(io.BytesIO(content[_DIGEST:]), allow_pickle=False)
            return result
    made, stream = make(), io.BytesIO()
    np.save(stream, made, allow_pickle=False)
    with suppress(OSError, RecordingError):
        path.parent.mkdir(parents=True, exist_ok=True)
        content = stream.getvalue()
        write_whole(path, lambda file: file.write(_digest(key, content) + content))
    return made


def _digest(key: str, array: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + array).digest()
