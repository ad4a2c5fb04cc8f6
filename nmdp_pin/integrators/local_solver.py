"""What finds the configuration and the weights of a step from one start."""

from __future__ import annotations

import abc
from collections.abc import Iterator

from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.dynamics.objective import Objective
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.integrators.start import Origin, Start, starts_of_minimum, starts_of_principle
from nmdp_pin.solvers.pgm import PGMOptions, pgm
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.solvers.simplex_vi import SimplexVI
from nmdp_pin.solvers.solver_result import SolverResult
from nmdp_pin.solvers.vi_newton import vi_newton

_LOST = 10  # iterations for each projection that may fail


class LocalSolver(abc.ABC):
    """Solves a step that the residual has been told of, from where it is told to begin."""

    @abc.abstractmethod
    def solve(self, start: Start, gamma: float, options: PGMOptions) -> SolverResult:
        """The solution that the start leads to.

        Args:
            start: where to begin.
            gamma: step-size parameter to begin with.
            options: when it is solved, and when to give up.
        """

    @abc.abstractmethod
    def starts(self, origin: Origin) -> Iterator[Start]:
        """Places to begin, one after another."""


class PrincipleSolver(LocalSolver):
    """Solves the principle itself, by Newton's method for variational inequalities.

    Args:
        residual: the dynamics of the step.
        vi: for the affine inequality of each iteration.
    """

    def __init__(self, residual: StepResidual, vi: SimplexVI) -> None:
        self._residual, self._principle, self._vi = residual, Dissipation(residual), vi

    def solve(self, start: Start, gamma: float, options: PGMOptions) -> SolverResult:
        """See the base; there is no step-size parameter."""
        most = options.max_iterations
        if start.patience is not None:
            most = min(start.patience, most)
        return vi_newton(
            self._residual,
            self._principle,
            self._vi,
            start.q,
            start.w.ravel(),
            tolerance=options.tolerance,
            epsilon=options.epsilon,
            max_iterations=most,
            max_newton=options.max_newton,
            max_lost=most if start.obstinate else most // _LOST,
            near=start.near * options.near,
            least_proximal=start.least_proximal,
        )

    def starts(self, origin: Origin) -> Iterator[Start]:
        """See the base."""
        return starts_of_principle(origin)


class MinimumSolver(LocalSolver):
    """Finds argmin K by the projected gradient method, as the papers do.

    Args:
        residual: the dynamics of the step.
        objective: K.
        qp: for the quadratic program of each iteration.
    """

    def __init__(self, residual: StepResidual, objective: Objective, qp: SimplexQP) -> None:
        self.residual, self.objective, self.qp = residual, objective, qp

    def solve(self, start: Start, gamma: float, options: PGMOptions) -> SolverResult:
        """See the base."""
        w = start.w.ravel()
        return pgm(self.residual, self.objective, self.qp, start.q, w, gamma, options)

    def starts(self, origin: Origin) -> Iterator[Start]:
        """See the base."""
        return starts_of_minimum(origin)
