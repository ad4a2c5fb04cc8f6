"""The compiler of the kernels."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event
from numba.core.dispatcher import LiftedCode

from nmdp_pin.kernels.kernel_cache import KernelCache

_CONFIG: Any = numba.config  # whose attributes are set when it is imported

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "no_cfunc_wrapper": True,  # nothing calls the kernels from C
}


def jit(function: F) -> F:
    """Compile a kernel when it is first called, and keep it."""
    return _kept(numba.njit(**_OPTIONS)(function))


def inlined(function: F) -> F:
    """Make a kernel a part of its only caller, which compiles sooner than both of them."""
    return numba.njit(**_OPTIONS, inline="always")(function)


def calling_jit(function: F) -> F:
    """Compile a kernel that calls Python, for which it takes the interpreter's lock again."""
    return _kept(numba.njit(**(_OPTIONS | {"nogil": False}))(function))


def _kept(kernel: Any) -> Any:
    """The kernel, with the cache of this package in place of Numba's."""
    if not _CONFIG.DISABLE_JIT:
        kernel._cache = KernelCache(kernel.py_func)
    return kernel


class _Compilation(event.Listener):
    """Compiles the kernels at LLVM's level 1, and logs once that this takes long.

    The kernels are as fast as at Numba's usual level 3, and compiled sooner.
    """

    def __init__(self) -> None:
        self._logged, self._depth, self._level = False, 0, _CONFIG.OPT

    def on_start(self, event: event.Event) -> None:
        if not _is_kernel(event):
            return
        if self._depth == 0:
            self._level = _CONFIG.OPT
            _CONFIG.OPT = type(self._level)(1)
        self._depth += 1
        if not self._logged:
            self._logged = True
            logging.getLogger("nmdp_pin").warning(
                "nmdp-pin compiles the kernels of a method, once per installation; this takes up "
                "to a minute"
            )

    def on_end(self, event: event.Event) -> None:
        if not _is_kernel(event):
            return
        self._depth -= 1
        if self._depth == 0:
            _CONFIG.OPT = self._level


def _is_kernel(compilation: event.Event) -> bool:
    """Whether a function of this package is compiled; functions made by exec have no module.

    What calls Python inside a kernel is compiled anew in each process, in milliseconds.
    """
    if isinstance(compilation.data["dispatcher"], LiftedCode):
        return False
    return str(compilation.data["dispatcher"].py_func.__module__).startswith(__package__)


event.register("numba:compile", _Compilation())
