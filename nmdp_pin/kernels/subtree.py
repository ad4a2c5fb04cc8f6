"""Generalised forces and stiffnesses of a kinematic tree, from those of its bodies.

The n bodies are numbered so that a parent comes before its children; `parents` holds the index of
each body's parent, -1 for the world, shape (n,). Row k of S is the motion of dof k, linear then
angular, at the world's origin, shape (nv, 6): the transpose of pinocchio's world Jacobian
`data.J`. The dofs of body b are those from `first_dofs[b]` to `first_dofs[b + 1]`, shape (n + 1,).
Wrenches are (force, moment) at the world's origin.
"""

from typing import NamedTuple

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.lie import coadjoint


class Bodies(NamedTuple):
    """Bodies of a tree, whose fields a `Tree` has too.

    Args:
        parents: parents of the bodies, shape (n,).
        first_dofs: first dof of each body, shape (n + 1,).
        moments: Sigma = integral of rho x~ x~', x~ = (x, 1), of each body about its joint's origin
            [kg m^2, kg m, kg], shape (n, 4, 4).
    """

    parents: np.ndarray
    first_dofs: np.ndarray
    moments: np.ndarray


@jit
def add_children(parents: np.ndarray, values: np.ndarray) -> None:
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
def power(s: np.ndarray, F: np.ndarray) -> float:
    """S . F of a motion and a wrench, shapes (6,)."""
    return s[0] * F[0] + s[1] * F[1] + s[2] * F[2] + s[3] * F[3] + s[4] * F[4] + s[5] * F[5]


@jit
def project_wrenches(
    S: np.ndarray, first_dofs: np.ndarray, wrenches: np.ndarray, force: np.ndarray
) -> None:
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
def wrench_rates(K: np.ndarray, s: np.ndarray, row: np.ndarray, column: np.ndarray) -> None:
    """Row = K' s and column = K s of a row-major matrix K, shape (36,)."""
    for i in range(6):
        row[i] = 0.0
        column[i] = 0.0
        for j in range(6):
            row[i] += s[j] * K[6 * j + i]
            column[i] += K[6 * i + j] * s[j]


@jit
def project_stiffness(
    S: np.ndarray,
    parents: np.ndarray,
    first_dofs: np.ndarray,
    stiffness: np.ndarray,
    wrenches: np.ndarray,
    A: np.ndarray,
) -> None:
    """Derivative of `project_wrenches` with respect to the configuration (tangent).

    A motion S_l changes the wrench below it by A_b S_l. The entry (k, l) is S_k' A_b S_l with the
    body b of the lower of the two dofs; where l moves S_k too, also (S_l x S_k) . F_b.

    Args:
        S: motions of the dofs, shape (nv, 6).
        parents: parents of the bodies.
        first_dofs: first dof of each body.
        stiffness: summed over the subtree of each body, row-major, shape (n, 36).
        wrenches: summed likewise, shape (n, 6); zeros leave out the derivative of S itself.
        A: output, the derivative, shape (nv, nv).
    """
    A[:] = 0.0
    row, column, carried = np.empty(6), np.empty(6), np.empty(6)
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
                A[k, l] = power(t, row)
            above = parents[b]
            while above >= 0:
                for l in range(first_dofs[above], first_dofs[above + 1]):
                    t = S[l]
                    A[k, l] = power(t, row)
                    A[l, k] = power(t, column)
                above = parents[above]
