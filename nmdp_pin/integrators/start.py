"""Where the solver of a step begins: one place after another, until one leads to a solution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nmdp_pin.solvers.vi_newton import LEAST_PROXIMAL


class Start(NamedTuple):
    """A place to begin.

    Args:
        q: configuration, shape (nq,).
        w: weights, shape (n_contacts, n_vertices).
        near: how close to G = 0 to stay between the iterations, in shares of the usual.
        brief: give up soon; there are other places.
        least_proximal: of the principle's solver.
    """

    q: np.ndarray
    w: np.ndarray
    near: float = 1.0
    brief: bool = False
    least_proximal: float = LEAST_PROXIMAL


def starts_of_principle(
    q: np.ndarray, ahead: np.ndarray, last: np.ndarray, touching: np.ndarray
) -> Iterator[Start]:
    """Places for the variational inequality, by what each solved for what it cost.

    Most steps take two to five iterations from the last weights. Of 407 steps of 30 to 50 ms
    that took more than twelve, the second place solved 85 % (docs/choices.md, 3).

    Args:
        q: configuration at the start of the step.
        ahead: where it would coast to.
        last: weights of the last step.
        touching: full normal forces.
    """
    zero = np.zeros_like(last)
    yield Start(q, last, brief=True)
    yield Start(q, zero, 0.3, brief=True)
    yield Start(ahead, zero)
    yield Start(q, touching, 0.3)
    yield Start(q, zero, 0.1)
    yield Start(q, 0.5 * last)
    yield Start(ahead, zero, 0.1)
    yield Start(q, touching, 0.1)


def starts_of_minimum(q: np.ndarray, last: np.ndarray) -> Iterator[Start]:
    """Places for PGM: it stays with the root that it starts at, so the nearest ones only.

    From w = 0, the papers' start, there is always a way down.

    Args:
        q: configuration at the start of the step.
        last: weights of the last step.
    """
    yield Start(q, last)
    yield Start(q, np.zeros_like(last))
