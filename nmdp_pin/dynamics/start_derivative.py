"""How the dynamics of a step depend on where it starts, its end being held."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.position_based import PositionBased
from nmdp_pin.dynamics.spatial import placements_derivative, placements_of, support_of
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.state import State


class StartDerivative:
    """dG/dz, and of what the contacts moved; z is the start of the step.

    Of first order z is (q0, v0). In second order the step before follows as the memory: (q, v) at
    its start, and for the position-based form its rates at its start and at its end. Of
    configurations all is tangent. A change of q0 or v0 takes the end of the step before along.

    The start enters through the velocity, through the inertia's targets and through the places from
    which displacements count. All is exact.

    Args:
        residual: has begun a step; read at its last point, after `linearise`.
        second_order: there is a memory, of whatever order this very step is.
    """

    def __init__(self, residual: StepResidual, *, second_order: bool = False) -> None:
        self._residual = residual
        model = residual.model
        self._data = model.createData()
        self._support = support_of(model, np.arange(model.njoints))[0]
        self._rates = 12 * (model.njoints - 1) if residual.needs_rates else 0
        self.n_memory = 2 * (model.nv + self._rates) if second_order else 0
        self.n = 2 * model.nv + self.n_memory

    @property
    def felt(self) -> int:
        """How many entries of z the step may depend on, the first ones."""
        r = self._residual
        if r.history is not None or (isinstance(r, PositionBased) and r.follows_rates):
            return self.n
        return 2 * r.nv

    def velocity(self) -> np.ndarray:
        """dv/dz, shape (nv, nz)."""
        r, nv = self._residual, self._residual.nv
        result = np.zeros((nv, self.n))
        result[:, :nv] = r.rate * self._difference(r.q0, r.q, pin.ARG0)
        if r.history is not None:
            before, share = r.history.q0, r.rate * r.carry
            result[:, :nv] -= share * self._difference(before, r.q0, pin.ARG1)
            result[:, 2 * nv : 3 * nv] = -share * self._difference(before, r.q0, pin.ARG0)
        return result

    def placements(self, q: np.ndarray) -> np.ndarray:
        """Derivative of all placements at a configuration, shape (nv, n_joints, 4, 3)."""
        model, data = self._residual.model, self._data
        S = np.reshape(pin.computeJointJacobians(model, data, q), (6, model.nv), order="F")
        return placements_derivative(S, self._support, placements_of(data, model.njoints))

    def residual(self) -> np.ndarray:
        """dG/dz, shape (nv, nz)."""
        r, of_v = self._residual, self.velocity()
        result = r.inertial_start_derivative(of_v, self.placements)
        result -= r.torque.start_derivative(of_v)
        return result

    def motions(self) -> np.ndarray:
        """Derivative of the contacts' motions with respect to z, shape (n, rows, nz).

        They are affine in the carriers' placements, so one difference is exact.
        """
        r = self._residual
        contact, nv = r.contact, r.nv
        result = np.zeros((*contact.motions().shape, self.n))
        result[..., :nv] = self._of_carriers(r.q0, 1.0 + r.carry)
        if r.history is not None:
            result[..., 2 * nv : 3 * nv] = self._of_carriers(r.history.q0, -r.carry)
        return result

    def memory(self) -> tuple[np.ndarray, np.ndarray]:
        """How the memory that the step leaves depends on z and on q, (nm, nz) and (nm, nv)."""
        r, nv, n = self._residual, self._residual.nv, self._rates
        of_start, of_end = np.zeros((self.n_memory, self.n)), np.zeros((self.n_memory, nv))
        if not self.n_memory:
            return of_start, of_end
        of_start[: 2 * nv, : 2 * nv] = np.eye(2 * nv)
        if isinstance(r, PositionBased):
            begin, end = slice(2 * nv, 2 * nv + n), slice(2 * nv + n, None)
            begun = r.rates_start_derivative(self.placements, self.n)
            of_start[begin] = begun.reshape(self.n, n).T
            of_end[end] = r.rate * self._of_bodies(r.q)
            of_start[end, :nv] = -r.rate * (1.0 + r.carry) * self._of_bodies(r.q0)
            if r.history is not None:
                of_before = r.rate * r.carry * self._of_bodies(r.history.q0)
                of_start[end, 2 * nv : 3 * nv] = of_before
        return of_start, of_end

    def moved(self, dz: np.ndarray) -> State:
        """The start a bit away, shape (nz,), with the step before that led there."""
        r, nv = self._residual, self._residual.nv
        start, made = r.start, r.start.history
        q, v = r.retract(start.q, dz[:nv]), start.v + dz[nv : 2 * nv]
        if made is None or not self.n_memory:
            return replace(start, q=q, v=v)
        before, of_v = dz[2 * nv : 3 * nv], dz[3 * nv : 4 * nv]
        rates = made.rates
        if rates is not None and self._rates:
            rates = rates + dz[4 * nv :].reshape(rates.shape)
        q0, v0 = r.retract(made.q0, before), made.v0 + of_v
        made = replace(made, q0=q0, v0=v0, q1=q, v1=v, rates=rates)
        return replace(start, q=q, v=v, history=made)

    def _difference(
        self, q0: np.ndarray, q1: np.ndarray, argument: pin.ArgumentPosition
    ) -> np.ndarray:
        """Derivative of difference(q0, q1), shape (nv, nv)."""
        r = self._residual
        if r.is_vector_space:
            return np.eye(r.nv) * (-1.0 if argument == pin.ARG0 else 1.0)
        result: np.ndarray = pin.dDifference(r.model, q0, q1, argument)
        return result

    def _of_bodies(self, q: np.ndarray) -> np.ndarray:
        """Derivative of the bodies' placements, shape (12 n_bodies, nv)."""
        return self.placements(q)[:, 1:].reshape(self._residual.nv, -1).T

    def _of_carriers(self, q: np.ndarray, share: float) -> np.ndarray:
        """What a share of the carriers' change with a configuration does to motions."""
        contact, r = self._residual.contact, self._residual
        here, start = contact.motions(), r.carriers
        columns = []
        for change in self._carriers(q):
            contact.begin(start + share * change, r.h)
            columns.append(contact.motions() - here)
        contact.begin(start, r.h)
        return np.stack(columns, axis=-1)

    def _carriers(self, q: np.ndarray) -> np.ndarray:
        """Derivative of the carriers' placements at a configuration, shape (nv, n, 4, 3).

        Seen from a body that moves they are quadratic: a central difference is exact.
        """
        carriers, changes = self._residual.contact.carriers, self.placements(q)
        here = placements_of(self._data, self._residual.model.njoints)
        return np.stack([0.5 * (carriers(here + d) - carriers(here - d)) for d in changes])
