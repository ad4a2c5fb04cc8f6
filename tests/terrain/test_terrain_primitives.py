"""Planes, boxes and round solids against closed forms and finite differences."""

from itertools import pairwise

import coal
import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import brentq

from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Shape, Sphere, Terrain

ROUNDING = 1e-14  # [m] a few units in the last place of coordinates of about 3 m
STEP = 1e-6  # [m] of the central differences
GRADIENT = 1e-8  # [-] STEP^2 / r^2 for r >= 0.1 m, plus rounding / STEP = 1e-9
HESSIAN = 1e-7  # [1/m] the same for the normal, whose third derivative is 1 / r^3
SWITCH = 1e-4  # [m] points nearer to a change of feature are left out of differences

RPY = (0.4, -0.7, 1.1)
POSITION = (0.3, -0.2, 0.5)


def box(p: np.ndarray) -> tuple[float, object]:
    """Signed distance to the box of half sizes 0.5, 0.3, 0.2 and the closest feature."""
    gap = np.abs(p) - [0.5, 0.3, 0.2]
    inside = gap.max() < 0.0
    feature = (gap.argmax() if inside else None, *(gap > 0.0), *(p > 0.0))
    return float(np.linalg.norm(np.maximum(gap, 0.0)) + min(gap.max(), 0.0)), feature


def ball(p: np.ndarray) -> tuple[float, object]:
    """Signed distance to the ball of radius 0.4; its surface is one feature."""
    return float(np.linalg.norm(p) - 0.4), None


def rod(p: np.ndarray) -> tuple[float, object]:
    """Signed distance to the cylinder of radius 0.3 and half length 0.4, closest feature."""
    gap = np.array([np.hypot(p[0], p[1]) - 0.3, abs(p[2]) - 0.4])
    inside = gap.max() < 0.0
    feature = (gap.argmax() if inside else None, *(gap > 0.0), p[2] > 0.0)
    return float(np.linalg.norm(np.maximum(gap, 0.0)) + min(gap.max(), 0.0)), feature


def pill(p: np.ndarray) -> tuple[float, object]:
    """Signed distance to the capsule of radius 0.3 about a segment of half length 0.4."""
    beyond = abs(p[2]) > 0.4
    end = np.clip(p[2], -0.4, 0.4)
    return float(np.linalg.norm(p - [0.0, 0.0, end]) - 0.3), (beyond, p[2] > 0.0)


def hat(p: np.ndarray) -> tuple[float, object]:
    """Signed distance to the cone of radius 0.4 and half length 0.3, by its outline."""
    x, corners = np.array([np.hypot(p[0], p[1]), p[2]]), [(0.0, -0.3), (0.4, -0.3), (0.0, 0.3)]
    found = []
    for a, b in pairwise(np.array(corners)):
        t = (x - a) @ (b - a) / ((b - a) @ (b - a))
        gap = x - a - np.clip(t, 0.0, 1.0) * (b - a)
        found.append((float(np.linalg.norm(gap)), (t > 0.0, t < 1.0)))
    inside = bool(p[2] > -0.3 and x[0] < 0.4 * (0.3 - p[2]) / 0.6)
    distance, feature = min(found)
    return -distance if inside else distance, (feature, found[0] < found[1], inside)


EGG = np.array([0.5, 0.3, 0.2])  # [m] semi-axes


def egg(p: np.ndarray) -> tuple[float, object]:
    """Signed distance to an ellipsoid, whose nearest point is given by a root that SciPy finds."""

    def over(t: float) -> float:
        return float(np.square(EGG * p / (EGG**2 + t)).sum() - 1.0)

    low = float((EGG * np.abs(p) - EGG**2).max())
    t = brentq(over, low, low + 2.0 * np.abs(p).sum(), xtol=1e-17, rtol=1e-15)
    return float(np.sign(t) * np.linalg.norm(t * p / (EGG**2 + t))), None


SHAPES = {
    "box": (Box(size=(1.0, 0.6, 0.4), position=POSITION, rpy=RPY), box),
    "box upright": (Box(size=(1.0, 0.6, 0.4)), box),
    "sphere": (Sphere(radius=0.4, position=POSITION, rpy=RPY), ball),
    "capsule": (Capsule(radius=0.3, length=0.8, position=POSITION, rpy=RPY), pill),
    "cylinder": (Cylinder(radius=0.3, length=0.8, position=POSITION, rpy=RPY), rod),
    "cylinder upright": (Cylinder(radius=0.3, length=0.8), rod),
    "cone": (Cone(radius=0.4, length=0.6, position=POSITION, rpy=RPY), hat),
    "ellipsoid": (Ellipsoid(radii=tuple(EGG), position=POSITION, rpy=RPY), egg),
}
SHAPE = pytest.mark.parametrize("name", SHAPES)


def samples(shape: Shape, extent: float, n: int = 400) -> np.ndarray:
    """Points around a shape, inside and outside, world frame."""
    local = np.random.default_rng(7).uniform(-extent, extent, (n, 3))
    M = shape.placement
    return local @ M.rotation.T + M.translation


def signed_distance(name: str, point: np.ndarray) -> float:
    shape, formula = SHAPES[name]
    return formula(shape.placement.actInv(point))[0]


def smooth(name: str, point: np.ndarray) -> bool:
    """Whether the points around have the same feature, away from the centre."""
    shape, formula = SHAPES[name]
    p = shape.placement.actInv(point)
    around = SWITCH * np.array(np.meshgrid(*3 * [[-1, 1]])).reshape(3, -1).T
    same = {formula(p + e)[1] for e in around}
    return len(same) == 1 and np.hypot(p[0], p[1]) > 0.1


@SHAPE
@pytest.mark.parametrize("extent", [0.25, 0.8, 3.0])
def test_distance_is_the_closed_form(name: str, extent: float) -> None:
    """Signed distances are those of the closed forms, deep inside, near and far."""
    shape = SHAPES[name][0]
    points = samples(shape, extent)
    distance = Terrain([shape]).query(points).distance
    expected = np.array([signed_distance(name, p) for p in points])
    if extent < 1.0:
        assert (expected < 0.0).sum() > 5
    np.testing.assert_allclose(distance, expected, rtol=0.0, atol=ROUNDING)


@SHAPE
def test_normal_is_the_gradient(name: str) -> None:
    """Normals are unit vectors and the central differences of the closed form."""
    shape = SHAPES[name][0]
    points = np.array([p for p in samples(shape, 0.8) if smooth(name, p)])
    assert len(points) > 100
    normal = Terrain([shape]).query(points).normal
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, rtol=0.0, atol=1e-14)
    for k, e in enumerate(STEP * np.eye(3)):
        slope = [signed_distance(name, p + e) - signed_distance(name, p - e) for p in points]
        np.testing.assert_allclose(normal[:, k], np.array(slope) / (2.0 * STEP), atol=GRADIENT)


@SHAPE
def test_curvature_is_the_derivative_of_the_normal(name: str) -> None:
    """The curvature is that of central differences of the normal, away from feature switches."""
    shape = SHAPES[name][0]
    points = np.array(
        [p for p in samples(shape, 0.8) if smooth(name, p) and abs(signed_distance(name, p)) > 0.1]
    )
    terrain = Terrain([shape])
    curvature = terrain.query(points).curvature
    assert curvature is not None
    assert (np.abs(curvature).max(axis=(1, 2)) > 0.1).sum() > 50
    for k, e in enumerate(STEP * np.eye(3)):
        slope = (terrain.query(points + e).normal - terrain.query(points - e).normal) / (2.0 * STEP)
        np.testing.assert_allclose(curvature[:, :, k], slope, rtol=0.0, atol=HESSIAN)


def test_every_feature_is_among_the_samples() -> None:
    """The points of the other tests see faces, edges and vertices, the rim, side and caps."""
    local = samples(Sphere(radius=1.0), 0.8)
    outside = (np.abs(local) > [0.5, 0.3, 0.2]).sum(axis=1)
    assert set(outside) == {0, 1, 2, 3}
    side, cap = np.hypot(local[:, 0], local[:, 1]) > 0.3, np.abs(local[:, 2]) > 0.4
    for where in (side & cap, side & ~cap, cap & ~side, ~side & ~cap):
        assert where.sum() > 10


@pytest.mark.parametrize(
    ("shape", "point", "distance", "normal"),
    [
        (Box(size=(1.0, 0.6, 0.4)), (0.0, 0.0, 0.0), -0.2, (0.0, 0.0, 1.0)),
        (Box(size=(1.0, 0.6, 0.4)), (0.1, 0.1, 0.2), 0.0, (0.0, 0.0, 1.0)),
        (Sphere(radius=0.4), (0.0, 0.0, 0.0), -0.4, (1.0, 0.0, 0.0)),
        (Cylinder(radius=0.3, length=1.0), (0.0, 0.0, 0.0), -0.3, (1.0, 0.0, 0.0)),
        (Cylinder(radius=0.3, length=0.2), (0.0, 0.0, 0.0), -0.1, (0.0, 0.0, 1.0)),
        (Cylinder(radius=0.3, length=0.2), (0.1, 0.0, 0.1), 0.0, (0.0, 0.0, 1.0)),
        (Cylinder(radius=0.3, length=0.2), (0.1, 0.0, -0.09), -0.01, (0.0, 0.0, -1.0)),
        (Cone(radius=0.3, length=0.4), (0.0, 0.0, 0.2), 0.0, (0.8, 0.0, 0.6)),
        (Cone(radius=0.3, length=0.4), (0.0, 0.0, -0.2), 0.0, (0.0, 0.0, -1.0)),
        (Ellipsoid(radii=(0.4, 0.4, 0.4)), (0.0, 0.0, 0.4), 0.0, (0.0, 0.0, 1.0)),
        (Ellipsoid(radii=(0.5, 0.3, 0.2)), (0.0, 0.0, 0.0), -0.2, (0.0, 0.0, 1.0)),
        (Ellipsoid(radii=(0.5, 0.3, 0.2)), (0.0, -0.3, 0.0), 0.0, (0.0, -1.0, 0.0)),
    ],
)
def test_degenerate_points(
    shape: Shape, point: tuple[float, ...], distance: float, normal: tuple[float, ...]
) -> None:
    """Centres, axes and points on the surface have a distance and one of the possible normals."""
    surface = Terrain([shape]).query(np.array([point]))
    assert surface.distance[0] == pytest.approx(distance, abs=ROUNDING)
    np.testing.assert_allclose(surface.normal[0], normal, atol=ROUNDING)
    assert surface.curvature is None or np.isfinite(surface.curvature).all()


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.0, 0.0, -3.0), (1.0, -2.0, 0.5)])
def test_plane_agrees_with_coal(normal: tuple[float, float, float]) -> None:
    """The product n.x - d of planes is what coal gives for a half-space, both signs."""
    plane = Plane(normal=normal, offset=0.3, friction=0.4)
    points = np.random.default_rng(3).uniform(-2.0, 2.0, (50, 3))
    surface = Terrain([plane]).query(points)
    assert surface.curvature is None
    ground, point = plane.collision_geometry(), coal.Sphere(0.0)
    ask = coal.ComputeDistance(ground, point)
    for x, distance, n in zip(points, surface.distance, surface.normal, strict=True):
        result = coal.DistanceResult()
        here = coal.Transform3s(np.eye(3), x)
        expected = ask(coal.Transform3s(), here, coal.DistanceRequest(), result)
        assert distance == pytest.approx(expected, abs=ROUNDING)
        np.testing.assert_allclose(n, result.normal, atol=ROUNDING)
    assert (surface.distance < 0.0).any()
    assert (surface.friction == 0.4).all()


def test_plane_by_height() -> None:
    """A plane given by its height holds the point of the z axis at that height."""
    surface = Terrain([Plane(normal=(0.3, -0.4, 2.0), height=-0.8)]).query(
        np.array([[0.0, 0.0, -0.8], [0.0, 0.0, 0.2]])
    )
    np.testing.assert_allclose(surface.distance[0], 0.0, atol=ROUNDING)
    np.testing.assert_allclose(surface.distance[1], surface.normal[0, 2], atol=ROUNDING)


@pytest.mark.parametrize("n", [1, 256, 257, 1000])
def test_single_plane_at_any_number_of_points(n: int) -> None:
    """The constant normals and frictions of one plane fit any number of points."""
    surface = Terrain([Plane(height=0.5, friction=0.3)]).query(np.zeros((n, 3)))
    assert (surface.distance == -0.5).all()
    assert surface.normal.shape == (n, 3)
    assert (surface.normal == [0.0, 0.0, 1.0]).all()
    assert surface.friction.shape == (n,)


@SHAPE
def test_geometry_and_placement_describe_the_same_shape(name: str) -> None:
    """What a viewer draws (coal geometry at its placement) bounds exactly the queried solid."""
    shape, formula = SHAPES[name]
    geometry = shape.collision_geometry()
    geometry.computeLocalAABB()
    assert isinstance(shape.placement, pin.SE3)
    top = np.array([0.0, 0.0, geometry.aabb_local.max_[2]])
    assert formula(top)[0] == pytest.approx(0.0, abs=ROUNDING)
    surface = Terrain([shape]).query(shape.placement.act(top)[None])
    assert surface.distance[0] == pytest.approx(0.0, abs=ROUNDING)


@pytest.mark.parametrize("axis", range(3))
def test_a_coordinate_of_zero_counts_as_positive(axis):
    """In the middle of a plate, where both sides are as near, the normal is that of the upper."""
    size = np.ones(3)
    size[axis] = 0.1
    terrain = Terrain([Box(size=tuple(size), position=(0.0, 0.0, 0.0))])
    surface = terrain.query(np.zeros((1, 3)))
    assert surface.distance[0] == pytest.approx(-0.05, abs=ROUNDING)
    np.testing.assert_array_equal(surface.normal[0], np.eye(3)[axis])
