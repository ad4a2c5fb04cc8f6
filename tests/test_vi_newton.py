"""Newton's method for variational inequalities, on small manifolds and on steps of a robot."""

import itertools

import numpy as np
import pytest
from plane_problems import Scalar, Springs, gap

from nmdp_pin.errors import IntegratorError
from nmdp_pin.scenario import Scenario
from nmdp_pin.solvers.vi_newton import ViNewton
from nmdp_pin.status import Status

TOLERANCE = SLIP = 1e-12
CLOSE = 1e-6  # of the solution: the gap, at most 1e-12, is quadratic or linear in the distance
PROXIMAL = 1e-5  # linear share of the convergence: the proximal term is 1e-6 of the curvature
QUADRATIC = 20.0  # constant of the quadratic one; G's and g's second derivatives are about 6
OPTIONS = ViNewton(tolerance=TOLERANCE, slip=SLIP)


def run(problem, w, q=None, options=OPTIONS, **limits):
    """The solver from the given weights."""
    q = np.zeros(2) if q is None else q
    return options.solve(problem, q, np.atleast_2d(np.asarray(w, dtype=float)), **limits)


def pulled(target, cubic=0.0, bend=0.0):
    """G = q (+ cubic q^3) - w and g = q - target: w is drawn to the target."""
    return Springs(np.eye(2), np.eye(2), np.zeros(2), cubic, target=np.array(target), bend=bend)


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
    found = run(pulled(target), start)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point.q, nearest, atol=CLOSE)
    np.testing.assert_allclose(found.point.w[0], nearest, atol=CLOSE)
    assert found.value <= SLIP
    assert found.point.residual <= TOLERANCE


@pytest.mark.parametrize("target", [(0.3, 0.4), (0.2, 0.3), (0.5, 0.1)])
def test_a_curved_manifold_in_closed_form(target):
    """With q + q^3 = w and a target within reach, q is the target and w follows."""
    found = run(pulled(target, cubic=1.0), (0.0, 0.0))
    assert found.status is Status.CONVERGED
    t = np.array(target)
    np.testing.assert_allclose(found.point.q, t, atol=CLOSE)
    np.testing.assert_allclose(found.point.w[0], t + t**3, atol=CLOSE)


def test_convergence_is_quadratic():
    """Each error of G and of g is the square of the one before, but for the proximal term."""
    problem = pulled((0.5, 0.1), cubic=2.0, bend=1.0)
    found = run(problem, (0.0, 0.0))
    assert found.status is Status.CONVERGED
    # One evaluation an iteration: nothing is projected in between.
    assert len(problem.points) == found.iterations + 1
    errors = [at.residual + at.gap for at in problem.points]
    assert len(errors) >= 5
    for before, after in itertools.pairwise(errors):
        assert after <= QUADRATIC * before**2 + PROXIMAL * before + 1e-13
    assert found.iterations <= 8


@pytest.mark.parametrize("seed", range(20))
def test_random_problems(seed):
    """No symmetry, two blocks, curved: the inequality holds at every vertex, and G = 0."""
    rng = np.random.default_rng(seed)
    A = np.eye(3) + 0.3 * rng.standard_normal((3, 3))
    B = rng.standard_normal((3, 8))
    problem = Springs(
        A @ A.T + np.eye(3),
        B,
        rng.standard_normal(3),
        0.1,
        m=4,
        target=rng.standard_normal(3),
    )
    found = run(problem, np.full((2, 4), 0.1), np.zeros(3))
    assert found.status is Status.CONVERGED
    at = problem.evaluate(found.point.q, found.point.w)
    assert at.residual <= TOLERANCE
    assert at.w.min() >= 0.0
    assert at.w.sum(axis=1).max() <= 1.0
    vertices = np.concatenate([np.zeros((1, 4)), np.eye(4)])
    for i in range(2):
        assert (at.work[i] @ (vertices - at.w[i]).T).min() >= -2.0 * SLIP


def test_problems_in_which_the_gap_rises_on_the_way():
    """It is no merit function: it rises in some of these problems, which converge all the same."""
    risen = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        B = rng.standard_normal((3, 8))
        problem = Springs(np.eye(3) + 0.5, B, rng.standard_normal(3), 3.0, m=4, bend=1.0)
        problem.target = 2.0 * rng.standard_normal(3)
        found = run(problem, np.full((2, 4), 0.1), np.zeros(3))
        assert found.status is Status.CONVERGED
        assert found.value <= SLIP
        assert found.value == gap(found.point.work, found.point.w)
        risen += int(max(np.diff([at.gap for at in problem.points]), default=0.0) > 0.01)
    assert risen >= 2


def test_a_solution_costs_nothing():
    """From the solution no inequality is solved."""
    problem = pulled((3.0, -1.0))
    found = run(problem, (1.0, 0.0), np.array([1.0, 0.0]))
    assert found.status is Status.CONVERGED
    assert found.iterations == 0
    assert found.evaluations == len(problem.points) == 1


def test_vertices_that_move_nothing():
    """Only G is solved, and the weights stay."""
    problem = Springs(np.eye(2), np.zeros((2, 2)), np.array([5.0, 2.0]), 1.0)
    found = run(problem, (0.5, 0.5))
    assert found.status is Status.CONVERGED
    assert np.array_equal(found.point.w, [[0.5, 0.5]])
    q = found.point.q
    np.testing.assert_allclose(q + q**3, [5.0, 2.0], atol=TOLERANCE)


def test_no_weights():
    """A robot without contacts: a root of G alone."""
    problem = Springs(np.eye(2), np.zeros((2, 0)), np.array([1.0, 2.0]), m=6)
    found = run(problem, np.zeros((0, 6)))
    assert found.status is Status.CONVERGED
    assert found.point.w.shape == (0, 6)
    np.testing.assert_allclose(found.point.q, [1.0, 2.0])


@pytest.mark.parametrize("limit", [1, 2])
def test_iteration_limit(limit):
    """The limit ends the search, with feasible weights and the number of iterations made."""
    found = run(pulled((0.9, 0.7), cubic=2.0), (0.0, 0.0), max_iterations=limit)
    assert found.status is Status.ITERATION_LIMIT
    assert found.iterations == limit
    assert found.point.w.min() >= 0.0
    assert found.point.w.sum() <= 1.0


def test_the_lower_of_two_limits_holds():
    """A limit of one solve replaces the option's where it is less."""
    options = ViNewton(tolerance=TOLERANCE, slip=SLIP, max_iterations=2)
    problem = pulled((0.9, 0.7), cubic=2.0)
    assert run(problem, (0.0, 0.0), options=options, max_iterations=5).iterations == 2
    assert run(problem, (0.0, 0.0), options=options, max_iterations=1).iterations == 1


@pytest.mark.parametrize(("loose", "unit", "projects"), [(1e-9, 1e9, False), (1e-9, 1.0, True)])
def test_projections_between_the_iterations(loose, unit, projects, monkeypatch):
    """G is left as it is up to a share of the unit: then an iteration is one evaluation."""
    problem = pulled((0.4, 0.2), cubic=2.0)
    monkeypatch.setattr(Springs, "unit", unit)
    for options, limits in (
        (ViNewton(tolerance=TOLERANCE, slip=SLIP, loose=loose), {}),
        (OPTIONS, {"loose": loose}),
    ):
        found = run(problem, (0.0, 0.0), options=options, **limits)
        assert found.status is Status.CONVERGED
        assert (found.evaluations > found.iterations + 1) is projects


def test_what_is_solved():
    """G and the slip within their tolerances, both of them."""
    problem, options = pulled((0.4, 0.2)), ViNewton(tolerance=1e-3, slip=1e-3)
    target, away = np.array([0.4, 0.2]), np.array([2e-3, 0.0])
    for q, w, solved in (
        (target, target, True),
        (target + 0.1 * away, target, True),  # G of 2e-4
        (target + away, target, False),
        (target + 4.0 * away, target + 4.0 * away, False),  # a slip of 8e-3 times the weight
    ):
        assert options.solved(problem, problem.evaluate(q, w[None])) is solved


def test_budget():
    """No more evaluations are begun than the budget has."""
    problem = pulled((0.9, 0.7), cubic=2.0)
    found = run(problem, (0.0, 0.0), budget=3)
    assert not found.status.ok
    assert found.evaluations == len(problem.points) <= 3 + 1


def test_budget_of_a_search_that_fails():
    """Trials that do not project end where the budget does: one evaluation each."""
    problem = Scalar(lambda q: 0.0 if q == 0.25 else np.nan, lambda q: 1.0, 1.0)
    found = run(problem, [0.25], np.array([0.25]), budget=4)
    assert found.status is Status.STALLED
    assert found.evaluations == len(problem.points) == 4
    assert found.rejected == 3


@pytest.mark.parametrize("rate", [1.0, 100.0])
def test_tight_solves_to_rounding(rate, monkeypatch):
    """Places are then known to 2e-14 m, whatever the step, and weights are unique."""
    problem = pulled((0.4, 0.2), cubic=1.0, bend=1.0)
    monkeypatch.setattr(Springs, "rate", rate)
    options = ViNewton().tight(problem)
    assert options.resolution(problem) == pytest.approx(2e-14)
    found = run(problem, (0.0, 0.0), options=options)
    assert found.status is Status.CONVERGED
    t = np.array([0.4, 0.2])
    # the work, of slope 1 in the distance, is below 2e-14 m times the forces of size one
    np.testing.assert_allclose(found.point.q, t, atol=1e-12)
    np.testing.assert_allclose(found.point.w[0], t + t**3, atol=1e-12)


@pytest.mark.parametrize("rate", [1.0, 100.0])
def test_resolution_is_a_length(rate, monkeypatch):
    """The slip that is left, a velocity, over the rate of the step."""
    monkeypatch.setattr(Springs, "rate", rate)
    assert ViNewton(slip=1e-5).resolution(pulled((0.4, 0.2))) == pytest.approx(1e-5 / rate)


def test_singular():
    """A singular Jacobian is reported, with the start and without NaN."""
    found = run(Scalar(lambda q: 0.0, lambda q: 0.0, 1.0), [0.5], np.array([0.3]))
    assert found.status is Status.SINGULAR
    assert found.point.q[0] == 0.3
    assert found.point.w[0, 0] == 0.5


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value):
    """G that is not finite at the start is reported, with the start."""
    q = np.array([0.3])
    found = run(Scalar(lambda q: value, lambda q: 1.0, 1.0), [0.5], q)
    assert found.status is Status.NOT_FINITE
    assert found.point.q is q
    assert found.iterations == 0


def test_projection_failure():
    """A manifold without points: the projection's failure is the method's."""
    problem = Scalar(lambda q: 100.0 * (q * q + 1.0), lambda q: 200.0 * q, 1.0)
    found = run(problem, [0.5], np.array([1.3]))
    assert found.status is Status.PROJECTION_FAILED
    assert np.isfinite(found.point.q).all()


@pytest.mark.parametrize("stubborn", [False, True])
def test_stalled(stubborn):
    """A manifold that ends at the start: every step is rejected, and the start is kept."""
    start = 0.25
    problem = Scalar(lambda q: 0.0 if q == start else np.nan, lambda q: 1.0, 1.0)
    found = run(problem, [start], np.array([start]), stubborn=stubborn)
    assert found.status is Status.STALLED
    # one iteration in ten may fail to project, until the proximal term is as large as it may be
    lost = OPTIONS.max_iterations // 10
    assert found.rejected == found.iterations
    assert found.rejected > lost + 1 if stubborn else found.rejected == lost + 1
    assert found.point.q[0] == start
    assert found.point.w[0, 0] == start


def test_a_derivative_that_is_not_a_number(monkeypatch):
    """NaN in du/dq ends in a failure of the inequality, not in a hang."""
    problem = pulled((0.4, 0.2))
    linearise = problem.linearise
    monkeypatch.setattr(
        problem,
        "linearise",
        lambda at: linearise(at)._replace(J_motion=np.full((1, 2, 2), np.nan)),
        raising=False,
    )
    found = run(problem, (0.0, 0.0))
    assert not found.status.ok
    assert np.array_equal(found.point.w, [[0.0, 0.0]])


def test_deterministic():
    """The same problem gives the same bits, also when the solver has worked before."""
    results = [
        run(pulled(target, cubic=1.0), (0.1, 0.1))
        for target in ((0.9, 0.7), (-3.0, 0.2), (0.9, 0.7))
    ]
    assert np.array_equal(results[0].point.q, results[2].point.q)
    assert results[0].value == results[2].value


@pytest.mark.parametrize(
    "name", ["tolerance", "slip", "max_iterations", "max_newton", "loose", "proximal"]
)
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf])
def test_bad_options(name, value):
    """An option out of its range is named, with what was given."""
    with pytest.raises(IntegratorError, match=f"{name} must be .*{value}"):
        ViNewton(**{name: value})


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dt", [0.005, 0.05])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_steps_of_a_robot(method, dt, order, monkeypatch):
    """Every solve of a jump ends with slip and G within their tolerances, in few iterations."""
    solved, solve = [], ViNewton.solve

    def recorded(self, problem, q, w, **options):
        found = solve(self, problem, q, w, **options)
        if found.status.ok:
            solved.append(found)
            assert found.point.slip <= self.slip / problem.rate
            assert found.point.residual <= problem.tolerance(self.tolerance)
            assert found.point.gap >= -1e-12 * problem.unit
        return found

    monkeypatch.setattr(ViNewton, "solve", recorded)
    setup = Scenario.load(
        "robosimian-jump",
        overrides=[
            f'integrator.name="{method}"',
            f"integrator.dt={dt}",
            f"integrator.order={order}",
        ],
    ).build(visuals=False)
    results = list(setup.simulator.run(setup.state, setup.controller, dt=dt, duration=1.0))
    assert len(results) == round(1.0 / dt)
    assert all(result.status.ok for result in results)
    assert len(solved) >= order * len(results)
    assert np.mean([found.iterations for found in solved]) < 10
