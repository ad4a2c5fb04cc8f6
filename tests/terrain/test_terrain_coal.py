"""Distances of every shape against coal's, and the normals where several would do."""

import coal
import numpy as np
import pytest
from test_terrain import tetrahedron

from nmdp_pin._terrain import Box, Capsule, Cylinder, HeightField, Plane, Shape, Sphere, Terrain

AGREEMENT = 1e-9  # [m, -] coal has closed forms for points, exact to rounding
NEAR = 1e-4  # [m] nearer to an edge of triangles, rounding / distance is not small against it

POSE = {"position": (0.3, -0.2, 0.5), "rpy": (0.4, -0.7, 1.1)}
BUMPS = 0.3 * np.random.default_rng(1).random((7, 9))
SHAPES: dict[str, Shape] = {
    "plane": Plane(normal=(0.2, -0.4, 1.0), offset=0.3),
    "box": Box(size=(1.0, 0.6, 0.4), **POSE),
    "sphere": Sphere(radius=0.4, **POSE),
    "cylinder": Cylinder(radius=0.3, length=0.8, **POSE),
    "capsule": Capsule(radius=0.3, length=0.8, **POSE),
    "height-field": HeightField(heights=BUMPS, size=(1.6, 1.2), thickness=0.3, **POSE),
    "mesh": tetrahedron(**POSE),
}


def around(n: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(-1.2, 1.8, (n, 3))


@pytest.mark.parametrize("name", SHAPES)
def test_distances_are_coals(name: str) -> None:
    """Distance and normal of every shape are those of coal outside, near and far."""
    shape = SHAPES[name]
    near = 0.3 * around(300) + POSE["position"]
    points = np.concatenate([around(300), near, 40.0 * around(20)])
    surface = Terrain([shape]).query(points)
    outside = surface.distance > NEAR
    assert 5 < outside.sum() < 615
    geometry, point = shape.collision_geometry(), coal.Sphere(0.0)
    ask, here = coal.ComputeDistance(geometry, point), coal.Transform3s()
    there = coal.Transform3s(shape.placement.rotation, shape.placement.translation)
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    for k in np.flatnonzero(outside):
        here.setTranslation(points[k])
        result.clear()
        distance = ask(there, here, request, result)
        assert distance == pytest.approx(surface.distance[k], abs=AGREEMENT)
        assert result.normal == pytest.approx(surface.normal[k], abs=AGREEMENT)


@pytest.mark.parametrize(
    ("shape", "point", "normal"),
    [
        (Box(size=(1.0, 1.0, 1.0)), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        (Box(size=(1.0, 1.0, 1.0)), (-0.2, 0.2, 0.1), (-1.0, 0.0, 0.0)),
        (Box(size=(1.0, 1.0, 1.0)), (0.1, 0.2, -0.2), (0.0, 1.0, 0.0)),
        (Box(size=(1.0, 1.0, 1.0)), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0)),
        (Box(size=(1.0, 1.0, 1.0)), (0.0, 0.5, 0.5), (0.0, 1.0, 0.0)),
        (Box(size=(1.0, 1.0, 1.0)), (0.75, 0.5, 0.5), (1.0, 0.0, 0.0)),
        (Sphere(radius=0.5), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        (Capsule(radius=0.25, length=0.5), (0.0, 0.0, 0.125), (-1.0, 0.0, 0.0)),
        (Cylinder(radius=0.25, length=1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        (Cylinder(radius=0.5, length=1.0), (0.25, 0.0, 0.25), (0.0, 0.0, 1.0)),
        (Cylinder(radius=0.25, length=1.0), (0.25, 0.0, 0.5), (0.0, 0.0, 1.0)),
    ],
)
def test_ties_are_as_documented(
    shape: Shape, point: tuple[float, ...], normal: tuple[float, ...]
) -> None:
    """On edges, axes and centres the normal is the one that docs/terrain.md says."""
    found = Terrain([shape]).query(np.array([point])).normal[0]
    np.testing.assert_allclose(found, normal, rtol=0.0, atol=AGREEMENT)
