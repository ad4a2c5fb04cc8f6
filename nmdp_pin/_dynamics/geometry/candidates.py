"""Pairs of contact spheres and shapes, and of polytopes, as arrays for the kernels."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from nmdp_pin._dynamics.geometry.blocks import balls_around, blocks_of, boxes_around
from nmdp_pin._dynamics.geometry.hulls import placed
from nmdp_pin._dynamics.geometry.pair_friction import own_rows, pair_frictions
from nmdp_pin._dynamics.geometry.pair_stiffness import pair_stiffnesses
from nmdp_pin._dynamics.geometry.polytopes import polytope_pairs
from nmdp_pin._dynamics.geometry.solid_pairs import SolidCalls, SolidPair, solid_pairs
from nmdp_pin._dynamics.geometry.world_points import contacts_of_rim, touches
from nmdp_pin._kernels.compiler.callbacks import register
from nmdp_pin._kernels.geometry.contacts import (
    DISC,
    ELLIPSOID_SURFACE,
    N_FEATURES,
    N_MINIMA,
    N_OVERLAPS,
    N_RIM,
    N_SOLIDS,
    OVERLAP,
    POLYTOPES,
    REACH,
    SPHERE_MESH,
    SPHERE_PLANE,
    SPHERE_SOLID,
    ContactFrames,
    ContactPairs,
    Contacts,
    most_features,
)
from nmdp_pin._kernels.geometry.polytopes import FEATURE_KINDS, NONE, WORLD_MESH, Polytopes
from nmdp_pin._kernels.geometry.primitives import BOX, CONE, CYLINDER
from nmdp_pin._kernels.geometry.shape_table import INDEX, KIND
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
    return len(candidates.rows) + FEATURE_KINDS * len(candidates.polytopes.pairs) * most**2


def n_contacts_of(candidates: ContactPairs) -> int:
    """Largest number of contacts of a step."""
    pairs, counts = np.unique(candidates.solids_of, return_counts=True)
    return int(np.where(pairs < 0, counts, np.minimum(counts, N_SOLIDS)).sum())


class _Pair(NamedTuple):
    """A pair that may touch; fields as in `ContactPairs`, one of each, and its reach [m].

    `own` is the row of the shape that touches that of `surface`, -1: what touches it has none.
    """

    kind: int
    bodies: tuple[int, int]
    local: np.ndarray
    radius: float
    semi_axes: np.ndarray
    row: int
    surface: int
    point: int
    slot: int
    own: int
    polytopes: int = -1
    extent: float = 0.0


class _Surfaces(NamedTuple):
    """Surfaces by joint, the world's 0; the rows of their shapes; kinds and owners of the rows."""

    by_joint: Mapping[int, Terrain]
    rows_of: Mapping[int, list[int]]
    kinds: np.ndarray
    owners: np.ndarray


def candidates_of(robot: Robot, terrain: Terrain, power: float = 1.0) -> ContactPairs:
    """Pairs of a robot and a terrain: of its points in their order, of the world's, of polytopes.

    The row of a mesh is repeated, once for each of the local minima of the distance to a sphere.
    Corners of polytopes make no pairs with the polytopes that theirs touch as such. The stiffnesses
    are those of bodies that state one, in series with the exponent `power` of the depth.
    """
    tables = _surfaces(robot, terrain)
    surfaces, owners = tables.by_joint, tables.owners
    polytopes, needless = polytope_pairs(robot, surfaces, tables.rows_of)
    pairs = [*_pairs_of_points(robot, tables, needless), *_pairs_of_world(robot, tables)]
    watched, begin = solid_pairs(robot, surfaces, tables.rows_of), len(pairs)
    pairs += _pairs_of_solids(watched, begin)
    pairs += _pairs_of_polytopes(robot, polytopes, owners)
    kinds = np.array([pair.kind for pair in pairs], np.int64)
    bodies = np.array([pair.bodies for pair in pairs], np.int64).reshape(-1, 2)
    local = np.array([pair.local for pair in pairs]).reshape(-1, 3)
    radii = np.array([pair.radius for pair in pairs], dtype=float)
    axes = np.array([pair.semi_axes for pair in pairs]).reshape(-1, 3, 3)
    rows = np.array([pair.row for pair in pairs], np.int64)
    shapes = tables.kinds[rows, KIND]
    extents = np.array([pair.extent for pair in pairs], dtype=float)
    sizes = extents + radii + np.linalg.norm(axes, axis=2).max(axis=1, initial=0.0)
    blocks = blocks_of(bodies[kinds != POLYTOPES], len(bodies))
    facing, points = _facing(bodies, local, radii, axes, surfaces), robot.contact_points
    touched = np.array([pair.surface for pair in pairs], np.int64)
    own = np.array([pair.own for pair in pairs], np.int64)
    of = np.array([pair.polytopes for pair in pairs], np.int64)
    touching = np.where(own == rows, touched, own)
    friction, rubbing = pair_frictions(robot, surfaces, bodies, touched, own)
    return ContactPairs(
        contact_kinds=kinds,
        bodies=bodies,
        local=local,
        radii=radii,
        rows=rows,
        surfaces=touched,
        friction=friction,
        rubbing=np.append(tables.kinds[:, INDEX], -1)[rubbing],
        stiffness=pair_stiffnesses(robot, surfaces, bodies, touched, own, power),
        points=np.array([pair.point for pair in pairs], np.int64),
        carriers=points.joints[: points.n_terrain].astype(np.int64),
        places=points.positions[: points.n_terrain].copy(),
        semi_axes=axes,
        facing=facing,
        overlap_rows=_overlap_rows(watched, kinds, touching, rows),
        solids_of=_solids_of(of, polytopes, touching, rows, tables.kinds[:, KIND]),
        slots=np.array([pair.slot for pair in pairs], np.int64),
        kinds=tables.kinds,
        shapes=np.concatenate([surface.arrays.shapes for surface in surfaces.values()]),
        pointed=_pointed(tables.kinds, owners, polytopes),
        triangles=joined([surface.arrays.triangles for surface in surfaces.values()]),
        owners=owners,
        blocks=blocks,
        balls=balls_around(blocks, local, sizes),
        boxes=boxes_around(blocks, bodies, kinds, surfaces),
        polytopes=polytopes,
        pairs=of,
        solids=register(SolidCalls(watched, begin), kinds) if watched else 0,
        shaped=bool((shapes != PLANE).any()) or max(map(len, tables.rows_of.values())) > 1,
        swept=bool((axes.any(axis=(1, 2)) & (shapes == PLANE)).any()),
        rise=np.zeros(len(pairs)),
        reach=REACH,
        distant=False,
        rolling=False,
    )


def _surfaces(robot: Robot, terrain: Terrain) -> _Surfaces:
    """Surfaces of the world, of bodies that others touch, and of what touches solids."""
    surfaces = {0: terrain, **robot.surfaces, **_links(robot, terrain)}
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
    return _Surfaces(surfaces, rows_of, np.concatenate(kinds), np.array(owners, np.int64))


def _kind_of(axes: int, shape: int) -> int:
    """Kind of the contact of a sphere, swept along as many semi-axes, with a shape of a kind."""
    if axes:
        return ELLIPSOID_SURFACE if axes > 2 else DISC
    return {PLANE: SPHERE_PLANE, MESH: SPHERE_MESH}.get(shape, SPHERE_SOLID)


def _count_of(semi_axes: np.ndarray) -> Any:
    """Number of semi-axes over which spheres are swept: 0, 2 or 3, shapes (..., 3, 3) and (...)."""
    swept = semi_axes.any(axis=(-2, -1))
    return np.where(swept, np.where(semi_axes[..., 2, :].any(axis=-1), 3, 2), 0)


def _pairs_of_points(
    robot: Robot, tables: _Surfaces, needless: set[tuple[int, int]]
) -> Iterator[_Pair]:
    """Pairs of the contact points, but for those with rows that need none."""
    points, own = robot.contact_points, own_rows(robot, tables.by_joint, tables.rows_of)
    kinds, surfaces = tables.kinds[:, KIND].tolist(), tables.by_joint.values()
    shapes = [s.shapes[index] for s in surfaces for index in s.arrays.kinds[:, INDEX].tolist()]
    columns = points.joints.tolist(), points.touches.tolist(), _count_of(points.semi_axes).tolist()
    places = zip(points.positions, points.radii.tolist(), points.semi_axes, strict=True)
    for point, (place, joint, touched, count) in enumerate(zip(places, *columns, strict=True)):
        for slot in range(N_RIM if count == 2 else 1):
            for row in tables.rows_of[touched]:
                if slot >= contacts_of_rim(shapes[row]):
                    continue
                apart = own[point] >= 0 and not shapes[own[point]].meets(shapes[row])
                if (point, row) not in needless and not apart:
                    shape = kinds[row]
                    kind, bodies = _kind_of(count, shape), (joint, touched)
                    pair = _Pair(kind, bodies, *place, row, row, point, slot, own[point])
                    yield from [pair] * (N_MINIMA if shape == MESH and slot == 0 else 1)


def _pairs_of_world(robot: Robot, tables: _Surfaces) -> Iterator[_Pair]:
    """Pairs of points of the world and shapes of links."""
    for touch in touches(robot, tables.by_joint, tables.rows_of):
        sphere, row = touch.point, touch.row
        axes, kind = (
            sphere.semi_axes,
            _kind_of(_count_of(sphere.semi_axes), int(tables.kinds[row, KIND])),
        )
        centre, point, bodies = sphere.centre, touch.reported, (0, touch.body)
        place = centre, sphere.radius, axes
        yield _Pair(kind, bodies, *place, row, sphere.row, point, touch.slot, row)


def _pairs_of_solids(watched: list[SolidPair], begin: int) -> Iterator[_Pair]:
    """Pairs of solids whose overlap coal finds; the first one has the number `begin`."""
    for x, pair in enumerate(watched):
        top, row, none = pair.solids[0], pair.rows[1], np.zeros((3, 3))
        centre, extent = top.placement.translation, float(np.linalg.norm(top.half_extents))
        for k in range(N_OVERLAPS):
            slot = N_RIM + N_FEATURES + begin + N_OVERLAPS * x + k
            yield _Pair(
                *(OVERLAP, pair.bodies, centre, 0.0, none, row, row, pair.reported, slot),
                pair.rows[0],
                extent=extent,
            )


def _overlap_rows(
    watched: list[SolidPair], kinds: np.ndarray, touching: np.ndarray, touched: np.ndarray
) -> np.ndarray:
    """Rows of `Contacts.overlaps` of candidates, by the rows of their shapes, shape (k,)."""
    numbers = {pair.rows: 2 * x for x, pair in enumerate(watched)}
    numbers |= {rows[::-1]: x + 1 for rows, x in numbers.items()}
    both = zip(touching.tolist(), touched.tolist(), strict=True)
    found = np.array([numbers.get(rows, -1) for rows in both], np.int64)
    return np.where(kinds == OVERLAP, -1, found)


def _solids_of(
    pairs: np.ndarray,
    polytopes: Polytopes,
    touching: np.ndarray,
    touched: np.ndarray,
    shapes: np.ndarray,
) -> np.ndarray:
    """Numbers of the pairs of solids of candidates, by the rows of their shapes, shape (k,).

    Pairs that have no more than two polytopes are not limited: -1, as for others than solids.
    """
    convex = np.append(polytopes.kinds != WORLD_MESH, False)[
        np.append(polytopes.pairs[:, 1], -1)[pairs]
    ]
    solid: np.ndarray = (touching >= 0) & (convex | ~np.isin(shapes[touched], (PLANE, MESH)))
    both = np.sort([touching, touched], axis=0)[:, solid]
    _, of, counts = np.unique(both, axis=1, return_inverse=True, return_counts=True)
    limited = counts > N_FEATURES
    found = np.full(len(pairs), -1)
    found[solid] = np.where(limited, np.cumsum(limited) - 1, -1)[of.ravel()]
    return found


def _pairs_of_polytopes(robot: Robot, polytopes: Polytopes, owners: np.ndarray) -> Iterator[_Pair]:
    """Pairs of polytopes."""
    points = robot.contact_points
    for x, (a, b) in enumerate(polytopes.pairs.tolist()):
        point, row = int(polytopes.points[polytopes.first_points[x, 0]]), int(polytopes.rows[b])
        bodies = int(owners[polytopes.rows[a]]), int(owners[row])
        centre, radius, axes = points.positions[point], points.radii[point], points.semi_axes[point]
        for k in range(N_FEATURES):
            slot = N_RIM + k
            own = int(polytopes.rows[a])
            yield _Pair(POLYTOPES, bodies, centre, radius, axes, row, row, point, slot, own, x)


def _pointed(table: np.ndarray, owners: np.ndarray, polytopes: Polytopes) -> np.ndarray:
    """Whether edges, rims or tips of shapes touch by themselves, shape (s,).

    Those of boxes, cylinders, cones, and convex meshes of the world.
    """
    pointed: np.ndarray = np.isin(table[:, 0], (BOX, CYLINDER, CONE))
    hulls = polytopes.rows[np.diff(polytopes.first[:, 1]) > 0]
    pointed[hulls[owners[hulls] == 0]] = True
    return pointed


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
    """A list of contacts, the first candidates, as many as a step may have."""
    k, n = len(candidates.rows), n_contacts_of(candidates)
    solids = np.count_nonzero(candidates.contact_kinds == OVERLAP) // N_OVERLAPS
    n_solids = int(candidates.solids_of.max(initial=-1)) + 1
    return Contacts(
        n=np.full(1, n),
        index=np.arange(k),
        bodies=candidates.bodies.copy(),
        listed=np.ones(k, dtype=bool),
        chosen=np.ones(k, dtype=bool),
        gaps=np.zeros(k),
        nearest=np.zeros((n_solids, N_SOLIDS), np.int64),
        n_nearest=np.zeros(n_solids, np.int64),
        left_out=np.zeros(k, dtype=bool),
        losses=np.zeros(k, np.int64),
        overlaps=np.zeros((2 * solids, 5)),
        faces=np.full(k, -1),
        held=candidates.local.copy(),
        rolls=np.zeros(k, dtype=bool),
        features=np.full((k, 3), NONE),
        planes=np.tile([0.0, 0.0, 1.0, 0.0], (k, 1)),
        feature_margin=np.zeros((k, 1)),
        directions=np.zeros((len(candidates.polytopes.pairs), 3)),
        reference=np.zeros((n, 4, 3)),
        rolling=candidates.rolling,
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
        stiffness=np.zeros(k),
        surface=np.full(k, -1),
    )
