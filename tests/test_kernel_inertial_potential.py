"""The inertial potential against point masses and finite differences."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin.kernels.inertial_potential import (
    inertial_gradient,
    inertial_hessian,
    reference_derivative,
)
from nmdp_pin.kernels.subtree import Bodies

STEP = 1e-6  # [rad, m] of central differences of quadratic potentials of size 1
DIFFERENCE = 1e-8  # their error
ROUNDING = 1e-12  # of sums over ten bodies


def tree(kinds, seed):
    """A random tree of joints with ten point masses on each body, and its arrays."""
    rng, model = np.random.default_rng(seed), pin.Model()
    for k, kind in enumerate(kinds):
        parent = 0 if k == 0 else int(rng.integers(max(k - 2, 0), k + 1))
        joint = model.addJoint(parent, kind, pin.SE3.Random(), f"joint{k}")
        inertia = pin.Inertia.Zero()
        for point, mass in zip(rng.normal(size=(10, 3)), rng.uniform(0.1, 1.0, 10), strict=True):
            inertia += pin.Inertia(mass, point, np.zeros((3, 3)))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
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
        joints = list(model.joints)[1:]
        self.bodies = Bodies(
            parents=np.array(list(model.parents)[1:]) - 1,
            first_dofs=np.array([j.idx_v for j in joints] + [model.nv]),
            moments=np.array([moment_of(inertia) for inertia in list(model.inertias)[1:]]),
        )
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
        value = inertial_gradient(
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


def moment_of(inertia):
    """The second moment of a body about its joint's origin."""
    point = np.append(inertia.lever, 1.0)
    moment = inertia.mass * np.outer(point, point)
    moment[:3, :3] += 0.5 * np.trace(inertia.inertia) * np.eye(3) - inertia.inertia
    return moment


def test_value_is_the_sum_over_point_masses():
    """E of a body is that of its points, each of which is drawn to its own reference."""
    rng = np.random.default_rng(1)
    points, masses = rng.normal(size=(10, 3)), rng.uniform(0.1, 1.0, 10)
    homogeneous = np.column_stack([points, np.ones(10)])
    moment = (homogeneous.T * masses) @ homogeneous
    P, P_hat = rng.normal(size=(2, 4, 3))
    apart = homogeneous @ (P - P_hat)
    value = inertial_gradient(
        P[None],
        P_hat[None],
        Bodies(np.array([-1]), np.array([0, 0]), moment[None]),
        np.zeros((0, 6)),
        np.zeros((1, 6)),
        np.zeros(0),
    )
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
    inertial_hessian(placements, scene.reference, scene.bodies, S, scene.wrenches, hessian)
    assert hessian == pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max())


@pytest.mark.parametrize("kinds", KINDS)
def test_reference_derivative_is_exact(kinds):
    """The gradient is affine in the reference: a difference of any length gives its derivative."""
    scene = Scene(kinds)
    change = np.random.default_rng(2).normal(size=(2, *scene.reference.shape))
    here, expected = scene.gradient(scene.q)[1], []
    reference = scene.reference
    for direction in change:
        scene.reference = reference + direction
        expected.append(scene.gradient(scene.q)[1] - here)
    placements, S = scene.at(scene.q)
    derivative = np.zeros((2, scene.model.nv))
    reference_derivative(placements, scene.bodies, S, change, derivative)
    size = np.abs(expected).max()
    assert derivative == pytest.approx(np.array(expected), abs=ROUNDING * size)
