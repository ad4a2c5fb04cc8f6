"""How the dynamics of a step depend on where it starts, its end being held."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.penalty_contact import PenaltyContact
from nmdp_pin.dynamics.spatial import placements_derivative, placements_of, support_of
from nmdp_pin.dynamics.step_residual import StepResidual

# Forces are polynomials of the reference, of second degree where beta = 1: central differences of
# them are then exact but for rounding, which is 1e-9 of a force that varies over a millimetre.
_STEP = 1e-6  # [m, rad]


class StartDerivative:
    """dG/d(q0, v0), and of what the contacts moved, for steps of first order.

    The start enters through the velocity (q - q0) / h, through the inertia's targets and through
    the places from which displacements count. All is exact; forces of penalty contacts, which
    depend on displacements, are differentiated by differences over their references.

    Args:
        residual: has begun a step; read at its last point, after `linearise`.
    """

    def __init__(self, residual: StepResidual) -> None:
        self._residual = residual
        model = residual.model
        self._data = model.createData()
        self._support = support_of(model, np.arange(model.njoints))[0]

    def velocity(self) -> np.ndarray:
        """dv/dq0 [1/s], shape (nv, nv)."""
        r = self._residual
        if r.is_vector_space:
            return -r.rate * np.eye(r.nv)
        D: np.ndarray = r.rate * pin.dDifference(r.model, r.q0, r.q, pin.ARG0)
        return D

    def placements(self, q: np.ndarray) -> np.ndarray:
        """Derivative of all placements at a configuration, shape (nv, n_joints, 4, 3)."""
        model, data = self._residual.model, self._data
        S = np.reshape(pin.computeJointJacobians(model, data, q), (6, model.nv), order="F")
        return placements_derivative(S, self._support, placements_of(data, model.njoints))

    def residual(self) -> tuple[np.ndarray, np.ndarray]:
        """dG/dq0 and dG/dv0, shape (nv, nv) each."""
        r, D0 = self._residual, self.velocity()
        of_q0, of_v0 = r.inertial_start_derivatives(D0, self.placements)
        torque_q0, torque_v0 = r.torque.start_derivatives(D0)
        of_q0 = of_q0 - torque_q0
        if isinstance(r.contact, PenaltyContact) and r.contact.active:
            of_q0 -= self._contact_force(r.contact)
        return of_q0, of_v0 - torque_v0

    def motions(self) -> np.ndarray:
        """Derivative of the contacts' motions with respect to q0, shape (n, rows, nv).

        They are affine in the carriers' placements, so one difference is exact.
        """
        contact, r = self._residual.contact, self._residual
        here, start = contact.motions(), contact.carriers(r.reference)
        columns = []
        for change in self._carriers():
            contact.begin(start + change, r.h)
            columns.append(contact.motions() - here)
        contact.begin(start, r.h)
        return np.stack(columns, axis=-1)

    def _carriers(self) -> np.ndarray:
        """Derivative of the carriers' placements with respect to q0, shape (nv, n, 4, 3).

        Seen from a body that moves they are quadratic: a central difference is exact.
        """
        contact, r = self._residual.contact, self._residual
        return np.stack(
            [
                0.5
                * (contact.carriers(r.reference + change) - contact.carriers(r.reference - change))
                for change in self.placements(r.q0)
            ]
        )

    def _contact_force(self, contact: PenaltyContact) -> np.ndarray:
        """Derivative of the contacts' generalised force, shape (nv, nv)."""
        r = self._residual
        start, columns = contact.carriers(r.reference), []
        for change in self._carriers():
            there = []
            for step in (_STEP, -_STEP):
                contact.begin(start + step * change, r.h)
                there.append(contact.evaluate(contact.w))
            columns.append((there[0] - there[1]) / (2.0 * _STEP))
        contact.begin(start, r.h)
        contact.evaluate(contact.w)
        return np.stack(columns, axis=-1)
