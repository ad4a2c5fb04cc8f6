"""Orders of convergence of both forms on smooth motion, over even and uneven steps."""

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
import pytest
from physics_scenes import block, far_ground, order, pendulum, weightless
from scipy.integrate import solve_ivp

from nmdp_pin.contact import FrictionCone
from nmdp_pin.control import Command
from nmdp_pin.dynamics.backward_difference import LARGEST_GROWTH, BackwardDifference
from nmdp_pin.robot import Robot, load_robot
from nmdp_pin.simulator import Simulator
from nmdp_pin.state import State

METHODS = ("ne-nmdp", "pbd-nmdp")
NUMBERS = (100, 200, 400)  # of steps
ORDER_TOLERANCE = 0.2
# Lengths of steps in turn, in units of the mean: they grow by 2 at most, where BDF2 is stable.
UNEVEN = (1.0, 2.0, 1.0, 0.5, 1.0, 0.5)
REFERENCE = 1e-11  # relative and absolute tolerance of DOP853; the least error compared is 1e-7


@dataclass(frozen=True)
class Motion:
    """A robot in the air from a start, under one command for all the time."""

    robot: Robot
    q: np.ndarray
    v: np.ndarray
    duration: float
    command: Command

    def exact(self) -> tuple[np.ndarray, np.ndarray]:
        """The end by DOP853 on pinocchio's aba: configuration and velocity."""
        model, data = self.robot.model, self.robot.model.createData()
        nq, kp, kd = model.nq, self.command.kp, self.command.kd

        def rate(t, x):
            q, v = pin.normalize(model, x[:nq]), x[nq:]
            tau = np.zeros(model.nv)
            if kp is not None:
                tau -= kp * (q - self.command.q_target) + kd * v
            a = pin.aba(model, data, q, v, tau)
            return np.concatenate([_rate_of_configuration(model, q, v), a])

        start = np.concatenate([self.q, self.v])
        end = solve_ivp(
            rate, (0.0, self.duration), start, "DOP853", rtol=REFERENCE, atol=REFERENCE
        ).y[:, -1]
        return pin.normalize(model, end[:nq]), end[nq:]

    def run(self, method: str, order: int, lengths: np.ndarray) -> State:
        """The end after steps of those lengths [s]."""
        simulator = Simulator(
            self.robot, far_ground(), FrictionCone(stiffness=1.0), method, order=order
        )
        state = simulator.state(self.q, self.v)
        for h in lengths:
            result = simulator.step(state, self.command, float(h))
            assert result.status.ok
            assert result.halvings == 0
            state = result.state
        return state


def _rate_of_configuration(model: pin.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The derivative of q in time: v, and for a free-flyer that of its quaternion."""
    if model.nq == model.nv:
        return v
    quaternion = pin.Quaternion(q[3:7])
    turned = quaternion * pin.Quaternion(0.0, *(0.5 * v[3:6]))
    return np.concatenate([quaternion.toRotationMatrix() @ v[:3], turned.coeffs(), v[6:]])


def pendulum_let_go() -> Motion:
    """One hinge from 1 rad."""
    return Motion(pendulum(), np.ones(1), np.zeros(1), 1.0, Command())


def spinning_body() -> Motion:
    """A cuboid without gravity that is thrown and tumbles, on a free-flyer."""
    robot = weightless(block((0.2, 0.3, 0.05)))
    return Motion(robot, robot.standing, np.array([1.0, 0.0, 0.5, 1.0, 3.0, 0.5]), 0.5, Command())


def driven_swing() -> Motion:
    """Robosimian, held at the torso, drawn to another posture by springs and dampers."""
    robot = load_robot("robosimian", base="fixed", visuals=False)
    q, n = np.array(robot.standing), robot.model.nv
    target = q + 0.3 * np.cos(np.arange(n))
    command = Command(
        kp=np.full(n, 300.0), kd=np.full(n, 30.0), q_target=target, v_target=np.zeros(n)
    )
    return Motion(robot, q, np.zeros(n), 0.4, command)


def swinging_chain() -> Motion:
    """Ten links from level, before the free end whips."""
    chain = load_robot("chain", visuals=False)
    return Motion(chain, chain.standing, np.zeros(10), 0.15, Command())


MOTIONS = (pendulum_let_go, spinning_body, driven_swing, swinging_chain)


def slopes(motion: Motion, method: str, of_order: int, pattern=(1.0,)) -> tuple[float, float]:
    """Orders of the errors of the configuration and of the velocity at the end."""
    q, v = motion.exact()
    errors = []
    for n in NUMBERS:
        lengths = np.resize(pattern, n)
        end = motion.run(method, of_order, lengths * motion.duration / lengths.sum())
        missed = pin.difference(motion.robot.model, q, end.q)
        errors.append([np.abs(missed).max(), np.abs(end.v - v).max()])
    steps = 1.0 / np.array(NUMBERS)
    errors_q, errors_v = np.transpose(errors)
    return order(steps, errors_q), order(steps, errors_v)


@pytest.mark.parametrize("of_order", [1, 2])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("motion", MOTIONS)
def test_order(motion, method, of_order):
    """The error falls with that power of the step, in configuration and velocity."""
    found = slopes(motion(), method, of_order)
    assert found == pytest.approx((of_order, of_order), abs=ORDER_TOLERANCE)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("motion", MOTIONS)
def test_uneven_steps_keep_second_order(motion, method):
    """Also where each step is half or twice as long as the one before."""
    growth = np.divide(np.roll(UNEVEN, -1), UNEVEN)
    assert growth.max() == LARGEST_GROWTH
    assert growth.min() == 1.0 / LARGEST_GROWTH
    found = slopes(motion(), method, 2, UNEVEN)
    assert found == pytest.approx((2, 2), abs=ORDER_TOLERANCE)


def after_some_steps(method: str) -> tuple[Simulator, State, float]:
    """The tumbling body after five steps of second order, and their length [s]."""
    motion, h = spinning_body(), 0.01
    simulator = Simulator(motion.robot, far_ground(), FrictionCone(stiffness=1.0), method, order=2)
    state = motion.run(method, 2, np.full(5, h))
    assert state.history is not None
    return simulator, state, h


@pytest.mark.parametrize("method", METHODS)
def test_a_step_that_grows_too_far_begins_anew(method):
    """Beyond twice the step before, it is one of first order; up to it, it uses the history."""
    simulator, state, h = after_some_steps(method)
    residual = simulator._integrator.residual
    for growth, restarts in ((0.1, False), (1.0, False), (2.0, False), (2.001, True), (5.0, True)):
        found = simulator.step(state, None, growth * h).state
        assert (residual.history is None) == restarts
        assert (residual.rate == BackwardDifference.first(growth * h).rate) == restarts
        anew = simulator.step(replace(state, history=None), None, growth * h).state
        if method == "ne-nmdp":  # a step of the other form knows its start's rates better
            assert np.array_equal(found.v, anew.v) == restarts


def test_a_step_that_turns_too_far_begins_anew():
    """Beyond half a radian a turn foretells nothing; a way of many metres does."""
    robot, h = weightless(block()), 0.05
    simulator = Simulator(robot, far_ground(), FrictionCone(stiffness=1.0), METHODS[0], order=2)
    for speed, spin, kept in ((1.0, 9.9, True), (1.0, 10.1, False), (1e3, 0.0, True)):
        v = np.array([speed, 0.0, 0.0, 0.0, 0.0, spin])  # about a principal axis: it stays
        state = simulator.step(simulator.state(v=v), None, h).state
        assert abs(state.v[5] - spin) < 0.05
        simulator.step(state, None, h)
        assert (simulator._integrator.residual.history is not None) == kept


@pytest.mark.parametrize("changed", ["q", "v"])
@pytest.mark.parametrize("method", METHODS)
def test_a_state_that_was_changed_has_no_history(method, changed):
    """A state set by hand, by however little, does not continue the motion before."""
    simulator, state, h = after_some_steps(method)
    assert state.history.led_to(state)
    value = getattr(state, changed).copy()
    value[0] = np.nextafter(value[0], 9.0)
    other = replace(state, **{changed: value})
    assert not other.history.led_to(other)
    found = simulator.step(other, None, h).state
    assert simulator._integrator.residual.history is None
    anew = simulator.step(replace(other, history=None), None, h).state
    assert np.array_equal(found.q, anew.q)
    assert np.array_equal(found.v, anew.v)
    assert not np.array_equal(found.v, simulator.step(state, None, h).state.v)


@pytest.mark.parametrize("method", METHODS)
def test_first_order_keeps_no_history(method):
    """What is not used is not carried."""
    assert spinning_body().run(method, 1, np.full(3, 0.01)).history is None


@pytest.mark.parametrize("ratio", [0.3, 0.5, 1.0, 1.7, 2.0])
def test_backward_differences_are_exact_for_polynomials(ratio):
    """Of degree one and two; the closed form (3 y - 4 y0 + y_before) / 2h at equal steps."""
    h_before, h = 0.1, 0.1 * ratio
    rate, carry = BackwardDifference.second(h, h_before)
    for power in (0, 1, 2):
        before, y0, y = ((1.0 + t) ** power for t in (-h_before, 0.0, h))
        slope = rate * ((y - y0) - carry * (y0 - before))
        exact = power * (1.0 + h) ** (power - 1)
        assert slope == pytest.approx(exact, abs=1e-12)
    first = BackwardDifference.first(h)
    assert first.rate * ((1.0 + 3.0 * h) - 1.0) == pytest.approx(3.0)
    assert first.carry == 0.0
    if ratio == 1.0:
        assert rate * h == pytest.approx(1.5)
        assert rate * (1.0 + carry) * h == pytest.approx(2.0)
