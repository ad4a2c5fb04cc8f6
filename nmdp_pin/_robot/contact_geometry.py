"""Contact points from collision geometry: by which links a robot touches, and where."""

import functools
import itertools
from collections.abc import Sequence

import coal
import numpy as np
import pinocchio as pin
import scipy  # whose parts are imported when they are used

from nmdp_pin._robot.contact_points import ContactPoints, place_points
from nmdp_pin._robot.model import RobotModel
from nmdp_pin._robot.settings import ContactPoint
from nmdp_pin._terrain.coal_mesh import mesh_vertices

# More points than this only cost time: a body that touches the ground rests on three of them.
MAX_POINTS = 64
MOST_POINTS = 512  # of all links; points that do not touch cost next to nothing
_BOX = 8  # corners, each of which it needs to be one
# Centre [m] and radius [m] of a sphere, and the semi-axes over which it is swept as rows, 0 where
# there are fewer than three [m].
Swept = tuple[np.ndarray, float, np.ndarray]
# Faces, edges and corners of a cube: the directions in which a mesh is felt. Around each face are
# eight more, turned by 5 degrees: they find the corners of a sole that is level.
_CUBE = [np.array(d) for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)]
_TURN = np.tan(np.radians(5.0))
_ROUND_FACES = [
    face + _TURN * aside
    for face in _CUBE
    if np.abs(face).sum() == 1.0
    for aside in _CUBE
    if aside @ face == 0.0
]
DIRECTIONS = np.array(_CUBE + _ROUND_FACES)
_AXES = np.vstack([np.eye(3), -np.eye(3)])
_BETWEEN = 1e-3  # [m] by which the hull of the points of a mesh may miss its own
_DEEPER, _MOST = 1.2, 1.0  # factor on it where there are too many, and the most [m]
# Extreme points nearer than this fall together [m].
SAME_POINT = 1e-4
# Links whose lowest points are this near in height stand on the same ground [m].
LEVEL = 0.01
# Of round feet.
_SIDEWAYS = np.cos(np.radians(60.0))  # of the largest angle between leg and ground's normal
_NORMALS = 4000  # of ground all around; so many that left and right feet agree to 3e-5 m
_UNEVEN = 2e-3  # [m] that a foot may differ from a sphere
_SHARE = 0.15  # of the radius, likewise


class LinkPoints:
    """Contact points from the collision geometry of the links of a robot, each found once.

    Args:
        body: the robot.
    """

    def __init__(self, body: RobotModel) -> None:
        self.body = body
        self.of_shapes = functools.cache(self._of_shapes)

    def of(self, link: str) -> list[ContactPoint]:
        """Contact points of a link or frame: from its collision geometry, else its origin."""
        return [point for points in self.of_shapes(link) for point in points]

    def placed(self, link: str) -> ContactPoints:
        """Those of a link, on its joint."""
        return place_points(self.body.model, self.of(link), "")

    def _of_shapes(self, link: str) -> list[list[ContactPoint]]:
        """Contact points of each shape of a link; the frame's origin where there are none."""
        model, groups = self.body.model, []
        for shape in shapes_of(self.body, link):
            M, points = placement_in_link(self.body, shape), extreme_points(shape.geometry)
            groups.append([(M.act(x), radius, E @ M.rotation.T) for x, radius, E in points])
        groups = groups or [[(np.zeros(3), 0.0, np.zeros((3, 3)))]]
        count, mark, number = sum(map(len, groups)), "_", itertools.count()
        while any(model.existFrame(f"{link}{mark}{k}", pin.BODY) for k in range(count)):
            mark += "_"  # another link is called so, and a point of it
        return [
            [
                ContactPoint(
                    name=link if count == 1 else f"{link}{mark}{next(number)}",
                    link=link,
                    position=centre.tolist(),
                    radius=radius,
                    semi_axes=[row.tolist() for row in axes if row.any()],
                )
                for centre, radius, axes in group
            ]
            for group in groups
        ]


def moving_links(body: RobotModel, joint: int | None = None) -> list[str]:
    """The links that have collision geometry and move, with a joint or any."""
    shapes = [s for s in body.collision.geometryObjects if s.parentJoint]
    own = [s for s in shapes if joint is None or int(s.parentJoint) == joint]
    return list(dict.fromkeys(str(body.model.frames[s.parentFrame].name) for s in own))


def touching_links(points: LinkPoints, *, fixed: bool) -> list[str]:
    """Links by which a robot is expected to touch: feet, hands, lowest links.

    On every body at the end of a branch of moving joints (or the nearest one before it that has
    collision geometry) it is the link whose geometry reaches farthest from the joint. Unless the
    base is fixed, the links of other bodies that are lowest in the standing configuration are
    added: a robot may stand on its trunk. Of a robot with one body it is every link.
    """
    body, model = points.body, points.body.model
    shaped = {int(shape.parentJoint) for shape in body.collision.geometryObjects} - {0}
    if len(shaped) == 1:
        return moving_links(body)
    bodies: dict[int, None] = {}
    for leaf in (joint for joint in range(1, model.njoints) if not list(model.children[joint])):
        joint = leaf
        while joint > 0 and joint not in shaped:
            joint = int(model.parents[joint])
        if joint > 0:
            bodies[joint] = None

    def extent(link: str) -> float:
        own = points.placed(link)
        return max(map(_extent, own.positions, own.radii, own.semi_axes))

    ends = [max(moving_links(body, joint), key=extent) for joint in bodies]
    lowest = [] if fixed else _lowest_links(points)
    return ends + [link for link, joint in lowest if joint not in bodies]


def hold_out(
    groups: Sequence[Sequence[ContactPoint]], limit: int, most: int = MOST_POINTS
) -> list[ContactPoint]:
    """Few points of each group, whose hull is near that of all.

    Bare points may miss the hulls of their groups as far as is needed for at most `limit` points,
    or a few of each group; others are kept. Groups of eight, as the corners of a box, lose none
    unless there are more than `most` points then.
    """
    points = [point for group in groups for point in group]
    kept = np.arange(len(points))
    for whole in (_BOX, 0):
        if len(kept) <= (limit if whole else most):
            break
        missed, depth = np.concatenate([_missed(group, whole) for group in groups]), _BETWEEN
        while np.count_nonzero(missed > depth) > limit and depth < _MOST:
            depth *= _DEEPER
        kept = np.flatnonzero(missed > depth)
    return [points[k] for k in kept]


def _missed(points: Sequence[ContactPoint], whole: int) -> np.ndarray:
    """How far the hull of the bare points that are chosen before each misses it [m], (n,).

    It is infinite of points that are kept, as all bare ones where there are at most `whole`.
    """
    bare = [k for k, point in enumerate(points) if point.radius == 0.0 and not point.semi_axes]
    bare = bare if len(bare) > whole else []
    missed = np.full(len(points), np.inf)
    missed[bare] = 0.0
    places = np.array([points[k].position for k in bare]).reshape(-1, 3)
    for k, distance in corners_near(places, _AXES, _BETWEEN):
        missed[bare[k]] = distance
    return missed


def corners_near(places: np.ndarray, first: np.ndarray, depth: float) -> list[tuple[int, float]]:
    """Indices of places, (n, 3) [m], whose hull is near that of all.

    To those that lie farthest in the directions `first`, (m, 3), the one farthest from the present
    hull is added until none is further than `depth` from its planes. With each is its distance
    from the hull of those before, infinite of the first ones.
    """
    if len(places) == 0:
        return []
    ends = np.argmax(first @ (places - places.mean(axis=0)).T, axis=1)
    chosen = [(int(k), np.inf) for k in np.unique(ends)]
    try:
        hull = scipy.spatial.ConvexHull(places[[k for k, _ in chosen]], incremental=True)
        left = np.sort(scipy.spatial.ConvexHull(places).vertices)  # what is far is a corner
        # A larger hull misses the others by no more: what was found before is a bound.
        bounds = (hull.equations[:, :3] @ places[left].T + hull.equations[:, 3:]).max(axis=0)
        while (bound := bounds[best := int(np.argmax(bounds))]) > depth:
            point = places[left[best]]
            bounds[best] = (hull.equations[:, :3] @ point + hull.equations[:, 3]).max()
            if bounds[best] >= bound:
                chosen.append((int(left[best]), float(bound)))
                hull.add_points(point[None])
                bounds[best] = -np.inf
        return chosen
    except (scipy.spatial.QhullError, ValueError):  # of flat meshes, which have no hull
        return chosen


@functools.cache
def directions(count: int) -> np.ndarray:
    """Directions spread evenly over the sphere, shape (count, 3)."""
    k = np.arange(count)
    z = 1.0 - (2.0 * k + 1.0) / count
    turn = np.pi * (1.0 + np.sqrt(5.0)) * k
    flat = np.sqrt(1.0 - z**2)
    return np.column_stack([flat * np.cos(turn), flat * np.sin(turn), z])


def spread(
    positions: np.ndarray, count: int, *, away_from: np.ndarray | None = None, nearest: float = 0.0
) -> list[int]:
    """At most `count` indices of positions, (n, 3) [m], far from each other, as they are chosen.

    They are far from `away_from`, (m, 3), as well; where there are none, the first is the one
    farthest from the origin. Points nearer to each other than `nearest` [m] are not chosen.
    """
    chosen: list[int] = []
    apart = np.full(len(positions), np.inf)
    for other in () if away_from is None else away_from:
        apart = np.minimum(apart, np.linalg.norm(positions - other, axis=1))
    free = np.linalg.norm(positions, axis=1) if np.isinf(apart).all() else apart
    while len(chosen) < min(count, len(positions)):
        best = int(np.argmax(free))
        if apart[best] < nearest:
            break
        chosen.append(best)
        free = apart = np.minimum(apart, np.linalg.norm(positions - positions[best], axis=1))
        apart[best] = -np.inf  # never again, not even among points that coincide
    return chosen


def _extent(centre: np.ndarray, radius: float, semi_axes: np.ndarray) -> float:
    """Largest distance from the origin of a sphere swept over a disc, or a bound of it [m]."""
    sizes = np.linalg.norm(semi_axes, axis=1)
    level = semi_axes @ centre / np.where(sizes > 0.0, sizes, 1.0)
    across = np.linalg.norm(level) + sizes.max()
    along = np.sqrt(max(0.0, float(centre @ centre - level @ level)))
    return float(np.hypot(along, across)) + radius


def _lowest_links(points: LinkPoints) -> list[tuple[str, int]]:
    """The links that stand lowest, to a centimetre, each with its joint."""
    body, joints = points.body, range(1, points.body.model.njoints)
    links = [(link, joint) for joint in joints for link in moving_links(body, joint)]
    if not links:
        return []
    own = [points.of(link) for link, _ in links]
    placed = place_points(body.model, list(itertools.chain(*own)), "")
    ends = np.cumsum([len(group) for group in own])[:-1]
    heights = [x.min() for x in np.split(placed.bottoms(body.model, body.standing), ends)]
    level = min(heights) + LEVEL
    return [at for at, height in zip(links, heights, strict=True) if height < level]


def shapes_of(body: RobotModel, link: str) -> list[pin.GeometryObject]:
    """The collision shapes of a link."""
    frames = body.model.frames
    return [s for s in body.collision.geometryObjects if frames[s.parentFrame].name == link]


def placement_in_link(body: RobotModel, shape: pin.GeometryObject) -> pin.SE3:
    """Placement of a collision shape in the frame of its link."""
    return body.model.frames[shape.parentFrame].placement.inverse() * shape.placement


def extreme_points(shape: coal.CollisionGeometry) -> list[Swept]:
    """Spheres, some swept over a disc or an ellipsoid, by which a shape touches, in its frame."""
    still = np.zeros((3, 3))
    if isinstance(shape, coal.Sphere):
        return [(np.zeros(3), float(shape.radius), still)]
    if isinstance(shape, coal.Capsule):
        ends = np.array([[0.0, 0.0, -shape.halfLength], [0.0, 0.0, shape.halfLength]])
        return [(end, float(shape.radius), still) for end in ends]
    if isinstance(shape, coal.Box):
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * shape.halfSide
        return [(corner, 0.0, still) for corner in corners]
    if isinstance(shape, coal.Cylinder):
        disc, half = np.diag([shape.radius, shape.radius, 0.0]), shape.halfLength
        return [(np.array([0.0, 0.0, end]), 0.0, disc) for end in (-half, half)]
    if isinstance(shape, coal.Cone):
        tip = np.array([0.0, 0.0, shape.halfLength])
        return [(-tip, 0.0, np.diag([shape.radius, shape.radius, 0.0])), (tip, 0.0, still)]
    if isinstance(shape, coal.Ellipsoid):
        return [(np.zeros(3), 0.0, np.diag(shape.radii))]
    return [(vertex, 0.0, still) for vertex in _mesh_extremes(mesh_vertices(shape))]


def _mesh_extremes(vertices: np.ndarray) -> np.ndarray:
    """Vertices that lie farthest in `DIRECTIONS`, and others whose hull is near that of all."""
    found = vertices[sorted(k for k, _ in corners_near(vertices, DIRECTIONS, _BETWEEN))]
    kept = np.ones(len(found), dtype=bool)
    for first, second in sorted(scipy.spatial.KDTree(found).query_pairs(SAME_POINT)):
        kept[second] &= not kept[first]
    return found[kept]


def points_on_foot(points: LinkPoints, link: str) -> list[ContactPoint]:
    """Contact points of a foot: one sphere where it is round, else those of its geometry.

    Many robots have meshes of hundreds of vertices for feet that are balls of rubber. A foot is
    round if flat ground cannot tell it from a sphere, to 2 mm and 15 % of the radius, wherever the
    ground's normal is within 60 degrees of the leg.
    """
    sphere = _sphere_of(points.body, link)
    if sphere is None:
        return points.of(link)
    centre, radius = sphere
    return [ContactPoint(name=link, link=link, position=centre.tolist(), radius=radius)]


def _sphere_of(body: RobotModel, link: str) -> tuple[np.ndarray, float] | None:
    """Centre, in the frame of the link, and radius of the sphere that a round foot is like."""
    shapes = shapes_of(body, link)
    meshes = coal.BVHModelBase | coal.ConvexBase
    if not shapes or not all(isinstance(shape.geometry, meshes) for shape in shapes):
        return None
    frame = body.model.frames[shapes[0].parentFrame].placement
    placed = [(placement_in_link(body, s), mesh_vertices(s.geometry)) for s in shapes]
    vertices = np.concatenate([x @ M.rotation.T + M.translation for M, x in placed])
    leg = frame.rotation.T @ frame.act(vertices.mean(axis=0))  # from the joint that moves it
    if np.linalg.norm(leg) == 0.0:
        return None
    normals = directions(_NORMALS)
    downwards = normals[normals @ (leg / np.linalg.norm(leg)) >= _SIDEWAYS]
    # flat ground of normal -d touches at h(d) = max d'x, which is d'c + r of a sphere
    reach = (downwards @ vertices.T).max(axis=1)
    terms = np.column_stack([downwards, np.ones(len(downwards))])
    *centre, radius = np.linalg.lstsq(terms, reach)[0]
    uneven = float(np.abs(terms @ [*centre, radius] - reach).max())
    if radius <= 0.0 or uneven > min(_UNEVEN, _SHARE * radius):
        return None
    return np.array(centre), float(radius)
