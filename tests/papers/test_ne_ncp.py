"""The conventional simulator against what is known in closed form."""

from __future__ import annotations

from dataclasses import replace

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contact_laws import law_for
from contracts.integrator import assert_same_bits
from physics_scenes import (
    BASES,
    CUBE,
    G,
    ball,
    block,
    energies,
    far_ground,
    ground,
    order,
    path,
    pendulum,
    run,
    weightless,
)
from scipy.integrate import solve_ivp

from nmdp_pin._contact import DryFriction, FrictionCone, Penalty
from nmdp_pin._control import Command, Passive, StablePD, TorqueFunction
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._robot import free_body, load_robot
from nmdp_pin._runs.failed_step import FailedStep
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import Fixed, Halving, StepFailed
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Box, Cylinder, Plane, Sphere, Terrain
from nmdp_pin.errors import IntegratorError, StateError
from nmdp_pin.papers.methods.friction_ncp import NCP_SOLVERS

ROUNDING = 1e-9
SPUN = 1e-7  # of Newton's method for gyroscopic forces, in 400 steps
SOLVED = 1e-4  # of a speed or force: ten times the tolerance of the solver
STEPS = (0.001, 0.002, 0.005, 0.01)
LAW = DryFriction()
MU = 0.5


@pytest.fixture(params=NCP_SOLVERS)
def solver(request):
    return request.param


def hard(robot, terrain, **options):
    return Simulator(robot, terrain, LAW, "ne-ncp", **options)


def stopping(h, solver, *, mu=MU, heading=0.0):
    """Way of a slab sent at 1 m/s over level ground [m]."""
    sim = hard(block(), ground(mu), solver=solver)
    v = np.zeros(6)
    v[:2] = np.cos(heading), np.sin(heading)
    last = run(sim, sim.state(v=v), h, 1.2 / (mu * G))[-1]
    return float(np.linalg.norm(last.state.q[:2]))


@pytest.mark.parametrize("h", STEPS)
def test_free_fall(h):
    """The speed is g t, and z = z0 - g t (t + h) / 2: the sum of the steps."""
    sim = hard(ball(), far_ground())
    q0 = sim.state().q
    last = run(sim, sim.state(), h, 0.1)[-1]
    t = last.state.t
    assert last.state.v[2] == pytest.approx(-G * t, rel=ROUNDING)
    assert last.state.q[2] - q0[2] == pytest.approx(-0.5 * G * t * (t + h), rel=ROUNDING)


@pytest.mark.parametrize("mu", [0.5])
def test_stopping_distance(solver, mu):
    """v0^2 / (2 mu g) in the limit; at each step length exactly what dry friction sums up to."""
    errors = []
    for h in STEPS:
        k = np.arange(1, int(1.0 / (mu * G * h)) + 1)
        way = stopping(h, solver, mu=mu)
        assert way == pytest.approx(h * (1.0 - k * mu * G * h).sum(), rel=SOLVED)
        errors.append(way - 1.0 / (2.0 * mu * G))
    assert order(STEPS, errors) == pytest.approx(1.0, abs=0.05)


def test_friction_has_no_direction(solver):
    """The cone is round: the way is the same in every direction."""
    straight = stopping(0.005, solver)
    for heading in (0.3, 0.8, 2.0):
        assert stopping(0.005, solver, heading=heading) == pytest.approx(straight, rel=SOLVED)


@pytest.mark.parametrize("h", [0.005, 0.02])
def test_slope(solver, h):
    """Below arctan(mu) a slab sticks, above it gains g (sin - mu cos) a second."""
    for share in (0.99, 1.01, 1.5):
        angle = share * np.arctan(MU)
        slab, R = block(), pin.utils.rotate("y", share * np.arctan(MU))
        sim = hard(slab, ground(MU, angle), solver=solver)
        start = sim.state(pin.SE3ToXYZQUAT(pin.SE3(R, R @ slab.standing[:3])))
        last = run(sim, start, h, 0.2)[-1]
        expected = max(G * (np.sin(angle) - MU * np.cos(angle)), 0.0) * 0.2
        assert last.state.v[0] == pytest.approx(expected, abs=SOLVED * G * 0.2)


@pytest.mark.parametrize("h", [0.005, 0.1])
def test_rest(solver, h):
    """A cube stays where it is, and the ground carries its weight, at any step length."""
    cube = block(CUBE)
    sim = hard(cube, ground(), solver=solver)
    results = run(sim, sim.state(), h, 1.0)
    assert np.abs(path(sim.state(), results) - cube.standing).max() < SOLVED * G * h
    for result in results:
        np.testing.assert_allclose(result.contact_forces.sum(axis=0), [0, 0, G], atol=SOLVED * G)


@pytest.mark.parametrize("h", [0.001, 0.005, 0.02])
def test_impact_is_inelastic(solver, h):
    """A ball that falls from 0.5 m reaches the ground, stays there, and never gains energy."""
    sphere = ball()
    sim = hard(sphere, ground(), solver=solver)
    start = sim.state(sphere.standing + 0.5 * np.eye(7)[2])
    results = run(sim, start, h, 0.6)
    E, z = energies(results), path(start, results)[:, 2] - sphere.standing[2]
    assert np.diff(E).max() <= SOLVED * G * h
    landed = int(np.argmax(z < SOLVED * G * h))
    assert landed * h == pytest.approx(np.sqrt(2.0 * 0.5 / G), abs=2.0 * h)
    assert np.abs(z[landed:]).max() < SOLVED * G * h
    # what the fall had, less at most what one step takes or gives, is gone
    assert E[0] - E[-1] == pytest.approx(0.5 * G, abs=2.0 * G * G * h * 0.4)


@pytest.mark.parametrize("solver", NCP_SOLVERS)
def test_nothing_penetrates(solver):
    """Cubes thrown at random near the ground: no corner gets deeper than its path bends.

    The bend is h^2 / 2 of the acceleration of a motion with constant twist, w x v.
    """
    cube, rng, h = block(CUBE), np.random.default_rng(0), 0.002
    sim = hard(cube, ground(), solver=solver)
    touched = 0
    for _ in range(60):
        R = pin.Quaternion(*rng.standard_normal(4)).normalized().matrix()
        corners = cube.contact_points.positions @ R.T
        q = pin.SE3ToXYZQUAT(
            pin.SE3(R, np.array([0, 0, rng.uniform(0, 2e-3) - corners[:, 2].min()]))
        )
        v = np.concatenate([rng.standard_normal(3), 5.0 * rng.standard_normal(3)])
        result = sim.step(sim.state(q, v), None, h)
        assert result.status is Status.CONVERGED
        assert result.halvings == 0
        w = np.linalg.norm(result.state.v[3:])
        speed = np.linalg.norm(result.state.v[:3]) + w * np.linalg.norm(corners[0])
        assert result.max_penetration <= 0.6 * h**2 * w * speed + SOLVED * G * h**2
        touched += bool(result.contact_forces.any())
    assert touched > 15


def test_a_contact_that_another_brings_down(solver):
    """A corner that only the impulse on another one brings to the ground does not sink.

    The one that lands stops; as of a rod that is hit at its end, the other one then is faster.
    """
    slab, h, lift = block((0.2, 0.02, 0.02)), 1e-3, 1.3e-3
    angle = np.arcsin(lift / 0.2)
    R = pin.utils.rotate("y", angle)
    low = (slab.contact_points.positions @ R.T)[:, 2].min()
    sim = hard(slab, ground(), solver=solver)
    start = sim.state(pin.SE3ToXYZQUAT(pin.SE3(R, np.array([0.0, 0.0, -low]))), -np.eye(6)[2])
    assert lift > h * (1.0 + G * h)  # alone it would stay above
    result = sim.step(start, None, h)
    assert (result.contact_forces[:, 2] > 0.0).sum() == 4
    assert result.max_penetration < 1e-5  # [m] that its path bends


@pytest.mark.parametrize("base", BASES)
def test_rolling(solver, base):
    """A ball on a slope rolls with 5/7 g sin: friction acts where the sphere touches."""
    angle, sphere = 0.3, ball(base=base)
    R = pin.utils.rotate("y", angle)
    q = sphere.standing.copy()
    q[:3] = R @ q[:3]
    sim = hard(sphere, ground(MU, angle), solver=solver)
    start = sim.state(q)
    results = run(sim, start, 1e-3, 0.3)
    way = np.linalg.norm(path(start, results)[:, :3] - q[:3], axis=1)
    speed = (way[-1] - way[-2]) / 1e-3
    assert speed == pytest.approx(5.0 / 7.0 * G * np.sin(angle) * 0.3, rel=2e-3)
    forces = results[-1].contact_forces
    np.testing.assert_allclose(
        results[-1].wrenches[0, 3:], np.cross(-0.1 * (R[:, 2]), forces[0]), atol=ROUNDING
    )


def test_pendulum():
    """The angle after a second converges to that of an accurate solution, in first order."""
    robot = pendulum()
    exact = solve_ivp(
        lambda t, x: [x[1], -G / 0.5 * np.sin(x[0])], (0, 1), [1.0, 0.0], rtol=1e-11, atol=1e-11
    ).y[0, -1]
    sim = hard(robot, far_ground())
    errors = [run(sim, sim.state(np.ones(1)), h, 1.0)[-1].state.q[0] - exact for h in STEPS]
    assert order(STEPS, errors) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("h", [0.005, 0.02])
@pytest.mark.parametrize(
    ("shape", "spin"),
    [
        (Cylinder(radius=0.1, length=0.005), (3.0, 2.0, 20.0)),
        (Box(size=(0.3, 0.2, 0.1)), (3.0, 20.0, 2.0)),  # about its middle axis
        (Box(size=(0.3, 0.2, 0.1)), (500.0, 1000.0, 300.0)),
    ],
)
def test_a_free_body_keeps_its_spin(shape, spin, h):
    """Euler's equations: energy and the size of the momentum are constant, in 2 s of any spin."""
    robot = free_body("body", shape, mass=1.0)
    sim = hard(robot, far_ground(), control=Fixed())
    inertia = robot.model.inertias[2].inertia
    state, start = sim.state(v=np.array([0.0, 0.0, 0.0, *spin])), np.array(spin)
    for _ in range(round(2.0 / h)):
        result = sim.step(state, None, h)
        assert result.status.ok
        state = result.state
    end = state.v[3:]
    assert end @ inertia @ end == pytest.approx(start @ inertia @ start, rel=SPUN)
    momenta = np.linalg.norm(inertia @ end), np.linalg.norm(inertia @ start)
    assert momenta[0] == pytest.approx(momenta[1], rel=SPUN)


def test_momentum_of_internal_torques():
    """What a chain's own torques add to its momentum falls with the step."""
    robot = weightless(load_robot("chain", base="free-flyer", visuals=False))
    model = robot.model
    torque = np.zeros(model.nv)
    torque[6:] = 2e-4 * np.cos(np.arange(model.nv - 6))
    wave = TorqueFunction(lambda state, h: torque * np.sin(2.0 * np.pi * (state.t + h)))
    sim, made = hard(robot, far_ground()), []
    for h in (0.001, 0.002, 0.004):
        last = run(sim, sim.state(), h, 0.3, wave)[-1].state
        made.append(pin.computeCentroidalMomentum(model, model.createData(), last.q, last.v))
    assert order((0.001, 0.002, 0.004), [np.linalg.norm(m.vector) for m in made]) > 0.9


def test_impulses_are_the_change_of_momentum(solver):
    """Of a cube that tumbles on the ground: m dv = h (sum of forces + weight), step by step."""
    cube = block(CUBE, base=BASES[1])
    sim = hard(cube, ground(), solver=solver)
    R = pin.rpy.rpyToMatrix(0.4, 0.3, 0.2)
    state = sim.state(
        pin.SE3ToXYZQUAT(pin.SE3(R, np.array([0.0, 0.0, 0.2]))), np.array([1.0, 0, 0, 1.0, 2.0, 0])
    )
    data, seen = cube.model.createData(), 0
    for result in sim.run(state, Passive(), dt=0.002, duration=0.4):
        # both at the configuration where the step starts, as the method has it
        before, after = (
            pin.computeCentroidalMomentum(cube.model, data, state.q, v).linear.copy()
            for v in (state.v, result.state.v)
        )
        impulse = 0.002 * (result.contact_forces.sum(axis=0) - G * np.eye(3)[2])
        np.testing.assert_allclose(after - before, impulse, atol=ROUNDING)
        seen += bool(result.contact_forces.any())
        state = result.state
    assert seen > 50


@pytest.mark.parametrize("name", ["robosimian planar", "spider"])
def test_both_solvers_agree(name):
    """ADMM and PGS make the same motion, on a planar base too, where nothing moves sideways."""
    robot = samples.robot(name)
    feet = samples.centres(robot, robot.standing)
    low = float(feet[:, 2].min() - robot.contact_points.radii.max())
    terrain = Terrain([Plane(height=low), Sphere(radius=5.0, position=(0.3, 0.2, low - 4.99))])
    controller = StablePD(robot, kp=1000.0, kd=20.0)
    ends = []
    for solver in NCP_SOLVERS:
        sim = hard(robot, terrain, solver=solver)
        ends.append(run(sim, sim.state(), 0.005, 0.1, controller)[-1])
    assert ends[0].contact_forces.any()
    a, b = (end.state.v for end in ends)
    np.testing.assert_allclose(a, b, atol=SOLVED * np.abs(b).max())


def test_agreement_with_ne_nmdp():
    """On a slab that slides both come to the same way as steps and soft contacts get small."""
    slab, apart = block(), []
    for h, stiffness in ((0.004, 1e9), (0.002, 1e10), (0.001, 1e11)):
        ends = []
        for method in ("ne-ncp", "ne-nmdp"):
            law = law_for(method, FrictionCone(stiffness=stiffness, power=2))
            order = {} if method == "ne-ncp" else {"order": 1}
            sim = Simulator(slab, ground(), law, method, **order)
            ends.append(run(sim, sim.state(v=np.eye(6)[0]), h, 0.3)[-1].state.q[0])
        apart.append(abs(ends[0] - ends[1]))
    assert apart[-1] < apart[0]
    assert apart[-1] < 1e-4  # [m] of 0.1 m


def test_penetration_is_taken_back(solver):
    """A cube that starts 2 mm deep rises by e in 0.1 s, whatever the step, and not faster."""
    cube, depth = block(CUBE), 2e-3
    for h in (0.001, 0.01):
        sim = hard(cube, ground(), solver=solver)
        start = sim.state(cube.standing - depth * np.eye(7)[2])
        results = run(sim, start, h, 0.1)
        expected = depth * (1.0 - h / 0.1) ** len(results)
        assert results[-1].max_penetration == pytest.approx(expected, rel=1e-3)
        deep = hard(cube, ground(), solver=solver, push_out=1e-3)
        assert run(deep, start, h, h)[-1].max_penetration < SOLVED * depth


def test_residuals_are_in_results_and_recordings(solver, tmp_path):
    """Primal, dual and complementarity are there for this method, and NaN for the others."""
    cube = block(CUBE)
    sim = hard(cube, ground(), solver=solver)
    state = sim.state(cube.standing + 1e-3 * np.eye(7)[2], np.array([1.0, 0, -1.0, 0, 3.0, 0]))
    recorder = Recorder(cube, state)
    results = run(sim, state, 0.002, 0.1)
    for result in results:
        recorder.record(result, 0.0)
    recording = recorder.recording()
    limit = 1e-5 * G * 0.002
    assert np.isnan(recording.dual[0])
    assert np.nanmax(recording.dual) <= limit
    assert 0.0 < np.nanmax(recording.complementarity) <= limit * 20.0  # of impulses, 20 m/s
    assert np.nanmax(recording.primal) <= limit
    soft = Simulator(cube, ground(), FrictionCone(stiffness=1e6), "ne-mdp").step(state, None, 1e-3)
    assert np.isnan([soft.primal, soft.dual, soft.complementarity]).all()


def test_the_last_forces_are_the_warm_start(solver):
    """A cube that rests needs no iterations when it starts from the forces that carried it."""
    cube = block(CUBE)
    sim = hard(cube, ground(), solver=solver)
    cold = sim.step(sim.state(), None, 0.005)
    forces = np.zeros_like(cold.contact_forces)
    forces[cold.state.warm.contacts] = cold.state.warm.forces
    assert np.array_equal(forces, cold.contact_forces)
    warm = sim.step(cold.state, None, 0.005)
    assert cold.iterations > 0
    assert warm.iterations <= 1


def test_friction_is_the_terrains():
    """More friction of the ground slows a sliding body down more."""
    cube, v = block(CUBE), np.eye(6)[0]
    sims = [Simulator(cube, ground(mu), LAW, "ne-ncp") for mu in (0.5, 0.9)]
    low, high = (sim.step(sim.state(v=v), None, 0.01).state.v[0] for sim in sims)
    assert high < low


def test_only_dry_friction_is_taken():
    """A wrench space or a penalty would be ignored without a word."""
    for law in (FrictionCone(stiffness=1.0), Penalty()):
        with pytest.raises(IntegratorError, match="takes a contact law of the kind DryFriction"):
            Simulator(block(CUBE), ground(), law, "ne-ncp")


def test_too_few_iterations_are_a_failure(solver):
    """The step fails and says why, how far it came, and leaves the state as it was."""
    robot = samples.robot("robosimian planar")
    terrain = Terrain([Plane(height=-0.8)])
    method = INTEGRATORS["ne-ncp"](System(robot, terrain, LAW), solver=solver, max_iterations=1)
    state = State(0.0, np.array(robot.standing), np.zeros(15))
    result = method.step(state, Command(), 0.01)
    assert result.status is Status.ITERATION_LIMIT
    assert result.state is state
    assert result.iterations == 2  # one of each solver
    assert max(result.dual, result.complementarity) > 1e-5


def test_a_failed_step_is_kept_with_its_warm_start(tmp_path):
    """A dump of a step holds the forces that it started from, and repeats it to the bit."""
    cube = block(CUBE)
    sim = hard(cube, ground(), max_iterations=1, control=Halving(min_step=0.01))
    good = hard(cube, ground())
    state = good.step(good.state(v=np.array([1.0, 0, 0, 0, 3.0, 0])), None, 0.01).state
    with pytest.raises(StepFailed) as caught:
        list(sim.run(state, Passive(), dt=0.01, duration=0.01, on_failure="raise"))
    failed = FailedStep.of(caught.value)
    failed.save(tmp_path / "step.npz")
    loaded = FailedStep.load(tmp_path / "step.npz")
    assert np.array_equal(loaded.state.warm.forces, state.warm.forces)
    result = good.step(loaded.state, None, 0.01)
    assert_same_bits(result, good.step(state, None, 0.01))


@pytest.mark.parametrize("forces", [np.zeros((2, 3)), np.full((4, 3), np.nan)])
def test_forces_of_another_robot_are_refused(forces):
    """A warm start that does not fit is an error that says what would."""
    sim = hard(block(), ground())
    warm = WarmStart(np.arange(4), np.zeros((4, 0)), np.zeros(0), np.zeros(6), forces=forces)
    state = replace(sim.state(), warm=warm)
    with pytest.raises(StateError, match=r"forces of shape .*expected \(4, 3\), finite"):
        sim.step(state, None, 0.01)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("tolerance", 0.0, "tolerance must be > 0, got 0.0"),
        ("tolerance", np.nan, "tolerance must be a finite number, got nan"),
        ("push_out", 0.0, "push_out must be > 0, got 0.0"),
        ("push_out", np.inf, "push_out must be a finite number, got inf"),
        ("solver", "lemke", "solver must be 'admm' or 'pgs', got 'lemke'"),
        ("max_iterations", 0, "max_iterations must be >= 1"),
    ],
)
def test_bad_options(option, value, message):
    """Mistakes are errors that say what is allowed."""
    with pytest.raises(IntegratorError, match=message):
        hard(block(), ground(), **{option: value})
