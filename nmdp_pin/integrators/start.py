"""Where the solver of a step begins: one place after another, until one leads to a solution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from nmdp_pin.solvers.vi_newton import LEAST_PROXIMAL


class Origin(NamedTuple):
    """What the places to begin are made from.

    Args:
        q: configuration at the start of the step.
        last: weights of the last step.
        touching: full normal forces.
        coast: where the motion would lead without forces in this share of the step.
    """

    q: np.ndarray
    last: np.ndarray
    touching: np.ndarray
    coast: Callable[[float], np.ndarray]


class Start(NamedTuple):
    """A place to begin.

    Args:
        q: configuration, shape (nq,).
        w: weights, shape (n_contacts, n_vertices).
        near: how close to G = 0 to stay between the iterations, in shares of the usual.
        patience: iterations of the principle's solver at most; None: as many as it is allowed.
        obstinate: go on however many projections onto G = 0 fail; else one in ten iterations may.
        least_proximal: of the principle's solver.
    """

    q: np.ndarray
    w: np.ndarray
    near: float = 1.0
    patience: int | None = None
    obstinate: bool = False
    least_proximal: float = LEAST_PROXIMAL


def starts_of_principle(origin: Origin) -> Iterator[Start]:
    """Places for the variational inequality, by what each solved for what it cost.

    Most steps take two to five iterations from the last weights. Those that do not are better begun
    elsewhere than followed on (docs/choices.md, 3).
    """
    q, last, touching, coast = origin
    zero = np.zeros_like(last)
    yield Start(q, last, 3.0, 8)
    ahead = coast(1.0)
    yield Start(ahead, zero, 10.0, 12)
    halfway = coast(0.5)
    yield Start(halfway, last, 3.0, 8)
    yield Start(q, last, 0.3)
    yield Start(ahead, touching, 3.0)
    yield Start(halfway, touching)
    yield Start(q, zero, 0.3)
    yield Start(halfway, 0.5 * last, 3.0)
    yield Start(halfway, last, 0.3)
    yield Start(q, last)
    yield Start(q, zero, 0.1)
    yield Start(q, zero, obstinate=True)  # impacts of more than 10 m/s


def starts_of_minimum(origin: Origin) -> Iterator[Start]:
    """Places for PGM: it stays with the root that it starts at, so the nearest ones only.

    From w = 0, the papers' start, there is always a way down.
    """
    yield Start(origin.q, origin.last)
    yield Start(origin.q, np.zeros_like(origin.last))
