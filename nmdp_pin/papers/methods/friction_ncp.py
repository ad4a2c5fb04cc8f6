"""Hard contacts with dry friction: the nonlinear complementarity problem of one step.

Find impulses x in the friction cones K, with velocities s = W x + g of the contacts, such that

    x in K,   s + (0, 0, mu |s_t|) in the dual cone K*,   and the two are perpendicular,

which is Signorini's condition and Coulomb's law at once. The solvers are Pinocchio's: ADMM and
projected Gauss-Seidel (PGS). Vectors hold (tangent, tangent, normal) of one contact after another.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

NCP_SOLVERS = ("admm", "pgs")
"""Names of the solvers."""

_ASKED = 0.3  # of the tolerance over sqrt(n): errors add up, and the solvers look at one impulse
_RELAXATION = 0.5  # of PGS; with more, contacts that share a load or slide may swing for ever
_ANDERSON = 5  # iterates of ADMM that are extrapolated; without, many contacts take thousands
_ACCEPTED = 1e-3  # of the velocities that come in: left by two solvers, it is not worth a failure
_REFACTOR = 5.0  # of ADMM: its penalty changes by no less, since each change costs a factorisation
_ROUNDING = 1e-11  # of the velocities that come in: no tolerance is smaller
_MOST = 256  # contacts; matrices of (3 n)^2 numbers lie on the stack, which 350 contacts overflow
_MANY = 100  # contacts, above which iterations, whose cost is in proportion to n^2, are fewer


class NcpResiduals(NamedTuple):
    """Residuals of impulses: the largest over the contacts.

    Args:
        primal: distance of the impulse from the friction cone [N s].
        dual: distance of the corrected velocity from the dual cone [m/s].
        complementarity: |impulse . corrected velocity| [J].
    """

    primal: float
    dual: float
    complementarity: float


@dataclass(frozen=True, eq=False)
class NcpSolution:
    """Outcome of a solver.

    Args:
        impulses: impulses [N s], shape (n, 3).
        residuals: residuals of these impulses, computed from the definition.
        iterations: iterations of the solvers.
        converged: the residuals are within the tolerance; or both solvers were at their end, and
            they are within a thousandth of the velocities that came in.
    """

    impulses: np.ndarray
    residuals: NcpResiduals
    iterations: int
    converged: bool


class FrictionNCP:
    """Pinocchio's solvers of contact problems; a solve depends on its arguments alone.

    Where the solver asked for does not converge, the other one begins again. A problem is scaled by
    the mean of W's diagonal before it is solved, so that impulses are in the unit of velocities and
    one tolerance serves all masses.

    Args:
        solver: "admm" or "pgs".
        max_iterations: largest number of iterations of each of the two; fewer with more than 100
            contacts.
    """

    def __init__(self, solver: str = "admm", *, max_iterations: int = 1000) -> None:
        names = (solver, *(name for name in NCP_SOLVERS if name != solver))
        self._solvers = [_Solver(name, max_iterations) for name in names]

    def solve(
        self, W: np.ndarray, g: np.ndarray, mu: np.ndarray, guess: np.ndarray, tolerance: float
    ) -> NcpSolution:
        """Impulses of n contacts, n > 0; none are found for more than 256.

        Args:
            W: Delassus matrix, symmetric and positive semidefinite [1/kg], shape (3 n, 3 n).
            g: velocities without impulses [m/s], shape (3 n,).
            mu: friction coefficients >= 0, shape (n,).
            guess: impulses to start from [N s], shape (n, 3).
            tolerance: on velocities, and on impulses in that unit [m/s]; on their products times
                the largest of g.
        """
        scale, speed = float(W.diagonal().mean()) or 1.0, float(np.abs(g).max())
        if not math.isfinite(scale + speed) or len(mu) > _MOST:
            return NcpSolution(guess, NcpResiduals(*[math.nan] * 3), 0, False)
        tolerance = max(tolerance, _ROUNDING * speed)
        speed = max(speed, tolerance)
        # of impulse, velocity and their product, for a tolerance of 1 m/s
        units = np.array([1.0 / scale, 1.0, speed / scale])
        tries, iterations = [], 0
        for solver in self._solvers:
            x, n = solver.run(W / scale, g, mu, scale * guess, tolerance, tolerance * speed)
            iterations += n
            residuals = ncp_residuals(W, g, mu, x / scale)
            error = float((np.array(residuals) / units).max())
            tries.append((error if error >= 0.0 else math.inf, x / scale, residuals))
            if error <= tolerance:
                break
        error, impulses, residuals = min(tries, key=lambda found: found[0])
        converged = error <= max(tolerance, _ACCEPTED * speed)
        return NcpSolution(impulses, residuals, iterations, converged)


class _Solver:
    """One of Pinocchio's solvers with its settings; problems come scaled."""

    def __init__(self, name: str, max_iterations: int) -> None:
        self._by_pgs = name == "pgs"
        self._solver: Any
        self._settings: Any
        self._new_result: Any
        if self._by_pgs:
            self._solver, self._new_result = pin.PGSConstraintSolver(), pin.PGSSolverResult
            self._settings = pin.PGSSolverSettings()
            self._settings.over_relaxation = _RELAXATION
        else:
            self._solver, self._new_result = pin.ADMMConstraintSolver(), pin.ADMMSolverResult
            self._settings = pin.ADMMSolverSettings()
            self._settings.anderson_capacity = _ANDERSON
            self._settings.rho_update_ratio = _REFACTOR
        self._most = max_iterations
        # A step that is small beside the iterate is no sign of a solution, but of a slow solver.
        self._settings.relative_feasibility_tol = 0.0
        self._settings.relative_complementarity_tol = 0.0
        # Only their cones are used, so they may belong to the empty robot.
        self._cone = pin.ConstraintModel(pin.PointContactConstraintModel(pin.Model()))
        self._cones = pin.StdVec_ConstraintModel()
        self._cone_data = pin.StdVec_ConstraintData()
        self._friction: list[float] = []

    def run(
        self,
        W: np.ndarray,
        g: np.ndarray,
        mu: np.ndarray,
        guess: np.ndarray,
        feasibility: float,
        complementarity: float,
    ) -> tuple[np.ndarray, int]:
        """Impulses (n, 3) for the two tolerances, and the iterations."""
        turn = None
        if self._by_pgs:
            turn = even_tangents(W)
            W, guess = _turned(W, turn), _apply(turn, guess)
            g = _apply(turn, g.reshape(-1, 3)).ravel()
        self._set_cones(mu.tolist())
        settings, result = self._settings, self._new_result()
        most = max(1, round(self._most * min(1.0, (_MANY / len(mu)) ** 2)))
        settings.max_iterations = most - 1  # they count from 0
        asked = _ASKED / math.sqrt(len(mu))
        settings.absolute_feasibility_tol = asked * feasibility
        settings.absolute_complementarity_tol = asked * complementarity
        result.setConstraintImpulseGuess(guess.ravel())
        delassus = pin.DelassusOperatorDense(W)
        self._solver.solve(delassus, g, self._cones, self._cone_data, settings, result)
        x = result.retrieveConstraintImpulses().reshape(-1, 3)
        if turn is not None:
            x = _apply(turn.transpose(0, 2, 1), x)
        return x, int(result.iterations)

    def _set_cones(self, mu: list[float]) -> None:
        """One cone for each contact, with its friction coefficient."""
        known = self._friction
        for cones in (self._cones, self._cone_data, known):
            del cones[len(mu) :]
        for _ in mu[len(known) :]:
            self._cones.append(self._cone)
            self._cone_data.append(self._cone.createData())
            known.append(-1.0)
        for i, value in enumerate(mu):
            if value != known[i]:
                self._cones[i].extract().setFriction(value)
                known[i] = value


def ncp_residuals(
    W: np.ndarray, g: np.ndarray, mu: np.ndarray, impulses: np.ndarray
) -> NcpResiduals:
    """Residuals of impulses, (n, 3) [N s]; the other arguments are those of `FrictionNCP.solve`."""
    velocity = (W @ impulses.ravel() + g).reshape(-1, 3)
    slip = np.hypot(velocity[:, 0], velocity[:, 1])
    normal = velocity[:, 2] + mu * slip  # the correction: what slides need not come apart
    work = (impulses[:, :2] * velocity[:, :2]).sum(axis=1) + impulses[:, 2] * normal
    pull = np.hypot(impulses[:, 0], impulses[:, 1])
    one = np.ones_like(mu)
    return NcpResiduals(
        float(_distance(one, pull, mu, impulses[:, 2]).max(initial=0.0)),
        float(_distance(mu, slip, one, normal).max(initial=0.0)),
        float(np.abs(work).max(initial=0.0)),
    )


def even_tangents(W: np.ndarray) -> np.ndarray:
    """Turns (n, 3, 3) of the contact frames that give both tangents the same diagonal of W.

    Pinocchio's PGS steps along both tangents by the inverse of the smaller diagonal, and diverges
    where they are far apart (a joint that gives way in one direction only). The mean of the two
    is never less than half of the largest eigenvalue, so that a step by its inverse converges.
    """
    n = len(W) // 3
    own = W.reshape(n, 3, n, 3)[np.arange(n), :, np.arange(n)]
    angle = 0.5 * np.arctan2(own[:, 1, 1] - own[:, 0, 0], 2.0 * own[:, 0, 1])
    turn = np.zeros((n, 3, 3))
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
    turn[:, 0, 1] = np.sin(angle)
    turn[:, 1, 0] = -turn[:, 0, 1]
    turn[:, 2, 2] = 1.0
    return turn


def _turned(W: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """T W T' with T the turns on the diagonal; W is symmetric."""
    n = len(turn)
    half = (turn @ W.reshape(n, 3, 3 * n)).reshape(3 * n, 3 * n)
    return np.ascontiguousarray((turn @ half.T.reshape(n, 3, 3 * n)).reshape(3 * n, 3 * n).T)


def _apply(turn: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Each turn times its vector, shape (n, 3)."""
    result: np.ndarray = (turn @ x[:, :, None])[:, :, 0]
    return result


def _distance(a: np.ndarray, t: np.ndarray, b: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Distance of vectors with tangential length t and normal part n from a t <= b n, (n,)."""
    beyond = np.maximum(a * t - b * n, 0.0) / np.hypot(a, b)
    result: np.ndarray = np.where(b * t + a * n < 0.0, np.hypot(t, n), beyond)
    return result
