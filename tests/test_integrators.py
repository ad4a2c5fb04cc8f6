"""Every named method keeps the contract of integrators; and what is particular to each."""

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contracts import IntegratorContract

from nmdp_pin.contact import FrictionCone
from nmdp_pin.control import Command, StablePD
from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.dynamics.objective import OBJECTIVES, objective_named
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators import INTEGRATORS, integrator_named, options_of
from nmdp_pin.simulator import Simulator
from nmdp_pin.solvers.pgm import PGMOptions
from nmdp_pin.solvers.vi_newton import dissipation_gap
from nmdp_pin.state import State, WarmStart
from nmdp_pin.status import Status
from nmdp_pin.terrain import Plane, Terrain

GAP_ROUNDING = 1e-12  # [J]; a difference of works of 0.1 J


class TestIntegrators(IntegratorContract):
    @pytest.fixture(params=sorted(INTEGRATORS))
    def make(self, request):
        return INTEGRATORS[request.param]


class TestEndEffector(IntegratorContract):
    """The implicit method with its other objective and its other solver."""

    @pytest.fixture
    def make(self):
        def build(*arguments):
            return INTEGRATORS["ne-nmdp"](*arguments, objective="end_effector", qp_solver="daqp")

        return build


@pytest.mark.parametrize("name", sorted(INTEGRATORS))
def test_names(name):
    """The registry's names are the classes' own."""
    assert integrator_named(name).name == name


def test_unknown_name():
    """An unknown method is an error that lists the known ones."""
    with pytest.raises(IntegratorError, match=r"'euler' is not known; choose from .*'ne-nmdp'"):
        integrator_named("euler")


def test_options_of():
    """The options of a method are its own and its solver's."""
    names = options_of(INTEGRATORS["ne-nmdp"])
    assert {"objective", "gamma", "tolerance", "max_iterations"} <= set(names)
    assert options_of(INTEGRATORS["ne-mdp"]) == []


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf])
def test_bad_gamma(gamma):
    """The gamma of the first step must be a positive number."""
    with pytest.raises(IntegratorError, match="gamma must be"):
        _ne_nmdp(gamma=gamma)


def test_unknown_objective():
    """An unknown objective is an error that lists the known ones."""
    with pytest.raises(IntegratorError, match=r"'energy' is not known; choose from .*kinetic"):
        _ne_nmdp(objective="energy")


def test_solver_options_reach_the_solver():
    """Options beyond its own are the solver's."""
    options = {"max_iterations": 7, "epsilon": 1e-5, "shrink": 0.5}
    assert _ne_nmdp(**options).options == PGMOptions(**options)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "ne-zonmdp"])
@pytest.mark.parametrize("objective", [*OBJECTIVES, Dissipation.name])
def test_the_step_solves_the_residual(objective, method):
    """At the end of a step G = 0 to the tolerance, with the forces that the result reports."""
    integrator, robot = _nmdp(method, objective=objective), samples.robot("robosimian planar")
    state = State(0.0, robot.standing, np.zeros(15))
    command = StablePD(robot, kp=1000.0, kd=1.0, gait="jump").command(state, 0.02)
    result = integrator.step(state, command, 0.02)
    assert result.status is Status.CONVERGED
    residual = integrator.residual
    residual.begin(state, command, 0.02)
    w = result.state.warm.w
    G = residual.evaluate(result.state.q, w)
    np.testing.assert_array_equal(residual.v, result.state.v)
    assert np.linalg.norm(G) == pytest.approx(result.residual, abs=residual.tolerance(1e-8))
    assert result.residual <= residual.tolerance(1e-8)
    np.testing.assert_allclose(residual.contact.wrenches, result.wrenches, atol=1e-9)
    assert result.contact_forces.any()
    if objective == Dissipation.name:
        gap = dissipation_gap(Dissipation(residual).work(), w.ravel(), w.shape)
        assert result.objective == pytest.approx(gap, abs=GAP_ROUNDING)
    else:
        value = objective_named(objective, residual).value()
        assert result.objective == pytest.approx(value)


def test_k_does_not_rise_against_no_friction():
    """The weights found give no larger K than no weights at all: forces only take energy."""
    integrator, robot = _ne_nmdp(), samples.robot("robosimian planar")
    state = State(0.0, robot.standing, np.full(15, 0.2))
    with_forces = integrator.step(state, Command(), 0.01)
    air = Terrain([Plane(height=-9.0)])
    flying = INTEGRATORS["ne-nmdp"](robot, air, samples.CONE).step(state, Command(), 0.01)
    assert with_forces.kinetic_energy <= flying.kinetic_energy


def test_a_contact_that_was_apart_starts_with_its_normal_force():
    """The warm start of a contact in the air is the middle of its polytope."""
    robot = samples.robot("robosimian planar")
    integrator = INTEGRATORS["ne-nmdp"](robot, Terrain([Plane(height=-5.0)]), samples.CONE)
    warm = WarmStart(np.eye(4, 6), 1.0)
    result = integrator.step(State(0.0, robot.standing, np.zeros(15), warm), Command(), 0.01)
    np.testing.assert_allclose(result.state.warm.w, 1.0 / 6.0)


def test_small_steps_far_from_the_origin():
    """Rounding of M q / h^2 is not taken for a residual: tiny steps converge far out too."""
    robot = samples.robot("robosimian planar")
    simulator = Simulator(
        robot, Terrain([Plane(height=-0.8)]), FrictionCone(stiffness=1e6, power=2)
    )
    for z in (0.0, 2.0, 100.0):
        for h in (1e-3, 1e-4, 1e-5):
            q = np.array(robot.standing)
            q[:2] += [100.0, z]
            result = simulator.step(simulator.state(q, np.full(15, 0.1)), None, h)
            assert result.status is Status.CONVERGED, f"z = {z} m, h = {h} s"
            assert result.halvings == 0


def test_warm_start_saves_work():
    """Standing, the weights of the last step are nearly those of the next."""
    robot = samples.robot("robosimian planar")
    simulator = Simulator(
        robot,
        Terrain([Plane(height=-0.8)]),
        FrictionCone(stiffness=1e6, power=2),
        objective="end_effector",
    )
    controller = StablePD(robot, kp=1000.0, kd=20.0)
    state, warm, cold = simulator.state(), 0, 0
    for _ in range(20):
        command = controller.command(state, 0.02)
        cold += simulator.step(State(state.t, state.q, state.v), command, 0.02).evaluations
        result = simulator.step(state, command, 0.02)
        warm += result.evaluations
        state = result.state
    assert warm < cold


def _ne_nmdp(**options):
    return _nmdp("ne-nmdp", **options)


def _nmdp(method, **options):
    robot = samples.robot("robosimian planar")
    ground = Terrain([Plane(height=-0.8)])
    cone = FrictionCone(stiffness=1e6, power=2)
    return INTEGRATORS[method](robot, ground, cone, **options)


@pytest.mark.parametrize("name", ["robosimian planar", "pendulum+damping"])
def test_baseline_in_closed_form(name):
    """In the air (M + h kd + h^2 kp) v1 = M v0 + h (tau - b - kp e + kd v_target)."""
    robot, rng, h = samples.robot(name), np.random.default_rng(0), 0.005
    model, data = robot.model, robot.model.createData()
    integrator = INTEGRATORS["ne-mdp"](robot, Terrain([Plane(height=-50.0)]), samples.CONE)
    q, v = samples.configuration(model, rng), rng.standard_normal(model.nv)
    c = samples.command(model, rng)
    result = integrator.step(State(0.0, q, v), c, h)
    upper = np.triu(pin.crba(model, data, q))
    M, b = upper + np.triu(upper, 1).T, pin.nonLinearEffects(model, data, q, v)
    M_hat = M + h * np.diag(c.kd + model.damping) + h**2 * np.diag(c.kp)
    right = M @ v + h * (c.tau - b - c.kp * (q - c.q_target) + c.kd * c.v_target)
    np.testing.assert_allclose(result.state.v, np.linalg.solve(M_hat, right), rtol=1e-9)
    np.testing.assert_allclose(result.state.q, q + h * result.state.v, rtol=1e-12)
