"""Joint stops, dry friction, effort limits and mimic joints, in every method."""

import derivative_scenes
import joint_scenes as scenes
import numpy as np
import pytest
from contact_laws import law_for
from pairwise import pairwise, spread
from physics_scenes import G, ground
from scipy.optimize import brentq
from tight_solves import TIGHT
from urdf_samples import robot as urdf
from urdf_samples import write

from nmdp_pin._contact import FrictionCone, Penalty
from nmdp_pin._control import Command
from nmdp_pin._control.controller import ExternalWrench
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._robot import free_body, load_robot, together, touching
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Box, Plane, Terrain
from nmdp_pin.derivatives import StepDifferentiator, Switch

STEPS = (2e-3, 1e-2, 5e-2)
EVERY = sorted(INTEGRATORS)
MDP = ("ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp")
ELASTIC = ("pbd", "pbfd")  # their stops are springs, their friction creeps at up to 1 mrad/s
BOUNCE = 2e-4  # [rad/s] what is left of 1.1 rad/s
HELD = {"pbd": 1e-3, "pbfd": 1e-3, "ne-ncp": 1e-6}  # [rad/s] creep under friction
SOLVED = 1e-6  # what tight solvers leave of a velocity [rad/s] or, relative, of a torque
SUNK = 0.1  # [rad] that a stop gives way where the step at 50 ms begins just before it
CHORDS = 0.02  # of spins in the position-based forms, which move material points along chords
DIFFERENCES = 1e-5  # of derivatives; steps are solved to 1e-12


def simulator(robot, method, **options):
    return Simulator(robot, ground(0.6), law_for(method, CONE), method, **options)


def tight(robot, method):
    """A simulator whose steps are solved to `SOLVED`."""
    return simulator(robot, method, **({"vi_newton": TIGHT} if method in MDP else {}))


def results(sim, q, v, h, duration, command=None):
    """The steps of one command."""
    state = sim.state(np.atleast_1d(q).astype(float), np.atleast_1d(v).astype(float))
    for _ in range(round(duration / h)):
        result = sim.step(state, command or Command(), h)
        assert result.status.ok, result.status
        state = result.state
        yield result


def run(*arguments):
    """Positions, velocities and torques after each step."""
    rows = [(result.state.q, result.state.v, result.tau) for result in results(*arguments)]
    return tuple(np.array(column) for column in zip(*rows, strict=True))


CONE = FrictionCone(stiffness=1e8, power=2, recovery=0.0)  # stops: tests/test_recovery.py


@spread({"method": EVERY, "h": STEPS})
def test_a_pendulum_falls_on_a_stop(method, h, tmp_path):
    """It arrives with 1.1 rad/s, does not bounce and does not sink on."""
    sim = tight(scenes.pendulum(tmp_path, limit=(0.3, 2.0)), method)
    q, v, _ = run(sim, 0.5, 0.0, h, 1.5)
    landed = int(np.argmax(q < 0.3))
    assert v[:landed].min() < -0.9, "it falls"
    assert q.min() > 0.3 - SUNK
    if method not in ELASTIC:
        assert v[landed + 1 :].max(initial=0.0) < BOUNCE
        arrested = landed + int(np.argmax(v[landed:] > -SOLVED))
        assert np.ptp(q[arrested:]) < SOLVED
    assert abs(v[-1, 0]) < SOLVED
    if method in ELASTIC:  # a spring rests where it carries the weight
        carried = scenes.MASS * G * scenes.LENGTH * np.sin(q[-1, 0])
        assert 0.3 - q[-1, 0] == pytest.approx(carried * 1e-4 / stop_load(), rel=0.01)


def stop_load():
    """Load at which a stop gives way by 0.1 mrad: of a weight with that inertia, at most."""
    return G * np.sqrt(scenes.MASS * scenes.ABOUT_HINGE)


@pairwise({"method": MDP, "order": [1, 2], "side": [-1.0, 1.0]})
def test_a_motor_presses_on_a_stop(method, order, side, tmp_path):
    """The stop takes what the motor gives more than the weight, within 0.1 mrad."""
    robot = scenes.pendulum(tmp_path, limit=(-0.4, 0.4))
    sim = simulator(robot, method, order=order)
    command = Command(tau=np.array([side * 12.0]))
    q, v, _ = run(sim, side * 0.39, 0.0, 0.01, 1.0, command)
    assert side * q[-1, 0] == pytest.approx(0.4, abs=0.02)
    assert abs(v[-1, 0]) < SOLVED
    _, v, _ = run(sim, q[-1], 0.0, 0.01, 0.2, Command(tau=np.array([-side * 1.0])))
    assert side * v[-1, 0] < -0.5, "a stop does not hold back"


@spread({"method": EVERY, "h": STEPS})
def test_friction_holds_and_slips_at_the_load_of_the_closed_form(method, h, tmp_path):
    """The weight's moment at 0.4 rad: with 2 % more friction it stays, with 2 % less it falls."""
    angle, creep = 0.4, HELD.get(method, SOLVED)
    load = scenes.MASS * G * scenes.LENGTH * np.sin(angle)
    sim = tight(scenes.pendulum(tmp_path, friction=1.02 * load), method)
    q, v, _ = run(sim, angle, 0, h, 1)
    assert abs(q[-1, 0] - angle) <= creep
    assert abs(v[-1, 0]) <= creep
    weaker = tight(scenes.pendulum(tmp_path, friction=0.98 * load), method)
    q, v, _ = run(weaker, angle, 0, h, 0.1)
    # It falls by 0.4 mrad, which adds 1.5 %, and where friction creeps it begins with a creep.
    fall = -0.02 * load / scenes.ABOUT_HINGE * 0.1
    assert v[-1, 0] == pytest.approx(fall, abs=0.05 * abs(fall) + creep)


def test_a_swing_against_friction_ends_where_its_energy_is_spent(tmp_path):
    """The largest angle, in second order: m g l (1 - cos) + friction angle = kinetic energy."""
    speed, friction = 2.0, 2.0
    kinetic = 0.5 * scenes.ABOUT_HINGE * speed**2
    weight = scenes.MASS * G * scenes.LENGTH
    end = brentq(lambda x: kinetic - weight * (1.0 - np.cos(x)) - friction * x, 0.0, 1.0)
    sim = simulator(scenes.pendulum(tmp_path, friction=friction), "ne-nmdp")
    missed = [abs(run(sim, 0.0, speed, h, 0.6)[0].max() - end) for h in (2e-3, 8e-3, 3.2e-2)]
    # The step in which it turns knows the time of the turn to the first order only: h^2 of angle.
    assert missed[0] < 2e-5
    assert missed[2] < 2e-3


@spread({"method": EVERY, "h": STEPS})
def test_a_saturated_servo(method, h, tmp_path):
    """Far from its target it gives its limit, at it no more than it must; it never exceeds it."""
    robot = scenes.pendulum(tmp_path, effort=2.0)
    robot.model.gravity.linear[:] = 0.0
    kp = np.array([1e3])
    command = Command(kp=kp, kd=0.1 * kp, q_target=np.array([2.0]))
    q, v, tau = run(simulator(robot, method), 0.0, 0.0, h, 0.5, command)
    np.testing.assert_allclose(tau, 2.0, rtol=SOLVED)
    expected = 2.0 / scenes.ABOUT_HINGE * h * np.arange(1, len(v) + 1)
    np.testing.assert_allclose(
        v[:, 0], expected, rtol=CHORDS if method.startswith("pb") else SOLVED
    )
    near = Command(kp=kp, kd=0.1 * kp, q_target=np.array([0.1]))
    q, v, tau = run(simulator(robot, method), 0.0, 0.0, h, 2.0, near)
    assert np.abs(tau).max() <= 2.0 * (1.0 + SOLVED)
    assert q[-1, 0] == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_a_servo_that_its_limit_throws_past_the_target(method, tmp_path):
    """Either limit alone would call for the other one; a torque between them ends the step."""
    robot = scenes.pendulum(tmp_path, effort=2.0)
    robot.model.gravity.linear[:] = 0.0
    near = 0.2 * 0.05**2 * 2.0 / scenes.ABOUT_HINGE
    command = Command(kp=np.array([1e9]), kd=np.zeros(1), q_target=np.array([near]))
    sim = simulator(robot, method, order=1)
    result = sim.step(sim.state(q=np.zeros(1)), command, 0.05)
    assert (result.status.ok, result.halvings) == (True, 0)
    assert abs(result.tau[0]) < 1.0
    assert result.state.q[0] == pytest.approx(near, rel=1e-3)


@pytest.mark.parametrize("method", EVERY)
def test_a_push_acts_beside_a_motor_at_its_limit(method, tmp_path):
    """1 N of the motor and 5 N from outside on 1 kg: 0.6 m/s after 0.1 s."""
    slide = scenes.joint("slide", "base", "bob", kind="prismatic", axis="1 0 0", effort=1.0)
    text = urdf('<link name="base"/>', scenes.body("bob", 1.0, 0.01), slide)
    robot = load_robot(write(tmp_path, text, "slide.urdf"), base="fixed", contacts=[])
    push = ExternalWrench(force=(5.0, 3.0, 0.0), frame="bob")
    command = Command(tau=np.array([50.0]), wrenches=(push,))
    _, v, tau = run(tight(robot, method), 0.0, 0.0, 0.02, 0.1, command)
    assert v[-1] == pytest.approx(0.6, rel=1e-5)
    assert tau[-1] == pytest.approx(1.0, rel=1e-5)


def test_saturated_legs_take_few_iterations():
    """Motors that swing from limit to limit as they are iterated took 66 iterations a step."""
    robot = load_robot("a1", contacts="feet")
    ground = Terrain(Plane(height=robot.lowest_point, friction=0.8))
    sim = Simulator(robot, ground, Penalty(), "pbfd")
    kp, kd = np.zeros((2, robot.model.nv))
    kp[robot.driven], kd[robot.driven] = 100.0, 2.0
    rng, iterations = np.random.default_rng(0), []
    for _ in range(2):
        state = sim.state()
        for _ in range(10):
            target = robot.standing.copy()
            target[7:] += 0.3 * rng.standard_normal(12)
            result = sim.step(state, Command(kp=kp, kd=kd, q_target=target), 0.04)
            state = result.state
            iterations.append(result.iterations)
    assert np.mean(iterations) < 50


@pytest.mark.parametrize("method", [*MDP, "ne-ncp"])
def test_a_gripper_holds_a_box(method, tmp_path):
    """One motor closes two fingers, of which one copies the other, and the hand lifts the box."""
    box = Box(size=(0.1, 0.1, 0.1), friction=0.8)
    hand = scenes.gripper(tmp_path)
    robot = touching(
        together(hand, [free_body("box", box, mass=0.4, position=(0.0, 0.0, 1.0))]),
        [("left", "box"), ("right", "box")],
    )
    fingers = [robot.model.joints[robot.model.getJointId(n)].idx_q for n in ("left", "right")]
    np.testing.assert_array_equal(hand.driven, [0, 1])
    sim = simulator(robot, method)
    q = np.array(robot.standing)
    q[fingers] = 0.0299
    nv = robot.model.nv
    kp, tau, target = np.zeros(nv), np.zeros(nv), q.copy()
    kp[0], tau[fingers[0]] = 1e4, 20.0
    state = sim.state(q, np.zeros(nv))
    for k in range(100):
        target[0] = 1e-3 * max(k - 9, 0)
        command = Command(kp=kp, kd=0.05 * kp, q_target=target, tau=tau)
        result = sim.step(state, command, 0.01)
        assert result.status.ok, result.status
        state = result.state
    end = state.q
    left, right = end[fingers]
    assert left == pytest.approx(right, abs=1e-5)
    assert end[0] == pytest.approx(0.09, abs=0.01), "the hand is up"
    assert end[5] == pytest.approx(1.0 + end[0], abs=1e-3), "and the box with it"


CASES = {
    "held by friction": ([0.05, 0.2], [0.0, 0.0], False),
    "sliding": ([0.1, 0.2], [1.0, 0.5], False),
    "on a stop": ([0.2, -0.501], [0.3, -1.0], False),
    "saturated": ([0.2, 0.3], [0.5, 0.0], True),
}


def case(name, base, tmp_path, height):
    """Robot, state and command of one of the cases."""
    robot = scenes.two_links(tmp_path, base)
    angles, speeds, driven = CASES[name]
    q, v, nv = np.array(robot.standing), np.zeros(robot.model.nv), robot.model.nv
    q[-2:], v[-2:] = angles, speeds
    v[: nv - 2] = 0.1
    if base != "fixed":
        q[2 if base == "free-flyer" else 1] = height
    command = Command()
    if driven:
        kp, target = np.zeros(nv), q.copy()
        kp[-2:], target[-2:] = 100.0, [-0.1, 0.31]
        command = Command(kp=kp, kd=0.05 * kp, q_target=target)
    return robot, q, v, command


STILL_HELD = (
    1e-7  # [rad, m] of differences; with 5e-7 a joint slips that needs 98 % of its friction
)


@pairwise(
    {
        ("method", "order"): [
            *((method, order) for method in MDP[:2] for order in (1, 2)),
            ("pbd", 1),
            ("pbfd", 1),
        ],
        "name": CASES,
        "base": ["fixed", "planar", "free-flyer"],
    }
)
def test_derivatives(method, name, base, order, tmp_path):
    """Against central differences, apart from the ground and, on a free base, in contact."""
    for height in (0.2, 0.0499) if base == "free-flyer" else (0.2,):
        robot, q, v, command = case(name, base, tmp_path, height)
        sim = derivative_scenes.simulator(robot, ground(0.5), method, order=order)
        state = sim.state(q, v)
        h = derivative_scenes.H
        result = sim.step(state, command, h)
        found = StepDifferentiator(sim)(state, command, h, result=result)
        of_x, of_u = derivative_scenes.differences(
            sim, state, command, h, result=result, step=STILL_HELD
        )
        assert derivative_scenes.error(found.dx_dx, of_x, h) <= DIFFERENCES
        assert derivative_scenes.error(found.dx_du, of_u, h, of_state=False) <= DIFFERENCES
        kinks = {switch.kind for switch in found.one_sided}  # of what an impact arrests
        assert kinks <= ({"impact"} if order > 1 else set())


@pytest.mark.parametrize("method", ["ne-nmdp", "pbfd"])
def test_derivatives_by_the_command(method, tmp_path):
    """A saturated motor answers no change of gains, targets or torque."""
    robot, q, v, command = case("saturated", "fixed", tmp_path, 0.0)
    sim = derivative_scenes.simulator(robot, ground(0.5), method, order=1)
    names = ("tau", "kp", "kd", "q_target", "v_target")
    result = sim.step(sim.state(q, v), command, 0.01)
    assert np.abs(result.tau[0]) == pytest.approx(3.0, abs=0.2)  # with the friction's damping
    found = StepDifferentiator(sim)(sim.state(q, v), command, 0.01, with_respect_to=names)
    for name in names:
        assert not found.parameters[name][:, 0].any(), name
        assert found.parameters[name][:, 1].any(), name


def test_a_joint_at_its_stop_is_a_kink(tmp_path):
    """On one side the stop is pressed, on the other it is not."""
    robot = scenes.pendulum(tmp_path, limit=(0.0, 1.0))
    robot.model.gravity.linear[:] = 0.0
    sim = simulator(robot, "ne-nmdp", order=1)
    found = StepDifferentiator(sim)(sim.state(np.zeros(1), np.zeros(1)), Command(), 0.01)
    assert found.one_sided == (Switch(0, "touch"),)


def test_landings_on_stops_in_second_order_are_one_sided(tmp_path):
    """Of a joint that goes towards a stop and is there at the end, or further beyond it."""
    sim = tight(scenes.pendulum(tmp_path, limit=(-0.3, 0.4)), "ne-nmdp")
    for q, v, lands in (
        (0.38, 2.0, True),
        (-0.28, -2.0, True),
        (0.30, 2.0, False),
        (-0.2, -2.0, False),
        (0.38, -2.0, False),
        (-0.28, 2.0, False),
        (0.401, 2.0, True),
        (-0.301, -2.0, True),
        (0.401, 0.02, False),
    ):
        state = sim.state(np.array([q]), np.array([v]))
        found = StepDifferentiator(sim)(state, Command(), 0.02).one_sided
        assert (Switch(0, "impact") in found) == lands, (q, v)
