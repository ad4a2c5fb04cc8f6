"""Newton's method for a variational inequality on the manifold G(q, w) = 0.

Find q and w in the simplices with G(q, w) = 0 and g(q)' (w' - w) >= 0 for every feasible w'. Each
iteration linearises both and solves what results, an affine variational inequality (Josephy's
method): it converges quadratically, and asks for no symmetry. The matrix of that inequality is
(dg/dq) P with the exact response P = -(dG/dq)^-1 dG/dw. It is not symmetric (the depth of a contact
changes its friction, but not the other way round) and its symmetric part is indefinite in long
steps; it is nevertheless a P-matrix where a single contact presses and slides, and quadratic
programs with a definite model of it converge linearly at best (docs/choices.md, 14).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from nmdp_pin.errors import IntegratorError
from nmdp_pin.kernels.newton import CIRCLES, SINGULAR, josephy_newton
from nmdp_pin.solvers.projection import ManifoldProblem, project
from nmdp_pin.solvers.solver_result import SolverResult
from nmdp_pin.status import Status

_LOST = 10  # iterations for each projection that may fail
_FIRST_PROXIMAL = 1e-3  # where the least one has failed
_TIGHTEN, _RELAX = 3.0, 0.3  # factors after a failed and after an accepted step
_TIGHT = 1e-13  # tolerance of a solution to rounding
_PLACE = 2e-14  # [m] to which a contact's place is known, beside a robot of about a metre
_FREE = 1e-10  # proximal term there
_MOST_PROXIMAL = 1e2  # beyond it steps are too short to get anywhere


class InequalityProblem(ManifoldProblem, Protocol):
    """The equations with the work of the vertices; points also have `V`, `work`, `active`, ..."""

    @property
    def unit(self) -> float:
        """A typical force [N]."""

    @property
    def rate(self) -> float:
        """One over the length of the step [1/s]."""

    def tolerance(self, relative: float) -> float:
        """Tolerance of the norm of G [N, N m]."""


@dataclass(frozen=True, kw_only=True)
class ViNewton:
    """Josephy and Newton's method for the dissipation principle.

    Args:
        tolerance: tolerance of the norm of G over the weight.
        slip: sliding velocity that other forces could still prevent at a contact [m/s].
        max_iterations: largest number of iterations from one initial guess.
        max_newton: largest number of Newton steps of a projection.
        loose: norm of G over the weight allowed between iterations; a guess may have its own.
        proximal: least proximal term, relative to the curvature of each contact. With less,
            weights find their way along long valleys sooner and are less unique.

    Raises:
        IntegratorError: an option is out of range.
    """

    objective: ClassVar[str] = "dissipation"

    tolerance: float = 1e-8
    slip: float = 1e-6
    max_iterations: int = 50
    max_newton: int = 10
    loose: float = 1.0
    proximal: float = 1e-6

    def __post_init__(self) -> None:
        for name in ("tolerance", "slip", "max_iterations", "max_newton", "loose", "proximal"):
            if not 0 < getattr(self, name) < np.inf:
                raise IntegratorError(f"{name} must be finite and > 0, got {getattr(self, name)}")

    def solve(
        self,
        problem: InequalityProblem,
        q: np.ndarray,
        w: np.ndarray,
        *,
        loose: float | None = None,
        max_iterations: int | None = None,
        stubborn: bool = False,
        budget: int = 2**62,
    ) -> SolverResult:
        """Solve the variational inequality from (q, w).

        Between the iterations G need not vanish but only be small: the next iteration removes what
        is left of it together with the rest, which saves most evaluations. Where the linearisation
        leads astray a proximal term shortens the steps.

        Args:
            problem: the equations.
            q: initial configuration.
            w: initial weights, in the simplices, shape (n, m).
            loose: replaces the option.
            max_iterations: replaces the option where it is less.
            stubborn: go on however many projections fail; else one in ten iterations may.
            budget: evaluations after which to give up.
        """
        tolerance = problem.tolerance(self.tolerance)
        near = max((self.loose if loose is None else loose) * problem.unit, tolerance)
        slip = self.resolution(problem)
        most = self.max_iterations
        if max_iterations is not None:
            most = min(most, max_iterations)
        max_lost = most if stubborn else most // _LOST
        point, status, evaluations = problem.evaluate(q, w), Status.CONVERGED, 1
        if not point.residual <= near:
            point, status, evaluations = project(
                problem, point, tolerance=near, max_iterations=self.max_newton
            )
        iterations = rejected = lost = 0
        proximal = self.proximal
        while status.ok and (point.residual > tolerance or point.slip > slip):
            if iterations >= most or evaluations >= budget:
                status = Status.ITERATION_LIMIT
                break
            A, J_force, J_motion = problem.linearise(point)
            G, V, work, active = point.G, point.V, point.work, point.active
            w1, dq = np.empty(point.w.shape), np.empty(G.shape)
            while True:
                iterations += 1
                outcome = josephy_newton(
                    A, G, J_force, J_motion, V, active, work, point.w, proximal, w1, dq
                )
                if outcome == SINGULAR:
                    status = Status.SINGULAR
                    break
                if outcome != CIRCLES:
                    trial = problem.evaluate(problem.retract(point.q, dq), w1, point)
                    evaluations += 1
                    if trial.residual <= near:
                        break
                    found = project(problem, trial, tolerance=near, max_iterations=self.max_newton)
                    trial, evaluations = found.point, evaluations + found.evaluations - 1
                    if found.status.ok:
                        break
                    lost += 1
                rejected += 1
                proximal = max(_TIGHTEN * proximal, _FIRST_PROXIMAL)
                if proximal > _MOST_PROXIMAL or lost > max_lost or evaluations >= budget:
                    status = Status.QP_FAILED if outcome == CIRCLES else Status.STALLED
                    break
            if status.ok:
                point = trial
                # The gap is no merit function: it may rise on the way. Only what has failed counts.
                proximal = max(_RELAX * proximal, self.proximal)
        return SolverResult(point, 1.0, status, point.gap, iterations, evaluations, rejected)

    def tight(self, problem: InequalityProblem) -> ViNewton:
        """The same method that solves to rounding, for the derivatives at a solution."""
        return replace(
            self, tolerance=_TIGHT, slip=_PLACE * problem.rate, max_iterations=50, proximal=_FREE
        )

    def solved(self, problem: InequalityProblem, point: Any) -> bool:
        """Whether a point solves the variational inequality to the tolerances."""
        small = point.residual <= problem.tolerance(self.tolerance)
        return bool(small and point.slip <= self.resolution(problem))

    def resolution(self, problem: InequalityProblem) -> float:
        """Motions of a step that the method can tell from none [m]."""
        return self.slip / problem.rate
