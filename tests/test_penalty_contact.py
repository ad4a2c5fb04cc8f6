"""Every derivative of PBD and PBFD against central differences, and what their forces are."""

from dataclasses import replace
from functools import partial

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin.contact.penalty import Penalty
from nmdp_pin.control import Command
from nmdp_pin.dynamics.minimised import Energy, GradientLevel
from nmdp_pin.dynamics.penalty_contact import FrictionalPenalty
from nmdp_pin.dynamics.position_energy import PositionEnergy
from nmdp_pin.dynamics.position_residual import PositionBased
from nmdp_pin.state import State
from nmdp_pin.terrain import Plane, Terrain

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
GROUNDS = ("flat", "tilted", "overhang", "sphere", "cylinder")
ROUNDING = 1e-9  # relative; sums over the tree in double precision
NO_CURVATURE = 1e-10  # relative; rounding of a positive semidefinite matrix


def begun(make, name, kind, seed=5, *, in_air=False, dt=None):
    """A residual in mid-step, in contact or above it, and a trial end of the step."""
    robot, rng, h = samples.robot(name), np.random.default_rng(seed), 0.05
    model = robot.model
    q0, v0 = samples.configuration(model, rng), rng.standard_normal(model.nv)
    q = pin.integrate(model, q0, h * (v0 + rng.standard_normal(model.nv)))
    points = samples.centres(robot, q)
    ground = samples.ground_through(kind, points)
    if in_air:
        ground = Terrain([Plane(height=float(points[:, 2].min()) - 1.0)])
    residual = make(robot, ground)
    residual.begin(State(0.0, q0, v0), samples.command(model, rng), h, dt=dt)
    return residual, q, np.zeros((len(points), 0))


def pbd(law, robot, ground):
    """E(q) and its gradient."""
    return PositionEnergy(robot, ground, samples.CONE, law)


def pbfd(law, robot, ground):
    """The residual r(q)."""
    contact = partial(FrictionalPenalty, robot, ground, law)
    return PositionBased(robot, ground, samples.CONE, contact=contact)


def differences(residual, q, w, value):
    """Central differences of value() over the tangent at q."""

    def moved(dq):
        G = residual.evaluate(residual.retract(q, dq), w)
        return np.array(value(G))

    return samples.central_differences(moved, residual.nv)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("kind", GROUNDS)
@pytest.mark.parametrize("name", ROBOTS)
def test_energy_gradient_and_hessian(name, kind, law):
    """The gradient of E is its differences, and its derivative the exact Hessian."""
    residual, q, w = begun(partial(pbd, law), name, kind)
    G = residual.evaluate(q, w).copy()
    assert residual.contact.active
    H = residual.linearise().copy()
    energy = differences(residual, q, w, lambda G: residual.energy())
    samples.assert_same(G[None], energy[None])
    samples.assert_same(H, differences(residual, q, w, lambda G: G))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("kind", GROUNDS)
@pytest.mark.parametrize("name", ROBOTS)
def test_residual_of_pbfd(name, kind, law):
    """dr/dq is exact, with friction that is no gradient."""
    residual, q, w = begun(partial(pbfd, law), name, kind)
    residual.evaluate(q, w)
    assert residual.contact.active
    J = residual.linearise().copy()
    samples.assert_same(J, differences(residual, q, w, lambda G: G))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("kind", GROUNDS)
@pytest.mark.parametrize("name", ["wheels", "wheels+points", "chain free-flyer"])
def test_contact_alone(name, kind, law):
    """The contact's energy, force and stiffness, which the inertia would hide."""
    for make in (pbd, pbfd):
        residual, q, w = begun(partial(make, law), name, kind, seed=11)
        contact = residual.contact
        residual.evaluate(q, w)
        assert np.abs(contact.contacts.depth).min() > 10 * samples.STEP
        force, A = contact.evaluate(w).copy(), contact.linearise().copy()
        samples.assert_same(A, differences(residual, q, w, lambda G, c=contact, w=w: c.evaluate(w)))
        if make is pbd:
            energy = differences(residual, q, w, lambda G, c=contact: c.energy())
            samples.assert_same(force[None], -energy[None])


@pytest.mark.parametrize("make", [pbd, pbfd])
@pytest.mark.parametrize("name", ROBOTS)
def test_out_of_contact(name, make):
    """In the air both residuals have exact derivatives, and contacts give nothing."""
    residual, q, w = begun(partial(make, LAWS["from mu"]), name, "flat", in_air=True)
    residual.evaluate(q, w)
    assert not residual.contact.active
    assert not residual.contact.wrenches.any()
    assert not residual.contact.linearise().any()
    J = residual.linearise().copy()
    samples.assert_same(J, differences(residual, q, w, lambda G: G))


@pytest.mark.parametrize("make", [pbd, pbfd])
def test_the_papers_halves(make):
    """With dt other than h the gradient of E and the Hessian are exact as well."""
    residual, q, w = begun(partial(make, LAWS["from mu"]), "wheels+damping", "sphere", dt=0.1)
    G = residual.evaluate(q, w).copy()
    H = residual.linearise().copy()
    samples.assert_same(H, differences(residual, q, w, lambda G: G))
    if make is pbd:
        energy = differences(residual, q, w, lambda G: residual.energy())
        samples.assert_same(G[None], energy[None])


@pytest.mark.parametrize("kind", ["tilted", "sphere"])
@pytest.mark.parametrize("name", ROBOTS)
def test_optimisers_get_gradients_in_their_own_coordinates(name, kind):
    """`gradient` and `pull_back` are differences of the value along `retract`."""
    for make, wrap in ((pbd, partial(Energy, exact=True)), (pbfd, GradientLevel)):
        residual, q, _ = begun(partial(make, LAWS["from mu"]), name, kind)
        problem = wrap(residual)
        state = State(0.0, residual.q0, residual.v0)
        command = samples.command(residual.model, np.random.default_rng(2))
        assert problem.begin(state, command, 0.05, None)
        y0 = 0.02 * np.random.default_rng(3).standard_normal(residual.nv)
        # a step of the size that the others make in q, where the stiffest dof has the largest y
        size = float(np.abs(problem._U).max()) * samples.STEP
        problem.evaluate(problem.retract(q, y0))
        found = problem.pull_back(q, y0, problem.gradient())

        def moved(dy, problem=problem, q=q, y0=y0):
            return np.array(problem.evaluate(problem.retract(q, y0 + dy))[0])

        expected = samples.central_differences(moved, residual.nv, min(size, 1e-4))
        samples.assert_same(found[None], expected[None], 1e-5)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("name", ROBOTS)
def test_gauss_newton_matrices(name, law):
    """They are symmetric and have no negative eigenvalue; J'J is that of the exact J."""
    residual, q, w = begun(partial(pbd, law), name, "sphere")
    residual.evaluate(q, w)
    A = residual.gauss_newton()
    largest = np.abs(A).max()
    assert np.abs(A - A.T).max() <= NO_CURVATURE * largest
    assert np.linalg.eigvalsh(A)[0] >= -NO_CURVATURE * largest


def test_gauss_newton_is_the_hessian_at_rest():
    """Where nothing has moved and nothing pushes, E is what Gauss-Newton makes of it."""
    robot = samples.robot("spider free-flyer+damping")
    model, q = robot.model, robot.standing
    weightless = pin.Model(model)
    weightless.gravity = pin.Motion.Zero()
    still = PositionEnergy(
        replace(robot, model=weightless),
        Terrain([Plane(height=-9.0)]),
        samples.CONE,
        LAWS["from mu"],
    )
    still.begin(State(0.0, q, np.zeros(model.nv)), Command(), 0.02)
    G = still.evaluate(q, np.zeros((len(robot.contact_points), 0)))
    exact, found = still.linearise(), still.gauss_newton()
    assert np.abs(G).max() <= ROUNDING * np.abs(exact).max()
    np.testing.assert_allclose(found, exact, atol=ROUNDING * np.abs(exact).max())


@pytest.mark.parametrize("name", ["wheels", "wheels+points"])
def test_forces_are_those_of_the_paper(name):
    """On flat ground: C d^2 n - 2 C_par u_t d^2 at the points, and PBD's 2 C_par |u_t|^2 d n."""
    law = LAWS["of the paper"]
    for make in (pbd, pbfd):
        residual, q, w = begun(partial(make, law), name, "tilted")
        residual.evaluate(q, w)
        contact = residual.contact
        d, n, u = contact.depths[:, None], contact.contacts.normal, contact.displacements()
        slip = u - (u * n).sum(axis=1)[:, None] * n
        expected = 1e4 * d**2 * n - 2e5 * slip * d**2
        if make is pbd:
            expected += 2e5 * (slip**2).sum(axis=1)[:, None] * d * n
        wrenches = contact.wrenches
        np.testing.assert_allclose(
            wrenches[:, :3], expected, atol=ROUNDING * np.abs(expected).max()
        )
        if make is pbfd:
            arm = -samples.robot(name).contact_points.radii[:, None] * n
            np.testing.assert_allclose(wrenches[:, 3:], np.cross(arm, expected), atol=1e-9)


@pytest.mark.parametrize("make", [pbd, pbfd])
@pytest.mark.parametrize("name", ["robosimian planar", "wheels", "chain fixed", "spider"])
def test_generalised_force(name, make):
    """The force in the residual is J' of the reported wrenches, by pinocchio's frame Jacobians."""
    residual, q, w = begun(partial(make, LAWS["from mu"]), name, "sphere")
    residual.evaluate(q, w)
    contact, model = residual.contact, residual.model
    found, data = contact.evaluate(w), model.createData()
    pin.computeJointJacobians(model, data, q)
    expected = np.zeros(model.nv)
    for joint, centre, wrench in zip(
        contact._joints, contact.contacts.position, contact.wrenches, strict=True
    ):
        J = pin.getJointJacobian(model, data, int(joint), pin.LOCAL_WORLD_ALIGNED)
        moment = wrench[3:] + np.cross(centre - data.oMi[int(joint)].translation, wrench[:3])
        expected += J[:3].T @ wrench[:3] + J[3:].T @ moment
    np.testing.assert_allclose(found, expected, atol=ROUNDING * np.abs(expected).max())
    assert contact.vertex_forces().shape == (0, model.nv)


@pytest.mark.parametrize("make", [pbd, pbfd])
def test_nothing_is_left_of_another_step(make):
    """A step gives the same bits after another one, far away."""
    residual, q, w = begun(partial(make, LAWS["from mu"]), "wheels+damping", "sphere")
    state, command = State(0.0, residual.q0, residual.v0), Command(tau=np.ones(residual.nv))
    residual.begin(state, command, 0.05)
    G, A = residual.evaluate(q, w).copy(), residual.linearise().copy()
    standing = samples.robot("wheels+damping").standing
    residual.begin(State(0.0, standing, np.ones(residual.nv)), Command(), 1e-3)
    residual.evaluate(residual.retract(q, np.full(residual.nv, 40.0)), w)
    residual.linearise()
    residual.begin(state, command, 0.05)
    assert np.array_equal(residual.evaluate(q, w), G)
    assert np.array_equal(residual.linearise(), A)


def test_torque_of_the_energy_is_the_commands():
    """On joints of one dof, and on translations, the potential gives the very torque commanded."""
    for name in ("robosimian planar", "spider free-flyer"):
        robot = samples.robot(name)
        model, rng = robot.model, np.random.default_rng(0)
        command, h = samples.command(model, rng), 0.05
        state = State(0.0, samples.configuration(model, rng), rng.standard_normal(model.nv))
        q = pin.integrate(model, state.q, h * rng.standard_normal(model.nv))
        ground, w = Terrain([Plane(height=-50.0)]), np.zeros((len(robot.contact_points), 0))
        found, expected = [], []
        for make, into in ((pbd, found), (pbfd, expected)):
            residual = make(LAWS["from mu"], robot, ground)
            residual.begin(state, command, h)
            residual.evaluate(q, w)
            into.append(residual.torque.last.copy())
        turning = np.zeros(model.nv, dtype=bool)
        for joint in list(model.joints)[1:]:
            turning[joint.idx_v : joint.idx_v + joint.nv] = joint.nq > joint.nv > 1
        np.testing.assert_allclose(found[0][~turning], expected[0][~turning], rtol=1e-10)
