"""Quadratic programs over simplices: both solvers against SciPy, each other and optimality."""

import sys

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from nmdp_pin.errors import MissingExtra
from nmdp_pin.papers.methods.simplex_qp import SimplexQP

SOLVERS = ("proxqp", "daqp")
# ProxQP stops at KKT residuals of 1e-9 of the problem scaled to a diagonal of at most 1.
OPTIMAL = 1e-7
TINY = 1e-6  # relative: what ProxQP leaves of the scaled problem


@pytest.fixture(params=SOLVERS)
def solver(request):
    return request.param


def problem(rng, n_blocks=3, block_size=4, condition=1e3):
    """A random strongly convex problem and a feasible start."""
    n = n_blocks * block_size
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    H = Q @ np.diag(np.geomspace(1.0, condition, n)) @ Q.T
    H = 0.5 * (H + H.T)
    x0 = rng.dirichlet(np.ones(block_size + 1), size=n_blocks)[:, :block_size].ravel()
    return H, 0.3 * condition * rng.standard_normal(n), x0


def gap(H, g, x0, x, block_size):
    """How much the linearised objective can still fall from x, relative to its scale."""
    gradient = (g + H @ (x - x0)).reshape(-1, block_size)
    blocks = x.reshape(-1, block_size)
    least = np.minimum(gradient.min(axis=1), 0.0)
    return ((blocks * gradient).sum(axis=1) - least).sum() / H.diagonal().max()


@pytest.mark.parametrize("seed", range(8))
def test_random_problems(seed, solver):
    """The minimiser has no direction of descent left, and is feasible to the last bit."""
    rng = np.random.default_rng(seed)
    n_blocks, block_size = rng.integers(1, 6), rng.integers(1, 9)
    H, g, x0 = problem(rng, n_blocks, block_size, condition=10.0 ** rng.uniform(0, 4))
    x = SimplexQP(n_blocks, block_size, solver).solve(H, g, x0)
    assert x.min() >= 0.0
    assert x.reshape(n_blocks, -1).sum(axis=1).max() <= 1.0
    assert gap(H, g, x0, x, block_size) <= OPTIMAL


@pytest.mark.parametrize("seed", range(4))
def test_against_scipy(seed, solver):
    """SciPy's SLSQP finds the same minimiser."""
    H, g, x0 = problem(np.random.default_rng(seed), condition=30.0)
    x = SimplexQP(3, 4, solver).solve(H, g, x0)
    reference = minimize(
        lambda x: g @ (x - x0) + 0.5 * (x - x0) @ H @ (x - x0),
        x0,
        jac=lambda x: g + H @ (x - x0),
        method="SLSQP",
        bounds=[(0.0, None)] * 12,
        constraints=[LinearConstraint(np.kron(np.eye(3), np.ones((1, 4))), -np.inf, 1.0)],
        options={"ftol": 1e-14, "maxiter": 300},
    )
    np.testing.assert_allclose(x, reference.x, atol=1e-6)  # sqrt of SLSQP's tolerance on the value


@pytest.mark.parametrize("seed", range(5))
def test_the_solvers_agree(seed):
    """ProxQP and DAQP find one minimiser."""
    H, g, x0 = problem(np.random.default_rng(100 + seed), 4, 6)
    found = [SimplexQP(4, 6, solver).solve(H, g, x0) for solver in SOLVERS]
    np.testing.assert_allclose(found[0], found[1], atol=OPTIMAL * 1e3)  # times the condition


def test_history_free(solver):
    """The same bits whatever was solved before, failures and ill-scaled problems among it."""
    rng = np.random.default_rng(0)
    H, g, x0 = problem(rng, 4, 6)
    fresh = SimplexQP(4, 6, solver).solve(H, g, x0)
    used = SimplexQP(4, 6, solver)
    for k in range(10):
        other = problem(rng, 4, 6, condition=10.0**k)
        used.solve(*other)
    used.solve(-np.eye(24) + 2.0 * np.diag([1.0] + [0.0] * 23), np.ones(24), x0)
    used.solve(np.full((24, 24), np.nan), g, x0)
    used.solve(1e-12 * H, 1e9 * g, x0)
    assert np.array_equal(used.solve(H, g, x0), fresh)
    assert np.array_equal(used.solve(H, g, x0), fresh)


def test_arguments_are_left_alone(solver):
    """Neither H nor g nor x0 is written, and the result is not overwritten by the next solve."""
    H, g, x0 = problem(np.random.default_rng(0))
    copies = H.copy(), g.copy(), x0.copy()
    qp = SimplexQP(3, 4, solver)
    x = qp.solve(H, g, x0)
    kept = x.copy()
    qp.solve(H, -g, x0)
    assert np.array_equal(x, kept)
    assert all(np.array_equal(a, b) for a, b in zip((H, g, x0), copies, strict=True))


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_scale_does_not_matter(scale, solver):
    """Objective in other units, same minimiser."""
    H, g, x0 = problem(np.random.default_rng(3))
    qp = SimplexQP(3, 4, solver)
    np.testing.assert_allclose(qp.solve(scale * H, scale * g, x0), qp.solve(H, g, x0), atol=1e-6)


def test_contacts_that_are_apart_keep_their_weights(solver):
    """Blocks that nothing acts on stay to the bit, and the others are solved for without them."""
    H, g, x0 = problem(np.random.default_rng(3), n_blocks=2)
    acting = np.r_[0:4, 8:12]
    larger, gradient, start = np.eye(12), np.zeros(12), np.full(12, 0.2)
    larger[np.ix_(acting, acting)], gradient[acting], start[acting] = H, g, x0
    x = SimplexQP(3, 4, solver).solve(larger, gradient, start)
    assert np.array_equal(x[4:8], start[4:8])
    assert np.array_equal(x[acting], SimplexQP(2, 4, solver).solve(H, g, x0))
    assert np.array_equal(SimplexQP(3, 4, solver).solve(np.eye(12), np.zeros(12), start), start)


def test_a_block_at_rest_outside_its_simplex_is_solved_for(solver):
    """Nothing acts on it, but it cannot stay."""
    qp = SimplexQP(2, 2, solver)
    x = qp.solve(np.diag([1.0, 2.0, 1.0, 1.0]), np.zeros(4), np.array([-1.0, 0.4, 0.2, 0.2]))
    np.testing.assert_allclose(x, [0.0, 0.4, 0.2, 0.2], atol=1e-8)


def test_tiny_weights_are_solved_for(solver):
    """A contact deep in hard ground: weights far below the solver's tolerance are not left as 0."""
    rng = np.random.default_rng(3)
    H, _, _ = problem(rng, condition=10.0)
    start, target = 1e-10 * rng.uniform(0.5, 1.5, (2, 12))
    x = SimplexQP(3, 4, solver).solve(H, H @ (start - target), start)
    np.testing.assert_allclose(x, target, rtol=TINY)


def test_tiny_weights_from_nothing(solver):
    """Also where all weights are zero at first and some stay so."""
    target = 1e-10 * np.array([0.0, 0.7, 1.3, 0.0, 0.4, 0.9])
    x = SimplexQP(2, 3, solver).solve(np.eye(6), -target, np.zeros(6))
    np.testing.assert_allclose(x, target, rtol=TINY, atol=TINY * target.max())


def test_a_tiny_slope_along_a_soft_direction(solver):
    """Where it would lead to a weight of 100 the sum is what bounds it, in any unit."""
    H, g = np.diag([1.0, 1e-9]), np.array([0.0, -1e-7])
    x = SimplexQP(1, 2, solver).solve(H, g, np.zeros(2))
    np.testing.assert_allclose(x, [0.0, 1.0], atol=1e-6)


def test_ill_scaled_blocks(solver):
    """Contacts that differ by 1e6 in curvature: the soft one is still solved."""
    curvature = np.repeat([1.0, 1e-6], 4)
    target = np.array([0.1, 0.2, 0.3, 0.1, 0.3, 0.1, 0.2, 0.1])
    x0 = np.zeros(8)
    H = np.diag(curvature)
    x = SimplexQP(2, 4, solver).solve(H, -curvature * target, x0)
    # ProxQP's residuals of 1e-9 leave 1e-9 / 1e-6 in the soft block
    np.testing.assert_allclose(x, target, atol=3e-3)


def test_start_outside_the_simplices(solver):
    """A start that is not feasible is no obstacle."""
    H, g, x0 = problem(np.random.default_rng(3))
    x = SimplexQP(3, 4, solver).solve(H, g, x0 + 2.0)
    assert x.min() >= 0.0
    assert gap(H, g, x0 + 2.0, x, 4) <= OPTIMAL


def test_corners(solver):
    """The ends of the simplex: all weights zero, and one weight one."""
    qp = SimplexQP(2, 3, solver)
    x0 = np.full(6, 0.2)
    np.testing.assert_allclose(qp.solve(np.eye(6), np.full(6, 9.0), x0), 0.0, atol=1e-8)
    g = np.tile([-9.0, 3.0, 3.0], 2)
    np.testing.assert_allclose(qp.solve(np.eye(6), g, x0), np.tile([1.0, 0, 0], 2), atol=1e-8)


@pytest.mark.parametrize("shape", [(0, 6), (3, 0)])
def test_no_variables(shape, solver):
    """Without variables the minimiser is the empty vector."""
    x = SimplexQP(*shape, solver).solve(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    assert x.shape == (0,)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["H", "diagonal", "g", "x0"])
def test_not_finite(where, value, solver):
    """A problem that is not finite has no minimiser (ProxQP alone would never return)."""
    H, g, x0 = problem(np.random.default_rng(0))
    if where == "H":
        H[1, 2] = H[2, 1] = value
    elif where == "diagonal":
        H[3, 3] = value
    else:
        {"g": g, "x0": x0}[where][2] = value
    with np.errstate(invalid="ignore"):
        assert SimplexQP(3, 4, solver).solve(H, g, x0) is None


def test_no_curvature(solver):
    """H = 0 is not positive definite: at once no minimiser, or a feasible one."""
    qp = SimplexQP(3, 4, solver)
    x = qp.solve(np.zeros((12, 12)), np.ones(12), np.full(12, 0.2))
    assert x is None or np.array_equal(qp.clip(x), x)


def test_daqp_is_an_extra(monkeypatch):
    """Where it is missing, the error names the extra before any step."""
    monkeypatch.setitem(sys.modules, "daqp", None)
    assert SimplexQP(3, 4, "proxqp")
    with pytest.raises(MissingExtra, match=r"nmdp-pin\[qp\]"):
        SimplexQP(3, 4, "daqp")


def test_clip():
    """Clipping is idempotent and leaves feasible points as they are."""
    qp = SimplexQP(2, 3)
    x = qp.clip(np.array([-1e-9, 0.5, 0.500001, 0.1, 0.2, 0.3]))
    assert x.min() == 0.0
    assert x[:3].sum() <= 1.0
    assert np.array_equal(x[3:], [0.1, 0.2, 0.3])
    assert np.array_equal(qp.clip(x), x)
