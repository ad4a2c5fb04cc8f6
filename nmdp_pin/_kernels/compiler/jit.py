"""The compiler of the kernels."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

_CONFIG: Any = numba.config  # whose attributes are set when it is imported

try:
    from nmdp_pin._kernels.compiler.deferred import DeferredKernel
    from nmdp_pin._kernels.compiler.numba_internals import Kernel
except (ImportError, AttributeError, TypeError, ValueError) as _unknown:
    Kernel: Any = None  # type: ignore[no-redef]
    DeferredKernel: Any = None  # type: ignore[no-redef]
    if not _CONFIG.DISABLE_JIT:
        logging.getLogger("nmdp_pin").warning(
            "nmdp-pin does not know Numba %s (%s): each process compiles its kernels anew, which "
            "takes more than a minute; with Numba 0.65 to 0.68 they are kept",
            numba.__version__,
            _unknown,
        )

F = TypeVar("F", bound=Callable[..., Any])
Array = np.ndarray
"""The arrays of kernels, whose shapes docstrings say."""

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "no_cfunc_wrapper": True,  # nothing calls the kernels from C
}


def jit(function: F) -> F:
    """Compile a kernel when it is first called, and keep it."""
    kernel: F = _kernel(function, _OPTIONS, Kernel)
    return kernel


def deferred(function: F) -> F:
    """Compile a kernel when another kernel first calls it, apart from its callers, and keep it."""
    kernel: F = _kernel(function, _OPTIONS, DeferredKernel)
    return kernel


def inlined(function: F) -> F:
    """Make a kernel a part of its only caller, which compiles sooner than both of them."""
    kernel: F = numba.njit(**_OPTIONS, inline="always")(function)
    return kernel


def calling_jit(function: F) -> F:
    """Defer a kernel that calls Python, for which it takes the interpreter's lock again."""
    kernel: F = _kernel(function, _OPTIONS | {"nogil": False}, DeferredKernel)
    return kernel


def _kernel(function: Any, options: dict[str, Any], kind: Any) -> Any:
    """The kernel of a function; a plain one, which is not kept, where Numba is unknown."""
    if _CONFIG.DISABLE_JIT:
        return function
    if kind is None:
        return numba.njit(**options)(function)
    return kind(function, targetoptions=options | {"nopython": True, "boundscheck": None})
