"""The compiler of the kernels."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "no_cfunc_wrapper": True,  # nothing calls the kernels from C; a twentieth of the compilation
}


def jit(function: F) -> F:
    """Compile a kernel when it is first called."""
    compiled: F = numba.njit(**_OPTIONS)(function)
    return compiled


def inlined_jit(function: F) -> F:
    """Compile a kernel into its callers; worth it where records of many arrays are passed."""
    compiled: F = numba.njit(**_OPTIONS, forceinline=True)(function)
    return compiled


class _Notice(event.Listener):
    """Logs once that kernels are compiled, since the first step then takes long."""

    def __init__(self) -> None:
        self._given = False

    def on_start(self, event: event.Event) -> None:
        module = event.data["dispatcher"].py_func.__module__  # None of functions made by exec
        if not self._given and str(module).startswith(__package__):
            self._given = True
            logging.getLogger("nmdp_pin").warning(
                "nmdp-pin compiles its kernels, once per installation; this takes about half a "
                "minute"
            )

    def on_end(self, event: event.Event) -> None:
        """Nothing is to be said at the end."""


event.register("numba:compile", _Notice())
