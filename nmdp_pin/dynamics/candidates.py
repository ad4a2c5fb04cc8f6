"""Pairs of contact spheres and shapes as arrays for the kernels."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contacts import MINIMA, REACH, RIM, Candidates, Contacts, Places
from nmdp_pin.kernels.terrain import MESH
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain
from nmdp_pin.terrain.triangles import joined


def pairs_of(robot: Robot, terrain: Terrain) -> list[tuple[int, int, int]]:
    """Contact points, places on their rims and rows of the shapes, in the order of the points.

    The row of a mesh is repeated, once for each of the local minima of the distance to a sphere.
    """
    rows_of: dict[int, list[tuple[int, bool]]] = {}
    n = 0
    for joint, surface in _surfaces(robot, terrain).items():
        kinds = surface.arrays.kinds[:, 0]
        rows_of[joint] = list(enumerate((kinds == MESH).tolist(), n))
        n += len(kinds)
    points, pairs = robot.contact_points, []
    rims = [bool(rim.any()) for rim in points.rims]
    touched = np.asarray(points.touches).tolist()
    for point, (rim, joint) in enumerate(zip(rims, touched, strict=True)):
        for slot in range(RIM if rim else 1):
            for row, mesh in rows_of[joint]:
                pairs += [(point, slot, row)] * (MINIMA if mesh and not rim else 1)
    return pairs


def _surfaces(robot: Robot, terrain: Terrain) -> dict[int, Terrain]:
    """The surfaces of the world, which is joint 0, and of bodies."""
    return {0: terrain} | {int(joint): surface for joint, surface in robot.surfaces.items()}


def candidates_of(robot: Robot, terrain: Terrain) -> Candidates:
    """The pairs of a robot on a terrain, see `pairs_of`.

    Args:
        robot: robot with contact points and surfaces of bodies.
        terrain: static world.
    """
    kinds, first, meshes = [], 0, 0
    surfaces = _surfaces(robot, terrain).values()
    for surface in surfaces:
        kinds.append(surface.arrays.kinds + np.array([0, first, meshes]))
        first += len(surface.shapes)
        meshes += len(surface.arrays.triangles.trees)
    points = robot.contact_points
    index, slots, rows = np.array(pairs_of(robot, terrain), np.int64).reshape(-1, 3).T.copy()
    bodies = np.stack([points.joints, points.touches], axis=1).astype(np.int64)
    return Candidates(
        bodies=np.ascontiguousarray(bodies[index]).reshape(-1, 2),
        local=np.ascontiguousarray(points.positions[index]).reshape(-1, 3),
        radii=np.asarray(points.radii, dtype=float)[index],
        rows=rows,
        points=index,
        rims=np.ascontiguousarray(points.rims[index]).reshape(-1, 3),
        slots=slots,
        kinds=np.concatenate(kinds),
        shapes=np.concatenate([surface.arrays.shapes for surface in surfaces]),
        triangles=joined([surface.arrays.triangles for surface in surfaces]),
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
