"""Kinematics and Lie groups of the kernels against pinocchio's."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin.dynamics.kinematic_tree import tree_of
from nmdp_pin.errors import IntegratorError
from nmdp_pin.kernels import manifold, tree

ROUNDING = 1e-12  # of sums over ten bodies and of the exponentials of turns of one radian
TURN = 1e-5  # [rad] of central differences of first derivatives
DIFFERENCE = 1e-8  # their error
SERIES = 1e-8  # what pinocchio's series of small turns leave out

AXIS = np.array([1.0, 2.0, -2.0]) / 3.0
CONTINUOUS = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/>
<axis xyz="0.3333333333333333 0.6666666666666666 -0.6666666666666666"/></joint></robot>"""
JOINTS = {
    "RX": pin.JointModelRX(),
    "RY": pin.JointModelRY(),
    "RZ": pin.JointModelRZ(),
    "revolute": pin.JointModelRevoluteUnaligned(AXIS),
    "RUBX": pin.JointModelRUBX(),
    "RUBY": pin.JointModelRUBY(),
    "RUBZ": pin.JointModelRUBZ(),
    "continuous": pin.buildModelFromXML(CONTINUOUS).joints[1],
    "PX": pin.JointModelPX(),
    "PY": pin.JointModelPY(),
    "PZ": pin.JointModelPZ(),
    "prismatic": pin.JointModelPrismaticUnaligned(AXIS),
    "translation": pin.JointModelTranslation(),
    "planar": pin.JointModelPlanar(),
    "spherical": pin.JointModelSpherical(),
    "free-flyer": pin.JointModelFreeFlyer(),
}


def model_of(kind):
    """A branched tree: the joint under test at the root, in the middle and at a leaf."""
    pin.seed(1)
    model, joint = pin.Model(), JOINTS[kind]
    for k, (parent, model_of_joint) in enumerate(
        [(0, joint), (1, pin.JointModelRY()), (2, joint), (3, joint), (1, pin.JointModelPZ())]
    ):
        index = model.addJoint(parent, model_of_joint, pin.SE3.Random(), f"joint{k}")
        model.appendBodyToJoint(index, pin.Inertia.Random(), pin.SE3.Identity())
    model.armature = np.linspace(0.1, 0.2, model.nv)
    return model


def random_q(model, seed):
    """A configuration, whatever the limits."""
    rng = np.random.default_rng(seed)
    return pin.integrate(model, pin.neutral(model), 0.7 * rng.standard_normal(model.nv))


@pytest.mark.parametrize("kind", JOINTS)
def test_kinematics_are_pinocchios(kind):
    """Placements, motions and energies."""
    model = model_of(kind)
    data, arrays, q = model.createData(), tree_of(model), random_q(model, 2)
    J = pin.computeJointJacobians(model, data, q).reshape(6, model.nv).copy()
    P, S = np.empty((model.njoints, 4, 3)), np.empty((model.nv, 6))
    tree.forward_kinematics(arrays, q, P)
    tree.world_motions(arrays, P, S)
    expected = [np.vstack([M.rotation.T, M.translation]) for M in data.oMi]
    assert pytest.approx(np.array(expected), abs=ROUNDING) == P
    assert pytest.approx(J.T, abs=ROUNDING) == S
    v = np.random.default_rng(3).standard_normal(model.nv)
    upper = np.triu(pin.crba(model, data, q))
    kinetic = 0.5 * v @ (upper + np.triu(upper, 1).T) @ v
    potential = pin.computePotentialEnergy(model, data, q)
    assert tree.kinetic_energy(arrays, P, S, v) == pytest.approx(kinetic, rel=1e-10)
    assert tree.potential_energy(arrays, P) == pytest.approx(potential, rel=1e-10)


@pytest.mark.parametrize("size", [1e-9, 1e-4, 0.05, 0.9, 1.5])
@pytest.mark.parametrize("kind", JOINTS)
def test_the_manifold_is_pinocchios(kind, size):
    """Steps, differences and their first derivatives, from tiny tangents to large turns."""
    model = model_of(kind)
    arrays, q0, nv = tree_of(model), random_q(model, 2), model.nv
    dq = size * np.random.default_rng(4).uniform(-1.0, 1.0, nv)
    q1, d = np.empty(model.nq), np.empty(nv)
    manifold.integrate(arrays, q0, dq, q1)
    assert q1 == pytest.approx(pin.integrate(model, q0, dq), abs=ROUNDING)
    manifold.difference(arrays, q0, q1, d)
    assert d == pytest.approx(pin.difference(model, q0, q1), abs=ROUNDING)
    D1, D0 = np.eye(nv), -np.eye(nv)
    manifold.difference_derivative(arrays, d, D1)
    assert pytest.approx(pin.dDifference(model, q0, q1, pin.ARG1), abs=SERIES) == D1
    block = np.eye(nv)
    manifold.difference_derivative(arrays, -d, block)
    D0 = -block
    assert pytest.approx(pin.dDifference(model, q0, q1, pin.ARG0), abs=SERIES) == D0


@pytest.mark.parametrize("size", [1e-6, 0.3, 1.5])
@pytest.mark.parametrize("kind", ["planar", "spherical", "free-flyer", "RY"])
def test_turning_is_the_derivative_of_a_pulled_force(kind, size):
    """Central differences of D' force, D being pinocchio's."""
    model = model_of(kind)
    arrays, q0, nv = tree_of(model), random_q(model, 2), model.nv
    rng = np.random.default_rng(5)
    away = rng.uniform(0.5, 1.0, nv) * rng.choice([-1.0, 1.0], nv)
    q1 = pin.integrate(model, q0, size * away)
    force, d, D, A = rng.standard_normal(nv), np.empty(nv), np.eye(nv), np.zeros((nv, nv))
    manifold.difference(arrays, q0, q1, d)
    manifold.difference_derivative(arrays, d, D)
    manifold.add_turning(arrays, d, D, force, A)
    expected = []
    for dq in TURN * np.eye(nv):
        sides = [pin.integrate(model, q1, s * dq) for s in (1.0, -1.0)]
        pulled = [pin.dDifference(model, q0, q, pin.ARG1).T @ force for q in sides]
        expected.append((pulled[0] - pulled[1]) / (2.0 * TURN))
    assert pytest.approx(np.array(expected).T, abs=DIFFERENCE) == A
    out = np.empty(nv)
    manifold.pull_force(arrays, D, force, out)
    assert out == pytest.approx(D.T @ force, abs=ROUNDING)
    weights = rng.uniform(1.0, 2.0, nv)
    for left in (np.eye(nv), D):
        A[:] = 0.0
        manifold.add_weighted(arrays, left, D, weights, 2.0, A)
        assert pytest.approx(2.0 * left.T @ (weights[:, None] * D), abs=ROUNDING) == A


def test_other_joints_are_refused_by_name():
    """A joint whose motions depend on the configuration."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelSphericalZYX(), pin.SE3.Identity(), "odd")
    with pytest.raises(IntegratorError, match="joint 'odd' is of the kind SphericalZYX"):
        tree_of(model)
