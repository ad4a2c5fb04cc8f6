"""The face of their simplices on which the weights of a stage stay.

A row of weights, which are at least zero and at most one in sum, is that of a contact, or of a
joint with a stop or dry friction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import eliminate
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.derivative.positive_solutions import mark_positive_entries
from nmdp_pin._kernels.derivative.stage_rates import StageRates

_POSITIVE = 1e-9  # share of a row's weights that counts as more than zero
_FULL = 1e-9  # what a sum of weights may lack of one
_LEAST = 1e-6  # sum of weights that is its own unit
_UNIT = 1e-2  # least sum of weights of a row of which changes are shares
_INSIDE = 1e-4  # share of a row's weights below which a weight cannot give any away
_FELT = 1e-11  # share of the largest force of a vertex; dofs that feel less feel nothing
_LEAST_SCALE = 1e-9  # least curvature of a row, relative to the largest one


class Face(NamedTuple):
    """Face of the simplices on which the weights stay.

    Args:
        free: whether each weight may move, shape (nw,).
        tight: whether the sum of each row stays at one, shape (k,).
        kink: whether a weight is zero and may increase, shape (nw,).
        kink_sum: whether a sum is one and may decrease, shape (k,).
        slack: r + lambda of each weight [J], shape (nw,).
        multiplier: lambda of each row [J], shape (k,).
        scale: curvature of each row [J], shape (nw,).
    """

    free: Array
    tight: Array
    kink: Array
    kink_sum: Array
    slack: Array
    multiplier: Array
    scale: Array


@jit
def new_face(k: int, nw: int) -> Face:
    """Memory for the face of nw weights in k rows."""
    return Face(
        np.zeros(nw, np.bool_),
        np.zeros(k, np.bool_),
        np.zeros(nw, np.bool_),
        np.zeros(k, np.bool_),
        np.zeros(nw),
        np.zeros(k),
        np.zeros(nw),
    )


@jit
def block_scales(curvature: Array, first: Array, scale: Array) -> bool:
    """Largest curvature of each row, the unit of its weights; False where all are zero.

    Contacts differ by orders of magnitude: one about to lift off responds strongly to its weights.

    Args:
        curvature: curvature along each variable, shape (n,).
        first: first variable of each row, shape (k + 1,).
        scale: output, shape (n,).
    """
    largest = 0.0
    for b in range(first.size - 1):
        of_row = 0.0
        for e in range(first[b], first[b + 1]):
            of_row = max(of_row, abs(curvature[e]))
        largest = max(largest, of_row)
        for e in range(first[b], first[b + 1]):
            scale[e] = of_row
    for e in range(curvature.size):
        scale[e] = max(scale[e], _LEAST_SCALE * largest)
    return largest > 0.0


@jit
def find_face(rates: StageRates, moves: Array, known: float, face: Face) -> bool:
    """Write the face on which the weights stay; True where some multipliers vanish on it.

    The multiplier of a weight counts as none where the weight would move q by less than `known`;
    `moves` are the motions for each joule.
    """
    some = False
    for b in range(face.tight.size):
        begin, end = rates.first[b], rates.first[b + 1]
        total, along, largest = 0.0, 0.0, 0.0
        for e in range(begin, end):
            total += rates.w[e]
            along += rates.w[e] * rates.r[e]
        face.tight[b] = total >= 1.0 - _FULL
        face.multiplier[b] = -along / total if face.tight[b] else 0.0
        for e in range(begin, end):
            face.slack[e] = rates.r[e] + face.multiplier[b]
            face.free[e] = rates.w[e] > _POSITIVE * max(total, _LEAST)
            felt = False
            for l in range(rates.forces.shape[1]):
                felt |= rates.forces[e, l] != 0.0
            weak = felt and not face.free[e] and abs(face.slack[e]) * moves[e] <= known
            face.kink[e] = weak
            some |= weak
            if face.free[e]:
                largest = max(largest, moves[e])
        face.kink_sum[b] = face.tight[b] and abs(face.multiplier[b]) * largest <= known
        some |= face.kink_sum[b]
    return some


@jit
def open_face(rates: StageRates, face: Face) -> None:
    """Free the weights without a multiplier that are zero by chance; the others stay kinks.

    Where contacts are redundant, weights are not unique, and one may be zero by chance: the same
    generalised force is possible with all of them above zero. A change d of the weights and of what
    sums lack of one has to leave the forces and the tight sums: A d = 0, with d >= 0 where there is
    nothing to give. Elimination of the others leaves B d = 0.
    """
    nv, nw, k = rates.forces.shape[1], rates.w.size, face.tight.size
    # variables: weights, and what sums lack of one; those that may only grow are `held`
    used, held = np.zeros(nw + k, np.bool_), np.zeros(nw + k, np.bool_)
    A, size = np.zeros((nv + k, nw + k)), np.zeros(nv)
    for b in range(k):
        begin, end = rates.first[b], rates.first[b + 1]
        total = 0.0
        for e in range(begin, end):
            total += rates.w[e]
        unit = max(total, _UNIT)
        for e in range(begin, end):
            used[e] = face.free[e] or face.kink[e]
            held[e] = rates.w[e] < _INSIDE * unit
            A[nv + b, e] = 1.0
            for l in range(nv):
                A[l, e] = unit * rates.forces[e, l]
                size[l] = max(size[l], abs(A[l, e]))
        used[nw + b] = not face.tight[b] or face.kink_sum[b]
        held[nw + b] = 1.0 - total < _INSIDE * unit
        A[nv + b, nw + b] = 1.0
    largest = 0.0
    for l in range(nv):
        largest = max(largest, size[l])
    others, few = 0, np.empty(nw + k, np.int64)
    n = 0
    for i in range(nw + k):
        others += used[i] and not held[i]
        if used[i] and held[i]:
            few[n] = i
            n += 1
    free, B, order = np.zeros((nv + k, others)), np.zeros((nv + k, n)), np.empty(others, np.int64)
    for l in range(nv + k):
        share = 1.0
        if l < nv:
            share = 1.0 / size[l] if size[l] > _FELT * largest else 0.0
        c, d = 0, 0
        for i in range(nw + k):
            if used[i] and held[i]:
                B[l, d] = share * A[l, i]
                d += 1
            elif used[i]:
                free[l, c] = share * A[l, i]
                c += 1
    rank = eliminate(free, others, B, order)
    positive = np.ones(n, np.bool_)
    mark_positive_entries(B[rank:], positive)
    for d in range(n):
        if positive[d] and few[d] < nw:
            face.free[few[d]] = True
            face.kink[few[d]] = False
        elif positive[d] and face.kink_sum[few[d] - nw]:
            face.tight[few[d] - nw] = face.kink_sum[few[d] - nw] = False


@jit
def face_basis(free: Array, tight: Array, first: Array, scale: Array, basis: Array) -> int:
    """Changes of the weights along a face as columns, over the roots of the curvatures.

    They are unit vectors, or orthonormal ones that keep the sum where it is tight.

    Args:
        free: whether each weight moves, shape (nw,).
        tight: whether the sum of each row stays, shape (k,).
        first: first weight of each row, shape (k + 1,).
        scale: curvature of each row, shape (nw,).
        basis: output, zero on entry, shape (nw, nw).

    Returns:
        Number of columns.
    """
    column = 0
    for c in range(tight.size):
        if first[c] == first[c + 1]:
            continue
        unit, before = 1.0 / math.sqrt(scale[first[c]]), 0
        for e in range(first[c], first[c + 1]):
            if not free[e]:
                continue
            if not tight[c]:
                basis[e, column] = unit
                column += 1
                continue
            if before > 0:
                size = unit / math.sqrt(before * (before + 1.0))
                for i in range(first[c], e):
                    if free[i]:
                        basis[i, column] = size
                basis[e, column] = -before * size
                column += 1
            before += 1
    return column
