"""A robot as arrays, converted from pinocchio once.

A joint's frame is moved into the principal frame of what it carries: there the second moment is
diagonal, which shortens all sums over bodies. In that frame the columns of the joint's motion
subspace are constant for every joint type that is taken here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.kinematic_tree import second_moments
from nmdp_pin.errors import BatchError
from nmdp_pin.robot import Robot

# By the short name that pinocchio gives: what the joint's part of the configuration is.
ANGLE, LINEAR, CIRCLE, PLANE, TURN, RIGID = "angle", "linear", "circle", "plane", "turn", "rigid"
KINDS = {
    **dict.fromkeys(("RX", "RY", "RZ", "RevoluteUnaligned"), ANGLE),
    **dict.fromkeys(("PX", "PY", "PZ", "PrismaticUnaligned", "Translation"), LINEAR),
    **dict.fromkeys(("RUBX", "RUBY", "RUBZ", "RevoluteUnboundedUnaligned"), CIRCLE),
    "Planar": PLANE,
    "Spherical": TURN,
    "FreeFlyer": RIGID,
}


@dataclass(frozen=True, eq=False)
class JointGroup:
    """The joints of one kind.

    Args:
        joints: their indices, the universe left out, shape (n,).
        q: where their configurations are, shape (n, nq of the kind).
        v: where their tangents are, shape (n, nv of the kind).
    """

    joints: np.ndarray
    q: np.ndarray
    v: np.ndarray


@dataclass(frozen=True, eq=False)
class Tree:
    """Kinematics and inertias of a robot; n joints, the universe left out.

    A placement is (4, 3): the columns of the rotation, then the origin. Trailing axes of length 1
    stand for the trajectories.

    Args:
        nq: size of a configuration.
        nv: size of a tangent.
        groups: the joints of each kind that there are.
        parents: joint above each, 0 for the universe, k + 1 for joint k, shape (n,).
        constant: placement in the parent's frame, what does not depend on q, (n, 4, 3, 1).
        cosine: what cos q adds to it for the joints of kind `ANGLE`, (n_angles, 4, 3, 1).
        sine: likewise sin q.
        features: what each feature of the other joints adds to it, (n_others, 4, 3, n_features);
            the features are their linear coordinates and (cos, sin) pairs as they stand in q,
            then the nine entries of each rotation given by a quaternion.
        raw: which entries of q are features, shape (n_raw,).
        motion: the joints' motion subspaces in their own frames, (nv, 6, 1).
        joint_of: joint of each dof, shape (nv,).
        moments: diagonal second moments [kg m^2, kg m^2, kg m^2, kg], (n, 4, 1).
        subtree: which joints hang on each, itself too, zeros and ones, (n, n).
        above: which dofs belong to a joint that is that of dof k or above it, (nv, nv).
        armature: inertia of the rotors, shape (nv,).
        damping: of the joints, shape (nv,).
        gravity: [m/s^2], shape (3,).
        points: contact points that can move: which of the robot's, shape (n_points,).
        point_joints: joints that carry them, shape (n_points,).
        centres: their centres in those joints' frames, (n_points, 3, 1) [m].
        radii: of their spheres, (n_points, 1) [m].
    """

    nq: int
    nv: int
    groups: dict[str, JointGroup]
    parents: np.ndarray
    constant: np.ndarray
    cosine: np.ndarray
    sine: np.ndarray
    features: np.ndarray
    raw: np.ndarray
    motion: np.ndarray
    joint_of: np.ndarray
    moments: np.ndarray
    subtree: np.ndarray
    above: np.ndarray
    armature: np.ndarray
    damping: np.ndarray
    gravity: np.ndarray
    points: np.ndarray
    point_joints: np.ndarray
    centres: np.ndarray
    radii: np.ndarray

    @classmethod
    def of(cls, robot: Robot) -> Tree:
        """The arrays of a robot.

        Raises:
            BatchError: a joint of a kind that is not taken; names it.
        """
        model = robot.model
        groups = _groups(model)
        frames, moments = _principal_frames(model)
        constant, angles, features, raw = _placements(model, groups, frames)
        joint_of = np.repeat(np.arange(model.njoints - 1), [j.nv for j in list(model.joints)[1:]])
        subtree = np.zeros((model.njoints - 1, model.njoints - 1))
        for k in range(1, model.njoints):
            subtree[np.array(list(model.supports[k])[1:]) - 1, k - 1] = 1.0
        points = robot.contact_points
        moving = np.flatnonzero(np.asarray(points.joints) > 0)
        carriers = np.asarray(points.joints)[moving].astype(int) - 1
        centres = [
            frames[joint].actInv(points.positions[i])
            for i, joint in zip(moving, carriers, strict=True)
        ]
        return cls(
            nq=model.nq,
            nv=model.nv,
            groups=groups,
            parents=np.array(list(model.parents)[1:], dtype=int),
            constant=constant[..., None],
            cosine=angles[0][..., None],
            sine=angles[1][..., None],
            features=features,
            raw=raw,
            motion=_motion_subspaces(model, frames)[..., None],
            joint_of=joint_of,
            moments=moments[..., None],
            subtree=subtree,
            above=subtree[np.ix_(joint_of, joint_of)].T,
            armature=np.array(model.armature),
            damping=np.array(model.damping),
            gravity=np.array(model.gravity.linear),
            points=moving,
            point_joints=carriers,
            centres=np.array(centres).reshape(-1, 3, 1),
            radii=np.asarray(points.radii, dtype=float)[moving, None],
        )


def _groups(model: pin.Model) -> dict[str, JointGroup]:
    """The joints by kind."""
    found: dict[str, list[int]] = {}
    for k in range(1, model.njoints):
        name = model.joints[k].shortname().removeprefix("JointModel")
        if name not in KINDS:
            raise BatchError(
                f"joint '{model.names[k]}' is of the kind {name}, which a batch has not; it has "
                f"{', '.join(KINDS)}. Lock the joint, or step the robot with a Simulator"
            )
        found.setdefault(KINDS[name], []).append(k)
    groups = {}
    for kind, indices in found.items():
        joints = [model.joints[k] for k in indices]
        if kind == LINEAR:  # of one or three coordinates
            q = np.concatenate([np.arange(j.idx_q, j.idx_q + j.nq) for j in joints])[:, None]
            v = np.concatenate([np.arange(j.idx_v, j.idx_v + j.nv) for j in joints])[:, None]
        else:
            q = np.array([np.arange(j.idx_q, j.idx_q + j.nq) for j in joints])
            v = np.array([np.arange(j.idx_v, j.idx_v + j.nv) for j in joints])
        groups[kind] = JointGroup(np.array(indices) - 1, q, v)
    return groups


def _principal_frames(model: pin.Model) -> tuple[list[pin.SE3], np.ndarray]:
    """Principal frame of what each joint carries, in the joint's, and its diagonal moments."""
    frames, moments = [], []
    for Sigma, inertia in zip(second_moments(model), list(model.inertias)[1:], strict=True):
        lever = inertia.lever
        central = Sigma[:3, :3] - inertia.mass * np.outer(lever, lever)
        values, axes = np.linalg.eigh(0.5 * (central + central.T))
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        frames.append(pin.SE3(axes, lever) if inertia.mass > 0.0 else pin.SE3.Identity())
        moments.append([*values, inertia.mass])
    return frames, np.array(moments)


def _placements(
    model: pin.Model, groups: dict[str, JointGroup], frames: list[pin.SE3]
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray, np.ndarray]:
    """`constant`, (`cosine`, `sine`), `features` and `raw` of `Tree`."""

    def placed(k: int, R: np.ndarray, t: np.ndarray) -> np.ndarray:
        """The placement in the parent's frame, an affine map of (R, t), (4, 3)."""
        parent = model.parents[k + 1]
        left = model.jointPlacements[k + 1]
        left = frames[parent - 1].actInv(left) if parent else left
        right = frames[k]
        rotation = left.rotation @ R @ right.rotation
        origin = left.rotation @ (R @ right.translation + t) + left.translation
        return np.vstack([rotation.T, origin])

    zero, none = np.zeros((3, 3)), np.zeros(3)
    constant = np.array([placed(k, np.eye(3), none) for k in range(len(frames))])
    basis: list[tuple[int, np.ndarray]] = []  # joint and part of its placement, a feature each
    raw: list[int] = []
    angles: list[np.ndarray] = []
    for kind, group in groups.items():
        for k in group.joints.tolist():
            joint = model.joints[k + 1]
            S = _subspace(joint)
            base = placed(k, zero, none)
            moves = [(k, placed(k, zero, S[:3, i]) - base) for i in range(joint.nv)]
            if kind in (ANGLE, CIRCLE, PLANE):
                axis = S[3:, -1]
                along, cross = np.outer(axis, axis), pin.skew(axis)
                constant[k] = placed(k, along, none)
                turns = [placed(k, R, none) - base for R in (np.eye(3) - along, cross)]
                if kind == ANGLE:
                    angles.append(np.array(turns))
                    continue
                basis += moves[:-1] + [(k, turn) for turn in turns]
            elif kind == RIGID:
                basis += moves[:3]
            elif kind == LINEAR:
                basis += moves
            if kind != TURN:
                count = joint.nq if kind != RIGID else 3
                raw += range(joint.idx_q, joint.idx_q + count)
    for kind in (TURN, RIGID):
        for k in groups[kind].joints.tolist() if kind in groups else ():
            base = constant[k] = placed(k, zero, none)
            units = np.eye(9).reshape(9, 3, 3)
            basis += [(k, placed(k, unit, none) - base) for unit in units]
    others = [k for kind, g in groups.items() if kind != ANGLE for k in g.joints.tolist()]
    features = np.zeros((len(others), 4, 3, len(basis)))
    for column, (k, part) in enumerate(basis):
        features[others.index(k), :, :, column] = part
    turning = np.array(angles).reshape(-1, 2, 4, 3).transpose(1, 0, 2, 3)
    return constant, list(turning), features, np.array(raw, dtype=int)


def _motion_subspaces(model: pin.Model, frames: list[pin.SE3]) -> np.ndarray:
    """Motion of each dof in the frame of its joint, (nv, 6)."""
    rows = [
        frame.actInv(pin.Motion(column)).vector
        for frame, joint in zip(frames, list(model.joints)[1:], strict=True)
        for column in _subspace(joint).T
    ]
    return np.array(rows).reshape(-1, 6)


def _subspace(joint: pin.JointModel) -> np.ndarray:
    """The motion subspace in the joint's frame, (6, nv)."""
    data = joint.createData()
    neutral = np.zeros(joint.nq)
    kind = KINDS[joint.shortname().removeprefix("JointModel")]
    if kind in (CIRCLE, PLANE):
        neutral[-2] = 1.0
    elif kind in (TURN, RIGID):
        neutral[-1] = 1.0
    joint.calc(data, neutral)
    return np.asarray(data.S).reshape(6, joint.nv)
