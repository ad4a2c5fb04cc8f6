"""Kernels as Numba's dispatchers, of whose inside they use what `numba_members` lists.

Numba makes machine code of every function, and of all the functions that it calls again with each
of their callers. Kernels that only other kernels call stay as they are until one that Python calls
is compiled, which then is optimised with all its callees at once: in half a minute instead of one.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import llvmlite.binding as llvm
import numba
from numba.core import compiler, errors, event, ir, sigutils, types
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.types.functions import BaseFunction

from nmdp_pin._kernels.compiler import kernel_cache
from nmdp_pin._kernels.compiler.linkage import name_internals, names_in, set_linkage
from nmdp_pin._kernels.compiler.numba_members import FunctionCompiler, check
from nmdp_pin._kernels.compiler.processor import machine_of, target_of

_CONFIG: Any = numba.config  # whose attributes are set when it is imported
_CompileResult: Any = compiler.CompileResult
_Flags: Any = compiler.Flags
_DEFAULTS = {name: option.default for name, option in _Flags.options.items()}

_MAKERS = {"array", "arange", "copy", "empty", "empty_like", "eye", "flatten", "linalg", "ones"}
_MAKERS |= {"reshape", "zeros", "zeros_like"}  # names of what makes arrays
_PACKAGE = "nmdp_pin._kernels."  # whose sources the cache knows

check()


class Kernel(CPUDispatcher):
    """A compiled function, which is kept on disk where Python calls it.

    What other kernels call is compiled with them, without machine code and arguments from Python.
    LLVM's level is 1: kernels are as fast as at Numba's usual level 3, and compiled sooner.
    """

    _depth: ClassVar[int] = 0  # of the kernels that are being compiled

    def __init__(self, py_func: Any, *given: Any, **options: Any) -> None:
        super().__init__(py_func, *given, **options)
        target = self.targetdescr, self.targetoptions, self.locals
        self._cache = _Cache(py_func)
        self._compiler = _Compiler(py_func, *target, compiler.Compiler)

    def compile(self, types_of: Any) -> Any:
        """Compile the function for types of its arguments."""
        with global_compiler_lock:
            Kernel._depth += 1
            try:
                if Kernel._depth > 1:
                    return super().compile(types_of)
                arguments = tuple(sigutils.normalize_signature(types_of)[0])
                known: Any = self.overloads.get(arguments)
                if known is not None and isinstance(known.entry_point, _Callee):
                    del self.overloads[arguments]
                with _quick(self.targetctx):
                    return super().compile(types_of)
            finally:
                Kernel._depth -= 1

    def is_kept(self, types_of: Any) -> bool:
        """Whether a version for types of arguments is on disk."""
        return bool(self._cache.content(types_of, self.targetctx))

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
    """Whether a function, with what is inlined, makes arrays or is given some: it frees them."""
    names = function.__code__.co_names
    return not _MAKERS.isdisjoint(names) or any(
        (_returns_arrays if isinstance(x, Kernel) else _has_arrays)(x.py_func)
        for x in map(function.__globals__.get, names)
        if isinstance(x, CPUDispatcher)
    )


def _returns_arrays(function: Any) -> bool:
    """Whether an annotation says that a function returns an array, or a named tuple of some."""
    kind = str(function.__annotations__.get("return"))
    return "Array" in kind or "ndarray" in kind or isinstance(function.__globals__.get(kind), type)


class _Compiler(FunctionCompiler):
    """Compiler of a kernel."""

    def _customize_flags(self, flags: Any) -> Any:
        """Leave out what only Python needs where a kernel is compiled as a part of another one."""
        kernel_cache.announce()
        # the parts that call Python inherit these flags, and are executed
        alone = Kernel._depth == 1 or not self.targetoptions["nogil"]
        flags.no_compile = flags.no_cpython_wrapper = not alone
        # kernels that make no arrays count no references
        flags.nrt = alone or _has_arrays(self.py_func)
        return flags


@contextlib.contextmanager
def _quick(context: Any) -> Iterator[None]:
    """Compile kernels, at level 1, without what costs half of Numba's time and changes nothing.

    That are searches for overloads that were found before, colours in messages of those that do not
    fit, comparisons of flags by all their names, reports of parts, copies of all variables with
    each block of what is inlined, lifetimes found once more before they are used, ends of variables
    where no references are counted, and searches for garbage, of which a compiler makes none.
    """
    from unittest import mock

    codegen, flags, collects = context.codegen(), _Flags, gc.isenabled()
    with contextlib.ExitStack() as before:
        for owner, name, value in (
            (event, "start_event", functools.partial(_tell, event.start_event)),
            (event, "end_event", functools.partial(_tell, event.end_event)),
            (ir.Scope, "__deepcopy__", lambda scope, known: scope),
            (PostProcessor, "run", _postponing(PostProcessor.run)),
            (_CONFIG, "OPT", type(_CONFIG.OPT)(1)),
            (codegen, "_library_class", KernelLibrary),
            (codegen, "_tm", machine_of(codegen)),
            (codegen, "set_env", functools.partial(_set_env, codegen, codegen.set_env)),
            (flags, "__eq__", _are_equal),
            (flags, "__hash__", lambda flags: hash(flags.nrt)),  # two of one are rare
            (type(errors.termcolor()), "_markup", lambda scheme, message, *colours: message),
            (BaseFunction, "get_call_type", _remembering(BaseFunction.get_call_type)),
        ):
            before.enter_context(mock.patch.object(owner, name, value, create=True))
        gc.disable()
        if collects:
            before.callback(gc.enable)
            if not gc.get_freeze_count():  # what is left is old: the next full search finds it
                before.callback(gc.unfreeze)
                before.callback(gc.freeze)
        yield


def _set_env(codegen: Any, set_env: Any, name: str, environment: Any) -> None:
    """Set the environment of a function, if it has machine code."""
    if codegen._engine.get_global_value_address(name):
        set_env(name, environment)


def _are_equal(flags: Any, others: Any) -> Any:
    """Whether flags are those of another compilation."""
    if flags is others:
        return True
    if not isinstance(others, _Flags):
        return NotImplemented
    mine, theirs = flags._values, others._values
    return bool(mine == theirs or _DEFAULTS | mine == _DEFAULTS | theirs)


def _remembering(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Search for the overload of a function, which is found once for each types of arguments."""
    known: dict[Any, tuple[Any, Any, Any]] = {}

    def get_call_type(function: Any, context: Any, args: Any, kws: dict[str, Any]) -> Any:
        flags: Any = ConfigStack.top_or_none()
        key = id(function), tuple(args), tuple(kws.items()), flags is None or flags.nrt
        if key not in known:
            found = resolve(function, context, args, kws)
            known[key] = function, found, function.get_impl_key(found)
        _, found, implementation = known[key]
        function._impl_keys[found.args] = implementation
        return found

    return get_call_type


def _postponing(run: Callable[..., None]) -> Callable[..., None]:
    """Find lifetimes of variables when they are asked for; write their ends where they count."""

    def process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code, flags = self.func_ir, ConfigStack.top_or_none()
        if code.is_generator or (emit_dels and (flags is None or flags.nrt)):
            run(self, emit_dels, extend_lifetimes)
            return
        code.blocks = canonicalize_cfg(code.blocks)
        code.variable_lifetime, code.generator_info = VariableLifetime(code.blocks), None

    return process


def _tell(report: Callable[..., None], kind: str, data: Any = None, **details: Any) -> None:
    """Report when the kernel that Python calls is compiled, and no other event."""
    if kind == "numba:compile" and Kernel._depth == 1:
        report(kind, data, **details)


class _Cache(NullCache):
    """Kept versions of a kernel, each in a file; functions of other packages have none."""

    def __init__(self, function: Any) -> None:
        place = f"{function.__module__}.{function.__qualname__}"
        line = function.__code__.co_firstlineno
        self._keeps = place.startswith(_PACKAGE) and function.__closure__ is None
        self._place = f"{place.removeprefix(_PACKAGE)}-{line}"

    def _name(self, types_of: Any) -> str:
        """Name of the file of a version."""
        return f"{self._place}.{hashlib.sha256(repr(types_of).encode()).hexdigest()[:16]}"

    def content(self, signature: Any, context: Any) -> bytes | None:
        """What is kept of the version for a signature."""
        types_of, target = sigutils.normalize_signature(signature), target_of(context.codegen())
        return kernel_cache.read(target, self._name(types_of)) if self._keeps else None

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The version for a signature, or None where it is not kept."""
        context.refresh()
        content = self.content(signature, context)
        types_of = sigutils.normalize_signature(signature)
        found, version = pickle.loads(content) if content else (None, ())
        return _CompileResult._rebuild(context, *version) if found == types_of else None

    def save_overload(self, signature: Any, version: Any) -> None:
        """Keep a version that has machine code, without addresses of this process."""
        moves = not version.library.has_dynamic_globals and all(x.can_cache for x in version.lifted)
        if self._keeps and moves and version.entry_point is not None:
            types_of, target = sigutils.normalize_signature(signature), target_of(version.codegen)
            kernel_cache.write(target, self._name(types_of), dumps((types_of, version._reduce())))


class KernelLibrary(JITCodeLibrary):
    """Code of one function, which becomes executable when its address is asked for."""

    CALLS: ClassVar[set[Any]] = set()  # of deferred kernels, in all libraries of this process

    _is_executable = False
    _code: bytes | None = None  # for callers, of a library that was kept
    _calls: frozenset[Any] = frozenset()  # of deferred kernels

    def defer(self, call: tuple[Any, ...]) -> None:
        """Note the call of a deferred kernel: its module and name, and types of its arguments."""
        self._calls |= {call}
        KernelLibrary.CALLS.add(call)

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

    def serialize_using_object_code(self) -> Any:
        """The machine code, the names in it, and the code for callers."""
        name, kind, (machine, code) = super().serialize_using_object_code()
        names = names_in(self._get_module_for_linking())
        return name, kind, (machine, code, names, self._all_calls())

    def _all_calls(self) -> frozenset[Any]:
        """The calls of deferred kernels by this function, and by all that are linked with it."""
        seen, waiting = {self}, [self]
        while waiting:
            found = set(waiting.pop()._linking_libraries) - seen
            waiting += [library for library in found if isinstance(library, KernelLibrary)]
            seen |= found
        return frozenset().union(*(getattr(library, "_calls", ()) for library in seen))

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        """The library of machine code that was kept; the code for callers is read for them."""
        name, _, (machine, code, names, calls) = state
        library = codegen.create_library(name)
        library.enable_object_caching()
        library._set_compiled_object(machine)
        library._finalize_final_module()
        codegen._engine._defined_symbols.update(names)
        library._code, library._is_executable, library._calls = code, True, calls
        KernelLibrary.CALLS.update(calls)
        return library

    def _make_executable(self) -> None:
        """Optimise the code with that of its callees, and make machine code of it."""
        if self._is_executable:
            return
        self._is_executable = True
        for module in self._callees({self}):
            self._final_module.link_in(module)
        set_linkage(self._final_module, "weak_odr", "internal")
        name_internals(self._final_module)
        self._optimize_final_module()
        self._final_module.verify()
        codegen: Any = self._codegen
        code = machine_of(codegen).emit_object(self._final_module)
        self.enable_object_caching()
        self._compiled_object = code  # for the engine, which takes it instead of making its own
        self._finalize_final_module()
        self._compiled_object = code  # for what is kept
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if variable.name.startswith("_ZN08NumbaEnv") and environment is not None:
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
            set_linkage(module, "external", "weak_odr")
            set_linkage(module, "linkonce_odr", "weak_odr")
            yield module
            if lazy:
                yield from library._callees(seen)

    def _get_module_for_linking(self) -> Any:
        """The code with that of its callees, for callers that are no kernels."""
        if self._code is not None:
            self._shared_module, self._code = llvm.parse_bitcode(self._code), None
        if self._is_executable:
            return super()._get_module_for_linking()
        if self._shared_module is None:
            result = self._final_module.clone()
            for module in self._callees({self}):
                result.link_in(module)
            set_linkage(result, "weak_odr", "internal")
            set_linkage(result, "external", "linkonce_odr")
            self._shared_module = result
        return self._shared_module
