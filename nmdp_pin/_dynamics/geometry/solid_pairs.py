"""Pairs of solids of which coal finds the overlap, where other contacts may not feel all of it."""

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._dynamics.geometry.hulls import convex_corners
from nmdp_pin._dynamics.geometry.world_points import reported_point
from nmdp_pin._kernels.geometry.contacts import N_OVERLAPS, ContactFrames, Contacts
from nmdp_pin._kernels.geometry.polytopes import AS_DEEP, BORDER, NONE, RESTING
from nmdp_pin._kernels.geometry.seams import BESIDE
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Box, Cone, Cylinder, Mesh, Shape, Sphere, Terrain
from nmdp_pin._terrain.coal_mesh import box_hull, convex_hull
from nmdp_pin._terrain.primitives import Primitive
from nmdp_pin._terrain.shape import LARGEST

_NOWHERE = np.zeros(3), np.zeros(3)  # direction and point
_NOT_MOVED = coal.Transform3s.Identity()
_SAME_SIDE = 0.5  # [-] cosine between directions of one side of a solid
_SAME = 1e-7  # [m] between depths that count as one
_KEPT = 4  # answers of coal about a pair
_ROUNDING, _SHARE = 2e-6, 1e-6  # [m] and of half the extent, to which coal finds overlaps


@dataclass(frozen=True)
class ConvexSolid:
    """A solid as coal sees it.

    Args:
        kind: class of the shape.
        geometry: geometry of coal, about its middle.
        placement: placement of that in the frame of the body.
        half_extents: half of its extents along the axes there [m], shape (3,).
    """

    kind: type[Shape]
    geometry: coal.CollisionGeometry
    placement: pin.SE3
    half_extents: np.ndarray


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
    solids: tuple[ConvexSolid, ConvexSolid]
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
    shapes = {
        row: (body, surface.shapes[index])
        for body, surface in surfaces.items()
        for row, (_, index, _) in zip(rows_of[body], surface.arrays.kinds.tolist(), strict=True)
    }
    if not any(isinstance(shape, Cone | Cylinder) for _, shape in shapes.values()):
        return []
    solids = [
        (body, row, solid)
        for row, (body, shape) in shapes.items()
        if (solid := _convex_solid(shape)) is not None
    ]
    joined, found = {row for one in solids for row in _joined_to(one, solids)}, []

    @functools.cache
    def reported_at(body: int, row: int, touched: int) -> int:
        return reported_point(robot, body, shapes[row][1], touched) if body > 0 else -1

    for one, other in itertools.combinations(solids, 2):
        kinds = one[2].kind, other[2].kind
        if one[0] == other[0] or Sphere in kinds or not {Cone, Cylinder} & {*kinds}:
            continue
        if not shapes[one[1]][1].meets(shapes[other[1]][1]):
            continue
        for (a, row, top), (b, below, under) in ((one, other), (other, one)):
            if (reported := reported_at(a, row, b)) >= 0:
                both, seams = (surfaces[a], surfaces[b]), not joined.isdisjoint((row, below))
                found.append(SolidPair((a, b), (row, below), (top, under), both, seams, reported))
                break
    return found


def _convex_solid(shape: Shape) -> ConvexSolid | None:
    """A convex shape as coal sees it; None where it is none."""
    if isinstance(shape, Mesh):
        corners = convex_corners(shape)
        if not len(corners):
            return None
        low, high = corners.min(axis=0), corners.max(axis=0)
        middle = 0.5 * (low + high)
        placement = pin.SE3(np.eye(3), middle)
        return ConvexSolid(Mesh, convex_hull(corners - middle), placement, 0.5 * (high - low))
    if not isinstance(shape, Primitive):
        return None
    half = np.array(shape.half_extents)
    geometry = box_hull(half) if isinstance(shape, Box) else shape.collision_geometry()
    return ConvexSolid(type(shape), geometry, shape.placement, half)


def _joined_to(
    solid: tuple[int, int, ConvexSolid], solids: list[tuple[int, int, ConvexSolid]]
) -> Iterator[int]:
    """Rows of a solid and another one of its body that it touches; solids as (body, row, solid)."""
    body, row, one = solid
    for _, beside, other in (each for each in solids if each[0] == body and each[1] > row):
        places = _transform(one.placement), _transform(other.placement)
        if _distance(one.geometry, places[0], other.geometry, places[1]).min_distance < BESIDE:
            yield from (row, beside)


_Answer = tuple[np.ndarray, np.ndarray, float]


class SolidCalls:
    """Pairs of solids whose overlap coal finds, and what their contacts feel of it.

    Of a pair that overlaps where a step starts, contacts that are deeper than that are left out in
    the step: they have another direction than the least overlap. Pairs that overlap deeper than
    their contacts have one more. It is the deepest point of one of them and a plane that touches
    the other one, both held in the step. The plane has the direction in which they overlap least,
    unless they came from another one. A pair may have `N_OVERLAPS` of them, where no other shapes
    of a body cover the point or the plane.

    Args:
        pairs: the pairs.
        first: candidate of the first pair; the others follow.

    Attributes:
        pairs: the pairs.
        asked: how often coal was asked about each, shape (p,).
    """

    def __init__(self, pairs: list[SolidPair], first: int) -> None:
        self._first, self.pairs, self.asked = first, pairs, np.zeros(len(pairs), np.int64)
        self._bodies = np.array([pair.bodies for pair in pairs])
        self._both, places_of = np.unique(_keys(self._bodies), return_inverse=True)
        self._places = places_of.tolist()
        self._geometries = [[solid.geometry for solid in pair.solids] for pair in pairs]
        places = [[solid.placement for solid in pair.solids] for pair in pairs]
        self._tops, self._unders = [M for M, _ in places], [_transform(M) for _, M in places]
        both = np.array([[M.translation for M in side] for side in places])
        turned = np.array([[M.rotation for M in side] for side in places])
        halves = np.array([[solid.half_extents for solid in pair.solids] for pair in pairs])
        self._centres, self._rotations, self._halves = both, turned, halves
        self._squares = (halves * halves).sum(axis=2)[:, ::-1]  # of the radii of balls [m^2]
        self._rounding = _ROUNDING + _SHARE * halves.max(axis=(1, 2))
        self._known: list[dict[bytes, _Answer]] = [{} for _ in pairs]

    def find(self, contacts: Contacts, P: np.ndarray) -> None:
        """Write how pairs overlap where a step starts; see `Contacts.overlaps`.

        A body over a seam may have any depth, since its solids overlap less than it does.

        Args:
            contacts: contacts of the step.
            P: placements at its start, shape (n + 1, 4, 3).
        """
        contacts.overlaps[:] = 0.0
        for k in self._near(P):
            n, _, depth, known = self._least_overlap(k, P)
            limited = known and depth > 0.0 and not self.pairs[k].seams
            n, most = known * n, AS_DEEP * depth + _SAME if limited else 0.0
            a, b = self._bodies[k]
            contacts.overlaps[2 * k] = *n, depth, most
            contacts.overlaps[2 * k + 1] = *(P[a, :3] @ (n @ -P[b, :3])), depth, most

    def list_missed(
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
        found, starts, before = False, np.array_equal(P, P0), contacts.overlaps[::2]
        felt, over_seam = self._felt(contacts, places)
        for k in np.flatnonzero(before[:, 3] > 0.0).tolist() if starts else self._near(P):
            n, point, depth = *_NOWHERE, before[k, 3]
            if not starts:
                n, point, depth = self._overlap(k, P, P0, before)
            lacks = (AS_DEEP - 1.0) * depth + _SAME if starts else BORDER
            least, of_pair = 0.0 if starts else BORDER, self._places[k]
            if depth <= max(least, felt[of_pair] + lacks):
                continue
            if self.pairs[k].seams and over_seam[of_pair]:
                continue
            begin = self._first + N_OVERLAPS * k
            free = np.flatnonzero(~contacts.listed[begin : begin + N_OVERLAPS])
            if len(free):
                if starts:
                    n, point, *_ = self._least_overlap(k, P)
                found |= self._hold(contacts, k, begin + int(free[0]), n, point, P)
        return found

    def _felt(self, contacts: Contacts, places: ContactFrames) -> tuple[list[float], list[bool]]:
        """What contacts of two bodies feel [m], and whether a point of one is over a seam.

        Both are in the order of `_both`, see `_places`.
        """
        n = contacts.n[0]
        of = np.searchsorted(self._both, keys := _keys(contacts.bodies[:n]))
        known = of < len(self._both)
        known[known] = self._both[of[known]] == keys[known]
        felt, over_seam = np.zeros(len(self._both)), np.zeros(len(self._both), bool)
        np.maximum.at(felt, of[known], places.depth[:n][known])
        points = contacts.features[contacts.index[:n], 0] == NONE
        over_seam[of[known & points & places.on_internal_edge[:n]]] = True
        return felt.tolist(), over_seam.tolist()

    @np.errstate(all="ignore")  # placements of a run that explodes
    def _near(self, P: np.ndarray) -> list[int]:
        """Pairs of solids where the ball around each meets the box around the other one."""
        R = P[self._bodies, :3].swapaxes(-1, -2)  # shape (k, 2, 3, 3), as are those of the solids
        centres = P[self._bodies, 3] + np.einsum("ksij,ksj->ksi", R, self._centres)
        off = (centres[:, ::-1] - centres)[:, :, None] @ (R @ self._rotations)
        gaps = np.maximum(np.abs(off[:, :, 0]) - self._halves, 0.0)
        near = ((gaps * gaps).sum(axis=2) < self._squares).all(axis=1)
        near &= np.abs(centres).max(axis=(1, 2)) < LARGEST
        found: list[int] = np.flatnonzero(near).tolist()
        return found

    def _ask(
        self,
        k: int,
        P: np.ndarray,
        variant: coal.GJKVariant = coal.GJKVariant.DefaultGJK,
    ) -> _Answer:
        """Direction, nearest point of the link and overlap of pair k at P, as coal finds them [m].

        They are in the frame of what it touches; the overlap is negative where they are apart.

        A step ends where the next one starts, so that the last answers are kept.
        """
        known, bodies = self._known[k], self._bodies[k]
        place = P[bodies].tobytes() + bytes([int(variant)])
        if place not in known:
            a, b = self._geometries[k]
            self.asked[k] += 1
            if len(known) == _KEPT:
                del known[next(iter(known))]
            found = _distance(b, self._unders[k], a, self._top(k, P), variant)
            n, point = np.array(found.normal), np.array(found.getNearestPoint2())
            known[place] = n, point, -found.min_distance
        return known[place]

    def _top(self, k: int, P: np.ndarray) -> coal.Transform3s:
        """Placement of the solid of the link of pair k in the frame of what it touches."""
        return _transform(_relative(P, *self.pairs[k].bodies) * self._tops[k])

    def _least_overlap(self, k: int, P: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, bool]:
        """Direction in which pair k overlaps least at P, deepest point of the link, and depth [m].

        The depth is negative where they are apart. Of round solids coal's direction is wrong in
        0.4 % of poses: there the depth along it is another one. Its other algorithm finds it in
        half of them; False: neither does.
        """
        n, point, depth, least = *_NOWHERE, 0.0, np.inf
        for variant in coal.GJKVariant.DefaultGJK, coal.GJKVariant.NesterovAcceleration:
            towards, here, depth = self._ask(k, P, variant)
            if depth <= 0.0:
                return towards, here, depth, True
            along = self._depth_along(k, P, towards)[0]
            if along < least:
                n, point, least = towards, here, along
            if least <= self._rounding[k] + AS_DEEP * depth:
                return n, point, least, True
        return n, point, depth, False

    def _depth_along(self, k: int, P: np.ndarray, n: np.ndarray) -> tuple[float, np.ndarray]:
        """Overlap of pair k along a direction at P [m], and the deepest point of the link."""
        a, b = self._geometries[k]
        least, point = _lowest(a, self._top(k, P), n)
        return -_lowest(b, self._unders[k], -n)[0] - least, point

    def _overlap(
        self, k: int, P: np.ndarray, P0: np.ndarray, before: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Direction in which pair k overlaps at P, deepest point of the link, and depth [m].

        It is that from which it came, where it was apart at P0, as rows of `before` say. What was
        no deeper along the least overlap there, such as a body that slides over a seam, came from
        that direction, too.
        """
        n, point, at_end = self._ask(k, P)
        came, depth = before[k, :3], before[k, 3]
        if not came.any():
            came, _, depth = self._ask(k, P0)
        past = depth < 0.0 and came @ n < _SAME_SIDE
        if past and self._depth_along(k, P0, n)[0] > max(at_end, 0.0) + RESTING:
            depth, point = self._depth_along(k, P, came)
            return came, point, depth
        return n, point, at_end

    def _hold(
        self, contacts: Contacts, k: int, c: int, n: np.ndarray, point: np.ndarray, P: np.ndarray
    ) -> bool:
        """Make candidate c a contact of pair k, which overlaps at P; False where it is covered."""
        _, b = self._geometries[k]
        M = _relative(P, *self.pairs[k].bodies)
        level, held = -_lowest(b, self._unders[k], -n)[0], M.actInv(point)
        of_a, of_b = self.pairs[k].surfaces
        on_internal_edge = _is_in(of_a, M.actInv(point - BESIDE * n))
        if on_internal_edge or _is_in(of_b, point + (level + BESIDE - n @ point) * n):
            return False
        contacts.listed[c], contacts.gaps[c], contacts.held[c] = True, -np.inf, held
        contacts.planes[c] = *n, level
        return True


def _keys(bodies: np.ndarray) -> np.ndarray:
    """Numbers of two bodies in any order, which are shape (k, 2)."""
    result: np.ndarray = (bodies.min(axis=1) << 32) + bodies.max(axis=1)
    return result


def _is_in(shapes: Terrain, x: np.ndarray) -> bool:
    return bool(shapes.query(x[None]).distance[0] < 0.0)


def _distance(
    a: coal.CollisionGeometry,
    A: coal.Transform3s,
    b: coal.CollisionGeometry,
    B: coal.Transform3s,
    variant: coal.GJKVariant = coal.GJKVariant.DefaultGJK,
) -> coal.DistanceResult:
    """Distance of a geometry at A to one at B, negative where they overlap, by coal."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_variant = variant
    coal.distance(a, A, b, B, request, result)
    return result


def _transform(M: pin.SE3) -> coal.Transform3s:
    return coal.Transform3s(M.rotation, M.translation)


def _relative(P: np.ndarray, a: int, b: int) -> pin.SE3:
    """Placement of body a relative to body b."""
    return pin.SE3(P[b, :3] @ P[a, :3].T, P[b, :3] @ (P[a, 3] - P[b, 3]))


def _lowest(
    geometry: coal.CollisionGeometry, M: coal.Transform3s, n: np.ndarray
) -> tuple[float, np.ndarray]:
    """The least n . x of a solid at M [m], and where it is."""
    result = _distance(coal.Halfspace(n, 0.0), _NOT_MOVED, geometry, M)
    return result.min_distance, np.array(result.getNearestPoint2())
