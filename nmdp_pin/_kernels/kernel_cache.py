"""Compiled kernels on disk.

Numba checks the file of a kernel, but a kernel contains the machine code of those that it calls.
The kernels are therefore kept in a folder whose name is a digest of the sources of all of them, of
Numba's version and of the processor.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

SOURCES = Path(__file__).parent


def digest(sources: Path) -> str:
    """Digest of the Python files of a folder, of Numba's version and of the processor."""
    machine = (numba.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    result = hashlib.sha256(repr(machine).encode())
    for path in sorted(sources.rglob("*.py")):
        result.update(path.relative_to(sources).as_posix().encode())
        result.update(path.read_bytes())
    return result.hexdigest()[:16]


def root() -> Path:
    """Folder of the caches of all installations: NUMBA_CACHE_DIR, or the user's cache folder."""
    config: Any = numba.config
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR) / "nmdp-pin"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "nmdp-pin" / "kernels"


class KernelFolder(UserProvidedCacheLocator):
    """Location of the compiled kernels of this installation.

    The name of the folder begins with a digest of the place of the sources, so that installations
    beside each other keep their own kernels.
    """

    _digest = digest(SOURCES)
    _place = hashlib.sha256(str(SOURCES.resolve()).encode()).hexdigest()[:8]

    def get_cache_path(self) -> str:
        """The folder, which need not exist."""
        return str(root() / f"{self._place}-{self._digest}")

    def get_source_stamp(self) -> str:
        """The digest of the sources."""
        return self._digest

    def ensure_cache_path(self) -> None:
        """Make the folder, and remove those of earlier sources of this installation."""
        folder = Path(self.get_cache_path())
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            for other in folder.parent.glob(f"{self._place}-*"):
                if other != folder:
                    shutil.rmtree(other, ignore_errors=True)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> KernelFolder:
        """The location for any kernel."""
        return cls(py_func, py_file)


class _Compiled(CompileResultCacheImpl):
    _locator_classes = [KernelFolder]  # noqa: RUF012  # as in Numba's own class


class KernelCache(FunctionCache):
    """Numba's cache of one kernel, in the folder of the current sources.

    Processes that compile the same kernel at once wait for each other while they write: Numba's own
    cache would confuse their files. Nothing is kept where the folder cannot be written, or where
    the sources have changed since they were imported.
    """

    _impl_class = _Compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if it has machine code."""
        if data.entry_point is None or _is_outdated():
            return
        try:
            self._impl.locator.ensure_cache_path()
            with (Path(self.cache_path) / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                super().save_overload(sig, data)
        except OSError:
            _warn_once(self.cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel, or None where it is not kept."""
        try:
            return super().load_overload(sig, target_context)
        except OSError:
            return None


def _is_outdated() -> bool:
    """Whether the sources differ from those that were imported."""
    try:
        return digest(SOURCES) != KernelFolder._digest
    except OSError:  # the installation was removed
        return True


@functools.cache
def _warn_once(folder: str) -> None:
    """Log that a folder cannot be written."""
    import logging

    logging.getLogger("nmdp_pin").warning(
        "nmdp-pin cannot write to %s, so each process compiles its kernels anew; set "
        "NUMBA_CACHE_DIR to a folder that can be written",
        folder,
    )
