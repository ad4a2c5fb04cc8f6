"""Trees of a model that are rooted in the world, and what is computed tree by tree."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._dynamics.python_calls import TreeCalls
from nmdp_pin._robot.trees import inertia_at, placements_at, spans_of, trees_of

ROUNDING = 1e-12
CHAINS = 6  # of three joints with eleven dofs: more than one model has


@pytest.fixture(scope="module")
def forest():
    """Chains of a free joint, a ball joint and two hinges beside each other, with armatures."""
    pin.seed(3)
    model = pin.Model()
    for k in range(CHAINS):
        joint = 0
        kinds = (pin.JointModelFreeFlyer(), pin.JointModelSpherical())
        for l, kind in enumerate((*kinds, pin.JointModelRX(), pin.JointModelRY())):
            joint = model.addJoint(joint, kind, pin.SE3.Random(), f"{k}/{l}")
            model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
    model.armature[:] = np.linspace(0.1, 0.5, model.nv)
    return model


def test_spans(forest):
    """Each chain is a tree; its joints have its dofs, and the universe none."""
    groups, spans = spans_of(forest)
    assert groups.tolist() == (11 * np.arange(CHAINS + 1)).tolist()
    assert spans[0].tolist() == [0, 0]
    for k in range(CHAINS):
        assert (spans[1 + 4 * k : 5 + 4 * k] == [11 * k, 11 * k + 11]).all()


def test_trees_that_are_interleaved_are_one():
    """What follows the first tree has a joint of it before it ends."""
    model = pin.Model()
    a, b = (model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), name) for name in "ab")
    model.addJoint(a, pin.JointModelRX(), pin.SE3.Identity(), "c")
    model.addJoint(b, pin.JointModelRX(), pin.SE3.Identity(), "d")
    model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "e")
    groups, spans = spans_of(model)
    assert groups.tolist() == [0, 4, 5]
    assert spans.tolist() == [[0, 0], *[[0, 4]] * 4, [4, 5]]


def test_a_model_without_joints_has_no_tree():
    """Nor dofs."""
    groups, spans = spans_of(pin.Model())
    assert groups.tolist() == [0]
    assert spans.tolist() == [[0, 0]]


def test_what_is_computed_by_trees_is_that_of_the_model(forest):
    """Inertias, masses, placements, and the algorithms of a step, against pinocchio's."""
    assert len(trees_of(forest)) == CHAINS
    rng, data, whole = np.random.default_rng(4), forest.createData(), forest
    q = pin.randomConfiguration(forest, -np.ones(forest.nq), np.ones(forest.nq))
    v, a = rng.standard_normal((2, forest.nv))
    M, masses = inertia_at(forest, q)
    upper = np.triu(pin.crba(whole, data, q))
    np.testing.assert_allclose(M, upper + np.triu(upper, 1).T, atol=ROUNDING)
    pin.computeSubtreeMasses(whole, data)
    joints = enumerate(list(whole.joints)[1:], 1)
    expected = np.concatenate([np.full(joint.nv, data.mass[k]) for k, joint in joints])
    np.testing.assert_allclose(masses, expected, atol=ROUNDING)
    calls = TreeCalls(SimpleNamespace(model=forest, lifts=()), q, v, a)
    calls.derivatives()
    pin.computeRNEADerivatives(whole, data, q, v, a)
    names = {"tau": data.tau, "of_q": data.dtau_dq, "of_v": data.dtau_dv, "M": data.M}
    for name, value in (names | {"S": data.J.T}).items():
        np.testing.assert_allclose(getattr(calls, name), value, atol=1e3 * ROUNDING)
    for found, placed, M in zip(placements_at(forest, q), calls.P, data.oMi, strict=True):
        assert found.isApprox(M, ROUNDING)
        np.testing.assert_allclose(placed, np.vstack([M.rotation.T, M.translation]), atol=ROUNDING)
    calls.values()
    np.testing.assert_allclose(calls.tau, pin.rnea(whole, data, q, v, a), atol=1e3 * ROUNDING)
    calls.momentum()
    np.testing.assert_allclose(calls.tau, M_of(whole, data, q) @ v, atol=1e3 * ROUNDING)


def M_of(model, data, q):
    """The mass matrix."""
    upper = np.triu(pin.crba(model, data, q))
    return upper + np.triu(upper, 1).T
