"""The processor that kernels are compiled for.

On x86 that is x86-64-v3, which most processors have since 2015, whatever else the host has: AVX-512
makes no kernel faster. Kernels that a wheel carries are then those that a checkout compiles, and
make the same bits on all these hosts. On others, and where NUMBA_CPU_NAME or NUMBA_CPU_FEATURES are
set, it is the one that Numba compiles for.
"""

from __future__ import annotations

import functools
from typing import Any

import llvmlite.binding as llvm
import numba

PORTABLE = "x86-64-v3"
_FEATURES = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")  # beyond x86-64-v2
_CONFIG: Any = numba.config  # whose attributes are set when it is imported

Target = tuple[str, ...]
"""Triple, processor, and features that are used beside those that its name implies."""


@functools.cache
def target_of(codegen: Any) -> Target:
    """What kernels are compiled for."""
    triple, name, features = codegen.magic_tuple()
    given = _CONFIG.CPU_NAME is not None or _CONFIG.CPU_FEATURES is not None
    host: dict[str, bool] = llvm.get_host_cpu_features()
    if given or not triple.startswith("x86_64") or not all(map(host.get, _FEATURES)):
        return triple, name, features
    return triple, PORTABLE, ""


@functools.cache
def machine_of(codegen: Any) -> Any:
    """LLVM's machine for the target, which is otherwise that of Numba's own code."""
    triple, name, features = target_of(codegen)
    options: dict[str, Any] = {"opt": 3}
    codegen._customize_tm_options(options)
    options |= {"cpu": name, "features": features}
    return llvm.Target.from_triple(triple).create_target_machine(**options)
