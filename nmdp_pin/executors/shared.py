"""Content shared by all tasks, read once by each worker."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from typing import Any

_MOST = 4  # a worker that serves several simulators keeps so many of them

_read: dict[str, Any] = {}  # of this worker process, by key, the last used at the end


def key_of(content: bytes) -> str:
    """Key of pickled bytes."""
    return hashlib.sha256(content).hexdigest()


def read_once(key: str, content: Callable[[], bytes]) -> Any:
    """Content pickled under this key; `content` is called where the key is new."""
    shared = _read.pop(key) if key in _read else pickle.loads(content())
    _read[key] = shared
    while len(_read) > _MOST:
        del _read[next(iter(_read))]
    return shared
