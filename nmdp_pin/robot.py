"""A robot: a URDF made ready for simulation."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from nmdp_pin.contact_points import ContactPoints
from nmdp_pin.errors import RobotError
from nmdp_pin.gait import Gait
from nmdp_pin.mesh_files import Geometry, locate_meshes
from nmdp_pin.robot_catalog import RobotSource, find_robot
from nmdp_pin.robot_model import build_model
from nmdp_pin.robot_settings import Base, ContactPoint
from nmdp_pin.urdf import read_urdf

__all__ = ["ContactPoint", "ContactPoints", "Robot", "load_robot"]


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot made ready for simulation; knows nothing of time or contact forces.

    Args:
        name: what scenarios call it.
        model: kinematics and inertias.
        contact_points: the spheres that may touch the terrain.
        driven: velocity indices of the driven joints, shape (n_driven,).
        standing: standing configuration, shape (nq,).
        gaits: reference motions by name.
        visual_model: what it looks like, None if its meshes are absent.
        collision_model: its collision geometry, None if its meshes are absent.
        source: path of the URDF.
    """

    name: str
    model: pin.Model
    contact_points: ContactPoints
    driven: np.ndarray
    standing: np.ndarray
    gaits: Mapping[str, Gait] = field(default_factory=dict)
    visual_model: pin.GeometryModel | None = None
    collision_model: pin.GeometryModel | None = None
    source: str = ""


def load_robot(source: RobotSource, *, base: Base | None = None) -> Robot:
    """Quick version."""
    files = find_robot(source)
    urdf = read_urdf(files.urdf)
    s = files.settings
    visual = locate_meshes(urdf, "visual", files.package_dirs)
    collision = locate_meshes(urdf, "collision", files.package_dirs)
    hinges = [j.get("name") for j in urdf.joints if j.get("type") != "fixed"]
    locked = [n for n in hinges if s.driven is not None and n not in s.driven]
    place = pin.SE3(np.eye(3), np.array([0, 0, s.standing.base_height]))
    b = build_model(urdf.text(), base=base or s.base, locked=locked, pose=s.standing.joints, base_pose=place, visual=visual.text, collision=collision.text)
    m = b.model
    pts = s.contact or []
    fr = [m.frames[m.getFrameId(c.link)] for c in pts]
    cp = ContactPoints(tuple(c.name for c in pts), np.array([f.parentJoint for f in fr], dtype=int), np.array([f.placement.act(np.array(c.position)) for f, c in zip(fr, pts)]).reshape(-1, 3), np.array([c.radius for c in pts]))
    driven = np.array([] if s.passive else [j.idx_v for n, j in zip(m.names, m.joints) if n in hinges], dtype=int)
    return Robot(files.name, m, cp, driven, b.standing, s.build_gaits(files.settings_file), b.visual, b.collision, str(urdf.path))
