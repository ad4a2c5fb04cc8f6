"""Objectives K(q) that the papers minimise over the ends of a step."""

import abc
from typing import ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin._kernels.step.inertia import inertial_gradient
from nmdp_pin._kernels.step.step import energies_of
from nmdp_pin.papers.methods.stage_equations import Linearisation, StageEquations, StagePoint


class Objective(abc.ABC):
    """K(q) of a stage."""

    name: ClassVar[str]

    @abc.abstractmethod
    def value(self, equations: StageEquations, at: StagePoint) -> float:
        """K at a point."""

    @abc.abstractmethod
    def derivatives(
        self, equations: StageEquations, at: StagePoint, linear: Linearisation
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (nv,) and a positive semidefinite Hessian (nv, nv) of K, tangent."""


class Kinetic(Objective):
    """Kinetic energy K(q) of the form [J], the papers' objective ([N] eq. 6 and 12).

    Of the position-based form in first order it is the integral of rho |X(q) - X0|^2 rate^2 / 2.
    """

    name = "kinetic"

    def value(self, equations: StageEquations, at: StagePoint) -> float:
        """See `Objective.value`; the energy of the rotors counts."""
        if not _positions(equations):
            kinetic, _ = energies_of(equations.form.record, at.record)
            return float(kinetic)
        E, _ = _displacement_energy(equations, at)
        return equations.rate**2 * E + 0.5 * float(equations.form.tree.rotors @ at.v**2)

    def derivatives(
        self, equations: StageEquations, at: StagePoint, linear: Linearisation
    ) -> tuple[np.ndarray, np.ndarray]:
        """The exact gradient D' M v + (d(M a)/dq at a = v)' v / 2, and D' M D (Gauss-Newton)."""
        form, D = equations.form, equations.rate * at.record.D
        data, still = form.model.createData(), np.zeros(len(at.v))
        weightless = pin.Model(form.model)
        weightless.gravity = pin.Motion.Zero()
        pin.computeRNEADerivatives(weightless, data, at.q, still, at.v)
        MD = data.M @ D
        if not _positions(equations):
            return MD.T @ at.v + 0.5 * (data.dtau_dq.T @ at.v), D.T @ MD
        _, gradient = _displacement_energy(equations, at)
        rotors = D.T @ (form.tree.rotors * at.v)
        return equations.rate**2 * gradient + rotors, D.T @ MD


class EndEffector(Objective):
    """K(q) = sum_i |V_i(q)|^2 / 2 of contact points with unit mass, as the authors ran it.

    V_i is the velocity of the material point, (X_i(q) - X_i(q0)) / h in a step of first order.
    Contacts between bodies have relative velocities and count only where they touch, as do joints
    in a stop or with dry friction. A point counts once, where it is deepest.
    """

    name = "end_effector"

    def value(self, equations: StageEquations, at: StagePoint) -> float:
        """See `Objective.value`."""
        u = at.motion[_counted(equations, at), :3].ravel()
        return 0.5 * float(u @ u) * equations.rate**2

    def derivatives(
        self, equations: StageEquations, at: StagePoint, linear: Linearisation
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Newton on the displacements."""
        counted, square = _counted(equations, at), equations.rate**2
        everywhere = equations.linearise(StagePoint(at.record, counted))
        J = everywhere.J_motion[:, :3].reshape(-1, len(at.v))
        u = at.motion[counted, :3].ravel()
        return square * (J.T @ u), square * (J.T @ J)


OBJECTIVES: dict[str, type[Objective]] = {c.name: c for c in (Kinetic, EndEffector)}


def _positions(equations: StageEquations) -> bool:
    return equations.form.material and equations.order == 1


def _displacement_energy(equations: StageEquations, at: StagePoint) -> tuple[float, np.ndarray]:
    """The integral of rho |X - X0|^2 / 2 and its gradient, tangent."""
    tree, gradient = equations.form.tree, np.empty(len(at.v))
    wrenches, record = np.empty((len(tree.parents), 6)), at.record
    E = inertial_gradient(record.P[1:], equations.origin.P[1:], tree, record.S, wrenches, gradient)
    return float(E), gradient


def _counted(equations: StageEquations, at: StagePoint) -> np.ndarray:
    """Contacts with the terrain, and the active ones between bodies and of joints."""
    contacts, depth = equations.stage.contacts, at.record.places.depth
    n, points = int(contacts.n[0]), equations.form.candidates.points
    deepest: dict[int, int] = {}
    for i in np.flatnonzero(contacts.bodies[:n, 1] == 0).tolist():
        point = int(points[contacts.index[i]])
        if point not in deepest or depth[i] > depth[deepest[point]]:
            deepest[point] = i
    return np.union1d(np.array([*deepest.values()], dtype=np.int64), at.active)
