"""Pairs of contact spheres and shapes, and of polytopes, as arrays for the kernels."""

from collections.abc import Mapping

import numpy as np

from nmdp_pin._dynamics.geometry.blocks import balls_around, blocks_of, boxes_around
from nmdp_pin._dynamics.geometry.hulls import placed
from nmdp_pin._dynamics.geometry.polytopes import polytope_pairs
from nmdp_pin._dynamics.geometry.solid_pairs import SolidCalls, solid_pairs
from nmdp_pin._dynamics.geometry.world_points import touches
from nmdp_pin._kernels.compiler.callbacks import register
from nmdp_pin._kernels.geometry.contacts import (
    FLAT,
    MINIMA,
    REACH,
    RIM,
    SOLID,
    ContactFrames,
    ContactPairs,
    Contacts,
    most_features,
)
from nmdp_pin._kernels.geometry.polytopes import KINDS, NONE, Polytopes
from nmdp_pin._kernels.geometry.primitives import BOX, CONE, CYLINDER
from nmdp_pin._kernels.geometry.rims import is_rim
from nmdp_pin._kernels.geometry.terrain import MESH, PLANE
from nmdp_pin._robot import Robot
from nmdp_pin._robot.body_surfaces import shaped_joints, surfaces_of
from nmdp_pin._terrain import Cone, Cylinder, Terrain
from nmdp_pin._terrain.shape import Solid
from nmdp_pin._terrain.triangles import joined

_SAME = 1e-6  # [m] between a disc and the end of a cylinder that it is


def n_pairs_of(candidates: ContactPairs) -> int:
    """Number above those by which a warm start knows pairs."""
    most = int(most_features(candidates.polytopes, candidates.triangles))
    return len(candidates.rows) + KINDS * len(candidates.polytopes.pairs) * most**2


def candidates_of(robot: Robot, terrain: Terrain) -> ContactPairs:
    """Pairs of a robot and a terrain: of its points in their order, of the world's, of polytopes.

    The row of a mesh is repeated, once for each of the local minima of the distance to a sphere.
    Corners of polytopes make no pairs with the polytopes that theirs touch as such.
    """
    surfaces = {0: terrain, **robot.surfaces, **_links(robot, terrain)}  # by joint
    kinds, first, meshes = [], 0, 0
    owners: list[int] = []
    rows_of: dict[int, list[int]] = {}
    for joint, surface in surfaces.items():
        table = surface.arrays.kinds
        rows_of[joint] = list(range(len(owners), len(owners) + len(table)))
        owners += [joint] * len(table)
        kinds.append(table + np.array([0, first, meshes]))
        first += len(surface.shapes)
        meshes += len(surface.arrays.triangles.trees)
    table = np.concatenate(kinds)
    points = robot.contact_points
    polytopes, needless = polytope_pairs(robot, surfaces, rows_of)
    of_pairs = np.array(owners, np.int64)[polytopes.rows[polytopes.pairs]]
    pairs: list[tuple[int, int, int, int]] = []  # point, slot, row, pair of polytopes
    for point, (axes, joint) in enumerate(
        zip(points.semi_axes, points.touches.tolist(), strict=True)
    ):
        disc = axes.any() and not axes[2].any()
        for slot in range(RIM if disc else 1):
            for row in rows_of[joint]:
                if (point, row) not in needless:
                    minima = table[row, 0] == MESH and slot == 0
                    pairs += [(point, slot, row, -1)] * (MINIMA if minima else 1)
    n, of_world = len(pairs), touches(robot, surfaces, rows_of)
    pairs += [(touch.reported, touch.slot, touch.row, -1) for touch in of_world]
    watched, begin = solid_pairs(robot, surfaces, rows_of), len(pairs)
    for pair in watched:
        slot = RIM + FLAT + len(pairs)
        pairs += [(pair.reported, slot + k, pair.rows[1], -1) for k in range(SOLID)]
    for x, (_, b) in enumerate(polytopes.pairs.tolist()):
        point = int(polytopes.points[polytopes.first_points[x, 0]])
        pairs += [(point, RIM + k, int(polytopes.rows[b]), x) for k in range(FLAT)]
    index, slots, rows, of_polytopes = np.array(pairs, np.int64).reshape(-1, 4).T.copy()
    bodies = np.stack([points.joints, points.touches], axis=1).astype(np.int64)[index]
    bodies[of_polytopes >= 0] = of_pairs[of_polytopes[of_polytopes >= 0]]
    local, axes = points.positions[index], points.semi_axes[index]
    radii, shown = np.asarray(points.radii, dtype=float)[index], rows.copy()
    for k, touch in enumerate(of_world, n):
        sphere = touch.point
        bodies[k], local[k], radii[k] = (0, touch.body), sphere.centre, sphere.radius
        axes[k], shown[k] = sphere.semi_axes, sphere.row
    extents, solid = np.zeros(len(index)), np.zeros(len(index), dtype=bool)
    for x, pair in enumerate(watched):
        of_pair, top = slice(begin + SOLID * x, begin + SOLID * (x + 1)), pair.solids[0]
        bodies[of_pair], local[of_pair] = pair.bodies, top.placement.translation
        radii[of_pair], axes[of_pair], solid[of_pair] = 0.0, 0.0, True
        extents[of_pair] = np.linalg.norm(top.half_extents)
    sizes = extents + radii + np.linalg.norm(axes, axis=2).max(axis=1, initial=0.0)
    blocks = blocks_of(bodies[of_polytopes < 0], len(bodies))
    facing = _facing(bodies, local, radii, axes, surfaces)
    plain = (table[rows, 0] == PLANE) & (of_polytopes < 0) & ~axes.any(axis=(1, 2))
    return ContactPairs(
        bodies=bodies.reshape(-1, 2),
        local=local.reshape(-1, 3),
        radii=radii,
        rows=rows,
        surfaces=shown,
        points=index,
        carriers=points.joints[: points.n_terrain].astype(np.int64),
        places=points.positions[: points.n_terrain].copy(),
        semi_axes=axes.reshape(-1, 3, 3),
        facing=facing,
        pieces=_pieces(rows, bodies, local, facing, polytopes, np.array(owners)),
        slots=slots,
        kinds=table,
        shapes=np.concatenate([surface.arrays.shapes for surface in surfaces.values()]),
        pointed=_pointed(table, np.array(owners), polytopes),
        triangles=joined([surface.arrays.triangles for surface in surfaces.values()]),
        owners=np.array(owners, np.int64),
        blocks=blocks,
        balls=balls_around(blocks, local, sizes),
        boxes=boxes_around(blocks, bodies, of_polytopes, surfaces),
        polytopes=polytopes,
        pairs=of_polytopes,
        plain=plain,
        solid=solid,
        solids=register(SolidCalls(watched, begin), solid) if watched else 0,
        shaped=not plain.all() or max(map(len, rows_of.values())) > 1,
        rise=np.zeros(len(index)),
        reach=REACH,
        distant=False,
        rolling=False,
    )


def _pointed(table: np.ndarray, owners: np.ndarray, polytopes: Polytopes) -> np.ndarray:
    """Whether edges, rims or tips of shapes touch by themselves, shape (s,).

    Those of boxes, cylinders, cones, and convex meshes of the world.
    """
    pointed: np.ndarray = np.isin(table[:, 0], (BOX, CYLINDER, CONE))
    hulls = polytopes.rows[np.diff(polytopes.first[:, 1]) > 0]
    pointed[hulls[owners[hulls] == 0]] = True
    return pointed


def _pieces(
    rows: np.ndarray,
    bodies: np.ndarray,
    local: np.ndarray,
    facing: np.ndarray,
    polytopes: Polytopes,
    owners: np.ndarray,
) -> np.ndarray:
    """What the candidates that touch cylinders and cones are parts of, shape (k,).

    It is the polytope of a corner, a rim of the solid of a rim or tip, and -1 of others.
    """
    found = np.full(len(rows), -1)
    rims = [bool(is_rim(polytopes, p)) for p in range(len(polytopes.rows))]
    pairs = polytopes.pairs.tolist()
    for touched, own in (*pairs, *(pair[::-1] for pair in pairs)):
        if not rims[touched]:
            continue
        corners = polytopes.vertices[polytopes.first[own, 0] : polytopes.first[own + 1, 0]]
        candidates = rows == polytopes.rows[touched]
        candidates &= bodies[:, 0] == owners[polytopes.rows[own]]
        for k in np.flatnonzero(candidates):
            off = corners - local[k]
            if rims[own]:  # on its axis
                is_part = facing[k].any() and np.abs(np.cross(off[0], off[1])).max() < _SAME**2
            else:
                is_part = np.abs(off).max(axis=1).min(initial=np.inf) < _SAME
            if is_part:
                found[k] = own
    return found


def _facing(
    bodies: np.ndarray,
    local: np.ndarray,
    radii: np.ndarray,
    axes: np.ndarray,
    surfaces: Mapping[int, Terrain],
) -> np.ndarray:
    """Directions out of rims of cylinders and cones and out of tips, and cosines, shape (k, 4).

    A direction is as long as the radius; a surface whose normal leads further out than the cosine
    does not touch the rim or tip.
    """
    found = np.zeros((len(bodies), 4))
    discs = np.any(axes != 0.0, axis=(1, 2))
    flat: np.ndarray = ~axes[:, 2].any(axis=1) & (radii == 0.0)  # discs and points
    for body, surface in surfaces.items():
        own = np.flatnonzero(flat & (bodies[:, 0] == body))
        for shape in surface.shapes:
            if not isinstance(shape, Cylinder | Cone):
                continue
            out, least = shape.radius * shape.placement.rotation[:, 2], 0.0
            if isinstance(shape, Cone):
                least = shape.radius / np.hypot(shape.radius, shape.length)
            for side in (-1.0, 1.0):
                centre = placed(shape, np.array([0.0, 0.0, 0.5 * side * shape.length]))
                across = np.abs(axes[own] @ out).max(axis=1, initial=0.0) < _SAME
                alike: np.ndarray = np.where(discs[own], across, side * least > 0.0)
                alike &= np.abs(centre - local[own]).max(axis=1, initial=0.0) < _SAME
                found[own[alike]] = *(side * out), -side * least
    return found


def _links(robot: Robot, terrain: Terrain) -> dict[int, Terrain]:
    """Surfaces of the links that touch solids of the world, besides those of `Robot.surfaces`."""
    if not any(isinstance(shape, Solid) for shape in terrain.shapes):
        return {}
    touching = {*robot.contact_points.joints[robot.contact_points.touches == 0].tolist()}
    return surfaces_of(robot, sorted((shaped_joints(robot) & touching) - {*robot.surfaces}))[0]


def new_contacts(candidates: ContactPairs) -> Contacts:
    """A list of contacts with all candidates in it."""
    k = len(candidates.rows)
    return Contacts(
        n=np.full(1, k),
        index=np.arange(k),
        bodies=candidates.bodies.copy(),
        listed=np.ones(k, dtype=bool),
        faces=np.full(k, -1),
        held=candidates.local.copy(),
        rolls=np.zeros(k, dtype=bool),
        features=np.full((k, 3), NONE),
        planes=np.tile([0.0, 0.0, 1.0, 0.0], (k, 1)),
        feature_margin=np.zeros((k, 1)),
        directions=np.zeros((len(candidates.polytopes.pairs), 3)),
        reference=np.zeros((k, 4, 3)),
    )


def new_places(k: int) -> ContactFrames:
    """Memory for the places of k contacts."""
    return ContactFrames(
        placements=np.zeros((k, 4, 3)),
        centre=np.zeros((k, 3)),
        depth=np.zeros(k),
        normal=np.zeros((k, 3)),
        arm=np.zeros((k, 3)),
        curvature=np.zeros((k, 3, 3)),
        curved=np.zeros(k, dtype=bool),
        N=np.zeros((k, 3, 6)),
        L=np.zeros((k, 3, 6)),
        on_internal_edge=np.zeros(k, dtype=bool),
        friction=np.zeros(k),
        surface=np.full(k, -1),
    )
