"""The contract of dynamics residuals: G, K and their derivatives for one step.

A residual is scratch memory: `begin` states the step, `evaluate` moves to a trial point (q, w), and
everything else speaks of that point until the next `evaluate`.
"""

from __future__ import annotations

import abc

import numpy as np

from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.contact_terms import ContactTerms


class StepResidual(abc.ABC):
    """Dynamics of one implicit step: 0 = G(q, w)."""

    nv: int
    contact: ContactTerms
    evaluations: int

    @abc.abstractmethod
    def begin(self, q0: np.ndarray, v0: np.ndarray, command: Command, h: float) -> None:
        """State the step: from (q0, v0) over h [s] under `command`; resets `evaluations`."""

    @abc.abstractmethod
    def evaluate(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Residual G at (q, w) [N, N m], shape (nv,).

        Args:
            q: configuration at the end of the step, shape (nq,).
            w: weights of the vertices, shape (n_contacts, n_vertices).
        """

    @abc.abstractmethod
    def linearise(self) -> np.ndarray:
        """dG/dq at the point of the last `evaluate`, shape (nv, nv), tangent."""

    @abc.abstractmethod
    def vertex_jacobian(self) -> np.ndarray:
        """-dG/dw' = V' J, shape (n_contacts * n_vertices, nv); after `linearise`."""

    @abc.abstractmethod
    def retract(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """The configuration at tangent dq from q."""
