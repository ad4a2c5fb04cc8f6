"""Closed loops: closed forms of linkages, statics, conservation laws, drift, contacts beside."""

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from loop_scenes import (
    Builder,
    G,
    consistent,
    energy,
    four_bar,
    largest_gap,
    placed,
    rod,
    run,
    simulator,
)
from scipy.integrate import quad
from scipy.special import ellipk

from nmdp_pin import (
    Connect,
    ContactPoints,
    Coupling,
    Distance,
    FrictionCone,
    Plane,
    Sensors,
    Simulator,
    State,
    Terrain,
    Weld,
    free_body,
    together,
    with_loops,
)
from nmdp_pin._terrain import Box
from nmdp_pin.errors import IntegratorError, RobotError, SensorError, StateError
from nmdp_pin.sensors import JointWrench

METHODS = [("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 1), ("pbd-nmdp", 2)]
METHODS += [("pbd", None), ("pbfd", None), ("ne-ncp", None)]  # of first order alone
CLOSED = 1e-6  # [m] to which loops are held under large loads


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_period_of_a_four_bar(method):
    """A parallelogram swings as a pendulum with the moments of its parts."""
    angle, L, masses = 1.0, 0.5, (1.0, 2.0, 1.0)
    robot = four_bar(angle, L, masses=masses)
    inertia = (masses[0] + masses[2]) * L**2 / 3.0 + masses[1] * L**2
    moment = G * L * (0.5 * (masses[0] + masses[2]) + masses[1])
    period = 4.0 * math.sqrt(inertia / moment) * ellipk(math.sin(0.5 * angle) ** 2)
    sim, ends = simulator(robot, method), []
    for steps in (100, 200):
        last = run(sim, sim.state(), period / steps, period)[-1].state
        ends.append(0.5 * np.pi - last.q[0] - angle)
        assert last.q[0] + last.q[1] == pytest.approx(0.0, abs=1e-6)  # the coupler is level
        assert largest_gap(robot, last.q) < CLOSED
    # back at the start, with errors of second order
    assert abs(ends[1]) < 3e-4
    assert abs(ends[0]) > 3.0 * abs(ends[1])


def of_order(robot, method, order):
    """A simulator of a linkage, of an order; None: that of the method."""
    return simulator(robot, method, **({} if order is None else {"order": order}))


def slider_crank(r=0.3, length=0.8):
    """A crank about y, a rod on it, and a slider along x at its end."""
    b = Builder()
    crank = b.add("crank", 0, pin.JointModelRY(), placed(0, 0, 0), rod(1.0, r))
    b.add("rod", crank, pin.JointModelRY(), placed(r, 0, 0), rod(2.0, length))
    weight = pin.Inertia(3.0, np.zeros(3), np.diag([0.01, 0.01, 0.01]))
    b.add("slider", 0, pin.JointModelPX(), placed(0, 0, 0), weight)
    start = -0.4
    place = r * math.cos(start) + math.sqrt(length**2 - (r * math.sin(start)) ** 2)
    ends = Connect(first="rod", second="slider", point=(length, 0, 0), other=(0, 0, 0))
    turn = math.asin(r * math.sin(start) / length)
    return b.robot([start, -start - turn, place], [ends])


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_slider_crank(method, order):
    """The slider is where the crank says, over more than a turn and through dead points."""
    r, length = 0.3, 0.8
    robot = slider_crank(r, length)
    sim = of_order(robot, method, order)
    results = run(sim, sim.state(v=consistent(robot, [45.0, 0.0, 0.0])), 0.002, 1.0)
    q = np.array([result.state.q for result in results])
    assert order != 2 or abs(q[-1, 0] - q[0, 0]) > 2.0 * np.pi
    along = r * np.cos(q[:, 0]) + np.sqrt(length**2 - (r * np.sin(q[:, 0])) ** 2)
    # 600 N press springs of penalties by 1 micrometre
    assert np.abs(q[:, 2] - along).max() < (3.0 * CLOSED if order is None else CLOSED)
    energies = np.array([energy(result) for result in results])
    moving = results[1].kinetic_energy
    assert np.ptp(energies[2:]) < (0.01 if order == 2 else 1.0) * moving
    assert (np.diff(energies[2:]) < 1e-3 * moving).all()  # loops do no work


def platform():
    """A plate on six rods between the ground and its corners, and their lengths as it stands."""
    b = Builder()
    inertia = pin.Inertia(7.0, np.array([0.05, -0.02, 0.03]), np.diag([0.2, 0.2, 0.4]))
    b.floating("plate", inertia)
    legs = []
    for k in range(6):
        low, high = np.pi / 3.0 * (k - k % 2 + 0.5), np.pi / 3.0 * (k - (k + 1) % 2 + 1.0)
        point = (0.3 * math.cos(high), 0.3 * math.sin(high), 0.0)
        foot = (0.6 * math.cos(low) + 0.02 * k, 0.6 * math.sin(low), 0.0)
        legs.append(Distance(first="plate", point=point, other=foot))
    turn = pin.Quaternion(pin.rpy.rpyToMatrix(0.1, -0.05, 0.2)).coeffs()
    return b.robot([0.02, 0.01, 0.5, *turn], legs)


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_forces_of_a_platform(method, order):
    """The legs of a Stewart platform bear what statics says, and hold it still."""
    robot = platform()
    sim = of_order(robot, method, order)
    result = run(sim, sim.state(), 0.01, 0.1)[-1]
    model, data = robot.model, robot.model.createData()
    weight = pin.computeGeneralizedGravity(model, data, robot.standing).copy()
    pin.computeJointJacobians(model, data, robot.standing)
    J = np.vstack([loop.gaps(model, data, robot.standing)[1] for loop in robot.loops])
    expected = np.linalg.solve(J.T, weight)
    assert result.loop_forces == pytest.approx(expected, rel=1e-5)
    assert np.abs(result.state.q - robot.standing).max() < 1e-7
    assert np.abs(result.state.v).max() < 1e-6


def ring(n=8, gravity=0.0, mass=0.3, length=0.2):
    """A chain of hinges about y, whose last link is welded to the first one by a hinge."""
    b = Builder(gravity)
    model = b.model
    slide = pin.JointModelPX(), pin.JointModelPZ()
    joint = model.addJoint(0, slide[0], pin.SE3.Identity(), "x")
    joint = model.addJoint(joint, slide[1], pin.SE3.Identity(), "z")
    place = pin.SE3.Identity()
    for k in range(n):
        joint = b.add(f"link{k}", joint, pin.JointModelRY(), place, rod(mass, length))
        place = placed(length, 0, 0)
    turns = np.full(n, 2.0 * np.pi / n)
    turns[0] = 0.0
    ends = Connect(first=f"link{n - 1}", second="link0", point=(length, 0, 0), other=(0, 0, 0))
    return b.robot([0.0, 1.0, *turns], [ends])


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_momenta_of_a_ring(method):
    """The forces of a loop are internal: they change neither momentum, and do no work."""
    robot = ring()
    sim = simulator(robot, method)
    v = np.random.default_rng(2).standard_normal(robot.model.nv)
    state = sim.state(v=consistent(robot, v))
    results = run(sim, state, 0.002, 1.0)
    model, data = robot.model, robot.model.createData()

    def momenta(state):
        h = pin.computeCentroidalMomentum(model, data, state.q, state.v)
        return np.append(h.linear[[0, 2]], h.angular[1])

    before, after = momenta(state), momenta(results[-1].state)
    assert after == pytest.approx(before, abs=2e-3 * np.abs(before).max())
    assert largest_gap(robot, results[-1].state.q) < CLOSED
    energies = np.array([energy(result) for result in results])
    assert np.ptp(energies) < 0.01 * energies[0]


def speed_of_a_rimless_wheel(n, length, inertia, slope):
    """Mean speed down a slope, by McGeer's closed form: spokes of a wheel of unit mass that land.

    Each landing keeps the angular momentum about the spoke that lands.
    """
    half = np.pi / n
    spoke = 0.5 * length / np.sin(half)
    about = inertia + spoke**2
    kept = ((inertia + spoke**2 * np.cos(2.0 * half)) / about) ** 2
    after = kept / (1.0 - kept) * 2.0 * G * length * np.sin(slope) / about  # rate squared

    def rate(angle):
        fallen = np.cos(slope - half) - np.cos(angle)
        return np.sqrt(after + 2.0 * G * spoke / about * fallen)

    return length / quad(lambda x: 1.0 / rate(x), slope - half, slope + half)[0]


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_a_ring_rolls(method):
    """A chain that is closed, with stiff hinges, rolls down a slope as a rimless wheel."""
    n, length, slope, mass = 8, 0.2, 0.175, 0.3
    robot = ring(n, mass=mass, length=length)
    held = [Coupling(joint=f"link{k}-joint", polynomial=(2.0 * np.pi / n,)) for k in range(1, n)]
    robot = with_loops(robot, held)
    model = robot.model
    model.gravity.linear = G * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    joints = [model.getJointId(f"link{k}-joint") for k in range(n)]
    names = tuple(f"point{k}" for k in range(n))
    points = ContactPoints(names, np.array(joints), np.zeros((n, 3)), np.zeros(n))
    standing = robot.standing.copy()
    data = model.createData()
    pin.forwardKinematics(model, data, standing)
    corners = np.array([data.oMi[joint].translation for joint in joints])
    standing[1] -= corners[:, 2].min()
    rate, (along, _, up) = 4.0, corners.mean(axis=0) - corners[0]
    v = np.zeros(model.nv)
    v[:3] = 1.0 - rate * up, rate * along, rate
    robot = replace(robot, contact_points=points, standing=standing)
    ground = Terrain([Plane(friction=3.0)])
    sim = Simulator(robot, ground, FrictionCone(stiffness=1e9, power=1), method)
    h = 0.002  # the speed is off by 0.8 and 1.2 %, in steps of 1 ms by less than a half of that
    results = run(sim, sim.state(v=v), h, 3.0)
    tops = np.array([result.contact_forces[:, 2].argmax() for result in results])
    way = [pin.centerOfMass(model, data, result.state.q)[0] for result in results]
    landings = np.flatnonzero(np.diff(tops))[-2 * n :]
    speed = (way[landings[-1]] - way[landings[0]]) / (h * (landings[-1] - landings[0]))
    apothem = 0.5 * length / np.tan(np.pi / n)
    expected = speed_of_a_rimless_wheel(n, length, length**2 / 12.0 + apothem**2, slope)
    assert speed == pytest.approx(expected, rel=0.02)
    assert largest_gap(robot, results[-1].state.q) < CLOSED


@pytest.mark.parametrize(("method", "h"), [("ne-nmdp", 0.01), ("pbfd", 0.01), ("ne-ncp", 0.05)])
def test_no_drift_in_100_seconds(method, h):
    """Positions hold at the end of each step, so that nothing adds up."""
    robot = four_bar(1.2)
    sim = simulator(robot, method)
    results = run(sim, sim.state(), h, 100.0)
    gaps = [largest_gap(robot, result.state.q) for result in results[::50]]
    assert max(gaps) < CLOSED
    start = energy(results[0])
    gain = 0.5 * abs(start) if method == "ne-ncp" else 1e-6 * abs(start)  # semi-implicit
    assert max(energy(result) for result in results) <= start + gain


def test_redundant_loops_move_as_one():
    """Loops that hold the same, twice or not quite, change neither motion nor steps."""
    robot = four_bar(1.0)
    twice = with_loops(robot, [robot.loops[0]])
    off = Connect(first="coupler", second="right", point=(0.8, 1e-7, 0), other=(0.5, 0, 0))
    ends = []
    for made in (robot, twice, with_loops(robot, [off])):
        sim = simulator(made)
        ends.append(run(sim, sim.state(), 0.01, 0.5)[-1])
    for end in ends[1:]:
        assert end.state.q == pytest.approx(ends[0].state.q, abs=1e-6)
    both = ends[1].loop_forces.reshape(2, 3).sum(axis=0)
    assert both[[0, 2]] == pytest.approx(ends[0].loop_forces[[0, 2]], rel=1e-4)


def test_welded_boxes_slide_as_one():
    """Two boxes, one on the other by a weld, slide v^2 / (2 mu g) on the lower one."""
    mu, speed = 0.4, 1.5
    low, high = (
        free_body(name, Box(size=(0.3, 0.3, 0.1)), mass=mass, position=(0, 0, z))
        for name, mass, z in (("low", 2.0, 0.05), ("high", 1.0, 0.2))
    )
    robot = with_loops(together(low, [high]), [Weld(first="high", second="low")])
    ground = Terrain([Plane(friction=mu)])
    sim = Simulator(robot, ground, FrictionCone(stiffness=1e8, power=1), "ne-nmdp")
    v = np.zeros(robot.model.nv)
    v[[0, 6]] = speed
    results = run(sim, sim.state(v=v), 0.01, 0.6)
    way = speed**2 / (2.0 * mu * G)
    for first in (0, 7):
        assert results[-1].state.q[first] == pytest.approx(way, rel=0.01)
    assert largest_gap(robot, results[-1].state.q) < CLOSED
    assert results[-1].loop_forces[2] == pytest.approx(1.0 * G, rel=1e-3)  # the upper one's weight


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_coupling(method):
    """A coupled slide goes as the polynomial of the hinge says, and energy moves between both."""
    b = Builder()
    b.add("arm", 0, pin.JointModelRY(), placed(0, 0, 0), rod(1.0, 0.5))
    weight = pin.Inertia(0.5, np.zeros(3), np.diag([0.01, 0.01, 0.01]))
    b.add("slide", 0, pin.JointModelPX(), placed(0, 0, 0), weight)
    polynomial = (0.1, 0.2, -0.3, 0.05)
    coupling = Coupling(joint="slide-joint", primary="arm-joint", polynomial=polynomial)
    robot = b.robot([0.3, 0.0], [coupling])
    sim = simulator(robot, method)
    results = run(sim, sim.state(), 0.005, 1.0)
    q = np.array([result.state.q for result in results])
    assert np.abs(q[:, 1] - np.polyval(polynomial[::-1], q[:, 0])).max() < CLOSED
    assert np.ptp([energy(result) for result in results]) < 2e-3 * np.ptp(q[:, 0]) * G


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_compliance(method, order):
    """A loop with a compliance is a spring: its rest under a weight, and its energy."""
    compliance, mass = 2e-3, 1.5
    b = Builder()
    ball = pin.Inertia(mass, np.zeros(3), np.diag([0.01, 0.01, 0.01]))
    b.add("ball", 0, pin.JointModelPZ(), placed(0, 0, 0), ball)
    robot = b.robot([0.0], [Connect(first="ball", other=(0, 0, 0), compliance=compliance)])
    sim = of_order(robot, method, order)
    period = 2.0 * np.pi * math.sqrt(mass * compliance)
    results = run(sim, sim.state(), period / 200.0, period)
    low = min(result.state.q[0] for result in results)
    if order != 2:
        settled = run(sim, results[-1].state, 0.2, 10.0)[-1].state
        assert settled.q[0] == pytest.approx(-mass * G * compliance, rel=1e-4)
        return
    assert low == pytest.approx(-2.0 * mass * G * compliance, rel=1e-3)
    assert results[-1].state.q[0] == pytest.approx(0.0, abs=-2e-3 * low)
    energies = [energy(result) for result in results]
    assert max(np.abs(energies)) < 2e-3 * mass * G * abs(low)


def test_poses_are_closed():
    """Standing poses and states are moved to where loops are closed, or refused with the gap."""
    robot = four_bar(1.0)
    sim = simulator(robot)
    state = sim.state(robot.standing + np.array([0.1, 0.0, 0.0]))
    assert largest_gap(robot, state.q) < 1e-9
    far = Connect(first="coupler", second="world", point=(0.8, 0, 0), other=(5.0, 0, 0))
    with pytest.raises(RobotError, match=r"Connect of 'coupler' and 'world'.* m or rad are left"):
        with_loops(robot, [far])
    rigid = with_loops(robot, [Coupling(joint="left-joint", polynomial=(robot.standing[0],))])
    other = simulator(rigid)
    held = other.state(rigid.standing + 0.05).q
    assert held == pytest.approx(rigid.standing, abs=1e-6)
    broken = slider_crank()
    with pytest.raises(StateError, match="no configuration near q closes the Connect"):
        simulator(with_length(broken)).state(broken.standing + 3.0)


def test_points_that_are_left_open():
    """The other point is where the given one is as the robot stands, which then stays as it is."""
    robot = four_bar(1.2)
    bare = replace(robot, loops=())
    held = with_loops(bare, [Connect(first="coupler", second="world", point=(0.3, 0.0, 0.1))])
    place = robot.pose(State(0.0, robot.standing, np.zeros(3)), "coupler")
    assert held.loops[0].other == pytest.approx(tuple(place.act(np.array([0.3, 0.0, 0.1]))))
    np.testing.assert_array_equal(held.standing, robot.standing)


def with_length(robot):
    """The robot with a distance that no pose far away has."""
    return with_loops(robot, [Distance(first="slider", other=(0, 0, 5.0))])


def test_methods_without_loops():
    """Other methods refuse loops, and name those that take them."""
    with pytest.raises(IntegratorError, match=r"not simulate the Connect of 'coupler'.*ne-nmdp"):
        simulator(four_bar(1.0), "ne-mdp")
    with pytest.raises(IntegratorError, match="forces as unknowns"):
        simulator(four_bar(1.0), objective="kinetic")


def test_mistakes():
    """Names, bodies and values that cannot be."""
    robot = four_bar(1.0)
    for loops, message in (
        ([Connect(first="nothing")], "'nothing' does not exist"),
        ([Connect(first="left", second="left")], "move as one body"),
        ([Coupling(joint="left")], "'left' is no hinge or slide"),
        ([Distance(first="left", point=(0, 0, 0), other=(0, 0, 0))], "use Connect"),
        (["left"], "must be of type Connect or Weld or .*, got the text 'left'"),
    ):
        with pytest.raises(RobotError, match=message):
            with_loops(robot, loops)
    with pytest.raises(RobotError, match="compliance must be >= 0"):
        Weld(first="left", compliance=-1.0)
    with pytest.raises(RobotError, match="point"):
        Connect(first="left", point=(0.0, 1.0))


def test_wrenches_of_joints_are_refused():
    """What joints transmit contains what loops do, whose means over a step are not known."""
    with pytest.raises(SensorError, match=r"closed loops.*StepResult\.loop_forces"):
        Sensors(four_bar(1.0), [JointWrench("left-joint")])
