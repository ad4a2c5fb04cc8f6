"""Bodies at rest in grooves, valleys, corners and bowls: several surfaces at once."""

import numpy as np
import pinocchio as pin
import pytest
from pairwise import pairwise
from physics_scenes import check_overlaps, extruded

from nmdp_pin import Command, FrictionCone, Simulator, State, Terrain
from nmdp_pin._robot import free_body
from nmdp_pin._terrain import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Sphere

MASS, RADIUS = 1.0, 0.1  # [kg], [m]
AT_REST = 1e-6  # [m/s] after four seconds
SETTLED = 1e-4  # [N] with what is left of the motion
FACETS = 5e-4  # [m] between a bowl and its triangles of 2 cm, and where these let it slide
STEPS = [(1, 0.002), (1, 0.03), (2, 0.01), (2, 0.03)]  # orders, lengths [s]
BODIES = {
    "ball": Sphere(radius=RADIUS),
    "box": Box(size=(0.1, 0.14, 0.08)),
    "capsule": Capsule(radius=0.05, length=0.12),
}


def groove(degrees, **friction):
    """Two planes whose sides rise by an angle."""
    a = np.radians(degrees)
    return [Plane(normal=(s * np.sin(a), 0.0, np.cos(a)), **friction) for s in (1, -1)]


def grounds(**friction):
    """Shapes of each ground, by name."""
    x = 0.05 * np.arange(-10, 11)
    r = np.hypot(*np.meshgrid(*[np.linspace(-0.3, 0.3, 31)] * 2))
    fields = {
        "valley": (np.tile(np.abs(x), (21, 1)), 0.05),
        "bowl": (0.5 - np.sqrt(0.25 - np.minimum(r**2, 0.2)), 0.02),
    }
    made = {name: [HeightField(heights=heights, spacing=(dx, dx), **friction)]
            for name, (heights, dx) in fields.items()}  # fmt: skip
    made |= {f"groove of {degrees}": groove(degrees, **friction) for degrees in (10, 45, 80)}
    made["corner"] = [
        Plane(normal=(np.sin(0.9) * np.cos(t), np.sin(0.9) * np.sin(t), np.cos(0.9)), **friction)
        for t in (0.0, 2.1, 4.2)
    ]
    made["floor and wall"] = [
        Plane(**friction),
        Plane(normal=(-1.0, 0.0, 0.0), offset=-0.12, **friction),
    ]
    return made


def dropped(body, shapes, order, h, duration, height=0.3, speed=0.0):
    """Last result of a body that is dropped askew; every step must have been made."""
    robot = free_body("body", body, mass=MASS)
    law = FrictionCone(stiffness=1e6, power=2)
    simulator = Simulator(robot, Terrain(shapes), law, "ne-nmdp", order=order)
    turned = pin.Quaternion(pin.rpy.rpyToMatrix(1.4, 0.1, 0.3)).coeffs()
    q = np.concatenate([[0.01, 0.012, height], turned])
    state = State(0.0, q, np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0]))
    for _ in range(round(duration / h)):
        result = simulator.step(state, Command(), h)
        assert result.status.ok, (result.status, state.t)
        state = result.state
    return result


@pairwise({"friction": [0.0, 0.6], "body": BODIES, "ground": grounds()})
def test_no_step_fails_between_several_surfaces(ground, body, friction):
    """In both orders and at 10 and 30 ms; nothing is deep in a surface at the end."""
    shapes = grounds(friction=friction)[ground]
    height, speed = 0.75 if "80" in ground else 0.3, 0.2 if "wall" in ground else 0.0
    for order, h in ((1, 0.03), (2, 0.01), (2, 0.03)):
        last = dropped(BODIES[body], shapes, order, h, 0.9, height, speed)
        assert last.contact_depths.max() < 0.03


@pairwise(
    {
        ("order", "h"): [(1, 0.002), (1, 0.01), (2, 0.01), (2, 0.03)],
        "friction": [0.0, 0.6],
        "degrees": [10, 45, 80],
    }
)
def test_a_ball_rests_in_a_groove(degrees, friction, order, h):
    """Both planes carry its weight, each by its own depth; it is as deep as they report."""
    height, a = 0.75 if degrees == 80 else 0.3, np.radians(degrees)
    last = dropped(BODIES["ball"], groove(degrees, friction=friction), order, h, 4.0, height)
    assert np.abs(last.state.v[:3]).max() < AT_REST
    x, _, z = last.state.q[:3]
    assert abs(x) < 0.02
    depth = RADIUS - z * np.cos(a) + abs(x) * np.sin(a)
    assert last.contact_depths.max() == pytest.approx(depth, abs=1e-9)
    assert last.contact_forces.sum(axis=0) == pytest.approx([0.0, 0.0, 9.81 * MASS], abs=SETTLED)


# Where bodies lie between the walls of a groove that both rise by an angle, each on what touches:
# shape, orientation, height of the frame over the bottom line.
LYING = {
    "ball": (BODIES["ball"], np.eye(3), lambda a: RADIUS / np.cos(a)),
    "capsule": (
        BODIES["capsule"],
        pin.rpy.rpyToMatrix(np.pi / 2.0, 0.0, 0.0),
        lambda a: 0.05 / np.cos(a),
    ),
    "box": (
        Box(size=(0.1, 0.14, 0.1)),
        pin.rpy.rpyToMatrix(0.0, np.pi / 4.0, 0.0),
        lambda a: 0.1 * np.sqrt(0.5),
    ),
}


def laid(body, R, position, shapes, order, h):
    """The last result of a body that is put down; every step must have been made."""
    robot = free_body("body", body, mass=MASS)
    law = FrictionCone(stiffness=1e6, power=2)
    simulator = Simulator(robot, Terrain(shapes), law, "ne-nmdp", order=order)
    state = State(0.0, np.concatenate([position, pin.Quaternion(R).coeffs()]), np.zeros(6))
    for _ in range(round(0.6 / h)):
        result = simulator.step(state, Command(), h)
        assert result.status.ok, (result.status, state.t)
        state = result.state
    return result


@pairwise(
    {
        ("order", "h"): STEPS,
        "friction": [0.0, 0.6],
        ("name", "degrees"): [
            (name, angle) for name in ("ball", "capsule") for angle in (10, 45, 80)
        ]
        + [("box", 45)],
    }
)
def test_what_lies_in_a_groove_stays(name, degrees, friction, order, h):
    """Between both walls, at the closed form less the depth that bears it."""
    a = np.radians(degrees)
    body, R, height = LYING[name]
    deep = np.sqrt(9.81 * MASS / (2.0 * np.cos(a)) / 1e6)  # of one contact a wall
    start = np.array([0.0, 0.0, height(a) - 0.7 * deep / np.cos(a)])
    last = laid(body, R, start, groove(degrees, friction=friction), order, h)
    x, y, z = last.state.q[:3]
    assert abs(x) < 1e-4
    assert abs(y) < 1e-4
    assert -1e-6 < height(a) - z < 1.8 * deep / np.cos(a)
    assert last.contact_forces.sum(axis=0) == pytest.approx([0.0, 0.0, 9.81 * MASS], abs=0.02)


@pairwise({("order", "h"): STEPS, "friction": [0.0, 0.6], "name": LYING})
def test_what_lies_in_a_valley_stays(name, friction, order, h):
    """The same between the walls of a height field, of 45 degrees."""
    body, R, height = LYING[name]
    a = np.pi / 4.0
    deep = np.sqrt(9.81 * MASS / (2.0 * np.cos(a)) / 1e6)
    start = np.array([0.0, 0.0, height(a) - 0.7 * deep / np.cos(a)])
    last = laid(body, R, start, grounds(friction=friction)["valley"], order, h)
    x, y, z = last.state.q[:3]
    assert np.abs([x, y]).max() < 1e-4
    assert -1e-6 < height(a) - z < 1.8 * deep / np.cos(a)
    assert last.contact_forces.sum(axis=0) == pytest.approx([0.0, 0.0, 9.81 * MASS], abs=0.02)


# What touches three planes at right angles, in their axes: shape, and the place of its middle.
CORNERED = {
    "ball": (BODIES["ball"], np.full(3, RADIUS)),
    "capsule": (BODIES["capsule"], np.array([0.05, 0.05, 0.11])),
    "box": (BODIES["box"], np.array([0.05, 0.07, 0.04])),
}


@pairwise({("order", "h"): STEPS, "friction": [0.0, 0.6], "name": CORNERED})
def test_what_lies_in_a_corner_stays(name, friction, order, h):
    """On three planes that rise alike, in each of which it is no deeper than one contact."""
    R = pin.rpy.rpyToMatrix(np.pi / 4.0, -np.arctan(np.sqrt(0.5)), 0.0)
    planes = [Plane(normal=tuple(R[:, k]), friction=friction) for k in range(3)]
    deep = np.sqrt(9.81 * MASS / np.sqrt(3.0) / 1e6)
    body, middle = CORNERED[name]
    last = laid(body, R, R @ (middle - 0.8 * deep), planes, order, h)
    sunk = middle - R.T @ last.state.q[:3]
    assert (sunk > -1e-4).all()
    assert (sunk < 1.8 * deep).all()
    assert last.contact_forces.sum(axis=0) == pytest.approx([0.0, 0.0, 9.81 * MASS], abs=0.02)


# Heights at which bodies lie at the bottom of a ball of 0.5 m that is hollow.
HOLLOW = {
    "ball": (BODIES["ball"], np.eye(3), RADIUS),
    "capsule": (
        BODIES["capsule"],
        pin.rpy.rpyToMatrix(0.0, np.pi / 2.0, 0.0),
        0.5 - np.sqrt(0.45**2 - 0.06**2),
    ),
    "box": (BODIES["box"], np.eye(3), 0.54 - np.sqrt(0.5**2 - 0.05**2 - 0.07**2)),
}


@pairwise({("order", "h"): STEPS, "friction": [0.0, 0.6], "name": HOLLOW})
def test_what_lies_in_a_bowl_stays(name, friction, order, h):
    """At the bottom of a mesh, whose triangles are nearer to the middle than its corners."""
    field = grounds()["bowl"][0]
    vertices, faces = field.triangles()
    bowl = Mesh(vertices=vertices, faces=faces, friction=friction)
    body, R, height = HOLLOW[name]
    deep = np.sqrt(9.81 * MASS / 1e6)
    last = laid(body, R, np.array([0.0, 0.0, height - 0.5 * deep]), [bowl], order, h)
    assert np.abs(last.state.q[:2]).max() < FACETS
    assert -FACETS < height - last.state.q[2] < 1.2 * deep
    assert last.contact_forces.sum(axis=0) == pytest.approx([0.0, 0.0, 9.81 * MASS], abs=0.02)


ROUND = {
    "cylinder": Cylinder(radius=0.04, length=0.12),
    "coin": Cylinder(radius=0.05, length=0.02),
    "egg": Ellipsoid(radii=(0.06, 0.04, 0.03)),
}
# A block with a groove of 45 degrees, 0.6 m long: x and z of its corners, and triangles of them.
PROFILE = np.array([(-0.2, -0.05), (0.2, -0.05), (0.2, 0.2), (0.0, 0.0), (-0.2, 0.2)])
ENDS = [(0, 1, 3), (1, 2, 3), (0, 3, 4)]


@pairwise({"name": ROUND, "h": [0.005, 0.02], "order": [1, 2]})
def test_what_is_round_touches_both_sides_of_a_mesh(name, h, order):
    """It felt the nearest side alone, and lay up to 44 mm deep in the other one."""
    robot = free_body(
        "body", ROUND[name], mass=0.3, position=(0.01, 0.0, 0.12), rpy=(0.3, 0.2, 0.1)
    )
    ground = Terrain(extruded(PROFILE, ENDS))
    simulator = Simulator(robot, ground, FrictionCone(stiffness=1e6, power=2), order=order)
    check_overlaps(simulator, 0.4, h)
