"""The maximal dissipation principle: its work and derivative, and what a solved step fulfils."""

import core_samples as samples
import numpy as np
import physics_scenes
import pinocchio as pin
import pytest
from physics_experiments import stopping_distance
from physics_scenes import order
from test_contact_terms import Glue

from nmdp_pin.contact import FrictionCone
from nmdp_pin.control import StablePD
from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.integrators import INTEGRATORS
from nmdp_pin.state import State
from nmdp_pin.status import Status
from nmdp_pin.terrain import Plane, Terrain

SPACES = {"forces": samples.CONE, "wrenches": Glue()}
ROBOTS = ("robosimian planar", "spider free-flyer", "wheels", "wheels+points", "chain fixed")
ROUNDING = 1e-12  # [m] and [J] of works of the order of 1
# [m] for 1 N: the solver stops where the gap is 1e-6 m, or 1e-3 m/s^2 h^2, times the weight.
LEFT = 1.01e-6
STEPS = (1e-3, 2e-3, 5e-3, 1e-2)  # [s]
# [m] by which four methods differ on the way of a sliding box over 0.1 m, over the step [s]: the
# explicit one lets the box land at first. Measured 0.07 at 10 ms.
APART = 0.1


@pytest.fixture(params=SPACES)
def space(request):
    """A model of three rows, and one of six."""
    return SPACES[request.param]


@pytest.fixture(params=sorted(samples.FORMS))
def form(request):
    """Each form of the dynamics."""
    return samples.FORMS[request.param]


def evaluated(name, kind, space, form=samples.FORMS["ne"], second_order=False, seed=4):
    """A residual in contact at a random point, linearised."""
    residual, q, w = samples.residual_at(
        samples.robot(name), kind, space, seed, form=form, second_order=second_order
    )
    residual.evaluate(q, w)
    residual.linearise()
    return residual, q, w


@pytest.mark.parametrize("second_order", [False, True])
@pytest.mark.parametrize("kind", ["tilted", "sphere"])
@pytest.mark.parametrize("name", ROBOTS)
def test_motions(name, kind, space, second_order):
    """`motion_jacobian` is the derivative of `motions`, the turns' rows included."""
    residual, q, w = evaluated(name, kind, space, second_order=second_order)
    residual.contact.kinematics()
    found = residual.contact.motion_jacobian().copy()
    assert found.shape == (len(w), space.rows, residual.nv)

    def moved(dq):
        residual.evaluate(residual.retract(q, dq), w)
        return residual.contact.motions()

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


def test_turns_are_the_axis_times_the_sine():
    """The rows of the turn, for a body that turned by a known angle about a known axis."""
    residual, _, w = evaluated("wheels", "flat", Glue())
    axis, angle = np.array([0.6, 0.0, 0.8]), 0.9
    start = residual.q0.copy()
    turned = start.copy()
    base = pin.Quaternion(start[3:7]).toRotationMatrix()
    turned[3:7] = pin.Quaternion(pin.exp3(angle * axis) @ base).coeffs()
    residual.evaluate(turned, w)
    motions = residual.contact.motions()
    np.testing.assert_allclose(
        motions[:, 3:], np.tile(np.sin(angle) * axis, (len(w), 1)), atol=1e-9
    )
    residual.evaluate(start, w)
    np.testing.assert_allclose(residual.contact.motions(), 0.0, atol=ROUNDING)


@pytest.mark.parametrize("name", ROBOTS)
def test_work_is_that_of_the_vertices(name, space, form):
    """The work is linear in the weights: w'g is the wrenches' work over the motions."""
    residual, _, w = evaluated(name, "sphere", space, form)
    contact = residual.contact
    g = Dissipation(residual).work()
    assert g.shape == (w.size,)
    expected = sum(
        float(wrench @ motion)
        for wrench, motion in zip(
            (contact.V @ w[:, :, None])[:, :, 0], contact.motions(), strict=True
        )
    )
    assert w.ravel() @ g == pytest.approx(expected, abs=ROUNDING)
    assert abs(expected) > 1e-6


@pytest.mark.parametrize("kind", ["tilted", "cylinder"])
@pytest.mark.parametrize("name", ROBOTS)
def test_derivative(name, kind, space, form):
    """V' du/dq against central differences of the motions, V being held as the method says."""
    residual, q, w = evaluated(name, kind, space, form)
    principle = Dissipation(residual)
    found = principle.derivative().copy()
    V = residual.contact.V.copy()

    def moved(dq):
        residual.evaluate(residual.retract(q, dq), w)
        return (residual.contact.motions()[:, None, :] @ V).ravel()

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


def test_what_is_left_out_of_the_derivative_vanishes_at_rest():
    """Where nothing moved dV/dq does no work, and the derivative is exact."""
    residual, _, w = evaluated("wheels", "sphere", samples.CONE)
    q = residual.q0
    centres = samples.centres(samples.robot("wheels"), q)
    ground = samples.ground_through("sphere", centres)
    residual = samples.FORMS["ne"](samples.robot("wheels"), ground, samples.CONE)
    residual.begin(State(0.0, q, np.zeros(residual.nv)), samples.Command(), 0.05)
    residual.evaluate(q, w)
    residual.linearise()
    principle = Dissipation(residual)
    found = principle.derivative().copy()

    def moved(dq):
        residual.evaluate(residual.retract(q, dq), w)
        return principle.work()

    samples.assert_same(found, samples.central_differences(moved, residual.nv))


def steps(method, dt, n, **options):
    """Starts, commands and results of Robosimian's jump from standing at kp = 1000."""
    robot = samples.robot("robosimian planar")
    integrator = INTEGRATORS[method](
        robot, Terrain([Plane(height=-0.8)]), FrictionCone(stiffness=1e6, power=2), **options
    )
    control = StablePD(robot, kp=1000.0, kd=1.0, gait="jump")
    state = State(0.0, robot.standing, np.zeros(15))
    for _ in range(n):
        command = control.command(state, dt)
        result = integrator.step(state, command, dt)
        assert result.status is Status.CONVERGED
        yield integrator, state, command, result
        state = result.state


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dt", [0.005, 0.05])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "ne-zonmdp"])
def test_the_solution_fulfils_the_principle(method, dt, order):
    """No feasible weights would save work, and contact forces do none: they only take."""
    rng, touched = np.random.default_rng(0), 0
    for integrator, start, command, result in steps(method, dt, round(1.0 / dt), order=order):
        residual = integrator.residual
        residual.begin(start, command, dt, second_order=order == 2)
        w = result.state.warm.w
        residual.evaluate(result.state.q, w)
        g = Dissipation(residual).work().reshape(w.shape)
        tolerance = LEFT * residual.weight
        for _ in range(20):
            other = samples.weights(*w.shape, rng)
            assert np.vdot(g, other - w) >= -tolerance
        for corner in range(w.shape[1]):
            other = np.zeros_like(w)
            other[:, corner] = 1.0
            assert np.vdot(g, other - w) >= -tolerance
        works = (w * g).sum(axis=1)
        assert works.max() <= tolerance
        touched += bool(residual.contact.touching.any())
    assert touched > 5


@pytest.mark.parametrize("mu", [0.5, 1.0])
def test_a_sliding_box_is_the_same_by_every_objective_as_the_step_goes_to_zero(mu, monkeypatch):
    """As h -> 0 the principle is MDP: all four methods slide as far, to first order."""
    methods = {
        "dissipation": ("ne-nmdp", {"objective": "dissipation"}),
        "kinetic": ("ne-nmdp", {"objective": "kinetic"}),
        "end_effector": ("ne-nmdp", {"objective": "end_effector"}),
        "ne-mdp": ("ne-mdp", {}),
    }
    monkeypatch.setattr(physics_scenes, "METHODS", methods)
    exact = 1.0 / (2.0 * mu * 9.81)
    ways = np.array([[stopping_distance(m, mu, h) for h in STEPS] for m in methods])
    assert (np.ptp(ways, axis=0) / STEPS).max() < APART
    assert order(STEPS, ways[0] - exact) == pytest.approx(1.0, abs=0.05)
    # Implicit steps agree far better than that: the objective decides nothing here.
    assert np.ptp(ways[:3], axis=0).max() < 1e-5
