"""Sums over the bodies of a tree of the wrenches of contacts and their derivatives."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.lie import coadjoint
from nmdp_pin.kernels.position_scene import Contacts, Point, Scene
from nmdp_pin.kernels.subtree import wrench_rates


@jit
def subtract_from_bodies(
    contacts: Contacts, values: np.ndarray, both: float, sums: np.ndarray
) -> None:
    """Subtract values from the sums of the carriers, and both * values from those touched.

    Args:
        contacts: contact points.
        values: values of the contacts, shape (m, k).
        both: -1 for wrenches, which act on both with opposite signs, 1 for their derivatives.
        sums: sums of the bodies, shape (n, k).
    """
    for i in range(len(contacts.joints)):
        a, b = contacts.joints[i] - 1, contacts.touched[i] - 1
        for j in range(values.shape[1]):
            if a >= 0:
                sums[a, j] -= values[i, j]
            if b >= 0:
                sums[b, j] -= both * values[i, j]


@jit
def subtract_pairs(scene: Scene, point: Point, semidefinite: bool) -> None:
    """Add the part of contacts between bodies to `point.A`, after `project_stiffness`.

    The motion of one body changes the wrench on the other, and a dof l that moves the touched body
    carries the wrench along: -(S_l x S_k) . F.

    Args:
        scene: data that all steps share.
        point: point after `penalty_stiffness`.
        semidefinite: whether the wrenches are left out.
    """
    tree, contacts = scene.tree, scene.contacts
    S, forces, A = point.S, point.forces, point.A
    row, column, carried = np.empty(6), np.empty(6), np.zeros(6)
    for i in range(len(contacts.joints)):
        b, depth = contacts.touched[i] - 1, 0.0
        if b < 0:
            continue
        K, F = forces.stiffness[i], forces.origin[i]
        for j in range(36):
            depth += abs(K[j])
        if depth == 0.0:
            continue
        while b >= 0:
            for l in range(tree.first_dofs[b], tree.first_dofs[b + 1]):
                s = S[l]
                wrench_rates(K, s, row, column)
                if not semidefinite:
                    coadjoint(s, F, carried)  # S_k . carried = (S_l x S_k) . F
                a = contacts.joints[i] - 1
                while a >= 0:
                    for k in range(tree.first_dofs[a], tree.first_dofs[a + 1]):
                        for j in range(6):
                            A[k, l] += S[k, j] * (column[j] + carried[j])
                            A[l, k] += row[j] * S[k, j]
                    a = tree.parents[a]
                a = contacts.touched[i] - 1
                while a >= 0:
                    for k in range(tree.first_dofs[a], tree.first_dofs[a + 1]):
                        for j in range(6):
                            A[k, l] -= S[k, j] * carried[j]
                    a = tree.parents[a]
            b = tree.parents[b]
