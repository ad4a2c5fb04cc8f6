"""Compilation ahead: its parts are what steps call."""

import subprocess
import sys

import numba
import pytest

from nmdp_pin import Scenario
from nmdp_pin._runs import compilation
from nmdp_pin._runs.run import compile_kernels

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are not compiled")


def test_shapes_are_compiled_for_the_types_of_steps():
    """A step calls each kernel of shapes with the types for which a part compiles it."""
    scenario = Scenario.load("falling-box-stairs")
    setup = scenario.build(visuals=False)
    compile_kernels(scenario, setup)
    for kernel, types in compilation._shape_kernels(setup):
        assert types in kernel.overloads
    assert compilation.parts_of(scenario, setup) == []


@pytest.mark.parametrize(
    ("name", "uses"),
    [("falling-box-stairs", ["step", "shapes"]), ("spider-walk", []), ("robosimian-jump", [])],
)
def test_what_a_run_compiles_side_by_side(name, uses, monkeypatch, tmp_path):
    """With an empty cache, of scenes with shapes alone."""
    scenario = Scenario.load(name)
    setup = scenario.build(visuals=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert [use for use, _ in compilation.parts_of(scenario, setup)] == uses


def test_a_part_says_nothing(monkeypatch):
    """Who asks for a compilation has a bar; the level of the package's messages is restored."""
    logger = compilation.logging.getLogger("nmdp_pin")
    levels = []
    monkeypatch.setitem(compilation._USES, "step", lambda *_: levels.append(logger.level))
    before = logger.level
    shown = []
    part = ("step", Scenario.load("sliding-box").resolved())
    monkeypatch.setattr(
        compilation,
        "side_by_side",
        lambda function, shared, tasks, n_jobs: ((0, function(shared, task)) for task in tasks),
    )
    compilation.compile_parts([part], progress=lambda *counts: shown.append(counts))
    assert levels == [compilation.logging.ERROR]
    assert logger.level == before
    assert shown == [(1, 1)]


CALLS = """
import importlib
from nmdp_pin import Scenario
from nmdp_pin._kernels.compiler.numba_internals import KernelLibrary
from nmdp_pin._runs.run import compile_kernels
scenario = Scenario.load("robosimian-jump")
compile_kernels(scenario, scenario.build(visuals=False))
for module, name, types in KernelLibrary.CALLS:
    print(name, getattr(importlib.import_module(module), name).is_kept(types))
"""


def test_what_kept_kernels_call_is_kept():
    """`compile`, which runs before all tests, compiles deferred kernels, which read ones name."""
    said = subprocess.run([sys.executable, "-c", CALLS], check=True, stdout=-1, text=True).stdout
    kept = dict(line.split() for line in said.splitlines())
    assert {"place_shapes", "linearise_loops"} <= {*kept}
    assert {*kept.values()} == {"True"}
