"""Closed loops: gaps that stay zero between frames on two bodies, or between two coordinates.

A gap g depends on the placement of the first body relative to the second one alone, so that its
gradient is a wrench W at the world's origin that acts on the first body, and its opposite on the
second. With M the motion of the first body relative to the second, dg = W . M and dW = K M, where
the second body stays.

- point: of the first frame, from that of the second along its axes, three gaps.
- weld: those and three of the rotation, the axis of the first frame's times the sine of its angle.
- distance: (d^2 - L^2) / (2 L) of the origins, which is d - L where it is zero.
- coupling: a coordinate less a polynomial in another one.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.lie import cross_motions
from nmdp_pin._kernels.algebra.linear import copy_matrix
from nmdp_pin._kernels.algebra.vector3 import compose, cross_into, relative
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import matrix, record, vector, zero_vector
from nmdp_pin._kernels.tree.tree import Tree, power

POINT, WELD, DISTANCE, COUPLING = range(4)
MOST = 6  # rows of a loop


@record
class Loops:
    """Loops, whose rows come behind those of the joints with a stop or dry friction.

    Args:
        first: first row of each of c loops, and one behind the last, shape (c + 1,).
        kinds: kinds, shape (c,).
        bodies: first and second body of each, 0 for the world, shape (c, 2).
        frames: frames on them, shape (c, 2, 4, 3).
        lengths: distances [m], shape (c,).
        coordinates: indices in q of a coupling's coordinates, the second -1 where the first one is
            held, shape (c, 2).
        polynomials: coefficients of couplings, from the constant on, shape (c, 5).
        compliance: motion by a unit of force of each row, shape (rows,).
        springs: whether a loop is one, of a given compliance, shape (c,).
        grips: whether a loop holds only in steps that say so, in which its frames stay as they are
            to each other at the start, shape (c,).
        dof_ranges: first of the dofs of each loop, and one behind the last, shape (c + 1,).
        dofs: dofs that change the gaps, shape (x,).
        signs: 1 where they move the first body, -1 the second one, shape (x,).
        carriers: bodies that the dofs move first, shape (x,).
    """

    first: Array
    kinds: Array
    bodies: Array
    frames: Array
    lengths: Array
    coordinates: Array
    polynomials: Array
    compliance: Array
    springs: Array
    grips: Array
    dof_ranges: Array
    dofs: Array
    signs: Array
    carriers: Array


@deferred
def gaps_of(
    loops: Loops, frames: Array, x: int, P: Array, q: Array, A: Array, B: Array, g: Array, W: Array
) -> int:
    """Gaps of a loop, and their gradients.

    Args:
        loops: the loops.
        frames: frames on the bodies, of a step those of `place_grips`, shape (c, 2, 4, 3).
        x: index of the loop.
        P: placements of the bodies, the world first, shape (n + 1, 4, 3).
        q: configuration, shape (nq,).
        A: output, placement of the first frame, shape (4, 3).
        B: output, placement of the second frame, shape (4, 3).
        g: output, gaps, shape (6,).
        W: output, wrenches; of a coupling the slope and the curvature of -polynomial, shape (6, 6).

    Returns:
        The number of rows.
    """
    if loops.kinds[x] == COUPLING:
        g[0], W[0, 0], W[0, 1] = _coupling(loops, x, q)
        return 1
    compose(P[loops.bodies[x, 0]], frames[x, 0], A)
    compose(P[loops.bodies[x, 1]], frames[x, 1], B)
    d = vector(3)
    for i in range(3):
        d[i] = A[3, i] - B[3, i]
    if loops.kinds[x] == DISTANCE:
        length = loops.lengths[x]
        g[0] = 0.5 * (_dot(d, d) / length - length)
        for i in range(3):
            W[0, i] = d[i] / length
        cross_into(A[3], W[0, :3], W[0, 3:])
        return 1
    for i in range(3):
        g[i] = _dot(B[i], d)
        for j in range(3):
            W[i, j] = B[i, j]
        cross_into(A[3], B[i], W[i, 3:])
    if loops.kinds[x] == POINT:
        return 3
    u = vector(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        g[3 + i] = 0.5 * (_dot(B[k], A[j]) - _dot(B[j], A[k]))
        cross_into(A[j], B[k], d)
        cross_into(A[k], B[j], u)
        for c in range(3):
            W[3 + i, c], W[3 + i, 3 + c] = 0.0, 0.5 * (d[c] - u[c])
    return 6


@jit
def loop_of_row(loops: Loops, row: int) -> int:
    """The loop to which a row belongs, of those of joints and loops."""
    x = 0
    while row >= loops.first[x + 1]:
        x += 1
    return x


@jit
def _coupling(loops: Loops, x: int, q: Array) -> tuple[float, float, float]:
    """Gap of a coupling, and the slope and the curvature of minus its polynomial."""
    a, b = loops.coordinates[x, 0], loops.coordinates[x, 1]
    c, at = loops.polynomials[x], (q[b] if b >= 0 else 0.0)
    value, slope, half = 0.0, 0.0, 0.0
    for k in range(c.size - 1, -1, -1):
        half = half * at + slope
        slope = slope * at + value
        value = value * at + c[k]
    return q[a] - value, -slope, -2.0 * half


@jit
def _dot(a: Array, b: Array) -> float:
    value: float = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return value


@jit
def gradients_of(loops: Loops, x: int, rows: int, S: Array, W: Array, J: Array) -> None:
    """Gradients of a loop's gaps along its dofs, after `gaps_of`, shape (rows, dofs)."""
    begin, end = loops.dof_ranges[x], loops.dof_ranges[x + 1]
    if loops.kinds[x] == COUPLING:
        J[0, 0] = 1.0
        if end - begin > 1:
            J[0, 1] = W[0, 0]
        return
    for i in range(rows):
        for s in range(begin, end):
            J[i, s - begin] = loops.signs[s] * power(S[loops.dofs[s]], W[i])


@jit
def _wrench_rate(
    loops: Loops, x: int, A: Array, B: Array, weights: Array, motion: Array, out: Array
) -> None:
    """Rate K M of the weighted wrenches of a loop by a motion M of its first body, shape (6,)."""
    moved, force, u, v = vector(3), vector(3), vector(3), vector(3)
    w = motion[3:]
    cross_into(w, A[3], moved)
    for i in range(3):
        moved[i] += motion[i]
    if loops.kinds[x] == DISTANCE:
        share = weights[0] / loops.lengths[x]
        for i in range(3):
            out[i], force[i] = share * moved[i], share * (A[3, i] - B[3, i])
        cross_into(moved, force, u)
        cross_into(A[3], out[:3], v)
        for i in range(3):
            out[3 + i] = u[i] + v[i]
        return
    for i in range(3):
        out[i] = 0.0
        force[i] = weights[0] * B[0, i] + weights[1] * B[1, i] + weights[2] * B[2, i]
    cross_into(moved, force, out[3:])
    if loops.kinds[x] == POINT:
        return
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for sign in (1.0, -1.0):
            cross_into(w, A[j], u)
            cross_into(u, B[k], v)
            for c in range(3):
                out[3 + c] += 0.5 * sign * weights[3 + i] * v[c]
            j, k = k, j


@jit
def add_curvature(
    tree: Tree, loops: Loops, x: int, A: Array, B: Array, W: Array, S: Array, f: Array, out: Array
) -> None:
    """Subtract the derivative of a loop's generalised force J'f, after `gaps_of`.

    Args:
        tree: bodies of the tree.
        loops: the loops.
        x: index of the loop.
        A: as of `gaps_of`.
        B: as of `gaps_of`.
        W: as of `gaps_of`.
        S: motions of the dofs, shape (nv, 6).
        f: forces of its rows, shape (6,).
        out: matrix from which it is subtracted, shape (nv, nv).
    """
    begin, end = loops.dof_ranges[x], loops.dof_ranges[x + 1]
    if loops.kinds[x] == COUPLING:
        if end - begin > 1:
            l = loops.dofs[begin + 1]
            out[l, l] -= f[0] * W[0, 1]
        return
    F, rate, turned = vector(6), vector(6), vector(6)
    for c in range(6):
        F[c] = 0.0
        for i in range(loops.first[x + 1] - loops.first[x]):
            F[c] += f[i] * W[i, c]
    for t in range(begin, end):
        l, sign = loops.dofs[t], loops.signs[t]
        _wrench_rate(loops, x, A, B, f, S[l], rate)
        for s in range(begin, end):
            k = loops.dofs[s]
            total = sign * power(S[k], rate)
            carried = tree.moves[loops.carriers[s], l] - (1.0 if sign < 0.0 else 0.0)
            if carried != 0.0:
                cross_motions(S[l], S[k], turned)
                total += carried * power(turned, F)
            out[k, l] -= loops.signs[s] * total


@jit
def add_velocity_rates(
    tree: Tree,
    loops: Loops,
    x: int,
    A: Array,
    B: Array,
    W: Array,
    S: Array,
    twists: Array,
    v: Array,
    J: Array,
) -> None:
    """Add the derivative of J v at a given velocity to rows of the loop, after `gaps_of`.

    Args:
        tree: bodies of the tree.
        loops: the loops.
        x: index of the loop.
        A: as of `gaps_of`.
        B: as of `gaps_of`.
        W: as of `gaps_of`.
        S: motions of the dofs, shape (nv, 6).
        twists: motions of the bodies, shape (n + 1, 6).
        v: velocity, shape (nv,).
        J: output, shape (rows, dofs).
    """
    begin, end = loops.dof_ranges[x], loops.dof_ranges[x + 1]
    if loops.kinds[x] == COUPLING:
        if end - begin > 1:
            J[0, 1] += W[0, 1] * v[loops.dofs[begin + 1]]
        return
    unit, rate, T = vector(6), vector(6), vector(6)
    below, turned = vector(6), vector(6)
    a, b, rows = loops.bodies[x, 0], loops.bodies[x, 1], loops.first[x + 1] - loops.first[x]
    for c in range(6):
        T[c] = twists[a, c] - twists[b, c]
        unit[c] = 0.0
    for s in range(begin, end):
        l, sign = loops.dofs[s], loops.signs[s]
        above, side = tree.parents[loops.carriers[s] - 1] + 1, (a if sign > 0.0 else b)
        for c in range(6):  # what the dof carries of the motion
            below[c] = sign * (twists[side, c] - twists[above, c])
            if sign < 0.0:
                below[c] -= T[c]
        cross_motions(S[l], below, turned)
        for i in range(rows):
            unit[i] = 1.0
            _wrench_rate(loops, x, A, B, unit, S[l], rate)
            unit[i] = 0.0
            J[i, s - begin] += sign * power(T, rate) + power(turned, W[i])


@jit
def add_loop_energies(loops: Loops, P: Array, q: Array, places: Array, energies: Array) -> None:
    """Add what loops that are springs store at the place of their first dof [J].

    Args:
        loops: the loops.
        P: placements of the bodies, the world first, shape (n + 1, 4, 3).
        q: configuration, shape (nq,).
        places: place of each dof in the energies, shape (nv,).
        energies: output, shape (n,).
    """
    A, B, g, W = matrix(4, 3), matrix(4, 3), vector(MOST), matrix(MOST, 6)
    for x in range(loops.kinds.size):
        if loops.springs[x]:
            rows = gaps_of(loops, loops.frames, x, P, q, A, B, g, W)
            first = loops.first[x] - loops.first[0]
            for a in range(rows):
                stored = 0.5 * g[a] * g[a] / loops.compliance[first + a]
                energies[places[loops.dofs[loops.dof_ranges[x]]]] += stored


@jit
def place_grips(loops: Loops, P: Array, frames: Array) -> None:
    """Write the frames of a step, (c, 2, 4, 3); those of a grip are at one place."""
    A = matrix(4, 3)
    for x in range(loops.kinds.size):
        for end in range(2):
            copy_matrix(loops.frames[x, end], frames[x, end])
        if loops.grips[x]:
            compose(P[loops.bodies[x, 0]], frames[x, 0], A)
            relative(P[loops.bodies[x, 1]], A, frames[x, 1])


@jit
def write_gaps(loops: Loops, frames: Array, P: Array, q: Array, gaps: Array) -> None:
    """Write the gaps of all loops at a configuration, shape (rows,); see `gaps_of`."""
    A, B, g, W = matrix(4, 3), matrix(4, 3), vector(MOST), matrix(MOST, 6)
    for x in range(loops.kinds.size):
        rows = gaps_of(loops, frames, x, P, q, A, B, g, W)
        first = loops.first[x] - loops.first[0]
        for a in range(rows):
            gaps[first + a] = g[a]


@jit
def add_loops(
    tree: Tree,
    loops: Loops,
    held: Array,
    frames: Array,
    P: Array,
    S: Array,
    q: Array,
    G: Array,
    A: Array,
    forces: bool,
) -> float:
    """Add the gradient of the energies g^2 / (2 c) to G and its derivative to A; their sum [J].

    Args:
        tree: bodies of the tree.
        loops: the loops.
        held: whether each loop holds, shape (c,).
        frames: as of `gaps_of`.
        P: placements of the bodies, the world first, shape (n + 1, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        q: configuration, shape (nq,).
        G: dynamics residual, shape (nv,).
        A: its derivative, shape (nv, nv); empty: it is not wanted.
        forces: whether the derivative holds that of the directions of the forces.
    """
    if loops.kinds.size == 0:
        return 0.0
    B, C, g, W, f = matrix(4, 3), matrix(4, 3), vector(MOST), matrix(MOST, 6), zero_vector(MOST)
    J, energy = np.empty((MOST, G.size)), 0.0
    for x in range(loops.kinds.size):
        if not held[x]:
            continue
        rows = gaps_of(loops, frames, x, P, q, B, C, g, W)
        gradients_of(loops, x, rows, S, W, J)
        begin, end = loops.dof_ranges[x], loops.dof_ranges[x + 1]
        for a in range(rows):
            stiffness = 1.0 / loops.compliance[loops.first[x] - loops.first[0] + a]
            f[a] = -stiffness * g[a]
            energy += 0.5 * stiffness * g[a] * g[a]
            for s in range(begin, end):
                pull, l = J[a, s - begin], loops.dofs[s]
                G[l] -= pull * f[a]
                if A.size == 0:
                    continue
                for t in range(begin, end):
                    A[l, loops.dofs[t]] += stiffness * pull * J[a, t - begin]
        if forces:
            add_curvature(tree, loops, x, B, C, W, S, f, A)
    return energy
