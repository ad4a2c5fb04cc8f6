"""Newton's method for variational inequalities, on small manifolds and on steps of a robot."""

import itertools

import numpy as np
import pytest
from plane_problems import Scalar, Springs

from nmdp_pin.integrators import local_solver
from nmdp_pin.scenario import Scenario
from nmdp_pin.solvers.simplex_vi import SimplexVI
from nmdp_pin.solvers.vi_newton import dissipation_gap, vi_newton
from nmdp_pin.status import Status

TOLERANCE = EPSILON = 1e-12
CLOSE = 1e-6  # of the solution: the gap, at most 1e-12, is quadratic or linear in the distance
PROXIMAL = 1e-5  # linear share of the convergence: the proximal term is 1e-6 of the curvature
QUADRATIC = 20.0  # constant of the quadratic one; G's and g's second derivatives are about 6
ROUNDING = 1e-13


class Pull:
    """g(q) = V'(q - target) + bend (q - target)^3: the work of w's columns V of forces."""

    def __init__(self, manifold, V, target, *, bend=0.0):
        self.manifold, self.V, self.target, self.bend = manifold, V, np.array(target), bend
        self.unit = 1.0

    def work(self):
        d = self.manifold.q - self.target
        return self.V.T @ (d + self.bend * d**3)

    def derivative(self):
        d = self.manifold.q - self.target
        return self.V.T @ np.diag(1.0 + 3.0 * self.bend * d**2)


class Counting(SimplexVI):
    """Counts the inequalities solved."""

    solved = 0

    def solve(self, M, g, x0):
        self.solved += 1
        return super().solve(M, g, x0)


class Recording(Springs):
    """Remembers |G| at every point evaluated."""

    def evaluate(self, q, w):
        G = super().evaluate(q, w)
        self.norms = [*getattr(self, "norms", []), float(np.linalg.norm(G))]
        return G


def run(manifold, principle, w, block_size=2, q=None, vi=None, **options):
    """The solver from the given weights."""
    w = np.asarray(w, dtype=float)
    q = np.zeros(2) if q is None else q
    vi = vi or SimplexVI(len(w) // max(block_size, 1), block_size)
    limits = {
        "tolerance": TOLERANCE,
        "epsilon": EPSILON,
        "max_iterations": 50,
        "max_newton": 10,
        "max_lost": 50,
    }
    return vi_newton(manifold, principle, vi, q, w, **(limits | options))


def pulled(target, cubic=0.0, bend=0.0):
    """G = q (+ cubic q^3) - w and g = q - target: w is drawn to the target."""
    manifold = Recording(np.eye(2), np.eye(2), np.zeros(2), cubic)
    return manifold, Pull(manifold, np.eye(2), target, bend=bend)


TARGETS = {  # target: its nearest point of the triangle w >= 0, w1 + w2 <= 1
    "inside": ((0.3, 0.4), (0.3, 0.4)),
    "beyond the edge": ((0.9, 0.7), (0.6, 0.4)),
    "corner": ((3.0, -1.0), (1.0, 0.0)),
    "origin": ((-1.0, -2.0), (0.0, 0.0)),
    "side": ((-0.5, 0.4), (0.0, 0.4)),
}


@pytest.mark.parametrize("start", [(0.0, 0.0), (1.0, 0.0), (0.2, 0.5)])
@pytest.mark.parametrize(("target", "nearest"), TARGETS.values(), ids=TARGETS)
def test_nearest_point_of_a_triangle(target, nearest, start):
    """With G = q - w and g = q - target the solution is the nearest point, from any start."""
    found = run(*pulled(target), start)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.q, nearest, atol=CLOSE)
    np.testing.assert_allclose(found.w, nearest, atol=CLOSE)
    assert found.values[-1] <= EPSILON
    assert found.residual <= TOLERANCE


@pytest.mark.parametrize("target", [(0.3, 0.4), (0.2, 0.3), (0.5, 0.1)])
def test_a_curved_manifold_in_closed_form(target):
    """With q + q^3 = w and a target within reach, q is the target and w follows."""
    found = run(*pulled(target, cubic=1.0), (0.0, 0.0))
    assert found.status is Status.CONVERGED
    t = np.array(target)
    np.testing.assert_allclose(found.q, t, atol=CLOSE)
    np.testing.assert_allclose(found.w, t + t**3, atol=CLOSE)


def test_convergence_is_quadratic():
    """Each error of G and of g is the square of the one before, but for the proximal term."""
    manifold, principle = pulled((0.5, 0.1), cubic=2.0, bend=1.0)
    found = run(manifold, principle, (0.0, 0.0))
    assert found.status is Status.CONVERGED
    # One evaluation an iteration: nothing is projected in between.
    assert len(manifold.norms) == len(found.values)
    errors = np.array(manifold.norms) + np.array(found.values)
    assert len(errors) >= 5
    for before, after in itertools.pairwise(errors):
        assert after <= QUADRATIC * before**2 + PROXIMAL * before + ROUNDING
    assert found.iterations <= 8


@pytest.mark.parametrize("seed", range(20))
def test_random_problems(seed):
    """No symmetry, two blocks, curved: the inequality holds at every vertex, and G = 0."""
    rng = np.random.default_rng(seed)
    A = np.eye(3) + 0.3 * rng.standard_normal((3, 3))
    B = rng.standard_normal((3, 8))
    manifold = Springs(A @ A.T + np.eye(3), B, rng.standard_normal(3), 0.1)
    principle = Pull(manifold, B, rng.standard_normal(3))
    found = run(manifold, principle, np.full(8, 0.1), block_size=4, q=np.zeros(3))
    assert found.status is Status.CONVERGED
    assert np.linalg.norm(manifold.evaluate(found.q, found.w)) <= TOLERANCE
    assert found.w.min() >= 0.0
    assert found.w.reshape(2, 4).sum(axis=1).max() <= 1.0
    g = principle.work().reshape(2, 4)
    vertices = np.concatenate([np.zeros((1, 4)), np.eye(4)])
    for i in range(2):
        assert (g[i] @ (vertices - found.w.reshape(2, 4)[i]).T).min() >= -2.0 * EPSILON


def test_the_gap_may_rise_on_the_way():
    """It is no merit function: it rises in some of these problems, which converge all the same."""
    risen = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        B = rng.standard_normal((3, 8))
        manifold = Springs(np.eye(3) + 0.5, B, rng.standard_normal(3), 3.0)
        principle = Pull(manifold, B, 2.0 * rng.standard_normal(3), bend=1.0)
        found = run(manifold, principle, np.full(8, 0.1), block_size=4, q=np.zeros(3))
        assert found.status is Status.CONVERGED
        assert found.values[-1] <= EPSILON
        risen += int(max(np.diff(found.values), default=0.0) > 0.01)
    assert risen >= 2


def test_a_solution_costs_nothing():
    """From the solution no inequality is solved."""
    manifold, principle = pulled((3.0, -1.0))
    found = run(manifold, principle, (1.0, 0.0), q=np.array([1.0, 0.0]))
    assert found.status is Status.CONVERGED
    assert found.iterations == 0
    assert manifold.evaluations == 1


def test_free_flight_solves_no_inequality():
    """Where no vertex moves anything only G is solved."""
    manifold = Springs(np.eye(2), np.zeros((2, 2)), np.array([5.0, 2.0]), 1.0)
    vi = Counting(1, 2)
    found = run(manifold, Pull(manifold, np.zeros((2, 2)), np.zeros(2)), (0.5, 0.5), vi=vi)
    assert found.status is Status.CONVERGED
    assert vi.solved == 0
    assert np.array_equal(found.w, [0.5, 0.5])
    np.testing.assert_allclose(found.q + found.q**3, [5.0, 2.0], atol=TOLERANCE)


def test_no_weights():
    """A robot without contacts: the projection alone."""
    manifold = Springs(np.eye(2), np.zeros((2, 0)), np.array([1.0, 2.0]))
    vi = Counting(0, 6)
    found = run(manifold, Pull(manifold, np.zeros((2, 0)), np.zeros(2)), np.zeros(0), vi=vi)
    assert found.status is Status.CONVERGED
    assert vi.solved == 0
    assert found.w.shape == (0,)
    np.testing.assert_allclose(found.q, [1.0, 2.0])


@pytest.mark.parametrize("limit", [1, 2])
def test_iteration_limit(limit):
    """The limit ends the search, with feasible weights and the number of iterations made."""
    found = run(*pulled((0.9, 0.7), cubic=2.0), (0.0, 0.0), max_iterations=limit)
    assert found.status is Status.ITERATION_LIMIT
    assert found.iterations == limit
    assert len(found.values) == limit + 1
    assert found.w.min() >= 0.0
    assert found.w.sum() <= 1.0


def test_singular():
    """A singular Jacobian is reported, with the start and without NaN."""
    manifold = Scalar(lambda q: 0.0, lambda q: 0.0)
    principle = Pull(manifold, np.eye(1), [1.0])
    found = run(manifold, principle, [0.5], block_size=1, q=np.array([0.3]))
    assert found.status is Status.SINGULAR
    assert found.q[0] == 0.3
    assert found.w[0] == 0.5


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value):
    """G that is not finite at the start is reported, with the start."""
    manifold = Scalar(lambda q: value, lambda q: 1.0)
    q = np.array([0.3])
    found = run(manifold, Pull(manifold, np.eye(1), [1.0]), [0.5], block_size=1, q=q)
    assert found.status is Status.NOT_FINITE
    assert found.q is q
    assert found.iterations == 0


def test_projection_failure():
    """A manifold without points: the projection's failure is the method's."""
    manifold = Scalar(lambda q: 100.0 * (q * q + 1.0), lambda q: 200.0 * q)
    found = run(manifold, Pull(manifold, np.eye(1), [1.0]), [0.5], block_size=1, q=np.array([1.3]))
    assert found.status is Status.PROJECTION_FAILED
    assert np.isfinite(found.q).all()


def test_stalled():
    """A manifold that ends at the start: every step is rejected, and the start is kept."""
    start = 0.25
    manifold = Scalar(lambda q: 0.0 if q == start else np.nan, lambda q: 1.0)
    principle = Pull(manifold, np.eye(1), [1.0])
    found = run(manifold, principle, [start], block_size=1, q=np.array([start]))
    assert found.status is Status.STALLED
    assert found.rejected == found.iterations > 5
    assert found.q[0] == start
    assert found.w[0] == start


def test_a_derivative_that_is_not_a_number():
    """NaN in dg/dq ends in a failure of the inequality, not in a hang."""
    manifold, principle = pulled((0.4, 0.2))
    principle.derivative = lambda: np.full((2, 2), np.nan)
    found = run(manifold, principle, (0.0, 0.0))
    assert found.status is Status.QP_FAILED
    assert np.array_equal(found.w, [0.0, 0.0])


def test_deterministic():
    """The same problem gives the same bits, also when the solver has worked before."""
    vi, results = SimplexVI(1, 2), []
    for target in ((0.9, 0.7), (-3.0, 0.2), (0.9, 0.7)):
        results.append(run(*pulled(target, cubic=1.0), (0.1, 0.1), vi=vi))
    assert np.array_equal(results[0].q, results[2].q)
    assert results[0].values == results[2].values


def test_the_gap_is_never_negative():
    """And nil only where no other weights have less work."""
    rng = np.random.default_rng(0)
    shape = (4, 6)
    for _ in range(200):
        g = rng.standard_normal(shape)
        w = rng.dirichlet(np.ones(7), size=4)[:, :6]
        assert dissipation_gap(g.ravel(), w.ravel(), shape) > 0.0
        best = np.eye(6)[g.argmin(axis=1)] * (g.min(axis=1) < 0.0)[:, None]
        assert dissipation_gap(g.ravel(), best.ravel(), shape) == pytest.approx(0.0, abs=1e-14)
        i = rng.integers(4)
        worse = best.copy()
        worse[i] = np.eye(6)[g[i].argmax()]
        lost = g[i].max() - min(g[i].min(), 0.0)
        assert dissipation_gap(g.ravel(), worse.ravel(), shape) == pytest.approx(lost)
    assert dissipation_gap(np.zeros(0), np.zeros(0), (0, 6)) == 0.0


@pytest.mark.parametrize("dt", [0.005, 0.05])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_steps_of_a_robot(method, dt, monkeypatch):
    """Every solve of a jump ends with the gap and G within their tolerances, in few iterations."""
    found, asked = [], []
    solve = local_solver.vi_newton

    def recorded(*arguments, **options):
        asked.append(options)
        found.append(solve(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(local_solver, "vi_newton", recorded)
    setup = Scenario.load(
        "robosimian-jump",
        overrides=[
            f'integrator.name="{method}"',
            'integrator.objective="dissipation"',
            f"integrator.dt={dt}",
        ],
    ).build(visuals=False)
    weight = setup.simulator._integrator.residual.weight
    results = list(setup.simulator.run(setup.state, setup.controller, dt=dt, duration=1.0))
    assert len(results) == round(1.0 / dt)
    assert all(result.status.ok for result in results)
    solved = [(s, o) for s, o in zip(found, asked, strict=True) if s.status.ok]
    assert len(solved) >= len(results)
    for solution, options in solved:
        assert solution.values[-1] <= options["epsilon"] * weight
        assert min(solution.values) >= -ROUNDING * weight
        assert solution.residual <= options["tolerance"]
    assert np.mean([s.iterations for s, _ in solved]) < 10
