"""Kinematics of a tree of joints.

The n bodies are numbered so that a parent comes before its children. A placement is stored as
(4, 3): the columns of the rotation, then the origin. Row 0 of an array of placements is the world,
row b + 1 is body b.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin.kernels.jit import jit

# Kinds of joints, by their coordinates.
REVOLUTE = 0  # an angle
UNBOUNDED = 1  # cosine and sine of an angle
LINEAR = 2  # one to three lengths
PLANAR = 3  # x, y, cosine and sine of an angle
SPHERICAL = 4  # a unit quaternion (x, y, z, w)
FREE = 5  # a translation, then a unit quaternion


class Tree(NamedTuple):
    """Joints and bodies as arrays.

    Args:
        kinds: kinds of the joints, shape (n,).
        parents: index of each body's parent, -1 for the world, shape (n,).
        first_q: index of the first coordinate of each joint, shape (n + 1,).
        first_dofs: index of the first dof of each joint, shape (n + 1,).
        placements: placements of the joints in their parents' frames, shape (n, 4, 3).
        motions: motions of the dofs in the frames of their bodies (linear, angular), shape (nv, 6).
        moments: second moments of the bodies about their joints' origins [kg m^2, kg m, kg], shape
            (n, 4, 4).
        rotors: inertia of the rotors [kg m^2, kg], shape (nv,).
        damping: viscous damping of the joints [N m s/rad, N s/m], shape (nv,).
        gravity: acceleration of gravity [m/s^2], shape (3,).
    """

    kinds: np.ndarray
    parents: np.ndarray
    first_q: np.ndarray
    first_dofs: np.ndarray
    placements: np.ndarray
    motions: np.ndarray
    moments: np.ndarray
    rotors: np.ndarray
    damping: np.ndarray
    gravity: np.ndarray


@jit
def rotation_of_quaternion(q: np.ndarray, R: np.ndarray) -> None:
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
def _rotation_about(axis: np.ndarray, c: float, s: float, R: np.ndarray) -> None:
    """The rotation about a unit vector by the angle of cosine c and sine s, by its columns."""
    x, y, z = axis[0], axis[1], axis[2]
    k = 1.0 - c
    R[0, 0], R[1, 0], R[2, 0] = c + k * x * x, k * x * y - s * z, k * x * z + s * y
    R[0, 1], R[1, 1], R[2, 1] = k * x * y + s * z, c + k * y * y, k * y * z - s * x
    R[0, 2], R[1, 2], R[2, 2] = k * x * z - s * y, k * y * z + s * x, c + k * z * z


@jit
def _joint_placement(kind: int, q: np.ndarray, motions: np.ndarray, M: np.ndarray) -> None:
    """The placement given by a joint's coordinates.

    Args:
        kind: kind of the joint.
        q: coordinates of the joint.
        motions: motions of its dofs, shape (., 6).
        M: output, shape (4, 3).
    """
    M[:] = 0.0
    M[0, 0] = M[1, 1] = M[2, 2] = 1.0
    if kind == REVOLUTE:
        _rotation_about(motions[0, 3:], math.cos(q[0]), math.sin(q[0]), M)
    elif kind == UNBOUNDED:
        _rotation_about(motions[0, 3:], q[0], q[1], M)
    elif kind == LINEAR:
        for k in range(len(q)):
            for i in range(3):
                M[3, i] += q[k] * motions[k, i]
    elif kind == PLANAR:
        M[0, 0], M[0, 1], M[1, 0], M[1, 1] = q[2], q[3], -q[3], q[2]
        M[3, 0], M[3, 1] = q[0], q[1]
    elif kind == SPHERICAL:
        rotation_of_quaternion(q, M)
    else:
        rotation_of_quaternion(q[3:], M)
        for i in range(3):
            M[3, i] = q[i]


@jit
def compose(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
    """C = A B of placements."""
    for i in range(4):
        x, y, z = B[i, 0], B[i, 1], B[i, 2]
        for j in range(3):
            C[i, j] = x * A[0, j] + y * A[1, j] + z * A[2, j]
    for j in range(3):
        C[3, j] += A[3, j]


@jit
def forward_kinematics(tree: Tree, q: np.ndarray, P: np.ndarray) -> None:
    """The placements of all bodies.

    Args:
        tree: joints of the tree.
        q: configuration, shape (nq,).
        P: output, shape (n + 1, 4, 3).
    """
    own, whole = np.empty((4, 3)), np.empty((4, 3))
    P[0] = 0.0
    P[0, 0, 0] = P[0, 1, 1] = P[0, 2, 2] = 1.0
    for b in range(len(tree.kinds)):
        coordinates = q[tree.first_q[b] : tree.first_q[b + 1]]
        motions = tree.motions[tree.first_dofs[b] : tree.first_dofs[b + 1]]
        _joint_placement(tree.kinds[b], coordinates, motions, own)
        compose(tree.placements[b], own, whole)
        compose(P[tree.parents[b] + 1], whole, P[b + 1])


@jit
def world_motions(tree: Tree, P: np.ndarray, S: np.ndarray) -> None:
    """The motions of all dofs at the world's origin, the transpose of pinocchio's `data.J`.

    Args:
        tree: joints of the tree.
        P: placements, shape (n + 1, 4, 3).
        S: output, (linear, angular), shape (nv, 6).
    """
    for b in range(len(tree.kinds)):
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
def kinetic_energy(tree: Tree, P: np.ndarray, S: np.ndarray, v: np.ndarray) -> float:
    """The kinetic energy of bodies and rotors [J].

    Args:
        tree: bodies of the tree.
        P: placements, shape (n + 1, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        v: velocity, shape (nv,).
    """
    n = len(tree.kinds)
    twists, rate = np.zeros((n + 1, 6)), np.empty((4, 3))
    energy = 0.0
    for b in range(n):
        t = twists[b + 1]
        for i in range(6):
            t[i] = twists[tree.parents[b] + 1, i]
        for k in range(tree.first_dofs[b], tree.first_dofs[b + 1]):
            energy += tree.rotors[k] * v[k] * v[k]
            for i in range(6):
                t[i] += S[k, i] * v[k]
        M, Sigma = P[b + 1], tree.moments[b]
        for i in range(4):
            rate[i, 0] = t[4] * M[i, 2] - t[5] * M[i, 1]
            rate[i, 1] = t[5] * M[i, 0] - t[3] * M[i, 2]
            rate[i, 2] = t[3] * M[i, 1] - t[4] * M[i, 0]
        for j in range(3):
            rate[3, j] += t[j]
        for i in range(4):
            for j in range(4):
                along = rate[i, 0] * rate[j, 0] + rate[i, 1] * rate[j, 1] + rate[i, 2] * rate[j, 2]
                energy += Sigma[i, j] * along
    return 0.5 * energy


@jit
def potential_energy(tree: Tree, P: np.ndarray) -> float:
    """The potential energy of gravity [J].

    Args:
        tree: bodies of the tree.
        P: placements, shape (n + 1, 4, 3).
    """
    energy = 0.0
    for b in range(len(tree.kinds)):
        for i in range(4):
            for j in range(3):
                energy -= tree.moments[b, 3, i] * P[b + 1, i, j] * tree.gravity[j]
    return energy
