"""Compilation of the kernels: its level, its log, and nothing at import."""

import os
import subprocess
import sys

import numba
import pytest

import nmdp_pin.kernels.jit  # noqa: F401

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are not compiled")


def _twice(x: float) -> float:
    return 2.0 * x


def compiled(module: str | None):
    """A kernel of a module that is not compiled yet."""
    function = type(_twice)(_twice.__code__, globals(), "twice")
    function.__module__ = module
    return numba.njit(function)


def test_kernels_are_compiled_at_level_1(monkeypatch):
    """Kernels at level 1, functions of users at theirs, which is restored."""
    compiled("elsewhere")(2.0)  # Numba reads its variables again, of which conftest.py sets one
    levels = []
    before = numba.config.OPT
    optimise = numba.core.codegen.CPUCodeLibrary._optimize_final_module

    def recorded(library):
        levels.append(int(numba.config.OPT))
        return optimise(library)

    monkeypatch.setattr(numba.core.codegen.CPUCodeLibrary, "_optimize_final_module", recorded)
    assert compiled("nmdp_pin.kernels.own")(2.0) == 4.0
    assert set(levels) == {1}
    assert numba.config.OPT is before
    levels.clear()
    for module in ("elsewhere", None):
        assert compiled(module)(2.0) == 4.0
    assert set(levels) == {int(before)}


def test_import_compiles_nothing_and_a_step_says_so_once(tmp_path):
    """A fresh cache: one line at the first kernel, none at import."""
    program = (
        "import numpy as np\n"
        "import nmdp_pin.simulator\n"
        "print('imported', flush=True)\n"
        "from nmdp_pin.kernels.vector3 import dot\n"
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
        "from nmdp_pin.scenario import Scenario\n"
        "setup = Scenario.load('robosimian-jump').build(visuals=False)\n"
        "assert step_derivatives(setup.simulator, setup.state, None, 0.01).status.ok\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True
        )
    assert not done.stderr
