"""Derivatives of steps with closed loops, against differences."""

import numpy as np
import pinocchio as pin
import pytest
from derivative_scenes import TIGHT, check
from loop_scenes import Builder, consistent, four_bar, placed, simulator
from pairwise import pairwise

from nmdp_pin import Connect, Coupling, Distance, Weld, with_loops
from nmdp_pin._control import Command

LOOPS = {
    "connect": Connect(first="A2", second="B2", point=(0.1, 0.2, 0.1)),
    "weld": Weld(first="A2", second="B2"),
    "distance": Distance(first="B2", second="A2"),
    "coupling": Coupling(joint="B1-joint", primary="B2-joint", polynomial=(0.1, 0.5, 0.3, -0.2)),
    "spring": Connect(first="base", point=(0.1, 0.1, 0.1), compliance=1e-4),
}
H = 0.01  # [s]


def branched():
    """Two branches of hinges and balls on a free base."""
    b, rng = Builder(), np.random.default_rng(3)

    def inertia():
        return pin.Inertia(1.0, 0.1 * rng.standard_normal(3), np.diag([0.02, 0.03, 0.025]))

    base = b.floating("base", inertia())
    skew = pin.JointModelRevoluteUnaligned(np.array([0.6, 0.8, 0.0]))
    for name, place, kinds in (
        ("A", placed(0.2, 0.1, 0.0), (pin.JointModelRX(), pin.JointModelSpherical())),
        ("B", placed(-0.2, 0.1, 0.0), (pin.JointModelRY(), skew)),
    ):
        first = b.add(f"{name}1", base, kinds[0], place, inertia())
        b.add(f"{name}2", first, kinds[1], placed(0.0, 0.0, -0.3), inertia())
    q = pin.integrate(b.model, pin.neutral(b.model), 0.3 * rng.standard_normal(b.model.nv))
    return b.robot(q)


@pairwise({"kind": LOOPS, "method": ["ne-nmdp", "pbd-nmdp"], "order": [1, 2]})
def test_derivatives(kind, method, order):
    """Steps in which a loop is held, by the start and the torque."""
    robot = with_loops(branched(), [LOOPS[kind]])
    sim = simulator(robot, method, order=order, vi_newton=TIGHT)
    v = consistent(robot, np.random.default_rng(5).standard_normal(robot.model.nv))
    state = sim.step(sim.state(v=v), None, H).state
    check(sim, state, Command(), H)


@pairwise({"kind": LOOPS, "method": ["pbd", "pbfd"]})
def test_derivatives_of_penalties(kind, method):
    """Steps whose loops are stiff springs."""
    robot = with_loops(branched(), [LOOPS[kind]])
    sim = simulator(robot, method)
    v = consistent(robot, np.random.default_rng(5).standard_normal(robot.model.nv))
    state = sim.step(sim.state(v=v), None, H).state
    check(sim, state, Command(), H, step=1e-5, tolerance=1e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_redundant_loops(order):
    """Forces that are not unique do not make derivatives wrong."""
    robot = four_bar(1.0)
    robot = with_loops(robot, [robot.loops[0]])
    sim = simulator(robot, order=order, vi_newton=TIGHT)
    state = sim.step(sim.state(), None, H).state
    check(sim, state, Command(), H)
