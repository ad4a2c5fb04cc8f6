"""The compiler of the kernels."""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

import numba
from numba.core import compiler, dispatcher, sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from nmdp_pin._kernels.kernel_cache import KernelCache
from nmdp_pin._kernels.kernel_library import KernelLibrary

_CONFIG: Any = numba.config  # whose attributes are set when it is imported
_FunctionCompiler: Any = getattr(dispatcher, "_FunctionCompiler")  # noqa: B009  # has no stub

_MAKERS = {"array", "arange", "copy", "empty", "empty_like", "eye", "flatten", "linalg", "ones"}
_MAKERS |= {"reshape", "zeros", "zeros_like"}  # names of what makes arrays

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "no_cfunc_wrapper": True,  # nothing calls the kernels from C
}


def jit(function: F) -> F:
    """Compile a kernel when it is first called, and keep it."""
    return _kernel(function, _OPTIONS)


def inlined(function: F) -> F:
    """Make a kernel a part of its only caller, which compiles sooner than both of them."""
    return numba.njit(**_OPTIONS, inline="always")(function)


def calling_jit(function: F) -> F:
    """Compile a kernel that calls Python, for which it takes the interpreter's lock again."""
    return _kernel(function, _OPTIONS | {"nogil": False})


def _kernel(function: Any, options: dict[str, Any]) -> Any:
    """The kernel of a function."""
    if _CONFIG.DISABLE_JIT:
        return function
    return Kernel(function, targetoptions=options | {"nopython": True, "boundscheck": None})


class Kernel(CPUDispatcher):
    """A compiled function, which is kept on disk where Python calls it.

    What other kernels call is compiled with them, without machine code and arguments from Python.
    LLVM's level is 1: kernels are as fast as at Numba's usual level 3, and compiled sooner.
    """

    _depth: ClassVar[int] = 0  # of the kernels that are being compiled

    def __init__(
        self,
        py_func: Any,
        locals: Any = None,
        targetoptions: Any = None,
        pipeline_class: Any = compiler.Compiler,
    ) -> None:
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self._cache = KernelCache(py_func)
        self._compiler = _Compiler(
            py_func, self.targetdescr, self.targetoptions, self.locals, pipeline_class
        )

    def compile(self, signature: Any) -> Any:
        """Compile the function for types of its arguments."""
        with global_compiler_lock, _one_deeper():
            if Kernel._depth > 1:
                return super().compile(signature)
            types = tuple(sigutils.normalize_signature(signature)[0])
            known: Any = self.overloads.get(types)
            if known is not None and isinstance(known.entry_point, _Callee):
                del self.overloads[types]
            context: Any = self.targetctx
            with _level_1(context.codegen()):
                return super().compile(signature)

    def add_overload(self, result: Any) -> None:
        """Add a compiled version; one without machine code is not found from Python."""
        if result.entry_point is not None:
            super().add_overload(result)
            return
        callee = _Callee()
        self.targetctx.insert_user_function(callee, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result._replace(entry_point=callee)


class _Callee:
    """Key of a version that only kernels call."""


def _has_arrays(function: Any) -> bool:
    """Whether a function makes arrays, or calls a kernel that returns some: it must free them."""
    names = function.__code__.co_names
    callees = (function.__globals__.get(name) for name in names)
    return not _MAKERS.isdisjoint(names) or any(
        _returns_arrays(callee.py_func) for callee in callees if isinstance(callee, Kernel)
    )


def _returns_arrays(function: Any) -> bool:
    """Whether an annotation says that a function returns an array, or a named tuple of some."""
    kind = str(function.__annotations__.get("return"))
    return "ndarray" in kind or isinstance(function.__globals__.get(kind), type)


class _Compiler(_FunctionCompiler):
    """Compiler of a kernel."""

    def _customize_flags(self, flags: Any) -> Any:
        """Leave out what only Python needs where a kernel is compiled as a part of another one."""
        _log_once()
        # the parts that call Python inherit these flags, and are executed
        alone = Kernel._depth == 1 or not self.targetoptions["nogil"]
        flags.no_compile = flags.no_cpython_wrapper = not alone
        # kernels that make no arrays count no references
        flags.nrt = alone or _has_arrays(self.py_func)
        return flags


@contextlib.contextmanager
def _one_deeper() -> Iterator[None]:
    Kernel._depth += 1
    try:
        yield
    finally:
        Kernel._depth -= 1


@contextlib.contextmanager
def _level_1(codegen: Any) -> Iterator[None]:
    """Compile kernels, without searches for garbage, of which a compiler makes none."""
    level, library, collects = _CONFIG.OPT, codegen._library_class, gc.isenabled()
    _CONFIG.OPT, codegen._library_class = type(level)(1), KernelLibrary
    gc.disable()
    try:
        yield
    finally:
        _CONFIG.OPT, codegen._library_class = level, library
        if collects:
            gc.enable()


@functools.cache
def _log_once() -> None:
    """Log that compilation takes long."""
    logging.getLogger("nmdp_pin").warning(
        "nmdp-pin compiles the kernels of a method, once per installation; this takes up to a "
        "minute"
    )
