"""A cube at rest on level ground stays where it is, and the ground carries its weight."""

import numpy as np
import pytest
from physics_experiments import rest
from physics_scenes import OF_BOTH_ORDERS, G

DRIFT = 1e-6  # [m] in 10 s; what the product promises
SECONDS = 10.0
SETTLED = 2.0  # [s] of the cube that fell, and a share of the drift
FORCE_TOLERANCE = 2e-3  # [N] of 9.81; the solver stops within 1e-3 m/s^2 times h^2 of the minimum
SIDEWAYS = 2e-3  # [N]; likewise


@pytest.mark.parametrize("h", [5e-2])
@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_cube_at_its_static_depth_does_not_move(method, h):
    """Within 1e-6 m over 10 s."""
    assert rest(method, h, SECONDS).drift < DRIFT


@pytest.mark.parametrize("h", [1e-2])
@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_cube_that_fell_a_little_stays_where_it_settled_and_weighs_m_g(method, h):
    """Dropped by 5 cm; forces sum to the weight."""
    seconds = SETTLED if h > 5e-3 else 0.2
    settled = rest(method, h, seconds, drop=0.05)
    assert settled.drift < DRIFT * seconds / SECONDS
    assert settled.force[2] == pytest.approx(G, abs=FORCE_TOLERANCE)
    assert np.abs(settled.force[:2]).max() < SIDEWAYS
