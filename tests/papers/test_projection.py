"""Damped Newton on small problems with known roots."""

import numpy as np
import pytest
from plane_problems import Scalar, Springs

from nmdp_pin._state.status import Status
from nmdp_pin.papers.methods.projection import project

TOLERANCE = 1e-10
LIMITS = {"tolerance": TOLERANCE, "max_iterations": 15}


def projected(problem, q, w=((0.0,),), **limits):
    """The projection from q, evaluated with weights w."""
    return project(problem, problem.evaluate(q, np.asarray(w)), **limits)


def test_a_linear_problem_takes_one_step():
    """Newton is exact on linear equations: two evaluations."""
    problem = Springs(np.array([[3.0, 1.0], [0.5, 2.0]]), np.eye(2), np.array([1.0, -2.0]))
    w = np.array([[0.25, 0.5]])
    found = projected(problem, np.array([5.0, 5.0]), w, **LIMITS)
    assert found.status is Status.CONVERGED
    assert len(problem.points) == 2
    np.testing.assert_allclose(
        found.point.q, np.linalg.solve(problem.A, w[0] + problem.c), rtol=1e-12
    )


def test_a_root_needs_no_step():
    """From a root nothing moves: the very same array comes back."""
    problem = Springs(np.eye(2), np.eye(2), np.zeros(2))
    q = np.array([0.25, 0.5])
    found = projected(problem, q, q[None], **LIMITS)
    assert found.point.q is q
    assert found.point.residual == 0.0
    assert len(problem.points) == 1


def test_a_nonlinear_problem():
    """Of q + q^3 = c the residual is below the tolerance, and the last evaluation was at q."""
    problem = Springs(np.eye(2), np.eye(2), np.array([10.0, -2.0]), cubic=1.0)
    found = projected(problem, np.zeros(2), np.zeros((1, 2)), **LIMITS)
    assert found.status is Status.CONVERGED
    assert problem.points[-1] is found.point
    assert found.evaluations == len(problem.points)
    np.testing.assert_allclose(found.point.q, [2.0, -1.0], atol=TOLERANCE)
    assert found.point.residual <= TOLERANCE


def test_newton_converges_quadratically():
    """The number of evaluations stays small: a wrong Jacobian would need many more."""
    problem = Springs(np.eye(2), np.eye(2), np.array([10.0, -2.0]), cubic=1.0)
    projected(problem, np.array([2.5, -1.5]), np.zeros((1, 2)), **LIMITS)
    assert len(problem.points) <= 7


def test_overshooting_is_damped():
    """From 3 on arctan plain Newton diverges, halving the step finds the root."""
    problem = Scalar(np.arctan, lambda q: 1.0 / (1.0 + q * q))
    found = projected(problem, np.array([3.0]), **LIMITS)
    assert found.status is Status.CONVERGED
    assert abs(found.point.q[0]) <= 2.0 * TOLERANCE
    assert min(problem.points) < -1.0  # it did overshoot


def test_no_root():
    """q^2 + 1 has no root: the projection stops making progress, at a finite point."""
    problem = Scalar(lambda q: q * q + 1.0, lambda q: 2.0 * q)
    found = projected(problem, np.array([1.3]), **LIMITS)
    assert found.status is Status.PROJECTION_FAILED
    assert np.isfinite(found.point.q).all()
    assert 1.0 <= found.point.residual < 1.3**2 + 1.0


def test_singular():
    """A Jacobian that is zero is singular, not a division by zero."""
    found = projected(Scalar(lambda q: 1.0, lambda q: 0.0), np.array([0.5]), **LIMITS)
    assert found.status is Status.SINGULAR
    assert found.point.q[0] == 0.5


@pytest.mark.parametrize("slope", [np.nan, 1e-320])
def test_a_step_that_is_not_finite(slope):
    """A Newton step of NaN or inf is never taken."""
    found = projected(Scalar(lambda q: 1.0, lambda q: slope), np.array([0.5]), **LIMITS)
    assert found.status is Status.SINGULAR
    assert found.point.q[0] == 0.5


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_start_that_is_not_finite(value):
    """NaN or inf at the start is reported, without a step."""
    found = projected(Scalar(lambda q: value, lambda q: 1.0), np.array([0.5]), **LIMITS)
    assert found.status is Status.NOT_FINITE
    assert found.point.q[0] == 0.5


def test_a_trial_that_is_not_finite_is_halved():
    """From 3 on log the full step leaves the domain (NaN), a shorter one does not."""
    problem = Scalar(np.log, lambda q: 1.0 / q)
    found = projected(problem, np.array([3.0]), **LIMITS)
    assert found.status is Status.CONVERGED
    assert found.point.q[0] == pytest.approx(1.0, abs=1e-9)
    assert min(problem.points) < 0.0


def test_iteration_limit():
    """A double root converges linearly: the limit ends it, with what was reached."""
    problem = Scalar(lambda q: q * q, lambda q: 2.0 * q)
    found = projected(problem, np.array([1.0]), tolerance=1e-30, max_iterations=5)
    assert found.status is Status.PROJECTION_FAILED
    assert found.point.q[0] == pytest.approx(2.0**-5)
    assert found.point.residual == pytest.approx(2.0**-10)


def test_the_residual_never_rises():
    """Of the points kept, each has a smaller residual than the one before."""
    problem = Scalar(
        lambda q: np.arctan(q) + 0.3 * np.sin(5 * q),
        lambda q: 1 / (1 + q * q) + 1.5 * np.cos(5 * q),
    )
    for start in np.linspace(-4.0, 4.0, 17):
        first = abs(problem.function(start))
        found = projected(problem, np.array([start]), **LIMITS)
        assert found.point.residual <= first
