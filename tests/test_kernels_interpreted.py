"""Kernels without compilation: plain functions on arrays, of the same results."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

CODE = """
import json, sys
from nmdp_pin.scenario import Scenario
order = f"integrator.order={sys.argv[2]}"
name = f'integrator.name="{sys.argv[1]}"'
setup = Scenario.load("sliding-box", overrides=[order, name]).build(visuals=False)
run = setup.simulator.run(setup.state, setup.controller, dt=0.01, duration=0.04)
print(json.dumps([[*r.state.q, *r.state.v, *r.contact_forces.ravel()] for r in run]))
"""
ROUNDING = 1e-6  # [m, m/s, N]; the solver stops at 1e-8 of the weight


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_a_few_steps(method, order):
    """With NUMBA_DISABLE_JIT=1 a sliding box moves as it does compiled."""
    found = []
    for disabled in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", CODE, method, str(order)],
            capture_output=True,
            text=True,
            check=True,
            timeout=100.0,
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
        )
        found.append(np.array(json.loads(done.stdout)))
    assert found[0].shape[0] == 4
    np.testing.assert_allclose(found[1], found[0], atol=ROUNDING)
