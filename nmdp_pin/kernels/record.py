"""Records: named arrays and numbers that kernels take as one argument.

A record is a class with annotated fields. Its objects have the fields as attributes in Python, and
share their arrays with the kernels; numbers are copied when the record is made. Inside a kernel it
is a reference to one block of memory (Numba's structref), so that records can hold many arrays, and
records, at no cost where functions call each other.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

import numba
from numba.core import types
from numba.experimental import structref

from nmdp_pin.kernels.jit import jit

__all__ = ["record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(cls: type) -> type:
        """Class decorator that makes a record, which also is a dataclass, of annotated fields."""
        members = {name: cls.__dict__[name] for name in ("__doc__", "__module__")}
        members |= {"__qualname__": cls.__qualname__, "__annotations__": cls.__annotations__}
        members |= {"__post_init__": _share, "__reduce__": _reduce}
        made = dataclasses.dataclass(eq=False, slots=True)(type(cls.__name__, (_Shared,), members))
        names = tuple(field.name for field in dataclasses.fields(made))
        made._shared = None if numba.config.DISABLE_JIT else _constructor(made, names)
        return made


class _Shared:
    """What Numba knows a record by."""

    __slots__ = ("_meminfo", "_numba_type_")
    _shared: Any = None


def _share(self: Any) -> None:
    """Make the kernels' counterpart of a record."""
    if self._shared is not None:
        made = type(self)._shared(*(getattr(self, name) for name in self.__slots__))
        self._meminfo, self._numba_type_ = made._meminfo, made._type


def _reduce(self: Any) -> Any:
    """Pickle the fields."""
    return type(self), tuple(getattr(self, name) for name in self.__slots__)


def _constructor(cls: type, names: tuple[str, ...]) -> Any:
    """Make the class known to Numba, and return the compiled function that makes its objects."""
    module = sys.modules[cls.__module__]
    kind = type(
        f"{cls.__name__}Type",
        (types.StructRef,),
        {"preprocess_fields": _plain, "__module__": cls.__module__},
    )
    setattr(module, kind.__name__, structref.register(kind))  # where a cached kernel looks for it
    proxy = type(cls.__name__, (structref.StructRefProxy,), {"__slots__": ()})
    structref.define_constructor(cls, kind, list(names))
    structref.define_boxing(kind, proxy)
    arguments = ", ".join(names)
    source = f"def make({arguments}):\n    return {cls.__name__}({arguments})\n"
    space: dict[str, Any] = {cls.__name__: cls, "__name__": cls.__module__}
    exec(compile(source, f"{cls.__name__} of {module.__file__}", "exec"), space)
    make = space["make"]
    make.__qualname__ = f"make_{cls.__name__}"
    return jit(make)


def _plain(self: Any, fields: Any) -> Any:
    """The types of the fields without the values of literals."""
    return tuple((name, types.unliteral(kind)) for name, kind in fields)
