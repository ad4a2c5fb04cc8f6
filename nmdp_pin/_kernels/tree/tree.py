"""Kinematics of a tree of joints, and sums over its bodies.

The n bodies are numbered so that a parent comes before its children. Row 0 of an array of
placements is the world, row b + 1 is body b. Row k of S is the motion of dof k, linear then
angular, at the world's origin: the transpose of pinocchio's world Jacobian `data.J`. Wrenches are
(force, moment) at the world's origin.
"""

from __future__ import annotations

from nmdp_pin._kernels.algebra.lie import coadjoint, cross_motions
from nmdp_pin._kernels.algebra.linear import copy_vector
from nmdp_pin._kernels.algebra.manifold import (
    Manifold,
)
from nmdp_pin._kernels.algebra.vector3 import compose
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, record, vector
from nmdp_pin._kernels.tree.joint_placement import joint_placement


@record
class Tree:
    """Joints and bodies as arrays.

    Args:
        space: configuration space; where a joint has parts, it has more factors than joints.
        parents: index of each body's parent, -1 for the world, shape (n,).
        first_dofs: index of the first dof of each joint, shape (n + 1,).
        moves: 1 for the dofs that move a body, else 0, the world first, shape (n + 1, nv).
        groups: first dofs of the trees that are rooted in the world, and the end, shape (t + 1,).
        spans: first dof and end of the tree of each body, 0 of the world, shape (n + 1, 2).
        placements: placements of the joints in their parents' frames, shape (n, 4, 3).
        motions: motions of the dofs in the frames of their bodies (linear, angular), shape (nv, 6).
        moments: second moments Sigma = integral of rho x~ x~', x~ = (x, 1), of the bodies about
            their joints' origins [kg m^2, kg m, kg], shape (n, 4, 4).
        rotors: inertia of the rotors [kg m^2, kg], shape (nv,).
        gravity: acceleration of gravity [m/s^2], shape (3,).
        falls: shares f in which gravity moves x~, the force on a body being that on f' Sigma;
            (0, 0, 0, 1) of a body that nothing holds up, shape (n, 4).
        weight: weight of the robot [N].
        inertia: largest entry of the mass matrix in the standing pose [kg m^2, kg].
    """

    space: Manifold
    parents: Array
    first_dofs: Array
    moves: Array
    groups: Array
    spans: Array
    placements: Array
    motions: Array
    moments: Array
    rotors: Array
    gravity: Array
    falls: Array
    weight: float
    inertia: float


@jit
def forward_kinematics(tree: Tree, q: Array, P: Array) -> None:
    """The placements of all bodies; of joints of the kinds of `manifold` only.

    Args:
        tree: joints of the tree.
        q: configuration, shape (nq,).
        P: output, shape (n + 1, 4, 3).
    """
    own, whole, space = matrix(4, 3), matrix(4, 3), tree.space
    for i in range(4):
        for j in range(3):
            P[0, i, j] = 1.0 if i == j else 0.0
    for b in range(len(space.kinds)):
        coordinates = q[space.first_q[b] : space.first_q[b + 1]]
        motions = tree.motions[tree.first_dofs[b] : tree.first_dofs[b + 1]]
        joint_placement(space.kinds[b], coordinates, motions, own)
        compose(tree.placements[b], own, whole)
        compose(P[tree.parents[b] + 1], whole, P[b + 1])


@jit
def world_motions(tree: Tree, P: Array, S: Array) -> None:
    """The motions of all dofs at the world's origin, the transpose of pinocchio's `data.J`.

    Args:
        tree: joints of the tree.
        P: placements, shape (n + 1, 4, 3).
        S: output, (linear, angular), shape (nv, 6).
    """
    for b in range(len(tree.parents)):
        M = P[b + 1]
        p = M[3]
        for k in range(tree.first_dofs[b], tree.first_dofs[b + 1]):
            m, s = tree.motions[k], S[k]
            for i in range(3):
                s[i] = M[0, i] * m[0] + M[1, i] * m[1] + M[2, i] * m[2]
                s[3 + i] = M[0, i] * m[3] + M[1, i] * m[4] + M[2, i] * m[5]
            s[0] += p[1] * s[5] - p[2] * s[4]
            s[1] += p[2] * s[3] - p[0] * s[5]
            s[2] += p[0] * s[4] - p[1] * s[3]


@jit
def body_twists(tree: Tree, S: Array, v: Array, twists: Array) -> None:
    """Motions of the bodies at the world's origin.

    Args:
        tree: bodies of the tree.
        S: motions of the dofs, shape (nv, 6).
        v: velocity, shape (nv,).
        twists: output, (linear, angular), that of the world first, shape (n + 1, 6).
    """
    for i in range(6):
        twists[0, i] = 0.0
    for b in range(len(tree.parents)):
        t, above = twists[b + 1], twists[tree.parents[b] + 1]
        copy_vector(above, t)
        for k in range(tree.first_dofs[b], tree.first_dofs[b + 1]):
            for i in range(6):
                t[i] += S[k, i] * v[k]


@jit
def write_moving_dofs(tree: Tree, a: int, b: int, dofs: Array) -> int:
    """Write the dofs that move body a relative to body b, ascending; how many there are."""
    spans, n = tree.spans, 0
    low, high = (a, b) if spans[a, 0] <= spans[b, 0] else (b, a)
    for both in range(2):
        body = low if both == 0 else high
        for l in range(spans[body, 0], spans[body, 1]):
            if tree.moves[a, l] != tree.moves[b, l] and (n == 0 or l > dofs[n - 1]):
                dofs[n] = l
                n += 1
    return n


@jit
def turn_dofs(tree: Tree, S: Array, twists: Array, joint_axis_rates: Array) -> None:
    """The motions S_l x T of the dofs, T being the motion of the body that precedes the joint.

    Args:
        tree: bodies of the tree.
        S: motions of the dofs, shape (nv, 6).
        twists: motions of the bodies, that of the world first, shape (n + 1, 6).
        joint_axis_rates: output, shape (nv, 6).
    """
    for b in range(len(tree.parents)):
        above = twists[tree.parents[b] + 1]
        for l in range(tree.first_dofs[b], tree.first_dofs[b + 1]):
            cross_motions(S[l], above, joint_axis_rates[l])


@jit
def placement_rate(X: Array, twist: Array, rate: Array) -> None:
    """Rate of the placement of a body.

    Args:
        X: placement, shape (4, 3).
        twist: motion of the body at the world's origin, shape (6,).
        rate: output, shape (4, 3).
    """
    w0, w1, w2 = twist[3], twist[4], twist[5]
    for r in range(4):
        x, y, z = X[r, 0], X[r, 1], X[r, 2]
        rate[r, 0] = w1 * z - w2 * y
        rate[r, 1] = w2 * x - w0 * z
        rate[r, 2] = w0 * y - w1 * x
    for a in range(3):
        rate[3, a] += twist[a]


@jit
def body_energies(tree: Tree, P: Array, twists: Array, b: int, rate: Array) -> tuple[float, float]:
    """Kinetic energy of a body without its rotors, and potential energy of gravity [J].

    Args:
        tree: bodies of the tree.
        P: placements, shape (n + 1, 4, 3).
        twists: motions of the bodies, shape (n + 1, 6).
        b: index of the body.
        rate: memory, shape (4, 3).
    """
    Sigma, kinetic, potential = tree.moments[b], 0.0, 0.0
    placement_rate(P[b + 1], twists[b + 1], rate)
    for i in range(4):
        for j in range(4):
            along = rate[i, 0] * rate[j, 0] + rate[i, 1] * rate[j, 1] + rate[i, 2] * rate[j, 2]
            kinetic += Sigma[i, j] * along
        pulled = 0.0
        for j in range(4):
            pulled += tree.falls[b, j] * Sigma[j, i]
        for j in range(3):
            potential -= pulled * P[b + 1, i, j] * tree.gravity[j]
    return 0.5 * kinetic, potential


@jit
def energies(tree: Tree, P: Array, twists: Array, v: Array) -> tuple[float, float]:
    """Kinetic energy of bodies and rotors, and potential energy of gravity [J].

    Args:
        tree: bodies of the tree.
        P: placements, shape (n + 1, 4, 3).
        twists: motions of the bodies, shape (n + 1, 6).
        v: velocity, shape (nv,).
    """
    rate, kinetic, potential = matrix(4, 3), 0.0, 0.0
    for k in range(len(v)):
        kinetic += 0.5 * tree.rotors[k] * v[k] * v[k]
    for b in range(len(tree.parents)):
        moves, stored = body_energies(tree, P, twists, b, rate)
        kinetic += moves
        potential += stored
    return kinetic, potential


@jit
def add_children(parents: Array, values: Array) -> None:
    """Add to each body's row the rows of all bodies below it, in place.

    Args:
        parents: parents of the bodies.
        values: rows of the bodies, shape (n, m).
    """
    for b in range(len(parents) - 1, -1, -1):
        parent = parents[b]
        if parent >= 0:
            for i in range(values.shape[1]):
                values[parent, i] += values[b, i]


@jit
def power(s: Array, F: Array) -> float:
    """S . F of a motion and a wrench, shapes (6,)."""
    value: float = s[0] * F[0] + s[1] * F[1] + s[2] * F[2] + s[3] * F[3] + s[4] * F[4] + s[5] * F[5]
    return value


@jit
def project_wrenches(S: Array, first_dofs: Array, wrenches: Array, force: Array) -> None:
    """force_k = S_k . F_b for the dofs k of each body b.

    Args:
        S: motions of the dofs, shape (nv, 6).
        first_dofs: first dof of each body.
        wrenches: summed over the subtree of each body, shape (n, 6).
        force: output, generalised force, shape (nv,).
    """
    for b in range(len(wrenches)):
        F = wrenches[b]
        for k in range(first_dofs[b], first_dofs[b + 1]):
            force[k] = power(S[k], F)


@jit
def wrench_rates(K: Array, s: Array, row: Array, column: Array) -> None:
    """Row = K' s and column = K s of a row-major matrix K, shape (36,)."""
    for i in range(6):
        row[i] = 0.0
        column[i] = 0.0
        for j in range(6):
            row[i] += s[j] * K[6 * j + i]
            column[i] += K[6 * i + j] * s[j]


@jit
def project_stiffness(
    S: Array, parents: Array, first_dofs: Array, stiffness: Array, wrenches: Array, A: Array
) -> None:
    """Add the derivative of `project_wrenches` with respect to the configuration (tangent) to A.

    A motion S_l changes the wrench below it by A_b S_l. The entry (k, l) is S_k' A_b S_l with the
    body b of the lower of the two dofs; where l moves S_k too, also (S_l x S_k) . F_b.

    Args:
        S: motions of the dofs, shape (nv, 6).
        parents: parents of the bodies.
        first_dofs: first dof of each body.
        stiffness: summed over the subtree of each body, row-major, shape (n, 36).
        wrenches: summed likewise, shape (n, 6); zeros leave out the derivative of S itself.
        A: matrix to which the derivative is added, shape (nv, nv).
    """
    row, column, carried = vector(6), vector(6), vector(6)
    for b in range(len(parents)):
        K, F = stiffness[b], wrenches[b]
        for k in range(first_dofs[b], first_dofs[b + 1]):
            s = S[k]
            wrench_rates(K, s, row, column)
            coadjoint(s, F, carried)  # S_l . carried = (S_k x S_l) . F
            for i in range(6):
                row[i] -= carried[i]
            for l in range(first_dofs[b], first_dofs[b + 1]):
                t = S[l]
                A[k, l] += power(t, row)
            above = parents[b]
            while above >= 0:
                for l in range(first_dofs[above], first_dofs[above + 1]):
                    t = S[l]
                    A[k, l] += power(t, row)
                    A[l, k] += power(t, column)
                above = parents[above]


@jit
def add_products(
    S: Array, T: Array, parents: Array, first_dofs: Array, matrices: Array, share: float, A: Array
) -> None:
    """Add a share of S_k' K_b T_l to A, b being the body of the lower of the dofs k and l.

    Dofs of which neither moves the body of the other add nothing.

    Args:
        S: motions of the dofs, shape (nv, 6).
        T: other motions of the dofs, shape (nv, 6).
        parents: parents of the bodies.
        first_dofs: first dof of each body.
        matrices: K summed over the subtree of each body, row-major, shape (n, 36).
        share: factor.
        A: shape (nv, nv).
    """
    row, column, other = vector(6), vector(6), vector(6)
    for b in range(len(parents)):
        for k in range(first_dofs[b], first_dofs[b + 1]):
            wrench_rates(matrices[b], S[k], row, other)
            wrench_rates(matrices[b], T[k], other, column)
            for l in range(first_dofs[b], first_dofs[b + 1]):
                A[k, l] += share * power(T[l], row)
            above = parents[b]
            while above >= 0:
                for l in range(first_dofs[above], first_dofs[above + 1]):
                    A[k, l] += share * power(T[l], row)
                    A[l, k] += share * power(S[l], column)
                above = parents[above]


@jit
def subtract_from_bodies(bodies: Array, values: Array, n: int, both: float, sums: Array) -> None:
    """Subtract values of contacts from the sums of the two bodies that touch.

    Args:
        bodies: the body that carries each contact and the one that it touches, 0 for the world,
            shape (n, 2).
        values: values of the contacts, shape (n, k).
        n: number of contacts.
        both: -1 for wrenches, which act on both with opposite signs, 1 for their derivatives.
        sums: sums of the bodies, shape (n_bodies, k).
    """
    for i in range(n):
        a, b = bodies[i, 0] - 1, bodies[i, 1] - 1
        for j in range(values.shape[1]):
            if a >= 0:
                sums[a, j] -= values[i, j]
            if b >= 0:
                sums[b, j] -= both * values[i, j]


@jit
def add_pairs(
    tree: Tree, S: Array, bodies: Array, stiffness: Array, wrenches: Array, n: int, A: Array
) -> None:
    """Add the part of contacts between moving bodies to A, after `project_stiffness`.

    The motion of one body changes the wrench on the other, and a dof l that moves the touched body
    carries the wrench along: -(S_l x S_k) . F.

    Args:
        tree: bodies of the tree.
        S: motions of the dofs, shape (nv, 6).
        bodies: as in `subtract_from_bodies`.
        stiffness: derivatives of the wrenches by relative motions, shape (n, 36).
        wrenches: wrenches of the contacts, shape (n, 6); zeros leave out that they are carried.
        n: number of contacts.
        A: derivative of the residual, shape (nv, nv).
    """
    row, column, carried = vector(6), vector(6), vector(6)
    for i in range(n):
        a, b = bodies[i, 0], bodies[i, 1]
        if b == 0:
            continue
        for l in range(tree.spans[b, 0], tree.spans[b, 1]):
            if tree.moves[b, l] == 0.0:
                continue
            wrench_rates(stiffness[i], S[l], row, column)
            coadjoint(S[l], wrenches[i], carried)  # S_k . carried = (S_l x S_k) . F
            for j in range(6):
                column[j] += carried[j]
            for k in range(tree.spans[a, 0], tree.spans[a, 1]):
                if tree.moves[a, k] != 0.0:
                    A[k, l] += power(S[k], column)
                    A[l, k] += power(S[k], row)
            for k in range(tree.spans[b, 0], tree.spans[b, 1]):
                if tree.moves[b, k] != 0.0:
                    A[k, l] -= power(S[k], carried)
