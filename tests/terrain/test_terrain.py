"""Terrains of several shapes: composition, purity, cost, bad input."""

import os
import pickle
import subprocess
import sys
import typing
from dataclasses import replace
from pathlib import Path

import coal
import numpy as np
import pytest
from pairwise import pairwise

from nmdp_pin._terrain import (
    SHAPES,
    Box,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    Shape,
    Sphere,
    Surface,
    Terrain,
)
from nmdp_pin.errors import TerrainError

# [m, -] A product of n points may be summed in another order than that of one; then coal and
# the division by distances of 1 mm and more follow.
ROUNDING = 1e-11
CURVATURE = 1e-7  # [1/m] the same, divided by a distance twice


def tetrahedron(**options: object) -> Mesh:
    return Mesh(
        vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        faces=[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
        **options,
    )


def shapes(seed: int, n: int) -> list[Shape]:
    """Rotated boxes, spheres and cylinders that overlap in places, each with its own friction."""
    rng = np.random.default_rng(seed)
    made: list[Shape] = []
    for k in range(n):
        a, b, c = rng.uniform(0.1, 0.6, 3)
        pose = {
            "position": tuple(rng.uniform(-1.5, 1.5, 3)),
            "rpy": tuple(rng.uniform(-2.0, 2.0, 3)),
            "friction": 0.1 + 0.01 * k,
        }
        kind = k % 3
        made.append(
            Box(size=(a, b, c), **pose)
            if kind == 0
            else Sphere(radius=a, **pose)
            if kind == 1
            else Cylinder(radius=a, length=b, **pose)
        )
    return made


def everything() -> list[Shape]:
    """One terrain with shapes of every kind."""
    bumps = 0.1 * np.sin(np.arange(30.0)).reshape(5, 6)
    return [
        Plane(normal=(0.1, 0.2, 1.0), height=-1.2, friction=0.9),
        *shapes(1, 12),
        HeightField(heights=bumps, size=(1.0, 1.0), position=(1.0, 1.0, 0.5), friction=0.8),
        Plane(normal=(1.0, 0.0, 0.1), offset=-1.4, friction=1.0),
        tetrahedron(position=(-0.8, 0.6, 0.2), rpy=(0.3, 0.2, 0.1), friction=0.5),
    ]


def points(n: int = 300) -> np.ndarray:
    return np.random.default_rng(4).uniform(-1.6, 1.6, (n, 3))


def curvature_of(surface: Surface) -> np.ndarray:
    n = len(surface.distance)
    return np.zeros((n, 3, 3)) if surface.curvature is None else surface.curvature


@pytest.mark.parametrize(
    "scene",
    [
        everything(),
        shapes(2, 40),
        everything()[::-1],
        [*shapes(1, 3), Plane(normal=(0.1, 0.2, 1.0), height=-0.3, friction=0.9), *shapes(2, 3)],
    ],
    ids=["everything", "solids", "everything turned round", "one plane among solids"],
)
def test_the_nearest_shape_counts(scene: list[Shape]) -> None:
    """A terrain is, at every point, what the shape of the smallest signed distance is alone."""
    x = points()
    together = Terrain(scene).query(x)
    alone = [Terrain([shape]).query(x) for shape in scene]
    nearest = np.array([surface.distance for surface in alone]).argmin(axis=0)
    assert len(set(nearest)) > len(scene) // 2
    assert (together.distance < 0.0).sum() > 20
    for i, k in enumerate(nearest):
        assert together.distance[i] == pytest.approx(alone[k].distance[i], abs=ROUNDING)
        np.testing.assert_allclose(together.normal[i], alone[k].normal[i], atol=ROUNDING)
        assert together.friction[i] == scene[k].friction
        assert together.shape[i] == k
        if abs(together.distance[i]) > 1e-3:
            np.testing.assert_allclose(
                curvature_of(together)[i], curvature_of(alone[k])[i], rtol=1e-7, atol=CURVATURE
            )


def test_meshes_are_where_their_faces_are() -> None:
    """Not in the origin of their frame."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) + np.array([4.0, 0.0, 0.0])
    mesh = Mesh(vertices=corners, faces=tetrahedron().faces)
    found = Terrain([mesh, Plane(height=-3.0)]).query(np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    assert found.distance.tolist() == [3.0, 2.0]
    assert found.shape.tolist() == [1, 0]


def test_same_bits_whatever_was_asked_before() -> None:
    """A query gives the same bits after any history of other queries, and in a new terrain."""
    rng = np.random.default_rng(9)
    batches = [rng.uniform(-1.6, 1.6, (n, 3)) for n in (1, 4, 16, 64, 7)]
    terrain = Terrain(everything())
    fresh = [Terrain(everything()).query(batch) for batch in batches]
    for _ in range(5):
        for k in rng.permutation(len(batches)):
            terrain.query(rng.uniform(-3.0, 3.0, (5, 3)))
            for mine, theirs in zip(terrain.query(batches[k]), fresh[k], strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_the_compiled_kernels_are_the_python_ones(tmp_path: Path) -> None:
    """With NUMBA_DISABLE_JIT=1 the same kernels give the same surface, to rounding."""
    x = np.vstack([points(60), [[np.nan, 0.0, 0.0]]])
    np.save(tmp_path / "points.npy", x)
    (tmp_path / "terrain.pkl").write_bytes(pickle.dumps(Terrain(everything())))
    script = """
import pickle, sys
import numpy as np
terrain = pickle.load(open(sys.argv[1] + "/terrain.pkl", "rb"))
surface = terrain.query(np.load(sys.argv[1] + "/points.npy"))
np.savez(sys.argv[1] + "/surface.npz", *surface)
"""
    subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=True,
    )
    compiled = Terrain(everything()).query(x)
    with np.load(tmp_path / "surface.npz") as python:
        for k, part in enumerate(compiled):
            np.testing.assert_allclose(python[f"arr_{k}"], part, rtol=1e-9, atol=ROUNDING)


def test_pickled_terrain_gives_the_same_bits() -> None:
    """A terrain survives pickling."""
    terrain = Terrain(everything())
    copy = pickle.loads(pickle.dumps(terrain))
    for mine, theirs in zip(copy.query(points()), terrain.query(points()), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pairwise(
    {
        "column": [0, 1, 2],
        "bad": [np.nan, np.inf, -np.inf, 1e200, 2e9],
        "scene": [[Plane()], [Plane(), Plane(normal=(1, 0, 1))], everything()],
    }
)
def test_points_that_are_not_finite(scene: list[Shape], bad: float, column: int) -> None:
    """A lost point has the distance NaN, without a warning, and does not touch the others."""
    x = points(20)
    lost = x.copy()
    lost[5, column] = bad
    terrain = Terrain(scene)
    before, after = terrain.query(x), terrain.query(lost)
    kept = np.arange(20) != 5
    assert np.isnan(after.distance[5])
    assert np.isnan(after.normal[5]).all()
    assert after.curvature is None or np.isnan(after.curvature[5]).all()
    assert after.shape[5] == -1
    np.testing.assert_allclose(after.distance[kept], before.distance[kept], atol=ROUNDING)
    np.testing.assert_allclose(after.normal[kept], before.normal[kept], atol=ROUNDING)
    np.testing.assert_array_equal(after.friction[kept], before.friction[kept])


@pytest.mark.parametrize("scene", [[Plane()], shapes(2, 40), [tetrahedron()]])
def test_far_points(scene: list[Shape]) -> None:
    """Distances grow with how far a point is; there is no cut-off."""
    surface = Terrain(scene).query(np.array([[0.0, 0.0, 1e3], [0.0, 0.0, 1e6], [0.0, 0.0, 9e8]]))
    np.testing.assert_allclose(surface.distance, [1e3, 1e6, 9e8], rtol=0.03)


@pytest.mark.parametrize("scene", [[Plane()], [Plane(), Plane()], everything()])
def test_no_points(scene: list[Shape]) -> None:
    """A query of no points gives arrays of no rows."""
    surface = Terrain(scene).query(np.zeros((0, 3)))
    assert surface.distance.shape == (0,)
    assert surface.normal.shape == (0, 3)
    assert surface.friction.shape == (0,)


def test_curvature_is_none_only_where_it_is_zero() -> None:
    """Over planes and faces there is no curvature; an edge brings it, zero for the other points."""
    terrain = Terrain([Plane(), Box(size=(1.0, 1.0, 1.0))])
    flat = np.array([[3.0, 0.0, 0.1], [0.2, 0.1, 0.6]])
    assert terrain.query(flat).curvature is None
    curvature = terrain.query(np.vstack([flat, [[0.7, 0.1, 0.7]]])).curvature
    assert curvature is not None
    assert (curvature[:2] == 0.0).all()
    assert np.abs(curvature[2]).max() > 1.0
    assert Terrain([Plane(), Plane(normal=(1, 0, 0))]).flat
    assert not terrain.flat


def test_overlap_hides_inner_edges() -> None:
    """Two boxes that overlap by more than the depth have no side walls at their joint."""
    floor = Terrain(
        [
            Box(size=(1.1, 1.0, 0.2), position=(-0.5, 0.0, -0.1), friction=0.3),
            Box(size=(1.1, 1.0, 0.2), position=(0.5, 0.0, -0.1), friction=0.6),
        ]
    )
    x = np.linspace(-0.3, 0.3, 61)
    surface = floor.query(np.stack([x, np.zeros(61), np.full(61, -0.01)], axis=1))
    np.testing.assert_allclose(surface.distance, -0.01, atol=ROUNDING)
    np.testing.assert_array_equal(surface.normal[:, 2], 1.0)
    assert set(surface.friction) == {0.3, 0.6}


def test_terrain_is_immutable() -> None:
    """A terrain cannot be changed."""
    terrain = Terrain([Plane()])
    with pytest.raises(AttributeError):
        terrain.shapes = ()  # type: ignore[misc]


def test_what_a_query_gave_stays() -> None:
    """The arrays of one query are not overwritten by the next one."""
    terrain = Terrain(everything())
    first = terrain.query(points())
    kept = [np.array(part) for part in first]
    terrain.query(points() + 0.3)
    for part, copy in zip(first, kept, strict=True):
        np.testing.assert_array_equal(part, copy)


def test_public_facts() -> None:
    """Terrain.shapes and Terrain.friction list what it was made of, in the order given."""
    scene = everything()
    terrain = Terrain(scene)
    assert terrain.shapes == tuple(scene)
    np.testing.assert_array_equal(terrain.friction, [shape.coefficient for shape in scene])
    for shape in scene:
        assert isinstance(shape.collision_geometry(), coal.CollisionGeometry)


def corners_of(shape: Box | Mesh) -> np.ndarray:
    """Corners in the world frame [m], shape (n, 3)."""
    if isinstance(shape, Mesh):
        local = np.array(shape.vertices)
    else:
        signs = np.array(np.meshgrid([1, -1], [1, -1], [1, -1])).reshape(3, -1).T
        local = 0.5 * signs * np.array(shape.size)
    M = shape.placement
    return local @ M.rotation.T + M.translation


def test_bounds_are_those_of_the_corners() -> None:
    """Of turned boxes and meshes, one by one and together; a plane has none."""
    boxes = [shape for shape in shapes(5, 12) if isinstance(shape, Box)]
    scene = [*boxes, tetrahedron(position=(-0.8, 0.6, 2.2), rpy=(0.3, 0.2, 0.1))]
    for some in (*([shape] for shape in scene), scene):
        corners = np.concatenate([corners_of(shape) for shape in some])
        low, high = Terrain(some).bounds()
        assert (low < corners.min(axis=0) + ROUNDING).all()
        assert (high > corners.max(axis=0) - ROUNDING).all()
        if not isinstance(some[-1], Mesh):  # the box around a turned mesh is that of its own box
            np.testing.assert_allclose(low, corners.min(axis=0), atol=ROUNDING)
            np.testing.assert_allclose(high, corners.max(axis=0), atol=ROUNDING)
    low, high = Terrain([*scene, Plane()]).bounds()
    assert low.tolist() == [-np.inf] * 3
    assert high.tolist() == [np.inf] * 3


def test_a_terrain_is_replaced_by_its_shapes() -> None:
    """What follows from the shapes is no argument, and is not shown."""
    terrain = replace(Terrain(Plane()), shapes=(Sphere(radius=0.2),))
    assert not terrain.flat
    assert "arrays" not in repr(terrain)


def test_equal_shapes_are_equal() -> None:
    """Shapes of the same options are equal, others are not, meshes only to themselves."""
    assert Box(size=[1, 2, 3]) == Box(size=(1.0, 2.0, 3.0))
    assert Box(size=(1, 2, 3)) != Box(size=(1, 2, 4))
    assert Plane(height=1.0) != Plane(height=2.0)
    mesh = tetrahedron()
    assert mesh == mesh
    assert mesh != tetrahedron()


def test_registry_names_every_shape() -> None:
    """Every kind of a scenario file is a shape whose options have types that can be looked up."""
    round_ = {"sphere", "cylinder", "capsule", "cone", "ellipsoid"}
    assert set(SHAPES) == {*round_, "plane", "box", "height-field", "mesh"}
    for shape in SHAPES.values():
        assert issubclass(shape, Shape)
        assert "friction" in typing.get_type_hints(shape)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("plane", {"normal": (0, 0, 0)}, "normal must not be zero"),
        ("plane", {"normal": (0, 1)}, "normal.2 is missing"),
        ("plane", {"normal": (0, 1, np.nan)}, "normal.2 must be a finite number, got nan"),
        ("plane", {"normal": "up"}, "normal must be a list, got the text 'up'"),
        ("plane", {"height": np.inf}, "height must be a finite number"),
        ("plane", {"offset": "low"}, "offset must be a number"),
        ("plane", {"offset": 1.0, "height": 1.0}, "offset or height, not both"),
        ("plane", {"normal": (1, 0, 0), "height": 1.0}, "vertical plane.*offset"),
        ("plane", {"friction": -0.1}, "friction must be >= 0, got -0.1"),
        ("box", {"size": (1, 1, 1), "friction": np.nan}, "friction must be a finite number"),
        ("box", {"size": (1, 1, 1), "friction": "low"}, "friction must be a number, got the text"),
        ("box", {"size": (1, 1, 0)}, "size.2 must be > 0, got 0"),
        ("box", {"size": (1, 1, -1)}, "size.2 must be > 0, got -1"),
        ("box", {"size": 1.0}, "size must be a list, got 1.0"),
        ("box", {"size": (1, 1, 1), "position": (0, 0)}, "position.2 is missing"),
        (
            "box",
            {"size": (1, 1, 1), "position": (0, 0, np.inf)},
            "position.2 must be a finite number",
        ),
        ("box", {"size": (1, 1, 1), "rpy": None}, "rpy must be a list"),
        ("sphere", {"radius": 0.0}, "radius must be > 0"),
        ("sphere", {"radius": np.nan}, "radius must be a finite number"),
        ("cylinder", {"radius": 1.0, "length": -1.0}, "length must be > 0"),
        ("cylinder", {"radius": -1.0, "length": 1.0}, "radius must be > 0"),
    ],
)
def test_refused_options(kind: str, options: dict, words: str) -> None:
    """An option out of its range is refused, naming shape, option, range and what was given."""
    with pytest.raises(TerrainError, match=words):
        SHAPES[kind](**options)


@pytest.mark.parametrize("scene", [[], ["plane"], [None], [Plane(), Plane]])
def test_refused_scenes(scene: list) -> None:
    """A terrain of no shapes or of other things is refused."""
    with pytest.raises(TerrainError, match="terrain"):
        Terrain(scene)


@pytest.mark.parametrize("given", [np.zeros(3), np.zeros((3, 2)), np.zeros((1, 1, 3)), []])
def test_refused_points(given: object) -> None:
    """Points of another shape are refused."""
    with pytest.raises(TerrainError, match=r"shape \(n, 3\)"):
        Terrain([Plane()]).query(given)
