"""The compiler of the kernels."""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

import numba
import numpy as np
from numba.core import compiler, dispatcher, errors, event, ir, sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.registry import CPUDispatcher
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.types.functions import BaseFunction

from nmdp_pin._kernels.compiler.kernel_cache import KernelCache, KernelLibrary

_CONFIG: Any = numba.config  # whose attributes are set when it is imported
_FunctionCompiler: Any = getattr(dispatcher, "_FunctionCompiler")  # noqa: B009  # has no stub

_Flags: Any = compiler.Flags
_DEFAULTS = {name: option.default for name, option in _Flags.options.items()}

_MAKERS = {"array", "arange", "copy", "empty", "empty_like", "eye", "flatten", "linalg", "ones"}
_MAKERS |= {"reshape", "zeros", "zeros_like"}  # names of what makes arrays

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
            arguments = tuple(sigutils.normalize_signature(signature)[0])
            known: Any = self.overloads.get(arguments)
            if known is not None and isinstance(known.entry_point, _Callee):
                del self.overloads[arguments]
            with _quick(self.targetctx):
                return super().compile(signature)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Typing of a call; kernels are not compiled for a certain number."""
        plain = {name: types.unliteral(kind) for name, kind in dict(kws).items()}
        return super().get_call_template(tuple(map(types.unliteral, args)), plain)

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
    return "Array" in kind or "ndarray" in kind or isinstance(function.__globals__.get(kind), type)


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
def _quick(context: Any) -> Iterator[None]:
    """Compile kernels, at level 1, without what costs half of Numba's time and changes nothing.

    That are searches for overloads that were found before, colours in the messages of those that
    do not fit, comparisons of flags by the names of all of them, reports of when parts start and
    end, copies of all variables with each block of what is inlined, lifetimes of variables that are
    found once more before they are used, and searches for garbage, of which a compiler makes none.
    """
    from unittest import mock

    codegen, flags, scheme = context.codegen(), _Flags, type(errors.termcolor())
    collects = gc.isenabled()
    with contextlib.ExitStack() as before:
        for owner, name, value in (
            (event, "start_event", functools.partial(_tell, event.start_event)),
            (event, "end_event", functools.partial(_tell, event.end_event)),
            (ir.Scope, "__deepcopy__", lambda scope, known: scope),
            (PostProcessor, "run", _postponing(PostProcessor.run)),
            (_CONFIG, "OPT", type(_CONFIG.OPT)(1)),
            (codegen, "_library_class", KernelLibrary),
            (codegen, "set_env", functools.partial(_set_env, codegen, codegen.set_env)),
            (flags, "__eq__", _are_equal),
            (flags, "__hash__", _hash_of),
            (scheme, "_markup", _plain),
            (BaseFunction, "get_call_type", _remembering(BaseFunction.get_call_type)),
        ):
            before.enter_context(mock.patch.object(owner, name, value, create=True))
        gc.disable()
        if collects:
            before.callback(gc.enable)
        yield


def _set_env(
    codegen: Any, set_env: Callable[[str, Any], None], name: str, environment: Any
) -> None:
    """Set the environment of a function, if it has machine code."""
    if codegen._engine.get_global_value_address(name):
        set_env(name, environment)


def _are_equal(flags: Any, others: Any) -> bool:
    """Whether flags are those of another compilation."""
    if flags is others:
        return True
    if not isinstance(others, _Flags):
        return NotImplemented
    mine, theirs = flags._values, others._values
    return bool(mine == theirs or _DEFAULTS | mine == _DEFAULTS | theirs)


def _hash_of(flags: Any) -> int:
    """A hash of flags; two that differ in all but one option are rare."""
    return hash(flags.nrt)


def _remembering(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Search for the overload of a function, which is found once for each types of arguments."""
    known: dict[Any, tuple[Any, Any, Any]] = {}

    def get_call_type(function: Any, context: Any, args: Any, kws: dict[str, Any]) -> Any:
        flags: Any = ConfigStack.top_or_none()
        key = id(function), tuple(args), tuple(kws.items()), flags is None or flags.nrt
        if key not in known:
            found = resolve(function, context, args, kws)
            known[key] = function, found, function.get_impl_key(found)
        _, signature, implementation = known[key]
        function._impl_keys[signature.args] = implementation
        return signature

    return get_call_type


def _postponing(run: Callable[..., None]) -> Callable[..., None]:
    """Find lifetimes of variables when they are asked for, as where they end in the code."""

    def process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code = self.func_ir
        if emit_dels or code.is_generator:
            run(self, emit_dels, extend_lifetimes)
            return
        code.blocks = canonicalize_cfg(code.blocks)
        code.variable_lifetime, code.generator_info = VariableLifetime(code.blocks), None

    return process


def _tell(report: Callable[..., None], kind: str, data: Any = None, **details: Any) -> None:
    """Report when the kernel that Python calls is compiled, and no other event."""
    if kind == "numba:compile" and Kernel._depth == 1:
        report(kind, data, **details)


def _plain(scheme: Any, message: str, *colours: Any) -> str:
    """A message without colours."""
    return message


@functools.cache
def _log_once() -> None:
    """Log that compilation takes long."""
    logging.getLogger("nmdp_pin").warning(
        "nmdp-pin compiles the kernels of a method, once per installation; this takes up to a "
        "minute"
    )
