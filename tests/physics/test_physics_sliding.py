"""A slab that slides over level ground against v^2 / (2 mu g)."""

import numpy as np
import pytest
from pairwise import spread
from physics_experiments import stopping_distance
from physics_scenes import (
    DEPTH,
    METHODS,
    OF_BOTH_ORDERS,
    SECOND_ORDER,
    G,
    block,
    cone,
    ground,
    order,
    resting,
    run,
    simulator,
)

from nmdp_pin._contact import FrictionCone, stiffness_for_static_depth

STEPS = (2e-3, 5e-3, 1e-2)
# NE-MDP takes the penetration of the step before, so the slab lands on the ground at first.
ORDER_TOLERANCE = dict.fromkeys(METHODS, 0.05) | {"ne-mdp": 0.15}
# Backward Euler stops v0 h / 2 short; the rest is the ground's softness and the solver's.
EULER = 0.5
EULER_TOLERANCE = dict.fromkeys(METHODS, 0.03) | {"ne-mdp": 0.1}
# [m] at 10 ms in second order, of 0.05 to 0.25: measured 5.3e-4 where first order has 4.9e-3.
CARRIED = 1e-5  # relative; residuals are below 1e-4 of the weight
SECOND = 6e-4


@spread({"method": METHODS, "mu": [0.2, 1.0]})
def test_slab_stops_after_the_distance_of_coulomb_friction_to_first_order(method, mu):
    """The error in v^2 / (2 mu g) is -v h / 2: first order, with backward Euler's constant."""
    errors = [stopping_distance(method, mu, h) - 1.0 / (2.0 * mu * G) for h in STEPS]
    assert order(STEPS, errors) == pytest.approx(1.0, abs=ORDER_TOLERANCE[method])
    constants = -np.array(errors) / STEPS
    assert constants == pytest.approx(EULER, abs=EULER_TOLERANCE[method])


@pytest.mark.parametrize("mu", [0.2, 1.0])
@pytest.mark.parametrize("method", SECOND_ORDER)
def test_slab_stops_after_that_distance_in_second_order(method, mu):
    """At a tenth of the error of first order at 10 ms, and less than in proportion to the step."""
    errors = np.array([stopping_distance(method, mu, h) - 1.0 / (2.0 * mu * G) for h in STEPS])
    assert np.abs(errors).max() < SECOND
    assert abs(errors[0]) < 0.1 * SECOND


@pytest.mark.parametrize("method", METHODS)
def test_friction_depends_on_the_heading_as_the_inscribed_polytope_says(method):
    """Over the middle of a face the slab slides 1 / cos(30 deg) as far as along an edge."""
    h, euler = 2e-3, EULER * 2e-3
    along = stopping_distance(method, 0.5, h, 0.0, directions=6) + euler
    between = stopping_distance(method, 0.5, h, np.pi / 6, directions=6) + euler
    least, most = FrictionCone(stiffness=1.0, directions=6).effective_friction(0.5)
    assert most == 0.5
    assert most / least == pytest.approx(1.0 / np.cos(np.pi / 6))
    assert between / along == pytest.approx(most / least, rel=2e-3)


@pytest.mark.parametrize("depth", [1e-4, 1e-3])
@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_a_body_at_its_static_depth_carries_its_weight_there(method, depth):
    """Four corners carry m g at `static_depth`, and stay as deep as that."""
    slab = block()
    sim = simulator(slab, ground(), cone(slab, depth=depth), method)
    last = run(sim, sim.state(resting(slab, depth=depth)), 0.01, 0.1)[-1]
    assert last.max_penetration == pytest.approx(depth, rel=CARRIED)
    assert last.contact_forces[:, 2].sum() == pytest.approx(G, rel=CARRIED)


def test_static_depth_gives_the_stiffness_of_its_definition():
    """K = m g / (feet depth^p); that of no depth is infinite."""
    assert stiffness_for_static_depth(2.0, 4, DEPTH, 3) == pytest.approx(2.0 * G / 4 / DEPTH**3)
    assert stiffness_for_static_depth(2.0, 4, 0.0, 3) == np.inf
