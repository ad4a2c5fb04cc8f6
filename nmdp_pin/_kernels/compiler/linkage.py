"""Names and linkage of the functions of LLVM's modules."""

from __future__ import annotations

import uuid
from typing import Any


def name_internals(module: Any) -> None:
    """Give what is internal to a module names that no other module has, of any process.

    LLVM finds callees by name, internal ones too, in all the machine code that was loaded. Code
    that was kept has callees of the same names as new code, with arguments that are not read.
    """
    tag = uuid.uuid4().hex
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.linkage.name == "internal":
            value.name = f"{value.name}.{tag}"


def set_linkage(module: Any, before: str, after: str) -> None:
    """Change the linkage of the functions of a module that have a certain one."""
    for function in module.functions:
        if not function.is_declaration and function.linkage.name == before:
            function.linkage = after


def names_in(module: Any) -> list[str]:
    """Names of the functions and variables that a module defines."""
    values = (*module.functions, *module.global_variables)
    return [value.name for value in values if not value.is_declaration]
