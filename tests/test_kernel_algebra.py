"""Linear algebra of the kernels against numpy's and SciPy's."""

import numpy as np
import pytest
import scipy.linalg
from scipy.interpolate import PPoly

from nmdp_pin.kernels import cubic, dense, linear, stage_response, vector3
from nmdp_pin.kernels.newton import CONVERGED, SINGULAR, block_scales, josephy_newton
from nmdp_pin.kernels.newton import newton_direction as direction

ROUNDING = 1e-12  # of systems of up to seven equations with conditions below 100
INEQUALITY = 1e-10  # of works of size 10 from the same systems
SIZES = range(1, 8)


def definite(rng, n):
    """A random symmetric matrix with eigenvalues from 1 to 10."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return Q @ np.diag(np.linspace(1.0, 10.0, n)) @ Q.T


def regular(rng, n):
    """A random matrix with zeros, whose largest numbers are not on the diagonal."""
    A = definite(rng, n)[rng.permutation(n)]
    A[rng.random((n, n)) < 0.2] = 0.0
    return A if np.linalg.cond(A) < 100.0 else regular(rng, n)


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_reads_and_writes_the_upper_triangle(n):
    """U'U = A, and below the diagonal all stays as it is."""
    A = definite(np.random.default_rng(n), n)
    U = np.where(np.tri(n, k=-1), np.nan, A)
    assert dense.cholesky(U)
    assert np.triu(U) == pytest.approx(scipy.linalg.cholesky(A), abs=ROUNDING)
    assert np.isnan(U[np.tril_indices(n, -1)]).all()


@pytest.mark.parametrize("last", [0.0, -1.0, np.nan, np.inf])
def test_cholesky_refuses_what_is_not_positive_definite(last):
    """A pivot that is zero, negative or not finite."""
    A = np.diag([2.0, 1.0, last])
    assert not dense.cholesky(A)
    assert not dense.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("n", SIZES)
def test_triangular_systems(n):
    """Solutions with U and U', of one and of several right sides."""
    rng = np.random.default_rng(n)
    U = np.ascontiguousarray(scipy.linalg.cholesky(definite(rng, n)))
    x, X = rng.standard_normal(n), rng.standard_normal((n, n))
    for kernel, matrix in ((dense.solve_upper, U), (dense.solve_upper_transposed, U.T)):
        found = x.copy()
        kernel(U, found)
        assert found == pytest.approx(np.linalg.solve(matrix, x), abs=ROUNDING)
    found = X.copy()
    dense.solve_upper_transposed_rows(U, found)
    assert found == pytest.approx(np.linalg.solve(U.T, X), abs=ROUNDING)


def test_gram_matrix_is_added_to_the_upper_triangle():
    """H += factor X'X, and nothing below the diagonal."""
    rng = np.random.default_rng(0)
    X, before = rng.standard_normal((2, 5, 5))
    X[1, 2:4] = 0.0, -2.0
    H = before.copy()
    dense.add_gram(X, -0.5, H)
    assert np.triu(H) == pytest.approx(np.triu(before - 0.5 * X.T @ X), abs=ROUNDING)
    assert np.array_equal(np.tril(H, -1), np.tril(before, -1))


def test_pivot_ratio():
    """Largest over smallest absolute value on the diagonal; infinite where one is zero."""
    factor = np.full((3, 3), 99.0)
    for diagonal, ratio in (
        ([-2.0, 8.0, 4.0], 4.0),
        ([0.1, -0.2, 0.4], 4.0),
        ([0.0, 1.0, 2.0], np.inf),
    ):
        np.fill_diagonal(factor, diagonal)
        assert dense.pivot_ratio(factor) == ratio


def test_copies():
    """All entries are copied."""
    rng = np.random.default_rng(0)
    A, a, B, b = rng.standard_normal((3, 4)), rng.standard_normal(5), np.zeros((3, 4)), np.zeros(5)
    dense.copy_matrix(A, B)
    dense.copy_vector(a, b)
    assert np.array_equal(A, B)
    assert np.array_equal(a, b)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", SIZES)
def test_lu_is_lapacks(n, seed):
    """Factors, pivots and the solutions of several right sides."""
    rng = np.random.default_rng(seed)
    A, B = regular(rng, n), rng.standard_normal((n, 3))
    LU, pivots = A.copy(), np.empty(n, np.int64)
    assert linear.lu_factor(LU, pivots)
    expected, rows = scipy.linalg.lu_factor(A)
    assert np.array_equal(pivots, rows)
    assert pytest.approx(expected, abs=ROUNDING) == LU
    X = B.copy()
    linear.lu_solve(LU, pivots, X)
    assert pytest.approx(np.linalg.solve(A, B), abs=ROUNDING) == X


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_has_no_lu_factors(bad):
    """Singular matrices, and those that are not finite."""
    pivots = np.empty(3, np.int64)
    for A in (
        np.zeros((3, 3)),
        np.ones((3, 3)),
        np.diag([1.0, 0.0, 1.0]),
        np.diag([1.0, bad, 1.0]),
    ):
        assert not linear.lu_factor(A, pivots)


def test_finite():
    """One entry that is not finite is found anywhere, also beside its opposite."""
    assert linear.finite(np.array([1.0, -1e300, 0.0]))
    assert linear.finite(np.zeros(0))
    for bad in (np.nan, np.inf, -np.inf):
        for place in range(3):
            x = np.ones(3)
            x[place] = bad
            assert not linear.finite(x)
    assert not linear.finite(np.array([np.inf, -np.inf]))


def test_newton_direction():
    """A dq = -G; none where A is singular or the step overflows."""
    rng = np.random.default_rng(0)
    A, G, dq = regular(rng, 5), rng.standard_normal(5), np.empty(5)
    before = A.copy()
    assert direction(A, G, dq)
    assert dq == pytest.approx(-np.linalg.solve(A, G), abs=ROUNDING)
    assert np.array_equal(A, before)
    assert not direction(np.zeros((5, 5)), G, dq)
    with np.errstate(all="ignore"):  # for kernels that are not compiled
        assert not direction(1e-300 * np.eye(5), 1e300 * np.ones(5), dq)


def test_scale_of_a_block_is_its_largest_curvature():
    """Blocks without curvature get a share of the largest one; all zero is told."""
    scale = np.empty(6)
    assert block_scales(np.array([1.0, -5.0, 0.0, 0.0, 2.0, 3.0]), 2, scale)
    assert scale == pytest.approx([5.0, 5.0, 5e-9, 5e-9, 3.0, 3.0])
    assert not block_scales(np.zeros(6), 3, scale)
    assert np.array_equal(scale, np.zeros(6))


class Linearised:
    """A linearised step with three contacts of four vertices, of which the second is not active."""

    def __init__(self, seed, rows=3, nv=7):
        self.rng = rng = np.random.default_rng(seed)
        self.A = definite(rng, nv) + 0.3 * rng.standard_normal((nv, nv))
        self.G = rng.standard_normal(nv)
        self.active = np.array([0, 2])
        self.J_force = rng.standard_normal((2, rows, nv))
        self.J_motion = self.J_force + 0.1 * rng.standard_normal((2, rows, nv))
        self.J_motion[0, 1, 2:4] = 0.0, 1.0
        self.V = rng.standard_normal((3, rows, 4))
        self.V[1] = 0.0
        self.work = 2.0 * rng.standard_normal((3, 4))
        self.w = rng.dirichlet(np.ones(5), size=3)[:, :4].copy()

    def solve(self, proximal=0.1, **changes):
        """Outcome, weights and motion."""
        a = {name: changes.get(name, value) for name, value in vars(self).items()}
        w1, dq = np.full((3, 4), np.nan), np.full(len(self.G), np.nan)
        outcome = josephy_newton(
            a["A"],
            a["G"],
            a["J_force"],
            a["J_motion"],
            a["V"],
            a["active"],
            a["work"],
            a["w"],
            proximal,
            w1,
            dq,
        )
        return outcome, w1, dq


@pytest.mark.parametrize("rows", [3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_josephy_newton_solves_the_linearised_inequality(seed, rows):
    """Equations of motion and inequality hold with the weights and the motion that are returned."""
    at, proximal = Linearised(seed, rows), 0.1
    outcome, w1, dq = at.solve(proximal)
    assert outcome == CONVERGED
    B = np.einsum("xam,xal->xml", at.V[at.active], at.J_force)
    dw = (w1 - at.w)[at.active]
    assert at.A @ dq == pytest.approx(-at.G + np.einsum("xml,xm->l", B, dw), abs=INEQUALITY)
    assert np.array_equal(w1[1], at.w[1])
    assert w1.min() >= 0.0
    assert w1.sum(axis=1).max() <= 1.0
    g = at.work[at.active] + np.einsum("xam,xal,l->xm", at.V[at.active], at.J_motion, dq)
    response = np.linalg.solve(at.A, B.reshape(8, -1).T)
    moved = np.einsum("xam,xal->xml", at.V[at.active], at.J_motion).reshape(8, -1)
    curvature = np.abs((moved @ response).diagonal()).reshape(2, 4).max(axis=1)
    g += proximal * curvature[:, None] * dw
    least = np.minimum(g.min(axis=1), 0.0)
    assert (g * w1[at.active]).sum(axis=1) == pytest.approx(least, abs=INEQUALITY)


def test_josephy_newton_without_contacts_and_without_a_solution():
    """A Newton step; none where A is singular or a number is not finite."""
    at = Linearised(0)
    for changes in (
        {"active": np.zeros(0, np.int64), "J_force": np.zeros((0, 3, 7))},
        {"V": np.zeros((3, 3, 4))},
    ):
        outcome, w1, dq = at.solve(**changes)
        assert outcome == CONVERGED
        assert np.array_equal(w1, at.w)
        assert dq == pytest.approx(-np.linalg.solve(at.A, at.G), abs=ROUNDING)
    assert at.solve(A=np.zeros((7, 7)))[0] == SINGULAR
    with np.errstate(all="ignore"):  # for kernels that are not compiled
        assert at.solve(G=np.full(7, np.inf))[0] == SINGULAR


def test_motion_response_is_the_implicit_function_theorem():
    """Dq = -G_q^-1 (G_z Z + G_p), G_p in the last columns, and P = G_q^-1 forces'."""
    rng = np.random.default_rng(0)
    G_q, G_z, G_p = regular(rng, 5), rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
    Z, forces = rng.standard_normal((3, 4)), rng.standard_normal((6, 5))
    dq, P = np.empty((5, 4)), np.empty((5, 6))
    assert stage_response.motion_response(G_q, G_z, G_p, Z, forces, dq, P)
    right = G_z @ Z + np.hstack([np.zeros((5, 2)), G_p])
    assert dq == pytest.approx(-np.linalg.solve(G_q, right), abs=ROUNDING)
    assert pytest.approx(np.linalg.solve(G_q, forces.T), abs=ROUNDING) == P
    singular = np.zeros((5, 5))
    assert not stage_response.motion_response(singular, G_z, G_p, Z, forces, dq, P)


def test_weight_conditions_are_the_chain_rule():
    """H = r_w + r_q P and turned = r_q dq + r_z Z + r_p, with curvatures and responses."""
    rng = np.random.default_rng(0)
    nw, nv, nz, n = 6, 5, 3, 4
    r_q, curved = rng.standard_normal((2, nw, nv))
    r_w, r_z, r_p = (rng.standard_normal((nw, size)) for size in (nw, nz, 2))
    Z, dq, P = (rng.standard_normal(shape) for shape in ((nz, n), (nv, n), (nv, nw)))
    H, turned, curvature, moves = np.empty((nw, nw)), np.empty((nw, n)), np.empty(nw), np.empty(nw)
    stage_response.weight_conditions(
        r_q, r_w, r_z, r_p, curved, Z, dq, P, H, turned, curvature, moves
    )
    assert pytest.approx(r_w + r_q @ P, abs=ROUNDING) == H
    right = r_q @ dq + r_z @ Z + np.hstack([np.zeros((nw, 2)), r_p])
    assert turned == pytest.approx(right, abs=ROUNDING)
    assert curvature == pytest.approx(np.abs((curved @ P).diagonal()), abs=ROUNDING)
    assert np.array_equal(moves, np.abs(P).max(axis=0))


def test_basis_of_a_face_is_orthonormal_and_keeps_tight_sums():
    """As many columns as the face has directions, orthonormal where curvatures are the metric."""
    free = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]) > 0
    tight = np.array([True, False, True, True])
    scale = np.repeat([4.0, 0.25, 9.0, 1.0], 5)
    basis = np.zeros((20, 20))
    columns = stage_response.face_basis(free, tight, scale, basis)
    assert columns == (3 - 1) + 2 + (5 - 1)
    found = basis[:, :columns]
    assert found.T @ (scale[:, None] * found) == pytest.approx(np.eye(columns), abs=ROUNDING)
    assert not basis[:, columns:].any()
    assert not found[~free.ravel()].any()
    sums = found.reshape(4, 5, columns).sum(axis=1)
    assert sums[tight] == pytest.approx(0.0, abs=ROUNDING)


def test_cubic_curves_are_scipys():
    """Values and slopes at, between and beyond the breaks, where the outer pieces continue."""
    rng = np.random.default_rng(0)
    breaks, coefficients = np.array([0.0, 0.5, 2.0, 3.0]), rng.standard_normal((4, 3, 2))
    curve = PPoly(coefficients, breaks)
    for t in (-0.4, 0.0, 0.3, 0.5, 1.7, 2.0, 3.0, 3.5):
        q, v = np.full(4, np.nan), np.full(3, np.nan)
        cubic.cubic(breaks, coefficients, t, np.array([3, 1]), np.array([0, 2]), q, v)
        assert q[[3, 1]] == pytest.approx(curve(t), abs=ROUNDING)
        assert v[[0, 2]] == pytest.approx(curve.derivative()(t), abs=ROUNDING)
        assert np.isnan(q[[0, 2]]).all()
        assert np.isnan(v[1])


def test_vectors_as_tuples():
    """Sums, products and lengths are numpy's."""
    a, b = np.random.default_rng(0).standard_normal((2, 3))
    u, v = tuple(a.tolist()), tuple(b.tolist())
    assert vector3.dot(u, v) == pytest.approx(a @ b)
    assert vector3.length(u) == pytest.approx(np.linalg.norm(a))
    for found, expected in (
        (vector3.minus(u, v), a - b),
        (vector3.ahead(u, 0.3, v), a + 0.3 * b),
        (vector3.scaled(u, 0.3), 0.3 * a),
    ):
        assert np.array(found) == pytest.approx(expected)
