"""Every derivative of the dynamics against central differences, over robots, bases and grounds."""

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contracts import ObjectiveContract, StepResidualContract

from nmdp_pin.contact import FrictionCone
from nmdp_pin.control import Command
from nmdp_pin.dynamics.objective import OBJECTIVES
from nmdp_pin.state import State

ROBOTS = (
    "robosimian planar",
    "robosimian free-flyer",
    "robosimian all",
    "spider planar",
    "spider free-flyer+damping",
    "chain fixed",
    "chain free-flyer+points",
    "wheels+damping",
    "pendulum",
    "go2",
)
CONES = {
    "power 1": FrictionCone(stiffness=1e3, power=1),
    "power 2": FrictionCone(stiffness=1e4, power=2, directions=3, angle=0.3),
    "power 3": FrictionCone(stiffness=1e5, power=3, circumscribed=True),
    "power 1, zeta": FrictionCone(stiffness=1e3, power=1, zeta=1e-2),
    "zeta": FrictionCone(stiffness=1e4, power=2, zeta=1e-2),
}


@pytest.fixture(params=sorted(samples.FORMS))
def form(request):
    """Each form of the dynamics."""
    return samples.FORMS[request.param]


@pytest.fixture(params=[1, 2])
def order(request):
    """Each order of the time step."""
    return request.param


class TestFirstOrder(StepResidualContract):
    @pytest.fixture
    def make(self, form):
        return form


class TestSecondOrder(StepResidualContract):
    second_order = True

    @pytest.fixture
    def make(self, form):
        return form


class TestObjectives(ObjectiveContract):
    @pytest.fixture(params=sorted(OBJECTIVES))
    def kind(self, request):
        return OBJECTIVES[request.param]


@pytest.mark.parametrize("kind", ["flat", "overhang", "cylinder"])
@pytest.mark.parametrize("name", ROBOTS)
def test_residual_of_every_robot(name, kind, form):
    """dG/dq with everything in it agrees with central differences on the manifold."""
    residual, q, w = samples.residual_at(samples.robot(name), kind, samples.CONE, 7, form=form)
    residual.evaluate(q, w)
    assert residual.contact.active
    found = residual.linearise()

    def moved(dq):
        return residual.evaluate(residual.retract(q, dq), w)

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


@pytest.mark.parametrize("seed", range(5))
def test_residual_of_random_states(seed):
    """The derivative holds all over the state space, not at one lucky state."""
    kind = samples.GROUNDS[seed % len(samples.GROUNDS)]
    residual, q, w = samples.residual_at(samples.robot("wheels+damping"), kind, samples.CONE, seed)
    residual.evaluate(q, w)
    found = residual.linearise()

    def moved(dq):
        return residual.evaluate(residual.retract(q, dq), w)

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


def test_residual_out_of_contact(form):
    """Far from the ground the derivative is that of the free robot."""
    robot = samples.robot("spider")
    residual, q, w = samples.residual_at(robot, "flat", samples.CONE, seed=2, form=form)
    q = q.copy()
    q[2] += 10.0
    residual.evaluate(q, w)
    assert not residual.contact.active
    found = residual.linearise()

    def moved(dq):
        return residual.evaluate(residual.retract(q, dq), w)

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


@pytest.mark.parametrize("cone", CONES.values(), ids=CONES)
@pytest.mark.parametrize("kind", samples.GROUNDS)
def test_contact_terms(kind, cone):
    """d(J' V w)/dq alone, which the inertia M / h^2 would hide in dG/dq."""
    for name in ("wheels", "wheels+points"):
        residual, q, w = samples.residual_at(samples.robot(name), kind, cone, seed=11)
        residual.evaluate(q, w)
        found = residual.contact.linearise()
        depth = residual.contact.contacts.depth
        # At a kink (touch) power 1 has no derivative, and central differences would straddle it.
        assert np.abs(depth).min() > 10 * samples.STEP

        def moved(dq, residual=residual, q=q, w=w):
            residual.evaluate(residual.retract(q, dq), w)
            return residual.contact.evaluate(w)

        samples.assert_same(found, samples.central_differences(moved, residual.nv))


@pytest.mark.parametrize("kind", ["tilted", "ceiling", "sphere", "cylinder"])
@pytest.mark.parametrize("name", ["wheels", "wheels+points", "spider", "robosimian planar"])
def test_displacements(name, kind):
    """The derivative of the material points' displacements, with rolling spheres and curvature."""
    residual, q, w = samples.residual_at(samples.robot(name), kind, samples.CONE, seed=4)
    residual.evaluate(q, w)
    residual.contact.kinematics()
    found = residual.contact.displacement_jacobian().copy()

    def moved(dq):
        residual.evaluate(residual.retract(q, dq), w)
        return residual.contact.displacements()

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


@pytest.mark.parametrize("name", ["robosimian planar", "wheels", "chain free-flyer"])
def test_velocity(name):
    """dv/dq of v = difference(q0, q) / h."""
    residual, q, w = samples.residual_at(samples.robot(name), "flat", samples.CONE, seed=4)
    residual.evaluate(q, w)
    D = residual.velocity_derivative()
    found = np.eye(residual.nv) / residual.h if D is None else D.copy()

    def moved(dq):
        residual.evaluate(residual.retract(q, dq), w)
        return residual.v.copy()

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


def test_kinetic_energy_is_pinocchios():
    """K of the kinetic objective is pinocchio's kinetic energy of (q, v)."""
    residual, q, w = samples.residual_at(samples.robot("spider"), "flat", samples.CONE, seed=4)
    residual.evaluate(q, w)
    data = residual.model.createData()
    expected = pin.computeKineticEnergy(residual.model, data, q, residual.v)
    assert OBJECTIVES["kinetic"](residual).value() == pytest.approx(expected, rel=1e-12)


def test_residual_is_newton_euler():
    """Without command and contact G is RNEA at (q, v, a), term by term."""
    robot = samples.robot("wheels")
    residual, q, w = samples.residual_at(robot, "flat", samples.CONE, seed=9)
    q0, v0, h = residual.q0, residual.v0, residual.h
    residual.begin(State(0.0, q0, v0), Command(), h)
    G = residual.evaluate(q, np.zeros_like(w))
    v = pin.difference(robot.model, q0, q) / h
    expected = pin.rnea(robot.model, robot.model.createData(), q, v, (v - v0) / h)
    np.testing.assert_allclose(G, expected, rtol=1e-12, atol=1e-9)
