"""Ellipsoids and cones: where they touch, how they rest and roll, against closed forms."""

from functools import partial

import numpy as np
import pinocchio as pin
import pytest
from derivative_scenes import check
from pairwise import pairwise, spread
from scipy.optimize import minimize

from nmdp_pin import Command, FrictionCone, Plane, Simulator, State, Terrain
from nmdp_pin._contact import DryFriction, Penalty
from nmdp_pin._kernels.geometry.planes import place_contacts
from nmdp_pin._kernels.step.step_start import open_step
from nmdp_pin._robot import free_body, together, touching
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Shape, Sphere

RADII = np.array([0.12, 0.09, 0.06])  # [m]
STIFFNESS, MASS, GRAVITY = 1e6, 1.0, 9.81  # [N/m^2], [kg], [m/s^2]
STATIC = np.sqrt(MASS * GRAVITY / STIFFNESS)  # [m] depth of one contact at rest
CONE = FrictionCone(stiffness=STIFFNESS, power=2)
AIMED = 1e-7  # [m] to which SciPy finds a point where the distance is least
TIP = np.arctan2(0.05, 0.2)  # [rad] half the angle at the tip of the cone that lies
SOFT = 1.5 * STATIC  # [m] more than the depth of any law here at rest


def law_of(method: str):
    """The contact law that a method takes."""
    if method == "ne-ncp":
        return DryFriction()
    return Penalty(normal_stiffness=STIFFNESS, alpha=2.0) if method in ("pbd", "pbfd") else CONE


def at_rest(body: Shape, method: str, h: float, duration: float, place: pin.SE3, **options):
    """State of a body that was put down on a plane."""
    robot = free_body("body", body, mass=MASS)
    simulator = Simulator(robot, Terrain(Plane()), law_of(method), method, **options)
    state = State(0.0, pin.SE3ToXYZQUAT(place), np.zeros(6))
    for _ in range(round(duration / h)):
        result = simulator.step(state, Command(), h)
        assert result.status.ok, (result.status, state.t)
        state = result.state
    return state


GROUNDS: dict[str, Shape] = {
    "plane": Plane(normal=(0.1, 0.2, 1.0)),
    "box": Box(size=(1.0, 1.0, 0.4), position=(0.0, 0.0, -0.2), rpy=(0.1, 0.2, 0.3)),
    "sphere": Sphere(radius=0.6, position=(0.0, 0.0, -0.6)),
    "capsule": Capsule(radius=0.3, length=1.0, position=(0.0, 0.0, -0.3), rpy=(1.4, 0.1, 0.0)),
    "cylinder": Cylinder(radius=0.3, length=2.0, position=(0.0, 0.0, -0.3), rpy=(1.4, 0.1, 0.0)),
    "cone": Cone(radius=0.4, length=0.5, position=(0.0, 0.05, -0.25), rpy=(0.1, 0.2, 0.0)),
    "ellipsoid": Ellipsoid(radii=(0.5, 0.3, 0.2), position=(0.0, 0.0, -0.2), rpy=(0.1, 0.2, 0.3)),
}


def distance_at(ground: Terrain, place: pin.SE3, angles: np.ndarray) -> float:
    """Distance of a ground from a point of the ellipsoid by its polar angles."""
    s, t = angles
    u = np.array([np.cos(s) * np.cos(t), np.sin(s) * np.cos(t), np.sin(t)])
    return float(ground.query(place.act(RADII * u)[None]).distance[0])


@pytest.mark.parametrize("name", GROUNDS)
def test_the_contact_of_an_ellipsoid_is_where_the_distance_is_least(name: str) -> None:
    """SciPy finds the same point on the ellipsoid, on flat and on round shapes."""
    rng, ground = np.random.default_rng(3), Terrain(GROUNDS[name])
    robot = free_body("egg", Ellipsoid(radii=tuple(RADII)), mass=MASS)
    simulator = Simulator(robot, ground, CONE, "ne-nmdp")
    form = simulator.integrator.form
    memory, seen = form.new_memory(), 0
    for _ in range(10):
        place = pin.SE3(pin.Quaternion(*rng.standard_normal(4)).normalized().matrix(), np.zeros(3))
        place.translation = np.add(rng.uniform(-0.05, 0.05, 3), (0.0, 0.0, 0.07))
        state = State(0.0, pin.SE3ToXYZQUAT(place), np.zeros(6))
        open_step(form.record, form.start(state, [Command()], 0.01, None), memory)
        contacts, places = memory.stage.contacts, memory.origin.places
        place_contacts(form.candidates, contacts, memory.origin.P, places)
        if (
            contacts.n[0] == 0 or places.on_internal_edge[0]
        ):  # at edges and tips, which touch themselves
            continue
        distance = partial(distance_at, ground, place)
        starts = rng.uniform(-1.5, 1.5, (40, 2)) * (2.0, 1.0)
        best = minimize(distance, min(starts, key=distance), method="Nelder-Mead", tol=1e-12)
        assert -places.depth[0] == pytest.approx(best.fun, abs=AIMED)
        seen += 1
    assert seen > 2


@pairwise(
    {
        "method": ["ne-nmdp", "pbd-nmdp"],
        "name": ["plane", "sphere", "ellipsoid", "cone"],
        "order": [1, 2],
    }
)
def test_derivatives_of_a_sliding_ellipsoid(method: str, name: str, order: int) -> None:
    """Those of a step are those of its differences: the contact moves, and its normal turns."""
    grounds = GROUNDS | {"cone": Cone(radius=2.0, length=1.0, position=(0.0, 0.9, -0.2))}
    robot = free_body("egg", Ellipsoid(radii=tuple(RADII)), mass=MASS)
    simulator = Simulator(robot, Terrain(grounds[name]), CONE, method, order=order)
    R = pin.rpy.rpyToMatrix(0.1, 0.2, 0.1)
    place = pin.SE3(R, np.array([0.01, 0.02, 0.1]))
    down = distance_to_ground(grounds[name], place) + 2.0 * STATIC
    place.translation -= [0.0, 0.0, down]
    state = State(0.0, pin.SE3ToXYZQUAT(place), np.array([0.5, 0.7, -0.05, 0.3, -3.0, 0.2]))
    check(simulator, state, Command(), 0.005)


def distance_to_ground(shape: Shape, place: pin.SE3) -> float:
    """Height by which the ellipsoid is above its ground, by bisection [m]."""
    low, high, ground = 0.0, 0.3, Terrain(shape)
    s, t = np.meshgrid(np.linspace(0, 6.3, 40), np.linspace(-1.6, 1.6, 20))
    unit = np.stack([np.cos(s) * np.cos(t), np.sin(s) * np.cos(t), np.sin(t)], axis=-1)
    points = (RADII * unit).reshape(-1, 3) @ place.rotation.T + place.translation
    for _ in range(40):
        middle = 0.5 * (low + high)
        apart = ground.query(points - [0.0, 0.0, middle]).distance.min() > 0.0
        low, high = (middle, high) if apart else (low, middle)
    return low


METHODS = [
    ("ne-nmdp", {"order": 1}),
    ("ne-nmdp", {"order": 2}),
    ("pbd-nmdp", {"order": 1}),
    ("pbd-nmdp", {"order": 2}),
    ("ne-zonmdp", {"order": 1}),
    ("ne-mdp", {}),
    ("pbd", {}),
    ("pbfd", {}),
    ("ne-ncp", {}),
]


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_an_ellipsoid_rests_on_its_flattest_side(method: str, options: dict) -> None:
    """Where it was put down, as deep as the law has it."""
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, RADII[2] - STATIC]))
    h = 0.002 if method == "ne-mdp" else 0.01
    state = at_rest(Ellipsoid(radii=tuple(RADII)), method, h, 1.0, place, **options)
    assert -1e-4 < RADII[2] - state.q[2] < SOFT
    assert np.abs(state.q[[0, 1, 3, 4, 5]]).max() < 1e-4


@pytest.mark.parametrize("h", [0.002, 0.01, 0.02])
def test_an_ellipsoid_rocks_at_the_frequency_of_its_curvature(h: float) -> None:
    """Released 0.1 rad askew, it rolls back: w^2 = m g (a^2/c - c) / (I + m c^2)."""
    a, b, c = RADII
    period = (
        2.0
        * np.pi
        * np.sqrt((MASS / 5.0 * (a**2 + c**2) + MASS * c**2) / (MASS * GRAVITY * (a**2 / c - c)))
    )
    tilt = 0.02
    R = pin.rpy.rpyToMatrix(0.0, tilt, 0.0)
    height = np.sqrt((c * np.cos(tilt)) ** 2 + (a * np.sin(tilt)) ** 2)
    place = pin.SE3(R, np.array([0.0, 0.0, height - STATIC]))
    state = at_rest(Ellipsoid(radii=(a, b, c)), "ne-nmdp", h, round(0.5 * period / h) * h, place)
    turned = pin.rpy.matrixToRpy(pin.Quaternion(state.q[3:]).matrix())[1]
    assert turned == pytest.approx(-tilt, rel=0.15)


LYING = pin.rpy.rpyToMatrix(np.pi / 2.0, 0.0, 0.0)
ROUND: dict[str, Shape] = {
    "capsule": Capsule(radius=0.05, length=0.12),
    "cylinder": Cylinder(radius=0.05, length=0.12),
    "coin": Cylinder(radius=0.05, length=0.01),
}


@spread({"name": ROUND, ("method", "options"): METHODS})
def test_round_bodies_rest_on_their_sides(name: str, method: str, options: dict) -> None:
    """A capsule and a cylinder that lie and a coin on its edge stay where they were put down."""
    h = 0.002 if method == "ne-mdp" else 0.01
    place = pin.SE3(LYING, np.array([0.0, 0.0, 0.05 - 0.7 * STATIC]))
    state = at_rest(ROUND[name], method, h, 0.5, place, **options)
    assert -1e-4 < 0.05 - state.q[2] < SOFT
    assert np.abs(state.q[:2]).max() < 1e-4
    turned = pin.log3(LYING.T @ pin.Quaternion(state.q[3:]).matrix())
    assert np.abs(turned).max() < 1e-3


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_cone_stands(method: str, options: dict) -> None:
    """On the rim of its base, level, where it was put down."""
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.1]))
    h = 0.002 if method == "ne-mdp" else 0.01
    state = at_rest(Cone(radius=0.05, length=0.2), method, h, 0.5, place, **options)
    assert -1e-4 < 0.1 - state.q[2] < SOFT
    assert np.abs(state.q[[0, 1, 3, 4, 5]]).max() < 1e-4


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_cone_lies(method: str, options: dict) -> None:
    """On its side, which leans by half the angle at its tip."""
    R = pin.rpy.rpyToMatrix(0.0, np.pi / 2.0 + TIP, 0.0)
    place = pin.SE3(R, np.array([0.0, 0.0, 0.1 * np.sin(TIP)]))
    h = 0.002 if method == "ne-mdp" else 0.01
    state = at_rest(Cone(radius=0.05, length=0.2), method, h, 0.5, place, **options)
    turned = pin.Quaternion(state.q[3:]).matrix()
    assert turned[2, 2] == pytest.approx(R[2, 2], abs=0.03)
    assert abs(state.q[2] - place.translation[2]) < SOFT
    assert np.abs(state.v).max() < 1e-2


@pytest.mark.parametrize("h", [0.005, 0.01])
def test_an_ellipsoid_lies_between_bodies(h: float) -> None:
    """On a box that stands on the ground, by one contact, about as deep as on the ground itself."""
    egg = free_body("egg", Ellipsoid(radii=tuple(RADII)), mass=1.0, position=(0, 0, 0.255 - STATIC))
    box = free_body("box", Box(size=(0.3, 0.3, 0.2)), mass=5.0, position=(0, 0, 0.095))
    robot = touching(together(box, [egg]), [("box", "egg")])
    simulator = Simulator(robot, Terrain(Plane()), CONE, "ne-nmdp")
    state = simulator.state()
    for _ in range(round(0.5 / h)):
        result = simulator.step(state, Command(), h)
        assert result.status.ok
        state = result.state
    height = state.q[9] - state.q[2]  # the box has sunk by less than 5 mm, as the egg was put
    assert STATIC * 0.99 < 0.16 - height < SOFT
    assert np.abs(state.v).max() < 1e-3
