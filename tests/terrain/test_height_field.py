"""Height fields, searched by blocks of cells, against coal's answers for the same block."""

from typing import Any

import coal
import numpy as np
import pytest

from nmdp_pin._terrain import HeightField, Plane, Surface, Terrain

ROUNDING = 2e-14  # [m] of coordinates of about 5 m, through products and a root
RELATIVE = 1e-15  # [-] of distances of 300 m, a few units in the last place
NEAR = 1e-3  # [m] nearer to an edge, rounding / distance is more than ANGLE
ANGLE = 1e-10  # [-] of unit normals, and of curvatures times the distance

RPY = (0.4, -0.7, 1.1)
POSITION = (0.3, -0.2, 0.5)


def drawn(ny: int, nx: int, height: float) -> np.ndarray:
    """Random heights from 0 to `height` [m]."""
    return height * np.random.default_rng(ny + nx).random((ny, nx))


FIELDS: dict[str, dict[str, Any]] = {
    "gentle": {"heights": drawn(12, 20, 0.04), "spacing": (0.2, 0.2)},
    "steep": {"heights": drawn(9, 11, 0.9), "spacing": (0.1, 0.25)},
    "turned": {
        "heights": drawn(12, 9, 0.2),
        "size": (2.0, 1.6),
        "thickness": 0.3,
        "position": POSITION,
        "rpy": RPY,
    },
    "fine": {"heights": drawn(60, 50, 0.02), "spacing": (0.03, 0.03)},
    "one cell": {"heights": [[0.0, 0.3], [0.2, -0.1]], "size": (1.0, 2.0)},
    "ridges": {"heights": np.tile([0.0, 0.1], (9, 5)), "spacing": (0.2, 0.2)},
}
FIELD = pytest.mark.parametrize("name", FIELDS)


def in_world(field: HeightField, local: np.ndarray) -> np.ndarray:
    """Points in the world, of those in the field's frame, shape (n, 3)."""
    M = field.placement
    return np.asarray(local @ M.rotation.T + M.translation)


def around(field: HeightField, n: int) -> np.ndarray:
    """Points in, below, above and beside the block, most of them next to its top, shape (n, 3)."""
    rng = np.random.default_rng(4)
    vertices = field.triangles()[0]
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    points = rng.uniform(low - 1.0, high + 1.0, (n, 3))
    top, size = field.samples.max(), np.ptp(field.samples)
    k = 2 * n // 3
    points[:k, :2] = rng.uniform(0.95 * low[:2], 0.95 * high[:2], (k, 2))
    points[:k, 2] = rng.uniform(top - 1.5 * size, top + 0.3, k)
    points[0] += [0.0, 0.0, 300.0]
    points[-1] -= [0.0, 0.0, 300.0]
    return in_world(field, points)


def over_features(field: HeightField) -> np.ndarray:
    """Points right over and under samples and middles of edges, and on them, shape (n, 3)."""
    ny, nx = field.samples.shape
    top = field.triangles()[0][: nx * ny].reshape(ny, nx, 3)
    features = [
        top,
        0.5 * (top[:, 1:] + top[:, :-1]),
        0.5 * (top[1:] + top[:-1]),
        0.5 * (top[1:, 1:] + top[:-1, :-1]),
    ]
    on = np.concatenate([feature.reshape(-1, 3) for feature in features])[:300]
    up = np.array([[0.0, 0.0, z] for z in (0.0, 0.02, 0.4, -0.01, -0.2)])
    return in_world(field, (on + up[:, None]).reshape(-1, 3))


def by_coal(field: HeightField, points: np.ndarray) -> np.ndarray:
    """Offsets of points from the closest points of the block's surface that coal finds, (n, 3)."""
    geometry, point = field.collision_geometry(), coal.Sphere(0.0)
    ask, here = coal.ComputeDistance(geometry, point), coal.Transform3s()
    M = field.placement
    there = coal.Transform3s(M.rotation, M.translation)
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    offsets = []
    for p in points:
        here.setTranslation(p)
        result.clear()
        ask(there, here, request, result)
        offsets.append(p - result.getNearestPoint1())
    return np.array(offsets)


def assert_same(surface: Surface, offset: np.ndarray, *, unique: bool) -> None:
    """The answer is coal's, to rounding.

    Args:
        surface: the answer.
        offset: offsets of the points from the closest ones, shape (n, 3).
        unique: the closest points are: normals are to agree as well.
    """
    distance = np.linalg.norm(offset, axis=1)
    np.testing.assert_allclose(abs(surface.distance), distance, rtol=RELATIVE, atol=ROUNDING)
    if not unique:
        return
    near = distance > NEAR
    assert near.sum() > 10
    along = offset[near] / surface.distance[near, None]
    np.testing.assert_allclose(surface.normal[near], along, rtol=0.0, atol=ANGLE)


@FIELD
def test_same_as_coal_at_random_points(name: str) -> None:
    """Distance and normal are coal's, next to the ground, far above, deep and beside."""
    field = HeightField(**FIELDS[name])
    points = around(field, 900)
    surface = Terrain([field]).query(points)
    assert 0.05 < (surface.distance < 0.0).mean() < 0.95
    assert_same(surface, by_coal(field, points), unique=name != "ridges")


@FIELD
def test_same_as_coal_over_edges_and_samples(name: str) -> None:
    """Over, under and on edges and samples, where triangles tie, the distance is coal's."""
    field = HeightField(**FIELDS[name])
    points = over_features(field)
    offset = by_coal(field, points)
    surface = Terrain([field]).query(points)
    assert_same(surface, offset, unique=False)
    outside = surface.distance > NEAR
    some = Terrain([field]).query(points[outside])
    assert_same(some, offset[outside], unique=name != "ridges")


@FIELD
def test_few_points_are_as_many(name: str) -> None:
    """A point alone gets the bits that it gets among others."""
    field = HeightField(**FIELDS[name])
    terrain, points = Terrain([field]), around(field, 60)
    alone = [terrain.query(point[None]) for point in points]
    surface = terrain.query(points)
    for i, single in enumerate(alone):
        assert single.distance[0] == surface.distance[i]
        assert (single.normal[0] == surface.normal[i]).all()


def test_same_bits_whatever_was_asked_before() -> None:
    """A query has no memory."""
    field = HeightField(**FIELDS["turned"])
    points, terrain = around(field, 100), Terrain([field])
    first = terrain.query(points)
    terrain.query(points[::-1] + 0.1)
    again, new = terrain.query(points), Terrain([field]).query(points)
    for a, b, c in zip(first, again, new, strict=True):
        assert a is not None
        assert (a == b).all()
        assert (a == c).all()


def test_ties_do_not_depend_on_other_points() -> None:
    """Right over a valley both of its sides are as near: which counts is no matter of others."""
    i = np.arange(17)
    valley = 0.125 * np.abs(i - i[:, None])  # in halves: both sides tie without rounding
    terrain = Terrain([HeightField(heights=valley, spacing=(0.25, 0.25))])
    points = np.array([[x, x, 0.3] for x in np.arange(-1.25, 1.25, 0.0625)])
    surface = terrain.query(points)
    assert (np.abs(surface.normal[:, 0]) > 0.1).all()
    far = np.array([[0.0, 0.0, 1.5], [0.1, 0.0, 1.7]])
    with_others = terrain.query(np.concatenate([points, far])).normal[: len(points)]
    np.testing.assert_allclose(with_others, surface.normal, rtol=0.0, atol=ANGLE)


def test_nothing_of_the_field_is_asked_far_above_a_plane() -> None:
    """Beside a field only the plane counts, and the field where it is higher."""
    field = HeightField(heights=np.full((3, 3), 0.2), size=(1.0, 1.0), thickness=0.5)
    points = np.array([[x, 0.1, 0.3] for x in np.linspace(-2.0, 2.0, 21)])
    shape = Terrain([Plane(), field]).query(points).shape
    assert (shape == np.where(np.abs(points[:, 0]) < 0.7, 1, 0)).all()


@pytest.mark.parametrize("lengths", [{"spacing": (0.1, 0.3)}, {"size": (0.4, 0.6)}])
def test_rows_are_along_y_and_columns_along_x(lengths):
    """Three rows of five samples, other distances along x than along y: each is at its place."""
    heights = np.arange(15.0).reshape(3, 5)
    field = HeightField(heights=heights, **lengths)
    top = field.triangles()[0][:15].reshape(3, 5, 3)
    np.testing.assert_allclose(
        top[:, :, 0], np.tile([-0.2, -0.1, 0.0, 0.1, 0.2], (3, 1)), atol=1e-12
    )
    np.testing.assert_allclose(top[:, :, 1].T, np.tile([-0.3, 0.0, 0.3], (5, 1)), atol=1e-12)
    np.testing.assert_array_equal(top[:, :, 2], heights)
