"""Pinocchio's solvers of contact problems, as this package asks them."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin.papers.methods.friction_ncp import (
    NCP_SOLVERS,
    FrictionNCP,
    even_tangents,
    ncp_residuals,
)

TOLERANCE = 1e-8  # [m/s] asked of the solvers
EXACT = 1e-7  # [m/s] a few tolerances: impulses of a well-posed problem
ROUNDING = 1e-12
PRINTED = 1e-14  # of directions
MASS, MU = 2.0, 0.5
# Velocity before and after of a point mass on the ground, by Signorini and Coulomb.
POINT = {
    "leaves": ((0.3, 0.0, 0.2), (0.3, 0.0, 0.2)),
    "sticks": ((0.1, 0.2, -1.0), (0.0, 0.0, 0.0)),
    "slides": ((3.0, 4.0, -1.0), (2.7, 3.6, 0.0)),
    "rests": ((0.0, 0.0, -1.0), (0.0, 0.0, 0.0)),
}


@pytest.fixture(params=NCP_SOLVERS)
def ncp(request):
    return FrictionNCP(request.param)


def solved(ncp, W, g, mu, guess=None):
    n = len(mu)
    found = ncp.solve(W, g, np.asarray(mu), np.zeros((n, 3)) if guess is None else guess, TOLERANCE)
    assert found.converged, found.residuals
    return found


def problem(n, rng, size=1.0):
    """W and g of n random contacts of a body of 12 dofs."""
    A = rng.standard_normal((12, 12))
    M = size * (A @ A.T + np.eye(12))
    J = rng.standard_normal((3 * n, 12))
    return J @ np.linalg.solve(M, J.T), J @ rng.standard_normal(12)


@pytest.mark.parametrize("case", POINT)
def test_point_mass(ncp, case):
    """One contact: it leaves, sticks, or slides against mu times the normal impulse."""
    before, after = (np.array(v) for v in POINT[case])
    found = solved(ncp, np.eye(3) / MASS, before, [MU])
    np.testing.assert_allclose(found.impulses[0], MASS * (after - before), atol=MASS * EXACT)


def test_without_friction(ncp):
    """With mu = 0 the impulse is normal."""
    found = solved(ncp, np.eye(3), np.array([1.0, -2.0, -3.0]), [0.0])
    np.testing.assert_allclose(found.impulses[0], [0.0, 0.0, 3.0], atol=EXACT)


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_random_problems(ncp, n):
    """The definition holds to the tolerance: the impulses push, and against the slip."""
    rng = np.random.default_rng(n)
    for _ in range(10):
        W, g = problem(n, rng)
        mu = rng.uniform(0.1, 0.6, n)
        x = solved(ncp, W, g, mu).impulses
        s = (W @ x.ravel() + g).reshape(-1, 3)
        slack = 1e2 * TOLERANCE * max(1.0, np.abs(g).max()) / W.diagonal().mean()
        assert (x[:, 2] >= 0.0).all()
        assert (np.hypot(x[:, 0], x[:, 1]) <= mu * x[:, 2] + slack).all()
        assert (s[:, 2] >= -EXACT).all()
        assert np.abs(x[:, 2] * s[:, 2]).max() <= slack
        slip = np.hypot(s[:, 0], s[:, 1])
        power = (x[:, :2] * s[:, :2]).sum(axis=1)
        np.testing.assert_allclose(power, -mu * x[:, 2] * slip, atol=slack)


def test_more_contacts_than_the_stack_holds_have_no_solution():
    """Nothing is solved for 257 contacts, and the iterations of 200 are a quarter."""
    rng = np.random.default_rng(0)
    W, g = problem(257, rng)
    found = FrictionNCP().solve(W, g, np.full(257, MU), np.zeros((257, 3)), TOLERANCE)
    assert (found.converged, found.iterations) == (False, 0)
    W, g = problem(200, rng)
    found = FrictionNCP(max_iterations=8).solve(W, g, np.full(200, MU), np.zeros((200, 3)), 0.0)
    assert found.iterations == 4  # two of each solver


def test_both_solvers_agree():
    """ADMM and PGS leave the same velocities."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        W, g = problem(3, rng)
        mu = np.full(3, 0.3)
        a, b = (solved(FrictionNCP(name), W, g, mu).impulses.ravel() for name in NCP_SOLVERS)
        np.testing.assert_allclose(W @ a, W @ b, atol=1e2 * TOLERANCE * np.abs(g).max())


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_masses_are_scaled(ncp, size):
    """Bodies a million times as heavy take impulses a million times as large, in as many steps."""
    W, g = problem(3, np.random.default_rng(2))
    mu = np.full(3, 0.4)
    one, other = solved(ncp, W, g, mu), solved(ncp, W / size, g, mu)
    assert abs(one.iterations - other.iterations) <= 1
    unit = np.abs(one.impulses).max()
    np.testing.assert_allclose(other.impulses / size, one.impulses, atol=1e-5 * unit)


@pytest.mark.parametrize("ratio", [0.0, 1e-3, 1.0])
def test_contacts_that_give_way_in_one_direction(ncp, ratio):
    """A tangent along which nothing moves, or much less, does not make a solver diverge."""
    J = np.diag([1.0, np.sqrt(ratio), 1.0])
    W = np.kron(np.array([[1.0, 0.3], [0.3, 1.0]]), J @ J)
    g = np.array([0.05, 0.0, -1.0, 1.0, 0.0, -1.0])
    found = solved(ncp, W, g, [MU, MU])
    s = (W @ found.impulses.ravel() + g).reshape(-1, 3)
    np.testing.assert_allclose(s[:, 2], 0.0, atol=EXACT)
    assert abs(s[0, 0]) < s[1, 0]


def test_the_guess_saves_iterations(ncp):
    """From the solution there is little left to do."""
    W, g = problem(4, np.random.default_rng(3))
    mu = np.full(4, 0.4)
    first = solved(ncp, W, g, mu)
    again = solved(ncp, W, g, mu, first.impulses)
    assert again.iterations < 0.6 * first.iterations


def test_nothing_is_remembered(ncp):
    """A problem of another size and friction in between changes no bit."""
    rng = np.random.default_rng(4)
    W, g = problem(3, rng)
    mu = np.array([0.1, 0.2, 0.3])
    first = solved(ncp, W, g, mu)
    for n in (5, 1):
        solved(ncp, *problem(n, rng), np.full(n, 0.7))
    assert np.array_equal(solved(ncp, W, g, mu).impulses, first.impulses)


def cone_of(mu):
    """Projection onto a cone; the model is kept, since a cone only refers to its mu."""
    model = pin.PointContactConstraintModel(pin.Model())
    model.setFriction(mu)
    data = model.createData()
    return lambda x: model.set(data).project(x)


def test_residuals_are_distances_to_the_cones():
    """Primal and dual residuals are those of pinocchio's projections, one contact at a time."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        mu, x, g = rng.uniform(0.1, 2.0), rng.standard_normal(3), rng.standard_normal(3)
        W = np.eye(3)
        found = ncp_residuals(W, g, np.array([mu]), x[None])
        cone, dual = cone_of(mu), cone_of(1.0 / mu)
        d = W @ x + g
        d[2] += mu * np.hypot(d[0], d[1])
        expected = [np.linalg.norm(cone(x) - x), np.linalg.norm(dual(d) - d)]
        np.testing.assert_allclose(found[:2], expected, atol=ROUNDING)
        assert found.complementarity == pytest.approx(abs(x @ d), abs=ROUNDING)


def test_even_tangents():
    """The frames are turned about the normals, until both tangents have the same diagonal."""
    W, _ = problem(5, np.random.default_rng(6))
    turn = even_tangents(W)
    T = np.zeros((15, 15))
    for i in range(5):
        T[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = turn[i]
    np.testing.assert_allclose(T @ T.T, np.eye(15), atol=PRINTED)
    np.testing.assert_array_equal(turn[:, 2], np.tile([0.0, 0.0, 1.0], (5, 1)))
    diagonal = (T @ W @ T.T).diagonal().reshape(-1, 3)
    np.testing.assert_allclose(diagonal[:, 0], diagonal[:, 1], rtol=ROUNDING)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", ["W", "g", "overflow"])
def test_bad_numbers_are_no_convergence(ncp, bad):
    """NaN and overflow end as values, whatever the solver says of itself."""
    W, g = np.eye(3), np.array([1.0, 0.0, -1.0])
    if bad == "W":
        W[1, 1] = np.nan
    elif bad == "g":
        g[0] = np.nan
    else:
        g *= 1e200
    assert not ncp.solve(W, g, np.array([MU]), np.zeros((1, 3)), TOLERANCE).converged


def test_no_solution_is_no_convergence(ncp):
    """A contact that cannot move and should is not solved, and says so."""
    W = np.zeros((3, 3))
    found = ncp.solve(W, np.array([0.0, 0.0, -1.0]), np.array([MU]), np.zeros((1, 3)), TOLERANCE)
    assert not found.converged
    assert found.residuals.dual == pytest.approx(1.0)


@pytest.mark.parametrize("solver", NCP_SOLVERS)
def test_iterations_are_limited(solver):
    """One iteration of each solver is two, and the residuals say how far the better one came."""
    W, g = problem(4, np.random.default_rng(7))
    arguments = (W, g, np.full(4, 0.4), np.zeros((4, 3)), TOLERANCE)
    found = FrictionNCP(solver, max_iterations=1).solve(*arguments)
    assert found.iterations == 2
    assert not found.converged
    assert max(found.residuals) > TOLERANCE


def test_what_is_left_undone_is_small_beside_what_came_in():
    """Where both solvers are at their end, a thousandth of the velocities may be left, not more."""
    W, g = problem(4, np.random.default_rng(7))
    speed, seen = np.abs(g).max(), set()
    for limit in (1, 3, 10, 30, 100):
        ncp = FrictionNCP(max_iterations=limit)
        found = ncp.solve(W, g, np.full(4, 0.4), np.zeros((4, 3)), 1e-15)
        scale = W.diagonal().mean()
        error = max(np.array(found.residuals) / [1 / scale, 1.0, speed / scale])
        assert found.converged == (error <= 1e-3 * speed)
        seen.add(found.converged)
    assert seen == {True, False}
