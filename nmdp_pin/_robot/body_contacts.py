"""Pairs of bodies of a robot that may touch each other.

A contact is a contact point of one body against the surface of another. Both directions are taken,
unless a body consists of its contact points: a ball against a box needs no corners of the box.
"""

import functools
import itertools
from collections.abc import Iterable
from dataclasses import replace

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._options import check_part, check_parts
from nmdp_pin._robot.body_surfaces import body_name, shaped_joints, surfaces_of
from nmdp_pin._robot.contact_points import ARRAYS, ContactPoints
from nmdp_pin._robot.frames import link_frame
from nmdp_pin._robot.robot import Robot
from nmdp_pin._robot.trees import placements_at
from nmdp_pin._terrain import Ellipsoid, Sphere, Terrain
from nmdp_pin._terrain.shape import box_around
from nmdp_pin.errors import RobotError

_OVERLAP = 1e-3  # [m]; bodies that lie deeper in each other where they stand are left out
_SAME = 1e-9  # [m]

Pair = tuple[str | int, str | int]


def touching(
    robot: Robot,
    pairs: Iterable[Pair] | None = None,
    *,
    friction: float | None = None,
    stiffness: float | None = None,
) -> Robot:
    """Copy of a robot with additional contacts between its bodies.

    Args:
        robot: robot with contact points and collision geometry.
        pairs: pairs of links or objects by name, or of joints by index. None: all pairs, except
            bodies connected by a joint, those that the SRDF disables, and bodies that overlap in
            the standing pose, which are listed in the notes.
        friction: friction coefficient of surfaces made from collision geometry; None: that of what
            they touch [-].
        stiffness: contact stiffness of these, likewise; see `Shape`.

    Raises:
        RobotError: a link does not exist, a pair has no contact, or a mesh is missing.
    """
    check_part("robot", robot, Robot, RobotError)
    shaped = shaped_joints(robot)
    if pairs is None:
        bodies = sorted(shaped | {*robot.surfaces})
        joints = [
            pair
            for pair in itertools.combinations(bodies, 2)
            if not connected(robot.model, *pair) and pair not in robot.disabled
        ]
    else:
        given = check_parts("pairs", pairs, object, RobotError)
        joints = [_bodies_of(robot, pair, shaped | {*robot.surfaces}) for pair in given]
    wanted = sorted({body for pair in joints for body in pair} & shaped - {*robot.surfaces})
    made, notes = surfaces_of(robot, wanted, own={"friction": friction, "stiffness": stiffness})
    surfaces = {**robot.surfaces, **made}
    if pairs is None:
        joints, more = _apart(robot, surfaces, joints)
        notes += more
    points = _with_pairs(robot, surfaces, joints)
    return replace(robot, contact_points=points, surfaces=surfaces, notes=(*robot.notes, *notes))


def connected(model: pin.Model, a: int, b: int) -> bool:
    """Whether two bodies are equal or neighbours, without mass or geometry between them."""
    low, high = min(a, b), max(a, b)
    parent = int(model.parents[high])
    while parent > 0 and model.inertias[parent].mass == 0.0 and parent != low:
        parent = int(model.parents[parent])
    return low == high or parent == low


def _bodies_of(robot: Robot, pair: Pair, surfaces: set[int]) -> tuple[int, int]:
    """The joints of two links."""
    two = isinstance(pair, tuple | list) and len(pair) == 2
    if not two or not all(isinstance(link, str | int) for link in pair):
        raise RobotError(f"a pair must be two names of links, got {pair!r}", file=robot.source)
    element = f"pair '{pair[0]}', '{pair[1]}'"
    a, b = (
        link
        if isinstance(link, int)
        else int(link_frame(robot.model, link, robot.source, element).parentJoint)
        for link in pair
    )
    carriers = set(robot.contact_points.joints.tolist())
    touch = any(x in carriers and y in surfaces for x, y in ((a, b), (b, a)))
    for there, what in (
        (a == b, "both move as one body"),
        (0 in (a, b), "one of them does not move: make it a shape of the terrain"),
        (not touch, "one needs a contact point (`contacts`), the other collision geometry"),
    ):
        if there:
            raise RobotError(what, file=robot.source, element=element)
    return a, b


def _with_pairs(
    robot: Robot, surfaces: dict[int, Terrain], pairs: Iterable[tuple[int, int]]
) -> ContactPoints:
    """Contact points of the robot and those of new pairs."""
    points = robot.contact_points
    spheres = np.flatnonzero(points.touches == 0)
    carriers = points.joints[spheres]
    exact = dict.fromkeys({*robot.contact_points.joints.tolist()}, False)
    exact |= {joint: _is_exact(points, surface, joint) for joint, surface in surfaces.items()}
    known = set(zip(points.joints.tolist(), points.touches.tolist(), strict=True))
    rows, touches = [np.arange(len(points))], [points.touches]
    for a, b in pairs:
        for carrier, other in ((a, b), (b, a)):
            own = spheres[carriers == carrier]
            if other not in surfaces or (carrier, other) in known or not len(own):
                continue
            # what is exact touches the other with its spheres, and that is all of the contact
            needless = exact[other] and (not exact[carrier] or (carrier, other) == (b, a))
            if needless and carrier in surfaces:  # but corners and rims on ellipsoids
                eggs = any(isinstance(shape, Ellipsoid) for shape in surfaces[other].shapes)
                sharp = (points.radii[own] == 0.0) & ~points.semi_axes[own, 2].any(axis=1)
                own = own[sharp & eggs]
            if len(own):
                known.add((carrier, other))
                rows.append(own)
                touches.append(np.full(len(own), other))
    index, touched = np.concatenate(rows), np.concatenate(touches)
    names, bodies = list(points.names), functools.cache(functools.partial(body_name, robot))
    for k, body in zip(index[len(points) :], touched[len(points) :], strict=True):
        names.append(f"{points.names[k]} on {bodies(int(body))}")
    arrays = {name: getattr(points, name)[index] for name in ARRAYS} | {"touches": touched}
    return ContactPoints(tuple(names), **arrays, links=tuple(points.links[k] for k in index))


def _is_exact(points: ContactPoints, surface: Terrain, joint: int) -> bool:
    """Whether the body consists of balls and ellipsoids that are its contact points."""
    own = (points.joints == joint) & (points.touches == 0)
    forms = np.swapaxes(points.semi_axes, 1, 2) @ points.semi_axes  # of x' form^-1 x = 1
    for shape in surface.shapes:
        if not isinstance(shape, Sphere | Ellipsoid):
            return False
        M, radius, axes = shape.placement, 0.0, np.zeros(3)
        if isinstance(shape, Sphere):
            radius = shape.radius
        else:
            axes = np.array(shape.radii)
        form = (M.rotation * axes**2) @ M.rotation.T
        same = own & (np.abs(points.radii - radius) < _SAME)
        same &= np.abs(points.positions - M.translation).max(axis=1, initial=0.0) < _SAME
        if not (same & (np.abs(forms - form).max(axis=(1, 2), initial=0.0) < _SAME)).any():
            return False
    return True


def _apart(
    robot: Robot, surfaces: dict[int, Terrain], pairs: list[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[str]]:
    """Pairs that do not overlap in the standing pose, and a note on the others."""
    placements, kept, left = placements_at(robot.model, robot.standing), [], []
    centres, sizes = _balls(robot, surfaces, placements)
    for a, b in pairs:
        near = np.linalg.norm(centres[a] - centres[b]) <= sizes[a] + sizes[b]
        if near and overlap_at(robot, surfaces, placements, a, b) > _OVERLAP:
            left.append(f"{body_name(robot, a)} and {body_name(robot, b)}")
        else:
            kept.append((a, b))
    note = f"no contact between bodies that overlap where the robot stands: {'; '.join(left)}"
    return kept, [note] if left else []


def _balls(
    robot: Robot, surfaces: dict[int, Terrain], placements: list[pin.SE3]
) -> tuple[np.ndarray, np.ndarray]:
    """Balls around the bodies in the world: centres [m], shape (n, 3), and radii [m], shape (n,).

    Radii are inf where a surface has no bounds, and where a body has contact points besides it.
    """
    points, n = robot.contact_points, robot.model.njoints
    own = [np.zeros((0, 3))] * n
    for joint, surface in surfaces.items():
        boxes = [box_around(s.collision_geometry(), s.placement) for s in surface.shapes]
        own[joint] = np.array([corner for box in boxes for corner in box])
    centres, sizes = np.zeros((n, 3)), np.full(n, np.inf)
    reach = points.radii + np.linalg.norm(points.semi_axes, axis=2).max(axis=1, initial=0.0)
    for joint in range(1, n):
        spheres = (points.joints == joint) & (points.touches == 0)
        around = np.concatenate([own[joint], points.positions[spheres]])
        if len(around) and len(own[joint]) and np.isfinite(around).all():
            centre = 0.5 * (around.min(axis=0) + around.max(axis=0))
            half = 0.5 * (own[joint].max(axis=0) - own[joint].min(axis=0))
            gaps = np.linalg.norm(points.positions[spheres] - centre, axis=1) + reach[spheres]
            shape = np.abs(0.5 * (own[joint].max(axis=0) + own[joint].min(axis=0)) - centre) + half
            sizes[joint] = max(np.linalg.norm(shape), gaps.max(initial=0.0))
            centres[joint] = placements[joint].act(centre)
    return centres, sizes


def overlap_at(
    robot: Robot, surfaces: dict[int, Terrain], placements: list[pin.SE3], a: int, b: int
) -> float:
    """Overlap of two bodies, by their shapes and by their contact points [m]."""
    points, depths, sides = robot.contact_points, [-np.inf], []
    for body in (a, b):
        shapes = surfaces[body].shapes if body in surfaces else ()
        poses = [placements[body] * shape.placement for shape in shapes]
        places = [coal.Transform3s(M.rotation, M.translation) for M in poses]
        sides.append([(s.collision_geometry(), M) for s, M in zip(shapes, places, strict=True)])
    for one, other in itertools.product(*sides):
        result = coal.CollisionResult()
        coal.collide(*one, *other, coal.CollisionRequest(), result)
        depths += [abs(contact.penetration_depth) for contact in result.getContacts()]
    for carrier, touched in ((a, b), (b, a)):
        still = ~points.semi_axes.any(axis=(1, 2))
        own = (points.joints == carrier) & (points.touches == 0) & still
        if own.any() and touched in surfaces:
            M = placements[touched].actInv(placements[carrier])
            centres = points.positions[own] @ M.rotation.T + M.translation
            gap = surfaces[touched].query(centres).distance - points.radii[own]
            depths.append(float(-gap.min()))
    return max(depths)
