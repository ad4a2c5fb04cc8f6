"""A slab on a slope: sticks below tan(angle) = mu, slides above it."""

import numpy as np
import pytest
from pairwise import spread
from physics_experiments import SLOPE_FRICTION, creep, critical_angle, sliding_acceleration
from physics_scenes import IMPLICIT, IMPLICIT_OF_BOTH_ORDERS, OF_BOTH_ORDERS, G

# Downhill along an edge of the polytope, and over the middle of a face.
CONES = {0.0: SLOPE_FRICTION, np.pi / 6: SLOPE_FRICTION * np.cos(np.pi / 6)}
ANGLE_TOLERANCE = 0.01  # relative; the bisection's own is 0.002
CREEP = 1e-6  # [m/s]
LONG_STEP_CREEP = 2e-5  # [m/s]; 1e-3 m/s^2 h, what the solver may leave undone, is 2e-5 at 20 ms
ACCELERATION_TOLERANCE = 0.01  # [m/s^2]; the slab takes a few steps to load its front corners


@spread({"method": IMPLICIT_OF_BOTH_ORDERS, "cone_angle": CONES})
def test_slab_sticks_below_and_slides_above_the_angle_of_friction(method, cone_angle):
    """The critical angle is that of the polytope's friction downhill."""
    friction = CONES[cone_angle]
    angle = critical_angle(method, 1e-2, cone_angle, friction)
    assert angle == pytest.approx(np.arctan(friction), rel=ANGLE_TOLERANCE)


@pytest.mark.parametrize(
    ("method", "h"),
    [
        ("ne-nmdp dissipation", 1e-3),
        *((method, 1e-2) for method in OF_BOTH_ORDERS),
    ],
)
def test_slab_does_not_creep_at_nine_tenths_of_the_critical_angle(method, h):
    """It moves less than a micrometre a second, also where the steps are short."""
    assert abs(creep(method, h)) < CREEP


@pytest.mark.parametrize("method", IMPLICIT_OF_BOTH_ORDERS)
def test_creep_at_long_steps_stays_below_what_the_solver_may_leave(method):
    """At 20 ms the bound is the solver's, 1e-3 m/s^2 times h."""
    assert abs(creep(method, 2e-2)) < LONG_STEP_CREEP


@spread({"method": IMPLICIT, "cone_angle": CONES})
def test_slab_accelerates_above_the_critical_angle_as_coulomb_says(method, cone_angle):
    """G (sin a - mu cos a) at 1.02 and 1.5 of the critical angle."""
    friction = CONES[cone_angle]
    for share, h in ((1.02, 2e-3), (1.02, 1e-2), (1.5, 1e-2)):
        angle = share * np.arctan(friction)
        exact = G * (np.sin(angle) - friction * np.cos(angle))
        found = sliding_acceleration(method, angle, h, cone_angle)
        assert found == pytest.approx(exact, abs=ACCELERATION_TOLERANCE)
