"""A cube that falls on the ground: stopped within the step, no energy made, no bounce."""

import numpy as np
import pytest
from pairwise import pairwise
from physics_experiments import disagreement, fast_landing, impact
from physics_scenes import (
    CUBE,
    DEPTH,
    IMPLICIT,
    IMPLICIT_OF_BOTH_ORDERS,
    METHODS,
    MINIMISING,
    OF_BOTH_ORDERS,
    SOFT,
    G,
    block,
    cone,
    ground,
    order,
    resting,
    run,
    simulator,
)

LEVEL, TILTED = (0.0, 0.0, 0.0), (0.3, 0.4, 0.2)
HEIGHT = 0.5  # [m], of the centre
ENERGY_GAIN = 1e-3  # of m g height, in a step: a soft corner gives back some of what it took
REBOUND = 5e-3  # [m]; a corner rises as the cube falls over another one
LANDING = 2.0  # of the least depth; the minimum that the solver finds may lie deeper
SETTLED = 1e-3  # [m/s, rad/s]
AGREEMENT_STEPS = (5e-4, 1e-3, 2e-3)
AGREEMENT = 0.1  # [m/s], of 0.5


@pytest.mark.parametrize(
    ("method", "h", "rpy"),
    [
        ("ne-nmdp dissipation", 2e-3, TILTED),
        *((method, 2e-2, TILTED) for method in METHODS),
        *((method, 1e-2, LEVEL) for method in METHODS if method not in MINIMISING),
    ],
)
def test_cube_comes_to_rest_without_a_bounce_and_without_energy_made(method, h, rpy):
    """From 0.4 m above the ground, on a face or on a corner."""
    found = impact(method, h, HEIGHT, rpy, SOFT)
    assert found.above_start <= 0.0
    assert found.energy_gain < ENERGY_GAIN
    assert found.rebound < REBOUND
    assert found.speed < SETTLED
    if method in IMPLICIT:
        assert found.height == pytest.approx(CUBE[2] / 2, abs=0.02)


@pairwise({"method": IMPLICIT_OF_BOTH_ORDERS, "speed": [2.0, 5.0, 20.0], "h": [1e-2, 2e-2, 5e-2]})
def test_contact_begins_within_a_step_and_stops_a_cube_that_would_tunnel(method, speed, h):
    """At 2 m/s and 50 ms half of the cube would go under, at 20 m/s five of its heights."""
    stopping = DEPTH * np.sqrt(1.0 + speed / (h * G))  # where the ground can stop it in one step
    assert 0.0 < fast_landing(method, h, speed) < LANDING * stopping


@pytest.mark.parametrize("speed", [10.0, 20.0, 30.0])
@pytest.mark.parametrize("method", ["ne-nmdp dissipation", "pbd-nmdp dissipation"])
def test_an_impact_is_solved_in_one_step(method, speed):
    """At 30 m/s and 50 ms the cube would go under by fifteen of its heights."""
    cube = block(CUBE)
    sim = simulator(cube, ground(), cone(cube), method)
    state = sim.state(cube.standing, -speed * np.eye(6)[2])
    assert run(sim, state, 5e-2, 5e-2)[-1].halvings == 0


@pytest.mark.parametrize("h", [1e-2, 2e-2, 5e-2])
@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_contact_ends_within_a_step(method, h):
    """A cube thrown upwards from its static depth is not held."""
    cube = block(CUBE)
    sim = simulator(cube, ground(), cone(cube), method)
    state = sim.state(resting(cube), 3.0 * np.eye(6)[2])
    results = run(sim, state, h, 5 * h)
    assert not results[-1].contact_forces.any()
    assert results[-1].state.q[2] > cube.standing[2] + 2.0 * h


def test_ne_nmdp_kinetic_and_ne_mdp_agree_on_a_drop_as_the_step_goes_to_zero():
    """Where dropped cubes come to rest: first order apart."""
    apart = [disagreement("drop", h) for h in AGREEMENT_STEPS]
    assert order(AGREEMENT_STEPS, apart) == pytest.approx(1.0, abs=0.2)
