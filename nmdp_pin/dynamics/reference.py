"""What the differences of a stage count from, how it depends on numbers, and what moves it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

VELOCITIES = np.zeros((0, 4, 3))
"""Stands for the placements from which motions count where they follow from velocities.

Displacements hold a contact where it is, exactly; in a stage of second order they would be an
algebraic constraint of index 3, in which velocities lose an order. Velocities make it index 2.
"""


class Reference(NamedTuple):
    """What the differences of a stage count from.

    Args:
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        carriers: placements from which the contacts' motions count, or VELOCITIES.
        rates: of the placements of the bodies, for forms that compare material points [1/s, m/s],
            shape (n_bodies, 4, 3).
        placements: of the bodies, where their positions are compared, likewise.
    """

    q: np.ndarray
    v: np.ndarray
    carriers: np.ndarray
    rates: np.ndarray | None = None
    placements: np.ndarray | None = None


class ReferenceTangent(NamedTuple):
    """Derivative of a `Reference` with respect to K numbers, along a last axis.

    The carriers follow q.
    """

    q: np.ndarray
    v: np.ndarray
    rates: np.ndarray | None = None
    placements: np.ndarray | None = None

    def along(self, k: int) -> ReferenceTangent:
        """The tangent of one of the numbers."""
        rates, placements = self.rates, self.placements
        return ReferenceTangent(
            self.q[:, k],
            self.v[:, k],
            None if rates is None else rates[..., k],
            None if placements is None else placements[..., k],
        )


class Slopes(NamedTuple):
    """Rates of change at the end of a stage, one for each part of a `Reference`.

    Derivatives of them have a last axis more.

    Args:
        v: velocity, shape (nv,).
        a: acceleration, shape (nv,).
        accelerations: accelerations of the placements of the bodies, (n_bodies, 4, 3).
    """

    v: np.ndarray
    a: np.ndarray
    accelerations: np.ndarray | None = None
