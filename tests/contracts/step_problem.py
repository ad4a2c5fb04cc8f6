"""The contract of forms of the dynamics: the equations of a step and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import body_scenes
import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._contact import WrenchSpace
from nmdp_pin._control import Command
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.step.stage_records import SLIP
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.papers.methods.projected_gradient import vertex_forces
from nmdp_pin.papers.methods.stage_equations import StagePoint

_LINEAR = 1e-9  # relative; G is linear in w, so differences are exact to rounding
_ROUNDING = 1e-9  # relative; sums over 35 joints in double precision

FormOf = Callable[..., CompiledSystem]
At = tuple[samples.Problem, np.ndarray, np.ndarray]


class StepProblemContract:
    """Needs the fixtures `form`, `order`, and `space`, a wrench space that is smooth.

    `form` is a function that gives the form of a system with all candidates in contact.
    """

    ROBOTS = ("spider free-flyer", "wheels+damping", "pendulum")
    ON_GROUNDS = (
        *(("robosimian planar", "tilted"), ("spider free-flyer", "cylinder")),
        *(("wheels+damping", "tilted"), ("wheels+points", "cylinder"), ("pendulum", "tilted")),
    )

    @pytest.mark.parametrize(("name", "ground"), ON_GROUNDS)
    def test_derivatives(
        self, form: FormOf, order: int, space: WrenchSpace, name: str, ground: str
    ) -> None:
        """A, the motions' derivative and that of v agree with differences, in contact."""
        problem, q, w = self._at(form, order, space, name, ground)
        assert problem.evaluate(q, w).active.size
        assert_derivatives(problem, q, w)

    @pytest.mark.parametrize("kind", body_scenes.KINDS)
    def test_derivatives_between_bodies(
        self, form: FormOf, order: int, space: WrenchSpace, kind: str
    ) -> None:
        """The same where bodies touch each other, links of one tree too."""
        problem, q, w = body_scenes.in_contact(kind, space, form=form, order=order, seed=3)
        points = body_scenes.robot(kind).contact_points
        assert (problem.evaluate(q, w).active >= points.n_terrain).sum() >= 2
        assert_derivatives(problem, q, w)

    @pytest.mark.parametrize("name", ["wheels", "chain fixed"])
    def test_derivatives_out_of_contact(
        self, form: FormOf, order: int, space: WrenchSpace, name: str
    ) -> None:
        """Far from the ground nothing acts, and A is that of a free body."""
        problem, q, w = self._at(form, order, space, name, "", terrain=body_scenes.FAR)
        at = problem.evaluate(q, w)
        assert at.active.size == 0
        assert not at.record.wrench.any()
        assert at.gap == at.record.sums[SLIP] == 0.0
        expected = samples.derivative_of(problem, q, w, lambda at: at.G)
        samples.assert_same(problem.linearise(at).A, expected)

    @pytest.mark.parametrize("name", ROBOTS)
    def test_forces_of_the_vertices(
        self, form: FormOf, order: int, space: WrenchSpace, name: str
    ) -> None:
        """J_force' V is -dG/dw; contacts that are apart have none."""
        problem, q, w = self._at(form, order, space, name, "sphere")
        at = problem.evaluate(q, w)
        found = vertex_forces(at, problem.linearise(at).J_force)
        change = [at.G - problem.evaluate(q, w + e.reshape(w.shape)).G for e in np.eye(w.size)]
        np.testing.assert_allclose(found, change, atol=_LINEAR * np.abs(found).max())

    @pytest.mark.parametrize(
        ("name", "ground"), [("spider free-flyer", "sphere"), ("wheels", "valley")]
    )
    def test_wrenches_are_the_force_in_g(
        self, form: FormOf, order: int, space: WrenchSpace, name: str, ground: str
    ) -> None:
        """The wrenches, by pinocchio's own Jacobians, are what G lacks without them."""
        problem, q, w = self._at(form, order, space, name, ground)
        assert_wrenches(samples.robot(name), problem, q, w)

    @pytest.mark.parametrize("kind", body_scenes.KINDS)
    def test_wrenches_between_bodies(
        self, form: FormOf, order: int, space: WrenchSpace, kind: str
    ) -> None:
        """What is touched feels the opposite at the same place."""
        problem, q, w = body_scenes.in_contact(kind, space, form=form, order=order, seed=3)
        assert_wrenches(body_scenes.robot(kind), problem, q, w)

    def test_work_and_gap(self, form: FormOf, order: int, space: WrenchSpace) -> None:
        """Work is V'u; the gap is what other weights could save, the slip over its force."""
        problem, q, w = self._at(form, order, space, "spider free-flyer", "sphere")
        at = problem.evaluate(q, w)
        work = np.einsum("nrm,nr->nm", at.V, at.motion)
        np.testing.assert_allclose(at.work, work, atol=1e-12 * np.abs(work).max())
        gaps = (w * work).sum(axis=1) - np.minimum(work.min(axis=1), 0.0)
        assert (gaps >= 0.0).all()
        assert at.gap == pytest.approx(gaps.sum())
        assert 0.0 < at.record.sums[SLIP] < 10.0 * np.abs(at.motion).max()
        assert at.residual == pytest.approx(np.linalg.norm(at.G))

    @pytest.mark.parametrize("name", ROBOTS)
    def test_velocity_and_torque(
        self, form: FormOf, order: int, space: WrenchSpace, name: str
    ) -> None:
        """The velocity is a difference, the torque that of the command and the joints' damping."""
        problem, q, w = self._at(form, order, space, name, "tilted")
        at, model, c = problem.evaluate(q, w), problem.form.model, problem.command
        v = problem.rate * pin.difference(model, problem.q_ref, q)
        np.testing.assert_allclose(at.v, v, rtol=1e-12, atol=1e-12)
        tau = c.tau - c.kp * pin.difference(model, c.q_target, q)
        tau -= c.kd * (v - c.v_target) + model.damping * v
        np.testing.assert_allclose(at.record.tau, tau, rtol=1e-9, atol=1e-9)

    def test_retract(self, form: FormOf, order: int, space: WrenchSpace) -> None:
        """`retract` by zero is the identity, and it stays on the manifold."""
        problem, q, _ = self._at(form, order, space, "wheels", "flat")
        nv = problem.form.model.nv
        np.testing.assert_allclose(problem.retract(q, np.zeros(nv)), q, atol=1e-15)
        assert pin.isNormalized(problem.form.model, problem.retract(q, np.full(nv, 2.0)), 1e-12)

    def test_evaluations_are_values(self, form: FormOf, order: int, space: WrenchSpace) -> None:
        """An evaluation survives others, and is the same to the bit when it is made again."""
        for name in ("wheels+damping", "robosimian planar"):
            problem, q, w = self._at(form, order, space, name, "sphere")
            at, nv = problem.evaluate(q, w), problem.form.model.nv
            linear = problem.linearise(at)
            kept = [np.array(part) for part in (*_arrays(at), *linear)]
            other = samples.Problem(problem.form, q, np.ones(nv), Command(), 1e-3, order)
            far = other.evaluate(problem.retract(q, np.full(nv, 40.0)), 0.0 * w)
            other.linearise(far)
            assert_same_arrays((*_arrays(at), *linear), kept)
            again = problem.evaluate(q, w)
            known = problem.linearise(again)
            assert_same_arrays((*_arrays(again), *known), kept)
            assert_same_arrays(problem.linearise(at), kept[-3:])

    def test_a_rigid_motion_moves_no_contact_between_bodies(
        self, form: FormOf, order: int, space: WrenchSpace
    ) -> None:
        """Bodies that move together as one do not move against each other."""
        problem, q, w = body_scenes.in_contact("box", space, form=form, order=order, seed=3)
        q0 = problem.q_ref
        twist = pin.Motion(np.array([0.3, -0.5, 0.9, 0.4, -0.8, 1.2]))
        if order > 1:  # velocities at the end: a small turn has the same at both bodies
            twist *= 1e-7
        move = pin.exp6(twist)
        q = q0.copy()
        q[:7] = pin.SE3ToXYZQUAT(move * pin.XYZQUATToSE3(q0[:7]))
        q[-7:] = pin.SE3ToXYZQUAT(move * pin.XYZQUATToSE3(q0[-7:]))
        at = problem.evaluate(pin.normalize(problem.form.model, q), w)
        n = body_scenes.robot("box").contact_points.n_terrain
        largest = np.abs(at.motion[:n, :3]).max()
        assert largest > 0.5 * np.abs(twist.linear).max()
        np.testing.assert_allclose(at.motion[n:], 0.0, atol=1e-6 * largest + 1e-12)

    def test_no_contact_points(self, form: FormOf, order: int, space: WrenchSpace) -> None:
        """A robot without contact points has equations too."""
        robot = samples.robot("no-contact")
        made = form(System(robot, Terrain([Plane()]), space))
        problem = samples.Problem(made, robot.standing, np.ones(10), Command(), 0.01, order)
        q, w = robot.standing + 0.01, np.zeros(made.shape)
        at = problem.evaluate(q, w)
        linear = problem.linearise(at)
        assert linear.J_force.shape[0] == 0
        samples.assert_same(linear.A, samples.derivative_of(problem, q, w, lambda at: at.G))

    @staticmethod
    def _at(
        form: FormOf, order: int, space: WrenchSpace, name: str, ground: str, **options: Any
    ) -> At:
        return samples.problem_at(
            samples.robot(name), ground, space, 6, form=form, order=order, **options
        )


def assert_derivatives(problem: samples.Problem, q: np.ndarray, w: np.ndarray) -> None:
    """A, J_motion and dv/dq agree with central differences."""
    at = problem.evaluate(q, w)
    linear, active = problem.linearise(at), at.active
    samples.assert_same(linear.A, samples.derivative_of(problem, q, w, lambda at: at.G))
    expected = samples.derivative_of(problem, q, w, lambda at: at.motion[active])
    samples.assert_same(linear.J_motion, expected)
    D = problem.rate * at.record.D
    samples.assert_same(D, samples.derivative_of(problem, q, w, lambda at: at.v))


def assert_wrenches(robot: Robot, problem: samples.Problem, q: np.ndarray, w: np.ndarray) -> None:
    """The force in G is J' of the wrenches in the world, by pinocchio's Jacobians."""
    model, points = robot.model, robot.contact_points
    data = model.createData()
    pin.computeJointJacobians(model, data, q)
    at = problem.evaluate(q, w)
    without = problem.evaluate(q, np.zeros_like(w))
    total, dofs = np.zeros(model.nv), problem.form.joints.dofs
    joints = slice(problem.form.n_contacts, None)
    total[dofs] = (at.record.wrench - without.record.wrench)[joints, 0]
    for k, wrench in enumerate(samples.world_wrenches(problem, at)):
        joint, touched = int(points.joints[k]), int(points.touches[k])
        centre = data.oMi[joint].act(np.array(points.positions[k]))
        at_origin = np.r_[wrench[:3], wrench[3:] + np.cross(centre, wrench[:3])]
        total += pin.getJointJacobian(model, data, joint, pin.WORLD).T @ at_origin
        if touched:
            total -= pin.getJointJacobian(model, data, touched, pin.WORLD).T @ at_origin
    assert np.abs(total).max() > 0.0
    atol = _ROUNDING * max(np.abs(total).max(), np.abs(without.G).max())
    np.testing.assert_allclose(without.G - at.G, total, atol=atol)


def _arrays(at: StagePoint) -> list[np.ndarray]:
    """Everything of a point, and of its contacts."""
    fields = [getattr(at.record, name) for name in at.record.__slots__ if name != "places"]
    return [*fields, *(getattr(at.record.places, name) for name in at.record.places.__slots__)]


def assert_same_arrays(found: Any, expected: Any) -> None:
    """The same to the bit."""
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
