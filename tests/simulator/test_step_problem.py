"""Both forms of the dynamics keep the contract of step problems; and what is particular to each."""

from dataclasses import replace
from typing import ClassVar

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contracts import ObjectiveContract, StepProblemContract, WrenchSpaceContract
from contracts.step_problem import assert_derivatives
from six_rows import Glue

from nmdp_pin._contact import AnisotropicCone, FiniteDifferences, FrictionCone, Mixed
from nmdp_pin._contact.wrench_space import skew
from nmdp_pin._control import Command
from nmdp_pin._dynamics.python_calls import placements_of
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import NeNmdp
from nmdp_pin._integrators.scheme import SCHEMES
from nmdp_pin._kernels.step.step_start import list_weights, open_step, state_stage
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.contact import Granular, LimitSurface, PlanarSliding, Plate
from nmdp_pin.papers.methods.objectives import OBJECTIVES
from nmdp_pin.papers.methods.stage_equations import StageEquations

ROUNDING = 1e-9  # relative; sums over 35 joints in double precision
DIFFERENCES = 2e-5  # relative: A of a model by finite differences, which are good to 1e-6 or so
ELLIPSOID = LimitSurface.ellipsoid((0.5, 0.3, 0.2), length=0.1)
MATERIAL = samples.FORMS["pbd"]
SPACES = {
    "one direction": FrictionCone(stiffness=1e3, power=1, directions=3, angle=0.3),
    "circumscribed": FrictionCone(stiffness=1e5, power=3, circumscribed=True),
    "zeta": FrictionCone(stiffness=1e4, power=2, zeta=1e-2),
    "anisotropic": AnisotropicCone(stiffness=3e4, along=0.2, power=2, directions=8),
    "planar sliding": PlanarSliding(surface=ELLIPSOID, stiffness=1e4, power=2, refinement=0),
    "granular": Granular(intruder=Plate(radius=0.06), scale=0.1),
}


@pytest.fixture(params=sorted(samples.FORMS))
def form(request):
    """Each form of the dynamics."""
    return samples.FORMS[request.param]


@pytest.fixture(params=[1, 2])
def order(request):
    """Each order of the time scheme."""
    return request.param


class TestForces(StepProblemContract):
    """With a model of three rows."""

    @pytest.fixture
    def space(self):
        return samples.CONE


class TestWrenches(StepProblemContract):
    """With a model of six rows, which turn with the body."""

    @pytest.fixture
    def space(self):
        return Glue()


class TestGlue(WrenchSpaceContract):
    """The model of six rows is one."""

    @pytest.fixture
    def space(self):
        return Glue()


class TestObjectives(ObjectiveContract):
    """What the projected gradient method minimises."""

    @pytest.fixture(params=sorted(OBJECTIVES))
    def objective(self, request):
        return OBJECTIVES[request.param]()


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize(
    ("name", "ground"), [("wheels", "valley"), ("robosimian free-flyer", "sphere")]
)
def test_derivatives_with_every_bundled_model(name, ground, space, form, order):
    """A is dG/dq whatever the wrench space is."""
    problem, q, w = samples.problem_at(
        samples.robot(name), ground, space, 7, form=form, order=order
    )
    assert problem.evaluate(q, w).active.size
    assert_derivatives(problem, q, w)


def test_derivatives_with_mixed_rows(form, order):
    """Models of three rows beside one of six."""
    robot = samples.robot("wheels")
    n = len(robot.contact_points)
    models = (samples.CONE, SPACES["anisotropic"], Glue())
    space = Mixed(models=models, table=[[i % 3, 2 - i % 3] for i in range(n)])
    assert_derivatives(*samples.problem_at(robot, "valley", space, 6, form=form, order=order))


def test_finite_differences_of_a_model(form):
    """A model without a derivative of its own gets nearly the same A."""
    robot = samples.robot("spider free-flyer")
    exact, q, w = samples.problem_at(robot, "sphere", samples.CONE, 6, form=form)
    other, _, _ = samples.problem_at(
        robot, "sphere", FiniteDifferences(model=samples.CONE), 6, form=form
    )
    A, B = (p.linearise(p.evaluate(q, w)).A for p in (exact, other))
    samples.assert_same(B, A, DIFFERENCES)


class Constant(FrictionCone):
    """A friction cone whose vertices are those of a place and stay."""

    held: ClassVar[np.ndarray] = np.zeros(0)

    def vertices(self, contacts):
        return self.held[contacts.contact]  # of a terrain of one shape

    def derivative(self, contacts, w, wrench):
        return np.zeros((len(w), 3, 3))


def test_zeroth_order_leaves_out_the_models_derivative(form, order, monkeypatch):
    """Its A is dG/dq with V held, and the exact one with a model that does not change."""
    robot = samples.robot("wheels")
    problem, q, w = samples.problem_at(
        robot, "sphere", samples.CONE, 6, form=form, order=order, zeroth_order=True, secants=False
    )
    at = problem.evaluate(q, w)
    assert at.record.slopes.size == 0
    monkeypatch.setattr(Constant, "held", at.V.copy())
    held, _, _ = samples.problem_at(
        robot, "sphere", Constant(stiffness=1e4, power=2), 6, form=form, order=order
    )
    expected = samples.derivative_of(held, q, w, lambda at: at.G)
    samples.assert_same(problem.linearise(at).A, expected)


def test_secants_learn_the_models_derivative(form):
    """After moves along all axes A of zeroth order is nearly that of first order."""
    robot = samples.robot("spider free-flyer")
    exact, q, w = samples.problem_at(robot, "tilted", samples.CONE, 6, form=form)
    problem, _, _ = samples.problem_at(
        robot, "tilted", samples.CONE, 6, form=form, zeroth_order=True
    )
    A = exact.linearise(exact.evaluate(q, w)).A
    at = problem.evaluate(q, w)
    blind = np.abs(problem.linearise(at).A - A).max()
    for axis in (0, 1, 2):
        move = 1e-6 * np.eye(problem.form.model.nv)[axis]
        at = problem.evaluate(problem.retract(at.q, move), w, at)
    assert np.abs(problem.linearise(at).A - A).max() < 1e-3 * blind


@pytest.mark.parametrize("name", ["robosimian planar", "spider free-flyer", "wheels"])
def test_newton_euler_is_rnea(name, order):
    """Without contact and torque G is pinocchio's rnea at the step's velocity and acceleration."""
    robot = samples.robot(name)
    problem, q, w = samples.problem_at(
        samples.without_limits(robot), "sphere", samples.CONE, 6, order=order
    )
    at = problem.evaluate(q, np.zeros_like(w))
    v = problem.rate * pin.difference(robot.model, problem.q_ref, q)
    a = problem.rate * (v - problem.v_ref)
    expected = pin.rnea(robot.model, robot.model.createData(), q, v, a)
    np.testing.assert_allclose(
        at.G + at.record.tau, expected, atol=ROUNDING * np.abs(expected).max()
    )


def particles(robot, q):
    """Masses and places of points with the mass, centre and second moments of the bodies.

    Each body is eight points at the corners of the box along its principal axes.
    """
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, q)
    masses, places = [], []
    signs = np.array(np.meshgrid([1, -1], [1, -1], [1, -1])).reshape(3, -1).T
    for i in range(1, model.njoints):
        inertia = model.inertias[i]
        moments = 0.5 * np.trace(inertia.inertia) * np.eye(3) - inertia.inertia
        values, axes = np.linalg.eigh(moments / max(inertia.mass, 1e-300))
        corners = inertia.lever + (signs * np.sqrt(np.maximum(values, 0.0))) @ axes.T
        places.append([data.oMi[i].act(x) for x in corners])
        masses += [inertia.mass / 8.0] * 8
    return np.array(masses), np.array(places).reshape(-1, 3)


@pytest.mark.parametrize("name", ["robosimian planar", "wheels", "chain fixed"])
def test_position_based_is_a_sum_over_particles(name):
    """G without contact and torque is d/dq of sum m |X - X_hat|^2 rate^2 / 2 over point masses."""
    robot = samples.robot(name)
    problem, q, w = samples.problem_at(robot, "sphere", samples.CONE, 6, form=MATERIAL)
    model, h = robot.model, 1.0 / problem.rate
    q0, v0 = problem.q_ref, problem.v_ref
    masses, X0 = particles(robot, q0)
    before = particles(robot, pin.integrate(model, q0, -h * v0))[1]
    X_hat = 2.0 * X0 - before + h**2 * model.gravity.linear

    def potential(dq):
        X = particles(robot, pin.integrate(model, q, dq))[1]
        return np.array([0.5 * masses @ ((X - X_hat) ** 2).sum(axis=1) / h**2])

    at = problem.evaluate(q, np.zeros_like(w))
    samples.assert_same(
        (at.G + at.record.tau)[None], samples.central_differences(potential, model.nv)
    )


def first_stage(form, q0, v0, h, order):
    """The equations of the first stage of a step, of length h, without a command."""
    scheme, memory = SCHEMES[order], form.new_memory()
    start = form.start(State(0.0, q0, v0), [Command()], h / scheme.a[0][0], None)
    open_step(form.record, start, memory)
    state_stage(form.record, scheme.record, start, 0, memory, memory.points[0])
    return StageEquations(form, memory.stage, memory.origin, 1.0 / h, order)


@pytest.mark.parametrize("name", ["robosimian planar", "wheels", "chain fixed"])
def test_material_velocities_are_a_sum_over_particles(name):
    """In second order G is rate * sum m (dX/dq)' (V - V0 - h g), summed over material points."""
    robot, h = samples.robot(name), 0.05
    model, rng = robot.model, np.random.default_rng(4)
    q0, v0 = samples.configuration(model, rng), rng.standard_normal(model.nv)
    made = MATERIAL(System(robot, Terrain([Plane(height=-99.0)]), samples.CONE))
    problem = first_stage(made, q0, v0, h, 2)
    q = pin.integrate(model, q0, h * (v0 + rng.standard_normal(model.nv)))
    masses = particles(robot, q)[0]

    def rates(q):
        move = lambda dq: particles(robot, pin.integrate(model, q, dq))[1]  # noqa: E731
        return samples.central_differences(move, model.nv)

    J = rates(q)
    v = pin.difference(model, q0, q) / h
    change = J @ v - rates(q0) @ v0 - h * model.gravity.linear
    expected = np.einsum("p,pxk,px->k", masses, J, change) / h
    at = problem.evaluate(q, np.zeros(made.shape))
    samples.assert_same((at.G + at.record.tau)[None], expected[None], 1e-5)


def test_a_sphere_presses_where_it_touches(form, order):
    """Sphere of radius r: friction at the bottom has the moment -r n x f about the centre."""
    robot = samples.robot("wheels")
    problem, q, w = samples.problem_at(robot, "flat", samples.CONE, 6, form=form, order=order)
    at = problem.evaluate(q, w)
    wrenches = samples.world_wrenches(problem, at)
    arm = -robot.contact_points.radii[:, None] * at.record.places.normal
    assert np.abs(wrenches[:, 3:]).max() > 0.0
    np.testing.assert_allclose(wrenches[:, 3:], np.cross(arm, wrenches[:, :3]), atol=1e-12)


def test_a_rolling_sphere_does_not_move(form, order):
    """A sphere that rolls without slip along a plane has a material point without velocity."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.2), pin.SE3.Identity())
    points = ContactPoints(("ball",), np.array([joint]), np.zeros((1, 3)), np.array([0.2]))
    ball = Robot("ball", model, points, np.arange(0), pin.neutral(model))
    made = form(System(ball, Terrain([Plane(height=-0.2)]), samples.CONE))
    problem = first_stage(made, pin.neutral(model), np.zeros(6), 0.01, order)
    angle = 1e-4
    q = np.r_[0.2 * angle, 0.0, 0.0, 0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)]
    # [m] what is left is the arc's second order, r angle^2 / 2
    assert np.abs(problem.evaluate(q, np.zeros((1, 6))).motion).max() <= 0.2 * angle**2


def test_displacements_are_exact(form):
    """In first order the motion is where the material point came from, however far it turned."""
    robot = samples.robot("wheels+points")
    problem, q, w = samples.problem_at(robot, "flat", samples.CONE, 6, form=form)
    moved = samples.centres(robot, q) - samples.centres(robot, problem.q_ref)
    np.testing.assert_allclose(problem.evaluate(q, w).motion, moved, atol=1e-12)


def test_velocities_count_in_second_order(form):
    """There the motion is the length of the stage times the velocity at its end."""
    robot = samples.robot("wheels+points")
    problem, q, w = samples.problem_at(robot, "flat", samples.CONE, 6, form=form, order=2)
    at, s = problem.evaluate(q, w), 1e-6
    ahead, behind = (
        samples.centres(robot, pin.integrate(robot.model, q, t * at.v)) for t in (s, -s)
    )
    expected = (ahead - behind) / (2.0 * s) / problem.rate
    np.testing.assert_allclose(at.motion, expected, atol=1e-7)


def test_turns_are_the_axis_times_the_sine(form):
    """The rows of the turn, for a body that turned by a known angle about a known axis."""
    problem, _, w = samples.problem_at(samples.robot("wheels"), "flat", Glue(), 4, form=form)
    axis, angle = np.array([0.6, 0.0, 0.8]), 0.9
    start = problem.q_ref
    turned = start.copy()
    base = pin.Quaternion(start[3:7]).toRotationMatrix()
    turned[3:7] = pin.Quaternion(pin.exp3(angle * axis) @ base).coeffs()
    motion = problem.evaluate(turned, w).motion
    np.testing.assert_allclose(motion[:, 3:], np.tile(np.sin(angle) * axis, (len(w), 1)), atol=1e-9)
    np.testing.assert_allclose(problem.evaluate(start, w).motion, 0.0, atol=1e-12)


def test_tolerance_follows_the_weight_and_rounding():
    """A share of the weight; in steps too short for that, the rounding of M q / h^2."""
    problem, q, _ = samples.problem_at(samples.robot("wheels"), "flat", samples.CONE, 4)
    weight = 9.81 * pin.computeTotalMass(problem.form.model)
    assert problem.form.tree.weight == pytest.approx(weight, rel=1e-3)
    assert problem.tolerance(1e-3) == pytest.approx(1e-3 * weight, rel=1e-3)
    short = samples.Problem(problem.form, q, problem.v_ref, Command(), 1e-6, 1)
    assert short.tolerance(1e-10) > 1e-4 * weight


def test_a_model_that_acts_far_away():
    """With zeta > 0 every contact can feel a force, also in the air."""
    cone = FrictionCone(stiffness=1e4, power=2, zeta=1e-3)
    problem, q, w = samples.problem_at(
        samples.without_limits(samples.robot("spider")), "flat", cone, seed=6
    )
    q = q.copy()
    q[2] += 10.0
    at = problem.evaluate(q, w)
    assert len(at.active) == len(w)
    assert (at.record.places.depth < 0.0).all()


def test_placements_view():
    """The view of all oMi holds what pinocchio holds, and follows it."""
    model = samples.robot("spider").model
    data = model.createData()
    view = placements_of(data)
    pin.forwardKinematics(model, data, samples.configuration(model, np.random.default_rng(0)))
    for joint in range(model.njoints):
        np.testing.assert_array_equal(view[joint, :3].T, data.oMi[joint].rotation)
        np.testing.assert_array_equal(view[joint, 3], data.oMi[joint].translation)


def test_an_unknown_memory_layout_is_refused():
    """Placements that do not lie one after the other are not read as if they did."""

    class Placement:
        def __init__(self):
            self.rotation = np.eye(3, order="F")
            self.translation = np.zeros(3)

    class Data:
        oMi: ClassVar = [Placement(), Placement(), Placement()]

    with pytest.raises(RuntimeError, match="layout"):
        placements_of(Data())


def test_skew():
    """[a]_x b = a x b."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 7, 3))
    np.testing.assert_allclose(np.einsum("nij,nj->ni", skew(a), b), np.cross(a, b), atol=1e-15)


def test_a_start_writes_into_its_own_memory_alone():
    """Robots of fewer than three dofs have vectors too short for a velocity of a contact."""
    robot = samples.robot("pendulum")
    method = NeNmdp(System(robot, Terrain([Plane(height=-0.5)]), samples.CONE))
    form, guard = method.form, np.full(3, 7.0)
    memory = form.new_memory()
    memory = replace(memory, origin=replace(memory.origin, G=guard[:1]))
    start = form.start(State(0.0, np.zeros(1), np.ones(1)), [Command()], 0.01, None)
    open_step(form.record, start, memory)
    list_weights(form.record, start, method._options(np.inf), memory)
    assert (guard[1:] == 7.0).all()
