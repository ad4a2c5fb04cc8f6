"""Impacts in second order: contacts are plastic, and forces add up to momentum."""

import numpy as np
import pinocchio as pin
import pytest
from core_samples import robot as sample_robot
from pairwise import spread
from physics_scenes import CUBE, SLAB, SOFT, G, ball, block, cone, energies, far_ground, ground

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Command, Passive
from nmdp_pin._control.controller import CommandSource
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._robot import Robot, load_robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import ErrorControl

METHODS = ("ne-nmdp", "pbd-nmdp")
STIFFNESSES = (1e4, 1e6, 1e8)  # [N/m^2]
DROPS = ((0.05, 1e4), (0.5, 1e6), (0.5, 1e8))  # height [m], stiffness [N/m^2]
STEPS = (2e-3, 7.3e-3, 1.91e-2, 5e-2)  # [s]; the impacts are inside them
# Energy and momentum are counted to 1e-6.
SOLVED = {"vi_newton": ViNewton(tolerance=1e-8, slip=1e-6)}
THROWN = 0.02  # [m/s] of a contact or of the body, upwards, after an impact
GAIN = 1e-6  # of the energy of the fall, in a step that has an impact
# Of a corner: energy is kept up to what the compliance of the ground gives back, measured 3.4e-3;
# and the cube rises as it tips over: measured 0.043 m/s more than in first order at 0.5 ms, where
# it is 0.43.
CORNER_GAIN, TIPPED = 5e-3, 0.06
FINE = 5e-4  # [s] of the reference in first order
# Of mu g h: in the step in which it stops a sliding contact may be thrown back so fast, as the
# second stage extrapolates the first one's friction. Measured 0.08; it stands in the next step.
BACK = 0.1
# In the step after an impact legs may throw the body up: measured 0.09 m/s, in first order none.
LEGGED = 0.12
# of the fall; what `pbd-nmdp` gains in steps of 50 ms that are repeated in first order, in which
# material points of a chain gain energy: measured 0.013
FIRST_ORDER = 0.02
REGAINED = 0.2  # of the energy of the fall, by a chain's links that are flung round at 50 rad/s
DEEPER = 1.1  # times the depth of the closed form: what steps add; measured 1.07
WHIP = 4.0  # [J] of 4.9 that gravity gives


def turned(body: Robot, rpy: tuple[float, float, float], height: float) -> np.ndarray:
    """A configuration whose lowest point is at a height."""
    q = body.standing.copy()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(*rpy)).coeffs()
    q[2] += height - heights(body, q, np.zeros(body.model.nv))[0].min()
    return q


def heights(body: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heights of the contact spheres' lowest points, and the vertical velocities there."""
    model, data, points = body.model, body.model.createData(), body.contact_points
    pin.forwardKinematics(model, data, q, v)
    found = []
    for joint, local, radius in zip(points.joints, points.positions, points.radii, strict=True):
        M = data.oMi[int(joint)]
        twist = pin.getVelocity(model, data, int(joint), pin.LOCAL_WORLD_ALIGNED)
        moves = twist.linear + np.cross(twist.angular, M.rotation @ local)
        found.append((M.act(np.array(local))[2] - radius, moves[2]))
    return tuple(np.array(found).T)


def drop(sim: Simulator, q: np.ndarray, height: float, h: float, tau=None):
    """A fall: fastest contact thrown back, fastest rise of the body, largest gain of energy.

    A contact is thrown back that came down in the step, touched, and then leaves without a force.
    """
    body, state = sim.robot, sim.state(q)
    data = body.model.createData()
    before = pin.computePotentialEnergy(body.model, data, q)
    thrown = rise = gain = 0.0
    touched = False
    for _ in range(int(np.ceil((np.sqrt(2.0 * height / G) + 0.3) / h))):
        came = heights(body, state.q, state.v)[1]
        result = sim.step(state, tau, h)
        assert result.status.ok
        state = result.state
        level, leaves = heights(body, state.q, state.v)
        loaded = result.contact_forces[:, 2] > 0.0
        touched |= bool(loaded.any())
        hit = (came < -0.05) & (loaded | (level < 0.0))
        thrown = max(thrown, leaves[hit].max(initial=0.0))
        if touched:
            pin.centerOfMass(body.model, data, state.q, state.v)
            rise = max(rise, float(data.vcom[0][2]))
        energy = result.kinetic_energy + result.potential_energy
        gain, before = max(gain, energy - before), energy
    assert touched
    return thrown, rise, gain


BODIES = {
    "flat": (block(CUBE), (0.0, 0.0, 0.0)),
    "on an edge": (block(CUBE), (np.pi / 4, 0.0, 0.0)),
    "ball": (ball(), (0.0, 0.0, 0.0)),
}


@pytest.mark.parametrize(("name", "method"), [*zip(BODIES, (*METHODS, METHODS[0]), strict=True)])
def test_contacts_are_plastic(name, method):
    """Without recovery nothing is thrown back, and no energy made, at any height and step."""
    body, rpy = BODIES[name]
    mass = pin.computeTotalMass(body.model)
    for height, stiffness in DROPS:
        q = turned(body, rpy, height)
        space = FrictionCone(stiffness=stiffness, power=2, recovery=0.0)
        sim = Simulator(body, ground(0.5), space, method, order=2, **SOLVED)
        for h in STEPS:
            thrown, rise, gain = drop(sim, q, height, h)
            assert thrown < THROWN, (height, stiffness, h)
            assert rise < THROWN, (height, stiffness, h)
            assert gain < GAIN * mass * G * height, (height, stiffness, h)


@pytest.mark.parametrize("method", METHODS[:1])
def test_a_corner_drop_rises_as_in_first_order(method):
    """A cube that falls on a corner tips over it; it gets no more from it than at short steps."""
    cube = block(CUBE)
    for height, stiffness in DROPS[:2]:
        q = turned(cube, (0.3, 0.4, 0.2), height)
        space = FrictionCone(stiffness=stiffness, power=2, recovery=0.0)
        parts = (cube, ground(0.5), space, method)
        _, limit, _ = drop(Simulator(*parts, order=1), q, height, FINE)
        for h in STEPS:
            _, rise, gain = drop(Simulator(*parts, order=2), q, height, h)
            assert rise < limit + TIPPED, (height, stiffness, h)
            assert gain < CORNER_GAIN * G * height, (height, stiffness, h)


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_legged_robot_lands_as_in_first_order(method):
    """Go2 falls on its feet with damped joints: it does not rebound."""
    robot = sample_robot("go2")
    kd = np.zeros(robot.model.nv)
    kd[robot.driven] = 20.0
    for height, stiffness in ((0.05, 1e7), (0.3, 1e5), (0.3, 1e7)):
        q = turned(robot, (0.0, 0.0, 0.0), height)
        parts = (robot, ground(0.6), FrictionCone(stiffness=stiffness, power=2), method)
        command = Command(kd=kd)
        _, limit, _ = drop(Simulator(*parts, order=1), q, height, 1e-3, command)
        for h in (5e-3, 1.91e-2, 5e-2):
            _, rise, _ = drop(Simulator(*parts, order=2), q, height, h, command)
            assert rise < limit + LEGGED, (height, stiffness, h)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("height", [0.3, 0.4])
def test_a_chain_that_falls_makes_no_energy(method, height):
    """Ten links at a slant: they hit the ground one after the other, and whip round."""
    robot = load_robot("chain", base="free-flyer", visuals=False)
    q = turned(robot, (0.0, 0.3, 0.0), height)
    fall = G * pin.computeTotalMass(robot.model) * height
    for h in (5e-3, 1e-2, 2e-2, 5e-2):
        sim = Simulator(robot, ground(), cone(robot, feet=11, depth=SOFT), method, order=2)
        results = list(sim.run(sim.state(q), Passive(), dt=h, duration=1.2, on_failure="raise"))
        E = energies(results)
        E -= pin.computePotentialEnergy(robot.model, robot.model.createData(), q)
        rises = np.diff(E, prepend=0.0)
        repeated = np.array([result.order == 1 for result in results])
        gained = FIRST_ORDER if method == "pbd-nmdp" and repeated[rises > 0.0].any() else 1e-9
        assert E.max() <= gained * fall
        assert (E - np.minimum.accumulate(E)).max() <= REGAINED * fall


@spread({"method": METHODS, "h": [5e-3, 1e-2, 2e-2]})
def test_a_chain_that_whips_round_does_not_explode(method, h):
    """Held at one end and let go from level; in first order it gains 0.5 J at 5 ms, of 4.9."""
    chain = load_robot("chain", visuals=False)
    sim = Simulator(chain, far_ground(), cone(chain, feet=11), method, order=2)
    results = list(sim.run(sim.state(), Passive(), dt=h, duration=3.0, on_failure="raise"))
    assert np.abs([result.state.v for result in results]).max() > 20.0  # it whips
    start = pin.computePotentialEnergy(chain.model, chain.model.createData(), chain.standing)
    assert (energies(results) - start).max() < WHIP


@pytest.mark.parametrize("control", [None, ErrorControl(rtol=1e-2)], ids=["fixed", "error"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_forces_add_up_to_momentum(method, order, control):
    """The reported forces times the step are the change of momentum, through an impact too."""
    cube = block(CUBE)
    space = FrictionCone(stiffness=1e6, power=2)
    sub_steps = 0
    for h in (7.3e-3, 1.91e-2, 5e-2):
        options = SOLVED | {"order": order, "control": control}
        sim = Simulator(cube, ground(0.5), space, method, **options)
        q = turned(cube, (0.0, 0.0, 0.0), 0.1)
        state = sim.state(q)  # upright, where the base's velocity is the world's
        for _ in range(int(0.4 / h)):
            result = sim.step(state, None, h)
            assert result.status.ok
            sub_steps += result.halvings
            change = result.state.v[:3] - state.v[:3]
            impulse = h * (result.contact_forces.sum(axis=0) - np.array([0.0, 0.0, G]))
            # [N s] of an impact of 1.4; 1e-8 of the weight is left in G
            np.testing.assert_allclose(impulse, change, atol=1e-6)
            state = result.state
    assert (sub_steps > 0) == (control is not None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("body", [block(CUBE), ball()], ids=["cube", "ball"])
def test_an_impact_goes_no_deeper_than_the_ground_lets_it(body, method):
    """What falls rests no deeper than a force k d^2 on the way in takes up its energy.

    From there on the ground carries it; nothing pushes it out to its static depth.
    """
    points = len(body.contact_points) // 2 or 1
    for height in (0.05, 0.2, 0.5):
        q = turned(body, (0.0, 0.0, 0.0), height)
        for stiffness in STIFFNESSES:
            # points k d^3 / 3 = m g (height + d)
            share = 3.0 * G * body.mass / (points * stiffness)
            law = np.roots([1.0, 0.0, -share, -share * height]).real.max()
            space = FrictionCone(stiffness=stiffness, power=2)
            sim = Simulator(body, ground(0.5), space, method, order=2)
            for h in STEPS[1:]:
                state = sim.state(q)
                for _ in range(int(np.ceil((np.sqrt(2.0 * height / G) + 0.2) / h))):
                    result = sim.step(state, None, h)
                    assert result.status.ok
                    state = result.state
                assert result.max_penetration < DEEPER * law, (height, stiffness, h)


class Rising(CommandSource):
    """A force upwards that grows with time, past the weight of 1 kg at `lift_off`."""

    def __init__(self, lift_off: float) -> None:
        self.lift_off = lift_off

    def at(self, t: float) -> Command:
        return Command(tau=G * t / self.lift_off * np.eye(6)[2])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_lift_off_inside_a_step(method, order):
    """A slab that is drawn up leaves the ground when the force passes its weight."""
    slab, lift_off, end = block(SLAB), 0.1234, 0.3
    z = []
    for h in (5e-3, 1e-2, 2e-2):
        sim = Simulator(slab, ground(0.5), cone(slab), method, order=order)
        state = sim.state(slab.standing - 1e-4 * np.eye(7)[2])
        for _ in range(round(end / h)):
            result = sim.step(state, Rising(lift_off), h)
            assert result.status.ok
            assert (result.contact_forces[:, 2] >= 0.0).all()
            state = result.state
        assert not result.contact_forces.any()
        z.append(state.q[2] - slab.standing[2])
    exact = G * (end - lift_off) ** 3 / (6.0 * lift_off)
    errors = np.abs(np.array(z) - exact)
    # [m] g h (end - lift_off) for a lift-off that is known to a step
    assert (errors < 1.5 * G * (end - lift_off) * np.array([5e-3, 1e-2, 2e-2])).all()


@spread({"method": METHODS, "h": [3.7e-3, 1.3e-2, 4.7e-2]})
def test_a_sliding_box_stops_inside_a_step(method, h):
    """It comes to rest after v^2 / (2 mu g), to the way of a step, and stays there."""
    slab, mu, speed = block(SLAB), 0.5, 1.0
    sim = Simulator(slab, ground(mu), cone(slab), method, order=2)
    state = sim.state(slab.standing - 1e-4 * np.eye(7)[2], speed * np.eye(6)[0])
    speeds = []
    for _ in range(round(0.5 / h)):
        result = sim.step(state, None, h)
        assert result.status.ok
        state = result.state
        speeds.append(state.v[0])
    assert state.q[0] == pytest.approx(speed**2 / (2.0 * mu * G), abs=0.5 * speed * h)
    assert min(speeds) > -BACK * mu * G * h
    assert abs(speeds[-1]) < 1e-5


@spread({"method": METHODS, "h": [3.7e-3, 1.3e-2, 4.7e-2]})
def test_a_ball_rolls_on(method, h):
    """A ball that rolls without slip on level ground keeps its speed."""
    body = ball()
    sim = Simulator(body, ground(0.5), cone(body, feet=1), method, order=2)
    state = sim.state(body.standing - 1e-4 * np.eye(7)[2], np.array([1.0, 0, 0, 0, 10.0, 0]))
    for _ in range(round(1.0 / h)):
        result = sim.step(state, None, h)
        assert result.status.ok
        state = result.state
    R = pin.XYZQUATToSE3(state.q).rotation
    # the ball has sunk by 1e-4 of 0.1 m, so rolling is at 0.1 % more or less
    lost = 2e-3 + 50.0 * h**2  # the base's frame turns by 10 h rad in a step
    assert (R @ state.v[:3])[0] == pytest.approx(1.0, abs=lost)
    assert (R @ state.v[3:])[1] == pytest.approx(10.0, abs=10.0 * lost)


@spread({"method": METHODS, "h": [3.7e-3, 1.3e-2, 4.7e-2]})
def test_a_rocking_slab_comes_to_rest(method, h):
    """A slab let fall from one edge chatters on its feet, and then lies still (no recovery)."""
    slab = block(SLAB)
    sim = Simulator(slab, ground(0.5), cone(slab, depth=SOFT, recovery=0.0), method, order=2)
    state = sim.state(turned(slab, (0.05, 0.03, 0.0), 0.0))
    E = []
    for _ in range(round(1.0 / h)):
        result = sim.step(state, None, h)
        assert result.status.ok
        state = result.state
        E.append(result.kinetic_energy + result.potential_energy)
    assert np.diff(E).max() < 1e-5  # [J] of 0.1
    assert np.abs(state.v).max() < 1e-3
    # what came in deeper than at rest is not pushed out again; in first order 1.2 to 2.7 mm
    assert 0.8 * SOFT < slab.standing[2] - state.q[2] < 3.5 * SOFT
