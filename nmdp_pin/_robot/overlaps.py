"""Overlaps of a robot's links with the ground and with each other, found by coal."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._robot.body_contacts import connected
from nmdp_pin._robot.body_surfaces import convex_hull, fills_hull
from nmdp_pin._robot.contact_geometry import directions, extreme_points
from nmdp_pin._robot.contact_points import in_world
from nmdp_pin._robot.feasibility import how_often
from nmdp_pin._robot.robot import Robot
from nmdp_pin._terrain import HeightField, Mesh, Plane, Shape, Terrain
from nmdp_pin._terrain.shape import LARGEST

GROUND = "the ground"
# Contacts sink in; bodies that overlap more than their contacts do by this are told of [m].
_BEYOND = 0.005
# Contacts of a pair of meshes that coal reports; the deepest one counts.
_MOST_CONTACTS = 64
_NAMED = 6  # links in one sentence
# Bodies that overlap as deep where the robot stands are left out [m].
_STANDING = 1e-3
# Points that stand for the rim of a disc, and for an ellipsoid.
_AROUND = [(np.cos(a), np.sin(a)) for a in np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)]
_ON_ELLIPSOID = np.vstack([np.eye(3), -np.eye(3), directions(64)])


@dataclass(frozen=True)
class Overlap:
    """Deepest overlap of a link or an object with another one or the ground."""

    first: str
    second: str
    depth: float  # [m]
    row: int  # of the configuration in which it is deepest
    rows: int  # how many configurations it is deeper in than contacts explain


class OverlapCheck:
    """Search for overlaps in configurations of a robot.

    Links that are meshes are taken as their convex hulls against planes, meshes and height fields
    of the ground, and as they are against all else: of two meshes coal takes the depths of pairs of
    triangles, which is far more where these are large. Pairs of bodies that a joint connects, or
    that overlap where the robot stands, are left out. The depth in a mesh that is not convex is a
    lower bound. Meshes that were not found are left out.
    """

    def __init__(self, robot: Robot, terrain: Terrain) -> None:
        self._model, self._data = robot.model, robot.model.createData()
        rough = [shape for shape in terrain.shapes if isinstance(shape, Mesh | HeightField)]
        self._shapes, self._links = pin.GeometryModel(), list[str]()
        items = robot.collision_model.geometryObjects if robot.collision_model else ()
        flat, solid = [], []
        for item in items:
            link, carrier = str(robot.model.frames[item.parentFrame].name), int(item.parentJoint)
            hull = convex_hull(item.geometry)
            flat.append(self._add(link, carrier, item.placement, hull))
            convex = hull is item.geometry or fills_hull(item.geometry, hull)
            solid.append(
                flat[-1] if convex else self._add(link, carrier, item.placement, item.geometry)
            )
        moving, own = [k for k, item in enumerate(items) if item.parentJoint], _own_shapes(robot)

        def meet(k: int, other: Shape | None) -> bool:
            shape = own[k]
            return shape is None or other is None or shape.meets(other)

        for shape in terrain.shapes:
            ground = self._add(GROUND, 0, shape.placement, shape.collision_geometry())
            touching = flat if isinstance(shape, Plane | Mesh | HeightField) else solid
            for k in moving:
                if meet(k, shape):
                    self._shapes.addCollisionPair(pin.CollisionPair(touching[k], ground))
        for i, j in itertools.combinations(range(len(items)), 2):
            a, b = int(items[i].parentJoint), int(items[j].parentJoint)
            if not connected(robot.model, a, b) and meet(i, own[j]):
                self._shapes.addCollisionPair(pin.CollisionPair(solid[i], solid[j]))
        self._points = list[tuple[Terrain, int, str, np.ndarray, np.ndarray]]()
        parts = dict[tuple[int, ...], Terrain]()
        for k in moving if rough else []:  # meshes and height fields, joint, link, centres, radii
            met = tuple(i for i, shape in enumerate(rough) if meet(k, shape))
            centres, radii = zip(*_spheres(items[k].geometry), strict=True)
            placed = np.array([items[k].placement.act(x) for x in centres])
            link, carrier = self._links[flat[k]], int(items[k].parentJoint)
            if met:
                parts[met] = parts.get(met) or Terrain([rough[i] for i in met])
                self._points.append((parts[met], carrier, link, placed, np.array(radii)))
        self._pairs = [
            (self._links[pair.first], self._links[pair.second])
            for pair in self._shapes.collisionPairs
        ]
        self._results = pin.GeometryData(self._shapes)
        for request in self._results.collisionRequests:
            request.enable_contact, request.num_max_contacts = True, _MOST_CONTACTS
        self._near = pin.BroadPhaseManager_DynamicAABBTreeCollisionManager(
            self._model, self._shapes, self._results
        )
        self._callback = pin.CollisionCallBackDefault(self._shapes, self._results, False)
        standing = self.depths(robot.standing[None])
        for k, names in enumerate(self._pairs):
            if names[1] != GROUND and standing.get(names, np.zeros(1))[0] > _STANDING:
                self._results.deactivateCollisionPair(k)

    def deepest(
        self, q: np.ndarray, contact_depth: np.ndarray | float = 0.0, *, most: int = 3
    ) -> list[Overlap]:
        """Overlaps at q, (n, nq), that contacts do not explain, the deepest first.

        Contacts explain their deepest penetration, of shape (n,) or () [m].
        """
        allowed = np.broadcast_to(contact_depth, len(q)) + _BEYOND
        found = []
        for (first, second), depth in self.depths(q).items():
            unexplained = depth > allowed
            if unexplained.any():
                row = int(np.argmax(depth * unexplained))
                count = int(np.count_nonzero(unexplained))
                found.append(Overlap(first, second, float(depth[row]), row, count))
        return sorted(found, key=lambda overlap: -overlap.depth)[:most]

    def depths(self, q: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
        """Depth of the overlap of each pair that overlaps [m], shape (n,) each, at q, (n, nq)."""
        found: dict[tuple[str, str], np.ndarray] = {}
        for row, configuration in enumerate(q):
            if not np.abs(configuration).max() < LARGEST:
                continue  # a run that exploded; coal takes no numbers that large
            pin.computeCollisions(
                self._model, self._data, self._near, self._callback, configuration
            )
            for pair, depth in [*self._of_shapes(), *self._of_points()]:
                depths = found.setdefault(pair, np.zeros(len(q)))
                depths[row] = max(depth, depths[row])
        return found

    def _add(
        self, link: str, carrier: int, placement: pin.SE3, geometry: coal.CollisionGeometry
    ) -> int:
        """Add a shape of a link, or of the ground; returns its index."""
        self._links.append(link)
        name = str(len(self._links))
        placed = pin.GeometryObject(name, carrier, 0, placement, geometry)
        return int(self._shapes.addGeometryObject(placed))

    def _of_shapes(self) -> Iterator[tuple[tuple[str, str], float]]:
        """Pairs and depths of the overlaps that coal has found, whose results are cleared."""
        for pair, result in zip(self._pairs, self._results.collisionResults, strict=True):
            if result.isCollision():
                yield pair, max(-contact.penetration_depth for contact in result.getContacts())
                result.clear()

    def _of_points(self) -> Iterator[tuple[tuple[str, str], float]]:
        """Links and depths of their points in meshes and height fields, to coal mere surfaces."""
        for rough, joint, link, centres, radii in self._points:
            world = in_world(self._data, np.full(len(centres), joint), centres)
            depth = float((radii - rough.query(world).distance).max())
            if depth > 0.0:
                yield (link, GROUND), depth


def _own_shapes(robot: Robot) -> list[Shape | None]:
    """Shapes of `Robot.surfaces` that the collision geometry is, in its order; None: of no mask."""
    items = robot.collision_model.geometryObjects if robot.collision_model else ()
    found: list[Shape | None] = [None] * len(items)
    for joint, surface in robot.surfaces.items():
        rows = [k for k, item in enumerate(items) if int(item.parentJoint) == joint]
        if len(rows) == len(surface.shapes):
            for k, shape in zip(rows, surface.shapes, strict=True):
                found[k] = shape
    return found


def contact_depth(robot: Robot, terrain: Terrain, q: np.ndarray) -> np.ndarray:
    """How deep the contact points are in the ground at q, (n, nq) [m], shape (n,)."""
    points, model, data = robot.contact_points, robot.model, robot.model.createData()
    depths, parts = np.zeros(len(q)), _grounds(robot, terrain)
    for row, configuration in enumerate(q):
        pin.forwardKinematics(model, data, configuration)
        for at, ground in parts:
            distance = ground.query(in_world(data, points.joints[at], points.positions[at]))
            depth = (points.radii[at] - distance.distance).max(initial=0.0)
            depths[row] = max(depths[row], depth)
    return depths


def _grounds(robot: Robot, terrain: Terrain) -> list[tuple[np.ndarray, Terrain]]:
    """Contact points that may touch the terrain, and what of it their masks let them touch."""
    points = robot.contact_points
    own: list[Shape | None] = [None] * points.n_terrain
    for joint, surface in robot.surfaces.items():
        at = np.flatnonzero(points.joints[: len(own)] == joint)
        nearest = surface.query(points.positions[at]).shape.tolist() if len(at) else ()
        for point, index in zip(at.tolist(), nearest, strict=True):
            own[point] = surface.shapes[index]
    met = [
        tuple(i for i, other in enumerate(terrain.shapes) if shape is None or shape.meets(other))
        for shape in own
    ]
    return [
        (
            np.array([point for point, those in enumerate(met) if those == shapes]),
            Terrain([terrain.shapes[i] for i in shapes]),
        )
        for shapes in dict.fromkeys(met)
        if shapes
    ]


def overlap_sentences(overlaps: Sequence[Overlap], t: Sequence[float] | np.ndarray) -> list[str]:
    """A sentence for each overlap: the bodies, the depth, the time of t, (n,) [s], how often."""
    return [
        f"{_quoted(o.first)} and {_quoted(o.second)} overlap by {o.depth:.3g} m"
        + (f" at {t[o.row]:.4g} s" if len(t) > 1 else "")
        + how_often(o.rows, len(t))
        for o in overlaps
    ]


def transparency(robot: Robot) -> list[str]:
    """Sentences on what the links of a robot pass through, because they have no contacts for it."""
    model, points = robot.model, robot.contact_points
    links = _moving_links(robot)
    said = through_ground(robot, links)
    facing = {*zip(points.joints.tolist(), points.touches.tolist(), strict=True)}
    apart = [
        (a, b)
        for a, b in itertools.combinations(sorted({*links.values()}), 2)
        if not connected(model, a, b) and not {(a, b), (b, a)} & facing
    ]
    if apart:
        who = f"{len(apart)} pairs of" if points.touches.any() else "all"
        said.append(
            f"{who} its links pass through each other (self_collision = true lets them touch)"
        )
    return said


def through_ground(robot: Robot, links: Collection[str]) -> list[str]:
    """A sentence on those of some links that have no contact points, if there are any."""
    points = robot.contact_points
    felt = {*points.joints[points.touches == 0].tolist()}
    through = [link for link, joint in _moving_links(robot).items() if joint not in felt]
    if not (named := [link for link in through if link in links]):
        return []
    return [
        f"links that pass through the ground, without contact points: {_some(named)} "
        '(robot.contacts = "all" gives them some)'
    ]


def _moving_links(robot: Robot) -> dict[str, int]:
    """Joints of the links that have shapes and move."""
    items = robot.collision_model.geometryObjects if robot.collision_model else ()
    frames = robot.model.frames
    return {str(frames[x.parentFrame].name): int(x.parentJoint) for x in items if x.parentJoint}


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:_NAMED]) + more


def _quoted(name: str) -> str:
    return name if name == GROUND else f"'{name}'"


def _spheres(geometry: coal.CollisionGeometry) -> list[tuple[np.ndarray, float]]:
    """Centres and radii of spheres at the extreme points of a shape; several on what is swept."""
    found = []
    for centre, radius, axes in extreme_points(geometry):
        places = [centre + turn @ axes[:2] for turn in _AROUND] if axes.any() else [centre]
        if axes[2].any():
            places = list(centre + _ON_ELLIPSOID @ axes)
        found += [(place, radius) for place in places]
    return found
