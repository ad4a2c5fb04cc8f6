"""Kernels without compilation: plain functions on arrays, of the same results."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmdp_pin._scenario import Scenario

CODE = """
import json, sys
from test_kernels_interpreted import steps
print(json.dumps([steps(sys.argv[1], order) for order in (1, 2)]))
"""
ROUNDING = 1e-6  # [m, m/s, N]; the solver stops at 1e-8 of the weight


def steps(method, order) -> list[list[float]]:
    """Four steps of a sliding box: configurations, velocities and forces."""
    overrides = [f"integrator.order={order}", f'integrator.name="{method}"']
    setup = Scenario.load("sliding-box", overrides=overrides).build(visuals=False)
    run = setup.simulator.run(setup.state, setup.controller, dt=0.01, duration=0.04)
    return [[*r.state.q, *r.state.v, *r.contact_forces.ravel()] for r in run]


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_a_few_steps(method):
    """With NUMBA_DISABLE_JIT=1 a sliding box moves as it does compiled."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, method],
        capture_output=True,
        text=True,
        check=True,
        timeout=100.0,
        cwd=Path(__file__).parent,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    for order, found in zip((1, 2), json.loads(done.stdout), strict=True):
        assert len(found) == 4
        np.testing.assert_allclose(found, steps(method, order), atol=ROUNDING)
