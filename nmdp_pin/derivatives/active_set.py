"""Active set of a step: free and fixed weights, and the contacts at which it may change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

_POSITIVE = 1e-9  # share of a contact's weights that counts as more than zero
_TIGHT = 1e-9  # what a sum of weights may lack of one
_INSIDE = 1e-4  # share of a contact's weights that a redistribution must give to each
_ROUNDING = 1e-11  # of the largest force of a vertex; dofs that feel less feel nothing
_LEAST = 1e-6  # sum of weights that is its own unit


class Switch(NamedTuple):
    """Kink of a step, at which its derivative is that of one side.

    Attributes:
        contact: index among the robot's contact points; behind them those of the joints with a stop
            or dry friction.
        kind: "touch" (the sphere is at the surface), "weight" (a zero weight may increase) or
            "sum" (a full sum of weights may decrease).
        vertex: index of the weight, -1 for the other kinds.
    """

    contact: int
    kind: str
    vertex: int = -1


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Face of the simplices on which the weights stay.

    Args:
        free: mask of the free weights, shape (n, m).
        tight: contacts whose sum stays at one, shape (n,).
        switches: kinks at which the step might leave the face.
        slack: r_j + lambda_c of every weight [J], shape (n m,).
        multiplier: lambda_c of every contact [J], shape (n,).
    """

    free: np.ndarray
    tight: np.ndarray
    switches: tuple[Switch, ...]
    slack: np.ndarray
    multiplier: np.ndarray


def active_set(
    w: np.ndarray,
    r: np.ndarray,
    forces: np.ndarray,
    moves: np.ndarray,
    tolerance: float,
) -> ActiveSet:
    """Determine the face from the weights and their multipliers.

    Where contacts are redundant, weights are not unique, and one may be zero by chance. Weights
    without a multiplier count as free if the same generalised force is possible with all of them
    above zero, by a linear program. Otherwise the step has a kink.

    Args:
        w: weights of the contacts that act, shape (n, m).
        r: what vanishes for free weights but for the multiplier of the sum [J], shape (n m,).
        forces: generalised force of each vertex, shape (n m, nv).
        moves: motion that a weight would make for each joule of its multiplier, shape (n m,).
        tolerance: motion below which a multiplier counts as zero [m, rad].
    """
    n, m = w.shape
    sums = w.sum(axis=1)
    positive = w > _POSITIVE * np.maximum(sums, _LEAST)[:, None]
    tight = sums >= 1.0 - _TIGHT
    r, moves = r.reshape(n, m), moves.reshape(n, m)
    multiplier = np.where(tight, -(w * r).sum(axis=1) / np.where(tight, sums, 1.0), 0.0)
    slack = r + multiplier[:, None]
    felt = forces.any(axis=1).reshape(n, m)  # joints have one weight that does something
    weak = ~positive & felt & (np.abs(slack) * moves <= tolerance)
    largest = np.where(positive, moves, 0.0).max(axis=1, initial=0.0)
    weak_sum = tight & (np.abs(multiplier) * largest <= tolerance)
    switches: list[Switch] = []
    if weak.any() or weak_sum.any():
        inside = _redistributed(w, positive | weak, tight & ~weak_sum, weak_sum, forces)
        opened = weak & inside.weights
        positive = positive | opened
        tight = tight & ~(weak_sum & inside.sums)
        switches += [Switch(int(c), "weight", int(j)) for c, j in np.argwhere(weak & ~opened)]
        switches += [Switch(int(c), "sum") for c in np.flatnonzero(weak_sum & tight)]
    return ActiveSet(positive, tight, tuple(switches), slack.ravel(), multiplier)


class _Inside(NamedTuple):
    """Constraints that may be inactive: weights (n, m) above zero, and sums (n,) below one."""

    weights: np.ndarray
    sums: np.ndarray


def _redistributed(
    w: np.ndarray, support: np.ndarray, tight: np.ndarray, open_sums: np.ndarray, forces: np.ndarray
) -> _Inside:
    """Bounds that can be left at the same generalised force.

    Args:
        w: weights, shape (n, m).
        support: weights that may be above zero, shape (n, m).
        tight: contacts whose sum has to be one.
        open_sums: contacts whose sum is one and may be less.
        forces: generalised force of each vertex, shape (n m, nv).
    """
    n, m = w.shape
    sums = w.sum(axis=1)
    unit = np.maximum(sums, _LEAST)
    index = np.flatnonzero(support)
    contact = index // m
    share = w.ravel()[index] / unit[contact]
    equal = forces[index].T * unit[contact]
    scale = np.abs(equal).max(axis=1, initial=0.0)
    felt = scale > _ROUNDING * scale.max(initial=0.0)
    equal = equal[felt] / scale[felt][:, None]
    per_contact = np.zeros((n, len(index)))
    per_contact[contact, np.arange(len(index))] = 1.0
    equal = np.vstack([equal, per_contact[tight]])
    if _spreads(share, per_contact, equal, 1.0 / unit - 1.0, tight, open_sums):
        return _Inside(support, open_sums)
    # A multiple of what there is, x = scale * share, and t with x_j >= t_j, scale - sum >= t_c and
    # 0 <= t <= 1: its largest sum is as many of them as can be above zero at once, each being one.
    bounded = ~tight
    k, b = len(index), int(bounded.sum())
    cost = np.concatenate([np.zeros(k), -np.ones(k + b), [0.0]])
    upper = np.zeros((k + b, 2 * k + b + 1))
    upper[:k, :k], upper[:k, k : 2 * k] = -np.eye(k), np.eye(k)
    upper[k:, :k], upper[k:, 2 * k : -1] = per_contact[bounded], np.eye(b)
    upper[k:, -1] = -1.0 / unit[bounded]
    found = linprog(
        cost,
        A_ub=upper,
        b_ub=np.zeros(k + b),
        A_eq=np.hstack([equal, np.zeros((len(equal), k + b)), -(equal @ share)[:, None]]),
        b_eq=np.zeros(len(equal)),
        bounds=[(0.0, None)] * k + [(0.0, 1.0)] * (k + b) + [(1.0, 1.0 / _INSIDE)],
        method="highs-ds",
    )
    weights, inner = np.zeros(w.size, dtype=bool), np.zeros(n, dtype=bool)
    if found.status == 0:
        t = found.x[k:-1]
        weights[index] = t[:k] > 0.5
        inner[bounded] = t[k:] > 0.5
    return _Inside(weights.reshape(n, m), inner & open_sums)


def _spreads(
    share: np.ndarray,
    per_contact: np.ndarray,
    equal: np.ndarray,
    room: np.ndarray,
    tight: np.ndarray,
    open_sums: np.ndarray,
) -> bool:
    """Whether a step towards equal weights opens all bounds; False: a linear program has to tell.

    Args:
        share: weights over their sum in the contact, shape (k,).
        per_contact: one where a weight is that of a contact, shape (n, k).
        equal: conditions that a step must not change, shape (l, k).
        room: what sums of shares lack of the largest, shape (n,).
        tight: contacts whose sum has to be one, shape (n,).
        open_sums: contacts whose sum is one and may be less, shape (n,).
    """
    step = (1.0 / np.maximum(per_contact.sum(axis=1), 1.0)) @ per_contact - share
    step -= np.linalg.lstsq(equal, equal @ step)[0]
    zero, sums = share <= _POSITIVE, per_contact @ step
    falls, rises = ~zero & (step < 0.0), ~tight & ~open_sums & (sums > 0.0)
    # Half of the way to the first bound that is open now.
    size = 0.5 * min(
        (share[falls] / -step[falls]).min(initial=2.0), (room[rises] / sums[rises]).min(initial=2.0)
    )
    opened = np.concatenate([step[zero], -sums[open_sums]])
    return bool((size * opened >= _INSIDE).all())
