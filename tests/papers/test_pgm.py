"""The projected gradient method on small problems whose minimisers are known in closed form."""

from dataclasses import replace

import numpy as np
import pytest
from plane_problems import Scalar, Springs, Square

from nmdp_pin._state.status import Status
from nmdp_pin.errors import IntegratorError
from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient, pgm
from nmdp_pin.papers.methods.simplex_qp import SimplexQP

OPTIONS = ProjectedGradient(tolerance=1e-12, epsilon=1e-9)
CLOSE = 5e-5  # of the minimiser: the method stops when K can fall by 1e-9 of itself, K <= 1


def run(manifold, objective, w, block_size=2, gamma=1.0, q=None, options=OPTIONS):
    """PGM from the given weights."""
    w = np.asarray(w, dtype=float).reshape(-1, block_size)
    q = np.zeros(len(objective.target)) if q is None else q
    qp = SimplexQP(*w.shape)
    return pgm(manifold, objective, qp, q, w, gamma, options)


def square(target, A=None, cubic=0.0):
    """G = q (+ cubic) - w: the minimiser is the projection of the target onto the triangle."""
    manifold = Springs(np.eye(2) if A is None else A, np.eye(2), np.zeros(2), cubic)
    return manifold, Square(np.array(target))


TARGETS = {  # target: its nearest point of the triangle w >= 0, w1 + w2 <= 1
    "inside": ((0.3, 0.4), (0.3, 0.4)),
    "beyond the edge": ((0.9, 0.7), (0.6, 0.4)),
    "corner": ((3.0, -1.0), (1.0, 0.0)),
    "origin": ((-1.0, -2.0), (0.0, 0.0)),
    "side": ((-0.5, 0.4), (0.0, 0.4)),
}


@pytest.mark.parametrize("gamma", [1e-4, 1.0, 1e6])
@pytest.mark.parametrize("start", [(0.0, 0.0), (1.0, 0.0), (0.2, 0.5)])
@pytest.mark.parametrize(("target", "nearest"), TARGETS.values(), ids=TARGETS)
def test_nearest_point_of_a_triangle(target, nearest, start, gamma):
    """With G = q - w the minimiser is the target's nearest point, from any start and gamma."""
    found = run(*square(target), start, gamma=gamma)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point.q, nearest, atol=CLOSE)
    np.testing.assert_allclose(found.point.w[0], nearest, atol=CLOSE)


@pytest.mark.parametrize(("target", "nearest"), TARGETS.values(), ids=TARGETS)
def test_nonlinear_manifold(target, nearest):
    """With q + q^3 = w, K is as small as in a fine search over the triangle."""
    found = run(*square(target, cubic=1.0), (0.3, 0.3))
    assert found.status is Status.CONVERGED
    a, b = np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 1, 401))
    w = np.array([a, b])[:, a + b <= 1.0 + 1e-12]
    q = np.cbrt(w / 2 + np.sqrt(w**2 / 4 + 1 / 27)) + np.cbrt(w / 2 - np.sqrt(w**2 / 4 + 1 / 27))
    K = 0.5 * ((q - np.array(target)[:, None]) ** 2).sum(axis=0)
    assert found.values[-1] <= K.min() + 1e-12
    assert found.values[-1] >= K.min() - 2.0 / 400  # one cell of the search


@pytest.mark.parametrize("seed", range(12))
def test_random_problems(seed):
    """K never rises, G = 0 holds, the weights are feasible, and no descent is left."""
    rng = np.random.default_rng(seed)
    A = np.eye(3) + 0.3 * rng.standard_normal((3, 3))
    manifold = Springs(
        A @ A.T + np.eye(3), rng.standard_normal((3, 8)), rng.standard_normal(3), 0.1, m=4
    )
    objective = Square(rng.standard_normal(3))
    found = run(manifold, objective, np.full(8, 0.1), block_size=4)
    assert found.status is Status.CONVERGED
    assert all(b <= a * (1.0 + 1e-11) for a, b in zip(found.values, found.values[1:], strict=False))
    assert manifold.evaluate(found.point.q, found.point.w).residual <= OPTIONS.tolerance
    assert found.point.w.min() >= 0.0
    assert found.point.w.sum(axis=1).max() <= 1.0
    P = np.linalg.solve(manifold.linearise(found.point).A, manifold.B)
    gradient = (P.T @ (found.point.q - objective.target)).reshape(2, 4)
    best = np.minimum(gradient.min(axis=1), 0.0)
    assert (
        (found.point.w * gradient).sum(axis=1) - best
    ).sum() <= 1e-4  # root of 1e-9 of K, as CLOSE


def test_free_flight():
    """No vertex moves anything: converged after the projection, no program solved."""
    manifold = Springs(np.eye(2), np.zeros((2, 2)), np.array([1.0, 2.0]))
    found = run(manifold, Square(np.zeros(2)), (0.5, 0.5))
    assert found.status is Status.CONVERGED
    assert found.iterations == 0
    np.testing.assert_allclose(found.point.q, [1.0, 2.0])


def test_no_weights():
    """A robot without contacts: the projection alone."""
    manifold = Springs(np.eye(2), np.zeros((2, 0)), np.array([1.0, 2.0]), m=6)
    found = pgm(
        manifold, Square(np.zeros(2)), SimplexQP(0, 6), np.zeros(2), np.zeros((0, 6)), 1.0, OPTIONS
    )
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point.q, [1.0, 2.0])


def test_a_good_start_is_cheap():
    """From the minimiser one program shows that nothing is left to do."""
    found = run(*square((0.9, 0.7)), (0.6, 0.4))
    assert found.status is Status.CONVERGED
    assert found.iterations <= 2


@pytest.mark.parametrize(
    ("early", "epsilon", "iterations"), [(True, 1e-3, 2), (False, 1e-3, 3), (True, 3e-5, 3)]
)
def test_a_move_that_contracts_foretells_the_next(early, epsilon, iterations):
    """Moves of 0.5, 0.005 and 2e-5, where 0.005^2 / 0.5 = 5e-5 is expected, and may be the last."""
    options = replace(OPTIONS, epsilon=epsilon, early_stop=early)
    found = run(*square((0.3, 0.5)), (0.0, 0.0), gamma=100.0, options=options)
    assert found.status is Status.CONVERGED
    assert found.iterations == iterations
    np.testing.assert_allclose(found.point.q, (0.3, 0.5), atol=options.epsilon)


@pytest.mark.parametrize("gamma_max", [50.0, 1e6])
def test_gamma_grows_with_every_step_that_keeps_its_promise(gamma_max):
    """By its factor, to its largest value; the moves of a small gamma are many."""
    options = replace(OPTIONS, grow=3.0, gamma_max=gamma_max)
    found = run(*square((0.3, 0.5)), (0.0, 0.0), gamma=1.0, options=options)
    assert found.rejected == 0
    accepted = len(found.values) - 1
    assert accepted > 3
    assert found.gamma == pytest.approx(min(3.0**accepted, gamma_max))


def test_singular():
    """A singular Jacobian at the start of the outer iterations is reported, without NaN."""
    manifold = Scalar(lambda q: 0.0, lambda q: 0.0)
    objective = Square(np.zeros(1))
    found = run(manifold, objective, [0.5], block_size=1, q=np.array([0.3]))
    assert found.status is Status.SINGULAR
    assert found.point.q[0] == 0.3
    assert np.isfinite(found.point.w).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value):
    """G that is not finite at the start is reported, with the start."""
    manifold = Scalar(lambda q: value, lambda q: 1.0)
    q = np.array([0.3])
    found = run(manifold, Square(np.zeros(1)), [0.5], block_size=1, q=q)
    assert found.status is Status.NOT_FINITE
    assert found.point.q is q
    assert found.iterations == 0


def test_projection_failure():
    """A manifold without points: the projection's failure is the method's."""
    manifold = Scalar(lambda q: q * q + 1.0, lambda q: 2.0 * q)
    found = run(manifold, Square(np.zeros(1)), [0.5], block_size=1, q=np.array([1.3]))
    assert found.status is Status.PROJECTION_FAILED
    assert np.isfinite(found.point.q).all()


def test_iteration_limit():
    """The limit on outer iterations ends the run with a point of the manifold."""
    manifold, objective = square((0.9, 0.7), cubic=1.0)
    found = run(manifold, objective, (0.0, 0.0), options=replace(OPTIONS, max_iterations=1))
    assert found.status is Status.ITERATION_LIMIT
    assert found.iterations == 1
    assert manifold.evaluate(found.point.q, found.point.w).residual <= OPTIONS.tolerance


@pytest.mark.parametrize("predict", [True, False])
def test_where_projections_begin(predict):
    """At the predicted configuration, or at the last iterate as printed: same minimiser."""
    manifold, objective = square((0.4, 0.2))
    options = replace(OPTIONS, predict=predict)
    found = run(manifold, objective, (0.0, 0.0), options=options, gamma=1e6)
    first, moved = manifold.points[0], next(p for p in manifold.points if p.w.any())
    assert np.array_equal(first.q, moved.q) is not predict
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point.q, (0.4, 0.2), atol=CLOSE)


def test_without_retreat_a_failed_projection_ends_the_solve():
    """Of the weights that a large gamma asks for one Newton step does not find the point."""
    manifold, objective = square((2.0, 0.0), cubic=5.0)
    options = replace(OPTIONS, max_newton=2)
    q = np.zeros(2)
    again = run(manifold, objective, (0.0, 0.0), options=options, gamma=1e6, q=q)
    assert again.rejected > 0
    assert again.values[-1] < again.values[0]
    options = replace(options, retreat=False)
    found = run(manifold, objective, (0.0, 0.0), options=options, gamma=1e6, q=q)
    assert found.status is Status.PROJECTION_FAILED
    assert (found.iterations, found.rejected) == (1, 0)


class _Cliff(Square):
    """K that is not finite as soon as q moves, with a gradient that calls to move."""

    def value(self, problem, at):
        return 1.0 if np.abs(at.q).max() == 0.0 else np.nan

    def derivatives(self, problem, at, linear):
        return np.array([-1.0, -1.0]), np.eye(2)


def test_an_objective_that_is_not_a_number_is_never_accepted():
    """K = NaN at every trial: gamma shrinks, and where it ends is the start."""
    manifold, _ = square((0.0, 0.0))
    found = run(manifold, _Cliff(np.zeros(2)), (0.0, 0.0))
    assert np.array_equal(found.point.w, [[0.0, 0.0]])
    assert found.values == (1.0,)
    assert np.isfinite(found.gamma)
    assert found.gamma > 0.0


@pytest.mark.parametrize(("gain_ratio", "rejected"), [(True, 4), (False, 9)])
def test_gamma_shrinks_until_it_is_too_small(gain_ratio, rejected):
    """From 1 to below 1e-8: by 0.1, 0.1^2, 0.1^3 and 0.1^4, or by 0.1 each time."""
    manifold, _ = square((0.0, 0.0))
    options = replace(OPTIONS, shrink=0.1, gamma_min=0.99e-8, gain_ratio=gain_ratio)
    found = run(manifold, _Cliff(np.zeros(2)), (0.0, 0.0), options=options)
    assert found.status is Status.STALLED
    assert (found.iterations, found.rejected) == (rejected, rejected)
    assert found.gamma == pytest.approx(1e-10 if gain_ratio else 1e-9)
    assert found.evaluations == len(manifold.points) == rejected + 1


@pytest.mark.parametrize(("slope", "status"), [(1.0, Status.STALLED), (0.01, Status.CONVERGED)])
def test_a_retreat_to_no_motion(slope, status):
    """A stall where an honest step still promises a good part of K, else the minimum is near."""

    class Cliff(_Cliff):
        def derivatives(self, problem, at, linear):
            return np.full(2, -slope), np.eye(2)

    manifold, _ = square((0.0, 0.0))
    options = replace(OPTIONS, epsilon=5e-3 * slope)
    found = run(manifold, Cliff(np.zeros(2)), (0.0, 0.0), options=options)
    assert found.status is status
    assert found.rejected > 0


@pytest.mark.parametrize("early", [True, False])
def test_tolerances_of_a_step(early):
    """Epsilon falls with the square of the step where the method may stop early."""
    manifold, options = square((0.4, 0.2))[0], replace(OPTIONS, epsilon=1e-6, early_stop=early)
    assert options.of_step(manifold).tolerance == manifold.tolerance(OPTIONS.tolerance)
    for rate, epsilon in ((10.0, 1e-6), (1e3, 1e-9)):
        manifold.rate = rate
        expected = epsilon if early else 1e-6
        assert options.of_step(manifold).epsilon == pytest.approx(expected)
        assert options.of_rate(rate) == pytest.approx(expected)


def test_tight_solves_to_rounding():
    """Of q + q^3 = w and a target within reach: q is the target, and w follows."""
    options = ProjectedGradient(gamma=1e3).tight()
    found = run(*square((0.4, 0.2), cubic=1.0), (0.0, 0.0), gamma=1e3, options=options)
    assert found.status is Status.CONVERGED
    t = np.array([0.4, 0.2])
    np.testing.assert_allclose(found.point.q, t, atol=1e-12)
    np.testing.assert_allclose(found.point.w[0], t + t**3, atol=1e-12)


def test_a_short_step_of_a_small_gamma_is_no_minimum():
    """It is taken again with an honest one."""
    options = replace(OPTIONS, epsilon=1e-3)
    found = run(*square((0.4, 0.2)), (0.0, 0.0), gamma=1e-7, options=options)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point.q, (0.4, 0.2), atol=10.0 * options.epsilon)


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_budget(budget):
    """No projection begins when the evaluations are spent; all are counted."""
    manifold, objective = square((0.9, 0.7), cubic=1.0)
    qp, w = SimplexQP(1, 2), np.zeros((1, 2))
    found = pgm(manifold, objective, qp, np.zeros(2), w, 0.1, OPTIONS, budget=budget)
    assert found.status is Status.ITERATION_LIMIT
    assert found.evaluations == len(manifold.points)
    last = manifold.points[-1].w  # of all evaluations of the last projection
    before = sum(at.w is not last for at in manifold.points)
    assert before < budget <= found.evaluations


def test_a_gradient_that_is_not_a_number():
    """A derivative of NaN ends in a failure, not in a hang."""
    manifold, objective = square((0.4, 0.2))
    objective.derivatives = lambda *_: (np.full(2, np.nan), np.eye(2))
    found = run(manifold, objective, (0.0, 0.0))
    assert found.status is Status.QP_FAILED
    assert np.isfinite(found.point.q).all()


def test_deterministic():
    """The same problem gives the same bits, also when the solver has worked before."""
    qp = SimplexQP(1, 2)
    results = []
    for target in ((0.9, 0.7), (-3.0, 0.2), (0.9, 0.7)):
        manifold, objective = square(target, cubic=1.0)
        results.append(
            pgm(manifold, objective, qp, np.zeros(2), np.full((1, 2), 0.1), 1.0, OPTIONS)
        )
    assert np.array_equal(results[0].point.q, results[2].point.q)
    assert results[0].values == results[2].values
    assert results[0].gamma == results[2].gamma


@pytest.mark.parametrize(
    "bad",
    [
        *(
            {name: value}
            for name in ("tolerance", "epsilon", "gamma_min", "gamma_max")
            for value in (0.0, -1.0, np.nan)
        ),
        *({name: 0} for name in ("max_iterations", "max_newton")),
        {"grow": 0.9},
        {"grow": np.nan},
        {"shrink": 0.0},
        {"shrink": 1.0},
        {"shrink": np.nan},
    ],
    ids=str,
)
def test_bad_options(bad):
    """An option out of its range is named, with what was given."""
    name, value = next(iter(bad.items()))
    with pytest.raises(IntegratorError, match=f"{name} must be .*{value}"):
        ProjectedGradient(**bad)
