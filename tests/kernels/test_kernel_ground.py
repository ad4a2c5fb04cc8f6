"""Surfaces of the terrain and of a body at the contacts that touch them, in closed form."""

from dataclasses import replace

import body_scenes
import numpy as np
import pytest

from nmdp_pin._dynamics.geometry.candidates import candidates_of, new_contacts, new_places
from nmdp_pin._kernels.geometry.planes import bend_contacts, place_contacts
from nmdp_pin._terrain import Plane, Sphere, Terrain


@pytest.mark.parametrize("hilly", [False, True])
def test_each_contact_finds_its_own_surface(hilly):
    """Those of the terrain a plane or a ball, those of the body a sphere around its origin."""
    robot, rng = body_scenes.robot("sphere"), np.random.default_rng(0)
    hill = Sphere(radius=0.5, position=(0.0, 0.0, -1.0), friction=0.3)
    terrain = Terrain([hill if hilly else Plane(height=-1.0, friction=0.3)])
    # contacts that do not touch are bent as well
    candidates = replace(candidates_of(robot, terrain), distant=True)
    of_body = candidates.bodies[:, 1] > 0
    assert of_body.any()
    assert not of_body.all()
    m = len(of_body)
    candidates.local[:] = rng.standard_normal((m, 3))
    candidates.local[0] = 0.1, 0.2, 0.4  # of the terrain's contact, nearer to the body's sphere
    # all bodies lie in the origin
    P = np.zeros((robot.model.njoints, 4, 3))
    P[:, :3] = np.eye(3)
    contacts, found = new_contacts(candidates), new_places(m)
    place_contacts(candidates, contacts, P, found)
    bend_contacts(candidates, contacts, found)
    assert np.array_equal(found.centre, candidates.local)
    away = found.centre + (0.0, 0.0, 1.0) * (~of_body[:, None])
    radius = np.where(of_body, body_scenes.SURFACES["sphere"].radius, 0.5)
    length = np.linalg.norm(away, axis=1)
    normal = away / length[:, None]
    distance, curvature = length - radius, np.eye(3) - normal[:, :, None] * normal[:, None]
    curvature /= length[:, None, None]
    if not hilly:
        distance = np.where(of_body, distance, away[:, 2])
        normal[~of_body] = 0.0, 0.0, 1.0
    curved = of_body | hilly
    assert found.depth == pytest.approx(candidates.radii - distance)
    assert found.normal == pytest.approx(normal)
    assert np.array_equal(found.curved, curved)
    assert found.curvature[curved] == pytest.approx(curvature[curved])
    assert found.arm == pytest.approx(-candidates.radii[:, None] * normal)
    assert found.friction[~of_body] == pytest.approx(0.3)
    assert np.array_equal(found.surface, of_body)  # shapes of the terrain, then those of the body
