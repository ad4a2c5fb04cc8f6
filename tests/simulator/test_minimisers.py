"""Levenberg-Marquardt and L-BFGS on small problems whose minima are known."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from nmdp_pin._kernels.step import levenberg_marquardt as lm
from nmdp_pin._state.status import Status
from nmdp_pin.papers.methods.lbfgs import lbfgs

TOLERANCE = 1e-9
CLOSE = 1e-6  # of a minimum whose Hessian's least eigenvalue is above 1e-3


class Function:
    """A problem in the plane or in space from a value, its gradient and its matrix."""

    def __init__(self, value, gradient, matrix):
        self._value, self._gradient, self._matrix, self.evaluations = value, gradient, matrix, 0

    def evaluate(self, x):
        self.x = x
        self.evaluations += 1
        return float(self._value(x)), float(np.linalg.norm(self._gradient(x)))

    def gradient(self):
        return self._gradient(self.x)

    def derivatives(self):
        return self._gradient(self.x), self._matrix(self.x)

    def retract(self, x, dx):
        return x + dx

    def pull_back(self, x, dx, gradient):
        return gradient


class Circle(Function):
    """The direction in the plane that is nearest to another one: an angle, stored as a vector."""

    def __init__(self, target):
        super().__init__(
            lambda x: 1.0 - x @ target,
            lambda x: np.array([-target @ self._turned(x)]),
            lambda x: np.array([[target @ x]]),
        )

    @staticmethod
    def _turned(x):
        return np.array([-x[1], x[0]])

    def retract(self, x, dx):
        c, s = np.cos(dx[0]), np.sin(dx[0])
        return c * x + s * self._turned(x)


def rosenbrock(gauss_newton=False):
    """(1 - x)^2 + 100 (y - x^2)^2, over 2: a curved valley to (1, 1)."""

    def residual(x):
        return np.array([1.0 - x[0], 10.0 * (x[1] - x[0] ** 2)])

    def jacobian(x):
        return np.array([[-1.0, 0.0], [-20.0 * x[0], 10.0]])

    def hessian(x):
        J, r = jacobian(x), residual(x)
        return J.T @ J + (0.0 if gauss_newton else r[1]) * np.array([[-20.0, 0.0], [0.0, 0.0]])

    return Function(
        lambda x: 0.5 * residual(x) @ residual(x), lambda x: jacobian(x).T @ residual(x), hessian
    )


def quadratic(n=5):
    """A bowl with eigenvalues from 1 to 1000."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    H, b = Q @ np.diag(np.geomspace(1.0, 1e3, n)) @ Q.T, rng.standard_normal(n)
    problem = Function(lambda x: 0.5 * x @ H @ x - b @ x, lambda x: H @ x - b, lambda x: H)
    return problem, np.linalg.solve(H, b)


def levenberg_marquardt(problem, x, *, tolerance, max_iterations=100):
    """The loop around the kernel's account, with the identity before lam."""
    account, trial = np.zeros(lm.ENTRIES), x
    lm.open_account(account)
    while True:
        if lm.accepts(account, *problem.evaluate(trial)):
            x, fresh = trial, True
        if not lm.goes_on(account, tolerance, max_iterations):
            break
        if fresh:
            (g, H), fresh = problem.derivatives(), False
        while np.linalg.eigvalsh(shifted := H + account[lm.LAM] * np.eye(len(g)))[0] <= 0.0:
            lm.reject(account)
            if not lm.goes_on(account, tolerance, max_iterations):
                break
        trial = problem.retract(x, np.linalg.solve(shifted, -g))
    return SimpleNamespace(
        x=x,
        status=tuple(Status)[int(account[lm.OUTCOME])],
        value=account[lm.VALUE],
        error=account[lm.ERROR],
        iterations=int(account[lm.ITERATIONS]),
        rejected=int(account[lm.REJECTED]),
        evaluations=int(account[lm.EVALUATIONS]),
    )


SOLVERS = {
    "lm": levenberg_marquardt,
    "lbfgs": lambda problem, x, **options: lbfgs(problem, x, len(x), **options),
}


@pytest.fixture(params=sorted(SOLVERS))
def solve(request):
    """Each optimiser."""
    return SOLVERS[request.param]


def test_quadratic(solve):
    """A bowl's bottom is found, by Newton's method in one step."""
    problem, expected = quadratic()
    found = solve(problem, np.ones(5), tolerance=TOLERANCE)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.x, expected, atol=CLOSE)
    assert found.error <= TOLERANCE
    if solve is levenberg_marquardt:
        assert found.iterations == 1


@pytest.mark.parametrize("start", [(-1.2, 1.0), (3.0, -4.0), (0.0, 0.0)])
def test_rosenbrock(solve, start):
    """The end of a curved valley is found."""
    found = solve(rosenbrock(), np.array(start), tolerance=TOLERANCE)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.x, 1.0, atol=CLOSE)


def test_gauss_newton():
    """With J'J for the Hessian it is JTJ-LM, and finds the same."""
    found = levenberg_marquardt(rosenbrock(True), np.array([-1.2, 1.0]), tolerance=TOLERANCE)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.x, 1.0, atol=CLOSE)


def test_levenberg_marquardt_takes_fewer_iterations():
    """Second derivatives save iterations."""
    start = np.array([-1.2, 1.0])
    newton = levenberg_marquardt(rosenbrock(), start, tolerance=TOLERANCE)
    gradients = lbfgs(rosenbrock(), start, 2, tolerance=TOLERANCE)
    assert newton.iterations < gradients.iterations


def test_on_a_circle():
    """What is no vector space: a direction turns to the nearest one, and keeps its length."""
    target = np.array([np.cos(2.0), np.sin(2.0)])
    for solve in (levenberg_marquardt, partial(lbfgs, n=1)):
        found = solve(Circle(target), np.array([1.0, 0.0]), tolerance=TOLERANCE)
        assert found.status is Status.CONVERGED
        np.testing.assert_allclose(found.x, target, atol=CLOSE)


def test_indefinite_hessian():
    """From the top of a hill, where the Hessian is negative, it goes down to a minimum."""
    problem = Function(
        lambda x: np.cos(x[0]) + 0.5 * x[1] ** 2,
        lambda x: np.array([-np.sin(x[0]), x[1]]),
        lambda x: np.diag([-np.cos(x[0]), 1.0]),
    )
    found = levenberg_marquardt(problem, np.array([0.2, 1.0]), tolerance=TOLERANCE)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(np.cos(found.x[0]), -1.0, atol=CLOSE)
    assert found.rejected > 0


def test_the_function_never_rises(monkeypatch):
    """Every point taken is lower than the one before."""
    problem, taken = rosenbrock(), []
    derivatives = problem.derivatives
    problem.derivatives = lambda: taken.append(problem.evaluate(problem.x)[0]) or derivatives()
    levenberg_marquardt(problem, np.array([-1.2, 1.0]), tolerance=TOLERANCE)
    assert len(taken) > 5
    assert (np.diff(taken) < 0.0).all()


@pytest.mark.parametrize(
    ("f", "error", "taken"),
    [
        (0.5, 2.0, True),
        (1.0, 0.5, True),
        (1.0 + 1e-13, 0.5, True),
        (1.0, 2.0, False),
        (1.1, 0.5, False),
    ],
)
def test_what_levenberg_marquardt_takes(f, error, taken):
    """Points where f falls, or stays but for rounding while the error falls; lam follows."""
    account = np.zeros(lm.ENTRIES)
    lm.open_account(account)
    assert lm.accepts(account, 1.0, 1.0)
    for before, fallen, risen in ((0.0, 0.0, 1.0), (0.5, 0.0, 5.0), (20.0, 2.0, 200.0)):
        account[[lm.VALUE, lm.ERROR, lm.LAM]] = 1.0, 1.0, before
        assert lm.accepts(account, f, error) is taken
        assert account[lm.LAM] == pytest.approx(fallen if taken else risen)
        assert (account[lm.VALUE], account[lm.ERROR]) == ((f, error) if taken else (1.0, 1.0))


def test_counters(solve):
    """Evaluations are those made; iterations hold the rejected ones."""
    problem = rosenbrock()
    found = solve(problem, np.array([-1.2, 1.0]), tolerance=TOLERANCE)
    assert found.evaluations == problem.evaluations
    assert found.iterations > getattr(found, "rejected", 0)


def test_already_there(solve):
    """At a minimum nothing is done."""
    found = solve(rosenbrock(), np.ones(2), tolerance=TOLERANCE)
    assert found.status is Status.CONVERGED
    assert found.iterations <= 1


def test_iteration_limit(solve):
    """Too few iterations are a status."""
    found = solve(rosenbrock(), np.array([-1.2, 1.0]), tolerance=TOLERANCE, max_iterations=2)
    assert found.status is Status.ITERATION_LIMIT
    assert found.iterations == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite(solve, bad):
    """A start that is not finite is a status, not an exception."""
    with np.errstate(all="ignore"):
        found = solve(rosenbrock(), np.array([bad, 1.0]), tolerance=TOLERANCE)
    assert found.status is Status.NOT_FINITE


def test_a_local_minimum_of_another_function_is_no_success(solve):
    """Where f has a minimum but the error is not small, the solver says so."""
    problem, _ = quadratic()
    evaluate = problem.evaluate
    problem.evaluate = lambda x: (evaluate(x)[0], 1.0 + evaluate(x)[1])
    found = solve(problem, np.ones(5), tolerance=TOLERANCE)
    assert found.status in (Status.STALLED, Status.ITERATION_LIMIT)
