"""A robot as its file describes it, before a base is put under it or a joint is locked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.joint_limits import Mimic
from nmdp_pin._robot.meshes import Missing
from nmdp_pin._robot.settings import Base

# The largest robot known has 150 links.
MAX_LINKS = 500
# Time and memory of a step grow with the square of the joints: 200 of them take 1.1 GB.
MAX_MOVING = 250


@dataclass(frozen=True, eq=False)
class Description:
    """Content of a URDF or MJCF file.

    Args:
        path: the file.
        name: name of the robot.
        model: kinematics and inertias, with the root link in the world.
        visual: visual geometry, without missing meshes; None if not requested.
        collision: collision geometry, likewise.
        hinges: names of the joints that can move, in the order of the file.
        motors: names of the joints that have a motor; None: all.
        base: how the root link is held; None: not in the file.
        root: placement of the root link in the world.
        mimics: joints that copy others.
        posture: standing positions of the joints, 0 where absent [rad or m].
        kp: position gains of servos, by joint [N m/rad or N/m].
        kd: velocity gains of servos, by joint [N m s/rad or N s/m].
        notes: choices made while reading, one sentence each.
        warnings: oddities that stop no simulation, one sentence each.
        missing_visuals: link and file of each visual mesh that was not found.
        missing_collisions: link and file of each collision mesh that was not found.
    """

    path: Path
    name: str
    model: pin.Model
    visual: pin.GeometryModel | None
    collision: pin.GeometryModel
    hinges: Sequence[str]
    motors: Sequence[str] | None = None
    base: Base | None = None
    root: pin.SE3 = pin.SE3.Identity()  # noqa: RUF009  # never written to
    mimics: tuple[Mimic, ...] = ()
    posture: Mapping[str, float | np.ndarray] = field(default_factory=dict)
    kp: Mapping[str, float] = field(default_factory=dict)
    kd: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    missing_visuals: Missing = ()
    missing_collisions: Missing = ()
