"""Broyden's estimate of how vertices change, and the zeroth-order steps that use it."""

import core_samples as samples
import numpy as np
import pytest

from nmdp_pin._contact.friction_cone import RECOVERY
from nmdp_pin._kernels.step.stage import evaluate
from nmdp_pin._kernels.step.vertex_secants import clear_slopes, learn_slopes
from nmdp_pin._scenario import Scenario

PROBLEM, Q, W = samples.problem_at(
    samples.robot("wheels"), "flat", samples.CONE, seed=0, zeroth_order=True
)
FORM, CONTACTS = PROBLEM.form, PROBLEM.stage.contacts
N, ROWS, M = FORM.n_contacts, FORM.record.rows, FORM.m
ROUNDING = 1e-12  # of derivatives of the order of 1, from differences over moves of 1
# First and zeroth order solve the same equations to 1e-8 of the weight in G: measured below 2e-10
# in q and v h, and below 5e-8 of the weight in the net force.
TIGHT = {"vi_newton.tolerance": 1e-8, "vi_newton.slip": 1e-6}  # of the weight, [m/s]
MOTION = 1e-8  # [m, rad]
FORCE = 1e-6  # of the weight
SAVED = 2.0  # factor on outer iterations at 20 ms that secants save at least
ZETA = 1e-4  # of the papers' engine; cones with one keep weights, whose derivative is left out


class Linear:
    """V(x) = V0 + T x for each contact."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.V0 = rng.standard_normal((N, ROWS, M))
        self.T = rng.standard_normal((N, ROWS, M, 3))
        self.w = rng.uniform(0.0, 1.0, (N, M))
        self.rng = rng

    def __call__(self, x):
        return self.V0 + np.einsum("nrmx,nx->nrm", self.T, x)

    def derivative(self):
        return np.einsum("nrmx,nm->nrx", self.T, self.w)

    def path(self, length):
        return np.cumsum(self.rng.standard_normal((length, N, 3)), axis=0)


def point(x, V, before=None):
    """A point with contacts and vertices at x, that has learnt from the point before."""
    at = FORM.new_point()
    at.places.centre[:], at.V[:N] = x, V
    if before is not None:
        learn_slopes(CONTACTS, before, at)
    return at


def learnt(V, path):
    """The last point of a path, each of which has learnt from the one before."""
    at = None
    for x in path:
        at = point(x, V(x), at)
    return at


def derivative(at, w):
    """The estimate of d(V w)/dx."""
    return np.einsum("nrmx,nm->nrx", at.slopes, w)


def test_at_first_nothing_is_known():
    """After one point the derivative is zero; what was learnt is left as it was by more points."""
    first = FORM.new_point()
    first.slopes[:] = 1.0
    first.q[:], first.w[:] = Q, W
    evaluate(FORM.record, PROBLEM.stage, first, True)
    clear_slopes(first)
    assert first.n_active[1] > 0
    assert not first.slopes.any()
    V = Linear()
    x = V.path(2)
    second = point(x[0], V(x[0]), first)
    kept = second.slopes.copy()
    assert kept.any()
    assert point(x[1], V(x[1]), second).slopes.any()
    assert not first.slopes.any()
    np.testing.assert_array_equal(second.slopes, kept)


@pytest.mark.parametrize("seed", range(5))
def test_secant_condition(seed):
    """T (x1 - x0) = V1 - V0 after every move, also where V is not linear at all."""
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.standard_normal((9, N, 3)), axis=0)
    V = rng.standard_normal((9, N, ROWS, M))
    at = point(x[0], V[0])
    for k in range(1, 9):
        at = point(x[k], V[k], at)
        w = rng.uniform(0.0, 1.0, (N, M))
        found = (derivative(at, w) @ (x[k] - x[k - 1])[:, :, None])[:, :, 0]
        expected = ((V[k] - V[k - 1]) @ w[:, :, None])[:, :, 0]
        np.testing.assert_allclose(found, expected, atol=1e2 * ROUNDING)


def test_least_change():
    """A move teaches nothing about the directions across it."""
    rng = np.random.default_rng(0)
    x, V = np.zeros((N, 3)), rng.standard_normal((3, N, ROWS, M))
    before = point(x + np.eye(3)[0], V[1], point(x, V[0]))
    after = point(x + np.array([1.0, 2.0, 0.0]), V[2], before)
    before, after = (derivative(at, np.ones((N, M))) for at in (before, after))
    np.testing.assert_allclose(after[:, :, 0], before[:, :, 0], atol=ROUNDING)
    assert not after[:, :, 2].any()
    assert after[:, :, 1].any()


def test_three_moves_across_each_other_tell_all():
    """A linear V is known after three moves at right angles."""
    V = Linear()
    turned = np.linalg.qr(V.rng.standard_normal((N, 3, 3)))[0]
    moves = [np.zeros((N, 3)), *(0.5 * turned[:, :, k] for k in range(3))]
    at = learnt(V, np.cumsum(moves, axis=0))
    np.testing.assert_allclose(derivative(at, V.w), V.derivative(), atol=ROUNDING)


def test_moves_in_general_approach_a_linear_model():
    """Along any moves the error of the estimate never rises, and goes to zero."""
    V, at, errors = Linear(), None, []
    for x in V.path(60):
        at = point(x, V(x), at)
        errors.append(np.linalg.norm(at.slopes - V.T))
    assert np.diff(errors).max() <= ROUNDING
    assert errors[-1] <= 1e-3 * errors[0]


@pytest.mark.parametrize("move", [0.0, 1e-11])
def test_tiny_moves_teach_nothing(move):
    """Differences over less than 1e-10 m are rounding, and are left out: contact by contact."""
    V = Linear()
    x = V.path(2)
    at = learnt(V, x)
    known = derivative(at, V.w)
    near, rng = x[1] + move, np.random.default_rng(1)
    near[0] += 0.1  # one contact that does move
    found = derivative(point(near, V(near) + rng.standard_normal((N, ROWS, M)), at), V.w)
    np.testing.assert_array_equal(found[1:], known[1:])
    assert not np.allclose(found[0], known[0])


def jump(method, dt, *, secants=True, recovery=RECOVERY, zeta=0.0):
    """Robosimian's jump by that method, with the dissipation principle."""
    options = {"name": f'"{method}"', "order": 1, "dt": dt} | TIGHT
    if not secants:
        options["secants"] = "false"
    overrides = [f"integrator.{key}={value}" for key, value in options.items()]
    overrides += [f"contact.recovery={recovery}", f"contact.zeta={zeta}"]
    return Scenario.load("robosimian-jump-paper", overrides=overrides).build(visuals=False)


@pytest.mark.parametrize("dt", [0.01, 0.05])
@pytest.mark.parametrize("form", ["ne", "pbd"])
def test_zeroth_order_converges_to_the_solution_of_first_order(form, dt):
    """The contact model's derivative is the way, not the goal: q, v and the net force agree."""
    first, zeroth = jump(f"{form}-nmdp", dt), jump(f"{form}-zonmdp", dt)
    weight = first.simulator.integrator.form.tree.weight
    state, pushed = first.state, 0
    for _ in range(round(1.0 / dt)):
        command = first.controller.command(state, dt)
        exact = first.simulator.step(state, command, dt)
        found = zeroth.simulator.step(state, command, dt)
        assert found.status.ok
        assert found.halvings == exact.halvings == 0
        np.testing.assert_allclose(found.state.q, exact.state.q, atol=MOTION)
        np.testing.assert_allclose(found.state.v, exact.state.v, atol=MOTION / dt)
        net = found.contact_forces.sum(axis=0) - exact.contact_forces.sum(axis=0)
        assert np.abs(net).max() <= FORCE * weight
        pushed += exact.contact_forces.any()
        state = exact.state
    assert pushed > 5


def test_without_secants_the_solution_is_the_same_and_takes_longer():
    """The papers' zeroth order, which leaves the derivative out: at 20 ms, where it converges.

    Of forces nothing is left out but the turning of their frames.
    """
    dt, iterations = 0.02, {True: 0, False: 0}
    setups = {
        secants: jump("ne-zonmdp", dt, secants=secants, recovery=0.0, zeta=ZETA)
        for secants in iterations
    }
    state, compared = setups[True].state, 0
    for _ in range(50):
        command = setups[True].controller.command(state, dt)
        found = {s: setup.simulator.step(state, command, dt) for s, setup in setups.items()}
        for secants, result in found.items():
            iterations[secants] += result.iterations
        if found[False].status.ok and not found[False].halvings:
            compared += 1
            np.testing.assert_allclose(found[False].state.q, found[True].state.q, atol=MOTION)
        state = found[True].state
    assert compared > 40
    assert iterations[False] > SAVED * iterations[True]
