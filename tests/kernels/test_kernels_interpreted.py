"""Kernels without compilation: plain functions on arrays, of the same results."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._scenario import Scenario

CODE = """
import json
from test_kernels_interpreted import METHODS, runs
print(json.dumps({method: runs(method) for method in METHODS}))
"""
METHODS = sorted(INTEGRATORS)
BALL = "terrain.shapes=[{kind='sphere', position=[0.0, 0.0, -50.0], radius=50.0, friction=0.5}]"
ROUNDING = 1e-6  # [m, m/s, N]; the solver stops at 1e-8 of the weight
HERE = Path(__file__).parent
# Tests of kernels that are called by kernels alone, each of which would be compiled for them: that
# takes ten times as long as all these tests.
ALONE = sorted((HERE / "interpreted").glob("*.py"))


def runs(method) -> list[list[list[float]]]:
    """Of both orders, where the method has them, and of a single one on curved ground."""
    orders = [["integrator.order=1"], ["integrator.order=2"]] if "nmdp" in method else [[]]
    return [steps(method, overrides) for overrides in [*orders, [BALL]]]


def steps(method, overrides) -> list[list[float]]:
    """Four steps of a sliding box: configurations, velocities and forces."""
    overrides = [f'integrator.name="{method}"', *overrides]
    setup = Scenario.load("sliding-box", overrides=overrides).build(visuals=False)
    run = setup.simulator.run(setup.state, setup.controller, dt=0.01, duration=0.04)
    return [[*r.state.q, *r.state.v, *r.contact_forces.ravel()] for r in run]


def said(*words):
    """Exit code and output of a Python that compiles no kernel."""
    done = subprocess.run(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        text=True,
        timeout=300.0,
        cwd=HERE,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def interpreted():
    """The runs of all methods where no kernel is compiled."""
    code, output = said("-c", CODE)
    assert code == 0
    return json.loads(output)


@pytest.mark.parametrize("method", METHODS)
def test_a_few_steps(method, interpreted):
    """A sliding box moves as it does compiled."""
    for found, expected in zip(interpreted[method], runs(method), strict=True):
        assert len(found) == 4
        assert any(found[-1][-12:])
        np.testing.assert_allclose(found, expected, atol=ROUNDING)


def test_kernels_that_only_kernels_call():
    """The tests in the folder pass; compiled, these kernels are parts of every step."""
    assert len(ALONE) == 5
    code, output = said("-m", "pytest", "-p", "no:cacheprovider", *ALONE)
    assert code == 0, output
