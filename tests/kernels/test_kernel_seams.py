"""Seams: ways out of shapes, and faces that other shapes of the world cover."""

import numpy as np
import pytest

from nmdp_pin import FrictionCone, Terrain
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.geometry.seams import _is_inner, _way_out
from nmdp_pin._robot import free_body
from nmdp_pin._terrain import Box, Sphere

BODY = free_body("body", Sphere(radius=0.1), mass=1.0)
FLOOR = Box(size=(1.0, 1.0, 0.2), position=(-0.5, 0.0, -0.1))
DEEP = 1e-3  # [m] under the top of the floor


def form_on(*shapes) -> CompiledSystem:
    """A ball in a world of shapes."""
    return CompiledSystem(System(BODY, Terrain(shapes), FrictionCone(stiffness=1e6)))


@pytest.mark.parametrize(
    ("p", "n", "up", "rise"),
    [
        ((0.02, 0.15, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), 0.05),
        ((0.02, 0.19, -0.27), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0), 0.03),
        ((-0.09, 0.19, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), 0.01),
        ((0.02, -0.1, 0.1), (0.6, 0.8, 0.0), (1.0, 0.0, 0.0), 0.08),
    ],
)
def test_the_way_out_of_a_box_is_across_the_normal(p, n, up, rise) -> None:
    """Through the nearest face that is at more than 45 degrees to it."""
    candidates = form_on(Box(size=(0.2, 0.4, 0.6))).candidates
    direction, distance = _way_out(candidates, 0, p, n)
    np.testing.assert_allclose(direction, up, atol=1e-12)
    assert distance == pytest.approx(rise)


def test_the_way_out_of_a_ball_is_the_shortest() -> None:
    """Whatever the normal is."""
    candidates = form_on(Sphere(radius=0.3)).candidates
    direction, distance = _way_out(candidates, 0, (0.0, 0.1, 0.0), (0.0, 1.0, 0.0))
    np.testing.assert_allclose(direction, (0.0, 1.0, 0.0), atol=1e-12)
    assert distance == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("above", "inner"), [(-0.01, True), (0.0, True), (3e-5, True), (1e-4, False), (0.1, False)]
)
def test_a_face_that_ends_with_the_floor_is_an_inner_one(above: float, inner: bool) -> None:
    """Behind a floor is a wall, which goes on above the floor, or another part of it."""
    tall = 0.2 + above
    form = form_on(FLOOR, Box(size=(1.0, 1.0, tall), position=(0.5, 0.0, above - 0.5 * tall)))
    contacts, at = form.new_stage().contacts, form.new_point().places
    candidates = form.candidates
    alone = (candidates.rows == 1) & (candidates.pairs < 0) & (candidates.bodies[:, 1] == 0)
    contacts.index[0], contacts.n[0] = np.flatnonzero(alone)[0], 1
    contacts.bodies[0] = 2, 0
    at.centre[0], at.arm[0], at.depth[0] = (0.0, 0.0, -DEEP), 0.0, 0.0
    at.normal[0] = -1.0, 0.0, 0.0
    assert _is_inner(candidates, contacts, at, 0) is inner
