"""Parts of a step: bounds, initial guesses, stages, weights to begin with, the estimated error."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import array_of, interpreted, robot_of
from pairwise import pairwise

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Command
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._integrators.scheme import BACKWARD_EULER, SDIRK2
from nmdp_pin._kernels.step import outcomes, step_end, step_records, tolerances
from nmdp_pin._kernels.step import step as kernel
from nmdp_pin._kernels.step import step_start as start_kernels
from nmdp_pin._kernels.step.energy_guard import allowed_gain
from nmdp_pin._kernels.step.stage import kinematics, saturate_at
from nmdp_pin._kernels.tree.tree import body_twists
from nmdp_pin._robot import ContactPoints, JointLimits
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Plane, Terrain

ROUNDING = 1e-12  # of sums of a few terms
DIFFERENCES = 1e-7  # of central differences
GRAVITY = 9.81  # [m/s^2]
H = 0.02  # [s]
C = 1.0 - np.sqrt(0.5)  # end of the first stage of SDIRK2, as a share of the step
RADII = np.array([0.2, 0.1])


@pytest.mark.parametrize("status", Status)
def test_the_kernels_have_the_codes_of_outcomes(status):
    """What a kernel returns is the status of that name."""
    assert getattr(outcomes, status.name) == status.code


class Steps:
    """A free body with two sliders that have stops; it and the first one carry a contact point."""

    JOINTS = (
        ("base", pin.JointModelFreeFlyer()),
        ("slide", pin.JointModelPX()),
        ("second", pin.JointModelPY()),
    )

    def __init__(self, method="ne-nmdp", law=None, **options):
        model, at = pin.Model(), pin.SE3(np.eye(3), np.array([0.1, 0.2, -0.1]))
        parent = 0
        for name, joint in self.JOINTS:
            parent = model.addJoint(parent, joint, at, name)
            inertia = pin.Inertia(2.0, np.array([0.1, 0.0, 0.2]), np.diag([0.3, 0.4, 0.5]))
            model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        model.armature[6:] = 0.3, 0.2
        limits = JointLimits.none(8)
        limits.lower[6:], limits.upper[6:] = -9.0, 9.0
        points = ContactPoints(("a", "b"), np.array([1, 2]), 0.3 * np.eye(2, 3), RADII)
        robot = robot_of(model, points, limits=limits)
        ground, self.friction = Plane(height=1.0), 0.8
        cone = FrictionCone(stiffness=1e3, **law or {})
        system = System(robot, Terrain([replace(ground, friction=self.friction)]), cone)
        self.model, self.method = model, INTEGRATORS[method](system, **options)
        self.form, self.memory = self.method.form, self.method.form.new_memory()
        self.record, self.options = self.form.record, self.method._options(np.inf)
        self.stage, self.rng = self.memory.stage, np.random.default_rng(0)
        self.q = pin.integrate(model, pin.neutral(model), 0.2 * self.rng.standard_normal(8))
        self.v = self.rng.standard_normal(8)

    def start(self, stages=1, warm=None):
        """Start of a step, with other commands at all stages."""
        commands = [Command(tau=self.rng.standard_normal(8)) for _ in range(stages)]
        start = self.form.start(State(0.0, self.q, self.v), commands, H, warm)
        told = start.commands
        for field in (told.tau, told.kp, told.kd, told.v_target, told.force):
            field[:] = self.rng.standard_normal(field.shape)
        for row in told.q_target:
            row[:] = pin.integrate(self.model, self.q, self.rng.standard_normal(8))
        start_kernels.open_step(self.record, start, self.memory)
        return start

    def assert_torque_is(self, commands, i):
        """The stage has the torque of a command, row i of all."""
        torque, told = self.stage.torque, commands
        damping = np.array(self.model.damping)
        constant = told.tau[i] + told.kd[i] * told.v_target[i] + told.force[i]
        assert np.array_equal(torque.constant, constant)
        assert np.array_equal(torque.kd, damping + told.kd[i])
        for name, field in (("kp", told.kp), ("external", told.force), ("q_target", told.q_target)):
            assert np.array_equal(getattr(torque, name), field[i])

    def placements(self, q):
        """Of the bodies, shape (3, 4, 3)."""
        data = self.model.createData()
        pin.forwardKinematics(self.model, data, q)
        return np.array([array_of(data.oMi[k]) for k in (1, 2, 3)])

    def rates(self, q, v):
        """Rates of the placements."""
        sides = [self.placements(pin.integrate(self.model, q, s * 1e-5 * v)) for s in (1, -1)]
        return (sides[0] - sides[1]) / 2e-5


@pytest.mark.parametrize("rate", [0.5, 100.0])
def test_motors_that_a_guess_saturates(rate):
    """By its distance from the target and its speed: the displacement times the rate."""
    steps = Steps()
    stage, torque = steps.stage, steps.stage.torque
    steps.record.joints.effort[:] = 7.0
    stage.q_ref[:], stage.rate = steps.q, rate
    torque.constant[:] = torque.external[:] = torque.signs[:] = 0.0
    torque.kp[:], torque.kd[:], torque.q_target[:] = 0.0, 2.0, steps.q
    torque.kp[7] = 4.0
    at, moved = steps.form.new_point(), np.zeros(8)
    for share in (0.9, 1.1):  # of the limit
        moved[6] = share * 7.0 / (2.0 * rate)
        moved[7] = -share * 7.0 / (2.0 * rate + 4.0)
        at.q[:] = pin.integrate(steps.model, steps.q, moved)
        saturate_at(steps.record, stage, at)
        assert torque.signs[6:].tolist() == ([0.0, 0.0] if share < 1.0 else [-1.0, 1.0])


def test_bounds():
    """Shares of the weight and speeds, but not below what rounding makes of a configuration."""
    steps = Steps()
    stage, record, options = steps.stage, steps.record, steps.options
    stage.q_ref[:] = 0.0
    stage.q_ref[:2], stage.rate = (3.0, 4.0), 10.0
    weight = 6.0 * GRAVITY
    assert tolerances.attainable(record, stage, 0.5) == pytest.approx(0.5 * weight)
    inertia = steps.record.tree.inertia
    assert tolerances.attainable(record, stage, 0.0) == tolerances.ROUNDING * inertia * 600.0
    assert tolerances.place_of(stage) == 6.0 * tolerances.PLACE
    options.long = 0.003
    for rate, share in ((1000.0, 1.0 / 3.0), (100.0, 1.0)):
        stage.rate = rate
        for displaced, power in ((True, 1), (False, 2)):
            stage.displaced = displaced
            assert tolerances.share_of_tolerance(options, stage) == pytest.approx(share**power)
    assert allowed_gain(weight, 0.1, 5.0) == pytest.approx(0.5 + 0.01 * weight)


def test_energies_at_the_start():
    """Pinocchio's, with those of the rotors."""
    steps = Steps()
    start, islands = steps.start(), steps.memory.islands
    start_kernels.list_weights(steps.record, start, steps.options, steps.memory)
    data = steps.model.createData()
    M = np.triu(pin.crba(steps.model, data, steps.q))
    kinetic = 0.5 * steps.v @ (M + np.triu(M, 1).T) @ steps.v
    potential = pin.computePotentialEnergy(steps.model, data, steps.q)
    found = [islands.kinetic0.sum(), islands.potential0.sum()]
    assert found == pytest.approx([kinetic, potential], rel=ROUNDING)
    assert islands.count[0] == 1


LAWS = {"forces": {}, "weights": {"directions": 6, "zeta": 1e-9}}
BY_LAW = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
GUESSES = start_kernels.GUESSES


@BY_LAW
@pytest.mark.parametrize("number", range(len(GUESSES) + 1))
def test_guesses(number, law):
    """The first one alone is predicted with the acceleration; weights of joints rest in between."""
    steps = Steps(law=law)
    steps.start()
    stage, memory, at = steps.stage, steps.memory, steps.form.new_point()
    stage.rate, stage.q_ref[:] = 50.0, steps.q
    stage.v_ref[:], memory.predicted_acceleration[:] = steps.rng.standard_normal((2, 8))
    memory.w[:] = steps.rng.uniform(0.1, 0.2, memory.w.shape)
    more = start_kernels.guess(steps.record, steps.options, number, memory, at)
    assert more is (number < len(GUESSES))
    if not more:
        return
    share, weights = GUESSES[number]
    dq = share * stage.v_ref / 50.0
    if number == 0:
        dq += memory.predicted_acceleration / 50.0**2
    assert at.q == pytest.approx(pin.integrate(steps.model, steps.q, dq), abs=ROUNDING)
    w = weights * memory.w
    if weights == 0.0 and not steps.form.forces:
        w[2:, 0] = 0.5
    assert at.w == pytest.approx(w, abs=ROUNDING)


@pairwise({"minimiser": [0, 3], "restarts": [False, True], "warm_start": [False, True]})
def test_guesses_without_predictions(warm_start, restarts, minimiser):
    """The reference with the forces, then without any where both may be tried."""
    steps = Steps(warm_start=warm_start, restarts=restarts)
    steps.start()
    steps.options.minimiser = minimiser
    stage, memory, at = steps.stage, steps.memory, steps.form.new_point()
    stage.rate, stage.q_ref[:], stage.v_ref[:] = 50.0, steps.q, 1.0
    memory.w[:], memory.predicted_acceleration[:] = 0.1, 1.0
    predicts, both = warm_start and restarts and minimiser == 0, warm_start and restarts
    more = [start_kernels.guess(steps.record, steps.options, k, memory, at) for k in range(3)]
    assert more == ([True] * 3 if predicts else [True, both, False])
    if not predicts:
        assert np.array_equal(at.q, steps.q)
        assert (at.w[:2] == (0.0 if both else 0.1)).all()


@BY_LAW
def test_forces_are_carried_to_the_next_stage(law):
    """Of rows that act; others begin with none, by weights with full ones or in the middle."""
    steps = Steps(law=law)
    steps.start()
    stage, memory, at = steps.stage, steps.memory, steps.form.new_point()
    m = memory.w.shape[1]
    at.w[:], at.v[:], stage.v_ref[:], stage.rate = 0.07, np.arange(8.0), 1.0, 50.0
    contact, joint = np.full(m, 1.0 / m), np.append(0.5, np.zeros(m - 1))
    if steps.form.forces:
        contact[:] = joint[:] = 0.0
    at.active[:1], at.n_active[:] = 1, 1
    kernel._carry_on(steps.record, memory, at)
    assert memory.w == pytest.approx(np.array([contact, np.full(m, 0.07), joint, joint]))
    assert memory.predicted_acceleration == pytest.approx(50.0 * (np.arange(8.0) - 1.0))
    at.active[:2], at.n_active[:] = (0, 2), (2, 1)
    kernel._carry_on(steps.record, memory, at)
    assert memory.w[[0, 2]] == pytest.approx(np.full((2, m), 0.07))
    assert memory.w[[1, 3]] == pytest.approx(np.array([contact, joint]))


@BY_LAW
@pytest.mark.parametrize("warm_start", [False, True])
def test_what_a_step_begins_with(warm_start, law):
    """Forces of the step before, by contact and in the world; none of new contacts.

    By weights those of the step before, and full ones of new contacts. Without a warm start there
    are none.
    """
    steps = Steps(warm_start=warm_start, law=law)
    m, number, forces = steps.memory.w.shape[1], np.array([1]), np.array([[3.0, -4.0, 50.0]])
    joints, a = np.array([0.3, 0.8]), np.zeros(8)
    expected = np.zeros((4, m))
    if steps.form.forces:
        warm = WarmStart(number, np.zeros((1, 0)), joints, a, forces=forces)
        expected[1] = forces[0]  # of a plane, whose frame is that of the world
    else:
        warm = WarmStart(number, np.full((1, m), 0.07), joints, a)
        expected[0], expected[1] = 1.0 / m, 0.07
    expected[2:, 0] = joints
    if not warm_start:
        expected[:] = 0.0
        expected[2:, 0] = 0.0 if steps.form.forces else 0.5
    start = steps.start(warm=warm)
    start_kernels.list_weights(steps.record, start, steps.options, steps.memory)
    n = steps.stage.contacts.n[0]
    assert steps.stage.contacts.index[:n].tolist() == [0, 1]
    assert steps.memory.w == pytest.approx(expected)
    rates = steps.rates(steps.q, steps.v)
    held = np.hstack([steps.stage.contacts.held[:2], np.ones((2, 1))])
    velocities = np.einsum("nk,nkj->nj", held, rates[:2])
    assert steps.memory.velocities[:2] == pytest.approx(velocities, abs=DIFFERENCES)
    assert steps.memory.velocities[2].tolist() == [steps.v[6], 0.0, 0.0]
    assert steps.memory.velocities[3].tolist() == [steps.v[7], 0.0, 0.0]


@pytest.mark.parametrize("order", [1, 2])
def test_forces_of_a_step_are_where_the_next_one_begins(order):
    """In the world, at the contacts that touch: their sum is the momentum that a step changes."""
    steps = Steps(order=order)
    steps.q[2] = 1.05
    state = State(0.0, steps.q, 0.1 * steps.v)
    for _ in range(3):
        made = steps.method.step(state, Command(), H)
        assert made.status.ok
        state, warm = made.state, made.state.warm
    touching = np.flatnonzero(made.contact_forces.any(axis=1))
    assert warm.contacts.tolist() == touching.tolist()
    assert len(touching) > 0
    assert warm.w.shape == (len(touching), 0)
    if order == 1:
        assert warm.forces == pytest.approx(made.contact_forces[touching, :3], abs=1e-9)
    assert (np.hypot(*warm.forces[:, :2].T) <= 1.0001 * steps.friction * warm.forces[:, 2]).all()
    back = steps.method.step(
        replace(state, warm=replace(warm, forces=0.0 * warm.forces)), Command(), H
    )
    again = steps.method.step(state, Command(), H)
    assert again.state.q == pytest.approx(back.state.q, abs=1e-6)
    assert again.evaluations <= back.evaluations


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_a_stage_of_first_order(method):
    """From the start of the step, with its last command; targets are where bodies would fly."""
    steps = Steps(method)
    start = steps.start(stages=2)
    start_kernels.state_stage(
        steps.record, BACKWARD_EULER.record, start, 0, steps.memory, steps.memory.origin
    )
    stage = steps.stage
    assert stage.rate == pytest.approx(1.0 / H)
    assert stage.displaced
    assert np.array_equal(stage.q_ref, steps.q)
    assert np.array_equal(stage.v_ref, steps.v)
    steps.assert_torque_is(start.commands, 1)
    if method == "pbd-nmdp":
        back = steps.placements(pin.integrate(steps.model, steps.q, -H * steps.v))
        target = 2.0 * steps.placements(steps.q) - back
        target[:, 3, 2] -= GRAVITY * H**2
        assert stage.target == pytest.approx(target, abs=ROUNDING)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_stages_of_second_order(method):
    """The second stage begins where the slopes of the first lead."""
    steps = Steps(method)
    start, scheme = steps.start(stages=2), SDIRK2.record
    stage, first = steps.stage, steps.form.new_point()
    first.v[:] = steps.rng.standard_normal(8)
    first.q[:] = pin.integrate(steps.model, steps.q, C * H * first.v)
    kinematics(steps.record, first.q, first)
    body_twists(steps.record.tree, first.S, first.v, first.twists)
    rates = [steps.rates(q, v) for q, v in ((steps.q, steps.v), (first.q, first.v))]
    share = (1.0 - C) / C
    for i, (q, v, target) in enumerate(
        [
            (steps.q, steps.v, rates[0]),
            (
                pin.integrate(steps.model, steps.q, (1.0 - C) * H * first.v),
                steps.v + share * (first.v - steps.v),
                rates[0] + share * (rates[1] - rates[0]),
            ),
        ]
    ):
        start_kernels.state_stage(steps.record, scheme, start, i, steps.memory, first)
        assert stage.rate == pytest.approx(1.0 / (C * H))
        assert not stage.displaced
        assert stage.q_ref == pytest.approx(q, abs=ROUNDING)
        assert stage.v_ref == pytest.approx(v, abs=ROUNDING)
        steps.assert_torque_is(start.commands, i)
        if method == "pbd-nmdp":
            target[:, 3, 2] -= GRAVITY * C * H
            assert stage.target == pytest.approx(target, abs=DIFFERENCES)


@pytest.mark.parametrize("order", [1, 2])
def test_the_estimated_error_is_that_of_a_better_quadrature(order):
    """Of the velocities at the start and at the ends of the stages."""
    steps = Steps(order=order)
    steps.q[2] = 5.0  # in the air
    command = Command(kp=np.full(8, 300.0), q_target=pin.neutral(steps.model), base_gains=True)
    made = steps.method.step(State(0.0, steps.q, steps.v), command, H)
    assert made.status.ok
    end = made.state
    if order == 1:
        expected = 0.5 * H * (steps.v - end.v)
        rate, reference = 1.0 / H, steps.v
    else:
        points = steps.method._memory.points
        back = pin.integrate(steps.model, end.q, -C * H * end.v)
        first = pin.difference(steps.model, steps.q, back) / ((1.0 - C) * H)
        assert min(np.abs(points[k].v - first).max() for k in (0, 1)) < DIFFERENCES
        curve = np.polyfit([0.0, C, 1.0], [steps.v, first, end.v], 2)
        better = (curve / np.array([[3.0], [2.0], [1.0]])).sum(axis=0)
        expected = H * (better - (1.0 - C) * first - C * end.v)
        rate, reference = 1.0 / (C * H), steps.v + (1.0 - C) / C * (first - steps.v)
    assert made.local_error == pytest.approx(expected, abs=DIFFERENCES * H)
    assert end.warm.a == pytest.approx(rate * (end.v - reference), abs=1e-3)  # divided by C H


@np.errstate(all="ignore")  # squares overflow
def test_numbers_that_are_not_finite():
    """Anywhere in the end of a step, and those whose squares overflow."""
    end = Steps().form.new_end()
    is_finite = interpreted(step_end.is_finite)
    end.numbers[:1] = np.nan  # of the residual, which is not asked for
    assert is_finite(end)
    for bad in (np.nan, np.inf, 1e200):
        for name in ("q", "v", "tau", "wrenches"):
            other = replace(end, **{name: getattr(end, name).copy()})
            getattr(other, name).flat[-1] = bad
            assert not is_finite(other)
    for number in (step_records.OF_GAP, step_records.KINETIC, step_records.POTENTIAL):
        other = replace(end, numbers=end.numbers.copy())
        other.numbers[number] = -np.inf
        assert not is_finite(other)
