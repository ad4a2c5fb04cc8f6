"""Joints and bodies of a model as arrays for the kernels."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin._kernels.algebra.manifold import (
    FREE,
    LINEAR,
    PLANAR,
    REVOLUTE,
    SPHERICAL,
    UNBOUNDED,
    Manifold,
)
from nmdp_pin._kernels.tree.loops import Loops
from nmdp_pin._kernels.tree.tree import Tree
from nmdp_pin._robot import Robot
from nmdp_pin._robot.trees import Inertia, inertia_at, spans_of
from nmdp_pin.errors import IntegratorError

_KINDS = {  # by the short name that pinocchio gives
    **dict.fromkeys(("RX", "RY", "RZ", "RevoluteUnaligned"), REVOLUTE),
    **dict.fromkeys(("RUBX", "RUBY", "RUBZ", "RevoluteUnboundedUnaligned"), UNBOUNDED),
    **dict.fromkeys(("PX", "PY", "PZ", "PrismaticUnaligned", "Translation"), LINEAR),
    "Planar": PLANAR,
    "Spherical": SPHERICAL,
    "FreeFlyer": FREE,
}


def tree_of(robot: Robot, inertia: Inertia | None = None, *, known: Tree | None = None) -> Tree:
    """The arrays of a robot; its joints may be of any kind that pinocchio has.

    Args:
        robot: the robot.
        inertia: `inertia_at` in the standing pose, if it is known.
        known: tree of the robot with other placements, inertias and gravity, if it exists.
    """
    model = robot.model
    weights = _weights_of(robot, inertia or inertia_at(model, robot.standing))
    if known is not None:
        return replace(known, **weights)
    joints, neutral = list(model.joints)[1:], pin.neutral(model)
    groups, spans = spans_of(model)
    return Tree(
        space=manifold_of(model),
        parents=np.array(list(model.parents)[1:], dtype=np.int64) - 1,
        first_dofs=np.array([*(joint.idx_v for joint in joints), model.nv], dtype=np.int64),
        moves=support_of(model),
        groups=groups,
        spans=spans,
        motions=np.concatenate([np.zeros((0, 6)), *(_motions(joint, neutral) for joint in joints)]),
        **weights,
    )


def most_dofs(tree: Tree, bodies: np.ndarray, loops: Loops) -> int:
    """The largest number of dofs on which a contact, a joint or a loop acts.

    Args:
        tree: the tree.
        bodies: bodies of the candidates, shape (c, 2).
        loops: the loops.
    """
    a, b = np.unique(np.sort(bodies, axis=1), axis=0).T
    moving = np.count_nonzero(tree.moves[a] != tree.moves[b], axis=1)
    return int(max([1, *moving, *np.diff(loops.dof_ranges)]))


def _weights_of(robot: Robot, inertia: Inertia) -> dict[str, Any]:
    """Fields of a tree that placements, inertias and gravity change."""
    model, moments = robot.model, second_moments(robot.model)
    frames = [_array(M) for M in list(model.jointPlacements)[1:]]
    return {
        "placements": np.array(frames).reshape(-1, 4, 3),
        "moments": moments,
        "rotors": np.array(model.armature, dtype=float),
        "falls": _falls_of(robot, moments),
        "gravity": np.array(model.gravity.linear, dtype=float),
        "weight": float(pin.computeTotalMass(model)) * STANDARD_GRAVITY,
        "inertia": float(inertia[0].diagonal().max(initial=0.0)),
    }


def _falls_of(robot: Robot, moments: np.ndarray) -> np.ndarray:
    """Shares in which gravity moves the bodies, shape (n, 4); see `Tree`."""
    model = robot.model
    falls = np.tile([0.0, 0.0, 0.0, 1.0], (len(moments), 1))
    for lift in robot.lifts:
        body = model.getJointId(lift.joint) - 1
        held = lift.share * moments[body, 3, 3] * np.append(lift.centre, 1.0)
        falls[body] -= np.linalg.lstsq(moments[body], held)[0]
    return falls


def check_kinematics(model: pin.Model) -> None:
    """Check that the kernels have the kinematics of all joints."""
    for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
        if _name(joint) not in _KINDS:
            raise IntegratorError(
                f"joint '{name}' is of the kind {_name(joint)}, which pbd and pbfd lack; they have "
                f"{', '.join(_KINDS)}: lock the joint, or use another method"
            )


def joints_with_turning_motions(model: pin.Model) -> list[str]:
    """Names and kinds of joints whose motions turn in the frame of their body, as text.

    They are universal and similar joints, and composite ones. Derivatives of forces and contacts,
    pinocchio's too, take the motions for constant there.
    """
    q = pin.neutral(model)
    moved = pin.integrate(model, q, np.linspace(0.3, 0.7, model.nv))
    return [
        f"'{name}' ({_name(joint)})"
        for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True)
        if _name(joint) not in _KINDS
        and not np.array_equal(_subspace(joint, q), _subspace(joint, moved))
    ]


def manifold_of(model: pin.Model) -> Manifold:
    """The configuration space of a model."""
    kinds, first_q, first_v = [], [], []
    for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
        q, v = joint.idx_q, joint.idx_v
        for part in _parts(joint):
            kind = _KINDS.get(_name(part))
            if kind is None and part.nq != part.nv:
                raise IntegratorError(f"joint '{name}' is of an unknown kind, {_name(part)}")
            kinds.append(LINEAR if kind is None else kind)
            first_q.append(q)
            first_v.append(v)
            q, v = q + part.nq, v + part.nv
    return Manifold(
        kinds=np.array(kinds, dtype=np.int64),
        first_q=np.array([*first_q, model.nq], dtype=np.int64),
        first_v=np.array([*first_v, model.nv], dtype=np.int64),
        flat=model.nq == model.nv,
    )


def _name(joint: pin.JointModel) -> str:
    return str(joint.shortname()).removeprefix("JointModel")


def _parts(joint: pin.JointModel) -> Iterator[pin.JointModel]:
    """The joints of which a composite joint consists, or the joint itself."""
    if _name(joint) != "Composite":
        yield joint
        return
    for part in joint.extract().joints:
        yield from _parts(part)


def support_of(model: pin.Model) -> np.ndarray:
    """Dofs that move each joint, as zeros and ones, the universe first, shape (njoints, nv)."""
    sizes = [joint.nv for joint in list(model.joints)[1:]]
    joint_of = np.repeat(np.arange(1, model.njoints), sizes)
    supports = np.zeros((model.njoints, model.njoints))
    for joint in range(model.njoints):
        supports[joint, list(model.supports[joint])] = 1.0
    return np.ascontiguousarray(supports[:, joint_of])


def second_moments(model: pin.Model) -> np.ndarray:
    """The integral of rho x~ x~' of every body, x~ = (x, 1) about its joint's origin, (n, 4, 4)."""
    inertias = list(model.inertias)[1:]
    n = len(inertias)
    points, result = np.ones((n, 4)), np.zeros((n, 4, 4))
    points[:, :3] = np.array([inertia.lever for inertia in inertias]).reshape(n, 3)
    masses = np.array([inertia.mass for inertia in inertias])
    result[:] = masses[:, None, None] * (points[:, :, None] * points[:, None, :])
    central = np.array([inertia.inertia for inertia in inertias]).reshape(n, 3, 3)
    traces = np.trace(central, axis1=1, axis2=2)
    result[:, :3, :3] += 0.5 * traces[:, None, None] * np.eye(3) - central
    return result


def _array(M: pin.SE3) -> np.ndarray:
    """A placement as the columns of its rotation, followed by its origin, shape (4, 3)."""
    return np.vstack([M.rotation.T, M.translation])


def _motions(joint: pin.JointModel, q: np.ndarray) -> np.ndarray:
    """Motions of a joint's dofs in the frame of its body, of constant ones, shape (nv, 6)."""
    return _subspace(joint, q) if _name(joint) in _KINDS else np.zeros((joint.nv, 6))


def _subspace(joint: pin.JointModel, q: np.ndarray) -> np.ndarray:
    """Motions of a joint's dofs in the frame of its body at a configuration, shape (nv, 6)."""
    data = joint.createData()
    joint.calc(data, q)
    return np.array(data.S, dtype=float).reshape(6, joint.nv).T


def scales_of(robot: Robot, inertia: Inertia) -> dict[str, Any]:
    """`scales` and `inertias` of the dofs in the standing pose; see `System`.

    That of a dof with inertia I that moves a mass m is g sqrt(I m): m g of a translation, m g r of
    a rotation with radius of gyration r.
    """
    model = robot.model
    M, masses = inertia
    gravity = np.linalg.norm(model.gravity.linear) or STANDARD_GRAVITY
    return {
        "scales": gravity * np.sqrt(np.abs(np.diag(M)) * masses),
        "inertias": np.abs(M).sum(axis=1),
    }
