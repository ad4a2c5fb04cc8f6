"""Spatial algebra on stacks of vectors, and views of what pinocchio holds.

Motions are (linear, angular), forces (force, moment), both at the world's origin. The column S_k of
pinocchio's world Jacobian is the motion of dof k.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.cross import SKEW

# F -> B(F) with (S_l x S_k) . F = S_k' B(F) S_l: B = [[0, [f]_x], [[f]_x, [tau]_x]], (6, 36).
_B = np.zeros((6, 6, 6))
_B[:3, :3, 3:] = _B[:3, 3:, :3] = _B[3:, 3:, 3:] = SKEW.reshape(3, 3, 3)
MOTION_CROSS = _B.reshape(6, 36)


def times(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A_i b_i for every i; shapes (n, p, q), (n, q) to (n, p)."""
    return (A @ b[:, :, None])[:, :, 0]


def placements_of(data: pin.Data, n_joints: int) -> np.ndarray:
    """View of all oMi, shape (n_joints, 4, 3): the rotation's columns, then the translation."""
    first = data.oMi[0].rotation
    view = np.lib.stride_tricks.as_strided(first, (n_joints, 4, 3), (96, 24, 8))
    last = data.oMi[n_joints - 1]
    if view[-1, 3].__array_interface__["data"] != last.translation.__array_interface__["data"]:
        raise RuntimeError("pinocchio stores its placements in a layout that is not known here")
    return view


def placements_derivative(S: np.ndarray, support: np.ndarray, placements: np.ndarray) -> np.ndarray:
    """How placements change with each dof, shape (nv, n, 4, 3).

    Args:
        S: motions of the dofs at the world's origin, shape (6, nv).
        support: which dofs move each of the bodies, shape (n, nv).
        placements: of the bodies, shape (n, 4, 3).
    """
    motions = support.T[:, :, None] * S.T[:, None, :]  # (nv, n, 6)
    change: np.ndarray = np.cross(motions[:, :, None, 3:], placements)
    change[:, :, 3] += motions[:, :, :3]
    return change


def support_of(model: pin.Model, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What hangs on what, as zeros and ones.

    Args:
        model: the tree.
        joints: indices of joints, shape (n,).

    Returns:
        Which dofs move each of the joints, (n, nv); and which dofs belong to a joint that is that
        of dof k or above it, (nv, nv) with k the row.
    """
    sizes = [joint.nv for joint in list(model.joints)[1:]]  # 0 is the universe
    joint_of = np.repeat(np.arange(1, model.njoints), sizes)
    supports = np.zeros((model.njoints, model.njoints))
    for joint in range(model.njoints):
        supports[joint, list(model.supports[joint])] = 1.0
    return supports[np.ix_(joints, joint_of)], supports[np.ix_(joint_of, joint_of)]


def over_tree(
    S: np.ndarray, A: np.ndarray, above: np.ndarray, force: np.ndarray | None = None
) -> np.ndarray:
    """Derivative of the generalised force of bodies' wrenches, or the form of a stiffness.

    A motion S_l changes the wrenches beneath it by A_b S_l. The entry (k, l) is S_k' A S_l with A
    summed over the bodies that both move; where l moves S_k too also (S_l x S_k) . F_k.

    Args:
        S: motions of the dofs at the world's origin, shape (6, nv).
        A: of each dof, summed over all that it moves, row-major, shape (nv, 36).
        above: which dofs belong to a joint that is that of dof k or above it, (nv, nv).
        force: wrenches of all that each dof moves, shape (nv, 6); None: of zero.

    Returns:
        Shape (nv, nv).
    """
    nv = len(A)
    carried = A if force is None else A + force @ MOTION_CROSS
    result: np.ndarray = (S.T[:, None, :] @ carried.reshape(nv, 6, 6))[:, 0] @ S
    below = S.T @ (A.reshape(nv, 6, 6) @ S.T[:, :, None])[:, :, 0].T
    result *= above
    below *= above.T * (1.0 - above)
    result += below
    return result
