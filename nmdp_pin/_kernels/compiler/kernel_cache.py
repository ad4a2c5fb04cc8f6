"""Machine code of kernels: in memory of those that Python calls, and on disk.

Numba makes machine code of every function, and of all the functions that it calls again with each
of their callers. Kernels that only other kernels call stay as they are until one that Python calls
is compiled, which then is optimised with all its callees at once.

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
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.environment import lookup_environment
from numba.core.targetconfig import ConfigStack

SOURCES = Path(__file__).parents[1]
_ENVIRONMENT = "_ZN08NumbaEnv"  # beginning of the names of the variables with environments


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


class KernelLibrary(JITCodeLibrary):
    """Code of one function, which becomes executable when its address is asked for."""

    _is_executable = False

    def finalize(self) -> None:
        """End the code; it is not optimised."""
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Address of a function, 0: there is none, as of Numba's own, which Python never calls."""
        flags: Any = ConfigStack.top_or_none()
        if not self._is_executable and flags is not None and flags.no_cpython_wrapper:
            return 0
        self._make_executable()
        return int(super().get_pointer_to_function(name))

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        """The library of machine code that was kept."""
        library = super()._unserialize(codegen, state)
        library._is_executable = True
        return library

    def _make_executable(self) -> None:
        """Optimise the code with that of its callees, and make machine code of it."""
        if self._is_executable:
            return
        self._is_executable = True
        for module in self._callees({self}):
            self._final_module.link_in(module)
        _set_linkage(self._final_module, "weak_odr", "internal")
        _name_internals(self._final_module)
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()
        codegen: Any = self._codegen
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if variable.name.startswith(_ENVIRONMENT) and environment is not None:
                codegen.set_env(variable.name, environment)

    def _callees(self, seen: set[Any]) -> Iterator[Any]:
        """Copies of the modules that this one calls, directly or not."""
        for library in self._linking_libraries:
            if library in seen:
                continue
            seen.add(library)
            self._reload_init.update(library._reload_init)
            lazy = isinstance(library, KernelLibrary) and not library._is_executable
            code = library._final_module if lazy else library._get_module_for_linking()
            module = code.clone()
            # what is linked only where it is called would be lost before its caller comes
            _set_linkage(module, "external", "weak_odr")
            _set_linkage(module, "linkonce_odr", "weak_odr")
            yield module
            if lazy:
                yield from library._callees(seen)

    def _get_module_for_linking(self) -> Any:
        """The code with that of its callees, for callers that are no kernels."""
        if self._is_executable:
            return super()._get_module_for_linking()
        if self._shared_module is None:
            result = self._final_module.clone()
            for module in self._callees({self}):
                result.link_in(module)
            _set_linkage(result, "weak_odr", "internal")
            _set_linkage(result, "external", "linkonce_odr")
            self._shared_module = result
        return self._shared_module


def _name_internals(module: Any) -> None:
    """Give what is internal to a module names that no other module has, of any process.

    LLVM finds callees by name, internal ones too, in all the machine code that was loaded. Code
    that was kept has callees of the same names as new code, where Numba has counted as far, but
    with other arguments: those that nothing reads are optimised away.
    """
    tag = uuid.uuid4().hex
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.linkage.name == "internal":
            value.name = f"{value.name}.{tag}"


def _set_linkage(module: Any, before: str, after: str) -> None:
    """Change the linkage of the functions of a module that have a certain one."""
    for function in module.functions:
        if not function.is_declaration and function.linkage.name == before:
            function.linkage = after
