"""The equations of one stage as values, for solvers in Python."""

from typing import NamedTuple

import numpy as np

from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._kernels.step.stage import evaluate, linearise
from nmdp_pin._kernels.step.stage_records import (
    GAP,
    RESIDUAL,
    Stage,
    StageIterate,
    StageJacobians,
)
from nmdp_pin._kernels.step.tolerances import attainable
from nmdp_pin._kernels.step.vertex_secants import learn_slopes


class Linearisation(NamedTuple):
    """Derivatives at a point, of k active rows: dG/dq = A, -dG/dw = J_force' V, du/dq = J_motion.

    Args:
        A: shape (nv, nv).
        J_force: Jacobians on which the wrenches work, shape (k, rows, nv).
        J_motion: derivatives of the motions, shape (k, rows, nv).
    """

    A: np.ndarray
    J_force: np.ndarray
    J_motion: np.ndarray


def whole_rows(linear: StageJacobians, J: np.ndarray, k: int) -> np.ndarray:
    """The first k rows of one of the Jacobians, in the columns of all dofs, shape (k, rows, nv)."""
    found = np.zeros((k, J.shape[1], len(linear.A)))
    for x in range(k):
        n = linear.n_dofs[x]
        found[x][:, linear.dofs[x, :n]] = J[x, :, :n]
    return found


class StagePoint:
    """The equations at one point.

    Args:
        record: the point as the kernels have it.
        active: indices of the rows that act; None: those of the record.
    """

    def __init__(self, record: StageIterate, active: np.ndarray | None = None) -> None:
        self.record = record
        self.q, self.w, self.v, self.G = record.q, record.w, record.v, record.G
        self.V, self.motion, self.work = record.V, record.motion, record.work
        self.active = record.active[: record.n_active[0]] if active is None else active

    @property
    def residual(self) -> float:
        """Norm of G."""
        return float(self.record.sums[RESIDUAL])

    @property
    def gap(self) -> float:
        """Work that other weights could save [J]."""
        return float(self.record.sums[GAP])


class StageEquations:
    """G(q, w) = 0 of one stage; all candidates are contacts.

    Args:
        form: form of the dynamics.
        stage: the stage.
        origin: start of the step, of which the kinematics is known.
        rate: rate of the velocity [1/s].
        order: order of the step's scheme.
    """

    def __init__(
        self, form: CompiledSystem, stage: Stage, origin: StageIterate, rate: float, order: int
    ) -> None:
        self.form, self.stage, self.origin = form, stage, origin
        self.rate, self.order = rate, order
        self._linear = form.new_linear()

    def evaluate(
        self, q: np.ndarray, w: np.ndarray, before: StagePoint | None = None
    ) -> StagePoint:
        """The equations at (q, w); `before` is a point that was evaluated earlier."""
        record = self.form.new_point()
        record.q[:], record.w[:] = q, w
        evaluate(self.form.record, self.stage, record, True)
        if before is not None and len(record.slopes):
            learn_slopes(self.stage.contacts, before.record, record)
        return StagePoint(record)

    def linearise(self, at: StagePoint) -> Linearisation:
        """Derivatives at a point."""
        record, linear, k = at.record, self._linear, len(at.active)
        own = record.active.copy(), record.n_active.copy()
        record.n_active[:] = k, np.count_nonzero(at.active < int(self.stage.contacts.n[0]))
        record.active[:k] = at.active
        linearise(self.form.record, self.stage, record, linear)
        record.active[:], record.n_active[:] = own
        rows = (whole_rows(linear, J, k) for J in (linear.J_force, linear.J_motion))
        return Linearisation(linear.A.copy(), *rows)

    def retract(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """The configuration at tangent dq from q."""
        return self.form.integrate(q, dq)

    def tolerance(self, relative: float) -> float:
        """Bound on the norm of G: a share of the weight, but not below rounding [N, N m]."""
        return float(attainable(self.form.record, self.stage, relative))
