"""Overlaps of a robot's links with the ground and with each other, found by coal."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin.robot.body_contacts import connected
from nmdp_pin.robot.contact_geometry import extreme_points
from nmdp_pin.robot.contact_points import in_world
from nmdp_pin.robot.robot import Robot
from nmdp_pin.terrain import HeightField, Mesh, Plane, Shape, Terrain
from nmdp_pin.terrain.shape import LARGEST

GROUND = "the ground"
# Contacts sink in; bodies that overlap more than their contacts do by this are told of [m].
_BEYOND = 0.005
# Contacts of a pair of meshes that coal reports; the deepest one counts.
_MOST_CONTACTS = 64
# Share of its volume by which a mesh may differ from its convex hull.
_CONVEX = 1e-3
_NAMED = 6  # links in one sentence
# Bodies that overlap as deep where the robot stands are left out [m].
_STANDING = 1e-3
_ON_RIM = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)  # [rad] points that stand for a rim

# Results of coal, its broad phase, and what is done with each pair that is near.
_Query = tuple[pin.GeometryData, Any, pin.CollisionCallBackDefault]


@dataclass(frozen=True)
class Overlap:
    """Deepest overlap of two bodies.

    Args:
        first: name of a link or an object.
        second: name of the other one, or "the ground".
        depth: depth of the overlap [m].
        row: index of the configuration in which it is deepest.
        rows: number of configurations in which it is deeper than contacts explain.
    """

    first: str
    second: str
    depth: float
    row: int
    rows: int


class OverlapCheck:
    """Search for overlaps in configurations of a robot.

    Links that are meshes are taken as their convex hulls against planes, and as they are against
    all else. Pairs of bodies that a joint connects, or that overlap where the robot stands, are
    left out. The depth in a mesh that is not convex is a lower bound.

    Args:
        robot: its collision geometry is looked at, as far as its meshes were found.
        terrain: the ground.
    """

    def __init__(self, robot: Robot, terrain: Terrain) -> None:
        self._model, self._data = robot.model, robot.model.createData()
        rough = [shape for shape in terrain.shapes if isinstance(shape, Mesh | HeightField)]
        self._rough = Terrain(rough) if rough else None
        self._shapes, self._links = pin.GeometryModel(), list[str]()
        items = robot.collision_model.geometryObjects if robot.collision_model else ()
        flat, solid = [], []
        for item in items:
            link = str(robot.model.frames[item.parentFrame].name)
            hull = _hull(item.geometry)
            flat.append(self._add(item, hull, link))
            convex = hull is item.geometry or _is_convex(item.geometry, hull)
            solid.append(flat[-1] if convex else self._add(item, item.geometry, link))
        moving = [k for k, item in enumerate(items) if item.parentJoint]
        for shape in terrain.shapes:
            ground = self._add_ground(shape)
            touching = flat if isinstance(shape, Plane) else solid
            for k in moving:
                self._shapes.addCollisionPair(pin.CollisionPair(touching[k], ground))
        for i, j in itertools.combinations(range(len(items)), 2):
            if not connected(robot.model, int(items[i].parentJoint), int(items[j].parentJoint)):
                self._shapes.addCollisionPair(pin.CollisionPair(solid[i], solid[j]))
        points = [
            (item.parentJoint, self._links[flat[k]], item.placement.act(centre), radius)
            for k, item in enumerate(items)
            if item.parentJoint
            for centre, radius in _spheres(item.geometry)
        ]
        self._carriers = np.array([joint for joint, _, _, _ in points], dtype=int)
        self._of_link = np.array([link for _, link, _, _ in points])
        self._centres = np.array([centre for _, _, centre, _ in points]).reshape(-1, 3)
        self._radii = np.array([radius for _, _, _, radius in points])
        self._query = self._new_query()
        standing = self._depths_by_coal(robot.standing[None])
        for pair in [pin.CollisionPair(p.first, p.second) for p in self._shapes.collisionPairs]:
            names = self._links[pair.first], self._links[pair.second]
            if names[1] != GROUND and standing.get(names, np.zeros(1))[0] > _STANDING:
                self._shapes.removeCollisionPair(pair)
        self._query = self._new_query()

    def deepest(
        self, q: np.ndarray, contact_depth: np.ndarray | float = 0.0, *, most: int = 3
    ) -> list[Overlap]:
        """Overlaps that contacts do not explain, the deepest first.

        Args:
            q: configurations, shape (n, nq).
            contact_depth: the deepest penetration of a contact, shape (n,) or () [m].
            most: number of pairs that are returned.
        """
        allowed = np.broadcast_to(contact_depth, len(q)) + _BEYOND
        found = []
        for (first, second), depth in self.depths(q).items():
            count = int(np.count_nonzero(depth > allowed))
            if count:
                row = int(np.argmax(depth))
                found.append(Overlap(first, second, float(depth[row]), row, count))
        return sorted(found, key=lambda overlap: -overlap.depth)[:most]

    def depths(self, q: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
        """Depth of the overlap of each pair of bodies that overlap [m], shape (n,) each.

        Args:
            q: configurations, shape (n, nq).
        """
        found = self._depths_by_coal(q)
        for pair, depth in self._depths_of_points(q).items():
            found[pair] = np.maximum(depth, found.get(pair, 0.0))
        return found

    def _add(self, item: pin.GeometryObject, geometry: coal.CollisionGeometry, link: str) -> int:
        """Add a shape of a link; returns its index."""
        self._links.append(link)
        name = f"{len(self._links)}"
        placed = pin.GeometryObject(
            name, item.parentJoint, item.parentFrame, item.placement, geometry
        )
        return int(self._shapes.addGeometryObject(placed))

    def _add_ground(self, shape: Shape) -> int:
        """Add a shape of the terrain; returns its index."""
        self._links.append(GROUND)
        name = f"{len(self._links)}"
        return int(
            self._shapes.addGeometryObject(
                pin.GeometryObject(name, 0, 0, shape.placement, shape.collision_geometry())
            )
        )

    def _new_query(self) -> _Query:
        data = pin.GeometryData(self._shapes)
        for request in data.collisionRequests:
            request.enable_contact, request.num_max_contacts = True, _MOST_CONTACTS
        manager = pin.BroadPhaseManager_DynamicAABBTreeCollisionManager(
            self._model, self._shapes, data
        )
        return data, manager, pin.CollisionCallBackDefault(self._shapes, data, False)

    def _depths_by_coal(self, q: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
        """Depths of the overlaps that coal finds; arguments and result as of `depths`."""
        found: dict[tuple[str, str], np.ndarray] = {}
        data, manager, callback = self._query
        names = [(self._links[p.first], self._links[p.second]) for p in self._shapes.collisionPairs]
        touched: list[coal.CollisionResult] = []
        for row, configuration in enumerate(q):
            for result in touched:
                result.clear()
            touched = []
            if not np.abs(configuration).max() < LARGEST:
                continue  # a run that exploded; coal takes no numbers that large
            pin.computeCollisions(self._model, self._data, manager, callback, configuration)
            for pair, result in zip(names, data.collisionResults, strict=True):
                if result.isCollision():
                    touched.append(result)
                    depth = max(-contact.penetration_depth for contact in result.getContacts())
                    depths = found.setdefault(pair, np.zeros(len(q)))
                    depths[row] = max(depth, depths[row])
        for result in touched:
            result.clear()
        return found

    def _depths_of_points(self, q: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
        """Depths of extreme points in meshes and height fields, which coal takes for surfaces."""
        if self._rough is None or not len(self._radii):
            return {}
        depths = np.empty((len(q), len(self._radii)))
        for row, configuration in enumerate(q):
            pin.forwardKinematics(self._model, self._data, configuration)
            world = in_world(self._data, self._carriers, self._centres)
            depths[row] = np.nan_to_num(self._radii - self._rough.query(world).distance)
        by_link = {link: depths[:, self._of_link == link] for link in dict.fromkeys(self._of_link)}
        deepest = {(link, GROUND): depth.max(axis=1) for link, depth in by_link.items()}
        return {pair: np.maximum(d, 0.0) for pair, d in deepest.items() if d.max() > 0.0}


def overlap_sentences(overlaps: Sequence[Overlap], t: Sequence[float] | np.ndarray) -> list[str]:
    """A sentence for each overlap: the bodies, the depth, the time and how often.

    Args:
        overlaps: the overlaps.
        t: times of the configurations [s], shape (n,).
    """
    return [
        f"{_quoted(o.first)} and {_quoted(o.second)} overlap by {o.depth:.3g} m"
        + (f" at {t[o.row]:.4g} s (in {o.rows} of {len(t)} states)" if len(t) > 1 else "")
        for o in overlaps
    ]


def transparency(robot: Robot) -> list[str]:
    """Sentences on what the links of a robot pass through, because they have no contacts for it.

    Args:
        robot: its contact points and collision geometry are looked at.
    """
    model, points = robot.model, robot.contact_points
    items = robot.collision_model.geometryObjects if robot.collision_model else ()
    links: dict[str, int] = {
        str(model.frames[item.parentFrame].name): int(item.parentJoint)
        for item in items
        if item.parentJoint
    }
    felt = {*points.joints[points.touches == 0].tolist()}
    through = [link for link, joint in links.items() if joint not in felt]
    said = []
    if through:
        said.append(
            f"links that pass through the ground, without contact points: {_some(through)} "
            '(contacts = "all" gives them some)'
        )
    facing = {*zip(points.joints.tolist(), points.touches.tolist(), strict=True)}
    apart = [
        (a, b)
        for a, b in itertools.combinations(sorted({*links.values()}), 2)
        if not connected(model, a, b) and not {(a, b), (b, a)} & facing
    ]
    if apart:
        free = [k for k in links.values() if all(k not in pair for pair in facing if pair[1])]
        who = "all" if len(free) == len(links) else f"{len(apart)} pairs of"
        said.append(
            f"{who} its links pass through each other (self_collision = true lets them touch)"
        )
    return said


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:_NAMED]) + more


def _quoted(name: str) -> str:
    return name if name == GROUND else f"'{name}'"


def _hull(geometry: coal.CollisionGeometry) -> coal.CollisionGeometry:
    """Convex hull of a mesh; other shapes are convex."""
    if not isinstance(geometry, coal.BVHModelBase):
        return geometry
    mesh = geometry.clone()
    mesh.buildConvexHull(True, "Qt")
    return mesh.convex


def _is_convex(mesh: coal.BVHModelBase, hull: coal.ConvexBase) -> bool:
    """Whether a mesh fills its convex hull."""
    return mesh.computeVolume() > (1.0 - _CONVEX) * hull.computeVolume()


def _spheres(geometry: coal.CollisionGeometry) -> list[tuple[np.ndarray, float]]:
    """Centres and radii of spheres at the extreme points of a shape; several on each rim."""
    found = []
    for centre, radius, rim in extreme_points(geometry):
        if not rim.any():
            found.append((centre, radius))
            continue
        size = float(np.linalg.norm(rim))
        first = np.cross(rim, np.eye(3)[int(np.argmin(np.abs(rim)))])
        first *= size / np.linalg.norm(first)
        second = np.cross(rim, first) / size
        found += [(centre + np.cos(a) * first + np.sin(a) * second, radius) for a in _ON_RIM]
    return found
