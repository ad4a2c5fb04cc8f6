"""Frozen dataclasses that are made at every step."""

import dataclasses
from typing import Any, TypeVar

T = TypeVar("T")


def quick(cls: type[T]) -> type[T]:
    """Class decorator that lets a frozen dataclass be made ten times as fast.

    Its `__init__` writes the fields at once, instead of one after another past the lock.
    """
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    defaults: dict[str, Any] = {
        f"default_{field.name}": field.default
        for field in fields
        if field.default is not dataclasses.MISSING
    }
    arguments = ", ".join(
        f"{field.name}=default_{field.name}" if f"default_{field.name}" in defaults else field.name
        for field in fields
    )
    lines = "".join(f"    fields[{field.name!r}] = {field.name}\n" for field in fields)
    source = f"def __init__(self, {arguments}):\n    fields = self.__dict__\n{lines}"
    space: dict[str, Any] = {}
    exec(source, defaults, space)
    function = space["__init__"]
    function.__doc__, function.__module__ = cls.__init__.__doc__, cls.__module__
    function.__qualname__ = f"{cls.__qualname__}.__init__"
    function.__annotations__ = dict(cls.__init__.__annotations__)
    cls.__init__ = function  # type: ignore[method-assign]
    return cls
