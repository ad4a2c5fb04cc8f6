"""The baseline: the convex maximal dissipation principle on linearised dynamics ([N] eq. 3)."""

import math
from typing import ClassVar, Literal

import numpy as np
import scipy  # whose parts are imported when they are used

from nmdp_pin._contact.wrench_space import WrenchSpace
from nmdp_pin._control.controller import CommandSource
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators.integrator import Integrator, StepResult
from nmdp_pin._integrators.outcome import failed_step, finished_step
from nmdp_pin._kernels.geometry.contacts import REACH
from nmdp_pin._kernels.tree.joints import interval
from nmdp_pin._options import checked
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin._state.status import Status
from nmdp_pin.errors import IntegratorError
from nmdp_pin.papers.methods.semi_implicit import (
    MOST_SATURATIONS,
    STEP_WORK,
    SemiImplicit,
    StepStart,
)
from nmdp_pin.papers.methods.simplex_qp import QpSolver, SimplexQP

_PROXIMAL = 1e-9  # relative: makes weights unique where several give the same motion


class NeMdp(Integrator):
    """One quadratic program a step: M, C, J and V at the start of the step, v = v(w) linear.

    First order and explicit in the contact: stable with steps of a few milliseconds.

    Args:
        system: simulated system, whose contact law is a wrench space.
        pd: "implicit" is linear in the end of the step, (M + h kd + h^2 kp) v1 = M v0 + h (...);
            "explicit" takes the torque at the start of the step, as the papers' authors do.
        qp_solver: "proxqp" of ProxSuite, or "daqp".

    Raises:
        IntegratorError: `pd` or `qp_solver` is not known.
    """

    name: ClassVar[str] = "ne-mdp"

    @checked(IntegratorError)
    def __init__(
        self,
        system: System[WrenchSpace],
        *,
        pd: Literal["implicit", "explicit"] = "implicit",
        qp_solver: QpSolver = "proxqp",
    ) -> None:
        self.pd, self._solver = pd, qp_solver
        self._step = SemiImplicit(system, reach=REACH)
        self.candidates = self._step.form.candidates

    @np.errstate(all="ignore")  # a trial point may overflow: that is a status, not a warning
    def step(
        self, state: State, command: CommandSource, h: float, *, accuracy: float = math.inf
    ) -> StepResult:
        """See `Integrator.step`; contact forces and depths are those at the start of the step."""
        linear, form = self._step, self._step.form
        start = linear.start(state, command.at(state.t + h), h)
        acting = np.flatnonzero(start.at.V[: len(start.w)].any(axis=(1, 2)))
        impulses, w = self._impulses(start, acting), start.w[acting]
        recovery = self._recovery(start, acting)
        qp = SimplexQP(len(w), w.shape[1], self._solver)
        spent, least = STEP_WORK, np.zeros(len(state.v))
        for j, dof in enumerate(form.joints.dofs.tolist()):
            least[dof] = interval(form.joints, j, state.q)[0]
        if self.pd == "explicit":
            linear.hold_torque(state.q, state.v)
        linear.saturate(state.q, state.v, again=False)
        for _ in range(MOST_SATURATIONS):
            M_hat, right = linear.equations(start)
            program = M_hat, start.M, right + h * least, impulses
            v, acted, status = self._velocity(qp, *program, w, recovery)
            spent += qp.work
            if not status.ok:
                break
            q = form.integrate(state.q, h * v)
            if not linear.saturate(q, v, again=True):
                break
        else:
            status = Status.STALLED
        n_contacts, counts = form.n_points, {"iterations": 1, "evaluations": 1, "work": spent}
        if not status.ok:
            return failed_step(state, status, n_contacts=n_contacts, h=h, **counts)
        tau, (_, kinetic, potential) = linear.torque(q, v), linear.end(q, v)
        work = float(h * tau @ v)
        gain = kinetic + potential - (start.kinetic + start.potential) - work
        moving = start.kinetic + max(work, 0.0)
        # The authors' explicit PD gains without bound.
        if self.pd == "implicit" and not linear.allows(gain, moving):
            status = Status.ENERGY_GAINED
            return failed_step(state, status, n_contacts=n_contacts, h=h, **counts)
        n, w1 = start.n, start.w.copy()
        w1[acting] = acted
        wrench = (start.at.V[:n] @ w1[:n, :, None])[:, :, 0]
        warm = WarmStart(linear.contacts(), w1[:n], w1[n:, 0], np.zeros(len(v)))
        return finished_step(
            state,
            State(state.t + h, q, v, warm),
            wrenches=linear.wrenches(start, wrench),
            tau=tau - linear.external,
            contact_depths=linear.depths(start.at),
            step_sizes=(h,),
            residual=0.0,
            objective=0.5 * float(v @ (start.M @ v)),
            kinetic_energy=kinetic,
            potential_energy=potential,
            **counts,
        )

    def _impulses(self, start: StepStart, acting: np.ndarray) -> np.ndarray:
        """Impulse of each vertex of the rows that act, shape (nw, nv)."""
        impulses: np.ndarray = start.h * start.at.V[acting].transpose(0, 2, 1) @ start.J[acting]
        return impulses.reshape(-1, len(start.bias))

    def _recovery(self, start: StepStart, acting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Works of the motions from which those of the contacts count, and their derivative by w.

        They are the works at the start, where nothing has moved, shapes (nw,) and (nw, nw).
        """
        k, m = len(acting), start.w.shape[1]
        slope, rows = np.zeros((k, m, k, m)), np.arange(k)
        by_load = start.at.V[acting].transpose(0, 2, 1) @ start.of_load[acting][:, :, None]
        slope[rows, :, rows, :] = by_load
        return start.at.work[acting].ravel(), slope.reshape(k * m, k * m)

    def _velocity(
        self,
        qp: SimplexQP,
        M_hat: np.ndarray,
        M: np.ndarray,
        right: np.ndarray,
        impulses: np.ndarray,
        w: np.ndarray,
        recovery: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray, Status]:
        """Velocity and weights of the least kinetic energy.

        Args:
            qp: solver of quadratic programs over the weights.
            M_hat: M with the terms of the velocity at the end, shape (nv, nv).
            M: mass matrix, shape (nv, nv).
            right: M_hat v without weights, shape (nv,).
            impulses: impulse of each vertex, shape (n m, nv).
            w: initial weights, shape (n, m).
            recovery: as from `_recovery`.
        """
        solution, singular = scipy.linalg.lapack.dposv(M_hat, np.column_stack([right, impulses.T]))[
            1:
        ]
        if singular:
            return right, w, Status.NOT_FINITE
        free, response = solution[:, 0], solution[:, 1:]
        w, status = self._least_energy(qp, M, free, response, w, recovery)
        v = free + response @ w.ravel()
        if status.ok and not np.isfinite(v).all():
            status = Status.NOT_FINITE
        return v, w, status

    def _least_energy(
        self,
        qp: SimplexQP,
        M: np.ndarray,
        free: np.ndarray,
        response: np.ndarray,
        w: np.ndarray,
        recovery: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, Status]:
        """Weights that minimise v1' M v1 / 2 and what recovery adds, from the initial weights w."""
        H = response.T @ M @ response
        scale = H.diagonal().max(initial=0.0)
        if not np.isfinite(scale):
            return w, Status.NOT_FINITE
        if scale == 0.0:
            return w, Status.CONVERGED
        x = w.ravel()
        g = response.T @ (M @ (free + response @ x))
        if self._step.form.record.recovery > 0.0:
            g, H = g + recovery[0], H + recovery[1]
        found = qp.solve(H + _PROXIMAL * scale * np.eye(len(x)), g, x)
        if found is None:
            return w, Status.QP_FAILED
        return found.reshape(w.shape), Status.CONVERGED
