"""Grips: two bodies that move as one while commands say so."""

import derivative_scenes
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import Command, Fixed, Simulator, State, free_body, together, with_loops
from nmdp_pin.contact import DryFriction, FrictionCone, Penalty
from nmdp_pin.control import Attached, Attachment, Grip, Scripted, scripted
from nmdp_pin.errors import ControlError, IntegratorError
from nmdp_pin.rollout import rollout
from nmdp_pin.terrain import Box, Plane, Terrain

METHODS = [("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 1), ("pbd-nmdp", 2)]
LAW = FrictionCone(stiffness=1e6, power=1)
OTHERS = {"pbd": (Penalty(), 3e-6), "pbfd": (Penalty(), 3e-6), "ne-ncp": (DryFriction(), 1e-10)}
"""Other methods with the laws that they take, and what grips drift in half a second [m, rad]."""
GROUND = Terrain(Plane(height=-5.0))
PAIR = (("box", "hand"),)


def scene(moved=True):
    """A box beside a hand, turned by two radians against it."""
    box = free_body(
        "box", Box(size=(0.1, 0.2, 0.3)), mass=2.0, position=(0.3, 0.0, 0.0), rpy=(0.3, 0.2, 2.0)
    )
    hand = free_body("hand", Box(size=(0.1, 0.1, 0.1)), mass=1.0)
    robot = together(box, [scripted(hand) if moved else hand])
    return with_loops(robot, [Grip(first="box", second="hand")])


def swing(t):
    """The hand goes up and turns."""
    R = pin.exp3(np.array([0.0, 0.5 * t, 3.0 * t]))
    omega = pin.log3(pin.exp3(np.array([0, 0.5 * (t + 1e-6), 3.0 * (t + 1e-6)])) @ R.T) / 1e-6
    return pin.SE3(R, np.array([0.0, 0.0, 0.2 * t])), [0, 0, 0.2, *omega]


def between(robot, q):
    """Pose of the box in the hand."""
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    return data.oMi[4].actInv(data.oMi[2])


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_attached_and_released(method, order):
    """The box falls, is carried without drift from where it is then, and flies off."""
    robot, h = scene(), 0.01
    sim = Simulator(robot, GROUND, LAW, method, order=order)
    hand = Scripted(robot, {"hand": swing})
    state = hand.on(sim.state())

    def made(steps, attached):
        nonlocal state
        motion = Scripted(robot, {"hand": swing}, Command(attached=attached))
        for _ in range(steps):
            result = sim.step(state, motion, h)
            assert result.status.ok
            state = result.state
        return result

    made(10, ())
    fallen = state.q[2]
    assert fallen == pytest.approx(-0.5 * 9.81 * 0.1**2, rel=0.11 if order == 1 else 1e-6)
    held = between(robot, state.q)
    result = made(50, PAIR)
    assert np.abs(pin.log6(held.actInv(between(robot, state.q))).vector).max() < 1e-8
    assert np.abs(result.loop_forces[:3]).max() > 2.0 * 9.81 * 0.5, "it is carried"
    v = state.v.copy()
    result = made(10, ())
    assert np.abs(result.loop_forces).max() < 1e-50
    np.testing.assert_allclose(state.v[:3], v[:3] - [0, 0, 9.81 * 0.1], atol=1e-6)


@pytest.mark.parametrize("method", OTHERS)
def test_attached_and_released_by_other_methods(method):
    """Tumbling bodies move as one, keep their momentum but for gravity's, and part again."""
    robot, h, (law, drift) = scene(moved=False), 0.01, OTHERS[method]
    sim, fall, steps = Simulator(robot, GROUND, law, method), np.array([0.0, 0.0, -9.81]), 50
    state = sim.state(v=0.3 * np.random.default_rng(2).standard_normal(12))
    held, momentum = between(robot, state.q), 2.0 * state.v[:3] + state.v[6:9]
    for _ in range(steps):
        result = sim.step(state, Command(attached=PAIR), h)
        assert result.status.ok
        state = result.state
    assert np.abs(pin.log6(held.actInv(between(robot, state.q))).vector).max() < drift
    assert np.abs(result.loop_forces).max() > 0.01, "they turn about each other"
    gained = 2.0 * state.v[:3] + state.v[6:9] - momentum
    np.testing.assert_allclose(gained, 3.0 * h * steps * fall, atol=1e-4)
    for _ in range(20):
        result = sim.step(state, None, h)
        assert result.status.ok
        np.testing.assert_allclose(result.state.v[:3], state.v[:3] + h * fall, atol=1e-6)
        state = result.state
    assert not result.loop_forces.any()
    apart = held.actInv(between(robot, state.q)).translation
    assert np.linalg.norm(apart) > 0.002


@pytest.mark.parametrize("method", ["ne-nmdp", *OTHERS])
def test_rollouts_attach(method):
    """A rollout whose command attaches equals its steps to the bit, and falls as one."""
    robot = scene(moved=False)
    sim = Simulator(robot, GROUND, OTHERS.get(method, (LAW,))[0], method, control=Fixed())
    start, command, h = sim.state(v=np.linspace(-0.3, 0.3, 12)), Command(attached=PAIR), 0.01
    found = rollout(sim, start, h=h, steps=5, command=command).x[0]
    state = start
    for x in found:
        state = sim.step(state, command, h).state
        np.testing.assert_array_equal(x, np.concatenate([state.q, state.v]))
    turned = between(robot, start.q).actInv(between(robot, state.q))
    assert np.abs(pin.log6(turned).vector).max() < 3e-6


@pytest.mark.parametrize("attached", [PAIR, ()])
@pytest.mark.parametrize("method", ["pbd", "pbfd"])
def test_derivatives_of_penalties(method, attached):
    """As `test_derivatives`, where grips are stiff springs."""
    robot = scene(moved=False)
    sim = Simulator(robot, GROUND, Penalty(), method)
    v = 0.3 * np.random.default_rng(1).standard_normal(robot.model.nv)
    command = sim.checked_command(Command(attached=attached))
    derivative_scenes.check(sim, sim.state(v=v), command, 0.01, step=1e-5, tolerance=1e-4)


@pytest.mark.parametrize("attached", [PAIR, ()])
@pytest.mark.parametrize(("method", "order"), METHODS)
def test_derivatives(method, order, attached):
    """Derivatives of steps in which a grip holds, or not, against central differences."""
    robot = scene(moved=False)
    sim = Simulator(robot, GROUND, LAW, method, order=order)
    v = 0.3 * np.random.default_rng(1).standard_normal(robot.model.nv)
    command = sim.checked_command(Command(attached=attached))
    derivative_scenes.check(sim, sim.state(v=v), command, 0.01)


def test_momentum_of_a_grip():
    """What a hand catches moves on with it: momentum is kept, energy is not."""
    robot = scene(moved=False)
    robot.model.gravity.linear[:] = 0.0
    sim = Simulator(robot, GROUND, LAW)
    state = sim.state(v=np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
    caught = sim.step(state, Command(attached=PAIR), 0.01)
    momentum = 2.0 * caught.state.v[:3] + 1.0 * caught.state.v[6:9]
    np.testing.assert_allclose(momentum, [2.0, 0.0, 0.0], atol=1e-9)
    assert caught.kinetic_energy < 0.99


def test_what_is_refused():
    """Typed errors of pairs without a grip, and of methods without loops."""
    robot = scene()
    sim = Simulator(robot, GROUND, LAW)
    with pytest.raises(ControlError, match="cannot be attached"):
        sim.step(sim.state(), Command(attached=(("hand", "box"),)), 0.01)
    with pytest.raises(IntegratorError, match="Grip of 'box' and 'hand'"):
        Simulator(robot, GROUND, LAW, "ne-mdp")


def test_attachments_over_time():
    """Steps that end in the interval are attached; other attachments of a command stay."""
    held = Attachment(first="box", second="hand", start=0.1, duration=0.2)
    controller = Attached(Command(attached=(("a", "b"),)), [held])
    ends = [0.05, 0.1, 0.15, 0.3, 0.35]
    found = [controller.command(State(t - 0.05, np.zeros(1), np.zeros(1)), 0.05) for t in ends]
    assert [len(command.attached) for command in found] == [1, 1, 2, 2, 1]
    with pytest.raises(ControlError, match="duration"):
        Attachment(first="box", start=0.0, duration=0.0)
