"""The maximal dissipation principle itself, as a variational inequality (docs/choices.md, 7)."""

from __future__ import annotations

import numpy as np

from nmdp_pin.dynamics.step_residual import StepResidual


class Dissipation:
    """g(q) = V(q)' u(q), the work of each vertex over the step [J]; u is what the contact moved.

    Each contact force maximises its own dissipation: no feasible weights w' have less work g' w'.
    Minimising the kinetic energy says the same in an explicit step, but not inside an implicit
    one, where the response of q to w also holds gains and stiffness. In a step of second order u is
    what the contact moved beyond its share of the step before: velocity over rate, as in all else.

    Args:
        residual: the dynamics; read at its last point.
    """

    name = "dissipation"

    def __init__(self, residual: StepResidual) -> None:
        self.residual = residual

    def work(self) -> np.ndarray:
        """The work g at the last point of `evaluate`, shape (n_contacts * n_vertices,)."""
        contact = self.residual.contact
        return (contact.motions()[:, None, :] @ contact.V).ravel()

    def derivative(self) -> np.ndarray:
        """V' du/dq, shape (n_contacts * n_vertices, nv); after `linearise`.

        The change of V is left out: where it would count, u is not zero, the contact slides, and
        its weights stay at a vertex whatever g is.
        """
        return self.residual.contact.vertex_motions()

    @property
    def unit(self) -> float:
        """Work that lifts the robot by a metre [J], to measure others by."""
        return self.residual.weight
