"""Pairs of solids of which coal finds the overlap, where other contacts may not feel all of it."""

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._dynamics.geometry.world_points import reported_point
from nmdp_pin._kernels.geometry.contacts import N_OVERLAPS, ContactFrames, Contacts
from nmdp_pin._kernels.geometry.polytopes import BORDER, NONE
from nmdp_pin._kernels.geometry.seams import BESIDE
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Box, Cone, Cylinder, Sphere, Terrain
from nmdp_pin._terrain.coal_mesh import box_hull
from nmdp_pin._terrain.primitives import Primitive
from nmdp_pin._terrain.shape import LARGEST

_SAME_SIDE = 0.5  # [-] cosine between directions of one side of a solid


@dataclass(frozen=True)
class SolidPair:
    """Two solids, one of which is a cylinder or a cone.

    Args:
        bodies: the link whose point the contact holds, and what it touches; 0 is the world.
        rows: rows of the solids in the table of shapes.
        solids: the solids, in the frames of their bodies.
        surfaces: all shapes of these bodies.
        seams: whether another solid touches one of the solids.
        reported: contact point of the link at which the force is reported.
    """

    bodies: tuple[int, int]
    rows: tuple[int, int]
    solids: tuple[Primitive, Primitive]
    surfaces: tuple[Terrain, Terrain]
    seams: bool
    reported: int


def solid_pairs(
    robot: Robot, surfaces: Mapping[int, Terrain], rows_of: Mapping[int, list[int]]
) -> list[SolidPair]:
    """Pairs of a robot and its world; links with chosen contact points touch by these alone.

    Args:
        robot: robot with contact points.
        surfaces: surfaces of the world, 0, and of all links, by joint.
        rows_of: rows of their shapes in the table of shapes.
    """
    solids = [
        (body, row, surface.shapes[index])
        for body, surface in surfaces.items()
        for row, (_, index, _) in zip(rows_of[body], surface.arrays.kinds.tolist(), strict=True)
        if isinstance(surface.shapes[index], Primitive)
    ]
    if not any(isinstance(shape, Cone | Cylinder) for *_, shape in solids):
        return []
    joined = {row for one in solids for row in _joined_to(one, solids)}
    found, shapes = [], {row: shape for _, row, shape in solids}

    @functools.cache
    def reported_at(body: int, row: int, touched: int) -> int:
        return reported_point(robot, body, shapes[row], touched) if body > 0 else -1

    for one, other in itertools.combinations(solids, 2):
        kinds = type(one[2]), type(other[2])
        if one[0] == other[0] or Sphere in kinds or not {Cone, Cylinder} & {*kinds}:
            continue
        if not one[2].meets(other[2]):
            continue
        for (a, row, top), (b, below, under) in ((one, other), (other, one)):
            if (reported := reported_at(a, row, b)) >= 0:
                both, seams = (surfaces[a], surfaces[b]), not joined.isdisjoint((row, below))
                found.append(SolidPair((a, b), (row, below), (top, under), both, seams, reported))
                break
    return found


def _joined_to(
    solid: tuple[int, int, Primitive], solids: list[tuple[int, int, Primitive]]
) -> Iterator[int]:
    """Rows of a solid and another one of its body that it touches; solids as (body, row, solid)."""
    body, row, shape = solid
    geometry = shape.collision_geometry()
    for _, beside, other in (each for each in solids if each[0] == body and each[1] > row):
        placed = other.collision_geometry(), other.placement
        if _distance(geometry, shape.placement, *placed).min_distance < BESIDE:
            yield from (row, beside)


class SolidCalls:
    """Contacts of pairs of solids that overlap deeper than their other contacts.

    Such a contact is the deepest point of one of them and a plane that touches the other one, both
    held in the step. The plane has the direction in which they overlap least, unless they came from
    another one. A pair may have `N_OVERLAPS` of them, where no other shapes of a body cover the
    point or the plane.

    Args:
        pairs: the pairs.
        first: candidate of the first pair; the others follow.
    """

    def __init__(self, pairs: list[SolidPair], first: int) -> None:
        self._first, self._pairs = first, pairs
        self._bodies = np.array([pair.bodies for pair in pairs])
        self._geometries = [[_geometry(solid) for solid in pair.solids] for pair in pairs]
        self._placements = [[solid.placement for solid in pair.solids] for pair in pairs]
        both = np.array([[M.translation for M in side] for side in self._placements])
        turned = np.array([[M.rotation for M in side] for side in self._placements])
        halves = np.array([[solid.half_extents for solid in pair.solids] for pair in pairs])
        self._centres, self._rotations, self._halves = both, turned, halves

    def freeze_overlaps(
        self, contacts: Contacts, places: ContactFrames, P: np.ndarray, P0: np.ndarray
    ) -> bool:
        """List pairs that overlap deeper than the contacts of their bodies; False: none.

        Where a body slides over a seam, points are left out for a step on purpose.

        Args:
            contacts: contacts of the step.
            places: places of the contacts at placements P.
            P: placements, shape (n + 1, 4, 3).
            P0: placements at the start of the step, likewise.
        """
        n, found = contacts.n[0], False
        points = contacts.features[contacts.index[:n], 0] == NONE
        for k in self._near(P):
            overlap = self._distance(k, P)
            if -overlap.min_distance <= BORDER:
                continue
            of_pair = (np.sort(contacts.bodies[:n]) == np.sort(self._bodies[k])).all(axis=1)
            felt = places.depth[:n][of_pair].max(initial=0.0)
            if self._pairs[k].seams and (places.on_internal_edge[:n] & points & of_pair).any():
                continue
            begin = self._first + N_OVERLAPS * k
            free = np.flatnonzero(~contacts.listed[begin : begin + N_OVERLAPS])
            if len(free) and -overlap.min_distance > felt + BORDER:
                found |= self._hold(contacts, k, begin + int(free[0]), overlap, P, P0)
        return found

    @np.errstate(all="ignore")  # placements of a run that explodes
    def _near(self, P: np.ndarray) -> list[int]:
        """Pairs of solids where the ball around each meets the box around the other one."""
        R = P[self._bodies, :3].swapaxes(-1, -2)  # shape (k, 2, 3, 3), as are those of the solids
        centres = P[self._bodies, 3] + np.einsum("ksij,ksj->ksi", R, self._centres)
        off = (centres[:, ::-1] - centres)[:, :, None] @ (R @ self._rotations)
        gaps = np.maximum(np.abs(off[:, :, 0]) - self._halves, 0.0)
        radii = np.linalg.norm(self._halves[:, ::-1], axis=2)
        near = (np.linalg.norm(gaps, axis=2) < radii).all(axis=1)
        near &= np.abs(centres).max(axis=(1, 2)) < LARGEST
        found: list[int] = np.flatnonzero(near).tolist()
        return found

    def _distance(self, k: int, P: np.ndarray) -> coal.DistanceResult:
        """Distance of pair k at placements P, from what the link touches, in its frame."""
        a, b = self._geometries[k]
        one, other = self._placements[k]
        M = _relative(P, *self._bodies[k]) * one
        return _distance(b, other, a, M)

    def _hold(
        self,
        contacts: Contacts,
        k: int,
        c: int,
        overlap: coal.DistanceResult,
        P: np.ndarray,
        P0: np.ndarray,
    ) -> bool:
        """Make candidate c a contact of pair k, which overlaps at P; False where it is covered."""
        (a, b), (one, other) = self._geometries[k], self._placements[k]
        M, before = _relative(P, *self._bodies[k]), self._distance(k, P0)
        n, point = np.array(overlap.normal), np.array(overlap.getNearestPoint2())
        if before.min_distance > 0.0 and before.normal @ n < _SAME_SIDE:
            n = np.array(before.normal)
            _, point = _lowest(a, M * one, n)
        level, held = -_lowest(b, other, -n)[0], M.actInv(point)
        of_a, of_b = self._pairs[k].surfaces
        on_internal_edge = _is_in(of_a, M.actInv(point - BESIDE * n))
        if on_internal_edge or _is_in(of_b, point + (level + BESIDE - n @ point) * n):
            return False
        contacts.listed[c], contacts.held[c] = True, held
        contacts.planes[c] = *n, level
        return True


def _geometry(solid: Primitive) -> coal.CollisionGeometry:
    """Geometry of a solid."""
    if isinstance(solid, Box):
        return box_hull(np.array(solid.half_extents))
    return solid.collision_geometry()


def _is_in(shapes: Terrain, x: np.ndarray) -> bool:
    return bool(shapes.query(x[None]).distance[0] < 0.0)


def _distance(
    a: coal.CollisionGeometry, A: pin.SE3, b: coal.CollisionGeometry, B: pin.SE3
) -> coal.DistanceResult:
    """Distance of a geometry at A to one at B, negative where they overlap, by coal."""
    places = [coal.Transform3s(M.rotation, M.translation) for M in (A, B)]
    result = coal.DistanceResult()
    coal.distance(a, places[0], b, places[1], coal.DistanceRequest(), result)
    return result


def _relative(P: np.ndarray, a: int, b: int) -> pin.SE3:
    """Placement of body a relative to body b."""
    return pin.SE3(P[b, :3] @ P[a, :3].T, P[b, :3] @ (P[a, 3] - P[b, 3]))


def _lowest(
    geometry: coal.CollisionGeometry, M: pin.SE3, n: np.ndarray
) -> tuple[float, np.ndarray]:
    """The least n . x of a solid at M [m], and where it is."""
    result = _distance(coal.Halfspace(n, 0.0), pin.SE3.Identity(), geometry, M)
    return result.min_distance, np.array(result.getNearestPoint2())
