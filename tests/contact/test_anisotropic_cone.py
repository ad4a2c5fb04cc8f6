"""Friction that depends on the direction in the body's frame: closed forms, parameters."""

import contextlib

import numpy as np
import pinocchio as pin
import pytest
from contracts import WrenchSpaceContract

from nmdp_pin._contact import AnisotropicCone, FrictionCone
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import ContactError
from nmdp_pin.testing import contact_state

ROUNDING = 1e-12  # relative; a few operations in double precision
MODELS = (
    AnisotropicCone(stiffness=1e4, along=0.1),
    AnisotropicCone(stiffness=1e3, along=0.0, across=2.0, power=1, directions=5),
    AnisotropicCone(stiffness=1e4, along=0.3, axis=(0.2, -1.0, 0.4), power=2, directions=6),
)


class TestAnisotropicCone(WrenchSpaceContract):
    @pytest.fixture(params=MODELS, ids=repr)
    def space(self, request):
        return request.param


def on_slope(yaw, slope=0.3, friction=0.6):
    """One contact 0.02 m deep, of a body flat on a slope, turned about its normal by `yaw`."""
    R = pin.utils.rotate("y", slope)
    ground = Terrain([Plane(normal=tuple(R[:, 2]), friction=friction)])
    turned = R @ pin.utils.rotate("z", yaw)
    return contact_state(ground, np.zeros((1, 3)), turned[None])


@pytest.mark.parametrize("yaw", [0.0, 0.5, 2.0, -3.0])
def test_closed_form(yaw):
    """In the frame of a body flat on a slope the edges are on the ellipse of the two shares."""
    state = on_slope(yaw)
    V = AnisotropicCone(stiffness=1e4, along=0.1, across=0.8, power=2).vertices(state)[0]
    local = state.rotation[0].T @ V / (1e4 * 0.02**2)
    angles = 2.0 * np.pi * np.arange(8) / 8
    expected = [0.06 * np.cos(angles), 0.48 * np.sin(angles), np.ones(8)]
    np.testing.assert_allclose(local, expected, atol=ROUNDING)


def test_cones_compare_and_print_their_parameters():
    """What follows from them is no part of either."""
    cone = AnisotropicCone(stiffness=1e4, along=0.1)
    assert cone == AnisotropicCone(stiffness=1e4, along=0.1)
    assert cone != AnisotropicCone(stiffness=1e4, along=0.2)
    assert "_" not in repr(cone)


@pytest.mark.parametrize(
    ("name", "least", "most"), [("power", 1, 6), ("directions", 3, 64), ("recovery", 0, 100)]
)
def test_limits_of_parameters(name, least, most):
    """A polytope of friction needs three edges."""
    for value, allowed in ((least, 1), (least - 1, 0), (most, 1), (most + 1, 0)):
        with contextlib.nullcontext() if allowed else pytest.raises(ContactError, match=name):
            AnisotropicCone(stiffness=1e4, along=0.1, **{name: value})


def test_equal_shares_are_a_friction_cone():
    """With both shares 1 a body flat on level ground feels the isotropic cone."""
    state = on_slope(0.0, slope=0.0)
    found = AnisotropicCone(stiffness=1e4, along=1.0, directions=6).vertices(state)
    expected = FrictionCone(stiffness=1e4, directions=6).vertices(state)
    np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=ROUNDING)


def test_an_axis_out_of_the_ground_has_less_friction():
    """Friction falls with the cosine of the axis's angle to the ground, down to none."""
    state = on_slope(0.0, slope=0.0)
    model = AnisotropicCone(stiffness=1e4, along=0.5, directions=4)
    for angle, share in ((0.0, 1.0), (1.0, np.cos(1.0)), (np.pi / 2, 0.0)):
        turned = state._replace(rotation=pin.utils.rotate("y", -angle)[None])
        V = model.vertices(turned)[0] / (1e4 * 0.02**3)
        expected = 0.6 * share * np.array([[0.5, 0.0, -0.5, 0.0], [0.0, 1.0, 0.0, -1.0]])
        np.testing.assert_allclose(V[:2], expected, atol=ROUNDING)
        np.testing.assert_allclose(V[2], 1.0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stiffness": 0.0}, "stiffness must be > 0"),
        ({"along": -0.1}, "along must be >= 0, got -0.1"),
        ({"across": float("nan")}, "across must be a finite number, got nan"),
        ({"power": 2.5}, "power must be a whole number, got 2.5"),
        ({"directions": 2}, "directions must be >= 3, got 2"),
        ({"axis": (0.0, 0.0, 0.0)}, "axis must not be zero"),
        ({"axis": (1.0, 0.0)}, "axis.2 is missing"),
        ({"axis": (1.0, float("inf"), 0.0)}, "axis.1 must be a finite number, got inf"),
    ],
)
def test_bad_parameters(changes, message):
    """The message names the parameter and what it may be."""
    with pytest.raises(ContactError, match=message):
        AnisotropicCone(**({"stiffness": 1e4, "along": 0.1} | changes))
