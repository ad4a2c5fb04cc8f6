"""Corners and round shapes of the world that touch faces and sides of bodies, by closed forms."""

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from pairwise import pairwise
from urdf_samples import link, mesh, robot, shape, write

from nmdp_pin import Command, FrictionCone, Simulator, State, Terrain, load_robot
from nmdp_pin._dynamics.geometry.candidates import candidates_of
from nmdp_pin._kernels.geometry.contacts import N_FEATURES, N_MINIMA, N_RIM
from nmdp_pin._robot import free_body, together
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Shape, Sphere

CONE = FrictionCone(stiffness=1e7, power=2, recovery=0.0)  # what rests is still
GRAVITY = 9.81  # [m/s^2]
DEEP = 5e-4  # [m] about the static depth of 1 kg on one to four contacts
REST = 1e-4  # [m/s, rad/s] of what lies
FORCE = 1e-3  # [-] of the weight, to which contacts bear it at rest
SIDE, RADIUS = 0.03, 0.05  # [m] from the middle to the tops, radius of what lies between them
LYING = (0.0, np.pi / 2.0, 0.0)  # the axis along x
UP = (np.pi / 4.0, -np.arctan(np.sqrt(0.5)), 0.0)  # a corner of a cube on top
AT = [(x, y) for x in (-0.1, 0.1) for y in (-SIDE, SIDE)]


def settle(body: Shape, terrain: list[Shape], position, rpy, method: str, **options):
    """The robot and the last result of 0.4 s from rest."""
    robot = free_body("body", body, mass=1.0, position=position, rpy=rpy)
    simulator = Simulator(robot, Terrain(terrain), CONE, method, **options)
    state = State(0.0, robot.standing, np.zeros(6))
    for _ in range(40):
        result = simulator.step(state, Command(), 0.01)
        assert result.status.ok
        state = result.state
    return robot, result


CORNERS: dict[str, list[Shape]] = {
    "corners of boxes": [
        Box(size=(0.1, 0.1, 0.1), position=(x, y, -0.05 * np.sqrt(3.0)), rpy=UP) for x, y in AT
    ],
    "balls": [Sphere(radius=0.02, position=(x, y, -0.02)) for x, y in AT],
    "capsules that stand": [Capsule(radius=0.01, length=0.1, position=(*p, -0.06)) for p in AT],
    "cones": [Cone(radius=0.05, length=0.1, position=(*p, -0.05)) for p in AT],
    "ellipsoids": [Ellipsoid(radii=(0.02, 0.03, 0.02), position=(*p, -0.02)) for p in AT],
}
ROUND = {
    "capsule": Capsule(radius=RADIUS, length=0.4),
    "cylinder": Cylinder(radius=RADIUS, length=0.4),
}


def height_between(ground: list[Shape]) -> float:
    """Height at which an axis along x is as far from shapes as its radius, by bisection [m]."""
    x, terrain = np.linspace(-0.15, 0.15, 3001), Terrain(ground)
    low, high = 0.0, 0.1
    for _ in range(40):
        middle = 0.5 * (low + high)
        points = np.stack([x, 0.0 * x, middle + 0.0 * x], axis=1)
        near = terrain.query(points).distance.min() > RADIUS
        low, high = (low, middle) if near else (middle, high)
    return high


@pairwise({"name": ROUND, "ground": CORNERS, "order": [1, 2]})
def test_sides_lie_between_corners(name: str, ground: str, order: int) -> None:
    """Four of them bear the middle of a capsule or cylinder, as high as the closed form."""
    high = height_between(CORNERS[ground])
    body, at = ROUND[name], (0.0, 0.0, high - DEEP)
    _, result = settle(body, CORNERS[ground], at, LYING, "ne-nmdp", order=order)
    assert np.abs(result.state.v).max() < 100.0 * REST
    assert result.state.q[:3] == pytest.approx([0.0, 0.0, high - DEEP], abs=2.0 * DEEP)
    forces = result.contact_forces
    assert forces.sum(axis=0) == pytest.approx([0.0, 0.0, GRAVITY], abs=0.05 * GRAVITY)


FLAT: dict[str, list[Shape]] = {
    "cylinders that stand": [Cylinder(radius=0.03, length=0.1, position=(*p, -0.05)) for p in AT],
    "cones that stand on their tips": [
        Cone(radius=0.03, length=0.1, position=(*p, -0.05), rpy=(np.pi, 0.0, 0.0)) for p in AT
    ],
    "tips of cones": [Cone(radius=0.03, length=0.1, position=(*p, -0.05)) for p in AT],
    "ellipsoids": [Ellipsoid(radii=(0.03, 0.02, 0.05), position=(*p, -0.05)) for p in AT],
    "balls": [Sphere(radius=0.03, position=(*p, -0.03)) for p in AT],
    "ends of capsules": [Capsule(radius=0.01, length=0.08, position=(*p, -0.05)) for p in AT],
}


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
@pytest.mark.parametrize("ground", FLAT)
def test_a_plank_rests_on_round_tops(ground: str, method: str) -> None:
    """Level, as high as they are, and the forces reported at its corners have no moment."""
    at = (0.01, 0.005, 0.01 - 0.3 * DEEP)
    plank = Box(size=(0.6, 0.2, 0.02))
    robot, result = settle(plank, FLAT[ground], at, (0.0, 0.0, 0.0), method)
    assert np.abs(result.state.v).max() < REST
    assert result.state.q[2] == pytest.approx(0.01, abs=2.0 * DEEP)
    turned = pin.log3(pin.Quaternion(result.state.q[3:]).matrix())
    assert np.abs(turned).max() < 0.01
    forces = result.contact_forces
    assert forces.sum(axis=0) == pytest.approx([0.0, 0.0, GRAVITY], abs=FORCE * GRAVITY)
    moment = np.cross(robot.contact_points.positions, forces).sum(axis=0)
    assert moment == pytest.approx(0.0, abs=2.0 * DEEP * GRAVITY)


def test_tiles_have_no_corners_that_are_felt() -> None:
    """A cylinder rolls over the corners where four boxes meet as on one plane."""
    tiles: list[Shape] = [
        Box(size=(0.2, 0.2, 0.1), position=(0.2 * i, 0.2 * j - 0.1, -0.05), friction=0.8)
        for i in range(-1, 6)
        for j in range(2)
    ]
    wheel = free_body("wheel", Cylinder(radius=RADIUS, length=0.1, friction=0.8), mass=1.0)
    simulator = Simulator(wheel, Terrain(tiles), CONE, "ne-nmdp", order=1)
    turned = pin.Quaternion(pin.rpy.rpyToMatrix(np.pi / 2.0, 0.0, 0.0)).coeffs()
    q = np.concatenate([[0.0, 0.01, RADIUS - DEEP], turned])
    state, heights = State(0.0, q, np.array([1.0, 0.0, 0.0, 0.0, 0.0, -1.0 / RADIUS])), []
    for _ in range(80):
        state = simulator.step(state, Command(), 0.01).state
        heights.append(state.q[2])
    assert state.q[0] == pytest.approx(0.8, rel=0.01)
    assert np.ptp(heights[5:]) < DEEP


BLOCK = trimesh.creation.box((0.2, 0.3, 0.4))
STL = robot(link("body", shapes=mesh("collision", "block.stl")))


@pytest.mark.parametrize(
    ("ground", "body", "count"),
    [
        (Box(size=(1.0, 1.0, 1.0)), Capsule(radius=0.1, length=0.2), 8),
        (Box(size=(1.0, 1.0, 1.0)), Box(size=(0.2, 0.3, 0.4)), 0),  # corners are of polytopes
        (Box(size=(1.0, 1.0, 1.0)), Sphere(radius=0.1), 0),
        (Sphere(radius=0.1), Box(size=(0.2, 0.3, 0.4)), 1),
        (Capsule(radius=0.1, length=0.2), Cylinder(radius=0.1, length=0.2), 2),
        (Cylinder(radius=0.1, length=0.2), Box(size=(0.2, 0.3, 0.4)), 2 * (N_RIM + N_FEATURES)),
        (Sphere(radius=0.1), STL, N_MINIMA),
        (Cylinder(radius=0.1, length=0.2), STL, 2 * (N_RIM + N_FEATURES)),
        (Ellipsoid(radii=(0.1, 0.2, 0.3)), STL, 1),
    ],
)
def test_how_often_points_of_the_world_touch(ground, body, count, tmp_path):
    """A ball once; meshes at minima of the distance, discs and rims at several places."""
    if isinstance(body, str):
        BLOCK.export(tmp_path / "block.stl")
        loaded = load_robot(write(tmp_path, body), visuals=False)
    else:
        loaded = free_body("body", body, mass=1.0)
    bodies = candidates_of(loaded, Terrain(ground)).bodies
    assert (bodies[:, 0] == 0).sum() == count


def test_points_of_the_world_leave_alone_what_has_points_of_its_own(tmp_path):
    """A box of which the user gave one corner touches by this alone."""
    box = robot(link("body", shapes=shape("collision", '<box size="0.2 0.4 0.6"/>')))
    corner = ("corner", "body", (-0.1, -0.2, -0.3), 0.0)
    given = load_robot(write(tmp_path, box), contacts=[corner])
    for loaded, count in ((given, 0), (load_robot(tmp_path / "sample.urdf"), 1)):
        bodies = candidates_of(loaded, Terrain(Sphere(radius=0.1))).bodies
        assert (bodies[:, 0] == 0).sum() == count


def test_blocks_have_balls_and_boxes():
    """Balls around the points, boxes around the world: planes and polytopes have no bounds."""
    box = Box(size=(0.2, 0.4, 0.4), position=(0.5, 0.2, -0.1))  # 0.3 m from corner to centre
    body = free_body("body", box, mass=1.0)
    ball = Sphere(radius=0.1, position=(1.0, 2.0, 3.0))
    far = Sphere(radius=0.1, position=(1.0, 2.0, 5.0))
    for ground, centre, half in (
        ([ball], (1.0, 2.0, 3.0), (0.1, 0.1, 0.1)),
        ([ball, far], (1.0, 2.0, 4.0), (0.1, 0.1, 1.1)),
        ([ball, Plane()], (0.0, 0.0, 0.0), (np.inf, np.inf, np.inf)),
    ):
        found = candidates_of(body, Terrain(ground))
        np.testing.assert_allclose(found.balls[0], (0.5, 0.2, -0.1, 0.3), atol=1e-12)
        np.testing.assert_allclose(found.boxes[0], (centre, half), atol=1e-12)
    wheel = free_body("wheel", Cylinder(radius=0.3, length=0.8), mass=1.0)
    found = candidates_of(wheel, Terrain(ball))
    np.testing.assert_allclose(found.balls[0], [0.0, 0.0, 0.0, 0.7], atol=1e-12)  # 0.4 and a disc
    found = candidates_of(body, Terrain(Box(size=(1.0, 1.0, 1.0))))
    assert found.blocks.tolist() == [0, N_FEATURES]
    assert np.isinf(found.boxes[:, 1]).all()


def test_forces_of_the_world_are_reported_on_the_body_that_feels_them():
    """Of two equal boxes each has its own points."""
    box = Box(size=(0.2, 0.3, 0.4))
    pair = together(free_body("a", box, mass=1.0), [free_body("b", box, mass=1.0)])
    found = candidates_of(pair, Terrain(Sphere(radius=0.1)))
    world = found.bodies[:, 0] == 0
    carriers = pair.contact_points.joints[found.points[world]]
    assert sorted({*carriers.tolist()}) == sorted({*pair.contact_points.joints.tolist()})
    np.testing.assert_array_equal(carriers, found.bodies[world, 1])
