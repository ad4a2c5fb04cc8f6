"""A body moves beside others as it does alone, however light or heavy these are."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pairwise import pairwise
from physics_scenes import POWER, G, ground, stopping_way

from nmdp_pin._contact import FrictionCone, stiffness_for_static_depth
from nmdp_pin._control import Passive, StablePD
from nmdp_pin._robot import Robot, free_body, load_robot, together, touching
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Box, Sphere
from nmdp_pin.derivatives import step_derivatives

METHODS = ("ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp")
STEPS = (0.002, 0.01, 0.05)  # [s]
RATIOS = (1e-3, 1e3, 1e7)  # of the other body's mass to the body's
MASS = 1.0  # [kg] of the body
DROP, TILT = 0.02, 0.1  # [m], [rad] of a block that lands on an edge, after 64 ms
AWAY = 10.0  # [m] between the bodies
DEPTH = 1e-3  # [m] at which the heavier of both rests
BESIDE = 1e-4  # [m] from the path alone; what issue 55 asks for, a thousandth of the way
BALANCE = 1e-3  # of a body's weight, between its forces and what it gains; what issue 55 asks for
MU, SPEED = 0.5, 1.4  # [-], [m/s]: v^2 / (2 mu g) is 0.2 m
NUT, HEAVY = 1e-3, 100.0  # [kg]
WAY = 0.196  # [m] that the nut slides
WAY_ERROR = 0.03  # of the way of the nut alone; the zeroth-order variants have 2.9 % at 50 ms
# Positions, turns and velocities from which a body starts; "thrown" touches nothing at all.
CUBE, BALL = Box(size=(0.1, 0.1, 0.1), friction=MU), Sphere(radius=0.05, friction=MU)
FLAT = Box(size=(0.1, 0.1, 0.03), friction=MU)
STARTS: dict[str, tuple[Any, float, tuple[float, ...], tuple[float, ...]]] = {
    "slides": (FLAT, 0.015, (0.0, 0.0, 0.0), (SPEED, 0.0, 0.0, 0.0, 0.0, 0.0)),
    "lands": (CUBE, 0.25, (0.4, 0.3, 0.2), (0.5, 0.2, 0.0, 0.0, 0.0, 1.0)),
    "rolls": (BALL, 0.05, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0, 20.0, 0.0)),
    "thrown": (CUBE, 2.0, (0.4, 0.3, 0.2), (1.0, 0.0, 1.0, 3.0, 2.0, 5.0)),
}
DURATION = 0.5  # [s]


def body(start: str) -> tuple[Robot, np.ndarray]:
    """The body of a start, and its velocity."""
    shape, height, turn, v = STARTS[start]
    robot = free_body("body", shape, mass=MASS, position=(0.0, 0.0, height), rpy=turn)
    return robot, np.array(v)


def beside(alone: Robot, mass: float, k: float, drop: float = 0.0) -> Robot:
    """With a block of that mass at rest, or over the ground, 10 m away; they may touch."""
    sunk = (mass * G / (4.0 * k)) ** (1.0 / POWER)
    block, tilt = Box(size=(1.0, 1.0, 1.0), friction=MU), TILT if drop else 0.0
    height = 0.5 * (np.cos(tilt) + np.sin(tilt)) + drop - (0.0 if drop else sunk)
    place = {"position": (0.0, AWAY, height), "rpy": (0.0, tilt, 0.0)}
    other = free_body("other", block, mass=mass, **place)
    return touching(together(alone, [other]))


def paths(
    robot: Robot, k: float, method: str, order: int, h: float, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Places of the first body (n, 3), and errors of each body's balance over its weight."""
    law = FrictionCone(stiffness=k, power=POWER)
    sim = Simulator(robot, ground(MU), law, method, order=order)
    state = sim.state(v=np.concatenate([v, np.zeros(robot.model.nv - 6)]))
    places, errors = [], []
    for result in sim.run(state, Passive(), dt=h, duration=DURATION, on_failure="raise"):
        errors.append(imbalance(robot, state.v, result, h))
        state = result.state
        places.append(state.q[:3])
    return np.array(places), np.array(errors)


def imbalance(robot: Robot, v: np.ndarray, result: Any, h: float) -> np.ndarray:
    """|F - m dv/h| over m g of each free body: contact forces, those of bodies in both."""
    points = robot.contact_points
    found = []
    for i, joint in enumerate(range(2, robot.model.njoints, 2)):  # after each base's translation
        force = result.contact_forces[points.joints == joint].sum(axis=0)
        force = force - result.contact_forces[points.touches == joint].sum(axis=0)
        mass = robot.model.inertias[joint].mass
        gained = mass * (result.state.v - v)[6 * i : 6 * i + 3] / h
        found.append(np.linalg.norm(force - [0.0, 0.0, mass * G] - gained) / (mass * G))
    return np.array(found)


@pairwise({"start": STARTS, "method": METHODS, "order": [1, 2], "h": STEPS})
def test_a_body_moves_beside_another_as_it_does_alone(start, method, order, h):
    """Within 0.1 mm, beside 1e-3 to 1e7 times its mass, and F = m dv/h of each."""
    alone, v = body(start)
    off, wrong = {}, {}
    for ratio in RATIOS:
        k = stiffness_for_static_depth(MASS * max(ratio, 1.0), 4, DEPTH, POWER)
        expected, first = paths(alone, k, method, order, h, v)
        found, errors = paths(beside(alone, MASS * ratio, k), k, method, order, h, v)
        off[ratio] = np.abs(found - expected).max()
        wrong[ratio] = max(errors.max(), first.max())
    assert max(off.values()) < BESIDE, off
    assert max(wrong.values()) < BALANCE, wrong


@pairwise(
    {"start": ["slides", "rolls", "thrown"], "method": METHODS, "order": [1, 2], "h": STEPS[1:]}
)
def test_an_impact_elsewhere_changes_nothing(start, method, order, h):
    """A block lands 10 m away: its steps are repeated and halved alone."""
    alone, v = body(start)
    off = {}
    for ratio in (1.0, 1e5):
        k = stiffness_for_static_depth(MASS * ratio, 4, DEPTH, POWER)
        expected, _ = paths(alone, k, method, order, h, v)
        found, _ = paths(beside(alone, MASS * ratio, k, DROP), k, method, order, h, v)
        off[ratio] = np.abs(found - expected).max()
    assert max(off.values()) < BESIDE, off


def nut() -> tuple[Robot, np.ndarray]:
    """A nut of 1 g, and the velocity with which it slides 196 mm."""
    shape = Box(size=(0.01, 0.01, 0.004), friction=MU)
    speed = np.sqrt(2.0 * MU * G * WAY)
    robot = free_body("nut", shape, mass=NUT, position=(0.0, 0.0, 0.002))
    return robot, np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])


def neighbour(name: str) -> tuple[Robot, Any]:
    """What rests 0.5 m beside the nut's way, and its controller."""
    if name == "box":
        shape = Box(size=(0.4, 0.4, 0.4), friction=MU)
        at = (0.0, 1.0, 0.2 - DEPTH)
        return free_body("other", shape, mass=HEAVY, position=at), None
    return hyq(), {"kp": 800.0, "kd": 20.0}


@functools.cache
def hyq() -> Robot:
    """On its feet, beside the nut's way."""
    robot = load_robot("hyq", contacts="feet", visuals=False)
    standing = robot.standing.copy()
    standing[1:3] += 1.0, -DEPTH
    return replace(robot, standing=standing)


@pairwise({"name": ["box", "hyq"], "method": METHODS, "order": [1, 2], "h": STEPS})
def test_a_nut_slides_beside_a_robot(name, method, order, h):
    """1 g beside 100 kg at rest: v^2 / (2 mu g), as alone."""
    small, v = nut()
    other, gains = neighbour(name)
    k = stiffness_for_static_depth(HEAVY, 4, DEPTH, POWER)
    both = together(other, [small])
    ends = {}
    for robot in (small, both):
        law = FrictionCone(stiffness=k, power=POWER)
        sim = Simulator(robot, ground(MU), law, method, order=order)
        state = sim.state(v=np.concatenate([np.zeros(robot.model.nv - 6), v]))
        hold = StablePD(robot, **gains) if gains and robot is both else Passive()
        *_, last = sim.run(state, hold, dt=h, duration=DURATION, on_failure="raise")
        ends[robot.name] = last.state.q[-7:-4]
    exact = stopping_way(v[0], MU, h, order)
    assert ends[small.name][0] == pytest.approx(exact, rel=WAY_ERROR)
    assert np.abs(ends[both.name] - ends[small.name]).max() < BESIDE


APART = 1e-8  # of the largest derivative, between a body beside others and alone


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_derivatives_beside_an_impact(method):
    """A step that is repeated for the block alone has the derivatives of both, each by its own."""
    alone, v = body("rolls")
    k = stiffness_for_static_depth(MASS, 4, DEPTH, POWER)
    both, law = beside(alone, MASS, k, DROP), FrictionCone(stiffness=k, power=POWER)
    block = free_body("other", Box(size=(1.0, 1.0, 1.0), friction=MU), mass=MASS)
    robots = (both, alone, touching(block))
    sims = [Simulator(robot, ground(MU), law, method, order=2) for robot in robots]
    state = sims[0].state(v=np.concatenate([v, np.zeros(6)]))
    for result in sims[0].run(state, Passive(), dt=0.02, duration=DURATION, on_failure="raise"):
        if result.repeated is not None:
            break
        state = result.state
    assert result.repeated.tolist() == [False] * 6 + [True] * 6
    found = step_derivatives(sims[0], state, None, 0.02, result=result)
    for i, sim in enumerate(sims[1:]):
        dofs, own = np.r_[6 * i : 6 * i + 6], sim.state(q=state.q[7 * i : 7 * i + 7])
        own = replace(own, t=state.t, v=state.v[dofs])
        expected = step_derivatives(sim, own, None, 0.02)
        rows = np.r_[dofs, 12 + dofs]
        largest = np.abs(expected.dx_dx).max()
        block_of = found.dx_dx[np.ix_(rows, rows)]
        np.testing.assert_allclose(block_of, expected.dx_dx, atol=APART * largest)
        assert not found.dx_dx[np.ix_(rows, np.setdiff1d(np.arange(24), rows))].any()
