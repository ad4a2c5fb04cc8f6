"""Estimates of the derivatives dV/dx of contact models that give none, from one stage's points."""

from __future__ import annotations

from nmdp_pin._kernels.algebra.linear import clear_matrix
from nmdp_pin._kernels.compiler.jit import deferred, jit
from nmdp_pin._kernels.compiler.record import vector
from nmdp_pin._kernels.geometry.contacts import Contacts
from nmdp_pin._kernels.step.stage_records import StageIterate

_LEAST_MOVE = 1e-10  # [m]; shorter differences say nothing about a derivative


@jit
def clear_slopes(at: StageIterate) -> None:
    """Forget the estimates of dV/dx, at the first point of a stage."""
    for i in range(at.slopes.shape[0]):
        for a in range(at.slopes.shape[1]):
            clear_matrix(at.slopes[i, a])


@deferred
def learn_slopes(contacts: Contacts, before: StageIterate, at: StageIterate) -> None:
    """Broyden's estimate of dV/dx for each contact on its own, within one stage.

    Two points give the change of V along the line between them; three independent directions
    determine dV/dx.

    Args:
        contacts: contacts of the step.
        before: point evaluated earlier.
        at: point whose slopes are written.
    """
    dx = vector(3)
    for i in range(contacts.n[0]):
        square = 0.0
        for c in range(3):
            dx[c] = at.places.centre[i, c] - before.places.centre[i, c]
            square += dx[c] * dx[c]
        far = square > _LEAST_MOVE**2
        for a in range(at.slopes.shape[1]):
            for e in range(at.slopes.shape[2]):
                T, old = at.slopes[i, a, e], before.slopes[i, a, e]
                missed = at.V[i, a, e] - before.V[i, a, e]
                for c in range(3):
                    missed -= old[c] * dx[c]
                for c in range(3):
                    T[c] = old[c] + (missed * dx[c] / square if far else 0.0)
