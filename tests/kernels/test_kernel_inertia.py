"""Inertia of material points against sums over point masses and finite differences."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import DIFFERENCE as OF_TREE
from kernel_scenes import KINDS as TREES
from kernel_scenes import Tree, robot_of

from nmdp_pin._contact import FrictionCone
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.kinematic_tree import second_moments, tree_of
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.step import inertia
from nmdp_pin._kernels.step.stage import evaluate
from nmdp_pin._kernels.step.stage_records import POSITIONS, VELOCITIES
from nmdp_pin._kernels.tree.tree import body_twists
from nmdp_pin._terrain import Plane, Terrain

STEP = 1e-6  # [rad, m] of central differences of quadratic potentials of size 1
DIFFERENCE = 1e-8  # their error
ROUNDING = 1e-12  # of sums over ten bodies
POINTS = 1e-11  # rounding of sums over fifty point masses
RATE = 20.0  # [1/s] of a stage
FAR, CONE = Terrain([Plane(height=-1e3)]), FrictionCone(stiffness=1e4)


def tree(kinds, seed):
    """A random tree of joints with ten point masses on each body, and its arrays."""
    rng, model = np.random.default_rng(seed), pin.Model()
    for k, kind in enumerate(kinds):
        parent = int(rng.choice(list(model.supports[k])))
        joint = model.addJoint(parent, kind, pin.SE3.Random(), f"joint{k}")
        body = pin.Inertia.Zero()
        for point, mass in zip(rng.normal(size=(10, 3)), rng.uniform(0.1, 1.0, 10), strict=True):
            body += pin.Inertia(mass, point, np.zeros((3, 3)))
        model.appendBodyToJoint(joint, body, pin.SE3.Identity())
    return model


KINDS = {
    "hinges": [pin.JointModelRX(), pin.JointModelRZ(), pin.JointModelPY(), pin.JointModelRY()],
    "floating": [pin.JointModelFreeFlyer(), pin.JointModelRX(), pin.JointModelSpherical()],
    "planar": [pin.JointModelPlanar(), pin.JointModelRUBY(), pin.JointModelTranslation()],
}


class Scene:
    """A model at a random configuration with random affine references."""

    def __init__(self, kinds, seed=0):
        pin.seed(seed)
        rng = np.random.default_rng(seed)
        self.model = model = tree(KINDS[kinds], seed)
        self.data = model.createData()
        self.q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
        self.n = n = model.njoints - 1
        self.reference = rng.normal(size=(n, 4, 3))
        self.bodies = tree_of(robot_of(model))
        self.wrenches = np.zeros((n, 6))

    def at(self, q):
        """Placements and motions at a configuration."""
        S = pin.computeJointJacobians(self.model, self.data, q).reshape(6, -1).T.copy()
        placements = [np.vstack([M.rotation.T, M.translation]) for M in list(self.data.oMi)[1:]]
        return np.array(placements), S

    def gradient(self, q):
        """Value and gradient by the kernel."""
        placements, S = self.at(q)
        gradient = np.zeros(self.model.nv)
        value = inertia.inertial_gradient(
            placements, self.reference, self.bodies, S, self.wrenches, gradient
        )
        return value, gradient

    def differences(self, function):
        """Central differences along the tangent."""
        columns = []
        for dq in STEP * np.eye(self.model.nv):
            ahead, behind = (pin.integrate(self.model, self.q, s * dq) for s in (1.0, -1.0))
            columns.append((function(ahead) - function(behind)) / (2.0 * STEP))
        return np.stack(columns, axis=-1)


def test_value_is_the_sum_over_point_masses():
    """E of a body is that of its points, each of which is drawn to its own reference."""
    rng = np.random.default_rng(1)
    points, masses = rng.normal(size=(10, 3)), rng.uniform(0.1, 1.0, 10)
    homogeneous = np.column_stack([points, np.ones(10)])
    moment = (homogeneous.T * masses) @ homogeneous
    P, P_hat = rng.normal(size=(2, 4, 3))
    apart = homogeneous @ (P - P_hat)
    value = inertia.inertial_wrenches(P[None], P_hat[None], moment[None], np.zeros((1, 6)))
    assert value == pytest.approx(0.5 * masses @ (apart**2).sum(axis=1), rel=ROUNDING)


@pytest.mark.parametrize("kinds", KINDS)
def test_gradient_is_the_derivative_of_the_value(kinds):
    """Central differences of E along the tangent give the gradient."""
    scene = Scene(kinds)
    expected = scene.differences(lambda q: np.array(scene.gradient(q)[0]))
    size = np.abs(expected).max()
    assert scene.gradient(scene.q)[1] == pytest.approx(expected, abs=DIFFERENCE * size)


@pytest.mark.parametrize("kinds", KINDS)
def test_hessian_is_the_derivative_of_the_gradient(kinds):
    """Central differences of the gradient along the tangent give the Hessian."""
    scene = Scene(kinds)
    expected = scene.differences(lambda q: scene.gradient(q)[1])
    scene.gradient(scene.q)
    placements, S = scene.at(scene.q)
    nv = scene.model.nv
    hessian = np.zeros((nv, nv))
    arguments = (placements, scene.reference, scene.bodies, S, 1.0, scene.wrenches)
    inertia.inertial_hessian(*arguments, hessian)
    inertia.inertial_hessian(*arguments, hessian)  # it is added
    assert 0.5 * hessian == pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max())


def test_second_moments_are_those_of_the_points():
    """The integrals of rho x~ x~' over the bodies, about the origins of their joints."""
    scene = Tree()
    points = np.concatenate([scene.points, np.ones((5, 10, 1))], axis=2)
    expected = np.einsum("bp,bpi,bpj->bij", scene.masses, points, points)
    assert second_moments(scene.model) == pytest.approx(expected, abs=ROUNDING)


def test_rates_of_placements_are_differences():
    """Along the velocity."""
    scene, twists, rates = Tree(), np.empty((6, 6)), np.full((5, 4, 3), np.nan)
    _, P, S = scene.at(scene.q)
    body_twists(scene.arrays, S, scene.v, twists)
    inertia.placement_rates(P, twists, rates)
    along = scene.differences(lambda q: scene.at(q)[1][1:]) @ scene.v
    assert rates == pytest.approx(along, abs=10.0 * OF_TREE)  # of a velocity of size 4


def carried(scene, reference):
    """Derivative of the force of the inertial potential as a reference follows a configuration."""
    _, P, S = scene.at(scene.q)

    def force(q):
        wrenches, gradient = np.empty((5, 6)), np.empty(scene.nv)
        inertia.inertial_gradient(P[1:], reference(q), scene.arrays, S, wrenches, gradient)
        return gradient

    other = scene.moved(0.5 * scene.rng.standard_normal(scene.nv))
    return P[1:], S, other, scene.differences(force, other)


@pytest.mark.parametrize("kinds", TREES)
def test_forces_of_placements_that_dofs_carry(kinds):
    """The reference is that of the bodies at another configuration; a share is added."""
    scene = Tree(kinds=kinds)
    P, S, other, expected = carried(scene, lambda q: scene.at(q)[1][1:])
    before = scene.rng.standard_normal((scene.nv, scene.nv))
    A, (_, Q, T) = before.copy(), scene.at(other)
    inertia.add_placement_forces(P, S, scene.arrays, Q[1:], T, 0.3, A)
    assert A - before == pytest.approx(0.3 * expected, abs=OF_TREE * np.abs(expected).max())


@pytest.mark.parametrize("kinds", TREES)
def test_forces_of_rates_that_dofs_carry(kinds):
    """The reference has pinocchio's velocities of the bodies' axes and origins."""
    scene = Tree(kinds=kinds)

    def rates(q, v):
        data = scene.at(q)[0]
        pin.forwardKinematics(scene.model, data, q, v)
        result = []
        for M, motion in list(zip(data.oMi, data.v, strict=True))[1:]:
            turned = np.cross(M.rotation @ motion.angular, M.rotation.T)
            result.append(np.vstack([turned, M.rotation @ motion.linear]))
        return np.array(result)

    P, S, other, expected = carried(scene, lambda q: rates(q, scene.v))
    before, twists = scene.rng.standard_normal((2, scene.nv, scene.nv)), np.empty((6, 6))
    A, (_, Q, T) = before.copy(), scene.at(other)
    body_twists(scene.arrays, T, scene.v, twists)
    inertia.add_rate_forces(P, S, scene.arrays, Q[1:], T, twists, 0.3, *A)
    size = OF_TREE * np.abs(expected).max()
    assert A[0] - before[0] == pytest.approx(0.3 * expected, abs=size)
    for dv, found in zip(np.eye(scene.nv), (A[1] - before[1]).T, strict=True):
        wrenches, force, still = np.empty((5, 6)), np.empty(scene.nv), np.empty(scene.nv)
        inertia.inertial_gradient(P, rates(other, dv), scene.arrays, S, wrenches, force)
        inertia.inertial_gradient(P, 0.0 * P, scene.arrays, S, wrenches, still)
        assert found == pytest.approx(0.3 * (force - still), abs=POINTS)


def test_momentum_that_the_points_would_have():
    """Minus the sum of m J'Z over the points, and its differences added to A."""
    scene = Tree()
    Z = scene.rng.standard_normal((5, 4, 3))

    def residual(q):
        data = scene.at(q)[0]
        total = np.zeros(scene.nv)
        for b in range(5):
            speeds = Z[b, 3] + scene.points[b] @ Z[b, :3]
            J = scene.point_jacobians(data, b)
            total -= np.einsum("p,pai,pa->i", scene.masses[b], J, speeds)
        return total

    _, P, S = scene.at(scene.q)
    before = scene.rng.standard_normal((scene.nv, scene.nv))
    G, A, wrenches = np.full(scene.nv, np.nan), before.copy(), np.empty((5, 6))
    inertia.momentum_wrenches(P[1:], Z, scene.arrays, S, wrenches, G)
    inertia.inertial_hessian(P[1:], Z, scene.arrays, S, 0.0, wrenches, A)
    assert pytest.approx(residual(scene.q), abs=POINTS) == G
    expected = scene.differences(residual)
    assert pytest.approx(expected, abs=OF_TREE * np.abs(expected).max()) == A - before


@pytest.mark.parametrize("kinds", TREES)
@pytest.mark.parametrize("kind", [POSITIONS, VELOCITIES])
def test_inertia_of_a_stage_is_that_of_the_points_and_rotors(kind, kinds):
    """Points have the accelerations of their own targets, rotors that of the reference.

    Of positions G is the sum of rate^2 m J'(X - X_hat), of velocities that of
    rate m J'(J v - Z); the derivative is that of differences, with v following q.
    """
    scene = Tree(kinds=kinds)
    model, rng, nv = scene.model, scene.rng, scene.nv
    model.armature = rotors = rng.uniform(0.1, 1.0, nv)
    form = CompiledSystem(System(scene.robot, FAR, CONE), material=True)
    stage = replace(
        form.new_stage(),
        form=kind,
        rate=RATE,
        q_ref=scene.moved(-0.5 * rng.standard_normal(nv)),
        v_ref=rng.standard_normal(nv),
        target=rng.standard_normal((5, 4, 3)),
    )

    def residual(q):
        v, data = RATE * pin.difference(model, stage.q_ref, q), scene.at(q)[0]
        total = RATE * rotors * (v - stage.v_ref)
        for b in range(5):
            J = scene.point_jacobians(data, b)
            support_point = stage.target[b, 3] + scene.points[b] @ stage.target[b, :3]
            if kind == POSITIONS:
                X = np.array([data.oMi[b + 1].act(x) for x in scene.points[b]])
                change = RATE**2 * (X - support_point)
            else:
                change = RATE * (J @ v - support_point)
            total += np.einsum("p,pai,pa->i", scene.masses[b], J, change)
        return total

    at = form.new_point()
    at.q[:] = scene.q
    evaluate(form.record, stage, at, True)
    expected = residual(scene.q)
    assert pytest.approx(expected, abs=POINTS * np.abs(expected).max()) == at.G
    expected = scene.differences(residual)
    assert pytest.approx(expected, abs=OF_TREE * np.abs(expected).max()) == at.A
    _, P, S = scene.at(scene.q)
    assert np.array_equal(at.P, P)
    assert np.array_equal(at.S, S)
