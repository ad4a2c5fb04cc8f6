"""A ball that rolls: the force acts where it touches, on the material point that is there."""

import numpy as np
import pytest
from physics_experiments import rolling_acceleration, rolling_speed
from physics_scenes import BASES, METHODS, MINIMISING, G, order

STEPS = (2e-3, 5e-3, 1e-2)
ANGLE = 0.2  # [rad]
# In the turning velocity frame of a free-flyer a ball loses speed to its spin, at first order; in
# the position-based form on every base, whose points move along chords of the turn.
FREE_FLYER = {"acceleration": 5.0, "speed": 4.0}  # [m/s^2 / s], [m/s / s]
TWO_JOINTS = {"acceleration": 0.3, "speed": 0.03}  # the same for two joints: hardly any
# Minimisers of objectives take long, on both bases equally.
CASES = [(m, b) for m in METHODS for b in BASES if m not in MINIMISING or b != "free-flyer"]
SLIP = 5e-3  # [m/s], of 0.7


def _bound(method, base):
    turning = base == "free-flyer" or method.startswith("pbd")
    return FREE_FLYER if turning else TWO_JOINTS


@pytest.mark.parametrize(("method", "base"), CASES)
def test_ball_rolls_down_a_slope_with_five_sevenths_of_g_sin(method, base):
    """And does not slip, though friction holds it."""
    exact = 5.0 / 7.0 * G * np.sin(ANGLE)
    found = [rolling_acceleration(method, ANGLE, h, base) for h in STEPS]
    errors = np.array([a - exact for a, _ in found])
    bound = _bound(method, base)
    assert np.abs(errors / STEPS).max() < bound["acceleration"]
    assert max(abs(slip) for _, slip in found) < SLIP


@pytest.mark.parametrize(("method", "base"), CASES)
def test_ball_that_slides_begins_to_roll_at_five_sevenths_of_its_speed(method, base):
    """The impulse of friction is fixed by where it acts: at the surface, not the centre."""
    errors = np.array([rolling_speed(method, h, base) - 5.0 / 7.0 for h in STEPS])
    bound = _bound(method, base)
    assert np.abs(errors / STEPS).max() < bound["speed"]
    if base == "free-flyer":
        assert order(STEPS, errors) == pytest.approx(1.0, abs=0.1)
