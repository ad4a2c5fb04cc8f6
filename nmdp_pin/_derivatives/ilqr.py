"""Iterative linear quadratic regulator with bounds of the controls, by derivatives of steps."""

import functools
import importlib.util
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nmdp_pin._derivatives.differentiator import StepDerivatives, StepDifferentiator
from nmdp_pin._options import shown
from nmdp_pin._simulator.argument_check import check_count, is_real
from nmdp_pin._simulator.state_vector import StateVector
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError, MissingExtra

if TYPE_CHECKING:  # which imports this one
    from nmdp_pin.planning import Plan, Problem

_STEP = 1e-5  # of the central differences of residuals
_SHARES = 0.5 ** np.arange(6)  # of a full step, that are tried
_DAMPING = (1e-6, 1e4)  # of controls, as a share of the mean of their second derivatives


class _Knot(NamedTuple):
    """Derivatives of a knot by [x; u] at its start: of its end, and of residuals there."""

    F: np.ndarray
    G: np.ndarray
    r: np.ndarray


def ilqr(
    problem: "Problem",
    state: State,
    u: np.ndarray,
    *,
    rounds: int = 30,
    smoothing: float = 0.0,
    tolerance: float = 1e-4,
) -> "Plan":
    """Iterative LQR: Gauss-Newton with feedback, whose controls keep their bounds.

    A round linearises the steps of the plan and makes the longest of six shares of the step that
    this promises, of which a tenth must come true in steps of the simulator; where none does,
    controls are damped more.

    Args:
        problem: what to minimise; the method of its simulator has derivatives.
        state: start.
        u: controls to begin with, shape (n, nu), whose steps must not fail.
        rounds: largest number of rounds.
        smoothing: of derivatives over switches of contacts, as in `StepDifferentiator`.
        tolerance: it ends where a round promises a smaller share of the cost.

    Raises:
        DerivativeError: the method has no derivatives.
        MissingExtra: without the extra `qp`.
    """
    if importlib.util.find_spec("daqp") is None:
        raise MissingExtra("daqp", "qp")
    if not hasattr(problem, "rolled"):
        raise ControlError(f"problem must be of type Problem, got {shown(problem)}")
    check_count("rounds", rounds, 0)
    if not (is_real(tolerance) and tolerance >= 0.0):
        raise ControlError(f"tolerance must be a number >= 0, got {shown(tolerance)}")
    differentiate = StepDifferentiator(problem.simulator)
    plan, damping = problem.plan(state, u), _DAMPING[0]
    for _ in range(rounds if np.isfinite(plan.cost) else 0):
        knots, kinks = _linearised(problem, differentiate, state, plan, smoothing)
        found, damping = _improved(problem, state, plan, knots, damping, tolerance)
        history = (*plan.history, min(found.cost, plan.cost))
        plan, before = replace(found, history=history, one_sided=kinks), plan
        if found is before:
            break
    return plan


def _linearised(
    problem: "Problem",
    differentiate: StepDifferentiator,
    state: State,
    plan: "Plan",
    smoothing: float,
) -> tuple[list[_Knot], tuple[int, ...]]:
    """The knots and the end, none where a derivative is not known; and the knots at kinks."""
    simulator, knots, kinks = problem.simulator, list[_Knot](), list[int]()
    space, names = simulator.vector, ("q_target",) if problem.targets else ()
    n = space.ndx
    for k, (x, u) in enumerate(zip(plan.x, plan.u, strict=True)):
        steps, command = list[StepDerivatives](), problem.commanded(u)
        for _ in range(problem.held):
            steps.append(
                differentiate(state, command, problem.h, with_respect_to=names, smoothing=smoothing)
            )
            state = steps[-1].result.state
        knot = functools.reduce(StepDerivatives.then, steps)
        if not knot.status.ok:
            return [], tuple(kinks)
        kinks += [k] if knot.one_sided else []
        B = knot.dx_du
        if problem.targets:
            B = knot.parameters["q_target"][:, simulator.robot.driven]
        F, J = np.hstack([knot.dx_dx, B]), _slopes(space, problem.running, x, u)
        G = J[:, :n] @ F
        G[:, n:] += J[:, n:]
        knots.append(_Knot(F, G, problem.running(x, u)))
    J = _slopes(space, lambda x, _: problem.final(x), x, u)
    return [*knots, _Knot(F, J[:, :n], problem.final(x))], tuple(kinks)


def _slopes(
    space: StateVector,
    f: Callable[[np.ndarray, np.ndarray], np.ndarray],
    x: np.ndarray,
    u: np.ndarray,
) -> np.ndarray:
    """Derivatives of residuals by the tangent at x and by u, shape (m, 2 nv + nu)."""
    ways = _STEP * np.eye(space.ndx + len(u))
    near = [(space.integrate(x, d[: space.ndx]), u + d[space.ndx :]) for d in (*ways, *-ways)]
    xs, us = (np.array(part) for part in zip(*near, strict=True))
    after, before = np.split(f(xs, us), 2)
    slopes: np.ndarray = (after - before).T / (2.0 * _STEP)
    return slopes


def _improved(
    problem: "Problem",
    state: State,
    plan: "Plan",
    knots: list[_Knot],
    damping: float,
    tolerance: float,
) -> tuple["Plan", float]:
    """A better plan and the damping that it took; the plan itself where there is none."""
    while knots and damping <= _DAMPING[1]:
        steps, gains, promised = _backward(problem, plan.u, knots, damping)
        if promised <= tolerance * plan.cost:
            break
        for share in _SHARES:
            found = _followed(problem, state, plan, share * steps, gains)
            if plan.cost - found.cost > 0.1 * share * promised:
                return found, max(damping / 10.0, _DAMPING[0])
        damping *= 10.0
    return plan, damping


def _backward(
    problem: "Problem", u: np.ndarray, knots: list[_Knot], damping: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Steps of the controls within bounds, gains of those that are free, and what both save."""
    import daqp  # an extra

    (low, high), end = problem.bounds, knots[-1]
    n, nu = end.G.shape[1], u.shape[1]
    V, v, promised = 2.0 * end.G.T @ end.G, 2.0 * end.G.T @ end.r, 0.0
    steps, gains = np.zeros_like(u), np.zeros((len(u), nu, n))
    for k in reversed(range(len(u))):
        F, G, r = knots[k]
        H, g = 2.0 * G.T @ G + F.T @ V @ F, 2.0 * G.T @ r + F.T @ v
        Huu = H[n:, n:] + damping * (np.trace(H[n:, n:]) / nu) * np.eye(nu)
        least, most = low - u[k], high - u[k]
        d = daqp.solve(Huu, g[n:].copy(), np.empty((0, nu)), most, least, np.zeros(nu, np.intc))[0]
        free = (least < d) & (d < most)
        steps[k] = d = np.clip(d, least, most)
        gains[k][free] = -np.linalg.solve(Huu[np.ix_(free, free)], H[n:, :n][free])
        promised -= g[n:] @ d + 0.5 * d @ H[n:, n:] @ d
        T = np.vstack([np.eye(n), gains[k]])
        V, v = T.T @ H @ T, T.T @ (g + H[:, n:] @ d)
    return steps, gains, float(promised)


def _followed(
    problem: "Problem", state: State, plan: "Plan", steps: np.ndarray, gains: np.ndarray
) -> "Plan":
    """The plan with other controls and the gains; of infinite cost where a step fails."""
    simulator, space = problem.simulator, problem.simulator.vector
    x, u, here = np.empty_like(plan.x), np.empty_like(plan.u), space.pack(state)
    before = here
    for k, control in enumerate(plan.u):
        u[k] = problem.within(control + steps[k] + gains[k] @ space.difference(before, here))
        for _ in range(problem.held):
            result = simulator.step(state, problem.commanded(u[k]), problem.h)
            if not result.status.ok:
                return replace(plan, cost=np.inf)
            state = result.state
        here, before = space.pack(state), plan.x[k]
        x[k] = here
    return replace(plan, u=u, x=x, cost=float(problem.costs(x, u)))
