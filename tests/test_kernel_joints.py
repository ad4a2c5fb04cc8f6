"""Stops, dry friction, limits of motors and mimic joints: closed forms and differences."""

import joint_scenes
import numpy as np
import pytest
from core_samples import assert_same, central_differences
from position_steps import Step

from nmdp_pin.contact.penalty import Penalty
from nmdp_pin.control import Command
from nmdp_pin.kernels import joint_law
from nmdp_pin.kernels.contact_forces import LEAST_SHARE
from nmdp_pin.kernels.joint_forces import (
    interval,
    intervals,
    joint_forces,
    linearise_joints,
    stops,
)
from nmdp_pin.kernels.joint_springs import joint_springs
from nmdp_pin.state import State
from nmdp_pin.terrain import Plane, Terrain

FAR = Terrain([Plane(height=-1e3)])
LAW = Penalty(normal_stiffness=1e4)
STEP = 1e-6  # [rad] of central differences
H = 0.02  # [s]
ROUNDING = 1e-12

POSITIONS = {  # between the stops of -0.5 and 1, of 100 N m/rad, with a friction of 3 N m
    "inside": (0.2, (-3.0, 6.0, 0.0, 0.0)),
    "at the lower stop": (-0.5, (-3.0, 6.0, 0.0, 0.0)),
    "at the upper stop": (1.0, (-3.0, 6.0, 0.0, 0.0)),
    "below": (-0.7, (-3.0, 26.0, 0.0, -100.0)),
    "above": (1.1, (-13.0, 16.0, -100.0, 100.0)),
}


@pytest.mark.parametrize(("x", "expected"), POSITIONS.values(), ids=POSITIONS)
def test_forces_that_a_joint_may_have(x, expected):
    """Least force and width, and their derivatives: a stop pushes back only."""
    assert interval(x, -0.5, 1.0, 100.0, 3.0) == pytest.approx(expected)


def test_the_nearer_stop():
    """Below, between and above two stops, beside a single one, and without any."""
    q = np.array([9.0, -0.7, 0.2, 0.4, 1.1, 5.0, 5.0])
    lower = np.array([-0.5, -0.5, -0.5, -0.5, -np.inf, -np.inf])
    upper = np.array([1.0, 1.0, 1.0, 1.0, 7.0, np.inf])
    gap, inward = np.full(6, np.nan), np.full(6, np.nan)
    stops(np.array([1, 2, 3, 4, 5, 6]), lower, upper, q, gap, inward)
    assert gap == pytest.approx([-0.2, 0.7, 0.6, -0.1, 2.0, np.inf])
    assert inward.tolist() == [1.0, 1.0, -1.0, -1.0, -1.0, 0.0]


class Joints:
    """Four joints after two contacts, of which the last one has no force at all."""

    coordinates, dofs = np.array([4, 1, 2, 3]), np.array([3, 0, 1, 2])
    lower, upper = np.full(4, -0.5), np.full(4, 1.0)
    stiffness, friction = np.array([100.0, 200.0, 300.0, 400.0]), np.array([3.0, 0.0, 1.0, 0.0])
    bounds = coordinates, dofs, lower, upper, stiffness, friction
    q = np.array([9.0, -0.7, 1.1, 0.2, 0.3])
    v = np.array([-1.0, 2.0, 0.3, 0.5])
    w = np.random.default_rng(0).uniform(0.1, 0.4, (6, 2))
    active = np.array([1, 2, 3, 4])  # a contact, and the joints with forces

    def results(self, q=None):
        """What `interval` gives, shape (4, 4)."""
        arrays = (self.lower, self.upper, self.stiffness, self.friction)
        out = np.full((4, 4), np.nan)
        intervals(self.coordinates, *arrays, self.q if q is None else q, out)
        return out


def test_forces_of_joints_follow_those_of_the_contacts():
    """Rows, works, gap and slip in closed form; what the contacts have written is kept."""
    at, rng = Joints(), np.random.default_rng(1)
    V, wrench, motion = rng.normal(size=(6, 3, 2)), rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    work, G = rng.normal(size=(6, 2)), rng.normal(size=4)
    kept, before = [x[:2].copy() for x in (V, wrench, motion, work)], G.copy()
    active = np.array([1, -1, -1, -1, -1, -1])
    norm, gap, slip, k = joint_forces(
        *at.bounds,
        at.q,
        at.v,
        H,
        at.w,
        V,
        wrench,
        motion,
        work,
        active,
        1,
        G,
    )
    least, width = at.results()[:2]
    assert width == pytest.approx([6.0, 40.0, 2.0 + 30.0, 0.0])
    force, moved = least + at.w[2:, 0] * width, H * at.v[at.dofs]
    assert all(
        np.array_equal(a[:2], b) for a, b in zip((V, wrench, motion, work), kept, strict=True)
    )
    for out, expected in (
        (V[2:], np.einsum("r,a,m->ram", width, [1, 0, 0], [1, 0])),
        (wrench[2:], np.outer(force, [1, 0, 0])),
        (motion[2:], np.outer(moved, [1, 0, 0])),
        (work[2:], np.outer(width * moved, [1, 0])),
    ):
        assert out == pytest.approx(expected, abs=ROUNDING)
    before[at.dofs] -= force
    assert pytest.approx(before) == G
    assert norm == pytest.approx(np.linalg.norm(before))
    gaps = width * moved * at.w[2:, 0] - np.minimum(width * moved, 0.0)
    assert gap == pytest.approx(gaps.sum())
    units = np.maximum(np.abs(force), LEAST_SHARE * width)[:3]
    assert slip == pytest.approx((gaps[:3] / units).max())
    assert k == 4
    assert np.array_equal(active[:k], at.active)


def test_derivatives_of_joint_forces_are_differences():
    """A loses the slopes of the forces with the weights held; a contact's rows stay."""
    at, rng = Joints(), np.random.default_rng(2)
    A, J_force, J_motion = rng.normal(size=(4, 4)), *rng.normal(size=(2, 4, 3, 4))
    before, of_contact = A.copy(), (J_force[0].copy(), J_motion[0].copy())
    linearise_joints(
        *at.bounds,
        at.q,
        at.w,
        at.active,
        A,
        J_force,
        J_motion,
    )
    for j, (i, l) in enumerate(zip(at.coordinates, at.dofs, strict=True)):
        sides = []
        for sign in (1.0, -1.0):
            q = at.q.copy()
            q[i] += sign * STEP
            least, width = at.results(q)[:2, j]
            sides.append(least + at.w[2 + j, 0] * width)
        before[l, l] -= (sides[0] - sides[1]) / (2.0 * STEP)
    assert pytest.approx(before, abs=1e-6) == A  # of slopes of 400
    assert np.array_equal(J_force[0], of_contact[0])
    assert np.array_equal(J_motion[0], of_contact[1])
    for x, l in enumerate(at.dofs[:3], 1):
        for J in (J_force[x], J_motion[x]):
            assert np.array_equal(J, np.outer([1, 0, 0], np.eye(4)[l]))


def test_springs_of_mimic_joints():
    """Energy k (q_m - a q_p - b)^2 / 2, and its differences; without a matrix as well."""
    at = np.array([[3, 0], [2, 4]]), np.array([[2, 0], [1, 3]])
    multiplier, offset, k = np.array([2.0, -0.5]), np.array([0.1, -0.3]), np.array([50.0, 20.0])
    q = np.random.default_rng(0).normal(size=5)

    def spring(q, A):
        G = np.zeros(4)
        return joint_springs(*at, multiplier, offset, k, q, G, A), G

    def moved(dq, part):
        shifted = q.copy()
        shifted[[0, 2, 3, 4]] += dq[[0, 1, 2, 3]]
        return np.array(spring(shifted, np.empty((0, 0)))[part])

    A = np.zeros((4, 4))
    energy, G = spring(q, A)
    errors = q[3] - 2.0 * q[0] - 0.1, q[2] + 0.5 * q[4] + 0.3
    assert energy == pytest.approx(25.0 * errors[0] ** 2 + 10.0 * errors[1] ** 2)
    assert_same(G[None], central_differences(lambda dq: moved(dq, 0), 4, STEP)[None])
    assert_same(A, central_differences(lambda dq: moved(dq, 1), 4, STEP))


CASES = {  # angles, speeds and whether the motors are driven beyond their limits
    "sticking": ([0.1, 0.2], [5e-4, 0.0], False),
    "slipping": ([0.1, 0.2], [-1.0, 0.5], False),
    "above a stop": ([0.55, 0.2], [1.0, 0.0], False),
    "below a stop": ([0.1, -0.6], [1.0, 0.0], False),
    "saturated": ([0.2, 0.3], [0.5, 0.2], True),
    "saturated the other way": ([-0.3, -0.2], [0.5, 0.2], True),
}


def at_end(method, name, folder):
    """A step of two links that ends with the given angles and speeds."""
    robot = joint_scenes.two_links(folder, "fixed")
    robot.model.damping[:] = 0.3, 0.2
    angles, speeds, driven = CASES[name]
    q, v = np.array(angles), np.array(speeds)
    step = Step(method, LAW, robot, FAR)
    kp = np.full(2, 100.0 if driven else 1.0)
    command = Command(kp=kp, kd=0.05 * kp, q_target=np.array([-0.1, 0.31]))
    step.begin(State(0.0, q - H * v, 0.5 * v), command, H)
    return step, q


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", ["pbd", "pbfd"])
def test_joint_law_of_position_based_steps(method, name, tmp_path):
    """The matrix is the difference of the residual, which is that of the energy of pbd."""
    step, q = at_end(method, name, tmp_path)
    r = step.evaluate(q)
    A = step.linearise()
    assert_same(A, central_differences(lambda dq: step.evaluate(q + dq), 2, STEP))
    if method == "pbd":

        def energy(dq):
            step.evaluate(q + dq)
            return np.array(step.value)

        assert_same(r[None], central_differences(energy, 2, STEP)[None])


@pytest.mark.parametrize("name", CASES)
def test_torque_of_motors_and_friction_in_closed_form(name, tmp_path):
    """Limited efforts, damping, friction; around the point gains and torques do the same."""
    step, q = at_end("pbfd", name, tmp_path)
    with_law = step.evaluate(q)
    start, point, law = step.start, step.point, step.scene.joints
    damping, v, e = np.array([0.3, 0.2]), point.v, point.e
    motor = start.tau - (start.kd - damping) * v - start.kp * e
    limited = np.clip(motor, -law.effort, law.effort)
    assert (limited != motor).any() == name.startswith("saturated")
    assert point.tau == pytest.approx(limited - damping * v)
    shares = np.clip(v / law.creep, -1.0, 1.0)
    stops = 0.0
    if "stop" in name:
        stops = law.stiffness * np.where(np.abs(q) > 0.5, np.sign(q) * (np.abs(q) - 0.5), 0.0)
        assert stops.any()
    tau, kp, kd, following = start.tau.copy(), start.kp.copy(), start.kd.copy(), np.ones(2)
    joint_law.replace_kinks(step.scene, start, point, tau, kp, kd, following)
    expected = limited - damping * v - law.friction * shares
    assert tau - kp * e - kd * v == pytest.approx(expected)
    assert np.array_equal(following, limited == motor)
    law.friction[:], law.stiffness[:], law.effort[:] = 0.0, 0.0, np.inf
    change = with_law - step.evaluate(q)
    friction = expected - limited + damping * v
    assert change == pytest.approx(motor - limited - friction + stops, rel=1e-9, abs=1e-9)


def test_motors_are_freed_once(tmp_path):
    """A limit that was not met at the last point leaves the motor's stiffness in the matrix."""
    step, q = at_end("pbfd", "saturated", tmp_path)
    step.evaluate(q)
    A, signs, freed = step.linearise(), np.zeros(2), np.full(2, np.nan)
    start, point = step.start, step.point
    motor = -(start.kd - [0.3, 0.2]) * point.v - start.kp * point.e
    over = np.sign(motor) * (np.abs(motor) > step.scene.joints.effort)
    stiffness = (start.kp + (start.kd - [0.3, 0.2]) / H) * (over != 0.0)
    assert stiffness.any()
    for expected in (stiffness, np.zeros(2)):
        point.A[:] = A
        joint_law.free_motors(step.scene, start, point, signs, freed)
        assert freed == pytest.approx(expected)
        assert point.A == pytest.approx(A + np.diag(expected))
        assert np.array_equal(signs, over)
