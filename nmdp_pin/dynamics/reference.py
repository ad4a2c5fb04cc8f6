"""Reference of the differences of a stage, its derivative, and the rates that move it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

VELOCITIES = np.zeros((0, 4, 3))
"""Marker in place of reference placements where motions follow from velocities.

Displacements hold a contact where it is, exactly; in a stage of second order they would be an
algebraic constraint of index 3, in which velocities lose an order. Velocities make it index 2.
"""


class Reference(NamedTuple):
    """Reference of the differences of a stage.

    Args:
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        carriers: reference placements of the contacts' motions, or VELOCITIES.
        rates: rates of the placements of the bodies, for forms that compare material points
            [1/s, m/s], shape (n_bodies, 4, 3).
        placements: placements of the bodies, for forms that compare positions, same shape.
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

    Derivatives of them have one more axis, the last one.

    Args:
        v: velocity, shape (nv,).
        a: acceleration, shape (nv,).
        accelerations: accelerations of the placements of the bodies, (n_bodies, 4, 3).
    """

    v: np.ndarray
    a: np.ndarray
    accelerations: np.ndarray | None = None
