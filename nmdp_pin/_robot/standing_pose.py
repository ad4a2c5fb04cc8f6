"""Standing pose of a robot: what its files say, for all joints and the root link."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.catalog import RobotFiles
from nmdp_pin._robot.description import Description
from nmdp_pin._robot.joint_limits import JointLimits, Mimic, simple_joints
from nmdp_pin._robot.model import append_model


@dataclass(frozen=True, eq=False)
class StandingPose:
    """Standing positions of the joints by name, and the placement of the root link."""

    joints: Mapping[str, float | np.ndarray]
    base: pin.SE3


def standing_pose(files: RobotFiles, described: Description) -> StandingPose:
    """The standing pose of the robot.toml, of the SRDF, of the MJCF file, or all joints at 0."""
    standing = files.settings.standing
    base = pin.SE3(files.base_rotation, np.array([0.0, 0.0, standing.base_height]))
    if files.srdf is None or files.posture is None:
        return StandingPose({**described.posture, **standing.joints}, described.root * base)
    model = pin.Model(described.model)
    free = files.settings.base == "free-flyer"
    if free:  # on a joint of the name that SRDF files have for it
        holder = pin.Model()
        joint = holder.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
        carrier = holder.addJointFrame(joint)
        model, _ = append_model(holder, model, (), carrier, pin.SE3.Identity())
    pin.loadReferenceConfigurations(model, str(files.srdf), False)
    if files.posture not in model.referenceConfigurations:
        return StandingPose({}, base)
    q = pin.normalize(model, model.referenceConfigurations[files.posture])
    hinges = {
        name: q[joint.idx_q : joint.idx_q + joint.nq].copy()
        for name, joint in zip(model.names, model.joints, strict=True)
        if name in described.hinges
    }
    return StandingPose(hinges, pin.XYZQUATToSE3(q[:7]) if free else base)


def with_copies(pose: StandingPose, copies: Sequence[Mimic]) -> StandingPose:
    """Pose in which mimic joints that it does not name are where their primaries put them."""
    joints = dict(pose.joints)
    for m in copies:
        primary = np.atleast_1d(joints.get(m.primary, 0.0))
        if len(primary) == 1:
            joints.setdefault(m.joint, m.multiplier * float(primary[0]) + m.offset)
    return StandingPose(joints, pose.base)


def within_ranges(
    pose: StandingPose, model: pin.Model, copies: Sequence[Mimic]
) -> tuple[StandingPose, list[str]]:
    """The pose with joints that stand outside their range at its nearer end, and a note on them."""
    limits, joints, moved = JointLimits.of(model), dict(pose.joints), []
    left_out = {m.joint for m in copies} - {*joints}
    for name, joint in simple_joints(model).items():
        at = float(np.atleast_1d(joints.get(name, 0.0))[0])
        inside = float(np.clip(at, limits.lower[joint.idx_v], limits.upper[joint.idx_v]))
        if inside != at and name not in left_out:
            joints[name] = inside
            moved.append(f"{name} from {at:.4g} to {inside:.4g}")
    note = f"standing pose outside the range of joints, moved into it: {', '.join(moved)}"
    return StandingPose(joints, pose.base), [note] if moved else []
