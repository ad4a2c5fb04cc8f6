"""Machine code of the kernels that Python calls, and of no others.

Numba makes machine code of every function, and of all the functions that it calls again with each
of their callers. Kernels that only other kernels call stay as they are until one that Python calls
is compiled, which then is optimised with all its callees at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.environment import lookup_environment
from numba.core.targetconfig import ConfigStack

_ENVIRONMENT = "_ZN08NumbaEnv"  # beginning of the names of the variables with environments


class KernelLibrary(JITCodeLibrary):
    """Code of one function, which becomes executable when its address is asked for."""

    _is_executable = False

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

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        """The library of machine code that was kept."""
        library = super()._unserialize(codegen, state)
        library._is_executable = True
        return library

    def _make_executable(self) -> None:
        """Optimise the code with that of its callees, and make machine code of it."""
        if self._is_executable:
            return
        self._is_executable = True
        for module in self._callees({self}):
            self._final_module.link_in(module)
        _set_linkage(self._final_module, "weak_odr", "internal")
        _name_internals(self._final_module)
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()
        codegen: Any = self._codegen
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if variable.name.startswith(_ENVIRONMENT) and environment is not None:
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
            _set_linkage(module, "external", "weak_odr")
            _set_linkage(module, "linkonce_odr", "weak_odr")
            yield module
            if lazy:
                yield from library._callees(seen)

    def _get_module_for_linking(self) -> Any:
        """The code with that of its callees, for callers that are no kernels."""
        if self._is_executable:
            return super()._get_module_for_linking()
        if self._shared_module is None:
            result = self._final_module.clone()
            for module in self._callees({self}):
                result.link_in(module)
            _set_linkage(result, "weak_odr", "internal")
            _set_linkage(result, "external", "linkonce_odr")
            self._shared_module = result
        return self._shared_module


def _name_internals(module: Any) -> None:
    """Give what is internal to a module names that no other module has, of any process.

    LLVM finds callees by name, internal ones too, in all the machine code that was loaded. Code
    that was kept has callees of the same names as new code, where Numba has counted as far, but
    with other arguments: those that nothing reads are optimised away.
    """
    tag = uuid.uuid4().hex
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.linkage.name == "internal":
            value.name = f"{value.name}.{tag}"


def _set_linkage(module: Any, before: str, after: str) -> None:
    """Change the linkage of the functions of a module that have a certain one."""
    for function in module.functions:
        if not function.is_declaration and function.linkage.name == before:
            function.linkage = after
