"""Factors of matrices of groups, beside those of NumPy."""

import numpy as np
import pytest

from nmdp_pin._kernels.algebra.block_lu import (
    copy_blocks,
    factor_blocks,
    order_blocks,
    solve_blocks,
)


def coupled(rng, sizes, pairs):
    """A matrix whose groups of rows are coupled in pairs, and its order of elimination."""
    first = np.concatenate([[0], np.cumsum(sizes)])
    A, near = np.zeros((first[-1], first[-1])), np.zeros((len(sizes), len(sizes)), bool)
    for g, h in [*pairs, *((h, g) for g, h in pairs), *((g, g) for g in range(len(sizes)))]:
        A[first[g] : first[g + 1], first[h] : first[h + 1]] = rng.standard_normal(
            (sizes[g], sizes[h])
        )
        near[g, h] = True
    return A, order_blocks(first, near)


@pytest.mark.parametrize("seed", range(8))
def test_solutions_are_those_of_dense_factors(seed):
    """Of groups of several sizes in a random graph; what is between others is not written."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, 9)
    pairs = [(g, h) for g in range(9) for h in range(g) if rng.uniform() < 0.3]
    A, blocks = coupled(rng, sizes, pairs)
    LU, pivots = np.full(A.shape, np.nan), np.empty(len(A), int)
    copy_blocks(A, blocks, LU)
    assert factor_blocks(LU, blocks, pivots)
    B = rng.standard_normal((len(A), 2))
    X = B.copy()
    solve_blocks(LU, blocks, pivots, X)
    np.testing.assert_allclose(A @ X, B, atol=1e-9 * np.abs(X).max())


def test_a_chain_has_no_fill():
    """Each link of a chain is coupled with one that follows, so that its cost is linear."""
    rng = np.random.default_rng(0)
    _, blocks = coupled(rng, np.full(50, 6), [(g, g + 1) for g in range(49)])
    assert blocks.counts.tolist() == [*[1] * 49, 0]


def test_a_part_of_the_graph_has_the_bits_that_it_has_alone():
    """Its order and its numbers are those without other parts."""
    rng = np.random.default_rng(1)
    ring = [(g, (g + 1) % 5) for g in range(5)]
    A, blocks = coupled(rng, np.full(5, 3), ring)
    other, _ = coupled(rng, np.full(4, 2), [(0, 1), (1, 2), (2, 3)])
    whole, near = np.zeros((23, 23)), np.zeros((9, 9), bool)
    whole[8:, 8:], whole[:8, :8] = A, other
    for g, h in [(0, 1), (1, 2), (2, 3), *((4 + g, 4 + h) for g, h in ring)]:
        near[g, h] = near[h, g] = True
    both = order_blocks(np.concatenate([[0], np.cumsum([2] * 4 + [3] * 5)]), near)
    results = []
    for matrix, order in ((A, blocks), (whole, both)):
        LU, pivots, X = matrix.copy(), np.empty(len(matrix), int), np.ones((len(matrix), 1))
        assert factor_blocks(LU, order, pivots)
        solve_blocks(LU, order, pivots, X)
        results.append(X[-15:, 0])
    assert results[0].tobytes() == results[1].tobytes()


def test_a_singular_group_is_found():
    """Without a number that is none."""
    A, blocks = coupled(np.random.default_rng(2), [2, 2], [(0, 1)])
    A[:2, :2] = 0.0
    assert not factor_blocks(A, blocks, np.empty(4, int))
