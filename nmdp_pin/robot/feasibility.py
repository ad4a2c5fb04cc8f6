"""Joints beyond their ranges, efforts beyond their limits, links in the ground."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from nmdp_pin.robot.contact_geometry import extreme_points
from nmdp_pin.robot.contact_points import in_world
from nmdp_pin.robot.joint_limits import simple_joints
from nmdp_pin.robot.robot import Robot
from nmdp_pin.terrain import Terrain

# A range that is left by rounding of the URDF's digits is not left [rad or m].
_SLACK = 1e-4
# Contacts sink in; a link deeper than the deepest contact by this is in the ground [m].
_SUNK = 0.02
# No contact explains more than this; the deepest prints in sand are 0.15 m [m].
_DEEPEST_CONTACT = 0.2


def joints_beyond_range(robot: Robot, q: np.ndarray) -> list[str]:
    """A sentence for each joint that leaves its range.

    Args:
        robot: `limits` are used.
        q: configurations, shape (n, nq).
    """
    limits, said = robot.limits, []
    for name, joint in simple_joints(robot.model).items():
        positions = q[:, joint.idx_q]
        lower, upper = limits.lower[joint.idx_v], limits.upper[joint.idx_v]
        beyond = np.maximum(lower - positions, positions - upper)
        worst = int(np.argmax(beyond))
        if beyond[worst] > _SLACK:
            said.append(
                f"joint '{name}' at {positions[worst]:.4g} is beyond its range "
                f"{lower:.4g} to {upper:.4g}{_how_often(beyond > _SLACK)}"
            )
    return said


def efforts_beyond_limits(robot: Robot, tau: np.ndarray) -> list[str]:
    """A sentence for each joint whose effort is larger than its limit.

    Args:
        robot: `limits` are used.
        tau: efforts [N m or N], shape (n, nv).
    """
    limits, said = robot.limits, []
    for name, joint in simple_joints(robot.model).items():
        effort, largest = np.abs(tau[:, joint.idx_v]), limits.effort[joint.idx_v]
        worst = int(np.argmax(effort))
        if effort[worst] > largest * (1.0 + _SLACK):
            said.append(
                f"joint '{name}' takes an effort of {effort[worst]:.4g}, its limit is "
                f"{largest:.4g}{_how_often(effort > largest)}"
            )
    return said


def links_in_ground(
    robot: Robot, terrain: Terrain, q: np.ndarray, contact_depth: float = 0.0
) -> list[str]:
    """A sentence for each link that lies in the ground, deeper than its contacts explain.

    Args:
        robot: its collision geometry is looked at, as far as its meshes were found.
        terrain: the ground.
        q: configurations, shape (n, nq).
        contact_depth: the deepest penetration of a contact point [m].
    """
    allowed = min(contact_depth, _DEEPEST_CONTACT) + _SUNK
    depths = link_depths(robot, terrain, q)
    return [
        f"link '{name}' is {depth.max():.3g} m under the ground{_how_often(depth > allowed)}; "
        'contact points keep a link out of it (contacts = "all", or name it in contacts)'
        for name, depth in depths.items()
        if depth.max() > allowed
    ]


def link_depths(robot: Robot, terrain: Terrain, q: np.ndarray) -> Mapping[str, np.ndarray]:
    """Depth of the collision geometry of each moving link in the ground [m], (n,) each.

    Args:
        robot: its collision geometry is looked at.
        terrain: the ground.
        q: configurations, shape (n, nq).
    """
    if robot.collision_model is None:
        return {}
    points: list[np.ndarray] = []
    radii: list[float] = []
    joints: list[int] = []
    links: list[str] = []
    for item in robot.collision_model.geometryObjects:
        if not item.parentJoint:
            continue
        for centre, radius, _ in extreme_points(item.geometry):
            points.append(item.placement.act(centre))
            radii.append(radius)
            joints.append(int(item.parentJoint))
            links.append(str(robot.model.frames[item.parentFrame].name))
    if not points:
        return {}
    data, local, where = robot.model.createData(), np.array(points), np.array(joints)
    depths = np.empty((len(q), len(points)))
    for row, configuration in enumerate(q):
        pin.forwardKinematics(robot.model, data, configuration)
        world = in_world(data, where, local)
        depths[row] = np.array(radii) - terrain.query(world).distance
    names = np.array(links)
    return {name: depths[:, names == name].max(axis=1) for name in dict.fromkeys(links)}


def buried_depth(robot: Robot, terrain: Terrain, q: np.ndarray) -> np.ndarray:
    """Depth of the deepest centre of mass of a body in the ground [m], 0 where none is, (n,).

    Bodies with contact points count only if they are the base: feet may sink into sand.

    Args:
        robot: its bodies are looked at.
        terrain: the ground.
        q: configurations, shape (n, nq).
    """
    model, data, held = robot.model, robot.model.createData(), set(robot.contact_points.joints)
    base = next((j for j in range(1, model.njoints) if model.inertias[j].mass > 0.0), 0)
    bodies = [
        j
        for j in range(1, model.njoints)
        if model.inertias[j].mass > 0.0 and (j == base or j not in held)
    ]
    centres = np.empty((len(q), len(bodies), 3))
    for row, configuration in enumerate(q):
        pin.forwardKinematics(model, data, configuration)
        centres[row] = [data.oMi[j].act(model.inertias[j].lever) for j in bodies]
    depth = -terrain.query(centres.reshape(-1, 3)).distance.reshape(len(q), len(bodies))
    return np.nan_to_num(depth).max(axis=1, initial=0.0)  # NaN: beyond all terrain


def _how_often(beyond: np.ndarray) -> str:
    """Phrase for the number of rows in which a condition holds; "" for a single row."""
    return f" (in {np.count_nonzero(beyond)} of {len(beyond)} states)" if len(beyond) > 1 else ""
