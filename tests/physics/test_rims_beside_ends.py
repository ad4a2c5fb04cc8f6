"""Rims beside ends and seams: cylinders and boxes of one length, cups on a floor of two boxes."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from pairwise import spread

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain
from nmdp_pin._robot import free_body, together, touching
from nmdp_pin._terrain import Box, Cone, Cylinder, HeightField, Mesh, Sphere

RADIUS, LENGTH = 0.05, 0.3  # [m]
LAW = FrictionCone(stiffness=1e7, power=2)
H, STEPS = 0.01, 40  # [s]
DEEP = 2e-3  # [m] of two contacts on each other, 0.7 to 0.9 mm each
LEVEL = 1e-2  # [-] sine of the tilt of what lies on both ends
SPEED = 0.5  # [m/s]
SAME_WAY = 2e-3  # [m] of 40; a point is left out for a step where it is at the seam
BORDER = 1e-4  # [m] beyond an end, up to which it touches where a step begins
WORK = 60  # evaluations a step; one that lost a contact took 2000


def log(name, x, z, aside=0.0):
    """A cylinder that lies along y."""
    shape = Cylinder(radius=RADIUS, length=LENGTH)
    return free_body(name, shape, mass=1.0, position=(x, aside, z), rpy=(np.pi / 2, 0.0, 0.0))


def block(name, height, z, aside=0.0):
    """A box as long as the logs."""
    shape = Box(size=(0.4, LENGTH, height))
    return free_body(name, shape, mass=1.0, position=(0.0, aside, z))


def after(simulator, state, h=H):
    """The state after all steps, none of which fails or takes much work."""
    for _ in range(round(STEPS * H / h)):
        result = simulator.step(state, None, h)
        assert result.status.ok
        assert result.evaluations <= WORK
        state = result.state
    return state


SCENES = {
    "log on a box": lambda aside: [block("a", 0.1, 0.05), log("b", 0.0, 0.1 + RADIUS, aside)],
    "plank on logs": lambda aside: [
        *(log(f"l{x}", 0.1 * x, RADIUS) for x in (-1, 1)),
        block("plank", 0.05, 2.0 * RADIUS + 0.025, aside),
    ],
    "log on logs": lambda aside: [
        *(log(f"l{x}", 1.002 * RADIUS * x, RADIUS) for x in (-1, 1)),
        log("top", 0.0, RADIUS * (1.0 + np.sqrt(3.0)), aside),
    ],
}


@spread(
    {
        "scene": SCENES,
        ("aside", "h", "order"): [
            *((x, H, 1) for x in (0.0, 5e-5, 3e-4, 1e-3)),
            (BORDER, 0.005, 2),
        ],
    }
)
def test_what_lies_on_top_stays_there(scene, aside, h, order):
    """Rims beside an end that cannot touch them feel the side, however near the end is."""
    walls = [Box(size=(0.1, 1.0, 0.2), position=(0.1501 * s, 0.0, 0.1)) for s in (-1, 1)]
    bodies = SCENES[scene](aside)
    robot = touching(together(bodies[0], bodies[1:]))
    ground = Terrain([Plane(), *(walls if scene == "log on logs" else ())])
    simulator = Simulator(robot, ground, LAW, "ne-nmdp", order=order)
    start = robot.standing[-7:]
    state = after(simulator, simulator.state(), h)
    axis = 1 if scene == "plank on logs" else 2  # its own one along the logs
    rotation = pin.XYZQUATToSE3(state.q[-7:]).rotation
    assert start[2] - DEEP < state.q[-5] < start[2]
    assert abs(rotation[2, axis]) < LEVEL


@pytest.mark.parametrize(
    "shape", [Cylinder(radius=0.05, length=0.06), Cone(radius=0.05, length=0.12)]
)
@pytest.mark.parametrize("order", [1, 2])
def test_a_cup_slides_over_a_seam(shape, order):
    """A rim that slides over the seam of two boxes comes as far as on one, in as many steps."""
    halves = [Box(size=(1.0, 2.0, 0.2), position=(0.5 * s, 0.0, -0.1)) for s in (-1.0, 1.0)]
    buried = [Sphere(radius=0.1, position=(0.0, 0.0, -z)) for z in (8.0, 9.0)]
    floors = {
        "one": [Box(size=(2.0, 2.0, 0.2), position=(0.0, 0.0, -0.1))],
        "two": [*buried, *halves],
    }
    ends = {}
    for name, floor in floors.items():
        cup = free_body("cup", shape, mass=1.0, position=(-0.06, 0.0, 0.5 * shape.length))
        terrain = Terrain([replace(part, friction=0.3) for part in floor])
        simulator = Simulator(cup, terrain, LAW, "ne-nmdp", order=order)
        start = simulator.state(v=np.array([SPEED, 0.0, 0.0, 0.0, 0.0, 0.0]))
        ends[name] = after(simulator, start).q[:3]
    assert ends["one"][0] > -0.03, "it slides over the seam, from 10 mm before to 30 behind"
    np.testing.assert_allclose(ends["two"], ends["one"], atol=SAME_WAY)


STANDING = Cylinder(radius=0.1, length=0.1)


@pytest.mark.parametrize(
    ("shape", "turn", "stiffness", "order", "h"),
    [
        (STANDING, (0.0, 0.0, 0.0), np.inf, 1, 0.005),
        (STANDING, (0.0, 0.0, 0.0), np.inf, 2, 0.01),
        (STANDING, (0.0, 0.0, 0.0), 1e7, 2, 0.005),
        (Cylinder(radius=0.05, length=0.1), (0.0, 0.5 * np.pi, 0.2), 1e10, 1, 0.02),
    ],
)
def test_a_fast_cylinder_slides_over_a_seam_of_hard_ground(shape, turn, stiffness, order, h):
    """It comes as far as on one box, though the step starts before the edge of the other one."""
    ends = []
    for middles, length in (((-0.5, 0.5), 1.0), ((0.0,), 2.0)):
        floor = [
            Box(size=(length, 1.0, 0.2), position=(x, 0.0, -0.1), friction=0.2) for x in middles
        ]
        body = free_body("body", shape, mass=1.0, position=(-0.13, 0.0, 0.05), rpy=turn)
        law = FrictionCone(stiffness=stiffness, power=2)
        simulator = Simulator(body, Terrain(floor), law, "ne-nmdp", order=order)
        ends.append(after(simulator, simulator.state(v=np.eye(6)[0]), h).q[:3])
    np.testing.assert_allclose(*ends, atol=SAME_WAY)


BLOCK = trimesh.creation.box(extents=(1.0, 1.0, 0.2))


def tile(kind, x):
    """A square metre of level ground about x."""
    if kind == "field":
        return HeightField(
            heights=np.zeros((5, 5)), size=(1.0, 1.0), position=(x, 0, 0), friction=0.2
        )
    corners, faces = np.array(BLOCK.vertices), np.array(BLOCK.faces)
    return Mesh(vertices=corners, faces=faces, position=(x, 0, -0.1), friction=0.2)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["mesh", "field"])
def test_a_cylinder_slides_over_a_seam_of_tiles(kind, order):
    """Of meshes or height fields, as far as on a plane."""
    ends = []
    for floor in ([tile(kind, -0.5), tile(kind, 0.5)], [Plane(friction=0.2)]):
        body = free_body("body", STANDING, mass=1.0, position=(-0.13, 0.0, 0.05))
        law = FrictionCone(stiffness=np.inf, power=2)
        simulator = Simulator(body, Terrain(floor), law, "ne-nmdp", order=order)
        ends.append(after(simulator, simulator.state(v=np.eye(6)[0]), 0.005).q[:3])
    np.testing.assert_allclose(*ends, atol=SAME_WAY)
