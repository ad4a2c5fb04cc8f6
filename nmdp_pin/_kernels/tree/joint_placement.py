"""Placements of joints by their coordinates."""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.manifold import (
    LINEAR,
    PLANAR,
    REVOLUTE,
    SPHERICAL,
    UNBOUNDED,
    rotation_of_quaternion,
)
from nmdp_pin._kernels.compiler.jit import Array, jit


@jit
def _rotation_about(axis: Array, c: float, s: float, R: Array) -> None:
    """The rotation about a unit vector by the angle of cosine c and sine s, by its columns."""
    x, y, z = axis[0], axis[1], axis[2]
    k = 1.0 - c
    R[0, 0], R[1, 0], R[2, 0] = c + k * x * x, k * x * y - s * z, k * x * z + s * y
    R[0, 1], R[1, 1], R[2, 1] = k * x * y + s * z, c + k * y * y, k * y * z - s * x
    R[0, 2], R[1, 2], R[2, 2] = k * x * z - s * y, k * y * z + s * x, c + k * z * z


@jit
def joint_placement(kind: int, q: Array, motions: Array, M: Array) -> None:
    """The placement given by a joint's coordinates.

    Args:
        kind: kind of the joint.
        q: coordinates of the joint.
        motions: motions of its dofs, shape (., 6).
        M: output, shape (4, 3).
    """
    for i in range(4):
        for j in range(3):
            M[i, j] = 1.0 if i == j else 0.0
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
