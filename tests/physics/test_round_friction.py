"""Friction of the default cone is the same in all directions, and opposes each slide exactly."""

import functools

import numpy as np
import pytest
from pairwise import pairwise
from physics_scenes import POWER, G, block, cone, ground, path, resting, run, stopping_way

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Passive
from nmdp_pin._control.push import Push, Pushed
from nmdp_pin._robot import Robot, free_body, together, touching, with_frictions
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Box, Sphere

METHODS = ("ne-nmdp", "pbd-nmdp")
MU, SPEED = 0.5, 1.0  # [-], [m/s]
HEADINGS = np.radians(np.arange(0.0, 360.0, 10.0))
PLATE = (0.3, 0.3, 0.02)  # [m]; so flat that friction hardly tips it
VEER = 0.1  # [deg]; a cone of 24 edges has 1.9
# Of v^2 / (2 mu g): what issue 55 asks for; a cone of 24 edges has 0.9 % more.
FURTHER = 5e-3


def slide(method: str, order: int, h: float, heading: float, law: FrictionCone) -> np.ndarray:
    """Where a plate comes to rest that was sent over level ground (2,) [m]."""
    plate = block(PLATE)
    sim = Simulator(plate, ground(MU), law, method, order=order)
    v = np.zeros(6)
    v[:2] = SPEED * np.cos(heading), SPEED * np.sin(heading)
    return run(sim, sim.state(resting(plate), v), h, 0.3)[-1].state.q[:2]


def turned(way: np.ndarray, heading: float) -> float:
    """Angle of a way from a heading [deg]."""
    off = np.degrees(np.arctan2(way[1], way[0]) - heading)
    return float(abs((off + 180.0) % 360.0 - 180.0))


@pairwise({"method": METHODS, "order": [1, 2], "h": [0.005, 0.02]})
def test_a_plate_slides_straight_and_as_far_in_every_direction(method, order, h):
    """By v^2 / (2 mu g) in 36 directions; in first order by the sum of backward Euler's steps."""
    law = cone(block(PLATE))
    ends = [slide(method, order, h, heading, law) for heading in HEADINGS]
    veers = [turned(end, heading) for end, heading in zip(ends, HEADINGS, strict=True)]
    assert max(veers) < VEER
    exact = stopping_way(SPEED, MU, h, order)
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), exact, rtol=FURTHER)


LIMIT = 0.4  # [rad] of the slope
ASIDE = 2.0  # [m/s]
LATER = 2.0  # [s]; the angle from straight down falls like exp(-2 g sin(a) t / v): to 5e-4 rad
DOWN = 0.01  # of the speed, which issue 55 asks for
STRAIGHT = 0.2  # [deg]


@pairwise({"method": METHODS, "order": [1, 2], "h": [0.005, 0.02]})
def test_at_the_limit_of_friction_a_plate_ends_straight_down_at_half_its_speed(method, order, h):
    """Of a plate sent across a slope of tan(a) = mu, |v| + v_down stays as it is.

    With b = g sin(a), gravity adds b to v_down, and friction takes b from |v|, that is b v_down/|v|
    from v_down. So d|v|/dt = b v_down/|v| - b = -dv_down/dt, and at the end |v| = v_down = v0/2.
    Backward Euler lowers the sum by b^2 sin^2(f) h / (2 |v|) a second, f being the angle from
    straight down, whose rate is -b sin(f) / |v|: by b h / 2 from f = pi/2 to 0.
    """
    plate = block(PLATE)
    sim = Simulator(plate, ground(np.tan(LIMIT), LIMIT), cone(plate), method, order=order)
    start = sim.state(resting(plate, LIMIT), np.array([0.0, ASIDE, 0.0, 0.0, 0.0, 0.0]))
    q = path(start, run(sim, start, h, LATER))[:, :3]
    v = (q[-1] - q[-11]) / (10.0 * h)
    down = v @ [np.cos(LIMIT), 0.0, -np.sin(LIMIT)]
    lost = 0.5 * G * np.sin(LIMIT) * h if order == 1 else 0.0
    assert down == pytest.approx(0.5 * (ASIDE - lost), rel=DOWN)
    assert np.degrees(abs(v[1]) / down) < STRAIGHT


# SimBenchmark's "rolling": a box with balls on top is pushed over the ground.
BOX, BALLS = 10.0, 1.0  # [kg]
ON_GROUND, ON_BOX = 0.4, 0.8  # coefficients of friction
RADIUS, APART = 0.08, 0.3  # [m]
STIFF = 1e10  # [N/m^2]; the box is 0.1 mm deep, a ball 0.03 mm
NUMBER, PUSH = 4, 60.0  # balls; [N]
TIME = 0.5  # [s]
ACCELERATION, ROLLING_VEER = 0.01, 0.2  # of the closed form, [deg]; what issue 55 asks for


@functools.cache
def loaded_box() -> Robot:
    """The box and a square of four balls on it."""
    height, side = 0.1, round(np.sqrt(NUMBER))
    load = (BOX + NUMBER * BALLS) * G
    top = height - (load / 4.0 / STIFF) ** (1.0 / POWER)
    width = APART * (side + 1)
    shape = Box(size=(width, width, height), friction=ON_BOX)
    box = free_body("box", shape, mass=BOX, position=(0.0, 0.0, top - 0.5 * height))
    centre = top + RADIUS - (BALLS * G / STIFF) ** (1.0 / POWER)
    places = APART * (np.arange(side) - 0.5 * (side - 1))
    others = [
        free_body(f"ball{k}", Sphere(radius=RADIUS), mass=BALLS, position=(x, y, centre))
        for k, (x, y) in enumerate((x, y) for x in places for y in places)
    ]
    loaded = touching(together(box, others), [(other.name, "box") for other in others])
    return with_frictions(loaded, {("box", "terrain"): ON_GROUND})


def accelerations() -> tuple[float, float]:
    """Of the box and of a ball, along the push [m/s^2].

    A ball that rolls turns at 5/2 f / (m r) under the force f at its lowest point, so that this
    point moves at f / m + 5/2 f / m = 7/2 f / m: as the box, (F - mu (M + n m) g - n f) / M.
    """
    net = PUSH - ON_GROUND * (BOX + NUMBER * BALLS) * G
    force = net / BOX / (3.5 / BALLS + NUMBER / BOX)
    return 3.5 * force / BALLS, force / BALLS


def pushed(method: str, order: int, h: float, heading: float) -> State:
    """Where the box and the balls are after a while."""
    robot = loaded_box()
    law = FrictionCone(stiffness=STIFF, power=POWER)
    sim = Simulator(robot, ground(ON_GROUND), law, method, order=order)
    force = PUSH * np.array([np.cos(heading), np.sin(heading), 0.0])
    push = Push(force=tuple(force.tolist()), start=0.0, duration=10.0, frame="box")
    return run(sim, sim.state(), h, TIME, Pushed(Passive(), robot, [push]))[-1].state


def check_pushed(end: State, heading: float) -> None:
    """The box and each ball have the velocities of the closed form."""
    along = np.array([np.cos(heading), np.sin(heading)])
    linear = end.v.reshape(-1, 6)[:, :2]
    box, ball = accelerations()
    assert linear[0] @ along / TIME == pytest.approx(box, rel=ACCELERATION)
    np.testing.assert_allclose(linear[1:] @ along / TIME, ball, rtol=ACCELERATION)
    assert turned(linear[0], heading) < ROLLING_VEER


@pairwise({"method": METHODS, "order": [1, 2], "degrees": [0.0, 15.0, 30.0, 40.0, 90.0, 200.0]})
def test_a_pushed_box_takes_balls_along(method, order, degrees):
    """Four balls roll on it, in every direction as the closed form says."""
    heading = np.radians(degrees)
    check_pushed(pushed(method, order, 0.01, heading), heading)
