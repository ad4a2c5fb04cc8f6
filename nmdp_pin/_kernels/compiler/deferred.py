"""Kernels that are compiled when another kernel first calls them.

A scene needs few of the kernels of shapes. The code of a caller has the address of each such kernel
in a variable, which is 0 until the first call asks for it: Python reads the kernel's code, or
compiles it. Each later call is that of a function by its address.
"""

from __future__ import annotations

import importlib
import typing
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import make_concrete_template, signature

from nmdp_pin._kernels.compiler.numba_internals import Kernel, KernelLibrary

_NUMBERS: dict[Any, types.Type] = {
    bool: types.boolean,
    int: types.int64,
    float: types.float64,
    type(None): types.none,
}


class DeferredKernel(Kernel):
    """A kernel whose callers have its address, and not its code; its annotation has its result."""

    def __init__(self, py_func: Any, *given: Any, **options: Any) -> None:
        super().__init__(py_func, *given, **options)
        self._calls: dict[tuple[Any, ...], _Call] = {}

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Typing of a call by another kernel, for which nothing is compiled."""
        pysig, given = self._compiler.fold_argument_types(args, kws)
        plain = tuple(map(types.unliteral, given))
        if plain not in self._calls:
            result = _type_of(typing.get_type_hints(self.py_func)["return"])
            call = self._calls[plain] = _Call(self.py_func, signature(result, *plain))
            self.targetctx.insert_func_defn([(call.generate, call, plain)])
        signatures = [call.signature for call in self._calls.values()]
        name = self.py_func.__name__
        return make_concrete_template(name, key=name, signatures=signatures), pysig, plain, {}

    def get_overload(self, sig: Any) -> Any:
        """The call of the kernel by its address."""
        return self._calls[tuple(sig)]


class _Call:
    """Call of a kernel by its address."""

    def __init__(self, function: Any, sig: Any) -> None:
        self._place = function.__module__, function.__qualname__
        self.signature = sig

    def generate(self, context: Any, builder: Any, sig: Any, args: Any) -> Any:
        """Write the call."""
        context.active_code_library.defer((*self._place, self.signature.args))
        length = context.get_value_type(types.intp)
        address = cgutils.add_global_variable(builder.module, length, ".".join(self._place))
        address.linkage, address.initializer = "internal", length(0)
        unknown = builder.icmp_unsigned("==", builder.load(address), length(0))
        with cgutils.if_unlikely(builder, unknown):
            self._ask(context, builder, address)
        kind = context.call_conv.get_function_type(self.signature.return_type, self.signature.args)
        kernel = builder.inttoptr(builder.load(address), kind.as_pointer())
        status, result = context.call_conv.call_function(
            builder, kernel, self.signature.return_type, self.signature.args, args
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    def _ask(self, context: Any, builder: Any, address: Any) -> None:
        """Write the call of Python that finds the address."""
        api = context.get_python_api(builder)
        lock = api.gil_ensure()
        ask, what = (
            api.unserialize(api.serialize_object(each))
            for each in (address_of, (*self._place, self.signature.args))
        )
        number = api.call_function_objargs(ask, [what])
        failed = cgutils.is_null(builder, number)
        with cgutils.if_likely(builder, builder.not_(failed)):
            builder.store(builder.bitcast(api.long_as_longlong(number), ir.IntType(64)), address)
            api.decref(number)
        api.decref(ask)
        api.decref(what)
        api.gil_release(lock)
        with cgutils.if_unlikely(builder, failed):
            context.call_conv.return_exc(builder)


def _type_of(annotation: Any) -> Any:
    """Type of a result: a number, nothing, or a tuple of such."""
    if annotation in _NUMBERS:
        return _NUMBERS[annotation]
    return types.BaseTuple.from_types(tuple(map(_type_of, typing.get_args(annotation))))


def compile_called() -> None:
    """Compile all that the kernels call that this process has compiled or read."""
    while KernelLibrary.CALLS:
        address_of(KernelLibrary.CALLS.pop())


def address_of(what: tuple[Any, ...]) -> int:
    """Address of the machine code of a kernel: its module and name, and types of its arguments."""
    module, name, types_of = what
    kernel = getattr(importlib.import_module(module), name)
    kernel.compile(types_of)
    version = kernel.overloads[types_of]
    return int(version.library.get_pointer_to_function(version.fndesc.llvm_func_name))
