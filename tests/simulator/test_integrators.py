"""Every named method keeps the contract of integrators; and what is particular to each."""

from dataclasses import replace

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contact_laws import law_for
from contracts import IntegratorContract
from made_steps import stages_of
from pairwise import pairwise

from nmdp_pin._contact import FrictionCone
from nmdp_pin._contact.friction_cone import RECOVERY
from nmdp_pin._control import Command, StablePD
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS, integrator_named
from nmdp_pin._integrators.outcome import failed_step, finished_step
from nmdp_pin._integrators.scheme import SCHEMES
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._kernels.step.slips import measure_slips
from nmdp_pin._kernels.step.step_end import add_wrenches
from nmdp_pin._options import options_of
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import IntegratorError
from nmdp_pin.papers.methods.objectives import OBJECTIVES
from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient

PASSIVE = Command()
ESTIMATE = 2.0  # factor within which an estimated residual is the evaluated one; measured 1.4
DEPTH = 1e-9  # [m] by which a depth may differ from that of its force, as in steps
ROUNDING = 1e-9  # [N, N m]; contacts that are apart change the order of sums
GAP_ROUNDING = 1e-12  # [J]; a difference of works of 0.1 J


class TestIntegrators(IntegratorContract):
    @pytest.fixture(params=sorted(INTEGRATORS))
    def make(self, request):
        method = INTEGRATORS[request.param]

        def build(robot, terrain, contact):
            return method(System(robot, terrain, law_for(method.name, contact)))

        return build


class TestEndEffector(IntegratorContract):
    """The implicit method with another objective, and so its other solver."""

    @pytest.fixture
    def make(self):
        def build(robot, terrain, law):
            system = System(robot, terrain, replace(law, recovery=0.0))
            return INTEGRATORS["ne-nmdp"](system, objective="end_effector")

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
    """The options of a method are its keywords; those of its solvers are theirs."""
    names = options_of(INTEGRATORS["ne-nmdp"])
    assert {"objective", "order", "vi_newton", "projected_gradient"} <= set(names)
    assert list(options_of(INTEGRATORS["ne-mdp"])) == ["pd", "qp_solver"]


def test_unknown_pd():
    """The PD of the baseline is one of two."""
    system = System(samples.robot("robosimian planar"), Terrain([Plane()]), samples.CONE)
    with pytest.raises(IntegratorError, match="pd must be 'implicit' or 'explicit', got 'none'"):
        INTEGRATORS["ne-mdp"](system, pd="none")


def test_unknown_objective():
    """An unknown objective is an error that lists the known ones."""
    with pytest.raises(IntegratorError, match=r"'energy' is not known; choose from .*kinetic"):
        _ne_nmdp(objective="energy")


def test_solver_options_reach_the_solver():
    """The options of a solver are a value that the method keeps."""
    options = ProjectedGradient(max_iterations=7, epsilon=1e-5, shrink=0.5)
    minimises = _ne_nmdp(objective="kinetic", projected_gradient=options)
    assert minimises._minimiser.options == options
    assert _ne_nmdp(vi_newton=ViNewton(slip=1e-5)).method == ViNewton(slip=1e-5)


def test_a_failed_step_has_the_shapes_of_a_step():
    """No forces, no torque, no depth, and where it was."""
    state = State(0.3, np.zeros(7), np.ones(6))
    made = failed_step(
        state, Status.SINGULAR, n_contacts=4, iterations=2, evaluations=3, h=0.01, work=5
    )
    assert made.state is state
    assert (made.status, made.step_sizes, made.rejected) == (Status.SINGULAR, (0.01,), 0)
    assert (made.iterations, made.evaluations, made.work) == (2, 3, 5)
    shapes = {"tau": (6,), "contact_forces": (4, 3), "wrenches": (4, 6), "contact_depths": (4,)}
    for name, shape in shapes.items():
        np.testing.assert_array_equal(getattr(made, name), np.zeros(shape), strict=True)
    assert made.objective == made.kinetic_energy == made.potential_energy == 0.0
    assert made.residual == np.inf


@pytest.mark.parametrize(("residual", "told"), [(0.5, 0.5), (np.nan, np.inf), (np.inf, np.inf)])
def test_a_failed_step_has_numbers_only(residual, told):
    """A residual that a solver left without a value is infinite."""
    state = State(0.3, np.zeros(7), np.ones(6))
    counts = {"iterations": 2, "evaluations": 3, "work": 5}
    made = failed_step(state, Status.NOT_FINITE, n_contacts=4, h=0.01, residual=residual, **counts)
    assert made.residual == told


def test_an_overflow_is_a_failed_step():
    """Of any number of a step."""
    state = State(0.0, np.zeros(7), np.zeros(6))
    fields = {"tau": np.zeros(6), "contact_depths": np.zeros(1), "kinetic_energy": 0.0}
    fields |= {"potential_energy": 0.0, "objective": 0.0, "residual": 0.0, "work": 1}
    fields |= {"iterations": 1, "evaluations": 1, "step_sizes": (0.02,)}

    def finished(end=state, wrench=0.0, **changed):
        return finished_step(state, end, wrenches=np.full((1, 6), wrench), **fields | changed)

    assert finished().status.ok
    for broken in (
        finished(end=replace(state, q=np.full(7, np.nan))),
        finished(end=replace(state, v=np.full(6, np.inf))),
        finished(wrench=np.nan),
        finished(tau=np.full(6, -np.inf)),
        finished(kinetic_energy=np.inf),
        finished(objective=np.nan),
    ):
        assert broken.status is Status.NOT_FINITE
        assert broken.state is state
        assert broken.step_sizes == (0.02,)


def test_tolerances_follow_the_accuracy():
    """Of 1 nm/s: 1e-11 of the weight and 0.1 nm/s, in stages of any length."""
    own, method = ViNewton(), _ne_nmdp()
    options = method._options(np.inf)
    assert (options.tolerance, options.slip, options.long) == (own.tolerance, own.slip, 0.003)
    options = method._options(1e-9)
    assert (options.tolerance, options.slip, options.long) == pytest.approx((1e-11, 1e-10, 0.0))
    assert _ne_nmdp(objective="kinetic")._options(1e-9).slip == 0.0


def test_objectives_have_no_recovery():
    """However slow it is."""
    slow = replace(samples.CONE, recovery=0.5)
    system = System(samples.robot("robosimian planar"), Terrain([Plane()]), slow)
    with pytest.raises(IntegratorError, match="no recovery"):
        INTEGRATORS["ne-nmdp"](system, objective="kinetic")


def stiffnesses_of(integrator):
    """Stiffnesses of all candidates and joints in the last stage of the last step."""
    form, memory = integrator.form, integrator._memory
    contacts, linear = memory.stage.contacts, form.new_linear()
    n, rho = int(contacts.n[0]), memory.linear.rho
    linear.rho[contacts.index[:n]] = rho[:n]
    linear.rho[form.n_contacts :] = rho[n : n + form.n_joints]
    return linear


@pairwise(
    {
        "objective": [*OBJECTIVES, "dissipation"],
        "method": ["ne-nmdp", "pbd-nmdp", "ne-zonmdp"],
        "order": [1, 2],
    }
)
def test_the_step_solves_the_residual(objective, method, order):
    """At the ends of the stages G = 0 to the tolerance, with the forces that the result reports."""
    integrator = _nmdp(method, objective=objective, order=order)
    robot = samples.robot("robosimian planar")
    state = State(0.0, robot.standing, np.zeros(15))
    command = StablePD(robot, kp=1000.0, kd=1.0, gait="jump").command(state, 0.02)
    result = integrator.step(state, command, 0.02)
    assert result.status is Status.CONVERGED
    made = stages_of(integrator, state, command, 0.02, result)
    wrenches, weights = np.zeros_like(result.wrenches), SCHEMES[result.order].a[-1]
    tolerance = ViNewton().tolerance if objective == "dissipation" else 1e-8
    for (equations, at), weight in zip(made, weights, strict=True):
        assert at.residual <= equations.tolerance(tolerance)
        contacts = equations.stage.contacts
        reported = np.ones(contacts.n[0], bool)
        add_wrenches(equations.form.record, contacts, weight, at.record, reported, wrenches)
    np.testing.assert_array_equal(at.v, result.state.v)
    if objective == "dissipation":  # what the last iteration left is estimated, not evaluated
        assert result.residual <= ESTIMATE * at.residual + ROUNDING
        assert at.residual <= ESTIMATE * result.residual + ROUNDING
    else:
        assert result.residual == pytest.approx(at.residual, abs=ROUNDING)
    np.testing.assert_allclose(wrenches, result.wrenches, atol=1e-9)
    assert result.contact_forces.any()
    if objective == "dissipation":
        measure_slips(
            equations.form.record, equations.stage, at.record, stiffnesses_of(integrator), DEPTH
        )
        assert result.objective == pytest.approx(at.gap, abs=GAP_ROUNDING)
    else:
        value = OBJECTIVES[objective]().value(equations, at)
        assert result.objective == pytest.approx(value)


def test_the_budget_of_evaluations():
    """A step that needs more than it is allowed fails, and the state is as it was."""
    robot = samples.robot("robosimian planar")
    hard = _ne_nmdp(max_work=3)
    state = State(0.0, robot.standing, np.full(15, -2.0))
    result = hard.step(state, PASSIVE, 0.05)
    assert not result.status.ok
    assert result.state is state
    assert result.evaluations < 60  # those of one projection more, in both orders


def test_k_does_not_rise_against_no_friction():
    """The weights found give no larger K than no weights at all: forces only take energy."""
    integrator, robot = _ne_nmdp(), samples.robot("robosimian planar")
    state = State(0.0, robot.standing, np.full(15, 0.2))
    with_forces = integrator.step(state, PASSIVE, 0.01)
    air = Terrain([Plane(height=-9.0)])
    flying = INTEGRATORS["ne-nmdp"](System(robot, air, samples.CONE)).step(state, PASSIVE, 0.01)
    assert with_forces.kinetic_energy <= flying.kinetic_energy


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
        FrictionCone(stiffness=1e6, power=2, recovery=0.0),
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
    rate = 0.0 if options.get("objective") in OBJECTIVES else RECOVERY
    cone = FrictionCone(stiffness=1e6, power=2, recovery=rate)
    return INTEGRATORS[method](System(robot, ground, cone), **options)


@pytest.mark.parametrize("pd", ["implicit", "explicit"])
@pytest.mark.parametrize("name", ["robosimian planar", "pendulum+damping"])
def test_baseline_in_closed_form(name, pd):
    """In the air (M + h kd + h^2 kp) v1 = M v0 + h (tau - b - kp e + kd v_target).

    With the explicit PD M v1 = M v0 + h (tau - b - kp e - kd (v0 - v_target)).
    """
    robot, rng, h = samples.robot(name), np.random.default_rng(0), 0.005
    model, data = robot.model, robot.model.createData()
    air = System(robot, Terrain([Plane(height=-50.0)]), samples.CONE)
    integrator = INTEGRATORS["ne-mdp"](air, pd=pd)
    q, v = samples.configuration(model, rng), rng.standard_normal(model.nv)
    c = samples.command(model, rng)
    result = integrator.step(State(0.0, q, v), c, h)
    upper = np.triu(pin.crba(model, data, q))
    M, b = upper + np.triu(upper, 1).T, pin.nonLinearEffects(model, data, q, v)
    M_hat = M + h * np.diag(c.kd + model.damping) + h**2 * np.diag(c.kp)
    right = M @ v + h * (c.tau - b - c.kp * (q - c.q_target) + c.kd * c.v_target)
    if pd == "explicit":
        M_hat, right = M, right - h * (c.kd + model.damping) * v
    np.testing.assert_allclose(result.state.v, np.linalg.solve(M_hat, right), rtol=1e-9)
    np.testing.assert_allclose(result.state.q, q + h * result.state.v, rtol=1e-12)
