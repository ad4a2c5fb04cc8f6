"""Generalised contact forces against pinocchio's own Jacobians."""

from typing import ClassVar

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contracts import WrenchSpaceContract

from nmdp_pin.contact import FrictionCone, WrenchSpace
from nmdp_pin.contact.cross import skew
from nmdp_pin.control import Command
from nmdp_pin.dynamics.newton_euler import NewtonEuler
from nmdp_pin.dynamics.spatial import placements_of, times
from nmdp_pin.robot import ContactPoints, Robot
from nmdp_pin.state import State
from nmdp_pin.terrain import Plane, Terrain

ROUNDING = 1e-9  # relative; sums over 35 joints in double precision


class Glue(WrenchSpace):
    """Six rows that depend on the body's orientation too: what the general path has to carry."""

    rows: ClassVar[int] = 6

    @property
    def n_vertices(self):
        return 4

    def vertices(self, contacts):
        size = np.maximum(contacts.depth, 0.0) ** 2
        body = contacts.rotation @ self._in_body()
        local = np.concatenate([body, np.roll(body, 1, axis=2)], axis=1)
        return 1e4 * size[:, None, None] * local

    def derivative(self, contacts, w, wrench):
        depth = np.maximum(contacts.depth, 0.0)
        slope = np.divide(-2.0, depth, out=np.zeros_like(depth), where=depth > 0.0)
        moved = (slope[:, None] * wrench)[:, :, None] * contacts.normal[:, None, :]
        turned = np.concatenate([-skew(wrench[:, :3]), -skew(wrench[:, 3:])], axis=1)
        return np.concatenate([moved, turned], axis=2)

    @staticmethod
    def _in_body():
        return np.array([[1.0, 0.0, -0.3, 0.2], [0.1, 1.0, 0.4, -1.0], [0.2, 0.3, 1.0, 0.5]])


class TestGlue(WrenchSpaceContract):
    @pytest.fixture
    def space(self):
        return Glue()


def force_by_pinocchio(residual, q):
    """Sum of J' f with pinocchio's frame Jacobians, at the points where the wrenches act."""
    contact, model = residual.contact, residual.model
    data = model.createData()
    pin.computeJointJacobians(model, data, q)
    total = np.zeros(model.nv)
    robot_points = zip(contact._joints, contact.contacts.position, contact.wrenches, strict=True)
    for joint, centre, wrench in robot_points:
        J = pin.getJointJacobian(model, data, int(joint), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        arm = centre - data.oMi[int(joint)].translation
        moment = wrench[3:] + np.cross(arm, wrench[:3])
        total += J[:3].T @ wrench[:3] + J[3:].T @ moment
    return total


@pytest.mark.parametrize("space", [samples.CONE, Glue()], ids=["forces", "wrenches"])
@pytest.mark.parametrize("name", ["robosimian all", "wheels", "chain fixed", "go2"])
def test_generalised_force(name, space):
    """The force in G and the reported wrenches are one: J' of the wrenches about the centres."""
    residual, q, w = samples.residual_at(samples.robot(name), "sphere", space, seed=6)
    residual.evaluate(q, w)
    found = residual.contact.evaluate(w)
    expected = force_by_pinocchio(residual, q)
    np.testing.assert_allclose(found, expected, atol=ROUNDING * np.abs(expected).max())


@pytest.mark.parametrize("space", [samples.CONE, Glue()], ids=["forces", "wrenches"])
def test_vertex_forces(space):
    """The generalised force is linear in w with the vertex forces as its rows."""
    residual, q, w = samples.residual_at(samples.robot("wheels"), "tilted", space, seed=6)
    residual.evaluate(q, w)
    found = residual.contact.evaluate(w)
    residual.contact.kinematics()
    rows = residual.contact.vertex_forces()
    np.testing.assert_allclose(w.ravel() @ rows, found, atol=ROUNDING * np.abs(found).max())


@pytest.mark.parametrize("kind", ["tilted", "sphere"])
@pytest.mark.parametrize("name", ["wheels", "chain free-flyer"])
def test_six_rows(name, kind):
    """The derivative holds for wrenches that turn with the body."""
    residual, q, w = samples.residual_at(samples.robot(name), kind, Glue(), seed=6)
    residual.evaluate(q, w)
    found = residual.contact.linearise()

    def moved(dq):
        residual.evaluate(residual.retract(q, dq), w)
        return residual.contact.evaluate(w)

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


def test_a_sphere_presses_where_it_touches():
    """Sphere of radius r: friction at the bottom has the moment -r n x f about the centre."""
    residual, q, w = samples.residual_at(samples.robot("wheels"), "flat", samples.CONE, seed=6)
    residual.evaluate(q, w)
    contact = residual.contact
    radii = samples.robot("wheels").contact_points.radii
    arm = -radii[:, None] * contact.contacts.normal
    assert np.abs(contact.wrenches[:, 3:]).max() > 0.0
    np.testing.assert_allclose(
        contact.wrenches[:, 3:], np.cross(arm, contact.wrenches[:, :3]), atol=1e-12
    )


def test_a_rolling_sphere_does_not_move():
    """A sphere that rolls without slip along a plane has a material point without velocity."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.2), pin.SE3.Identity())
    points = ContactPoints(("ball",), np.array([joint]), np.zeros((1, 3)), np.array([0.2]))
    ball = Robot("ball", model, points, np.arange(0), pin.neutral(model))
    terrain = Terrain([Plane(height=-0.2)])
    residual = NewtonEuler(ball, terrain, samples.CONE)
    q0 = pin.neutral(model)
    angle = 1e-4
    q1 = np.r_[0.2 * angle, 0.0, 0.0, 0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)]
    residual.begin(State(0.0, q0, np.zeros(6)), Command(), 0.01)
    residual.evaluate(q1, np.zeros((1, 6)))
    # [m] what is left is the arc's second order, r angle^2 / 2
    assert np.abs(residual.contact.displacements()).max() <= 0.2 * angle**2


def test_leaving_contact_leaves_nothing():
    """After an evaluation in the air the wrenches, forces and derivative are zero."""
    residual, q, w = samples.residual_at(samples.robot("spider"), "flat", samples.CONE, seed=6)
    residual.evaluate(q, w)
    assert residual.contact.wrenches.any()
    residual.contact.linearise()
    q = q.copy()
    q[2] += 10.0
    residual.evaluate(q, w)
    assert not residual.contact.touching.any()
    assert not residual.contact.depths.any()
    assert not residual.contact.wrenches.any()
    assert not residual.contact.linearise().any()
    assert not residual.contact.vertex_forces().any()


def test_zeta_pulls_nobody_out_of_contact_into_silence():
    """With zeta > 0 every contact can feel a force, also in the air."""
    cone = FrictionCone(stiffness=1e4, power=2, zeta=1e-3)
    residual, q, w = samples.residual_at(samples.robot("spider"), "flat", cone, seed=6)
    q = q.copy()
    q[2] += 10.0
    residual.evaluate(q, w)
    assert residual.contact.touching.all()
    assert not residual.contact.depths.any()


def test_placements_view():
    """The view of all oMi holds what pinocchio holds, and follows it."""
    model = samples.robot("spider").model
    data = model.createData()
    view = placements_of(data, model.njoints)
    pin.forwardKinematics(model, data, samples.configuration(model, np.random.default_rng(0)))
    for joint in range(model.njoints):
        np.testing.assert_array_equal(view[joint, :3].T, data.oMi[joint].rotation)
        np.testing.assert_array_equal(view[joint, 3], data.oMi[joint].translation)


def test_an_unknown_memory_layout_is_refused():
    """Placements that do not lie one after the other are not read as if they did."""

    class Placement:
        def __init__(self):
            self.rotation = np.eye(3, order="F")
            self.translation = np.zeros(3)

    class Data:
        oMi: ClassVar = [Placement(), Placement(), Placement()]

    with pytest.raises(RuntimeError, match="layout"):
        placements_of(Data(), 1)


def test_skew_and_times():
    """[a]_x b = a x b, and products of stacks."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 7, 3))
    np.testing.assert_allclose(times(skew(a), b), np.cross(a, b), atol=1e-15)
