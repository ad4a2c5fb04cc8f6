"""Memory of kernels: records, and small arrays on the stack.

A record is a class with annotated fields. Its objects have the fields as attributes in Python, and
share them with the kernels, for which a record is the address of a block of memory: the numbers,
and the addresses and shapes of the arrays. Python owns the arrays. Kernels count no references to
them, which would take a third of a step, and thus make and keep no records; what a kernel makes is
a named tuple.

Small arrays on the stack take no time to make. They end with the call of the kernel that makes
them: it neither returns them nor makes them in a loop.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import hashlib
import weakref
from typing import Any, dataclass_transform

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate  # as `infer_getattr` asks for
from numba.extending import (
    NativeValue,
    box,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    unbox,
)

_CONFIG: Any = numba.config  # whose attributes are set when it is imported
_SLOT = 8  # bytes of a number, an address or a length
_MOST = 9  # slots of a field: an array of up to four dimensions, or up to nine records
_NUMERIC = (types.Number, types.Boolean)
_NUMBERS = {"float": float, "int": int, "bool": bool}
_RECORDS: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # by address
_TYPES: dict[tuple[Any, ...], RecordType] = {}  # by the class and the kinds of its arrays


class RecordType(types.Type):
    """Type of the records of a class whose fields have certain types.

    Args:
        cls: class.
        fields: types of the fields, by name.
    """

    mutable = True

    def __init__(self, cls: Any, fields: dict[str, types.Type]) -> None:
        self.cls, self.fields = cls, fields
        digest = hashlib.sha256(repr((cls.__module__, fields)).encode()).hexdigest()[:12]
        super().__init__(f"{cls.__name__}.{digest}")  # short, as it is a part of symbols

    def place(self, name: str) -> int:
        """First byte of a field."""
        return _SLOT * int(self.cls._places[name])


@dataclass_transform(eq_default=False)
def record(cls: type | None = None, *, frozen: bool = False) -> Any:
    """Class decorator that makes a record, which also is a dataclass, of annotated fields.

    Args:
        cls: class.
        frozen: whether no field is set anew; fields that kernels write are not frozen.
    """
    if cls is None:
        return functools.partial(record, frozen=frozen)
    members = {name: cls.__dict__[name] for name in ("__doc__", "__module__")}
    members |= {"__qualname__": cls.__qualname__, "__annotations__": cls.__annotations__}
    members |= {"__post_init__": _share_memory, "__reduce__": _reduce}
    result: Any = dataclasses.dataclass(eq=False, slots=True, frozen=frozen)(
        type(cls.__name__, (_Shared,), members)
    )
    kinds = {name: _NUMBERS.get(kind) for name, kind in cls.__annotations__.items()}
    result._places, place = {}, 0
    for name, kind in kinds.items():
        result._places[name] = place
        place += 1 if kind else _MOST
    result._size = place
    if not _CONFIG.DISABLE_JIT:
        for name, kind in kinds.items():
            if kind:
                setattr(result, name, _number(result._places[name], kind))
    return result


class _Shared:
    """Memory that a record shares with kernels."""

    __slots__ = ("__weakref__", "_address", "_floats", "_integers", "_numba_type_")
    _size: int
    _numba_type_: RecordType
    _integers: np.ndarray
    _floats: np.ndarray
    _address: int

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        self = super().__new__(cls)
        integers = np.zeros(cls._size, np.int64)
        object.__setattr__(self, "_integers", integers)
        object.__setattr__(self, "_floats", integers.view(np.float64))
        object.__setattr__(self, "_address", _data_of(integers))
        return self


def _number(place: int, kind: type) -> property:
    """A field that is a number, in the memory of its record."""
    memory = "_floats" if kind is float else "_integers"

    def read(self: Any) -> Any:
        return kind(getattr(self, memory)[place])

    def write(self: Any, value: Any) -> None:
        getattr(self, memory)[place] = value

    return property(read, write)


def _share_memory(self: Any) -> None:
    """Write the addresses and shapes of the arrays of a new record, and find its type."""
    if _CONFIG.DISABLE_JIT:
        return
    cls = type(self)
    key: list[Any] = [cls]
    for name, place in cls._places.items():
        value = getattr(self, name)
        if isinstance(value, np.ndarray):
            slots = [_data_of(value), *value.shape, *value.strides]
            key.append((value.dtype.num, value.ndim, value.flags.num))
        elif isinstance(value, _Shared):
            slots = [value._address]
            key.append(value._numba_type_)
        elif isinstance(value, tuple):
            slots = [each._address for each in value]
            key.append(tuple(each._numba_type_ for each in value))
        else:
            continue
        self._integers[place : place + len(slots)] = slots
    known = tuple(key)
    if known not in _TYPES:
        names = (field.name for field in dataclasses.fields(self))
        kinds = {name: types.unliteral(numba.typeof(getattr(self, name))) for name in names}
        _TYPES[known] = RecordType(cls, kinds)
    object.__setattr__(self, "_numba_type_", _TYPES[known])
    _RECORDS[self._address] = self


def _data_of(array: np.ndarray) -> int:
    """The address of an array's data, by the shortest way: a point has thirty arrays."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # nothing in it, or it is not contiguous, or only read
        return int(array.ctypes.data)


def _reduce(self: Any) -> Any:
    """Pickle the fields."""
    return type(self), tuple(getattr(self, field.name) for field in dataclasses.fields(self))


def record_at(address: int) -> Any:
    """The record whose memory has an address."""
    return address if _CONFIG.DISABLE_JIT else _RECORDS[address]


@register_model(RecordType)
class _Model(models.PrimitiveModel):
    """A record is an address."""

    def __init__(self, manager: Any, kind: RecordType) -> None:
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    """Types of the fields."""

    key = RecordType

    def generic_resolve(self, value: Any, attr: str) -> Any:  # type: ignore[override]
        return value.fields.get(attr)


def _slots_of(context: Any, builder: Any, address: Any, kind: RecordType, name: str) -> Any:
    """Pointer to the slots of a field, of the type of its first one."""
    field = kind.fields[name]
    first = ir.IntType(8).as_pointer()
    if isinstance(field, types.Array):
        first = context.get_data_type(field.dtype).as_pointer()
    elif isinstance(field, _NUMERIC):
        first = context.get_data_type(field)
    place = cgutils.pointer_add(builder, address, kind.place(name))
    return builder.bitcast(place, first.as_pointer())


def _constant(builder: Any, pointer: Any) -> Any:
    """Load what no kernel changes, which LLVM then loads once."""
    value = builder.load(pointer)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _array_at(
    context: Any, builder: Any, kind: Any, data: Any, shape: Any, strides: Any, size: int
) -> Any:
    """An array as NumPy's whose memory another object owns."""
    array = context.make_array(kind)(context, builder)
    memory = {"data": data, "shape": shape, "strides": strides, "itemsize": size, "meminfo": None}
    context.populate_array(array, **memory)
    return array._getvalue()


@lower_getattr_generic(RecordType)  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, kind: RecordType, address: Any, name: str) -> Any:
    """A field of a record."""
    field: Any = kind.fields[name]
    slots = _slots_of(context, builder, address, kind, name)
    if isinstance(field, _NUMERIC):
        return context.data_model_manager[field].from_data(builder, builder.load(slots))
    first = _constant(builder, slots)
    if isinstance(field, RecordType):
        return first
    if isinstance(field, types.UniTuple):
        rest = [_constant(builder, cgutils.gep(builder, slots, i)) for i in range(1, len(field))]
        return cgutils.pack_array(builder, [first, *rest])
    length = context.get_value_type(types.intp)
    lengths = builder.bitcast(slots, length.as_pointer())
    shape, strides = (
        [_constant(builder, cgutils.gep(builder, lengths, begin + i)) for i in range(field.ndim)]
        for begin in (1, 1 + field.ndim)
    )
    size = 1 if field.dtype == types.boolean else field.dtype.bitwidth // 8
    if field.layout == "C":
        strides[-1] = length(size)
        for i in range(field.ndim - 2, -1, -1):
            strides[i] = builder.mul(strides[i + 1], shape[i + 1])
    return _array_at(context, builder, field, first, shape, strides, size)


@lower_setattr_generic(RecordType)  # type: ignore[untyped-decorator]
def _write(context: Any, builder: Any, signature: Any, args: Any, name: str) -> None:
    """Write a number of a record."""
    kind, given = signature.args
    field = kind.fields[name]
    if not isinstance(field, _NUMERIC):
        raise TypeError(f"kernels write numbers of a record, and {name} is a {field}")
    value = context.cast(builder, args[1], given, field)
    value = context.data_model_manager[field].as_data(builder, value)
    builder.store(value, _slots_of(context, builder, args[0], kind, name))


@unbox(RecordType)  # type: ignore[untyped-decorator]
def _unbox(kind: RecordType, record: Any, c: Any) -> NativeValue:
    """The address of a record of Python."""
    number = c.pyapi.object_getattr_string(record, "_address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(address, ir.IntType(8).as_pointer()))


@box(RecordType)  # type: ignore[untyped-decorator]
def _box(kind: RecordType, address: Any, c: Any) -> Any:
    """The record of Python that has an address."""
    find = c.pyapi.unserialize(c.pyapi.serialize_object(record_at))
    number = c.pyapi.long_from_ssize_t(c.builder.ptrtoint(address, ir.IntType(64)))
    result = c.pyapi.call_function_objargs(find, [number])
    c.pyapi.decref(number)
    c.pyapi.decref(find)
    return result


def _array(
    context: Any, builder: Any, kind: types.Array, shape: Any, fixed: Any, zero: bool
) -> Any:
    """An array of a shape, which is `fixed` where the kernel states it as numbers."""
    length = context.get_value_type(types.intp)
    number = context.get_data_type(kind.dtype)
    if None not in fixed:
        shape = [length(n) for n in fixed]
        size = int(np.prod(fixed))
        data = cgutils.alloca_once(builder, ir.ArrayType(number, size))
        data, size = builder.bitcast(data, number.as_pointer()), length(size)
    else:
        size = shape[0]
        for n in shape[1:]:
            size = builder.mul(size, n)
        data = builder.alloca(number, size=size)
    if zero:
        cgutils.memset(builder, data, builder.mul(size, length(_SLOT)), 0)
    strides = [length(_SLOT)]
    for n in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], n))
    return _array_at(context, builder, kind, data, shape, strides, _SLOT)


def _maker(kind: types.Array, zero: bool) -> Any:
    """Intrinsic function of the shape of an array."""

    def of_shape(*shape: Any) -> Any:
        fixed = [getattr(n, "literal_value", None) for n in shape]

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lengths = [
                context.cast(builder, n, given, types.intp)
                for n, given in zip(args, signature.args, strict=True)
            ]
            return _array(context, builder, kind, lengths, fixed, zero)

        return kind(*shape), generate

    def row(typingctx: Any, n: Any) -> Any:
        return of_shape(n)

    def table(typingctx: Any, m: Any, n: Any) -> Any:
        return of_shape(m, n)

    return intrinsic(prefer_literal=True)(row if kind.ndim == 1 else table)


_ROW, _TABLE = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")

if _CONFIG.DISABLE_JIT:
    vector = zero_vector = np.zeros

    def matrix(m: int, n: int) -> np.ndarray:
        """An array of shape (m, n)."""
        return np.zeros((m, n))

    zero_matrix = matrix

    def indices(n: int) -> np.ndarray:
        """Whole numbers, shape (n,)."""
        return np.zeros(n, dtype=np.int64)

else:
    vector, zero_vector = _maker(_ROW, zero=False), _maker(_ROW, zero=True)
    matrix, zero_matrix = _maker(_TABLE, zero=False), _maker(_TABLE, zero=True)
    indices = _maker(types.Array(types.int64, 1, "C"), zero=False)
