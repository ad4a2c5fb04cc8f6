"""Linear algebra of the kernels against numpy's and SciPy's."""

import numpy as np
import pinocchio as pin
import pytest
import scipy.linalg
from matrices import definite, regular
from scipy.interpolate import PPoly

from nmdp_pin._kernels.algebra import cubic, linear, vector3
from nmdp_pin._kernels.derivative.weight_face import block_scales, face_basis

ROUNDING = 1e-12  # of systems of up to seven equations with conditions below 100
SIZES = range(1, 8)


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_reads_and_writes_the_upper_triangle(n):
    """U'U = A, and below the diagonal all stays as it is."""
    A = definite(np.random.default_rng(n), n)
    U = np.where(np.tri(n, k=-1), np.nan, A)
    assert linear.cholesky(U)
    assert np.triu(U) == pytest.approx(scipy.linalg.cholesky(A), abs=ROUNDING)
    assert np.isnan(U[np.tril_indices(n, -1)]).all()


def test_factors_of_one_and_of_zero():
    """Whole numbers, of which none is left out but zeros."""
    U = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 3.0]])
    A = U.T @ U
    assert linear.cholesky(A)
    assert np.array_equal(np.triu(A), U)


@pytest.mark.parametrize("last", [0.0, -1.0, np.nan, np.inf])
def test_cholesky_refuses_what_is_not_positive_definite(last):
    """A pivot that is zero, negative or not finite."""
    A = np.diag([2.0, 1.0, last])
    assert not linear.cholesky(A)
    assert not linear.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("n", SIZES)
def test_triangular_systems(n):
    """Solutions with U and U', of one and of several right sides."""
    rng = np.random.default_rng(n)
    U = np.ascontiguousarray(scipy.linalg.cholesky(definite(rng, n)))
    x, X = rng.standard_normal(n), rng.standard_normal((n, n))
    for kernel, matrix in ((linear.solve_upper, U), (linear.solve_upper_transposed, U.T)):
        found = x.copy()
        kernel(U, found)
        assert found == pytest.approx(np.linalg.solve(matrix, x), abs=ROUNDING)
    found = X.copy()
    linear.solve_upper_transposed_rows(U, found)
    assert found == pytest.approx(np.linalg.solve(U.T, X), abs=ROUNDING)


def test_gram_matrix_is_added_to_the_upper_triangle():
    """H += factor X'X, and nothing below the diagonal."""
    rng = np.random.default_rng(0)
    X, before = rng.standard_normal((2, 5, 5))
    X[1, 2:4] = 0.0, -2.0
    H = before.copy()
    linear.add_gram(X, -0.5, H)
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
        assert linear.pivot_ratio(factor) == ratio


def test_copies():
    """All entries are copied."""
    rng = np.random.default_rng(0)
    A, a, B, b = rng.standard_normal((3, 4)), rng.standard_normal(5), np.zeros((3, 4)), np.zeros(5)
    linear.copy_matrix(A, B)
    linear.copy_vector(a, b)
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


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_systems_with_redundant_rows_and_columns(rank):
    """The pivots tell the rank, and a solution of the consistent system is found."""
    rng = np.random.default_rng(rank)
    A = rng.standard_normal((5, rank)) @ rng.standard_normal((rank, 5))
    B = A @ rng.standard_normal((5, 3))
    order = np.empty(5, np.int64)
    assert linear.eliminate(A.copy(), 5, B.copy(), order) == rank
    assert np.array_equal(np.sort(order), np.arange(5))
    X = np.full((5, 3), np.nan)
    linear.solve_redundant(A.copy(), B.copy(), X)
    assert pytest.approx(B, abs=ROUNDING) == A @ X
    assert (~X.any(axis=1)).sum() == 5 - rank


def test_pivots_may_be_anywhere():
    """A matrix with a single number in each row and column is solved by exchanges alone."""
    A = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0]])
    B, order = np.array([[2.0, 4.0], [3.0, 9.0], [1.0, 5.0]]), np.empty(3, np.int64)
    R, right = A.copy(), B.copy()
    assert linear.eliminate(R, 3, right, order) == 3
    assert np.array_equal(R, np.diag([3.0, 2.0, 1.0]))
    assert order.tolist() == [2, 1, 0]
    assert np.array_equal(right, B[[1, 0, 2]])
    X = np.empty((3, 2))
    linear.solve_redundant(A, B.copy(), X)
    assert np.array_equal(X, [[1.0, 5.0], [1.0, 2.0], [1.0, 3.0]])


def test_finite():
    """One entry that is not finite is found anywhere, also beside its opposite."""
    assert linear.all_finite(np.array([1.0, -1e300, 0.0]))
    assert linear.all_finite(np.zeros(0))
    for bad in (np.nan, np.inf, -np.inf):
        for place in range(3):
            x = np.ones(3)
            x[place] = bad
            assert not linear.all_finite(x)
    assert not linear.all_finite(np.array([np.inf, -np.inf]))


def test_scale_of_a_block_is_its_largest_curvature():
    """Blocks without curvature get a share of the largest one; all zero is told."""
    scale = np.empty(6)
    assert block_scales(np.array([1.0, -5.0, 0.0, 0.0, 0.0, 3.0]), np.array([0, 2, 5, 6]), scale)
    assert scale == pytest.approx([5.0, 5.0, 5e-9, 5e-9, 5e-9, 3.0])
    assert not block_scales(np.zeros(6), np.array([0, 3, 6]), scale)
    assert np.array_equal(scale, np.zeros(6))


def test_basis_of_a_face_is_orthonormal_and_keeps_tight_sums():
    """As many columns as the face has directions, orthonormal where curvatures are the metric."""
    free = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]) > 0
    tight = np.array([True, False, True, True])
    scale = np.repeat([4.0, 0.25, 9.0, 1.0], 5)
    first, basis = 5 * np.arange(5), np.zeros((20, 20))
    columns = face_basis(free.ravel(), tight, first, scale, basis)
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
        (vector3.axpy(u, 0.3, v), a + 0.3 * b),
        (vector3.scaled(u, 0.3), 0.3 * a),
    ):
        assert np.array(found) == pytest.approx(expected)


def test_placements():
    """Products, quotients, points and vectors are pinocchio's; a quotient's second may shear."""
    pin.seed(3)
    A, B, a, b, out = (
        pin.SE3.Random(),
        pin.SE3.Random(),
        *np.random.default_rng(3).normal(size=(3, 3)),
    )
    stored = [np.vstack([M.rotation.T, M.translation]) for M in (A, B)]
    found, C = {}, np.empty((4, 3))
    for kernel in (vector3.rotate, vector3.rotate_back, vector3.place):
        kernel(stored[0], a, out)
        found[kernel] = out.copy()
    assert found[vector3.rotate] == pytest.approx(A.rotation @ a, abs=ROUNDING)
    assert found[vector3.rotate_back] == pytest.approx(A.rotation.T @ a, abs=ROUNDING)
    assert found[vector3.place] == pytest.approx(A.act(a), abs=ROUNDING)
    vector3.compose(*stored, C)
    product = A * B
    assert C == pytest.approx(np.vstack([product.rotation.T, product.translation]), abs=ROUNDING)
    sheared = stored[1] + 0.1 * np.arange(12.0).reshape(4, 3)
    vector3.relative(stored[0], sheared, C)
    expected = np.vstack([sheared[:3], sheared[3] - A.translation]) @ A.rotation
    assert C == pytest.approx(expected, abs=ROUNDING)
    vector3.cross_into(a, b, out)
    assert out == pytest.approx(np.cross(a, b), abs=ROUNDING)
    assert vector3.cross(tuple(a), tuple(b)) == pytest.approx(np.cross(a, b), abs=ROUNDING)
    for j in range(3):
        other = a + 0.1 * np.eye(3)[j] - 0.3 * np.eye(3)[j - 1]
        assert vector3.largest_difference(a, tuple(other)) == pytest.approx(0.3, abs=ROUNDING)
