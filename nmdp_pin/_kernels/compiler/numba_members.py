"""What the kernels use of the inside of Numba, which may change with a version."""

from __future__ import annotations

from inspect import signature
from typing import Any

from numba.core import compiler, dispatcher, event, sigutils
from numba.core.callconv import CPUCallConv
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, JitEngine
from numba.core.cpu import CPUContext
from numba.core.environment import lookup_environment
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.pythonapi import PythonAPI
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.types.functions import BaseFunction
from numba.core.typing.templates import make_concrete_template

FunctionCompiler: Any = getattr(dispatcher, "_FunctionCompiler")  # noqa: B009  # has no stub

# Parameters of what is called or replaced, members that are used, and why.
_USED: tuple[tuple[Any, str | None, str], ...] = (
    # A kernel is a dispatcher that leaves machine code out where another kernel is its caller.
    (CPUDispatcher, "py_func locals targetoptions pipeline_class", "_cache _compiler locals"),
    (CPUDispatcher, None, "overloads targetctx targetdescr targetoptions"),
    (CPUDispatcher.compile, "self sig", ""),
    (CPUDispatcher.get_call_template, "self args kws", ""),
    (CPUDispatcher.add_overload, "self cres", ""),
    (FunctionCompiler, "py_func targetdescr targetoptions locals pipeline_class", ""),
    (FunctionCompiler._customize_flags, "self flags", ""),
    (sigutils.normalize_signature, "sig", ""),
    # The code of callees is linked with that of their caller before it is optimised.
    (JITCodeLibrary, None, "_codegen _final_module _finalized _linking_libraries _reload_init"),
    (JITCodeLibrary, None, "_optimize_final_module _finalize_final_module _raise_if_finalized"),
    (JITCodeLibrary, None, "_shared_module _get_module_for_linking finalize has_dynamic_globals"),
    (JITCodeLibrary, None, "_compiled_object _set_compiled_object enable_object_caching"),
    (JITCodeLibrary.serialize_using_object_code, "self", ""),
    (JitEngine, None, "_defined_symbols"),
    (JITCodeLibrary.get_pointer_to_function, "self name", ""),
    (JITCodeLibrary._unserialize, "codegen state", ""),
    (JITCPUCodegen.set_env, "self env_name env", ""),
    (JITCPUCodegen, None, "_customize_tm_options _engine _library_class _tm magic_tuple"),
    (lookup_environment, "env_name", ""),
    (ConfigStack.top_or_none, "", ""),
    # Kernels that are deferred are called by their addresses, for which Python is asked.
    (make_concrete_template, "name key signatures", ""),
    (CPUContext, None, "active_code_library"),
    (CPUContext.insert_func_defn, "self defns", ""),
    (CPUContext.get_python_api, "self builder", ""),
    (CPUCallConv.get_function_type, "self restype argtypes", ""),
    (CPUCallConv.call_function, "self builder callee resty argtys args attrs", ""),
    (CPUCallConv, None, "return_exc return_status_propagate"),
    (PythonAPI.call_function_objargs, "self callee objargs", ""),
    (PythonAPI, None, "gil_ensure gil_release long_as_longlong serialize_object unserialize"),
    # What is compiled is kept in files that nobody else can have written.
    (
        compiler.CompileResult,
        None,
        "_rebuild _reduce _replace entry_point fndesc library lifted signature",
    ),
    (dumps, "obj", ""),
    # Half of Numba's time goes into what it does again.
    (compiler.Flags, None, "_values no_compile no_cpython_wrapper nrt"),
    (event.start_event, "kind data", ""),
    (event.end_event, "kind data exc_details", ""),
    (PostProcessor.run, "self emit_dels extend_lifetimes", ""),
    (VariableLifetime, "blocks", ""),
    (canonicalize_cfg, "blocks", ""),
    (BaseFunction, None, "_impl_keys"),
    (BaseFunction.get_call_type, "self context args kws", ""),
    (BaseFunction.get_impl_key, "self sig", ""),
)


def check() -> None:
    """Refuse a Numba that lacks a member, or where one has other parameters."""
    for used, parameters, names in _USED:
        if parameters is not None and list(signature(used).parameters) != parameters.split():
            raise ImportError(f"{used.__qualname__} has other parameters than ({parameters})")
        methods = (each for cls in getattr(used, "__mro__", ()) for each in vars(cls).values())
        codes = (getattr(method, "__code__", None) for method in methods)
        known = {*dir(used), *(name for code in codes if code for name in code.co_names)}
        if missing := set(names.split()) - known:
            raise ImportError(f"{used.__qualname__} has no {', '.join(sorted(missing))}")
