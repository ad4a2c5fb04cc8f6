"""Surfaces of the terrain and of a body at the contacts that touch them, in closed form."""

import body_scenes
import numpy as np
import pytest

from nmdp_pin.dynamics.penalty_scene import ground_of
from nmdp_pin.kernels.ground import find_surfaces
from nmdp_pin.kernels.position_scene import Surfaces
from nmdp_pin.terrain import Plane, Sphere, Terrain


@pytest.mark.parametrize("hilly", [False, True])
def test_each_contact_finds_its_own_surface(hilly):
    """Those of the terrain a plane or a ball, those of the body a sphere around its origin."""
    robot, rng = body_scenes.robot("sphere"), np.random.default_rng(0)
    hill = Sphere(radius=0.5, position=(0.0, 0.0, -1.0), friction=0.3)
    terrain = Terrain([hill if hilly else Plane(height=-1.0, friction=0.3)])
    ground, m = ground_of(robot, terrain)._replace(surface_of=np.array([0, 0, 1, 1])), 4
    of_body = ground.surface_of == 1
    found = Surfaces(
        rng.standard_normal((m, 3)),
        *np.full((1, m), np.nan),
        np.full((m, 3), np.nan),
        np.full((m, 3, 3), np.nan),
        np.full(m, np.nan),
        np.full(m, -1),
        np.full(1, np.nan),
    )
    found.centre[0] = 0.1, 0.2, 0.4  # of the terrain's contact, nearer to the body's sphere
    find_surfaces(ground, found)
    away = found.centre + (0.0, 0.0, 1.0) * (~of_body[:, None])
    radius = np.where(of_body, body_scenes.SURFACES["sphere"].radius, 0.5)
    length = np.linalg.norm(away, axis=1)
    normal = away / length[:, None]
    distance, curvature = length - radius, np.eye(3) - normal[:, :, None] * normal[:, None]
    curvature /= length[:, None, None]
    if not hilly:
        distance = np.where(of_body, distance, away[:, 2])
        normal[~of_body], curvature[~of_body] = (0.0, 0.0, 1.0), 0.0
    assert found.distance == pytest.approx(distance)
    assert found.normal == pytest.approx(normal)
    assert found.curvature == pytest.approx(curvature)
    assert found.friction[~of_body] == pytest.approx(0.3)
    assert found.curved[0] == 1.0
