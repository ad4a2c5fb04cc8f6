"""Penalty contacts of a tree: sums over its bodies of wrenches and their derivatives.

A contact is expressed in the frame of the touched body: positions, normals and slips have the axes
of that body, whose index is that of its placement; 0 is the world, the terrain.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.conservative_penalty import conservative_derivative, gauss_newton
from nmdp_pin.kernels.dense import copy_matrix
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.penalty import (
    FRICTIONAL,
    Law,
    Touch,
    friction_energy,
    frictional_derivative,
    measure,
    new_touch,
    stored_energy,
    wrench_of,
)
from nmdp_pin.kernels.position_scene import Contacts, Point, Scene, StepReference, Surfaces


@jit
def describe_contact(
    law: Law,
    h: float,
    contacts: Contacts,
    i: int,
    start: np.ndarray,
    frames: np.ndarray,
    surfaces: Surfaces,
    u: np.ndarray,
    t: Touch,
) -> bool:
    """Describe contact i; False where it does not touch."""
    radius = contacts.radii[i]
    depth = radius - surfaces.distance[i]
    if not depth > 0.0:
        return False
    now, before = frames[i], start[i]
    for j in range(3):
        t.n[j] = surfaces.normal[i, j]
        u[j] = surfaces.centre[i, j] - before[3, j]
        for k in range(3):
            u[j] -= contacts.local[i, k] * before[k, j]
            if radius > 0.0:
                t.turn[j, k] = before[0, j] * now[0, k] + before[1, j] * now[1, k]
                t.turn[j, k] += before[2, j] * now[2, k]
    t.sizes[7] = surfaces.curved[0]
    if surfaces.curved[0] > 0.0:
        copy_matrix(surfaces.curvature[i], t.K)
    measure(law, h, depth, surfaces.friction[i], u, radius, t)
    return True


@jit
def rotate_to_world(P: np.ndarray, touched: int, a: np.ndarray, out: np.ndarray) -> None:
    """World components of a vector given in the axes of a body."""
    for j in range(3):
        out[j] = P[touched, 0, j] * a[0] + P[touched, 1, j] * a[1] + P[touched, 2, j] * a[2]


@jit
def penalty_forces(scene: Scene, h: float, ref: StepReference, point: Point) -> None:
    """Write the wrenches of all contacts and their energies into `point.forces`.

    Args:
        scene: data that all steps share.
        h: length of the step [s].
        ref: reference after `begin`.
        point: point after `place`, with the surfaces at the contacts.
    """
    law, contacts, P, forces = scene.law, scene.contacts, point.P, point.forces
    start, frames, surfaces = ref.carriers, point.frames, point.surfaces
    t, u, wrench, c = new_touch(), np.empty(3), np.empty(6), np.empty(3)
    forces.energies[:] = 0.0
    for i in range(len(contacts.joints)):
        w, at = forces.wrenches[i], forces.origin[i]
        w[:] = 0.0
        at[:] = 0.0
        if not describe_contact(law, h, contacts, i, start, frames, surfaces, u, t):
            continue
        wrench_of(law, t, wrench)
        forces.energies[0] += stored_energy(law, t)
        if law.kind != FRICTIONAL:
            forces.energies[1] += friction_energy(law, t)
        b = contacts.touched[i]
        rotate_to_world(P, b, wrench[:3], w[:3])
        rotate_to_world(P, b, wrench[3:], w[3:])
        world_centre(P, contacts, i, c)
        for j in range(3):
            at[j] = w[j]
        at[3] = w[3] + c[1] * w[2] - c[2] * w[1]
        at[4] = w[4] + c[2] * w[0] - c[0] * w[2]
        at[5] = w[5] + c[0] * w[1] - c[1] * w[0]


@jit
def world_centre(P: np.ndarray, contacts: Contacts, i: int, c: np.ndarray) -> None:
    """Write the centre of sphere i in the world [m], shape (3,)."""
    M = P[contacts.joints[i]]
    for j in range(3):
        c[j] = M[3, j]
        for k in range(3):
            c[j] += contacts.local[i, k] * M[k, j]


@jit
def penalty_stiffness(
    scene: Scene, h: float, ref: StepReference, point: Point, semidefinite: bool
) -> None:
    """Derivatives of the wrenches at the world's origin by motions relative to the touched bodies.

    Args:
        scene: data that all steps share.
        h: length of the step [s].
        ref: reference after `begin`.
        point: point after `penalty_forces`; the stiffness of its forces is written.
        semidefinite: whether the derivative is minus the Gauss-Newton part of the Hessian of
            conservative forces.
    """
    law, contacts, P, forces = scene.law, scene.contacts, point.P, point.forces
    start, frames, surfaces = ref.carriers, point.frames, point.surfaces
    t, u, wrench, c = new_touch(), np.empty(3), np.empty(6), np.empty(3)
    D, moved = np.empty((6, 6)), np.empty((6, 6))
    for i in range(len(contacts.joints)):
        A = forces.stiffness[i]
        A[:] = 0.0
        if not describe_contact(law, h, contacts, i, start, frames, surfaces, u, t):
            continue
        if law.kind == FRICTIONAL:
            wrench_of(law, t, wrench)
            frictional_derivative(law, t, wrench, D)
        elif semidefinite:
            gauss_newton(law, t, D)
            for j in range(6):
                for k in range(6):
                    D[j, k] = -D[j, k]
        else:
            conservative_derivative(law, t, D)
        b = contacts.touched[i]
        if b > 0:
            _turn(P[b], D)
        world_centre(P, contacts, i, c)
        for j in range(6):  # D times the motion of the centre caused by one of the origin
            x, y, z = D[j, 0], D[j, 1], D[j, 2]
            moved[j, 0], moved[j, 1], moved[j, 2] = x, y, z
            moved[j, 3] = D[j, 3] + c[1] * z - c[2] * y
            moved[j, 4] = D[j, 4] + c[2] * x - c[0] * z
            moved[j, 5] = D[j, 5] + c[0] * y - c[1] * x
        f = forces.wrenches[i]
        if not semidefinite:  # the centre's motion carries the force along
            _add_carried(f, c, moved)
        for k in range(6):
            x, y, z = moved[0, k], moved[1, k], moved[2, k]
            A[k], A[6 + k], A[12 + k] = x, y, z
            A[18 + k] = moved[3, k] + c[1] * z - c[2] * y
            A[24 + k] = moved[4, k] + c[2] * x - c[0] * z
            A[30 + k] = moved[5, k] + c[0] * y - c[1] * x


@jit
def _add_carried(f: np.ndarray, c: np.ndarray, moved: np.ndarray) -> None:
    """Add -[f] of the motion of the centre, that of the origin and -[c], to the moment rows."""
    moved[3, 1] += f[2]
    moved[3, 2] -= f[1]
    moved[4, 0] -= f[2]
    moved[4, 2] += f[0]
    moved[5, 0] += f[1]
    moved[5, 1] -= f[0]
    along = f[0] * c[0] + f[1] * c[1] + f[2] * c[2]
    for i in range(3):  # [f][c] = c f' - (f . c) 1
        for j in range(3):
            moved[3 + i, 3 + j] += c[i] * f[j]
        moved[3 + i, 3 + i] -= along


@jit
def _turn(axes: np.ndarray, D: np.ndarray) -> None:
    """Rotate both sides of D to the axes of the world, in place; axes[j] is column j of R."""
    old = np.empty((6, 6))
    copy_matrix(D, old)
    for p in range(0, 6, 3):
        for q in range(0, 6, 3):
            for i in range(3):
                for j in range(3):
                    total = 0.0
                    for k in range(3):
                        for l in range(3):
                            total += axes[k, i] * old[p + k, q + l] * axes[l, j]
                    D[p + i, q + j] = total
