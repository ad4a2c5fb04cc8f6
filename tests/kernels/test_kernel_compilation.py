"""Compilation of the kernels: its level, its log, and nothing at import."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import nmdp_pin
from nmdp_pin._kernels.compiler.jit import jit

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are not compiled")


def _twice(x):
    return 2.0 * x


def twice():
    """A function that is not compiled yet."""
    return type(_twice)(_twice.__code__, globals(), "twice")


def test_kernels_are_compiled_at_level_1(monkeypatch):
    """Kernels at level 1, functions of users at theirs, which is restored."""
    numba.njit(twice())(2.0)  # Numba reads its variables again, of which conftest.py sets one
    levels = []
    before = numba.config.OPT
    optimise = numba.core.codegen.CPUCodeLibrary._optimize_final_module

    def recorded(library):
        levels.append(int(numba.config.OPT))
        return optimise(library)

    monkeypatch.setattr(numba.core.codegen.CPUCodeLibrary, "_optimize_final_module", recorded)
    kernel = jit(twice())
    assert kernel(2.0) == 4.0
    assert set(levels) == {1}
    assert numba.config.OPT is before
    levels.clear()
    assert numba.njit(twice())(2.0) == 4.0
    assert set(levels) == {int(before)}


def test_internal_names_of_machine_code_are_its_own():
    """Two kernels with callees of one name: LLVM finds callees by name in all that is loaded."""
    names = []
    for _ in range(2):
        inner = jit(twice())
        kernel = jit(lambda x, inner=inner: inner(x) + inner(x + 1.0))
        assert kernel(3.0) == 14.0
        (found,) = kernel.overloads.values()
        module = found.library._final_module
        values = (*module.functions, *module.global_variables)
        names.append({each.name for each in values if each.linkage.name == "internal"})
    assert names[0]
    assert not names[0] & names[1]


def test_a_kernel_of_kernels_is_called_from_python_as_well():
    """What was compiled as a part of another kernel, or of a user's function, gives the same."""
    inner = jit(twice())

    def outer(x):
        return inner(x) + 1.0

    kernel = jit(outer)
    assert kernel(3.0) == 7.0
    assert kernel.overloads
    assert inner.overloads
    assert numba.njit(outer)(3.0) == 7.0  # before the inner one has machine code of its own
    assert inner(3.0) == 6.0
    assert numba.njit(outer)(4.0) == 9.0
    assert kernel(4.0) == 9.0


def test_one_compilation_is_reported():
    """To listeners of Numba, such as the meter of what tests cost: with its parts, and once."""
    inner = jit(twice())
    kernel = jit(lambda x: inner(x) + 1.0)
    with numba.core.event.install_recorder("numba:compile") as recorder:
        assert kernel(3.0) == 7.0
    told = [(e.is_start, e.data["dispatcher"] is kernel) for _, e in recorder.buffer]
    assert told == [(True, True), (False, True)]


@jit
def _row(n: int) -> np.ndarray:
    return np.zeros(n)


@jit
def _first(n: int) -> float:
    row = _row(n)
    return row[0]


@jit
def _call(n: int) -> float:
    return _first(n)


def test_arrays_that_kernels_return_are_freed():
    """Also by a kernel that makes none itself, and that Python does not call."""
    _call(3)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    _call(3)
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free == 1


def test_few_files_know_the_inside_of_numba():
    """All others import what Numba has for extensions."""
    inside = re.compile(r"^\s*(?:from|import) numba\.(?!extending\b)(.*)", re.MULTILINE)
    found = {
        path.name: imports
        for path in Path(nmdp_pin.__file__).parent.rglob("*.py")
        if (imports := inside.findall(path.read_text(encoding="utf-8")))
    }
    del found["numba_internals.py"], found["numba_members.py"], found["deferred.py"]
    assert [name.split(" ")[0] for name in found.pop("record.py")] == [
        "core",
        "core.typing.templates",
    ]
    assert not found


def test_import_compiles_nothing_and_a_step_says_so_once(tmp_path):
    """A fresh cache: one line at the first kernel, none at import."""
    program = (
        "import numpy as np\n"
        "import nmdp_pin._simulator.simulator\n"
        "print('imported', flush=True)\n"
        "from nmdp_pin._kernels.algebra.vector3 import dot\n"
        "x = np.ones(3)\n"
        "dot(x, x), dot(x[::2], x[::2])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "imported\n"
    assert done.stderr.count("compiles the kernels") == 1


def test_a_later_process_compiles_nothing():
    """Steps and their derivatives, with calls back to Python in them, come from the cache."""
    program = (
        "from nmdp_pin.derivatives import step_derivatives\n"
        "from nmdp_pin._scenario import Scenario\n"
        "setup = Scenario.load('robosimian-jump-paper').build(visuals=False)\n"
        "assert step_derivatives(setup.simulator, setup.state, None, 0.01).status.ok\n"
    )
    exec(program, {})
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True
    )
    assert not done.stderr
