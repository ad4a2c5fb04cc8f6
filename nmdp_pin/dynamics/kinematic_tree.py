"""Joints and bodies of a model as arrays for the kernels."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.errors import IntegratorError
from nmdp_pin.kernels.subtree import Bodies
from nmdp_pin.kernels.tree import FREE, LINEAR, PLANAR, REVOLUTE, SPHERICAL, UNBOUNDED, Tree

_KINDS = {  # by the short name that pinocchio gives
    **dict.fromkeys(("RX", "RY", "RZ", "RevoluteUnaligned"), REVOLUTE),
    **dict.fromkeys(("RUBX", "RUBY", "RUBZ", "RevoluteUnboundedUnaligned"), UNBOUNDED),
    **dict.fromkeys(("PX", "PY", "PZ", "PrismaticUnaligned", "Translation"), LINEAR),
    "Planar": PLANAR,
    "Spherical": SPHERICAL,
    "FreeFlyer": FREE,
}


def tree_of(model: pin.Model) -> Tree:
    """The arrays of a model.

    Raises:
        IntegratorError: a joint is of another kind; the message names it.
    """
    joints = list(model.joints)[1:]
    kinds = []
    for name, joint in zip(list(model.names)[1:], joints, strict=True):
        kind = joint.shortname().removeprefix("JointModel")
        if kind not in _KINDS:
            raise IntegratorError(
                f"joint '{name}' is of the kind {kind}, which pbd and pbfd lack; they have "
                f"{', '.join(_KINDS)}: lock the joint, or use another method"
            )
        kinds.append(_KINDS[kind])
    motions = [_motions(joint, kind) for joint, kind in zip(joints, kinds, strict=True)]
    frames = [_array(M) for M in list(model.jointPlacements)[1:]]
    return Tree(
        kinds=np.array(kinds, dtype=np.int64),
        first_q=np.array([*(joint.idx_q for joint in joints), model.nq], dtype=np.int64),
        placements=np.array(frames).reshape(-1, 4, 3),
        motions=np.concatenate([np.zeros((0, 6)), *motions]),
        rotors=np.array(model.armature, dtype=float),
        damping=np.array(model.damping, dtype=float),
        gravity=np.array(model.gravity.linear, dtype=float),
        **bodies_of(model)._asdict(),
    )


def bodies_of(model: pin.Model) -> Bodies:
    """The bodies of a model with joints of any kind."""
    joints = list(model.joints)[1:]
    return Bodies(
        parents=np.array(list(model.parents)[1:], dtype=np.int64) - 1,
        first_dofs=np.array([*(joint.idx_v for joint in joints), model.nv], dtype=np.int64),
        moments=second_moments(model),
    )


def second_moments(model: pin.Model) -> np.ndarray:
    """The integral of rho x~ x~' of every body, x~ = (x, 1) about its joint's origin, (n, 4, 4).

    Args:
        model: model whose `inertias` are read; bodies without mass count as well.
    """
    result = np.zeros((model.njoints - 1, 4, 4))
    for moment, inertia in zip(result, list(model.inertias)[1:], strict=True):
        point = np.append(inertia.lever, 1.0)
        moment[:] = inertia.mass * np.outer(point, point)
        central = inertia.inertia
        moment[:3, :3] += 0.5 * np.trace(central) * np.eye(3) - central
    return result


def _array(M: pin.SE3) -> np.ndarray:
    """A placement as the columns of its rotation, followed by its origin, shape (4, 3)."""
    return np.vstack([M.rotation.T, M.translation])


def _motions(joint: pin.JointModel, kind: int) -> np.ndarray:
    """Motions of a joint's dofs in the frame of its body, shape (nv, 6)."""
    data, q = joint.createData(), np.zeros(joint.nq)
    if kind in (UNBOUNDED, PLANAR):
        q[-2] = 1.0
    elif kind in (SPHERICAL, FREE):
        q[-1] = 1.0
    joint.calc(data, q)
    return np.asarray(data.S, dtype=float).reshape(6, joint.nv).T
