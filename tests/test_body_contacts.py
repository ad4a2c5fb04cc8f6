"""Contacts between bodies: every derivative against central differences."""

import body_scenes as scenes
import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from test_contact_terms import Glue

from nmdp_pin.dynamics.objective import OBJECTIVES

ROUNDING = 1e-9  # relative
SPACES = {"forces": samples.CONE, "wrenches": Glue()}


@pytest.fixture(params=sorted(samples.FORMS))
def form(request):
    """Each form of the dynamics."""
    return samples.FORMS[request.param]


@pytest.mark.parametrize("second_order", [False, True], ids=["order 1", "order 2"])
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("kind", scenes.KINDS)
def test_derivatives(kind, space, form, second_order):
    """dG/dq, d(J' V w)/dq, du/dq and the motions' agree with differences where bodies touch."""
    residual, q, w = scenes.in_contact(kind, space, form=form, second_order=second_order, seed=3)
    contact = residual.contact
    residual.evaluate(q, w)
    assert contact.touching[contact.n - len(contact._touched) :].sum() >= 2
    found = [residual.linearise().copy(), contact.linearise().copy()]
    contact.kinematics()
    found += [contact.displacement_jacobian().copy(), contact.motion_jacobian().copy()]
    values = (
        lambda: residual.evaluate(residual.q, w),
        lambda: contact.evaluate(w),
        contact.displacements,
        contact.motions,
    )
    for derivative, value in zip(found, values, strict=True):

        def moved(dq, value=value):
            residual.evaluate(residual.retract(q, dq), w)
            return value().copy()

        samples.assert_same(derivative, samples.central_differences(moved, residual.nv))


@pytest.mark.parametrize("base", ["free-flyer", "planar"])
def test_out_of_contact(base, form):
    """Far apart bodies feel nothing, and the derivative is that of free ones."""
    residual, q, w = scenes.in_contact("box", samples.CONE, base=base, form=form)
    q = q.copy()
    name = "body2/root_translation" if base == "free-flyer" else "body2/root_x"
    q[residual.model.joints[residual.model.getJointId(name)].idx_q] += 5.0
    residual.evaluate(q, w)
    assert not residual.contact.active
    found = residual.linearise()

    def moved(dq):
        return residual.evaluate(residual.retract(q, dq), w)

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_objectives(name):
    """dK/dq agrees with differences; end effectors count relative to what they touch."""
    residual, q, w = scenes.in_contact("cylinder", samples.CONE, seed=3)
    objective = OBJECTIVES[name](residual)
    residual.evaluate(q, w)
    residual.linearise()
    found = objective.derivatives()[0].copy()

    def moved(dq):
        residual.evaluate(residual.retract(q, dq), w)
        return np.array([objective.value()])

    samples.assert_same(found[None], samples.central_differences(moved, residual.nv))


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_vertex_forces(space):
    """The generalised force is linear in w with the vertex forces as its rows."""
    residual, q, w = scenes.in_contact("capsule", space, seed=3)
    residual.evaluate(q, w)
    found = residual.contact.evaluate(w)
    residual.contact.kinematics()
    rows = residual.contact.vertex_forces()
    np.testing.assert_allclose(w.ravel() @ rows, found, atol=ROUNDING * np.abs(found).max())


def test_a_shared_motion_moves_nothing():
    """Bodies that move together as one have no displacement against each other, however far."""
    residual, _, w = scenes.in_contact("box", samples.CONE, seed=3)
    model, q0 = residual.model, residual.q0
    move = pin.SE3(pin.rpy.rpyToMatrix(0.4, -0.8, 1.2), np.array([0.3, -0.5, 0.9]))
    q = q0.copy()
    q[:7] = pin.SE3ToXYZQUAT(move * pin.XYZQUATToSE3(q0[:7]))
    q[-7:] = pin.SE3ToXYZQUAT(move * pin.XYZQUATToSE3(q0[-7:]))
    residual.evaluate(pin.normalize(model, q), w)
    u = residual.contact.displacements()
    assert np.abs(u[: scenes.robot("box").contact_points.n_terrain]).max() > 0.5
    np.testing.assert_allclose(u[-4:], 0.0, atol=1e-12)


def test_wrenches_are_the_force():
    """The reported wrenches and their counterparts on what is touched are the force in G."""
    residual, q, w = scenes.in_contact("sphere", samples.CONE, seed=3)
    residual.evaluate(q, w)
    found = residual.contact.evaluate(w)
    points = scenes.robot("sphere").contact_points
    data = residual.model.createData()
    pin.computeJointJacobians(residual.model, data, q)
    total = np.zeros(residual.nv)
    frame = pin.ReferenceFrame.WORLD
    rows = zip(points.joints, points.touches, residual.contact.centre, strict=True)
    for k, (joint, touched, centre) in enumerate(rows):
        wrench = residual.contact.wrenches[k]
        at_origin = np.r_[wrench[:3], wrench[3:] + np.cross(centre, wrench[:3])]
        total += pin.getJointJacobian(residual.model, data, int(joint), frame).T @ at_origin
        if touched:
            total -= pin.getJointJacobian(residual.model, data, int(touched), frame).T @ at_origin
    np.testing.assert_allclose(total, found, atol=ROUNDING * np.abs(found).max())
