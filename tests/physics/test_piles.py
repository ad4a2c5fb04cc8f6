"""Piles of many bodies, whose equations are factorised tree by tree."""

import numpy as np
import pytest

from nmdp_pin import Command, FrictionCone, Simulator, State, Terrain
from nmdp_pin._robot import free_body, together, touching
from nmdp_pin._terrain import Box, Plane, Sphere

H, STEPS = 0.01, 40  # [s], [-]
FAR = 20.0  # [m]
SAME = 1e-5  # [m]; tolerances of the steps of each pile add up to less
RESTS = 0.02  # [m/s]


def stack(name, at):
    """Boxes and balls that fall on each other beside a wall, at a place [m]."""
    shapes = [Box(size=(0.1, 0.1, 0.06)), Sphere(radius=0.04), Box(size=(0.12, 0.08, 0.06))]
    return [
        free_body(
            f"{name}{k}",
            shapes[k % 3],
            density=500.0,
            position=(at + 0.13 * (k % 2), 0.0, 0.04 + 0.075 * k),
            rpy=(0.0, 0.02 * k, 0.1 * k),
        )
        for k in range(6)
    ]


def path(bodies, order):
    """Configurations of some steps and the last velocity."""
    robot = touching(together(bodies[0], bodies[1:]))
    law = FrictionCone(stiffness=1e6, power=2)
    simulator = Simulator(robot, Terrain(Plane()), law, "ne-nmdp", order=order)
    state, found = State(0.0, robot.standing, np.zeros(robot.model.nv)), []
    for _ in range(STEPS):
        result = simulator.step(state, Command(), H)
        assert result.status.ok
        state = result.state
        found.append(state.q.reshape(-1, 7)[:, :3])
    return np.array(found), state.v


@pytest.mark.parametrize("order", [1, 2])
def test_a_pile_moves_as_without_another_one(order):
    """Two piles have 72 dofs, more than one dense system has; they are components of their own."""
    alone, _ = path(stack("a", 0.0), order)
    both, _ = path([*stack("a", 0.0), *stack("b", FAR)], order)
    np.testing.assert_allclose(both[:, :6], alone, atol=SAME)


def test_a_column_of_thirteen_boxes_stands():
    """All are one component: each bears those above it, and none turns or slides."""
    bodies = [
        free_body(
            f"b{k}", Box(size=(0.1, 0.1, 0.05)), density=500.0, position=(0, 0, 0.025 + 0.05 * k)
        )
        for k in range(13)
    ]
    places, v = path(bodies, 1)
    assert np.abs(places[-1][:, :2]).max() < 1e-4
    assert np.abs(v).max() < RESTS
