"""Kinematics, energies, sums over bodies and Lie groups of the kernels against pinocchio's."""

import itertools

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import DIFFERENCE as OF_TREE
from kernel_scenes import Tree, robot_of

from nmdp_pin._dynamics.kinematic_tree import check_kinematics, manifold_of, tree_of
from nmdp_pin._kernels.algebra import manifold
from nmdp_pin._kernels.tree import tree
from nmdp_pin.errors import IntegratorError

ROUNDING = 1e-12  # of sums over ten bodies and of the exponentials of turns of one radian
POINTS = 1e-11  # rounding of sums over fifty point masses
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
    data, arrays, q = model.createData(), tree_of(robot_of(model)), random_q(model, 2)
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
    twists = np.empty((model.njoints, 6))
    tree.body_twists(arrays, S, v, twists)
    found = tree.energies(arrays, P, twists, v)
    assert found == pytest.approx((kinetic, potential), rel=1e-10)


def test_energies_are_pinocchios():
    """Kinetic energy, with the rotors', and that of gravity, which points anywhere."""
    scene = Tree()
    model = scene.model
    model.gravity.linear = np.array([1.0, -2.0, -9.0])
    model.armature = scene.rng.uniform(0.1, 1.0, scene.nv)
    arrays, (_, P, S), twists = scene.arrays, scene.at(scene.q), np.empty((6, 6))
    tree.body_twists(arrays, S, scene.v, twists)
    kinetic = 0.5 * scene.v @ (scene.point_inertia(scene.q) + np.diag(arrays.rotors)) @ scene.v
    assert tree.energies(arrays, P, twists, scene.v)[0] == pytest.approx(kinetic, rel=POINTS)
    potential = pin.computePotentialEnergy(model, model.createData(), scene.q)
    assert tree.energies(arrays, P, twists, scene.v)[1] == pytest.approx(potential, rel=POINTS)


def test_sums_over_subtrees_are_pinocchios():
    """Wrenches on the bodies give the generalised force of pinocchio's Jacobians."""
    scene = Tree()
    data, _, S = scene.at(scene.q)
    bodies, wrenches = scene.arrays, scene.rng.standard_normal((5, 6))
    expected = np.zeros(scene.nv)
    for b in range(5):
        expected += pin.getJointJacobian(scene.model, data, b + 1, pin.WORLD).T @ wrenches[b]
    force = np.full(scene.nv, np.nan)
    tree.add_children(bodies.parents, wrenches)
    tree.project_wrenches(S, bodies.first_dofs, wrenches, force)
    assert force == pytest.approx(expected, abs=POINTS)


def test_stiffness_is_the_derivative_of_the_generalised_force():
    """Wrenches that change by K S_l with the motion of their own body: central differences."""
    scene = Tree()
    F, K = scene.rng.standard_normal((5, 6)), scene.rng.standard_normal((5, 6, 6))
    start = scene.at(scene.q)[0]

    def force(q):
        total, data = np.zeros(scene.nv), scene.at(q)[0]
        for b in range(5):
            moved = data.oMi[b + 1].act(start.oMi[b + 1].inverse())
            J = pin.getJointJacobian(scene.model, data, b + 1, pin.WORLD)
            total += J.T @ (F[b] + K[b] @ pin.log6(moved).vector)
        return total

    bodies, S = scene.arrays, scene.at(scene.q)[2]
    wrenches, stiffness = F.copy(), K.reshape(5, 36).copy()
    tree.add_children(bodies.parents, wrenches)
    tree.add_children(bodies.parents, stiffness)
    before = scene.rng.standard_normal((scene.nv, scene.nv))
    A = before.copy()
    tree.project_stiffness(S, bodies.parents, bodies.first_dofs, stiffness, wrenches, A)
    expected = scene.differences(force)
    assert pytest.approx(expected, abs=OF_TREE * np.abs(expected).max()) == A - before


def test_stiffness_of_pairs_is_the_derivative_of_the_generalised_force():
    """Wrenches K x of the motion x of the carrier in the touched body, which carries them along."""
    scene = Tree()
    pairs, n = np.stack([scene.joints, scene.touched], axis=1), scene.n
    F, K = scene.rng.standard_normal((n, 6)), scene.rng.standard_normal((n, 6, 6))
    start = scene.at(scene.q)[0]

    def loads(q):
        total, data = np.zeros(scene.nv), scene.at(q)[0]
        for (a, b), wrench, stiffness in zip(pairs, F, K, strict=True):
            moved, held = (data.oMi[i].act(start.oMi[i].inverse()) for i in (int(a), int(b)))
            relative = pin.log6(held.actInv(moved)).vector
            J = [pin.getJointJacobian(scene.model, data, i, pin.WORLD) for i in (int(a), int(b))]
            force = held.act(pin.Force(wrench + stiffness @ relative)).vector
            total -= (J[0] - (J[1] if b else 0.0)).T @ force
        return total

    arrays, S = scene.arrays, scene.at(scene.q)[2]
    flat, wrenches, sums = K.reshape(n, 36), np.zeros((5, 6)), np.zeros((5, 36))
    tree.subtract_from_bodies(pairs, F, n, -1.0, wrenches)
    tree.subtract_from_bodies(pairs, flat, n, 1.0, sums)
    for values in (wrenches, sums):
        tree.add_children(arrays.parents, values)
    A = np.zeros((scene.nv, scene.nv))
    tree.project_stiffness(S, arrays.parents, arrays.first_dofs, sums, wrenches, A)
    tree.add_pairs(arrays, S, pairs, flat, F, n, A)
    expected = scene.differences(loads)
    assert pytest.approx(expected, abs=OF_TREE * np.abs(expected).max()) == A


@pytest.mark.parametrize("both", [-1.0, 1.0])
def test_contacts_act_on_carriers_and_on_touched_bodies(both):
    """Each value is subtracted from its carrier, and that times a sign from the body it touches."""
    scene = Tree()
    pairs = np.stack([[1, 5, 2, 4, 3], [*scene.touched, 0]], axis=1)
    values, sums = scene.rng.standard_normal((5, 6)), scene.rng.standard_normal((5, 6))
    expected, n = sums.copy(), 4
    for value, (a, b) in zip(values[:n], pairs[:n], strict=True):
        expected[a - 1] -= value
        if b:
            expected[b - 1] -= both * value
    tree.subtract_from_bodies(pairs, values, n, both, sums)
    assert sums == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("size", [1e-9, 1e-4, 0.05, 0.9, 1.5])
@pytest.mark.parametrize("kind", JOINTS)
def test_the_manifold_is_pinocchios(kind, size):
    """Steps, differences and their first derivatives, from tiny tangents to large turns."""
    model = model_of(kind)
    space, q0, nv = manifold_of(model), random_q(model, 2), model.nv
    dq = size * np.random.default_rng(4).uniform(-1.0, 1.0, nv)
    q1, d = np.empty(model.nq), np.empty(nv)
    manifold.integrate(space, q0, 2.0, 0.5 * dq, q1)
    assert q1 == pytest.approx(pin.integrate(model, q0, dq), abs=ROUNDING)
    manifold.difference(space, q0, q1, d)
    assert d == pytest.approx(pin.difference(model, q0, q1), abs=ROUNDING)
    D1, D0 = np.eye(nv), -np.eye(nv)
    manifold.difference_derivative(space, d, D1)
    assert pytest.approx(pin.dDifference(model, q0, q1, pin.ARG1), abs=SERIES) == D1
    block = np.eye(nv)
    manifold.difference_derivative(space, -d, block)
    D0 = -block
    assert pytest.approx(pin.dDifference(model, q0, q1, pin.ARG0), abs=SERIES) == D0


@pytest.mark.parametrize("size", [1e-6, 0.3, 1.5])
@pytest.mark.parametrize("kind", ["planar", "spherical", "free-flyer", "RY"])
def test_turning_is_the_derivative_of_a_pulled_force(kind, size):
    """Central differences of D' force, D being pinocchio's."""
    model = model_of(kind)
    space, q0, nv = manifold_of(model), random_q(model, 2), model.nv
    rng = np.random.default_rng(5)
    away = rng.uniform(0.5, 1.0, nv) * rng.choice([-1.0, 1.0], nv)
    q1 = pin.integrate(model, q0, size * away)
    force, d, D, A = rng.standard_normal(nv), np.empty(nv), np.eye(nv), np.zeros((nv, nv))
    manifold.difference(space, q0, q1, d)
    manifold.difference_derivative(space, d, D)
    manifold.add_turning(space, d, D, force, A)
    expected = []
    for dq in TURN * np.eye(nv):
        sides = [pin.integrate(model, q1, s * dq) for s in (1.0, -1.0)]
        pulled = [pin.dDifference(model, q0, q, pin.ARG1).T @ force for q in sides]
        expected.append((pulled[0] - pulled[1]) / (2.0 * TURN))
    assert pytest.approx(np.array(expected).T, abs=DIFFERENCE) == A
    out = np.empty(nv)
    manifold.pull_force(space, D, force, out)
    assert out == pytest.approx(D.T @ force, abs=ROUNDING)
    weights = rng.uniform(1.0, 2.0, nv)
    for left in (np.eye(nv), D):
        A[:] = 0.0
        manifold.add_weighted(space, left, D, weights, 2.0, A)
        assert pytest.approx(2.0 * left.T @ (weights[:, None] * D), abs=ROUNDING) == A


@pytest.mark.parametrize("size", [1e-6, 0.3, 1.5])
@pytest.mark.parametrize("kind", ["planar", "spherical", "free-flyer", "RY"])
def test_derivatives_of_a_step_on_the_manifold(kind, size):
    """By its start and by its tangent, pinocchio's; products with blocks are those of matrices."""
    model = model_of(kind)
    space, q, nv = manifold_of(model), random_q(model, 2), model.nv
    rng = np.random.default_rng(6)
    d = size * rng.uniform(-1.0, 1.0, nv)
    by_q, by_d = np.full((2, nv, nv), np.nan)
    assert manifold.integrate_derivatives(space, d, by_q, by_d)
    for found, argument in ((by_q, pin.ARG0), (by_d, pin.ARG1)):
        assert pytest.approx(pin.dIntegrate(model, q, d, argument), abs=SERIES) == found
    X, before = rng.standard_normal((2, 3, nv))
    Y, weights, A = before.copy(), rng.standard_normal(nv), np.ones((nv, nv))
    manifold.add_multiplied_columns(space, np.arange(nv), nv, X, by_d, -0.5, Y)
    assert pytest.approx(before - 0.5 * X @ by_d, abs=SERIES) == Y
    X, before = rng.standard_normal((2, nv, nv))
    Y, k = before.copy(), int(space.first_v[1])
    manifold.add_multiplied_groups(space, np.array([0, k, nv]), X, by_d, -0.5, Y)
    X[:k, k:] = X[k:, :k] = 0.0
    assert pytest.approx(before - 0.5 * X @ by_d, abs=SERIES) == Y
    manifold.add_rows(space, weights, by_d, 2.0, A)
    assert pytest.approx(1.0 + 2.0 * weights[:, None] * by_d, abs=SERIES) == A


def test_other_joints_are_refused_by_name():
    """A joint whose motions depend on the configuration."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelSphericalZYX(), pin.SE3.Identity(), "odd")
    with pytest.raises(IntegratorError, match="joint 'odd' is of the kind SphericalZYX"):
        check_kinematics(model)


def test_dofs_that_move_a_body_relative_to_another_one():
    """Ascending, of one tree or of two, and none of a body relative to itself."""
    model = pin.Model()
    for first, second in (("RX", "PY"), ("Spherical", "RZ")):
        parent = model.addJoint(0, getattr(pin, f"JointModel{first}")(), pin.SE3.Random(), first)
        model.addJoint(parent, getattr(pin, f"JointModel{second}")(), pin.SE3.Random(), second)
    whole, dofs = tree_of(robot_of(model)), np.empty(model.nv, np.int64)
    supports = {0: [], 1: [0], 2: [0, 1], 3: [2, 3, 4], 4: [2, 3, 4, 5]}
    for a, b in itertools.product(supports, repeat=2):
        n = tree.write_moving_dofs(whole, a, b, dofs)
        assert dofs[:n].tolist() == sorted(set(supports[a]) ^ set(supports[b]))
