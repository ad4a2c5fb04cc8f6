"""Inertia, energy and momenta of bodies against pinocchio and sums over point masses."""

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import DIFFERENCE, Tree

from nmdp_pin.dynamics.kinematic_tree import bodies_of
from nmdp_pin.kernels import momentum, step, subtree
from nmdp_pin.kernels.contact_sums import subtract_from_bodies
from nmdp_pin.kernels.energy import mechanical_energy
from nmdp_pin.kernels.evaluation_arrays import Layout
from nmdp_pin.kernels.inertial_potential import rates_derivative
from nmdp_pin.kernels.position_scene import Contacts
from nmdp_pin.kernels.stage_inertia import momentum_inertia

ROUNDING = 1e-11  # of sums over fifty point masses
RATE = 20.0  # [1/s] of a step


def mass_matrix(tree, q):
    """Pinocchio's, both triangles."""
    data = tree.model.createData()
    M = pin.crba(tree.model, data, q)
    return np.triu(M) + np.triu(M, 1).T


def test_energies_are_pinocchios():
    """Kinetic energy, with the rotors', and that of gravity, which points anywhere."""
    tree = Tree()
    model, (_, P, S) = tree.model, tree.at(tree.q)
    model.gravity.linear = np.array([1.0, -2.0, -9.0])
    model.armature = np.zeros(tree.nv)
    inertias = list(model.inertias)[1:]
    rotors = tree.rng.uniform(0.1, 1.0, tree.nv)
    kinetic, potential = mechanical_energy(
        P,
        S,
        tree.bodies_support,
        np.array([inertia.mass for inertia in inertias]),
        np.array([inertia.lever for inertia in inertias]),
        np.array([inertia.inertia for inertia in inertias]),
        rotors,
        model.gravity.linear.copy(),
        tree.v,
    )
    expected = 0.5 * tree.v @ (mass_matrix(tree, tree.q) + np.diag(rotors)) @ tree.v
    assert kinetic == pytest.approx(expected, rel=ROUNDING)
    expected = pin.computePotentialEnergy(model, model.createData(), tree.q)
    assert potential == pytest.approx(expected, rel=ROUNDING)


def test_rates_of_placements_are_differences():
    """Along the velocity."""
    tree, rates = Tree(), np.full((5, 4, 3), np.nan)
    _, P, S = tree.at(tree.q)
    momentum.placement_rates(P, S, tree.bodies_support, tree.v, rates)
    along = tree.differences(lambda q: tree.at(q)[1][1:]) @ tree.v
    assert rates == pytest.approx(along, abs=10.0 * DIFFERENCE)  # of a velocity of size 4


def test_derivative_of_placements():
    """Differences of pinocchio's placements, zero for bodies that a dof does not move."""
    tree = Tree()
    found = np.full((tree.nv, 5, 4, 3), np.nan)
    _, P, S = tree.at(tree.q)
    momentum.placements_derivative(P[1:].copy(), S, tree.bodies_support, found)
    expected = np.moveaxis(tree.differences(lambda q: tree.at(q)[1][1:]), -1, 0)
    assert found == pytest.approx(expected, abs=DIFFERENCE)
    assert (found == 0.0).all(axis=(2, 3)).any()


def test_derivative_of_the_rates_of_placements():
    """Differences of pinocchio's velocities of the bodies' axes and origins, with v held."""
    tree, found = Tree(), np.full((5, 4, 3, Tree().nv), np.nan)

    def rates(q):
        data = tree.at(q)[0]
        pin.forwardKinematics(tree.model, data, q, tree.v)
        result = []
        for M, motion in list(zip(data.oMi, data.v, strict=True))[1:]:
            turned = np.cross(M.rotation @ motion.angular, M.rotation.T)
            result.append(np.vstack([turned, M.rotation @ motion.linear]))
        return result

    _, P, S = tree.at(tree.q)
    rates_derivative(P[1:].copy(), bodies_of(tree.model), S, tree.v, found)
    expected = tree.differences(rates)
    assert found == pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max())


@pytest.mark.parametrize("follows", [False, True])
def test_change_of_momentum_is_that_of_the_points(follows):
    """G = rate (M v - sum of m J'Z over the points), and its differences, v following q by D."""
    tree = Tree()
    Z = tree.rng.standard_normal((5, 4, 3))
    D = RATE * np.eye(tree.nv)
    if follows:
        D += tree.rng.standard_normal((tree.nv, tree.nv))

    def residual(q):
        v = tree.v + D @ pin.difference(tree.model, tree.q, q)
        data = tree.at(q)[0]
        total = mass_matrix(tree, q) @ v
        for b in range(5):
            J = pin.getJointJacobian(tree.model, data, b + 1, pin.LOCAL_WORLD_ALIGNED)
            R = data.oMi[b + 1].rotation
            for x, mass in zip(tree.points[b], tree.masses[b], strict=True):
                speed = Z[b, 3] + x @ Z[b, :3]
                total -= mass * (J[:3] - pin.skew(R @ x) @ J[3:]).T @ speed
        return RATE * total

    _, P, S = tree.at(tree.q)
    M = mass_matrix(tree, tree.q)
    held = np.ascontiguousarray(tree.differences(lambda q: mass_matrix(tree, q) @ tree.v))
    G, A = np.full(tree.nv, np.nan), np.full((tree.nv, tree.nv), np.nan)
    momentum.momentum_change(
        P,
        Z,
        bodies_of(tree.model),
        S,
        M @ tree.v,
        M,
        held,
        RATE,
        D if follows else np.zeros((0, 0)),
        G,
        A,
    )
    assert pytest.approx(residual(tree.q), abs=RATE * ROUNDING) == G
    expected = tree.differences(residual)
    assert pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max()) == A


@pytest.mark.parametrize("follows", [False, True])
def test_rotors_change_no_momentum_of_points(follows):
    """The stage copies the kinematics and adds the rotors' momentum at the reference."""
    tree = Tree()
    rng, nv = tree.rng, tree.nv
    _, P, S = tree.at(tree.q)
    M, held = mass_matrix(tree, tree.q), rng.standard_normal((nv, nv))
    expected, v_ref, rotors = rng.standard_normal((5, 4, 3)), *rng.standard_normal((2, nv))
    D = rng.standard_normal((nv, nv)) if follows else np.zeros((0, 0))
    G, A = np.empty(nv), np.empty((nv, nv))
    bodies = bodies_of(tree.model)
    momentum.momentum_change(P, expected, bodies, S, M @ tree.v, M, held, RATE, D, G, A)
    layout = Layout(nv, len(P), 0, 0, 1, 3)
    values = np.full(layout.size, np.nan)
    momentum_inertia(
        P,
        np.asfortranarray(S.T),
        expected,
        *bodies,
        M @ tree.v,
        M,
        held,
        rotors,
        v_ref,
        RATE,
        D,
        layout.table,
        values,
    )
    found = layout.arrays(values)
    assert np.array_equal(found.P, P)
    assert np.array_equal(found.S, S)
    assert np.array_equal(found.stiffness, A)
    assert pytest.approx(G - RATE * rotors * v_ref, abs=RATE * ROUNDING) == found.G


def test_sums_over_subtrees_are_pinocchios():
    """Wrenches on the bodies give the generalised force of pinocchio's Jacobians."""
    tree = Tree()
    data, _, S = tree.at(tree.q)
    bodies, wrenches = bodies_of(tree.model), tree.rng.standard_normal((5, 6))
    expected = np.zeros(tree.nv)
    for b in range(5):
        expected += pin.getJointJacobian(tree.model, data, b + 1, pin.WORLD).T @ wrenches[b]
    force = np.full(tree.nv, np.nan)
    subtree.add_children(bodies.parents, wrenches)
    subtree.project_wrenches(S, bodies.first_dofs, wrenches, force)
    assert force == pytest.approx(expected, abs=ROUNDING)


def test_stiffness_is_the_derivative_of_the_generalised_force():
    """Wrenches that change by K S_l with the motion of their own body: central differences."""
    tree = Tree()
    F, K = tree.rng.standard_normal((5, 6)), tree.rng.standard_normal((5, 6, 6))
    start = tree.at(tree.q)[0]

    def force(q):
        total, data = np.zeros(tree.nv), tree.at(q)[0]
        for b in range(5):
            moved = data.oMi[b + 1].act(start.oMi[b + 1].inverse())
            J = pin.getJointJacobian(tree.model, data, b + 1, pin.WORLD)
            total += J.T @ (F[b] + K[b] @ pin.log6(moved).vector)
        return total

    bodies, S = bodies_of(tree.model), tree.at(tree.q)[2]
    wrenches, stiffness = F.copy(), K.reshape(5, 36).copy()
    subtree.add_children(bodies.parents, wrenches)
    subtree.add_children(bodies.parents, stiffness)
    A = np.full((tree.nv, tree.nv), np.nan)
    subtree.project_stiffness(S, bodies.parents, bodies.first_dofs, stiffness, wrenches, A)
    expected = tree.differences(force)
    assert pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max()) == A


@pytest.mark.parametrize("both", [-1.0, 1.0])
def test_contacts_act_on_carriers_and_on_touched_bodies(both):
    """Each value is subtracted from its carrier, and that times a sign from the body it touches."""
    tree = Tree()
    tree.joints = np.array([1, 5, 2, 4])
    values, sums = tree.rng.standard_normal((4, 6)), tree.rng.standard_normal((5, 6))
    expected = sums.copy()
    for value, a, b in zip(values, tree.joints, tree.touched, strict=True):
        expected[a - 1] -= value
        if b:
            expected[b - 1] -= both * value
    contacts = Contacts(tree.joints, tree.touched, tree.local, tree.radii)
    subtract_from_bodies(contacts, values, both, sums)
    assert sums == pytest.approx(expected, abs=ROUNDING)


class Servo:
    """A step of a servo: rnea of pinocchio less the torque of gains, at the end of a step."""

    rate, acceleration_rate = RATE, 30.0

    def __init__(self, follows):
        tree = self.tree = Tree(1)
        rng, nv = tree.rng, tree.nv
        self.v0, self.constant, self.kp, self.kd = rng.uniform(0.5, 2.0, (4, nv))
        self.kp[1] = self.kd[2] = 0.0
        self.error = rng.standard_normal(nv)
        self.D, self.E = self.rate * np.eye(nv), np.eye(nv)
        if follows:
            self.D += rng.standard_normal((nv, nv))
            self.E += 0.2 * rng.standard_normal((nv, nv))

    def motion(self, q):
        """Velocity, acceleration and error at a configuration."""
        dq = pin.difference(self.tree.model, self.tree.q, q)
        v = self.tree.v + self.D @ dq
        return v, self.acceleration_rate * (v - self.v0), self.error + self.E @ dq

    def inertia(self, q):
        """Inverse dynamics."""
        v, a, _ = self.motion(q)
        return pin.rnea(self.tree.model, self.tree.model.createData(), q, v, a)

    def torque(self, q):
        """Of the gains."""
        v, _, error = self.motion(q)
        return self.constant - self.kp * error - self.kd * v


@pytest.mark.parametrize("follows", [False, True])
def test_inverse_dynamics_of_a_step_and_its_derivative(follows):
    """Differences of rnea, with velocity and acceleration that follow the configuration."""
    servo = Servo(follows)
    tree, nv = servo.tree, servo.tree.nv
    v, a, _ = servo.motion(tree.q)
    data = tree.model.createData()  # dq, dv and M are parts of it
    dq, dv, M = pin.computeRNEADerivatives(tree.model, data, tree.q, v, a)
    G, A = np.full(nv, np.nan), np.full((nv, nv), np.nan)
    step.smooth_newton_euler(
        servo.inertia(tree.q),
        np.ascontiguousarray(np.triu(M) + np.triu(M, 1).T),
        np.ascontiguousarray(dq),
        np.ascontiguousarray(dv),
        servo.rate,
        servo.acceleration_rate,
        servo.D if follows else np.zeros((0, 0)),
        G,
        A,
    )
    assert np.array_equal(G, servo.inertia(tree.q))
    expected = tree.differences(servo.inertia)
    assert pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max()) == A


@pytest.mark.parametrize("follows", [False, True])
def test_torque_of_a_servo_and_its_derivative(follows):
    """It is subtracted from G, and its differences from A."""
    servo = Servo(follows)
    tree, nv = servo.tree, servo.tree.nv
    v, _, error = servo.motion(tree.q)
    before, B = tree.rng.standard_normal(nv), tree.rng.standard_normal((nv, nv))
    tau, G, A = np.full(nv, np.nan), before.copy(), B.copy()
    none = np.zeros((0, 0))
    step.subtract_torque(
        servo.constant,
        servo.kp,
        servo.kd,
        error,
        v,
        servo.rate,
        servo.D if follows else none,
        servo.E if follows else none,
        tau,
        G,
        A,
    )
    expected = servo.torque(tree.q)
    assert tau == pytest.approx(expected, abs=ROUNDING)
    assert before - expected == pytest.approx(G, abs=ROUNDING)
    slope = tree.differences(servo.torque)
    assert B - slope == pytest.approx(A, abs=DIFFERENCE * np.abs(slope).max())


def test_backward_differences():
    """Velocities and accelerations of joints whose positions are a vector."""
    q_ref, v_ref, q = np.random.default_rng(0).standard_normal((3, 4))
    v, a = np.full((2, 4), np.nan)
    step.backward_differences(q_ref, v_ref, q, 20.0, 30.0, v, a)
    assert v == pytest.approx(20.0 * (q - q_ref))
    assert a == pytest.approx(30.0 * (v - v_ref))


def test_motors_beyond_their_limits():
    """Their signs; damping is none of the motor's effort, and no sign reverses between trials."""
    zero = np.zeros(6)
    constant = np.array([3.0, -3.0, 1.5, 3.0, -3.0, 2.0])
    kp, error = np.full(6, 2.0), np.array([0.0, 0.0, -1.0, 1.0, 0.0, 0.0])
    damping = np.full(6, 0.5)
    kd, v = damping + 1.0, np.array([0.0, 0.0, 1.0, 0.0, -0.5, 0.0])
    # efforts: 3, -3, 1.5 - 1 + 2, 3 - 2, -3 + 0.5, 2, of which the last is just allowed
    effort, signs = np.full(6, 2.0), np.full(6, np.nan)
    assert step.saturation(constant, kp, kd, damping, error, v, effort, zero, signs)
    assert np.array_equal(signs, [1.0, -1.0, 1.0, 0.0, -1.0, 0.0])
    before = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, 0.0])
    assert step.saturation(constant, kp, kd, damping, error, v, effort, before, signs)
    assert np.array_equal(signs, [0.0, -1.0, 1.0, 0.0, 0.0, 0.0])
    assert not step.saturation(zero, kp, kd, damping, zero, zero, effort, before, signs)
    assert not signs.any()
