"""The terms of a batch against pinocchio, the sequential code and finite differences."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pinocchio as pin
import pytest
from batch_samples import QUICK, all_kinds, starts

from nmdp_pin.batch.conservative_contacts import ConservativeContacts
from nmdp_pin.batch.contacts import FrictionalContacts
from nmdp_pin.batch.factor import inverse_factor
from nmdp_pin.batch.kinematics import Kinematics
from nmdp_pin.batch.manifold import Manifold
from nmdp_pin.batch.problem import Energy, Gains, GradientLevel, Start
from nmdp_pin.batch.surface import Ground
from nmdp_pin.batch.tree import Tree
from nmdp_pin.contact import Penalty
from nmdp_pin.control import Command
from nmdp_pin.errors import BatchError
from nmdp_pin.integrators.pbd import Pbd, Pbfd
from nmdp_pin.robot import ContactPoints, Robot
from nmdp_pin.state import State
from nmdp_pin.system import System
from nmdp_pin.terrain import Box, Cylinder, Mesh, Plane, Sphere, Terrain

ROUNDING = 1e-11  # of sums of a few hundred products, sizes around 10
RELATIVE = 1e-10  # the same of a function that squares them
DIFFERENCES = 1e-6  # relative, of central differences
STEP = 1e-6  # of them
H = 0.02
CURVED = Terrain(
    [
        Sphere(radius=2.0, position=(0.0, 0.0, -2.2), rpy=(0.1, 0.2, 0.3)),
        Box(size=(1.0, 1.0, 1.0), position=(0.3, 0.2, -0.5), rpy=(0.2, 0.1, 0.3)),
        Cylinder(radius=0.8, length=2.0, position=(0.5, 0.0, -0.6), rpy=(1.5, 0.2, 0.0)),
        Plane(height=-0.3, friction=0.4),
    ]
)


@pytest.fixture(autouse=True)
def _double():
    """Double precision, as a batch has it, within a test only."""
    with jax.enable_x64(True):
        yield


def compiled(function):
    """The function, compiled quickly."""
    return jax.jit(function, compiler_options=QUICK)


def lanes(rows) -> jax.Array:
    """Rows, one a trajectory, with the trajectories last."""
    return jnp.asarray(np.array(rows).T)


@functools.cache
def tree_robot() -> Robot:
    """The robot with all kinds of joints."""
    return all_kinds()


def test_placements_and_jacobian_are_pinocchios():
    """Doubling gives pinocchio's placements, in principal frames, and its world Jacobian."""
    robot = tree_robot()
    model, tree = robot.model, Tree.of(robot)
    q, _ = starts(robot, 3, size=1.0)
    kinematics = Kinematics(tree)
    P, S = compiled(lambda q: (P := kinematics.placements(q), kinematics.jacobian(P)))(lanes(q))
    data = model.createData()
    for k in range(len(q)):
        pin.computeJointJacobians(model, data, q[k])
        for found, expected in zip(S, (data.J[:3], data.J[3:]), strict=True):
            np.testing.assert_allclose(np.asarray(found)[..., k].T, expected, atol=ROUNDING)
        com = data.oMi[4].act(model.inertias[4].lever)
        np.testing.assert_allclose(np.asarray(P)[3, 3, :, k], com, atol=ROUNDING)


def test_manifold_is_pinocchios():
    """Steps, differences and their derivative, for every kind of joint."""
    robot = tree_robot()
    model, manifold = robot.model, Manifold(Tree.of(robot))
    q0, v = starts(robot, 4, size=1.0)
    v *= 10.0

    def all_of(q, v):
        q1 = manifold.integrate(q, v)
        d = manifold.difference(q, q1)
        return q1, d, manifold.slope(d).scaled(jnp.ones((model.nv, 1)))

    q1, d, D = (np.asarray(a) for a in compiled(all_of)(lanes(q0), lanes(v)))
    for k in range(len(q0)):
        expected = pin.integrate(model, q0[k], v[k])
        np.testing.assert_allclose(
            pin.difference(model, q1[:, k], expected), np.zeros(model.nv), atol=ROUNDING
        )
        np.testing.assert_allclose(d[:, k], pin.difference(model, q0[k], expected), atol=ROUNDING)
        D0 = pin.dDifference(model, q0[k], expected, pin.ARG1)
        np.testing.assert_allclose(D[k], D0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("method", "optimiser", "options"),
    [
        (Pbfd, "jtj-lm", {}),
        (Pbd, "lm", {"beta": 1.5}),
        (Pbd, "jtj-lm", {}),
    ],
)
def test_functions_are_those_of_the_sequential_code(method, optimiser, options):
    """f, error, gradient and Hessian in contact, with gains on all joints; and the differences.

    The trajectories are one point and steps from it along each dof, forth and back.
    """
    robot = tree_robot()
    model, nv = robot.model, robot.model.nv
    rng = np.random.default_rng(1)
    q0, v0 = (a[0] for a in starts(robot, 1, size=0.3))
    at = pin.integrate(model, q0, H * v0 + 0.02 * rng.normal(size=nv))
    tau, target = rng.normal(size=nv), pin.integrate(model, q0, 0.3 * rng.normal(size=nv))
    kp, kd = 50.0 * rng.random(nv), rng.random(nv)
    law = Penalty(normal_stiffness=1e4, **options)
    sequential = method(System(robot, CURVED, law), optimiser=optimiser)
    tree = Tree.of(robot)
    kind = FrictionalContacts if method is Pbfd else ConservativeContacts
    contacts = kind(tree, Ground(CURVED), sequential.law)
    exact = optimiser == "lm"
    problem = (
        GradientLevel(tree, contacts) if method is Pbfd else Energy(tree, contacts, exact=exact)
    )
    gains = Gains(jnp.asarray(H), lanes([kp]), lanes([kd + model.damping]))

    upper = np.triu(pin.crba(model, model.createData(), q0))
    M = upper + np.triu(upper, 1).T

    def evaluated(q, start_q, start_v, tau, target):
        P = problem.kinematics.placements(start_q)
        before = problem.kinematics.placements(problem.manifold.integrate(start_q, -H * start_v))
        P_hat = problem.expected(P, before, gains.h)
        scale = inverse_factor(problem.metric(jnp.asarray(M)[None], gains))
        scale = jnp.broadcast_to(scale, (q.shape[1], nv, nv))
        energies = jnp.zeros((3, q.shape[1]))
        start = Start(start_q, start_v, P, P_hat, tau, target, scale, energies)
        return problem.evaluate(q, start, gains)

    command = Command(tau=tau, kp=kp, kd=kd, q_target=target)
    sequential.problem.begin(State(0.0, q0, v0), command, H, None)
    moves = STEP * np.concatenate([np.zeros((1, nv)), np.eye(nv), -np.eye(nv)])
    q = [sequential.problem.retract(at, y) for y in moves]
    same = [lanes([row] * len(q)) for row in (q0, v0, tau, target)]
    point = compiled(evaluated)(lanes(q), *same)
    f, error = sequential.problem.evaluate(at)
    g, A = sequential.problem.derivatives()
    assert sequential.residual.contact.touching.sum() >= 3  # or nothing is tested
    np.testing.assert_allclose(point.f[0], f, rtol=RELATIVE)
    np.testing.assert_allclose(point.error[0], error, rtol=RELATIVE)
    upper = np.triu(pin.crba(model, model.createData(), at))
    np.testing.assert_allclose(point.M[0], upper + np.triu(upper, 1).T, atol=ROUNDING)
    np.testing.assert_allclose(point.g[0], g, atol=RELATIVE * np.abs(g).max())
    if exact or method is Pbfd:
        np.testing.assert_allclose(point.H[0], A, atol=1e-8 * np.abs(A).max())
    slope = (point.f[1 : nv + 1] - point.f[nv + 1 :]) / (2.0 * STEP)
    np.testing.assert_allclose(slope, g, atol=DIFFERENCES * np.abs(g).max())
    if exact:
        # gradients are by y at their own points; the Hessian is the symmetric part
        rows = (point.g[1 : nv + 1] - point.g[nv + 1 :]) / (2.0 * STEP)
        np.testing.assert_allclose(
            0.5 * (rows + rows.T), point.H[0], atol=DIFFERENCES * np.abs(A).max()
        )


def test_surface_is_the_terrains():
    """Distance, normal, curvature and friction of planes, boxes, spheres and cylinders."""
    points = np.random.default_rng(2).uniform(-2.0, 2.0, (3000, 3))
    found = compiled(Ground(CURVED).query)(jnp.asarray(points.T[None]))
    expected = CURVED.query(points)
    np.testing.assert_allclose(found.distance[0], expected.distance, atol=ROUNDING)
    np.testing.assert_allclose(found.normal[0].T, expected.normal, atol=1e-8)  # coal's
    curvature = np.moveaxis(np.asarray(found.curvature[0]), -1, 0)
    np.testing.assert_allclose(curvature, expected.curvature, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(found.friction[0], expected.friction)


def test_other_joints_and_shapes_are_refused():
    """A joint without a constant motion subspace, and ground without a formula, are named."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelSphericalZYX(), pin.SE3.Identity(), "neck")
    nothing = ContactPoints((), np.zeros(0, dtype=int), np.zeros((0, 3)), np.zeros(0))
    robot = Robot("zyx", model, nothing, np.arange(3), pin.neutral(model))
    with pytest.raises(BatchError, match="'neck' is of the kind SphericalZYX"):
        Tree.of(robot)
    corners = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    with pytest.raises(BatchError, match="got Mesh"):
        Ground(Terrain([Mesh(vertices=corners, faces=faces)]))
