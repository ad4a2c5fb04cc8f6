"""Configurations as points of a product of manifolds, with pinocchio's conventions.

A tangent dq leads from q to integrate(q, dq). D is the derivative of difference(q0, q1) with
respect to a tangent at q1. It is the identity but for blocks on its diagonal at planar, spherical
and free joints, and only these blocks are read and written here.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.lie import (
    log_derivative,
    log_second_derivative,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
    translation_exp,
    translation_log,
)
from nmdp_pin._kernels.algebra.linear import solve_in_place
from nmdp_pin._kernels.compiler.jit import Array, inlined, jit
from nmdp_pin._kernels.compiler.record import matrix, record, vector, zero_vector

# Kinds of the factors, by their coordinates.
REVOLUTE = 0  # an angle
UNBOUNDED = 1  # cosine and sine of an angle
LINEAR = 2  # any number of lengths or angles
PLANAR = 3  # x, y, cosine and sine of an angle
SPHERICAL = 4  # a unit quaternion (x, y, z, w)
FREE = 5  # a translation, then a unit quaternion


@record(frozen=True)
class Manifold:
    """The factors of a configuration space, one for each joint without parts.

    Args:
        kinds: kinds of the factors, shape (n,).
        first_q: index of the first coordinate of each factor, shape (n + 1,).
        first_v: index of the first dof of each factor, shape (n + 1,).
        flat: whether all factors are vector spaces of the coordinates.
    """

    kinds: Array
    first_q: Array
    first_v: Array
    flat: bool


@jit
def rotation_of_quaternion(q: Array, R: Array) -> None:
    """The rotation of a unit quaternion (x, y, z, w), by its columns.

    Args:
        q: quaternion, shape (4,).
        R: output, R[j] being column j, shape (3, 3).
    """
    x, y, z, w = q[0], q[1], q[2], q[3]
    R[0, 0], R[1, 0], R[2, 0] = (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - z * w),
        2.0 * (x * z + y * w),
    )
    R[0, 1], R[1, 1], R[2, 1] = (
        2.0 * (x * y + z * w),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - x * w),
    )
    R[0, 2], R[1, 2], R[2, 2] = (
        2.0 * (x * z - y * w),
        2.0 * (y * z + x * w),
        1.0 - 2.0 * (x * x + y * y),
    )


@jit
def has_blocks(kind: int) -> bool:
    """Whether D differs from the identity at a joint of that kind."""
    return kind >= PLANAR


@jit
def _twist(kind: int, d: Array, twist: Array) -> None:
    """The twist of a tangent of a planar, spherical or free joint."""
    twist[:] = 0.0
    if kind == PLANAR:
        twist[0], twist[1], twist[5] = d[0], d[1], d[2]
    elif kind == SPHERICAL:
        for i in range(3):
            twist[3 + i] = d[i]
    else:
        for i in range(6):
            twist[i] = d[i]


@jit
def _entry(kind: int, k: int) -> int:
    """Index in the twist of entry k of the tangent."""
    if kind == PLANAR:
        return 5 if k == 2 else k
    return k + 3 if kind == SPHERICAL else k


@jit
def _turn_pair(pair: Array, angle: float, out: Array) -> None:
    """Cosine and sine rotated by an angle, of unit length."""
    c, s = math.cos(angle), math.sin(angle)
    x, y = pair[0] * c - pair[1] * s, pair[0] * s + pair[1] * c
    # one step towards unit length as in pinocchio, whose logarithm is 0 where a product exceeds 1
    share = 0.5 * (3.0 - x * x - y * y)
    out[0], out[1] = share * x, share * y


@jit
def _turn_quaternion(q: Array, w: Array, out: Array) -> None:
    """Unit quaternion rotated by a rotation vector."""
    turn, product = vector(4), vector(4)
    quaternion_exp(w, turn)
    quaternion_product(q, turn, product)
    length = product[0] ** 2 + product[1] ** 2 + product[2] ** 2 + product[3] ** 2
    length = math.sqrt(length)
    for i in range(4):
        out[i] = product[i] / length


@jit
def integrate(space: Manifold, q: Array, t: float, direction: Array, out: Array) -> None:
    """The configuration at tangent t * direction from q.

    Args:
        space: configuration space.
        q: configuration, shape (nq,).
        t: factor of the direction.
        direction: tangent, shape (nv,).
        out: output other than q, shape (nq,).
    """
    if space.flat:
        for k in range(len(direction)):
            out[k] = q[k] + t * direction[k]
        return
    twist, p, R = vector(6), vector(3), matrix(3, 3)
    dq = vector(len(direction))
    for k in range(len(direction)):
        dq[k] = t * direction[k]
    for b in range(len(space.kinds)):
        kind = space.kinds[b]
        i, k = space.first_q[b], space.first_v[b]
        if kind == REVOLUTE or kind == LINEAR:  # no tuple in memory
            for j in range(space.first_q[b + 1] - i):
                out[i + j] = q[i + j] + dq[k + j]
        elif kind == UNBOUNDED:
            _turn_pair(q[i : i + 2], dq[k], out[i : i + 2])
        elif kind == SPHERICAL:
            _turn_quaternion(q[i : i + 4], dq[k : k + 3], out[i : i + 4])
        else:
            _twist(kind, dq[k : space.first_v[b + 1]], twist)
            translation_exp(twist[:3], twist[3:], p)
            if kind == PLANAR:
                c, s = q[i + 2], q[i + 3]
                out[i] = q[i] + c * p[0] - s * p[1]
                out[i + 1] = q[i + 1] + s * p[0] + c * p[1]
                _turn_pair(q[i + 2 : i + 4], dq[k + 2], out[i + 2 : i + 4])
            else:
                rotation_of_quaternion(q[i + 3 : i + 7], R)
                for j in range(3):
                    out[i + j] = q[i + j] + R[0, j] * p[0] + R[1, j] * p[1] + R[2, j] * p[2]
                _turn_quaternion(q[i + 3 : i + 7], dq[k + 3 : k + 6], out[i + 3 : i + 7])


@jit
def _angle(a: Array, b: Array) -> float:
    """Angle from one pair of cosine and sine to another."""
    return math.atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])


@jit
def _rotation_between(a: Array, b: Array, out: Array) -> None:
    """Rotation vector from one unit quaternion to another."""
    back, turn = vector(4), vector(4)
    back[0], back[1], back[2], back[3] = -a[0], -a[1], -a[2], a[3]
    quaternion_product(back, b, turn)
    quaternion_log(turn, out)


@jit
def difference(space: Manifold, q0: Array, q1: Array, out: Array) -> None:
    """The tangent that leads from q0 to q1.

    Args:
        space: the configurations.
        q0: first configuration, shape (nq,).
        q1: second configuration, shape (nq,).
        out: output, shape (nv,).
    """
    if space.flat:
        for k in range(len(out)):
            out[k] = q1[k] - q0[k]
        return
    p, w, v, R = vector(3), zero_vector(3), vector(3), matrix(3, 3)
    for b in range(len(space.kinds)):
        kind = space.kinds[b]
        i, k = space.first_q[b], space.first_v[b]
        if kind == REVOLUTE or kind == LINEAR:  # no tuple in memory
            for j in range(space.first_q[b + 1] - i):
                out[k + j] = q1[i + j] - q0[i + j]
        elif kind == UNBOUNDED:
            out[k] = _angle(q0[i : i + 2], q1[i : i + 2])
        elif kind == SPHERICAL:
            _rotation_between(q0[i : i + 4], q1[i : i + 4], out[k : k + 3])
        elif kind == PLANAR:
            c, s = q0[i + 2], q0[i + 3]
            x, y = q1[i] - q0[i], q1[i + 1] - q0[i + 1]
            p[0], p[1], p[2] = c * x + s * y, c * y - s * x, 0.0
            w[0], w[1], w[2] = 0.0, 0.0, _angle(q0[i + 2 : i + 4], q1[i + 2 : i + 4])
            translation_log(p, w, v)
            out[k], out[k + 1], out[k + 2] = v[0], v[1], w[2]
        else:
            rotation_of_quaternion(q0[i + 3 : i + 7], R)
            for j in range(3):
                p[j] = 0.0
                for l in range(3):
                    p[j] += R[j, l] * (q1[i + l] - q0[i + l])
            _rotation_between(q0[i + 3 : i + 7], q1[i + 3 : i + 7], w)
            translation_log(p, w, out[k : k + 3])
            for j in range(3):
                out[k + 3 + j] = w[j]


@jit
def difference_derivative(space: Manifold, d: Array, D: Array) -> None:
    """The blocks of D where difference(q0, q1) = d.

    The derivative with respect to a tangent at q0 has the blocks -D(-d).

    Args:
        space: the configurations.
        d: difference(q0, q1), shape (nv,).
        D: output, of which the blocks are written, shape (nv, nv).
    """
    twist, block = vector(6), matrix(6, 6)
    for b in range(len(space.kinds)):
        kind = space.kinds[b]
        if not has_blocks(kind):
            continue
        k, end = space.first_v[b], space.first_v[b + 1]
        _twist(kind, d[k:end], twist)
        log_derivative(twist, block)
        for i in range(end - k):
            for j in range(end - k):
                D[k + i, k + j] = block[_entry(kind, i), _entry(kind, j)]


@jit
def integrate_derivatives(space: Manifold, d: Array, by_q: Array, by_d: Array) -> bool:
    """Derivatives of integrate(q, d), tangent: by_q = Jr Jl^-1 and by_d = Jr.

    Args:
        space: configuration space.
        d: the motion, shape (nv,).
        by_q: output, shape (nv, nv).
        by_d: output, shape (nv, nv).

    Returns:
        Whether Jr^-1 is regular, which it is but for full revolutions.
    """
    nv = d.size
    right, both, back = np.eye(nv), np.zeros((nv, 2 * nv)), np.empty(nv)
    left = np.eye(nv)
    for l in range(nv):
        back[l] = -d[l]
    difference_derivative(space, d, right)
    difference_derivative(space, back, left)
    for k in range(nv):
        both[k, k] = 1.0
        for l in range(nv):
            both[k, nv + l] = left[k, l]
    if not solve_in_place(right, both):
        return False
    for k in range(nv):
        for l in range(nv):
            by_d[k, l], by_q[k, l] = both[k, l], both[k, nv + l]
    return True


@jit
def pull_force(space: Manifold, D: Array, force: Array, out: Array) -> None:
    """Out = D' force, shapes (nv,); out is not force."""
    for b in range(len(space.kinds)):
        k, end = space.first_v[b], space.first_v[b + 1]
        for j in range(k, end):
            if not has_blocks(space.kinds[b]):
                out[j] = force[j]
                continue
            out[j] = 0.0
            for i in range(k, end):
                out[j] += D[i, j] * force[i]


@jit
def add_weighted(
    space: Manifold, L: Array, D: Array, weights: Array, factor: float, A: Array
) -> None:
    """A += factor L' diag(weights) D, L being the identity but for blocks as those of D."""
    for b in range(len(space.kinds)):
        k, end = space.first_v[b], space.first_v[b + 1]
        for i in range(k, end):
            if not has_blocks(space.kinds[b]):
                A[i, i] += factor * weights[i]
                continue
            for j in range(k, end):
                for l in range(k, end):
                    A[i, j] += factor * L[l, i] * weights[l] * D[l, j]


@jit
def add_turning(space: Manifold, d: Array, D: Array, force: Array, A: Array) -> None:
    """A += the derivative of D' force, which is a function of d, along dd = D; force is held.

    Args:
        space: the configurations.
        d: difference(q0, q1), shape (nv,).
        D: derivative of d with respect to q1 or q0, shape (nv, nv).
        force: constant force, shape (nv,).
        A: shape (nv, nv).
    """
    twist, f, H = vector(6), vector(6), matrix(6, 6)
    for b in range(len(space.kinds)):
        kind = space.kinds[b]
        if not has_blocks(kind):
            continue
        k, end = space.first_v[b], space.first_v[b + 1]
        _twist(kind, d[k:end], twist)
        _twist(kind, force[k:end], f)
        log_second_derivative(twist, f, H)
        for i in range(end - k):
            for j in range(end - k):
                for l in range(end - k):
                    A[k + i, k + j] += H[_entry(kind, i), _entry(kind, l)] * D[k + l, k + j]


@inlined
def _add_product(
    X: Array, D: Array, i: int, s: int, k: int, end: int, blocks: bool, factor: float, Y: Array
) -> None:
    """Add row i of factor X D to Y in columns s on, of a joint, whose D may be the identity."""
    for j in range(end - k):
        total = X[i, s + j]
        if blocks:
            total = 0.0
            for l in range(end - k):
                total += X[i, s + l] * D[k + l, k + j]
        Y[i, s + j] += factor * total


@jit
def add_multiplied_columns(
    space: Manifold, dofs: Array, n: int, X: Array, D: Array, factor: float, Y: Array
) -> None:
    """Y += factor X D, shapes (., n), in the columns of n dofs, those of whole joints."""
    s = 0
    while s < n:
        b = 0
        while space.first_v[b + 1] <= dofs[s]:
            b += 1
        k, end = dofs[s], space.first_v[b + 1]
        for i in range(X.shape[0]):
            _add_product(X, D, i, s, k, end, has_blocks(space.kinds[b]), factor, Y)
        s += end - k


@jit
def add_multiplied_groups(
    space: Manifold, groups: Array, X: Array, D: Array, factor: float, Y: Array
) -> None:
    """Y += factor X D, shapes (nv, nv), within groups that begin at the dofs given, as the end."""
    g = 0
    for b in range(len(space.kinds)):
        k, end = space.first_v[b], space.first_v[b + 1]
        while k >= groups[g + 1] and g + 2 < groups.size:
            g += 1
        blocks = has_blocks(space.kinds[b])
        for i in range(groups[g], groups[g + 1]):
            _add_product(X, D, i, k, k, end, blocks, factor, Y)


@jit
def add_rows(space: Manifold, weights: Array, D: Array, factor: float, A: Array) -> None:
    """A += factor diag(weights) D."""
    for b in range(len(space.kinds)):
        k, end = space.first_v[b], space.first_v[b + 1]
        for i in range(k, end):
            if not has_blocks(space.kinds[b]):
                A[i, i] += factor * weights[i]
                continue
            for j in range(k, end):
                A[i, j] += factor * weights[i] * D[i, j]
