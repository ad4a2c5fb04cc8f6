"""Rigid ground: bodies rest at no depth, impacts are plastic, and hard ground comes to the same."""

import functools
import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest
from pairwise import pairwise
from physics_scenes import POWER, G, energies

from nmdp_pin import StablePD
from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Controller, Passive, hold
from nmdp_pin._integrators import StepResult
from nmdp_pin._kernels.step.impacts import SUNK
from nmdp_pin._robot import Robot, free_body, load_robot, together, touching
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Box, Capsule, HeightField, Plane, Sphere, Terrain

METHODS = ("ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp")
IMPLICIT = METHODS[:2]
STEPS = (0.002, 0.01, 0.05)  # [s]
MASS, MU = 1.0, 0.5  # [kg], [-]
DEPTH = 1e-9  # [m]; the margin of a depth in a step: rounding of coordinates of a metre is 1e-16
# [m] of steps of second order, which hold velocities: what a contact that lands errs in place, 5e-6
# for a foot that begins 5e-6 above the ground, falls at the rate of recovery, to 1 % in a second.
DRIFT = {1: DEPTH, 2: 1e-6}
# [m] likewise as it lands: a step of second order that enters further is repeated in first order.
LANDING = {1: DEPTH, 2: SUNK}
WEIGHT = 1e-3  # of the weight; residuals are below this share of it
STILL = 1e-6  # [m] in a second; what the product promises in ten
REBOUND = 1e-6  # [m]; a plastic impact has none
SPEED = {1: 1e-5, 2: 5e-3}  # [m/s] that is left after an impact; of what recovers
DROP = 0.05  # [m]


def rigid() -> FrictionCone:
    """The law of rigid contact."""
    return FrictionCone(stiffness=math.inf, power=POWER)


class Scene(NamedTuple):
    """A robot on a ground, and what holds its pose."""

    robot: Robot
    shapes: list
    controller: Controller


def body(shape, position=(0.0, 0.0, 0.0), R=None) -> Robot:
    """A free body of 1 kg."""
    rpy = (0.0, 0.0, 0.0) if R is None else tuple(pin.rpy.matrixToRpy(R).tolist())
    return free_body("body", shape, mass=MASS, position=tuple(position), rpy=rpy)


@functools.cache
def go2() -> Robot:
    """On its feet."""
    return load_robot("go2", contacts="feet", visuals=False)


def scene(name: str) -> Scene:
    """What stands on level ground without depth."""
    level = [Plane(friction=MU)]
    if name == "go2":
        robot = go2()
        return Scene(robot, [Plane(height=robot.lowest_point, friction=MU)], hold(robot))
    shapes = {"box": Box(size=(0.2, 0.3, 0.1)), "ball": Sphere(radius=0.05)}
    return Scene(body(shapes[name], (0.0, 0.0, 0.05)), level, Passive())


def run(
    found: Scene, law: FrictionCone, method: str, order: int, h: float, seconds: float, **start
) -> tuple[State, list[StepResult]]:
    """The start and all results, none of which failed."""
    sim = Simulator(found.robot, Terrain(found.shapes), law, method, order=order)
    state = sim.state(**start)
    steps = sim.run(state, found.controller, dt=h, duration=seconds, on_failure="raise")
    return state, list(steps)


def test_a_static_depth_of_zero_is_rigid():
    """It says the same as an infinite stiffness."""
    robot = go2()
    assert FrictionCone.for_robot(robot, static_depth=0.0).stiffness == math.inf


@pairwise({"name": ["box", "ball", "go2"], "method": METHODS, "order": [1, 2], "h": STEPS})
def test_what_stands_or_has_fallen_rests_on_the_surface(name, method, order, h):
    """No deeper than a step resolves, and the forces are the weight."""
    found = scene(name)
    for drop in (0.0, DROP):
        q = found.robot.standing.copy()
        q[2] += drop
        _, results = run(found, rigid(), method, order, h, 0.5 if h < 0.01 else 1.0, q=q)
        last = results[-1]
        rest = LANDING if drop else DRIFT
        assert last.max_penetration < rest[order]
        weight = found.robot.mass * G
        np.testing.assert_allclose(
            last.contact_forces.sum(axis=0), [0.0, 0.0, weight], atol=WEIGHT * weight
        )
        if name != "go2":  # whose motors give way
            assert abs(last.state.q[2] - found.robot.standing[2]) < rest[order]


FALL, ASIDE = 0.3, 0.7  # [m], [m/s] of a ball that rolls at 5/7 of it, 0.5 m/s, after the impact
ROLLING = {1: 0.02, 2: 0.005}  # of that; in first order rolling loses speed to the step
HARD = 1e-8  # [m] at rest
AS_HARD = 1e-3  # of a speed; hard ground is entered


@pairwise({"name": ["box", "ball"], "method": IMPLICIT, "order": [1, 2], "h": STEPS})
def test_an_impact_is_plastic(name, method, order, h):
    """The body stays on the ground, at rest, and all its momentum went into the ground.

    A level box sticks, a ball that moves aside rolls: friction turns it until the speed is 5/7.
    """
    found = scene(name)
    q, v = found.robot.standing.copy(), np.zeros(6)
    q[2] += FALL
    v[0] = ASIDE if name == "ball" else 0.0
    _, results = run(found, rigid(), method, order, h, 0.6, q=q, v=v)
    heights = np.array([result.state.q[2] for result in results]) - found.robot.standing[2]
    landed = int(np.argmax([result.contact_forces[:, 2].sum() > 0.0 for result in results]))
    assert heights[landed + 1 :].max() < REBOUND
    assert abs(heights[-1]) < LANDING[order]
    assert abs(results[-1].state.v[2]) < SPEED[order]
    impulse = h * sum(result.contact_forces[:, 2].sum() for result in results)
    assert impulse == pytest.approx(MASS * G * results[-1].state.t, rel=WEIGHT)
    energy = energies(results)
    assert (np.diff(energy) < WEIGHT * MASS * G * FALL).all()
    if name == "ball":
        rolling, error = 5.0 / 7.0 * ASIDE, ROLLING[order]
        if method == "pbd-nmdp":  # whose steps take speed from what turns, on any ground
            hard = FrictionCone.for_robot(found.robot, static_depth=HARD)
            _, others = run(found, hard, method, order, h, 0.6, q=q, v=v)
            rolling, error = others[-1].state.v[0], AS_HARD
        assert results[-1].state.v[0] == pytest.approx(rolling, rel=error)


@pairwise({"method": IMPLICIT, "order": [1, 2], "h": STEPS})
def test_no_step_ends_inside_rigid_ground(method, order, h):
    """Wherever in a step the impact is, also where a stage of second order begins in the ground."""
    found = scene("ball")
    for height in FALL + 0.2 * h * np.arange(13):  # over a step at 2.4 m/s
        q = found.robot.standing.copy()
        q[2] += height
        _, results = run(found, rigid(), method, order, h, 0.3, q=q)
        assert max(result.max_penetration for result in results) < LANDING[order]
        landed = [result.state.q[2] for result in results if result.contact_forces[:, 2].any()]
        assert max(landed) - found.robot.standing[2] < REBOUND


def groove(degrees: float, friction: float) -> list[Plane]:
    """Two planes whose sides rise by an angle."""
    a = np.radians(degrees)
    return [Plane(normal=(s * np.sin(a), 0.0, np.cos(a)), friction=friction) for s in (1, -1)]


def in_groove(degrees: float, friction: float) -> Scene:
    """A capsule along a groove."""
    height = 0.05 / np.cos(np.radians(degrees))
    R = pin.rpy.rpyToMatrix(0.5 * np.pi, 0.0, 0.0)
    lying = body(Capsule(radius=0.05, length=0.12), (0.0, 0.0, height), R)
    return Scene(lying, groove(degrees, friction), Passive())


def box_in_groove(friction: float) -> Scene:
    """A box whose faces lie on the sides of a groove of 45 degrees, its edge at the bottom."""
    R = pin.rpy.rpyToMatrix(0.0, 0.25 * np.pi, 0.0)
    lying = body(Box(size=(0.1, 0.14, 0.1)), (0.0, 0.0, 0.1 * np.sqrt(0.5)), R)
    return Scene(lying, groove(45.0, friction), Passive())


def in_corner(friction: float) -> Scene:
    """A box on three planes at right angles that rise alike."""
    R = pin.rpy.rpyToMatrix(0.25 * np.pi, -np.arctan(np.sqrt(0.5)), 0.0)
    planes = [Plane(normal=tuple(R[:, k].tolist()), friction=friction) for k in range(3)]
    return Scene(body(Box(size=(0.1, 0.14, 0.08)), R @ [0.05, 0.07, 0.04], R), planes, Passive())


def on_slope(yaw: float) -> Scene:
    """A box on a slope below the limit of friction, turned about its normal."""
    R = pin.rpy.rpyToMatrix(0.0, 0.35, 0.0)
    plane = Plane(normal=tuple(R[:, 2].tolist()), friction=MU)
    lying = body(Box(size=(0.2, 0.3, 0.06)), 0.03 * R[:, 2], R @ pin.rpy.rpyToMatrix(0.0, 0.0, yaw))
    return Scene(lying, [plane], Passive())


LEAN, THICK, LONG = 0.5, 0.01, 0.5  # [rad], [m], [m]: a plank's angle from a wall, half sizes
AT_WALL = 0.5 * (np.tan(LEAN) - THICK / LONG)  # force of the wall over the weight; see `leaning`


def leaning() -> Scene:
    """A plank on an edge on rough floor, whose upper edge leans on a smooth wall.

    Its middle is LONG sin(a) - THICK cos(a) beside the lower edge, the upper edge 2 LONG cos(a)
    above it, so the wall pushes with the weight times (tan(a) - THICK / LONG) / 2.
    """
    c, s = np.cos(LEAN), np.sin(LEAN)
    plank = Box(size=(2.0 * THICK, 0.3, 2.0 * LONG))
    at, R = (0.0, 0.0, LONG * c + THICK * s), pin.rpy.rpyToMatrix(0.0, LEAN, 0.0)
    wall = Plane(normal=(-1.0, 0.0, 0.0), offset=-(LONG * s + THICK * c), friction=0.0)
    return Scene(body(plank, at, R), [Plane(friction=MU), wall], Passive())


def in_valley(friction: float) -> Scene:
    """A ball between the walls of a height field, which rise by 45 degrees."""
    x = 0.05 * np.arange(-10, 11)
    field = HeightField(
        heights=np.tile(np.abs(x), (21, 1)), spacing=(0.05, 0.05), friction=friction
    )
    return Scene(body(Sphere(radius=0.05), (0.0, 0.0, 0.05 * np.sqrt(2.0))), [field], Passive())


HELD = {
    "groove of 10": lambda: in_groove(10.0, 0.0),
    "groove of 45": lambda: in_groove(45.0, 0.6),
    "groove of 80": lambda: in_groove(80.0, 0.6),
    "box in a groove": lambda: box_in_groove(0.0),
    "box in a rough groove": lambda: box_in_groove(0.6),
    "corner": lambda: in_corner(0.0),
    "rough corner": lambda: in_corner(0.6),
    "slope": lambda: on_slope(0.0),
    "slope, turned": lambda: on_slope(0.5),
    "on an edge": leaning,
    "valley": lambda: in_valley(0.0),
}


@pairwise({"name": HELD, "method": IMPLICIT, "order": [1, 2], "h": STEPS[1:]})
def test_what_is_held_stays(name, method, order, h):
    """Forces of several surfaces are not unique, but bear the weight."""
    start, results = run(HELD[name](), rigid(), method, order, h, 1.0)
    last = results[-1]
    assert np.abs(last.state.q - start.q).max() < STILL
    assert last.max_penetration < DRIFT[order]
    weight = MASS * G
    total = last.contact_forces.sum(axis=0)
    np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=WEIGHT * weight)
    if name == "on an edge":
        pushed = np.minimum(last.contact_forces[:, 0], 0.0).sum()
        assert -pushed == pytest.approx(AT_WALL * weight, rel=WEIGHT)


@pairwise({"method": IMPLICIT, "order": [1, 2], "h": STEPS[1:]})
def test_boxes_rest_on_each_other(method, order, h):
    """Bodies are as rigid to each other as the ground: each bears what is above it."""
    boxes = [
        free_body(
            f"box{k}",
            Box(size=(0.3 - 0.06 * k, 0.3 - 0.06 * k, 0.1), friction=MU),
            mass=MASS,
            position=(0.0, 0.0, 0.05 + 0.1 * k),
        )
        for k in range(3)
    ]
    robot = touching(together(boxes[0], boxes[1:]))
    start, results = run(
        Scene(robot, [Plane(friction=MU)], Passive()), rigid(), method, order, h, 0.5
    )
    last = results[-1]
    assert np.abs(last.state.q - start.q).max() < STILL
    assert last.max_penetration < DRIFT[order]
    touched, on = robot.contact_points.touches, robot.contact_points.joints
    for k, joint in enumerate((2, 4, 6)):  # joints of the boxes
        below = 2 * k
        load = last.contact_forces[(touched == below) & (on == joint), 2].sum()
        load -= last.contact_forces[(touched == joint) & (on == below), 2].sum()
        assert load == pytest.approx((3 - k) * MASS * G, rel=WEIGHT)


# [m]; the prototype of issue 55 has 1e-7 to 1e-6 between 100 and 10 nm where no step is halved.
LIMIT = 1e-5


def jump() -> Scene:
    """Robosimian's jump, as in the table of README.md."""
    robot = load_robot("robosimian", base="planar", variant="listed", contacts="all")
    controller = StablePD(robot, kp=1000.0, kd=1.0, gait="jump")
    return Scene(robot, [Plane(height=-0.8, friction=0.7)], controller)


@pytest.mark.parametrize("h", [0.025, 0.05])
@pytest.mark.parametrize("order", [1, 2])
def test_a_jump_on_rigid_ground_is_that_on_hard_ground(order, h):
    """Heights of the torso up to the top agree with those on ground 10 nm deep at rest."""
    found = jump()
    hard = FrictionCone.for_robot(found.robot, static_depth=HARD, power=POWER)
    heights = []
    for law in (hard, rigid()):
        _, results = run(found, law, "ne-nmdp", order, h, 2.0)
        heights.append([result.state.q[1] for result in results])
    assert max(heights[0]) > heights[0][0] + 0.1
    top = int(np.argmax(heights[0])) + 1
    np.testing.assert_allclose(heights[1][:top], heights[0][:top], rtol=0.0, atol=LIMIT)


@pairwise({"method": IMPLICIT, "order": [1, 2], "h": [0.01, 0.04]})
def test_a_quadruped_lands_on_rigid_ground_as_on_hard_ground(method, order, h):
    """Go2 falls 0.1 m with a speed aside."""
    found = scene("go2")
    q, v = found.robot.standing.copy(), np.zeros(found.robot.model.nv)
    q[2] += 0.1
    v[:2] = 0.5, 0.2
    hard = FrictionCone.for_robot(found.robot, static_depth=HARD, power=POWER)
    places = []
    for law in (hard, rigid()):
        _, results = run(found, law, method, order, h, 0.6, q=q, v=v)
        places.append([result.state.q[:3] for result in results])
    np.testing.assert_allclose(places[1], places[0], rtol=0.0, atol=LIMIT)
