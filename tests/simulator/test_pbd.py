"""PBD and PBFD: their steps, and their motion against closed forms."""

from dataclasses import fields, replace

import numpy as np
import pinocchio as pin
import pytest
from physics_scenes import CUBE, SLAB, G, ball, block, energies, ground, path, pendulum, run
from position_steps import Step

from nmdp_pin._contact import Penalty, friction_coefficient_for
from nmdp_pin._control import Command, StablePD
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._integrators.pbfd import OPTIMISERS
from nmdp_pin._kernels.step.tolerances import ROUNDING as ROUNDING_OF_STEPS
from nmdp_pin._robot import ContactPoints, JointLimits, Robot, load_robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import IntegratorError

METHODS = ("pbd", "pbfd")
PAIRS = [(m, o) for m in METHODS for o in (*INTEGRATORS[m].optimisers, *OPTIMISERS)]
LAW = {field.name for field in fields(Penalty)}
STEPS = (5e-3, 2e-2, 1e-1)
C = G / 1e-3**2  # [N/m^2], the default for a kilogram
REST = 0.5e-3  # [m]: four corners carry it
ROUNDING = 1e-9
SOLVER = 1e-6  # relative; the residual is below 1e-8 of the weight
CENTRIPETAL = 0.02  # share of the energy that turns of a whole step may add


def simulator(robot, terrain, method, **options):
    """A simulator; options that are the penalty's go to it."""
    law = {key: options.pop(key) for key in LAW & set(options)}
    return Simulator(robot, terrain, Penalty(**law), method, **options)


def integrator(robot, terrain, method, **options):
    """The method alone."""
    return INTEGRATORS[method](System(robot, terrain, Penalty()), **options)


def resting(robot, size=SLAB, depth=REST, x=0.0):
    """The configuration at rest on level ground."""
    q = robot.standing.copy()
    q[0], q[2] = x, size[2] / 2 - depth
    return q


@pytest.mark.parametrize("method", METHODS)
def test_a_ram_presses_1_mm_deep_by_default(method):
    """C d^2 is the effort of 25 N, of a body of 10 g on a slide, and not 0.1 N."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelPZ(), pin.SE3.Identity(), "slide")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(0.01, 0.02), pin.SE3.Identity())
    model.gravity.linear = np.zeros(3)
    point = ContactPoints(("tip",), np.array([joint]), np.zeros((1, 3)), np.array([0.02]))
    limits = replace(JointLimits.none(1), effort=np.array([25.0]))
    ram = Robot("ram", model, point, np.array([0]), np.array([0.02]), limits=limits)
    sim, state = simulator(ram, ground(), method), None
    for _ in range(50):
        result = sim.step(state or sim.state(), np.array([-25.0]), 0.02)
        assert result.status.ok
        state = result.state
    assert result.max_penetration == pytest.approx(1e-3, rel=1e-3)


def slide(method, h, speed=1.0, duration=None, mu=0.5, **options):
    """How far a slab goes that is sent over level ground [m]."""
    slab = block()
    sim = simulator(slab, ground(mu), method, **options)
    state = sim.state(resting(slab), speed * np.eye(6)[0])
    results = run(sim, state, h, duration or 8.0)
    return path(state, results)[-1, 0]


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("method", METHODS)
def test_free_fall(method, h):
    """Speed g t to rounding; backward Euler's height, below the exact one by g t h / 2."""
    cube = block(CUBE)
    sim = simulator(cube, Terrain([Plane(height=-100.0)]), method)
    state = sim.state()
    last = run(sim, state, h, 0.4)[-1].state
    assert last.v == pytest.approx([0, 0, -0.4 * G, 0, 0, 0], abs=1e-8)
    fallen = state.q[2] - last.q[2]
    assert fallen == pytest.approx(0.5 * G * 0.4 * (0.4 + h), abs=1e-8)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("method", METHODS)
def test_depth_at_rest(method, h):
    """A body sinks to sqrt(W / (n C_perp)), and its contacts carry its weight."""
    slab = block()
    for stiffness, depth in ((None, REST), (1e5, np.sqrt(G / 4e5))):
        sim = simulator(slab, ground(), method, normal_stiffness=stiffness)
        state = sim.state(resting(slab, depth=0.9 * depth))
        last = run(sim, state, h, 3.0)[-1]
        assert last.max_penetration == pytest.approx(depth, rel=1e-3)
        assert last.contact_forces[:, 2].sum() == pytest.approx(G, rel=1e-3)
        assert np.abs(last.state.v).max() < 1e-4


@pytest.mark.parametrize("mu", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("h", STEPS)
def test_slab_stops_where_dry_friction_stops_it(h, mu):
    """By default a body sent at 1 m/s slides v^2 / (2 mu g), at every step length."""
    assert slide("pbfd", h, mu=mu) == pytest.approx(1.0 / (2.0 * mu * G), rel=2e-3)


@pytest.mark.parametrize("speed", [0.5, 2.0])
@pytest.mark.parametrize("h", STEPS)
def test_the_lookup_against_simulation(h, speed):
    """`friction_coefficient_for` gives the stopping distance of dry friction at its speed."""
    friction = friction_coefficient_for(0.5, h, normal_stiffness=C, speed=speed)
    found = slide("pbfd", h, speed, friction_stiffness=friction)
    assert found == pytest.approx(speed**2 / (2.0 * 0.5 * G), rel=5e-3)


@pytest.mark.parametrize("h", STEPS)
def test_speed_of_a_sliding_slab(h):
    """A step changes it by 1 / (1 + 2 kappa g h^2)."""
    slab = block()
    sim = simulator(slab, ground(0.5), "pbfd")
    result = sim.step(sim.state(resting(slab), np.eye(6)[0]), None, h)
    kappa = 0.5 / h
    assert result.state.v[0] == pytest.approx(1.0 / (1.0 + 2.0 * kappa * G * h**2), rel=0.02)


def test_pbd_underestimates_friction_beyond_a_threshold_and_pbfd_does_not():
    """[P] fig. 5 b: the stopping distance of PBD grows again with C_par, that of PBFD falls."""
    friction = C * np.geomspace(0.01, 100.0, 5)
    ways = {
        m: np.array([slide(m, 2e-2, duration=3.0, friction_stiffness=f) for f in friction])
        for m in METHODS
    }
    assert (np.diff(ways["pbfd"]) < 0.0).all()
    least = int(np.argmin(ways["pbd"]))
    assert 0 < least < len(friction) - 1
    # [m] of the 3 m that it goes without friction: measured 2.53 and 2.99, and 0.03 of PBFD
    assert ways["pbd"][-1] > ways["pbd"][least] + 0.4
    assert ways["pbfd"][-1] < 0.1


@pytest.mark.parametrize("h", STEPS)
def test_creep_on_a_slope(h):
    """Nothing sticks: a slab slides down at slip_speed tan(angle) / mu."""
    slab, angle, mu = block(), 0.2, 0.5
    sim = simulator(slab, ground(mu, angle), "pbfd", slip_speed=0.1)
    R = pin.utils.rotate("y", angle)
    centre = R @ np.array([0.0, 0.0, SLAB[2] / 2 - REST * np.sqrt(np.cos(angle))])
    state = sim.state(pin.SE3ToXYZQUAT(pin.SE3(R, centre)))
    way = path(state, run(sim, state, h, 2.0))[:, :3] @ R[:, 0]
    speed = (way[-1] - way[-2]) / h
    assert speed == pytest.approx(0.1 * np.tan(angle) / mu, rel=1e-2)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("method", METHODS)
def test_pendulum_loses_energy(method, h):
    """No step gains energy."""
    swing = pendulum()
    sim = simulator(swing, Terrain([Plane(height=-5.0)]), method)
    state = sim.state(np.array([2.0]))
    start = pin.computePotentialEnergy(swing.model, swing.model.createData(), state.q)
    E = np.r_[start, energies(run(sim, state, h, 2.0))]
    assert (np.diff(E) <= ROUNDING).all()


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("method", METHODS)
def test_chain_that_swings_gains_no_energy(method, h):
    """Of the many roots of r = 0 the one that motion leads to is taken, also at 0.1 s."""
    chain = load_robot("chain", base="fixed", visuals=False)
    sim = simulator(chain, Terrain([Plane(height=-5.0)]), method)
    start = pin.computePotentialEnergy(chain.model, chain.model.createData(), chain.standing)
    results = run(sim, sim.state(), h, 1.0)
    E = np.r_[start, energies(results)] - start
    assert E.max() <= CENTRIPETAL * abs(E[-1])
    assert E[-1] < 0.0


@pytest.mark.parametrize("method", METHODS)
def test_momentum(method):
    """In the air linear momentum is kept to rounding."""
    robot = load_robot("chain", base="free-flyer", visuals=False)
    model = pin.Model(robot.model)
    model.gravity = pin.Motion.Zero()
    robot = replace(robot, model=model)
    sim = simulator(robot, Terrain([Plane(height=-50.0)]), method)
    v = 0.5 * np.random.default_rng(0).standard_normal(model.nv)
    state = sim.state(v=v)

    def linear(s):
        return pin.computeCentroidalMomentum(model, model.createData(), s.q, s.v).linear.copy()

    first = sim.step(state, None, 1e-3).state
    last = run(sim, first, 1e-3, 0.05)[-1].state
    # positions are differenced along the manifold: the turn within a step is of its order
    np.testing.assert_allclose(linear(last), linear(first), atol=5e-4)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("method", METHODS)
def test_impact(method, h):
    """A cube that falls on a corner gains no energy and comes to rest on the ground."""
    cube = block(CUBE)
    sim = simulator(cube, ground(0.5), method)
    R = pin.rpy.rpyToMatrix(0.3, 0.4, 0.2)
    state = sim.state(pin.SE3ToXYZQUAT(pin.SE3(R, np.array([0.0, 0.0, 0.5]))))
    results = run(sim, state, h, 3.0)
    E = np.r_[G * 0.5, energies(results)]
    assert np.diff(E).max() <= 0.02 * E[0]
    assert E.max() <= E[0] + ROUNDING
    assert np.abs(results[-1].state.v[2:]).max() < 1e-2
    assert results[-1].state.q[2] == pytest.approx(0.1, abs=2e-3)


def test_ball_rolls():
    """Friction has its lever: a ball that slides comes to roll. PBD's lifts it off instead."""
    sphere = ball()
    sim = simulator(sphere, ground(0.5), "pbfd", slip_speed=0.02)
    q = sphere.standing.copy()
    q[2] -= 1e-3
    state = sim.state(q, np.eye(6)[0])
    results = run(sim, state, 5e-3, 0.5)
    way = path(state, results)[:, 0]
    speed = (way[-1] - way[-2]) / 5e-3
    assert results[-1].state.v[4] * 0.1 == pytest.approx(speed, rel=0.01)
    # 5/7 of the speed it was sent at; differences of material points slow a spin down
    assert 0.6 < speed < 5.0 / 7.0


@pytest.mark.parametrize(("method", "optimiser"), PAIRS)
def test_optimisers_agree(method, optimiser):
    """All optimisers of a method find the same step."""
    chain = load_robot("chain", base="free-flyer", visuals=False)
    q = chain.standing.copy()
    q[2] = 0.0102
    terrain, state = ground(0.5), State(0.0, q, 0.2 * np.ones(chain.model.nv))
    first = integrator(chain, terrain, method)
    other = integrator(chain, terrain, method, optimiser=optimiser, tolerance=1e-6)
    a = first.step(state, Command(), 5e-3)
    b = other.step(state, Command(), 5e-3)
    assert a.status is b.status is Status.CONVERGED
    np.testing.assert_allclose(a.state.q, b.state.q, atol=1e-7)
    assert a.contact_forces.any()


@pytest.mark.parametrize("scene", ["fixed", "free-flyer"])
@pytest.mark.parametrize("method", METHODS)
def test_second_derivatives_save_iterations(method, scene):
    """[P] fig. 4: on both chains JTJ-LM takes fewer iterations than L-BFGS."""
    chain = load_robot("chain", base=scene, visuals=False)
    q = chain.standing.copy()
    terrain = ground(0.5) if scene == "free-flyer" else Terrain([Plane(height=-5.0)])
    if scene == "free-flyer":
        q[2] = 0.0102
    spent = {}
    for optimiser in ("jtj-lm", "lbfgs"):
        solver = integrator(chain, terrain, method, optimiser=optimiser, tolerance=1e-6)
        state = State(0.0, q, np.zeros(chain.model.nv))
        spent[optimiser] = 0
        for _ in range(5):
            found = solver.step(state, Command(), 5e-3)
            assert found.status.ok
            # L-BFGS factorises no matrix whose condition could be told
            assert np.isnan(found.condition) == (optimiser == "lbfgs" or found.iterations == 0)
            spent[optimiser] += found.iterations
            state = found.state
    assert spent["jtj-lm"] < spent["lbfgs"]


@pytest.mark.parametrize("method", METHODS)
def test_the_step_solves_the_residual(method):
    """At the end the residual is below its tolerance, with the forces that the result reports."""
    robot = load_robot("robosimian", base="planar", visuals=False)
    ground_below = Terrain([Plane(height=-0.8)])
    step = Step(method, Penalty(), robot, ground_below)
    state = State(0.0, robot.standing, np.zeros(robot.model.nv))
    command = StablePD(robot, kp=1000.0, kd=1.0, gait="jump").command(state, 0.02)
    result = step.method.step(state, command, 0.02)
    assert result.status is Status.CONVERGED
    step.begin(state, command, 0.02)
    tolerance = step.memory.bound
    r = step.evaluate(result.state.q)
    assert np.linalg.norm(r) == pytest.approx(result.residual, abs=tolerance)
    assert result.residual <= tolerance
    np.testing.assert_allclose(step.wrenches, result.wrenches, atol=1e-9)
    assert result.condition > 1.0
    if method == "pbfd":
        assert result.objective == pytest.approx(0.5 * result.residual**2)
    else:
        assert result.objective == pytest.approx(step.value)


@pytest.mark.parametrize(("method", "optimiser"), PAIRS)
def test_only_gauss_newton_of_an_energy_needs_a_semidefinite_matrix(method, optimiser):
    """That of pbfd is the square of a matrix, "lm" damps, L-BFGS has none."""
    made = integrator(block(), ground(0.5), method, optimiser=optimiser)
    assert made.memory.scene.semidefinite == ((method, optimiser) == ("pbd", "jtj-lm"))


@pytest.mark.parametrize(("h", "far"), [(1e-2, 0.0), (1e-6, 0.0), (1e-6, -9.0)])
def test_the_residual_is_not_asked_below_rounding(h, far):
    """1e-8 of the weight or, of short steps, the rounding of M q / h^2."""
    slab = block()
    method = integrator(slab, ground(0.5), "pbfd")
    q = resting(slab, x=far)
    method.step(State(0.0, q, np.zeros(6)), Command(), h)
    mass_matrix = pin.crba(slab.model, slab.model.createData(), slab.standing)
    rounding = ROUNDING_OF_STEPS * mass_matrix.diagonal().max() / h**2 * (1.0 + np.abs(q).max())
    expected = max(1e-8 * slab.mass * G, rounding)
    assert method.memory.bound == pytest.approx(expected, rel=1e-12)
    assert (rounding > 1e-8 * slab.mass * G) == (h < 1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimiser": "newton"}, r"optimiser of 'pbfd' must be one of \['jtj-lm', 'lbfgs'\]"),
        ({"optimiser": "lm"}, "optimiser of 'pbfd'"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
    ],
)
def test_bad_options(options, message):
    """Options out of their range are named."""
    with pytest.raises(IntegratorError, match=message):
        simulator(block(), ground(), "pbfd", **options)
