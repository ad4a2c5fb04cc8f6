"""Stages of the nonconvex principle with the papers' objectives, by projected gradients."""

from dataclasses import replace
from typing import Any

import numpy as np

from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._integrators.stage_minimiser import StageMinimiser, Stationarity
from nmdp_pin._kernels.derivative.stage_rates import StageRates
from nmdp_pin._kernels.step.outcomes import (
    EVALUATIONS,
    ITERATIONS,
    OUTCOME,
    REJECTED,
    WORK,
)
from nmdp_pin._kernels.step.stage import evaluate
from nmdp_pin._kernels.step.stage_records import StageIterate
from nmdp_pin._kernels.step.step_records import Memory, Scheme, Start
from nmdp_pin._kernels.step.step_start import open_step, state_stage
from nmdp_pin._kernels.step.vertex_secants import clear_slopes
from nmdp_pin._kernels.tree.joints import saturate
from nmdp_pin._state.status import Status
from nmdp_pin.errors import IntegratorError
from nmdp_pin.papers.methods.objectives import Objective
from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient, pgm
from nmdp_pin.papers.methods.proxqp import work_of
from nmdp_pin.papers.methods.semi_implicit import MOST_SATURATIONS
from nmdp_pin.papers.methods.simplex_qp import SimplexQP
from nmdp_pin.papers.methods.stage_equations import StageEquations, StagePoint

_CODES = {status: code for code, status in enumerate(Status)}
_STEP = 1e-6  # [rad, m] of central differences of gradients; their error is about 1e-8


class PgmStages(StageMinimiser):
    """Minimiser of an objective by the projected gradient method.

    Args:
        objective: the objective.
        form: form of the dynamics.
        memory: memory of its steps, in which stages are stated.
        options: options of the method; None: its defaults.
        tight: whether to solve to rounding, for derivatives at a solution near the start.
    """

    def __init__(
        self,
        objective: Objective,
        form: CompiledSystem,
        memory: Memory,
        *,
        options: ProjectedGradient | None = None,
        tight: bool = False,
    ) -> None:
        if not isinstance(options, ProjectedGradient | None):
            raise IntegratorError(f"expected options ProjectedGradient, got {options!r}")
        self.options = options or ProjectedGradient()
        method = self.options.tight() if tight else self.options
        self.objective, self.method, self.tight = objective, method, tight
        self.form, self.memory = form, memory
        self._qp = SimplexQP(*form.shape, solver=method.qp_solver)
        self.begin(None)

    def begin(self, gamma: float | None) -> None:
        """See `StageMinimiser.begin`."""
        method = self.method
        self.gamma = gamma if gamma is not None and method.carry_gamma else method.gamma
        if self.tight:
            self.gamma = method.gamma_max
        self.value = 0.0

    @np.errstate(all="ignore")  # a trial point may overflow: that is a status, not a warning
    def minimise(
        self, point: int, rate: float, order: int, budget: int, counts: np.ndarray
    ) -> None:
        """See `StageMinimiser.minimise`."""
        memory = self.memory
        at = memory.points[point]
        equations = StageEquations(self.form, memory.stage, memory.origin, rate, order)
        torque, joints = memory.stage.torque, self.form.joints
        each = work_of(len(at.v), self._qp.n)
        for _ in range(MOST_SATURATIONS):
            found = pgm(
                equations,
                self.objective,
                self._qp,
                at.q.copy(),
                at.w.copy(),
                self.gamma,
                self.method.of_step(equations),
                budget=budget,
                each=each,
            )
            at.q[:], at.w[:] = found.point.q, found.point.w
            evaluate(self.form.record, memory.stage, at, False)
            clear_slopes(at)
            counts[ITERATIONS] += found.iterations
            counts[EVALUATIONS] += found.evaluations
            counts[REJECTED] += found.rejected
            counts[WORK] += found.evaluations + found.iterations * each
            counts[OUTCOME] = _CODES[found.status]
            if not found.status.ok:
                return
            self.gamma, self.value = found.gamma, found.value
            if not saturate(joints, torque, at.error, at.v, True):
                return
            budget -= found.evaluations + found.iterations * each
        counts[OUTCOME] = _CODES[Status.STALLED]

    def resolution(self, rate: float) -> float:
        """See `StageMinimiser.resolution`."""
        return self.options.of_rate(rate)

    def stationarity(
        self, scheme: Scheme, start: Start, i: int, first: int, at: StageIterate, rates: StageRates
    ) -> "GradientStationarity":
        """See `StageMinimiser.stationarity`."""
        return GradientStationarity(self, scheme, start, i, first, at, rates)


class GradientStationarity(Stationarity):
    """Stationarity of an objective K, by differences of exact first derivatives.

    R is the reduced gradient -(dG/dw)' y with (dG/dq)' y = dK/dq. With y held,
    phi = P' (dK/dq - (dG/dq)' y) - (dG/dw)' y has the value and the derivatives of r; all second
    derivatives of G and K are in it.

    Args:
        minimiser: solver, in whose memory the stage is stated.
        scheme: time scheme of the step.
        start: start of the step.
        i: index of the stage.
        first: index of the point where the first stage ends.
        at: end of the stage.
        rates: derivatives of the stage's equations.
    """

    def __init__(
        self,
        minimiser: PgmStages,
        scheme: Scheme,
        start: Start,
        i: int,
        first: int,
        at: StageIterate,
        rates: StageRates,
    ) -> None:
        self._objective, form, memory = minimiser.objective, minimiser.form, minimiser.memory
        self._form, self._memory = form, memory
        self._scheme, self._start, self._i = scheme, start, i
        self._first, self._rates = memory.points[first].q.copy(), rates
        self._rate, self._order = 1.0 / (scheme.a[i, i] * start.h), int(scheme.order)
        self._q, self._w = at.q.copy(), at.w.copy()
        self._active, self._touching = at.active[: at.n_active[0]].copy(), int(at.n_active[1])
        equations = self._equations(form, memory)
        point = StagePoint(at)
        linear = equations.linearise(point)
        gradient, self._hessian = self._objective.derivatives(equations, point, linear)
        self._P = np.linalg.solve(linear.A, rates.forces.T)
        self._y = np.linalg.solve(linear.A.T, gradient)

    def write_rates(self) -> None:
        """See `Stationarity.write_rates`; `bends` are of the objective's semidefinite Hessian."""
        equations, q = self._equations(self._form, self._memory), self._q
        nv, nz = self._rates.G_z.shape
        by_q = [
            self._difference(
                lambda s, dq=dq: self._value(equations, self._form.integrate(q, s * dq), self._w)
            )
            for dq in np.eye(nv)
        ]
        by_z = [
            self._difference(lambda s, dz=dz: self._value(self._restated(s * dz), q, self._w))
            for dz in np.eye(nz)
        ]
        rates = self._rates
        rates.r[:] = self._value(equations, q, self._w)
        rates.r_q[:], rates.r_z[:] = np.stack(by_q, axis=-1), np.stack(by_z, axis=-1)
        rates.r_w[:] = self._by_weights(equations)
        rates.bends[:] = (self._hessian @ self._P).T

    def by_command(self, name: str) -> np.ndarray:
        """See `Stationarity.by_command`."""
        equations, torque = self._equations(self._form, self._memory), self._memory.stage.torque
        nv = len(torque.kp)
        result = np.zeros((len(self._rates.r), nv))
        if name not in ("kp", "kd", "q_target"):
            return result
        array, turned = getattr(torque, name), name == "q_target"
        before = array.copy()
        for l, unit in enumerate(np.eye(nv)):

            def moved(s: float, unit: np.ndarray = unit) -> np.ndarray:
                array[:] = self._form.integrate(before, s * unit) if turned else before + s * unit
                return self._value(equations, self._q, self._w)

            result[:, l] = self._difference(moved, _STEP if turned else 1.0)
        array[:] = before
        return result

    def of_form(self, form: CompiledSystem) -> np.ndarray:
        """See `Stationarity.of_form`."""
        return self._value(self._equations(form, self._memory), self._q, self._w)

    def _equations(self, form: CompiledSystem, memory: Memory) -> StageEquations:
        return StageEquations(form, memory.stage, memory.origin, self._rate, self._order)

    def _value(self, equations: StageEquations, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Phi at a point of the stage, or of another one nearby."""
        at = StagePoint(equations.evaluate(q, w).record, self._active)
        linear = equations.linearise(at)
        gradient = self._objective.derivatives(equations, at, linear)[0]
        k, forces = self._touching, at.V[self._active].transpose(0, 2, 1) @ linear.J_force
        nv = len(gradient)
        rows = np.concatenate([forces[:k].reshape(-1, nv), forces[k:, 0]])
        result: np.ndarray = self._P.T @ (gradient - linear.A.T @ self._y) + rows @ self._y
        return result

    def _by_weights(self, equations: StageEquations) -> np.ndarray:
        """dr/dw, shape (nw, nw); r is affine in w."""
        here, columns = self._value(equations, self._q, self._w), []
        for x, row in enumerate(self._active):
            for e in range(self._w.shape[1] if x < self._touching else 1):
                w = self._w.copy()
                w[row, e] += 1.0
                columns.append(self._value(equations, self._q, w) - here)
        return np.ascontiguousarray(np.stack(columns, axis=-1))

    def _difference(self, value: Any, step: float = _STEP) -> np.ndarray:
        result: np.ndarray = (value(step) - value(-step)) / (2.0 * step)
        return result

    def _restated(self, dz: np.ndarray) -> StageEquations:
        """The stage of a step with another start, and another end of the first stage."""
        form, start, scheme = self._form, self._start, self._scheme
        nv = len(start.v)
        # velocities are known to a step over the length of the stage
        q0, v0 = form.integrate(start.q, dz[:nv]), start.v + dz[nv : 2 * nv]
        moved, memory = replace(start, q=q0, v=v0), form.new_memory()
        memory.stage.torque.signs[:] = self._memory.stage.torque.signs
        open_step(form.record, moved, memory)
        first = memory.points[0]
        state_stage(form.record, scheme, moved, 0, memory, first)
        if self._i > 0:
            first.q[:] = form.integrate(self._first, dz[2 * nv :])
            evaluate(form.record, memory.stage, first, False)
            state_stage(form.record, scheme, moved, self._i, memory, first)
        return self._equations(form, memory)
