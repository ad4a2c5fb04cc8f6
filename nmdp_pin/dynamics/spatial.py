"""Views of pinocchio's data, and the dofs that move each joint."""

from __future__ import annotations

import numpy as np
import pinocchio as pin


def placements_of(data: pin.Data, n_joints: int) -> np.ndarray:
    """View of all oMi, shape (n_joints, 4, 3): the rotation's columns, then the translation."""
    first = data.oMi[0].rotation
    view = np.lib.stride_tricks.as_strided(first, (n_joints, 4, 3), (96, 24, 8))
    last = data.oMi[n_joints - 1]
    if view[-1, 3].__array_interface__["data"] != last.translation.__array_interface__["data"]:
        raise RuntimeError("pinocchio stores its placements in a layout that is not known here")
    return view


def support_of(model: pin.Model, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dependence of joints on dofs, as zeros and ones.

    Args:
        model: kinematic tree.
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
