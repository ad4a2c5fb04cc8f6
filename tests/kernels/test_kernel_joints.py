"""Stops, dry friction, limits of motors and mimic joints: closed forms and differences."""

from dataclasses import replace

import joint_scenes
import numpy as np
import pinocchio as pin
import pytest
from core_samples import assert_same, central_differences
from kernel_scenes import robot_of
from position_steps import Step

from nmdp_pin._contact import FrictionCone
from nmdp_pin._contact.penalty import Penalty
from nmdp_pin._control import Command
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.step import levenberg_marquardt as lm
from nmdp_pin._kernels.step import position_joints
from nmdp_pin._kernels.step.stage import evaluate, linearise
from nmdp_pin._kernels.step.stage_records import GAP, RESIDUAL, SLIP
from nmdp_pin._kernels.tree import joints as kernels
from nmdp_pin._kernels.tree.joints import LEAST_SHARE, Joints, Torque
from nmdp_pin._kernels.tree.loops import Loops
from nmdp_pin._kernels.tree.springs import Springs, add_springs, spring_energy
from nmdp_pin._robot import ContactPoints, JointLimits
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.papers.methods.stage_equations import whole_rows

FAR = Terrain([Plane(height=-1e3)])
LAW = Penalty(normal_stiffness=1e4)
STEP = 1e-6  # [rad] of central differences
H = 0.02  # [s]
ROUNDING = 1e-12
FIRST = np.array([1, 0, 0])  # of the rows of a joint

NONE = {
    "coordinates": np.zeros(0, int),
    "dofs": np.zeros(0, int),
    "lower": np.zeros(0),
    "upper": np.zeros(0),
    "stiffness": np.zeros(0),
    "friction": np.zeros(0),
    "effort": np.zeros(0),
    "damping": np.zeros(0),
}
NO_SPRINGS = {
    **{name: np.zeros(0, int) for name in ("coordinates", "dofs", "ball_coordinates", "ball_dofs")},
    **{name: np.zeros(0) for name in ("factors", "rest", "stiffness", "ball_stiffness")},
    "first": np.zeros(1, int),
    "ball_rest": np.zeros((0, 4)),
}


NO_LOOPS = Loops(
    **{n: np.zeros(1, int) for n in ("first", "dof_ranges")},
    **{n: np.zeros(0, int) for n in ("kinds", "dofs", "carriers")},
    **{n: np.zeros((0, 2), int) for n in ("bodies", "coordinates")},
    **{n: np.zeros(0) for n in ("lengths", "compliance", "signs")},
    frames=np.zeros((0, 2, 4, 3)),
    polynomials=np.zeros((0, 5)),
    springs=np.zeros(0, bool),
    grips=np.zeros(0, bool),
)


def springs_of(**fields):
    """Springs, none but for those given."""
    return Springs(**(NO_SPRINGS | {name: np.array(value) for name, value in fields.items()}))


def joints_of(**fields):
    """Bounds of joints, none but for those given."""
    given = {name: np.array(value) for name, value in fields.items()}
    return Joints(**(NONE | given), springs=springs_of(), loops=NO_LOOPS)


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
    joints = joints_of(
        coordinates=[1, -1],
        dofs=[0, 1],
        lower=[-0.5, -np.inf],
        upper=[1.0, np.inf],
        stiffness=[100.0, 100.0],
        friction=[3.0, 2.0],
    )
    q = np.array([9.0, x])
    assert kernels.interval(joints, 0, q) == pytest.approx(expected)
    assert kernels.interval(joints, 1, q) == (-2.0, 4.0, 0.0, 0.0)  # without a stop


def test_the_nearer_stop():
    """Below, between and above two stops, beside a single one, and without any."""
    q = np.array([9.0, -0.7, 0.2, 0.4, 1.1, 5.0, 5.0])
    joints = joints_of(
        coordinates=[1, 2, 3, 4, 5, 6, -1],
        lower=[-0.5, -0.5, -0.5, -0.5, -np.inf, -np.inf, -np.inf],
        upper=[1.0, 1.0, 1.0, 1.0, 7.0, np.inf, np.inf],
    )
    gap, inward = zip(*(kernels.stop(joints, j, q) for j in range(7)), strict=True)
    assert gap == pytest.approx([-0.2, 0.7, 0.6, -0.1, 2.0, np.inf, np.inf])
    assert inward == (1.0, 1.0, -1.0, -1.0, -1.0, 0.0, 0.0)


class Stage:
    """A stage of five joints without mass, four of them bounded, and two contacts.

    One of the contacts touches. Of the bounded joints the first one has no force, and the second
    one, which may turn without end, only dry friction.
    """

    dofs = np.array([0, 1, 3, 4])
    stiffness, friction = np.array([400.0, 0.0, 300.0, 200.0]), np.array([0.0, 3.0, 1.0, 0.0])
    beyond = np.array([0.0, 0.0, -0.1, 0.2])  # the stops, in the direction back
    v = np.array([-1.0, 2.0, 0.3, 0.5, -0.7])

    def __init__(self, recovery=0.0, bounded=True, forces=False):
        rng, model = np.random.default_rng(0), pin.Model()
        for k, kind in enumerate(("RX", "RUBX", "PY", "RZ", "RY")):
            model.addJoint(k, getattr(pin, f"JointModel{kind}")(), pin.SE3.Identity(), kind)
        limits = JointLimits.none(5)
        if bounded:
            limits.lower[[0, 3, 4]], limits.upper[[0, 3, 4]] = -0.5, 1.0
            limits.friction[self.dofs] = self.friction
        points = ContactPoints(("a", "b"), np.array([5, 3]), np.zeros((2, 3)), np.array([0.2, 0.1]))
        robot, ground = robot_of(model, points, limits=limits), Terrain([Plane(height=-0.15)])
        law = FrictionCone(stiffness=1e3, power=2)
        self.form = CompiledSystem(System(robot, ground, law), weights=not forces)
        self.joints, self.recovery = self.form.joints, recovery
        if bounded:
            self.joints = replace(self.joints, stiffness=self.stiffness)
        self.system = replace(self.form.record, joints=self.joints, recovery=recovery)
        self.q = pin.neutral(model)
        self.q[[0, 4, 5]] = 0.2, 1.1, -0.7
        self.stage = replace(
            self.form.new_stage(),
            displaced=False,
            rate=1.0 / H,
            q_ref=pin.integrate(model, self.q, -H * self.v),
        )
        self.w = rng.uniform(0.1, 0.14, (6, 6))[: self.form.shape[0], : self.form.m]

    @property
    def missing(self):
        """Shares of the stops' largest forces that are missing; beyond the upper one it is w."""
        return np.where(self.beyond > 0.0, 1.0 - self.w[-4:, 0], self.w[-4:, 0])

    @property
    def unbounded(self):
        """The same stage without the bounds."""
        return Stage(self.recovery, bounded=False)

    def at(self, q):
        """The point at a configuration."""
        at = self.form.new_point()
        at.q[:], at.w[:] = q, self.w
        evaluate(self.system, self.stage, at, True)
        return at

    def intervals(self, q):
        """Least forces and widths of the joints, and the derivatives, shape (4, 4)."""
        return np.array([kernels.interval(self.joints, j, q) for j in range(4)]).T


@pytest.mark.parametrize("recovery", [0.0, 7.0])
def test_forces_of_joints_follow_those_of_the_contacts(recovery):
    """Rows, works, gap and slip in closed form; those of the contacts are as without joints.

    With a recovery rate a joint beyond its stop is to move back by that share of the penetration,
    as far as its force is not the largest one.
    """
    at = Stage(recovery)
    found, alone = at.at(at.q), at.unbounded.at(at.q)
    least, width = at.intervals(at.q)[:2]
    assert width == pytest.approx([0.0, 6.0, 2.0 + 30.0, 40.0])
    moved = H * at.v[at.dofs] - H * recovery * at.beyond * at.missing
    force = np.where(width > 0.0, least + at.w[2:, 0] * width, 0.0)
    for name in ("V", "wrench", "motion", "work"):
        assert np.array_equal(getattr(found, name)[:2], getattr(alone, name))
    for out, expected in (
        (found.V[2:, :, 0], np.outer(width, FIRST)),
        (found.wrench[2:], np.outer(force, FIRST)),
        (found.motion[2:], np.outer(moved, FIRST)),
        (found.work[2:, 0], width * moved),
    ):
        assert out == pytest.approx(expected, abs=ROUNDING)
    G = alone.G.copy()
    G[at.dofs] -= force
    assert pytest.approx(G, abs=ROUNDING) == found.G
    assert found.sums[RESIDUAL] == pytest.approx(np.linalg.norm(G))
    gaps = width * moved * at.w[2:, 0] - np.minimum(width * moved, 0.0)
    assert found.sums[GAP] == pytest.approx(alone.sums[GAP] + gaps.sum())
    slips = gaps[1:] / np.maximum(np.abs(force), LEAST_SHARE * width)[1:]
    assert found.sums[SLIP] == pytest.approx(max(slips.max(), alone.sums[SLIP]))
    assert found.n_active.tolist() == [4, 1]
    assert found.active[:4].tolist() == [alone.active[0], 3, 4, 5]


@pytest.mark.parametrize("recovery", [0.0, 7.0])
def test_derivatives_of_joint_forces_are_differences(recovery):
    """A loses the slopes of the forces with the weights held; a contact's rows stay."""
    at = Stage(recovery)
    other, linear = at.unbounded, [at.form.new_linear() for _ in range(2)]
    linearise(at.system, at.stage, at.at(at.q), linear[0])
    linearise(other.system, other.stage, other.at(at.q), linear[1])
    found, alone = linear
    A = alone.A.copy()
    for j, l in enumerate(at.dofs):
        sides = []
        for sign in (1.0, -1.0):
            q = pin.integrate(at.form.model, at.q, sign * STEP * np.eye(5)[l])
            least, width = at.intervals(q)[:2, j]
            sides.append(least + at.w[2 + j, 0] * width)
        A[l, l] -= (sides[0] - sides[1]) / (2.0 * STEP)
    assert pytest.approx(A, abs=1e-6) == found.A  # of slopes of 400
    for J, same in ((found.J_force, alone.J_force), (found.J_motion, alone.J_motion)):
        assert np.array_equal(whole_rows(found, J, 1), whole_rows(alone, same, 1))
    J_force, J_motion = (whole_rows(found, J, 4) for J in (found.J_force, found.J_motion))
    for x, l in enumerate(at.dofs[1:], 1):
        J = np.outer(FIRST, np.eye(5)[l])
        assert np.array_equal(J_force[x], J)
        back = H * recovery * at.missing[x] * (at.beyond[x] != 0.0)
        assert J_motion[x] == pytest.approx((1.0 + back) * J, abs=ROUNDING)
        of_load = H * recovery * abs(at.beyond[x])
        assert found.of_load[x] == pytest.approx(of_load * FIRST, abs=ROUNDING)


@pytest.mark.parametrize("recovery", [0.0, 7.0])
def test_forces_of_joints_as_unknowns(recovery):
    """They are subtracted from G; derivatives of their motions are differences.

    With a recovery rate a joint is to move back as far as its force is not the stop's largest one.
    """
    at = Stage(recovery, forces=True)
    least, width = at.intervals(at.q)[:2]
    within = np.array([0.0, 0.3, 0.2, 0.7])
    at.w[2:] = np.outer(least + within * width, FIRST[:3])
    found, share = at.at(at.q), np.where(at.beyond > 0.0, 1.0 - within, within)
    moved = H * at.v[at.dofs] - H * recovery * at.beyond * share
    assert found.motion[2:, 0] == pytest.approx(moved, abs=ROUNDING)
    assert found.work[2:, 0] == pytest.approx(moved, abs=ROUNDING)
    assert np.array_equal(found.wrench[2:, 0], at.w[2:, 0])
    assert found.n_active.tolist() == [6, 2]
    G, linear = found.G.copy(), at.form.new_linear()
    linearise(at.system, at.stage, found, linear)
    at.w[2:, 0] = 0.0
    G[at.dofs] += least + within * width
    assert pytest.approx(G, abs=ROUNDING) == at.at(at.q).G
    at.w[2:, 0] = least + within * width
    for j, l in enumerate(at.dofs):
        sides = [
            at.at(pin.integrate(at.form.model, at.q, sign * STEP * np.eye(5)[l])).motion[2 + j, 0]
            for sign in (1.0, -1.0)
        ]
        slope = (sides[0] - sides[1]) / (2.0 * STEP)
        assert linear.dofs[2 + j, 0] == l
        assert linear.J_motion[2 + j, 0, 0] == pytest.approx(slope, abs=1e-6)
        kept, sides = at.w[2 + j, 0], []
        for sign in (1.0, -1.0):
            at.w[2 + j, 0] = kept + sign * STEP
            sides.append(at.at(at.q).motion[2 + j, 0])
        at.w[2 + j, 0] = kept
        if width[j] > 0.0:
            slope = (sides[0] - sides[1]) / (2.0 * STEP)
            assert linear.of_load[2 + j, 0] == pytest.approx(slope, abs=1e-6)


def test_springs_of_joints_with_one_coordinate():
    """Energy k (sum of factors times q - rest)^2 / 2, and its differences are added."""
    springs = springs_of(
        first=[0, 2, 4, 5],
        coordinates=[3, 0, 2, 4, 2],
        dofs=[2, 0, 1, 3, 1],
        factors=[1.0, -2.0, 1.0, 0.5, 1.0],
        rest=[0.1, -0.3, 0.7],
        stiffness=[50.0, 20.0, 8.0],
    )
    rng = np.random.default_rng(0)
    q, G0, A0 = rng.normal(size=5), rng.normal(size=4), rng.normal(size=(4, 4))

    def spring(q):
        G, A = G0.copy(), A0.copy()
        return np.array(add_springs(springs, q, G, A)), G - G0, A - A0

    def moved(dq, part):
        shifted = q.copy()
        shifted[[0, 2, 3, 4]] += dq[[0, 1, 2, 3]]
        return spring(shifted)[part]

    energy, G, A = spring(q)
    errors = q[3] - 2.0 * q[0] - 0.1, q[2] + 0.5 * q[4] + 0.3, q[2] - 0.7
    expected = 25.0 * errors[0] ** 2 + 10.0 * errors[1] ** 2 + 4.0 * errors[2] ** 2
    assert energy == spring_energy(springs, q) == pytest.approx(expected)
    assert_same(G[None], central_differences(lambda dq: moved(dq, 0), 4, STEP)[None])
    assert_same(A, central_differences(lambda dq: moved(dq, 1), 4, STEP))


def test_springs_of_ball_joints():
    """Energy k |log(rest^-1 q)|^2 / 2, by pinocchio, and its differences along tangents."""
    model, rng = pin.Model(), np.random.default_rng(0)
    model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "slide")
    model.addJoint(1, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    q, rest = (pin.integrate(model, pin.neutral(model), rng.normal(size=4)) for _ in range(2))
    springs = springs_of(
        ball_coordinates=[1], ball_dofs=[1], ball_rest=rest[None, 1:], ball_stiffness=[7.0]
    )
    error = pin.difference(model, rest, q)[1:]

    def spring(dq):
        G, A = np.zeros(4), np.zeros((4, 4))
        energy = add_springs(springs, pin.integrate(model, q, dq), G, A)
        return np.array(energy), G, A

    energy, G, A = spring(np.zeros(4))
    assert energy == pytest.approx(3.5 * error @ error)
    np.testing.assert_allclose(G[1:], 7.0 * error)
    assert_same(G[None], central_differences(lambda dq: spring(dq)[0], 4, STEP)[None])
    assert_same(A, central_differences(lambda dq: spring(dq)[1], 4, STEP))


def test_motors_beyond_their_limits():
    """Their signs; damping is none of the motor's effort, and no sign reverses between trials."""
    zero, damping = np.zeros(6), np.full(6, 0.5)
    joints = joints_of(effort=np.full(6, 2.0), damping=damping)
    # efforts: 3, -3, 1.5 - 1 + 2, 3 - 2, -3 + 0.5, 2, of which the last is just allowed
    constant, kp = np.array([3.0, -3.0, 1.5, 3.0, -3.0, 2.0]), np.full(6, 2.0)
    error = np.array([0.0, 0.0, -1.0, 1.0, 0.0, 0.0])
    v = np.array([0.0, 0.0, 1.0, 0.0, -0.5, 0.0])
    torque = Torque(constant, kp, damping + 1.0, zero, np.zeros(6), np.full(6, np.nan))
    signs = np.array([1.0, -1.0, 1.0, 0.0, -1.0, 0.0])
    assert kernels.saturate(joints, torque, error, v, False)
    assert np.array_equal(torque.signs, signs)
    assert not kernels.saturate(joints, torque, error, v, True)
    assert np.array_equal(torque.signs, signs)
    before = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, 0.0])
    torque.signs[:] = before
    assert kernels.saturate(joints, torque, error, v, True)
    assert np.array_equal(torque.signs, [0.0, -1.0, 1.0, 0.0, 0.0, 0.0])
    torque.signs[:] = before
    assert kernels.saturate(joints, torque, error, v, False)  # of a guess, any sign is known
    assert np.array_equal(torque.signs, signs)
    torque.constant[:] = 0.0
    assert kernels.saturate(joints, torque, zero, zero, True)
    assert not torque.signs.any()


def test_gains_of_saturated_motors():
    """Their torque is the limit, and of the gains the damping of the joint is left."""
    joints = joints_of(effort=[2.0, 2.0, 3.0], damping=[0.5, 0.4, 0.3])
    constant, kp, kd = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    torque = Torque(constant, kp, kd, np.zeros(3), np.zeros(3), np.array([0.0, 1.0, -1.0]))
    found = [kernels.gains(joints, torque, l) for l in range(3)]
    assert found == [(1.0, 4.0, 7.0), (2.0, 0.0, 0.4), (-3.0, 0.0, 0.3)]


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


@pytest.mark.parametrize("end", [-4.0, 5.0])
def test_energy_of_friction_is_its_work(end, tmp_path):
    """From a joint that sticks to one that slips: the integral of the residual on the way."""
    step, q = at_end("pbd", "sticking", tmp_path)
    stick, begin, values = H * position_joints.CREEP, 0.5, []

    def residual(y):
        return step.evaluate(q + stick * np.array([y - begin, 0.0]))[0]

    for y in (begin, end):
        residual(y)
        values.append(step.value)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    kink, work = np.sign(end), 0.0
    for a, b in ((begin, kink), (kink, end)):
        at = 0.5 * (a + b) + 0.5 * (b - a) * nodes
        work += 0.5 * (b - a) * stick * weights @ [residual(y) for y in at]
    assert values[1] - values[0] == pytest.approx(work, rel=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_torque_of_motors_and_friction_in_closed_form(name, tmp_path):
    """Limited efforts, damping, friction; around the point gains and torques do the same."""
    step, q = at_end("pbfd", name, tmp_path)
    with_law = step.evaluate(q)
    start, point, law = step.start, step.point, step.scene.joints
    given, damping, v, e = start.torque, np.array([0.3, 0.2]), point.v, point.e
    motor = given.constant - (given.kd - damping) * v - given.kp * e
    limited = np.clip(motor, -law.effort, law.effort)
    assert (limited != motor).any() == name.startswith("saturated")
    assert point.tau == pytest.approx(limited - damping * v)
    assert law.dofs.tolist() == [0, 1]
    shares = np.clip(v / position_joints.CREEP, -1.0, 1.0)
    stops = 0.0
    if "stop" in name:
        stops = law.stiffness * np.where(np.abs(q) > 0.5, np.sign(q) * (np.abs(q) - 0.5), 0.0)
        assert stops.any()
    torque = Torque(*(getattr(given, name).copy() for name in Torque.__slots__))
    position_joints.replace_kinks(step.memory, torque)
    expected = limited - damping * v - law.friction * shares
    assert torque.constant - torque.kp * e - torque.kd * v == pytest.approx(expected)
    assert np.array_equal(torque.signs == 0.0, limited == motor)
    law.friction[:], law.stiffness[:], law.effort[:] = 0.0, 0.0, np.inf
    change = with_law - step.evaluate(q)
    friction = expected - limited + damping * v
    assert change == pytest.approx(motor - limited - friction + stops, rel=1e-9, abs=1e-9)


def test_motors_are_freed_once(tmp_path):
    """A limit that was not met at the last point leaves the motor's stiffness in the matrix."""
    step, q = at_end("pbfd", "saturated", tmp_path)
    step.evaluate(q)
    A, torque, point = step.linearise(), step.start.torque, step.point
    kd = torque.kd - [0.3, 0.2]
    motor = torque.constant - kd * point.v - torque.kp * point.e
    over = np.sign(motor) * (np.abs(motor) > step.scene.joints.effort)
    stiffness = (torque.kp + kd / H) * (over != 0.0)
    assert stiffness.any()
    for expected in (stiffness, np.zeros(2)):
        point.A[:] = A
        position_joints.free_motors(step.memory)
        assert step.memory.freed == pytest.approx(expected)
        assert point.A == pytest.approx(A + np.diag(expected))
        assert np.array_equal(torque.signs, over)


@pytest.mark.parametrize("method", ["pbd", "pbfd"])
def test_freed_motors_lose_their_stiffness_where_steps_become_short(method, tmp_path):
    """After two trials that are rejected: the last step leads down, by the derivative alone."""
    step, q = at_end(method, "saturated", tmp_path)
    memory, account = step.memory, step.memory.account
    r, A = step.evaluate(q), step.linearise()
    U, metric = np.triu(memory.ref.U), memory.ref.metric
    lm.open_minimisation(memory)
    step.point.q[:] = q
    for lam in (0.0, 90.0, 900.0):
        account[lm.VALUE] -= 1e6  # of the point before, so that the trial is rejected
        account[lm.LAM] = lam / lm.GROW
        assert lm.advance(memory)
        if lam == 0.0:
            stiffness = np.diag(memory.freed)
            assert stiffness.any()
        assert account[lm.LAM] == lam
        H, g = A + stiffness * (lam < lm.DOWNHILL), r
        if method == "pbfd":
            H, g = (np.linalg.solve(U.T, b) for b in (H, r))
            H, g = H.T @ H, H.T @ g
        assert memory.dx == pytest.approx(-np.linalg.solve(H + lam * metric, g), rel=1e-6)


def test_a_trial_keeps_the_matrix(tmp_path):
    """Where a trial is rejected, the derivative at the last accepted point is used again."""
    step = Step("pbfd", LAW, joint_scenes.gripper(tmp_path), FAR)
    q = np.array([0.1, 0.03, 0.04])
    step.begin(State(0.0, q, np.zeros(3)), Command(), H)
    step.evaluate(q)
    A = step.linearise()
    step.evaluate(q + 0.01)
    assert np.array_equal(step.point.A, A)
