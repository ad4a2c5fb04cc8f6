"""Contacts of spheres with meshes and height fields: one for each local minimum of the distance."""

import numpy as np
import pytest
from derivative_scenes import TIGHT, check
from pairwise import pairwise

from nmdp_pin import Command, FrictionCone, Plane, Simulator, State, Terrain, load_robot
from nmdp_pin._kernels.geometry.triangles import closest_point, local_minima
from nmdp_pin._robot.free_body import free_body
from nmdp_pin._terrain import HeightField, Mesh, Sphere

RADIUS = 0.1  # [m] of the ball
STIFFNESS = 1e6  # [N/m^2]: a ball of 1 kg rests 3 mm deep
SAME = 1e-4  # [m] a valley and two planes differ by the tolerance of the solver, summed up
STILL = 1e-4  # [m/s]
CONE = FrictionCone(stiffness=STIFFNESS, power=2)


def valley(slope: float, friction: float) -> Terrain:
    """A V-shaped valley along y, whose bottom lies at x = 0."""
    x = 0.05 * np.arange(-10, 11)
    heights = np.tile(np.abs(x) * np.tan(slope), (21, 1))
    return Terrain(HeightField(heights=heights, spacing=(0.05, 0.05), friction=friction))


def two_planes(slope: float, friction: float) -> Terrain:
    """The walls of that valley."""
    sine, cosine = np.sin(slope), np.cos(slope)
    normals = ((sine, 0.0, cosine), (-sine, 0.0, cosine))
    return Terrain([Plane(normal=normal, friction=friction) for normal in normals])


def path(terrain: Terrain, start: np.ndarray, h: float, n: int, **options) -> np.ndarray:
    """Configurations and velocities of a ball that falls, shape (n, 13)."""
    ball = free_body("ball", Sphere(radius=RADIUS), mass=1.0)
    simulator = Simulator(ball, terrain, CONE, "ne-nmdp", **options)
    state, found = State(0.0, np.array([*start, 0, 0, 0, 1.0]), np.zeros(6)), []
    for _ in range(n):
        state = simulator.step(state, Command(), h).state
        found.append(np.concatenate([state.q, state.v]))
    return np.array(found)


@pairwise(
    {
        "degrees": [10.0, 45.0, 80.0],
        "h": [0.002, 0.01, 0.03],
        "order": [1, 2],
        "friction": [0.0, 0.6],
    }
)
def test_a_ball_in_a_valley_moves_as_between_planes(
    degrees: float, h: float, order: int, friction: float
) -> None:
    """A height field is what its faces are: the ball falls, touches both walls, and rests."""
    slope = np.radians(degrees)
    start = np.array([0.013, 0.017, RADIUS / np.cos(slope) + 0.02])
    n = round(1.5 / h)
    field = path(valley(slope, friction), start, h, n, order=order)
    planes = path(two_planes(slope, friction), start, h, n, order=order)
    np.testing.assert_allclose(field[-1, :3], planes[-1, :3], atol=SAME)
    if degrees > 20.0:  # between flat walls a rolling ball swings for long
        assert np.abs(field[-1, 7:]).max() < STILL


def brute_force(mesh: Mesh, p: np.ndarray, limit: float) -> np.ndarray:
    """Closest points of triangles, none of which contains them and is nearer, shape (n, 3)."""
    corners = mesh.corners[mesh.indices]
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    feet = np.array([_closest(p, *t) for t in zip(a, ab, ac, strict=True)])
    squares = ((feet - p) ** 2).sum(axis=1)
    found: list[np.ndarray] = []
    for foot, square in zip(feet, squares, strict=True):
        if square > limit * limit:
            continue
        on = [np.linalg.norm(_closest(foot, *t) - foot) < 1e-9 for t in zip(a, ab, ac, strict=True)]
        if squares[on].min() < square - 1e-12:
            continue
        if all(np.linalg.norm(foot - other) > 1e-7 for other in found):
            found.append(foot)
    found.sort(key=lambda foot: float(np.linalg.norm(foot - p)))
    return np.array(found).reshape(-1, 3)


def _closest(p: np.ndarray, a: np.ndarray, ab: np.ndarray, ac: np.ndarray) -> np.ndarray:
    """The closest point of a triangle: of its plane if it lies within, else of its edges."""
    u, v = np.linalg.lstsq(np.stack([ab, ac], axis=1), p - a)[0]
    if u >= 0.0 and v >= 0.0 and u + v <= 1.0:
        return np.asarray(a + u * ab + v * ac)
    ends = ((a, ab), (a, ac), (a + ab, ac - ab))
    along = [(x, e, np.clip((p - x) @ e / (e @ e), 0.0, 1.0)) for x, e in ends]
    feet = [x + t * e for x, e, t in along]
    return np.asarray(min(feet, key=lambda foot: np.linalg.norm(foot - p)))


def test_the_minima_are_those_of_all_triangles() -> None:
    """The search finds what comparing all triangles finds, nearest first, and nothing else."""
    rng = np.random.default_rng(3)
    field = HeightField(heights=0.15 * rng.random((6, 7)), spacing=(0.1, 0.1), thickness=0.2)
    vertices, faces = field.triangles()
    mesh, counts = Mesh(vertices=vertices, faces=faces), []
    tables = Terrain(mesh).arrays.triangles
    for _ in range(30):
        p = np.array([*rng.uniform(-0.25, 0.25, 2), rng.uniform(0.13, 0.2)])
        limit, found = float(rng.uniform(0.05, 0.15)), np.zeros(40, dtype=np.int64)
        n = local_minima(tables, 0, tuple(p), limit, 1e-13, found)
        if n and Terrain(mesh).query(p[None]).distance[0] < 0.0:
            continue
        feet = [closest_point(tables, t, tuple(p))[2] for t in found[:n]]
        expected = brute_force(mesh, p, limit)
        np.testing.assert_allclose(np.reshape(feet, (-1, 3)), expected, atol=1e-9)
        counts.append(n)
    assert max(counts) > 2
    assert min(counts) < 2


def test_inside_the_nearest_face_alone_counts() -> None:
    """However deep a point is, it has one contact; above a thin plate, none with its far side."""
    box = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (0.0, 0.01)])
    faces = [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7],
             [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]]  # fmt: skip
    plate = Terrain(Mesh(vertices=box, faces=[face[::-1] for face in faces]))
    tables, found = plate.arrays.triangles, np.zeros(6, dtype=np.int64)
    for z, side in ((0.03, 0.01), (0.009, 0.01), (0.001, 0.0)):
        assert local_minima(tables, 0, (0.2, 0.1, z), 0.5, 1e-13, found) == 1
        assert tables.vertices[tables.corners[found[0]], 2] == pytest.approx(side)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_in_a_valley(order: int) -> None:
    """The derivative of a step that touches both walls is that of its differences."""
    ball = free_body("ball", Sphere(radius=RADIUS), mass=1.0)
    simulator = Simulator(ball, valley(0.8, 0.6), CONE, "ne-nmdp", order=order, vi_newton=TIGHT)
    z = RADIUS / np.cos(0.8) - 0.004
    state = State(0.0, np.array([0.0, 0.01, z, 0, 0, 0, 1.0]), np.array([0.01, 0.1, -0.1, 0, 0, 0]))
    check(simulator, state, Command(), 0.01)


@pytest.mark.parametrize("name", ["solo12", "anymal"])
def test_a_quadruped_falls_on_rough_ground(name: str) -> None:
    """Feet on two or three faces at once, at long steps: no step fails."""
    robot = load_robot(name, visuals=False)
    ground = HeightField(roughness=0.25, seed=1, size=(4.0, 4.0), spacing=(0.25, 0.25))
    simulator = Simulator(robot, Terrain(ground), CONE, "ne-nmdp", order=1)
    q = robot.standing.copy()
    q[2] += 0.3 - robot.contact_points.bottoms(robot.model, q).min()
    state = State(0.0, q, np.zeros(robot.model.nv))
    for _ in range(40):
        state = simulator.step(state, Command(kd=np.r_[np.zeros(6), np.ones(12)]), 0.02).state
    assert np.abs(state.v).max() < 5.0
