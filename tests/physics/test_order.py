"""Orders of convergence of both forms on smooth motion, in the air and on the ground."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest
from pairwise import pairwise
from physics_scenes import (
    SLAB,
    G,
    block,
    cone,
    far_ground,
    ground,
    order,
    pendulum,
    resting,
    weightless,
)
from scipy.integrate import solve_ivp
from tight_solves import TIGHT

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Command
from nmdp_pin._control.controller import CommandSource
from nmdp_pin._integrators.scheme import SCHEMES, Scheme
from nmdp_pin._robot import Robot, load_robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin.errors import IntegratorError

METHODS = ("ne-nmdp", "pbd-nmdp")
NUMBERS = (100, 200, 400)  # of steps
ORDER_TOLERANCE = 0.2
UNEVEN = (1.0, 2.0, 1.0, 0.3, 3.0, 0.5)  # lengths of steps in turn, in units of the mean
SOLVED = 1e-9  # [m, rad, m/s, rad/s] to which the solver leaves a step
ROUNDING = 1e-12  # [m]
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
                tau -= kp * pin.difference(model, self.command.q_target, q) + kd * v
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
    """The derivative of q in time: v, and of a floating base that of its quaternion.

    The linear velocity is the world's where the base is a translation with a spherical joint.
    """
    if model.nq == model.nv:
        return v
    quaternion = pin.Quaternion(q[3:7])
    turned = quaternion * pin.Quaternion(0.0, *(0.5 * v[3:6]))
    own = model.joints[1].shortname() == "JointModelFreeFlyer"
    linear = quaternion.toRotationMatrix() @ v[:3] if own else v[:3]
    return np.concatenate([linear, turned.coeffs(), v[6:]])


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


def floating_robot() -> Motion:
    """Spider in free fall, spinning, drawn to another posture by springs and dampers."""
    robot = load_robot("spider", base="free-flyer", visuals=False)
    n = robot.model.nv
    gain = np.r_[np.zeros(6), np.ones(n - 6)]
    target = pin.integrate(robot.model, robot.standing, 0.3 * gain * np.cos(np.arange(n)))
    command = Command(kp=100.0 * gain, kd=10.0 * gain, q_target=target, v_target=np.zeros(n))
    v = np.r_[0.5, 0.0, 0.3, 0.5, 1.0, 0.7, np.zeros(n - 6)]
    return Motion(robot, np.array(robot.standing), v, 0.3, command)


MOTIONS = (pendulum_let_go, spinning_body, driven_swing, swinging_chain, floating_robot)


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


@pairwise({"motion": MOTIONS, "method": METHODS, "of_order": [1, 2]})
def test_order(motion, method, of_order):
    """The error falls with that power of the step, in configuration and velocity."""
    found = slopes(motion(), method, of_order)
    assert found == pytest.approx((of_order, of_order), abs=ORDER_TOLERANCE)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("motion", [pendulum_let_go, spinning_body, swinging_chain])
def test_uneven_steps_keep_second_order(motion, method):
    """A step knows nothing of the one before, however much longer or shorter it was."""
    found = slopes(motion(), method, 2, UNEVEN)
    assert found == pytest.approx((2, 2), abs=ORDER_TOLERANCE)


@pytest.mark.parametrize("of_order", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_order_of_a_sliding_body(method, of_order):
    """A slab that a spring draws over the ground against friction: a damped oscillator."""
    slab, friction, kp, duration = block(SLAB), 0.3, 40.0, 0.3
    sim = Simulator(slab, ground(friction), cone(slab), method, order=of_order)
    start = resting(slab)
    gain = kp * np.eye(6)[0]
    target = start + np.eye(7)[0]
    command = Command(
        kp=gain, kd=0.1 * gain, q_target=target, v_target=np.zeros(6), base_gains=True
    )
    # x'' = kp (1 - x) - kd x' - mu g for 1 kg, while it moves ahead
    exact = solve_ivp(
        lambda t, y: [y[1], kp * (1.0 - y[0]) - 0.1 * kp * y[1] - friction * G],
        (0.0, duration),
        [0.0, 0.5],
        "DOP853",
        rtol=REFERENCE,
        atol=REFERENCE,
    )
    assert exact.y[1].min() > 0.1
    errors = []
    for n in (15, 30, 60):
        state = sim.state(start, 0.5 * np.eye(6)[0])
        for _ in range(n):
            result = sim.step(state, command, duration / n)
            assert result.status.ok
            assert result.halvings == 0
            state = result.state
        errors.append([state.q[0] - exact.y[0, -1], state.v[0] - exact.y[1, -1]])
        assert state.q[2] == pytest.approx(start[2], abs=1e-6)
    steps = 1.0 / np.array([15, 30, 60])
    found = [order(steps, column) for column in np.transpose(errors)]
    assert found == pytest.approx([of_order, of_order], abs=ORDER_TOLERANCE)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_depends_on_its_state_alone(method):
    """Steps of second order have no memory, but for where their solver begins."""
    motion = spinning_body()
    contact = FrictionCone(stiffness=1.0)
    sim = Simulator(motion.robot, far_ground(), contact, method, order=2, vi_newton=TIGHT)
    state = motion.run(method, 2, np.full(5, 0.01))
    after = sim.step(state, None, 0.02).state
    anew = sim.step(sim.state(state.q, state.v), None, 0.02).state
    np.testing.assert_allclose(anew.q, after.q, rtol=0.0, atol=SOLVED)
    np.testing.assert_allclose(anew.v, after.v, rtol=0.0, atol=SOLVED)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_order_conditions_of_the_schemes(scheme):
    """Consistency, stiff accuracy, L-stability, and the quadrature of polynomials."""
    stages = len(scheme.a)
    A = np.array([[*row, *[0.0] * (stages - len(row))] for row in scheme.a])
    c, b = np.array(scheme.c), A[-1]
    assert c[-1] == pytest.approx(1.0)
    for power in range(scheme.order):
        assert b @ c**power == pytest.approx(1.0 / (power + 1))
    ones = np.ones(stages)

    def amplification(z):
        return 1.0 + z * b @ np.linalg.solve(np.eye(stages) - z * A, ones)

    for y in np.linspace(0.0, 100.0, 501):  # A-stable, and by stiff accuracy L-stable
        assert abs(amplification(1j * y)) <= 1.0 + 1e-12
    assert abs(amplification(-1e9)) < 1e-6


@dataclass(frozen=True)
class Polynomial(CommandSource):
    """Forces along x with which a body of 1 kg that starts at rest has v = t^degree at stages."""

    scheme: Scheme
    h: float
    degree: int

    def at(self, t: float) -> Command:
        """The force of the stage that ends at t."""
        a, ends, forces = self.scheme.a, self.h * np.array(self.scheme.c), []
        for row, end in zip(a, ends, strict=True):
            v = end**self.degree - self.h * np.dot(row[:-1], forces)
            forces.append(v / (self.h * row[-1]))
        return Command(tau=forces[int(np.abs(ends - t).argmin())] * np.eye(6)[0])


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_the_error_estimate_is_of_one_order_more(scheme):
    """For velocities that are polynomials of that degree it is the error of the quadrature."""
    h, degree = 0.3, len(scheme.a)
    body = weightless(block())
    contact = FrictionCone(stiffness=1.0)
    sim = Simulator(body, far_ground(), contact, order=scheme.order, vi_newton=TIGHT)
    result = sim.step(sim.state(), Polynomial(scheme, h, degree), h)
    assert result.state.v[0] == pytest.approx(h**degree)
    exact = h ** (degree + 1) / (degree + 1)
    assert result.local_error[0] == pytest.approx(exact - result.state.q[0])
    still = sim.step(sim.state(v=np.eye(6)[0]), None, h)
    assert still.local_error == pytest.approx(np.zeros(6), abs=ROUNDING)


@pytest.mark.parametrize("order", [0, 3, 1.5, "2", None])
def test_other_orders_are_refused(order):
    """There are schemes of first and second order."""
    with pytest.raises(IntegratorError, match="order must be 1 or 2"):
        Simulator(block(), far_ground(), FrictionCone(stiffness=1.0), order=order)
