"""Broyden's estimate of how vertices change, and the zeroth-order steps that use it."""

import numpy as np
import pytest

from nmdp_pin.dynamics.vertex_secant import VertexSecant
from nmdp_pin.scenario import Scenario

N, ROWS, M = 4, 3, 6
ROUNDING = 1e-12  # of derivatives of the order of 1, from differences over moves of 1
# First and zeroth order solve the same equations to 1e-8 of the weight in G: measured below 2e-10
# in q and v h, and below 5e-8 of the weight in the net force.
MOTION = 1e-8  # [m, rad]
FORCE = 1e-6  # of the weight
SAVED = 2.0  # factor on outer iterations at 20 ms that secants save at least; measured 7


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


def learnt(V, path):
    """The estimate after the points of a path."""
    secant = None
    for x in path:
        secant = VertexSecant.learnt(secant, x, V(x))
    return secant


def test_at_first_nothing_is_known():
    """After one point the derivative is zero; what was learnt is left as it was by more points."""
    V = Linear()
    x = V.path(3)
    first = learnt(V, x[:1])
    assert not first.derivative(V.w).any()
    second = VertexSecant.learnt(first, x[1], V(x[1]))
    kept = second.derivative(V.w)
    assert kept.any()
    VertexSecant.learnt(second, x[2], V(x[2]))
    assert not first.derivative(V.w).any()
    np.testing.assert_array_equal(second.derivative(V.w), kept)


@pytest.mark.parametrize("seed", range(5))
def test_secant_condition(seed):
    """T (x1 - x0) = V1 - V0 after every move, also where V is not linear at all."""
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.standard_normal((9, N, 3)), axis=0)
    V = rng.standard_normal((9, N, ROWS, M))
    secant = VertexSecant.learnt(None, x[0], V[0])
    for k in range(1, 9):
        secant = VertexSecant.learnt(secant, x[k], V[k])
        w = rng.uniform(0.0, 1.0, (N, M))
        found = (secant.derivative(w) @ (x[k] - x[k - 1])[:, :, None])[:, :, 0]
        expected = ((V[k] - V[k - 1]) @ w[:, :, None])[:, :, 0]
        np.testing.assert_allclose(found, expected, atol=1e2 * ROUNDING)


def test_least_change():
    """A move teaches nothing about the directions across it."""
    rng = np.random.default_rng(0)
    x = np.zeros((N, 3))
    secant = VertexSecant.learnt(None, x, rng.standard_normal((N, ROWS, M)))
    secant = VertexSecant.learnt(secant, x + np.eye(3)[0], rng.standard_normal((N, ROWS, M)))
    before = secant.derivative(np.ones((N, M)))
    there = x + np.array([1.0, 2.0, 0.0])
    after = VertexSecant.learnt(secant, there, rng.standard_normal((N, ROWS, M)))
    after = after.derivative(np.ones((N, M)))
    np.testing.assert_allclose(after[:, :, 0], before[:, :, 0], atol=ROUNDING)
    assert not after[:, :, 2].any()
    assert after[:, :, 1].any()


def test_three_moves_across_each_other_tell_all():
    """A linear V is known after three moves at right angles."""
    V = Linear()
    turned = np.linalg.qr(V.rng.standard_normal((N, 3, 3)))[0]
    moves = [np.zeros((N, 3)), *(0.5 * turned[:, :, k] for k in range(3))]
    secant = learnt(V, np.cumsum(moves, axis=0))
    np.testing.assert_allclose(secant.derivative(V.w), V.derivative(), atol=ROUNDING)


def test_moves_in_general_approach_a_linear_model():
    """Along any moves the error of the estimate never rises, and goes to zero."""
    V, secant, errors = Linear(), None, []
    for x in V.path(60):
        secant = VertexSecant.learnt(secant, x, V(x))
        errors.append(np.linalg.norm(secant.T - V.T))
    assert np.diff(errors).max() <= ROUNDING
    assert errors[-1] <= 1e-3 * errors[0]


@pytest.mark.parametrize("move", [0.0, 1e-11])
def test_tiny_moves_teach_nothing(move):
    """Differences over less than 1e-10 m are rounding, and are left out: contact by contact."""
    V = Linear()
    x = V.path(2)
    secant = learnt(V, x)
    known = secant.derivative(V.w)
    near, rng = x[1] + move, np.random.default_rng(1)
    near[0] += 0.1  # one contact that does move
    secant = VertexSecant.learnt(secant, near, V(near) + rng.standard_normal((N, ROWS, M)))
    found = secant.derivative(V.w)
    np.testing.assert_array_equal(found[1:], known[1:])
    assert not np.allclose(found[0], known[0])


def jump(method, dt, *, secants=True):
    """Robosimian's jump by that method, with the dissipation principle."""
    options = {"name": f'"{method}"', "order": 1, "dt": dt}
    if not secants:
        options["secants"] = "false"
    overrides = [f"integrator.{key}={value}" for key, value in options.items()]
    return Scenario.load("robosimian-jump", overrides=overrides).build(visuals=False)


@pytest.mark.parametrize("dt", [0.01, 0.05])
@pytest.mark.parametrize("form", ["ne", "pbd"])
def test_zeroth_order_converges_to_the_solution_of_first_order(form, dt):
    """The contact model's derivative is the way, not the goal: q, v and the net force agree."""
    first, zeroth = jump(f"{form}-nmdp", dt), jump(f"{form}-zonmdp", dt)
    weight = first.simulator.integrator.form.weight
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
    """The papers' zeroth order, which leaves the derivative out: at 20 ms, where it converges."""
    dt, iterations = 0.02, {True: 0, False: 0}
    setups = {secants: jump("ne-zonmdp", dt, secants=secants) for secants in iterations}
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
