"""Many trajectories at a time, one iteration of the optimiser a sweep ([P] section V-A, fig. 3).

A sweep is one evaluation and one linear solve for every trajectory, wherever each of them is. One
that has converged begins its next step with the next sweep, so none waits for the slowest.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nmdp_pin.batch.factor import inverse_factor, product
from nmdp_pin.batch.lanes import Lanes
from nmdp_pin.batch.problem import Gains, Point, Problem, Start
from nmdp_pin.integrators.energy_bound import allowed_gain
from nmdp_pin.kernels.levenberg_marquardt import GROW, LARGEST, LEAST, ROUNDING, SHRINK
from nmdp_pin.status import Status

RUNNING = -1  # in place of a status' code
_EPS = float(np.finfo(float).eps)


class Commands(NamedTuple):
    """What the trajectories are told; an axis of length 1 stands for all trajectories or steps.

    Args:
        tau: constant part of the torque, (K or 1, T or 1, nv).
        q_target: targets of the gains, (K or 1, T or 1, nq); None without gains.
    """

    tau: Lanes
    q_target: Lanes | None

    def at(self, k: Lanes) -> tuple[Lanes, Lanes | None]:
        """Torque (nv, K) and target (nq, K) of step k of each trajectory, shape (K,)."""
        return _row(self.tau, k), None if self.q_target is None else _row(self.q_target, k)


class Trajectories(NamedTuple):
    """Where all trajectories are; the last axis of arrays without a note is K.

    Args:
        start: of the present steps.
        k: which steps these are, -1 before the first one, (K,).
        trial: point to be evaluated in the next sweep, (nq, K).
        begins: whether it is the first one of its step, (K,).
        x: best point of the step so far, (nq, K).
        f: function there, (K,).
        error: norm of the residual there, (K,).
        g: gradient there, (K, nv).
        H: Hessian there, (K, nv, nv).
        lam: diagonal of the optimiser, (K,).
        iterations: linear solves of the step so far, (K,).
        status: code of a `Status`, or RUNNING, (K,).
        q: results at the end of each step, (K, T, nq).
        v: likewise, (K, T, nv).
        counts: iterations of each step, (K, T).
        sweeps: made so far.
    """

    start: Start
    k: Lanes
    trial: Lanes
    begins: Lanes
    x: Lanes
    f: Lanes
    error: Lanes
    g: Lanes
    H: Lanes
    lam: Lanes
    iterations: Lanes
    status: Lanes
    q: Lanes
    v: Lanes
    counts: Lanes
    sweeps: Lanes


class Ends(NamedTuple):
    """What is left of `Trajectories` when all have ended; the names are theirs."""

    k: Lanes
    status: Lanes
    q: Lanes
    v: Lanes
    counts: Lanes
    sweeps: Lanes


class Schedule:
    """Runs trajectories; the optimiser is solvers/levenberg_marquardt.py, rule by rule.

    Args:
        problem: of one step.
        max_iterations: linear solves a step at most.
        weight: of the robot [N].
    """

    def __init__(self, problem: Problem, max_iterations: int, weight: float) -> None:
        self._problem, self._max_iterations, self._weight = problem, max_iterations, weight

    def run(
        self, q: Lanes, v: Lanes, commands: Commands, gains: Gains, tolerance: Lanes, steps: int
    ) -> Ends:
        """All steps of all trajectories.

        Args:
            q: configurations at the start, (nq, K).
            v: velocities there, (nv, K).
            commands: for all steps.
            gains: of the commands.
            tolerance: on the residual [N, N m], and its floor over 1 + |q|_max, shape (2,).
            steps: T.
        """

        def runs(t: Trajectories) -> Lanes:
            return jnp.any(t.status == RUNNING)

        def sweep(t: Trajectories) -> Trajectories:
            return self._sweep(t, commands, gains, tolerance)

        end = jax.lax.while_loop(runs, sweep, self._begun(q, v, gains, steps))
        return Ends(*(getattr(end, name) for name in Ends._fields))

    def _begun(self, q: Lanes, v: Lanes, gains: Gains, steps: int) -> Trajectories:
        """The trajectories before their first step, at the end of one that no one made."""
        problem, (nq, K), nv, dtype = self._problem, q.shape, len(v), q.dtype
        before = problem.kinematics.placements(problem.manifold.integrate(q, -gains.h * v))
        none, square = jnp.zeros(K, dtype), jnp.zeros((K, nv, nv), dtype)
        zeros = jnp.zeros(K, jnp.int32)
        start = Start(q, v, before, before, jnp.zeros_like(v), q, square, jnp.zeros((3, K), dtype))
        return Trajectories(
            start=start,
            k=zeros - 1,
            trial=q,
            begins=jnp.ones(K, bool),
            x=q,
            f=none,
            error=none,
            g=jnp.zeros((K, nv), dtype),
            H=square,
            lam=none,
            iterations=zeros,
            status=jnp.full(K, RUNNING, jnp.int32),
            q=jnp.zeros((K, steps, nq), dtype),
            v=jnp.zeros((K, steps, nv), dtype),
            counts=jnp.zeros((K, steps), jnp.int32),
            sweeps=jnp.zeros((), jnp.int32),
        )

    def _sweep(
        self, t: Trajectories, commands: Commands, gains: Gains, tolerance: Lanes
    ) -> Trajectories:
        """One evaluation for all, what follows from it, and the next trial points."""
        problem = self._problem
        running = t.status == RUNNING
        first = t.k < 0
        new = problem.evaluate(t.trial, t.start, gains)
        new = new._replace(v=jnp.where(first, t.start.v, new.v))
        taken = t.begins | _falls(t, new.f, new.error)
        lam = jnp.where(taken, _or_zero(SHRINK * t.lam), GROW * jnp.maximum(t.lam, LEAST))
        lam = jnp.where(t.begins, 0.0, lam)
        iterations = jnp.where(t.begins, 0, t.iterations + 1)
        x, f, error = (
            jnp.where(taken, a, b) for a, b in ((t.trial, t.x), (new.f, t.f), (new.error, t.error))
        )
        g = jnp.where(taken[:, None], new.g, t.g)
        H = jnp.where(taken[:, None, None], new.H, t.H)
        floor = tolerance[1] * (1.0 + jnp.max(jnp.abs(t.start.q), axis=0))
        converged = running & (first | (error <= jnp.maximum(tolerance[0], floor)))
        status = self._status(t.status, converged, f + error, lam, iterations)

        # those that converged end their step and stand at the start of the next one
        steps = t.counts.shape[1]
        energy = problem.energies(new)
        gained = ~first & self._gains_energy(t.start.energy, energy, new, gains)
        status = jnp.where(converged & gained, Status.ENERGY_GAINED.code, status)
        converged &= ~gained
        ends = converged & ~first
        lanes, row = jnp.arange(len(t.k)), jnp.where(ends, t.k, steps)  # no row: dropped
        k = t.k + converged
        status = jnp.where(converged & (k == steps), Status.CONVERGED.code, status)
        tau, target = commands.at(jnp.minimum(k, steps - 1))
        # one factor a sweep: of the metric where a step begins, else of the Hessian
        damped = H + jnp.eye(H.shape[-1], dtype=H.dtype) * lam[:, None, None]
        factor = inverse_factor(_chosen(converged, problem.metric(new.M, gains), damped))
        begun = Start(
            x,
            new.v,
            new.P,
            problem.expected(new.P, t.start.P, gains.h),
            tau,
            _or(target, x),
            factor,
            energy,
        )
        start = Start(*(_chosen(converged, a, b) for a, b in zip(begun, t.start, strict=True)))
        # the others solve (H + lam 1) y = -g; y and dq are not finite where that is not definite
        y = -product(product(g[:, None], factor, transposed=True), factor)
        dq = product(y, t.start.scale)[:, 0].T
        trial = problem.manifold.integrate(x, dq)
        return Trajectories(
            start=start,
            k=k,
            trial=jnp.where(converged | (status != RUNNING), x, trial),
            begins=converged,
            x=x,
            f=f,
            error=error,
            g=g,
            H=H,
            lam=lam,
            iterations=jnp.where(running, iterations, t.iterations),
            status=status,
            q=t.q.at[lanes, row].set(x.T, mode="drop"),
            v=t.v.at[lanes, row].set(new.v.T, mode="drop"),
            counts=t.counts.at[lanes, row].set(iterations, mode="drop"),
            sweeps=t.sweeps + 1,
        )

    def _gains_energy(self, before: Lanes, after: Lanes, end: Point, gains: Gains) -> Lanes:
        """Whether steps gain energy that nothing gave: no ends of them."""
        work = gains.h * jnp.sum(end.tau * end.v, axis=0)
        gain = jnp.sum(after - before, axis=0) - work
        moving = before[0] + jnp.maximum(work, 0.0) + before[2]
        return ~(gain <= allowed_gain(moving, self._weight))

    def _status(
        self, status: Lanes, converged: Lanes, total: Lanes, lam: Lanes, iterations: Lanes
    ) -> Lanes:
        """Those that can go no further get a code; in the order of levenberg_marquardt."""
        stuck = [
            (~jnp.isfinite(total), Status.NOT_FINITE),
            (lam > LARGEST, Status.STALLED),
            (iterations >= self._max_iterations, Status.ITERATION_LIMIT),
        ]
        found = jnp.full_like(status, RUNNING)
        for condition, reason in reversed(stuck):
            found = jnp.where(condition, reason.code, found)
        return jnp.where((status == RUNNING) & ~converged, found, status)


def _falls(t: Trajectories, f: Lanes, error: Lanes) -> Lanes:
    """Whether a trial is taken; not where a number is not one."""
    rounding = ROUNDING * max(1.0, float(jnp.finfo(f.dtype).eps) / _EPS)
    small = rounding * jnp.abs(t.f)
    return (f < t.f - small) | ((f <= t.f + small) & (error < t.error))


def _chosen(condition: Lanes, a: Lanes, b: Lanes) -> Lanes:
    """A where the condition holds; of matrices batch first or arrays that end with K."""
    return jnp.where(condition[:, None, None] if a.ndim == 3 else condition, a, b)


def _or_zero(lam: Lanes) -> Lanes:
    return jnp.where(lam >= LEAST, lam, 0.0)


def _or(value: Lanes | None, other: Lanes) -> Lanes:
    return other if value is None else value


def _row(table: Lanes, k: Lanes) -> Lanes:
    """Rows k of each trajectory, the last axis being K."""
    lanes = jnp.arange(len(k)) if table.shape[0] > 1 else jnp.zeros_like(k)
    rows = table[lanes, k if table.shape[1] > 1 else jnp.zeros_like(k)]
    return rows.T
