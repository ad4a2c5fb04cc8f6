"""Affine variational inequalities over simplices: against the quadratic programs, and by proof."""

from functools import partial

import numpy as np
import pytest
from kernel_scenes import interpreted

from nmdp_pin._kernels.solver import simplex_vi
from nmdp_pin._kernels.solver.simplex_vi import AffineVI, dofs_of, face_of, of_dofs, solve_affine_vi
from nmdp_pin._papers.simplex_qp import SimplexQP

SEEDS = 100
# Of the largest curvature. Both solve linear systems of condition up to 100 exactly; DAQP stops at
# 1e-11 in the constraints.
SAME = 1e-10
INEQUALITY = 3e-9  # of the largest curvature; the proximal term is followed to 1e-10 of a unit
# The faces may go round in circles: measured for 1 of 25 random P-matrices as bad as these, and
# for none of the symmetric ones.
CIRCLES = 0.1
SETTLED = 0.6  # share of works of random vertices on one-sided dofs (measured: 0.74)
PROXIMAL, CENTRES = 1e-6, 20  # of which nothing is left to see
FORCES = 1e-7  # of a weight; the conditions of the two differ
FOLLOWED, VALLEY = 0.95, 1e-4  # share that reaches CENTRED (measured: 0.98), and what all reach
CENTRED = 1e-9  # of the largest work; the term is followed to 1e-10 of a unit
RESTARTED = (13, 17, 32)  # seeds of problems whose first face leads nowhere
RESTS = 1e-12  # of a weight, the rounding at which the method stops


def solve(M, g, x0, first):
    """The solution, or None."""
    first = np.asarray(first)
    return solved(plain(M, g, first), x0)[0]


def solved(vi, x0, proximal=PROXIMAL, centres=CENTRES):
    """The solution and the motion, or None."""
    x, dq = np.full(len(x0), np.nan), np.full(len(vi.G), np.nan)
    return (x, dq) if solve_affine_vi(vi, proximal, centres, x0, x, dq) else (None, None)


def plain(M, g, first):
    """Works whose forces and motions are the variables: F = g + M (x - x0)."""
    most, unit = int(np.diff(first).max(initial=1)), np.maximum.reduceat
    V = np.tile(np.eye(most), (len(first) - 1, 1, 1))
    units = unit(M.diagonal(), first[:-1]) if len(g) else np.zeros(0)
    return stated(first, np.diff(first), V, g, M, np.zeros(len(g)), units)


def stated(first, rows, V, motion, response, lift, unit):
    """The inequality whose motions are motion + response (forces), as those of dofs of their own.

    Forces and motions are those of one block after the other, each with rows[b] of them.
    """
    blocks, most, f = len(rows), V.shape[1], len(motion)
    J_force, J_motion = np.zeros((2, blocks, most, f))
    u, rise = np.zeros((2, blocks, most))
    for b, begin in enumerate(np.cumsum(rows) - rows):
        some = slice(begin, begin + rows[b])
        J_force[b, : rows[b]], J_motion[b, : rows[b]] = np.eye(f)[some], response[some]
        u[b, : rows[b]], rise[b, : rows[b]] = motion[some], lift[some]
    felt = np.empty(blocks, int)
    dofs = dofs_of(J_force, J_motion, rows, felt)
    J = [of_dofs(each, dofs, felt) for each in (J_force, J_motion)]
    A, G, enough = np.eye(f), np.zeros(f), np.full(blocks, 1e-10)
    return AffineVI(first, rows, V, u, dofs, felt, *J, rise, A, G, unit, enough)


def blocks(rng):
    """First variables of blocks of unequal sizes, also of a single one."""
    return np.append(0, np.cumsum(rng.integers(1, 9, size=rng.integers(1, 6))))


def start(rng, first):
    """A point inside the simplices."""
    return np.concatenate([rng.dirichlet(np.ones(m + 1))[:m] for m in np.diff(first)])


def block_diagonal(blocks):
    """A matrix with these along its diagonal, which need not be square."""
    n, rows, columns = blocks.shape
    M = np.zeros((n, rows, n, columns))
    M[np.arange(n), :, np.arange(n)] = blocks
    return M.reshape(n * rows, n * columns)


def sums_of(x, first):
    """Sums of the blocks."""
    return np.add.reduceat(x, first[:-1])


def definite(rng, n):
    """A random symmetric matrix with eigenvalues from 1 to 100."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = Q @ np.diag(np.geomspace(1.0, 100.0, n)) @ Q.T
    return 0.5 * (M + M.T)


def turning(rng, n):
    """A definite matrix with a skew part as large as its eigenvalues: a P-matrix."""
    skew = rng.standard_normal((n, n))
    return definite(rng, n) + 10.0 * (skew - skew.T)


def one_sided(rng, n):
    """A triangular P-matrix, as of contacts that feel each other's depth but not its converse.

    Its symmetric part is indefinite.
    """
    return np.diag(rng.uniform(10.0, 30.0, n)) + np.triu(rng.uniform(-30.0, 30.0, (n, n)), 1)


def worst_violation(M, g, x0, x, first):
    """The largest F(x)' (x - y) over all y in the set; it is largest at vertices."""
    F = g + M @ (x - x0)
    at_vertices = np.minimum(np.minimum.reduceat(F, first[:-1]), 0.0)
    return float(x @ F - at_vertices.sum())


def assert_feasible(x, first):
    """To the last bit."""
    assert x.min() >= 0.0
    assert max(sum(block) for block in np.split(x, first[1:-1])) <= 1.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_symmetric_problems_are_quadratic_programs(scale):
    """Where M is definite the solution is the minimiser, in whatever units."""
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        n_blocks, block_size = int(rng.integers(1, 6)), int(rng.integers(1, 9))
        first = block_size * np.arange(n_blocks + 1)
        n = first[-1]
        M, g = scale * definite(rng, n), scale * 30.0 * rng.standard_normal(n)
        x0 = start(rng, first)
        x = solve(M, g, x0, first)
        minimiser = SimplexQP(n_blocks, block_size).solve(M, g, x0)
        np.testing.assert_allclose(x, minimiser, atol=SAME * 100.0)
        assert_feasible(x, first)


@pytest.mark.parametrize("matrix", [definite, turning, one_sided])
def test_the_inequality_holds_at_every_vertex(matrix):
    """F(x)' (y - x) >= 0 for every vertex y, hence every y, whether M is symmetric or not."""
    solved = saturated = inside = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        first = blocks(rng)
        n = first[-1]
        M, g = matrix(rng, n), 30.0 * rng.standard_normal(n)
        x0 = start(rng, first)
        x = solve(M, g, x0, first)
        if x is None:
            continue
        solved += 1
        assert_feasible(x, first)
        assert worst_violation(M, g, x0, x, first) <= INEQUALITY * M.diagonal().max()
        sums = sums_of(x, first)
        saturated += int((sums > 1.0 - 1e-12).sum())
        inside += int(((sums > 1e-12) & (sums < 1.0 - 1e-12)).sum())
    assert solved >= (1.0 - CIRCLES) * SEEDS
    assert saturated > 20
    assert inside > 20


@pytest.mark.parametrize("scale", [1e-60, 1e-25, 1e-12])
def test_a_block_that_answers_next_to_nothing(scale):
    """Beside a steep slope M is lost in rounding, as of a contact that only just touches."""
    M, g = (
        np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]),
        np.array([-3.0, -5.0, 1.0]),
    )
    for x0 in (np.zeros(3), np.full(3, 1.0 / 3.0), np.array([0.0, 0.0, 1.0])):
        np.testing.assert_array_equal(solve(scale * M, g, x0, [0, 3]), [0.0, 1.0, 0.0])


@pytest.mark.parametrize("kind", ["vertices", "origin", "middle of a face"])
def test_degenerate_starts(kind):
    """A start on the boundary, where faces meet, leads to the same solution as one inside."""
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        first = blocks(rng)
        n, sizes = first[-1], np.diff(first)
        M, constant = definite(rng, n), 30.0 * rng.standard_normal(n)
        x0 = np.zeros(n)
        if kind == "vertices":
            x0[first[:-1] + rng.integers(sizes)] = 1.0
        elif kind == "middle of a face":
            x0[:] = np.repeat(1.0 / sizes, sizes)
        inside = start(rng, first)
        expected = solve(M, constant + M @ inside, inside, first)
        x = solve(M, constant + M @ x0, x0, first)
        np.testing.assert_allclose(x, expected, atol=SAME * 100.0)


def test_a_solution_is_found_where_it_was():
    """Started at the solution the search ends there, however many faces meet at it."""
    for x0 in (np.zeros(6), np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])):
        # F = 0 exactly on the constraints that are active: strict complementarity fails.
        x = solve(np.eye(6), np.zeros(6), x0, [0, 3, 6])
        np.testing.assert_allclose(x, x0, atol=1e-15)


def test_closed_form():
    """Of one unit block with M = 1: the nearest point of the triangle to x0 - g."""
    for target, nearest in (
        ((0.3, 0.4), (0.3, 0.4)),
        ((0.9, 0.7), (0.6, 0.4)),
        ((3.0, -1.0), (1.0, 0.0)),
        ((-1.0, -2.0), (0.0, 0.0)),
        ((-0.5, 0.4), (0.0, 0.4)),
    ):
        x = solve(np.eye(2), -np.array(target), np.zeros(2), [0, 2])
        np.testing.assert_allclose(x, nearest, atol=1e-15)


def test_no_variables():
    """No contacts: the empty solution, not the start itself."""
    x0 = np.zeros(0)
    x = solve(np.zeros((0, 0)), np.zeros(0), x0, [0])
    assert x.shape == (0,)
    assert x is not x0


@pytest.mark.parametrize(
    "M",
    [
        np.zeros((4, 4)),
        np.diag([1.0, 1.0, 0.0, 0.0]),
        -np.eye(4),
        np.full((4, 4), np.nan),
        np.diag([1.0, 1.0, np.nan, 1.0]),
        np.diag([1.0, 1.0, np.inf, 1.0]),
    ],
    ids=["zero", "a zero block", "negative", "nan", "one nan", "inf"],
)
def test_what_has_no_answer_is_none(M):
    """A matrix that has no scale or is not finite: None, no exception."""
    with np.errstate(all="ignore"):
        assert solve(M, -np.ones(4), np.full(4, 0.1), [0, 2, 4]) is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_work_that_is_not_finite_is_none(value):
    """It is not taken for a work that no force can save."""
    g = np.array([0.1, value, 0.1, 0.1])
    with np.errstate(all="ignore"):
        x = solve(np.eye(4), g, np.full(4, 0.1), [0, 2, 4])
    assert x is None


def test_the_same_problem_gives_the_same_bits():
    """Nothing is carried from one solve to the next, and no argument is written."""
    rng = np.random.default_rng(0)
    first = np.array([0, 4, 5, 12])
    problems = [
        (definite(rng, 12), rng.standard_normal(12), start(rng, first), first) for _ in range(3)
    ]
    kept = [[a.copy() for a in problem] for problem in problems]
    before = [solve(*problem) for problem in problems]
    again = [solve(*problem) for problem in reversed(problems)][::-1]
    for a, b in zip(before, again, strict=True):
        assert np.array_equal(a, b)
    for problem, copies in zip(problems, kept, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(problem, copies, strict=True))


def test_a_start_that_is_the_solution_stays():
    """A body at rest: F is rounding, all sums are one, and M is singular along the forces.

    Its faces differ by the signs of rounding errors, and no two follow one another.
    """
    rng, first = np.random.default_rng(3), np.arange(0, 49, 12)
    for seed in range(SEEDS):
        V, noise = rng.standard_normal((4, 3, 12)), 1e-15 * rng.standard_normal(12)
        vi = stated(first, np.full(4, 3), V, noise, np.eye(12), np.zeros(12), np.ones(4))
        x0 = np.concatenate([rng.dirichlet(np.ones(12)) for _ in range(4)])
        x0 *= 1.0 - 1e-16 * (seed % 3)
        x, dq = solved(vi, x0)
        np.testing.assert_allclose(x, x0, rtol=0.0, atol=RESTS)
        np.testing.assert_allclose(dq, 0.0, rtol=0.0, atol=RESTS)


def test_the_face_of_a_start():
    """Variables above zero, and blocks whose sum is one up to rounding."""
    first = np.array([0, 3, 5, 6])
    vi = plain(np.eye(6), np.zeros(6), first)
    face = np.ones(9, dtype=bool)
    face_of(vi, np.array([0.5, 0.0, 0.5 - 1e-12, 0.2, 0.7, 0.0]), face)
    expected = [True, False, True, True, True, False, True, False, False]
    np.testing.assert_array_equal(face, expected)


def random_forces(seed):
    """Up to four blocks of three forces and twelve weights, and the same problem in weights."""
    rng = np.random.default_rng(seed)
    blocks, rows, m = int(rng.integers(1, 5)), 3, 12
    first = m * np.arange(blocks + 1)
    V = rng.standard_normal((blocks, rows, m))
    V[:, 0] = 1.0  # as of a friction cone, whose vertices press alike
    response, lift = definite(rng, rows * blocks), 0.1 * rng.standard_normal(rows * blocks)
    motion, x0 = 20.0 * rng.standard_normal(rows * blocks), start(rng, first)
    vi = stated(first, np.full(blocks, rows), V, motion, response, lift, np.full(blocks, 100.0))
    all_V, sums = block_diagonal(V), block_diagonal(np.ones((blocks, 1, m)))
    M = all_V.T @ (response @ all_V + block_diagonal(lift.reshape(blocks, rows, 1)) @ sums)
    return vi, x0, first, M, all_V.T @ motion


def assert_moved_by(vi, x, x0, dq):
    """The motion is that of the forces, as A is one."""
    force = np.einsum("bie,be->bi", vi.V, (x - x0).reshape(-1, 12)).ravel()
    np.testing.assert_allclose(dq, force, rtol=0.0, atol=FORCES)


def test_forces_of_many_vertices():
    """Solved in their forces, blocks of 12 weights have the solution of the problem in weights."""
    inside = tight = circles = 0
    for seed in range(SEEDS):
        vi, x0, first, M, motion = random_forces(seed)
        x, dq = solved(vi, x0, 5e-4, 0)
        expected = solve(M + 0.05 * np.eye(len(x0)), motion, x0, first)
        if x is None or expected is None:
            circles += 1
            continue
        np.testing.assert_allclose(x, expected, rtol=0.0, atol=FORCES)
        assert_moved_by(vi, x, x0, dq)
        inside += int((sums_of(x, first) < 1.0).sum())
        tight += int((sums_of(x, first) > 1.0 - 1e-12).sum())
    assert min(inside, tight) > 20
    assert circles <= CIRCLES * SEEDS


def _empty(*shape, dtype):
    return np.empty(shape, dtype)


def test_answers_are_kept_as_long_as_they_hold(monkeypatch):
    """Where all blocks are answered anew for each face: the same bits, by more answers."""
    for name, kernel in list(vars(simplex_vi).items()):
        if getattr(kernel, "__module__", "") == simplex_vi.__name__:
            monkeypatch.setattr(simplex_vi, name, interpreted(kernel))
    for name, dtype in (("vector", float), ("matrix", float), ("indices", int)):
        monkeypatch.setattr(simplex_vi, name, partial(_empty, dtype=dtype))
    on_face, counts, factored = simplex_vi.solve_on_face, np.zeros(2, int), []

    def counted(*arguments, anew):
        stale = arguments[6].stale
        stale |= anew
        counts[int(anew)] += stale.sum()
        factored.append(arguments[5])
        return on_face(*arguments)

    for seed in RESTARTED:
        vi, x0, *_ = random_forces(seed)
        found = np.full((2, len(x0) + len(vi.G)), np.nan)
        for anew, out in enumerate(found):
            monkeypatch.setattr(simplex_vi, "solve_on_face", partial(counted, anew=bool(anew)))
            assert simplex_vi.solve_affine_vi(vi, 1e-3, CENTRES, x0, *np.split(out, [len(x0)]))
        np.testing.assert_array_equal(*found)
    assert counts[0] < 0.8 * counts[1]
    assert not all(factored)  # with another centre the matrix stays


def test_the_centre_of_a_large_proximal_term_follows():
    """Works that do not depend on the term: those of weights that are not unique.

    A few centres go on for long in a flat valley, and are left there.
    """
    followed = 0
    for seed in range(SEEDS):
        vi, x0, first, M, motion = random_forces(seed)
        x, dq = solved(vi, x0, 1e-3)
        if x is not None:
            assert_feasible(x, first)
            assert_moved_by(vi, x, x0, dq)
            violation = worst_violation(M, motion, x0, x, first)
            followed += int(violation <= CENTRED * np.abs(M).max())
            assert violation <= VALLEY * np.abs(M).max()
    assert followed >= FOLLOWED * SEEDS
    # forces that are not unique at all: four points press on one dof
    x = solve(np.ones((4, 4)), -np.ones(4), np.full(4, 0.1), [0, 2, 4])
    assert (
        worst_violation(np.ones((4, 4)), -np.ones(4), np.full(4, 0.1), x, [0, 2, 4]) <= INEQUALITY
    )


def valley(slope, proximal):
    """The shares of the way that a variable and its motion make to the minimum of a valley."""
    end, M = 0.4, np.array([[slope]])
    vi = plain(M, -slope * np.array([end]), np.array([0, 1]))
    vi = vi._replace(unit=np.ones(1), enough=np.zeros(1))
    return np.ravel(solved(vi, np.zeros(1), proximal, centres=60)) / end


def test_a_proximal_term_becomes_smaller_where_its_centre_goes_on_and_on():
    """It leaves p / (p + slope) of the way: from 0.05 on it falls to the slope, and no further."""
    np.testing.assert_allclose(valley(2.5e-5, 0.05), 1.0, rtol=0.0, atol=1e-8)
    least, slope = 1e-6, 1e-9  # at the least term a second centre as far on is the last one
    left = least / (least + slope)
    np.testing.assert_allclose(valley(slope, least), 1.0 - left**2, rtol=1e-6)


def test_a_face_that_leads_to_itself_is_that_of_the_solution():
    """Whatever rounding leaves, where no work is too small to matter."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        first = blocks(rng)
        M, x0 = definite(rng, first[-1]), start(rng, first)
        vi = plain(M, 30.0 * rng.standard_normal(first[-1]), first)
        exact = vi._replace(enough=np.zeros(len(first) - 1))
        np.testing.assert_allclose(solved(exact, x0, 1e-6, 0)[0], solved(vi, x0, 1e-6, 0)[0])


def test_dofs_that_a_block_does_not_feel_are_left_out():
    """The solution is that with all of them; what a joint's other rows hold is not read."""
    solutions, rows, first = 0, np.array([3, 3, 1]), np.array([0, 4, 8, 9])
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        J_force, J_motion, felt = np.zeros((3, 3, 9)), np.zeros((3, 3, 9)), np.empty(3, int)
        own = [sorted(rng.choice(9, size=4, replace=False)) for _ in range(3)]
        for b in range(3):  # the first one moves nothing, the last one is moved by nothing
            J_motion[b][:, own[b][:-1]] = rng.standard_normal((3, 3))
            J_motion[b][:, own[b][0]] *= 0.1
            J_force[b] = J_motion[b]
            J_force[b][:, own[b][0]], J_force[b][:, own[b][-1]] = 0.0, 0.1
        J_force[2, 1:] = J_motion[2, 1:] = np.nan
        dofs = dofs_of(J_force, J_motion, rows, felt)
        assert [dofs[b, : felt[b]].tolist() for b in range(3)] == own
        V, motion, lift = rng.standard_normal((3, 3, 4)), rng.standard_normal((3, 3)), np.ones(3)
        A, G, x0 = definite(rng, 9), rng.standard_normal(9), np.full(9, 0.1)
        every, nine = np.tile(np.arange(9), (3, 1)), np.full(3, 9)
        found = []
        for some, number in ((dofs, felt), (every, nine)):
            J = [of_dofs(each, some, number) for each in (J_force, J_motion)]
            rest = (np.outer(lift, lift), A, G, np.ones(3), np.full(3, 1e-10))
            found.append(solved(AffineVI(first, rows, V, motion, some, number, *J, *rest), x0))
        (x, dq), (expected, moved) = found
        if x is None or expected is None:
            continue
        np.testing.assert_allclose(x, expected, rtol=0.0, atol=FORCES)
        np.testing.assert_allclose(dq, moved, rtol=0.0, atol=FORCES * np.abs(moved).max())
        solutions += 1
    assert solutions >= SETTLED * SEEDS
