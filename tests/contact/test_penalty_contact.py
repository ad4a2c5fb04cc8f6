"""Every derivative of PBD and PBFD against central differences, and what their forces are."""

from dataclasses import replace

import body_scenes
import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from pairwise import pairwise
from position_steps import Step

from nmdp_pin._contact.penalty import Penalty
from nmdp_pin._control import Command
from nmdp_pin._kernels.step.levenberg_marquardt import open_minimisation
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.papers.methods.position_lbfgs import PositionMinimisation

LAWS = {
    "of the paper": Penalty(normal_stiffness=1e4, friction_stiffness=1e5),
    "from mu": Penalty(normal_stiffness=1e4),
    "other exponents": Penalty(
        normal_stiffness=1e4, friction_stiffness=1e5, alpha=2.5, beta=1.7, gamma=1.2
    ),
}
ROBOTS = (
    "robosimian planar",
    "spider free-flyer+damping",
    "chain fixed",
    "chain free-flyer+points",
    "wheels+damping",
    "wheels+points",
    "pendulum",
)
FAR = Terrain([Plane(height=-1e6)])
METHODS = ("pbd", "pbfd")
GROUNDS = ("flat", "tilted", "overhang", "sphere", "cylinder")
ON_GROUNDS = [(name, GROUNDS[(i + k) % 5]) for i, name in enumerate(ROBOTS) for k in (1, 3)]
ROUNDING = 1e-9  # relative; sums over the tree in double precision
NO_CURVATURE = 1e-10  # relative; rounding of a positive semidefinite matrix


def begun(method, law, name, kind, seed=5, *, in_air=False):
    """A step, in contact or above it, and a trial end of it."""
    robot, rng, h = samples.robot(name), np.random.default_rng(seed), 0.05
    model = robot.model
    q0, v0 = samples.configuration(model, rng), rng.standard_normal(model.nv)
    q = pin.integrate(model, q0, h * (v0 + rng.standard_normal(model.nv)))
    points = samples.centres(robot, q)
    ground = samples.ground_through(kind, points)
    if in_air:
        ground = Terrain([Plane(height=float(points[:, 2].min()) - 1.0)])
    step = Step(method, law, robot, ground)
    step.begin(State(0.0, q0, v0), samples.command(model, rng), h)
    return step, q


def differences(step, q, value):
    """Central differences of value(r) over the tangent at q."""

    def moved(dq):
        return np.array(value(step.evaluate(step.retract(q, dq))))

    return samples.central_differences(moved, step.nv)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(("name", "kind"), ON_GROUNDS)
def test_energy_gradient_and_hessian(name, kind, law):
    """The gradient of E is its differences, and its derivative the exact Hessian."""
    step, q = begun("pbd", law, name, kind)
    r = step.evaluate(q)
    assert step.wrenches.any()
    H = step.linearise()
    energy = differences(step, q, lambda r: step.value)
    samples.assert_same(r[None], energy[None])
    samples.assert_same(H, differences(step, q, lambda r: r))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(("name", "kind"), ON_GROUNDS)
def test_residual_of_pbfd(name, kind, law):
    """dr/dq is exact, with friction that is no gradient."""
    step, q = begun("pbfd", law, name, kind)
    step.evaluate(q)
    assert step.wrenches.any()
    J = step.linearise()
    samples.assert_same(J, differences(step, q, lambda r: r))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pairwise(
    {"method": METHODS, "name": ["wheels", "wheels+points", "chain free-flyer"], "kind": GROUNDS}
)
def test_contact_alone(method, name, kind, law):
    """The stiffness of the contacts, which the inertia would hide."""
    step, q = begun(method, law, name, kind, seed=11)
    step.evaluate(q)
    depths = step.depths
    assert np.abs(depths).min() > 10 * samples.STEP
    robot = step.robot
    apart = Step(method, step.method.law, robot, FAR)
    apart.memory = replace(apart.memory, start=step.start)
    apart.ref.target[:] = step.ref.target
    apart.evaluate(q)
    A = step.linearise() - apart.linearise()
    found = differences(step, q, lambda r: step.contact_force())
    samples.assert_same(-A, found)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ROBOTS)
def test_out_of_contact(name, method):
    """In the air both residuals have exact derivatives, and contacts give nothing."""
    step, q = begun(method, LAWS["from mu"], name, "flat", in_air=True)
    step.evaluate(q)
    assert not step.wrenches.any()
    J = step.linearise()
    samples.assert_same(J, differences(step, q, lambda r: r))


@pairwise({"method": METHODS, "name": ROBOTS, "kind": ["tilted", "sphere"]})
def test_optimisers_get_gradients_in_their_own_coordinates(method, name, kind):
    """`gradient` and `pull_back` are differences of the value along `retract`."""
    step, q = begun(method, LAWS["from mu"], name, kind)
    problem = PositionMinimisation(step.model, step.memory)
    assert open_minimisation(step.memory)
    y0 = 0.02 * np.random.default_rng(3).standard_normal(step.nv)
    # a step of the size that the others make in q, where the stiffest dof has the largest y
    size = float(np.abs(step.memory.ref.U).max()) * samples.STEP
    problem.evaluate(problem.retract(q, y0))
    found = problem.pull_back(q, y0, problem.gradient())

    def moved(dy):
        return np.array(problem.evaluate(problem.retract(q, y0 + dy))[0])

    expected = samples.central_differences(moved, step.nv, min(size, 1e-4))
    samples.assert_same(found[None], expected[None], 1e-5)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("name", ROBOTS)
def test_gauss_newton_matrices(name, law):
    """They are symmetric and have no negative eigenvalue."""
    step, q = begun("pbd", law, name, "sphere")
    step.evaluate(q)
    A = step.linearise(exact=False)
    largest = np.abs(A).max()
    assert np.abs(A - A.T).max() <= NO_CURVATURE * largest
    assert np.linalg.eigvalsh(A)[0] >= -NO_CURVATURE * largest


def test_gauss_newton_is_the_hessian_at_rest():
    """Where nothing has moved and nothing pushes, E is what Gauss-Newton makes of it."""
    robot = samples.robot("spider free-flyer+damping")
    model, q = robot.model, robot.standing
    weightless = pin.Model(model)
    weightless.gravity = pin.Motion.Zero()
    law, ground = Penalty(normal_stiffness=1.0), Terrain([Plane(height=-9.0)])
    still = Step("pbd", law, replace(robot, model=weightless), ground)
    still.begin(State(0.0, q, np.zeros(model.nv)), Command(), 0.02)
    r = still.evaluate(q)
    exact, found = still.linearise(), still.linearise(exact=False)
    assert np.abs(r).max() <= ROUNDING * np.abs(exact).max()
    np.testing.assert_allclose(found, exact, atol=ROUNDING * np.abs(exact).max())


@pytest.mark.parametrize("method", METHODS)
def test_forces_are_those_of_the_paper(method):
    """On flat ground: C d^2 n - 2 C_par u_t d^2 at the points, and PBD's 2 C_par |u_t|^2 d n."""
    step, q = begun(method, LAWS["of the paper"], "wheels+points", "tilted")
    step.evaluate(q)
    before = samples.centres(step.robot, step.start.q0)
    d, n = np.maximum(step.depths, 0.0)[:, None], step.point.places.normal
    u = samples.centres(step.robot, q) - before
    slip = u - (u * n).sum(axis=1)[:, None] * n
    expected = 1e4 * d**2 * n - 2e5 * slip * d**2
    if method == "pbd":
        expected += 2e5 * (slip**2).sum(axis=1)[:, None] * d * n
    assert expected.any()
    atol = ROUNDING * np.abs(expected).max()
    np.testing.assert_allclose(step.wrenches[:, :3], expected, atol=atol)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["robosimian planar", "wheels", "chain fixed", "spider"])
def test_generalised_force(name, method):
    """The force in the residual is J' of the reported wrenches, by pinocchio's Jacobians."""
    step, q = begun(method, LAWS["from mu"], name, "sphere")
    r, force = step.evaluate(q), step.contact_force()
    assert force.any()
    robot = step.robot
    apart = Step(method, step.method.law, robot, FAR)
    apart.memory = replace(apart.memory, start=step.start)
    apart.ref.target[:] = step.ref.target
    found = apart.evaluate(q) - r
    np.testing.assert_allclose(found, force, atol=ROUNDING * max(np.abs(r).max(), 1.0))


@pytest.mark.parametrize("kind", body_scenes.KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_contacts_between_bodies(method, kind):
    """Both bodies feel the contact, and what is touched takes it along when it moves."""
    _, q, _ = body_scenes.in_contact(kind, samples.CONE, seed=3)
    robot, rng = body_scenes.robot(kind), np.random.default_rng(1)
    model = robot.model
    q0 = pin.integrate(model, q, 0.03 * rng.standard_normal(model.nv))
    law = Penalty(normal_stiffness=1e4, friction_stiffness=3e3, beta=1.5)
    step = Step(method, law, robot, body_scenes.FAR)
    step.begin(State(0.0, q0, rng.standard_normal(model.nv)), Command(), 0.05)
    r = step.evaluate(q)
    assert (step.depths > 0.0).sum() >= 2
    A = step.linearise()
    samples.assert_same(A, differences(step, q, lambda r: r))
    if method == "pbd":
        samples.assert_same(r[None], differences(step, q, lambda r: step.value)[None])


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_left_of_another_step(method):
    """A step gives the same bits after another one, far away."""
    step, q = begun(method, LAWS["from mu"], "wheels+damping", "sphere")
    start = step.start
    state = State(0.0, start.q0.copy(), start.v0.copy())
    command = Command(tau=np.ones(step.nv))
    step.begin(state, command, 0.05)
    r, A = step.evaluate(q), step.linearise()
    step.begin(State(0.0, step.robot.standing, np.ones(step.nv)), Command(), 1e-3)
    step.evaluate(step.retract(q, np.full(step.nv, 40.0)))
    step.linearise()
    step.begin(state, command, 0.05)
    assert np.array_equal(step.evaluate(q), r)
    assert np.array_equal(step.linearise(), A)


def test_torque_of_the_energy_is_the_commands():
    """On joints of one dof, and on translations, the potential gives the very torque commanded."""
    for name in ("robosimian planar", "spider free-flyer"):
        robot = samples.robot(name)
        model, rng = robot.model, np.random.default_rng(0)
        command, h = samples.command(model, rng), 0.05
        state = State(0.0, samples.configuration(model, rng), rng.standard_normal(model.nv))
        q = pin.integrate(model, state.q, h * rng.standard_normal(model.nv))
        found = []
        for method in METHODS:
            step = Step(method, LAWS["from mu"], robot, Terrain([Plane(height=-50.0)]))
            step.begin(state, command, h)
            step.evaluate(q)
            found.append(step.point.tau.copy())
        turning = np.zeros(model.nv, dtype=bool)
        for joint in list(model.joints)[1:]:
            turning[joint.idx_v : joint.idx_v + joint.nv] = joint.nq > joint.nv > 1
        np.testing.assert_allclose(found[0][~turning], found[1][~turning], rtol=1e-10)
