"""Objectives that a step minimises over the contact weights instead of the principle itself."""

from __future__ import annotations

import abc
from typing import ClassVar

import numpy as np

from nmdp_pin.dynamics.evaluation import Evaluation, Linearisation
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.errors import IntegratorError


class Objective(abc.ABC):
    """K(q) of a step."""

    name: ClassVar[str]

    @abc.abstractmethod
    def value(self, problem: StepProblem, at: Evaluation) -> float:
        """K at a point."""

    @abc.abstractmethod
    def derivatives(
        self, problem: StepProblem, at: Evaluation, linear: Linearisation
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (nv,) and a positive semidefinite Hessian (nv, nv) of K, tangent."""


class Kinetic(Objective):
    """Kinetic energy K(q) of the form [J], the papers' objective ([N] eq. 6 and 12)."""

    name = "kinetic"

    def value(self, problem: StepProblem, at: Evaluation) -> float:
        """See `Objective.value`."""
        return problem.form.kinetic(problem, at)

    def derivatives(
        self, problem: StepProblem, at: Evaluation, linear: Linearisation
    ) -> tuple[np.ndarray, np.ndarray]:
        """The exact gradient, and D' M D (Gauss-Newton)."""
        return problem.form.kinetic_derivatives(problem, at)


class EndEffector(Objective):
    """K(q) = sum_i |V_i(q)|^2 / 2 of contact points with unit mass, as the authors ran it.

    V_i is the velocity of the material point, (X_i(q) - X_i(q0)) / h in a step of first order.
    Contacts between bodies have relative velocities and count only where they touch, as do joints
    in a stop or with dry friction.
    """

    name = "end_effector"

    def value(self, problem: StepProblem, at: Evaluation) -> float:
        """See `Objective.value`."""
        u = at.motion[self._counted(problem, at), :3].ravel()
        return 0.5 * float(u @ u) * problem.rate**2

    def derivatives(
        self, problem: StepProblem, at: Evaluation, linear: Linearisation
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Newton on the displacements."""
        counted = self._counted(problem, at)
        everywhere = at._replace(active=np.flatnonzero(counted))
        J = problem.linearise(everywhere).J_motion[:, :3].reshape(-1, len(at.v))
        u = at.motion[counted, :3].ravel()
        return problem.rate**2 * (J.T @ u), problem.rate**2 * (J.T @ J)

    @staticmethod
    def _counted(problem: StepProblem, at: Evaluation) -> np.ndarray:
        """Contacts with the terrain, and the active ones between bodies and of joints."""
        touched = problem.form.contacts.touched
        counted = np.zeros(len(at.w), dtype=bool)
        counted[: len(touched)] = touched == 0
        counted[at.active] = True
        return counted


OBJECTIVES: dict[str, type[Objective]] = {c.name: c for c in (Kinetic, EndEffector)}


def objective_named(name: str) -> Objective:
    """The objective of that name.

    Raises:
        IntegratorError: the name is not known.
    """
    if name not in OBJECTIVES:
        raise IntegratorError(
            f"objective '{name}' is not known; choose from {sorted([*OBJECTIVES, 'dissipation'])}"
        )
    return OBJECTIVES[name]()
