"""Pairs of contact spheres and shapes, and of polytopes, as arrays for the kernels."""

from __future__ import annotations

import numpy as np

from nmdp_pin.dynamics.polytopes import polytope_pairs
from nmdp_pin.kernels.contacts import FLAT, MINIMA, REACH, RIM, Candidates, Contacts, Places
from nmdp_pin.kernels.polytopes import NONE
from nmdp_pin.kernels.terrain import MESH
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain
from nmdp_pin.terrain.triangles import joined


def n_pairs_of(robot: Robot, terrain: Terrain) -> int:
    """Number above those by which a warm start knows the pairs of a robot on a terrain."""
    candidates = candidates_of(robot, terrain)
    polytopes = candidates.polytopes
    most = max(len(polytopes.vertices), len(polytopes.edges))
    return len(candidates.rows) + 4 * len(polytopes.pairs) * most**2


def _surfaces(robot: Robot, terrain: Terrain) -> dict[int, Terrain]:
    """The surfaces of the world, which is joint 0, and of bodies."""
    return {0: terrain} | {int(joint): surface for joint, surface in robot.surfaces.items()}


def candidates_of(robot: Robot, terrain: Terrain) -> Candidates:
    """The pairs of a robot on a terrain: those of contact points in their order, then of polytopes.

    The row of a mesh is repeated, once for each of the local minima of the distance to a sphere.
    Corners of polytopes make no pairs with the polytopes that theirs touch as such.

    Args:
        robot: robot with contact points and surfaces of bodies.
        terrain: static world.
    """
    kinds, first, meshes = [], 0, 0
    owners: list[int] = []
    surfaces = _surfaces(robot, terrain)
    rows_of: dict[int, list[int]] = {}
    for joint, surface in surfaces.items():
        own = surface.arrays.kinds
        rows_of[joint] = list(range(len(owners), len(owners) + len(own)))
        owners += [joint] * len(own)
        kinds.append(own + np.array([0, first, meshes]))
        first += len(surface.shapes)
        meshes += len(surface.arrays.triangles.trees)
    table = np.concatenate(kinds)
    points = robot.contact_points
    polytopes, needless = polytope_pairs(robot, surfaces, rows_of)
    pairs: list[tuple[int, int, int, int]] = []  # point, slot, row, pair of polytopes
    for point, (rim, joint) in enumerate(zip(points.rims, points.touches.tolist(), strict=True)):
        for slot in range(RIM if rim.any() else 1):
            for row in rows_of[joint]:
                if (point, row) not in needless:
                    minima = table[row, 0] == MESH and not rim.any()
                    pairs += [(point, slot, row, -1)] * (MINIMA if minima else 1)
    for pair, (_, b) in enumerate(polytopes.pairs.tolist()):
        point = int(polytopes.points[polytopes.first_points[pair, 0]])
        pairs += [(point, RIM + k, int(polytopes.rows[b]), pair) for k in range(FLAT)]
    index, slots, rows, of_polytopes = np.array(pairs, np.int64).reshape(-1, 4).T.copy()
    bodies = np.stack([points.joints, points.touches], axis=1).astype(np.int64)
    return Candidates(
        bodies=np.ascontiguousarray(bodies[index]).reshape(-1, 2),
        local=np.ascontiguousarray(points.positions[index]).reshape(-1, 3),
        radii=np.asarray(points.radii, dtype=float)[index],
        rows=rows,
        points=index,
        rims=np.ascontiguousarray(points.rims[index]).reshape(-1, 3),
        slots=slots,
        kinds=table,
        shapes=np.concatenate([surface.arrays.shapes for surface in surfaces.values()]),
        triangles=joined([surface.arrays.triangles for surface in surfaces.values()]),
        owners=np.array(owners, np.int64),
        polytopes=polytopes,
        pairs=of_polytopes,
        reach=REACH,
        distant=False,
        rolling=False,
    )


def new_contacts(candidates: Candidates) -> Contacts:
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
        directions=np.zeros((len(candidates.polytopes.pairs), 3)),
        reference=np.zeros((k, 4, 3)),
    )


def new_places(k: int) -> Places:
    """Memory for the places of k contacts."""
    return Places(
        placements=np.zeros((k, 4, 3)),
        centre=np.zeros((k, 3)),
        depth=np.zeros(k),
        normal=np.zeros((k, 3)),
        arm=np.zeros((k, 3)),
        curvature=np.zeros((k, 3, 3)),
        curved=np.zeros(k, dtype=bool),
        covered=np.zeros(k, dtype=bool),
        friction=np.zeros(k),
        surface=np.full(k, -1),
    )
