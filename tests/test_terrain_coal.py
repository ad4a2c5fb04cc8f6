"""The contract of `query`: closed forms and coal give the same surface for every shape."""

import numpy as np
import pytest
from test_terrain import everything, tetrahedron

from nmdp_pin.errors import ScenarioError, TerrainError
from nmdp_pin.scenario import Scenario
from nmdp_pin.terrain import (
    Box,
    Capsule,
    Cylinder,
    HeightField,
    Plane,
    Shape,
    Sphere,
    Surface,
    Terrain,
)

AGREEMENT = 1e-9  # [m, -] what is promised; both are closed forms, exact to rounding
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


def assert_same(closed: Surface, coal: Surface) -> None:
    """Two answers agree in everything."""
    np.testing.assert_allclose(coal.distance, closed.distance, rtol=0.0, atol=AGREEMENT)
    np.testing.assert_allclose(coal.normal, closed.normal, rtol=0.0, atol=AGREEMENT)
    np.testing.assert_array_equal(coal.friction, closed.friction)
    np.testing.assert_array_equal(coal.shape, closed.shape)
    assert (coal.curvature is None) == (closed.curvature is None)
    if coal.curvature is not None:
        scale = np.minimum(np.abs(closed.distance), 1.0)[:, None, None]
        np.testing.assert_allclose(
            scale * coal.curvature, scale * closed.curvature, rtol=0.0, atol=AGREEMENT
        )


def around(n: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(-1.2, 1.8, (n, 3))


@pytest.mark.parametrize("name", SHAPES)
def test_both_agree(name: str) -> None:
    """Distance, normal and curvature are the same, inside and outside, near and far."""
    closed = Terrain([SHAPES[name]])
    near = 0.3 * around(300) + POSE["position"]
    points = np.concatenate([around(300), near, 40.0 * around(20)])
    points = points[np.abs(closed.query(points).distance) > NEAR]
    surface = closed.query(points)
    assert 5 < (surface.distance < 0.0).sum() < 600
    assert_same(surface, Terrain([SHAPES[name]], query="coal").query(points))


def test_both_agree_on_the_union() -> None:
    """The union of shapes of every kind is the same, lost points included."""
    points = np.concatenate([around(300), [[np.nan, 0.0, 0.0]]])
    assert_same(
        Terrain(everything()).query(points), Terrain(everything(), query="coal").query(points)
    )


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
    """On edges, axes and centres both take the normal that docs/terrain.md says."""
    for query in ("closed-form", "coal"):
        found = Terrain([shape], query=query).query(np.array([point])).normal[0]
        np.testing.assert_allclose(found, normal, rtol=0.0, atol=AGREEMENT, err_msg=query)


def test_arrays_hold_what_coal_does_not_measure() -> None:
    """The kernels get the shapes that have closed forms, or none with query = "coal".

    Height fields, which are searched, and what coal measures are one surface beside these.
    """
    scene = everything()
    closed, n = Terrain(scene), len(scene)
    assert len(closed.arrays.kinds) == n - 1
    assert sorted(closed.closed_forms.kinds[:, 1]) == [*range(n - 3), n - 2]
    assert closed.called is not None
    assert closed.called.arrays.kinds[:, 1].tolist() == [n - 3]
    others = Terrain([scene[n - 3], scene[n - 1]]).query(around(300))
    found = closed.called.query(around(300))
    np.testing.assert_array_equal(found.distance, others.distance)
    np.testing.assert_array_equal(found.shape, np.array([n - 3, n - 1])[others.shape])
    assert Terrain(scene[:5]).called is None
    by_coal = Terrain(scene[:5], query="coal")
    assert len(by_coal.arrays.kinds) == len(by_coal.closed_forms.kinds) == 0
    assert by_coal.called is not None
    assert len(by_coal.called.by_coal) == 5


def test_scenarios_choose() -> None:
    """`terrain.query` of a scenario is the option, and another word is refused."""
    asked = Scenario.load("falling-box-stairs", overrides=["terrain.query=coal"])
    assert asked.build_terrain().measured_by == "coal"
    assert Scenario.load("falling-box-stairs").build_terrain().measured_by == "closed-form"
    with pytest.raises(ScenarioError, match=r"terrain\.query"):
        Scenario.load("falling-box-stairs", overrides=["terrain.query=fcl"])
    with pytest.raises(TerrainError, match=r"closed-form.*coal.*'fcl'"):
        Terrain([Plane()], query="fcl")  # type: ignore[arg-type]
