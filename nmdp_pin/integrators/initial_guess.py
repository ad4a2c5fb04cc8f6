"""Initial guesses of a step's solution, tried in order until one converges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nmdp_pin.dynamics.step_problem import StepProblem


class InitialGuess(NamedTuple):
    """Starting point of a solver.

    Args:
        q: configuration, shape (nq,).
        w: weights, shape (n_contacts, n_vertices).
        loose: norm of G allowed between iterations, relative to the weight; None: the solver's.
        max_iterations: largest number of iterations from this guess; None: the solver's own.
        stubborn: whether to continue however many projections onto G = 0 fail.
    """

    q: np.ndarray
    w: np.ndarray
    loose: float | None = None
    max_iterations: int | None = None
    stubborn: bool = False


def guesses_of_principle(
    problem: StepProblem, last: np.ndarray, zero: np.ndarray, full: np.ndarray
) -> Iterator[InitialGuess]:
    """Guesses for the variational inequality, ordered by success for their cost.

    Most steps take two to five iterations from the last weights. For the others a new guess is
    better than more iterations (docs/choices.md, 3).

    Args:
        problem: equations of the step.
        last: weights of the previous step.
        zero: weights without contact forces.
        full: weights of full normal forces.
    """
    q, h = problem.q_ref, 1.0 / problem.rate
    ahead = problem.retract(q, h * problem.v_ref)
    yield InitialGuess(ahead, last, 3.0, 8)
    yield InitialGuess(q, last, 3.0, 8)
    yield InitialGuess(ahead, zero, 10.0, 12)
    halfway = problem.retract(q, 0.5 * h * problem.v_ref)
    yield InitialGuess(halfway, last, 3.0, 8)
    yield InitialGuess(q, last, 0.3)
    yield InitialGuess(ahead, full, 3.0)
    yield InitialGuess(halfway, full)
    yield InitialGuess(q, zero, 0.3)
    yield InitialGuess(halfway, 0.5 * last, 3.0)
    yield InitialGuess(halfway, last, 0.3)
    yield InitialGuess(q, last)
    yield InitialGuess(q, zero, 0.1)
    yield InitialGuess(q, zero, stubborn=True)  # impacts of more than 10 m/s


def guesses_of_minimum(
    problem: StepProblem, last: np.ndarray, zero: np.ndarray
) -> Iterator[InitialGuess]:
    """Guesses for PGM, the nearest ones only, since it stays near the root where it starts.

    From w = 0, the papers' start, a descent always exists.
    """
    yield InitialGuess(problem.q_ref, last)
    yield InitialGuess(problem.q_ref, zero)
