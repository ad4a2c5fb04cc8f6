"""Selection of contacts with other shapes than planes: the candidates that may touch in a step."""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.contact_motion import relative_placement, relative_velocity, spin
from nmdp_pin._kernels.contacts import FLAT, LOST, MINIMA, Candidates, Contacts, reach_of
from nmdp_pin._kernels.features import missed_features, select_features
from nmdp_pin._kernels.jit import jit
from nmdp_pin._kernels.primitives import BOX
from nmdp_pin._kernels.seams import largest_difference
from nmdp_pin._kernels.support_points import aim, is_swept
from nmdp_pin._kernels.terrain import MESH
from nmdp_pin._kernels.touched_surface import distance_to, seen_faces, surface_at
from nmdp_pin._kernels.triangles import SAME, closest_point, local_minima, settle
from nmdp_pin._kernels.vector3 import Vector3, ahead, dot, length, minus, place


@jit
def select_shapes(
    candidates: Candidates, P: np.ndarray, twists: np.ndarray, h: float, contacts: Contacts
) -> None:
    """Note which candidates with other shapes may touch in a time h; see `select_contacts`."""
    M, c, v, x = np.empty((4, 3)), np.empty(3), np.empty(3), np.empty(3)
    end = block = 0
    for k in range(len(candidates.rows)):
        a, b, row = candidates.bodies[k, 0], candidates.bodies[k, 1], candidates.rows[k]
        if k == candidates.blocks[block]:
            block += 1
            if _are_apart(candidates, block - 1, P, twists, h, reach_of(candidates, k)):
                end = candidates.blocks[block]
                for i in range(k, end):
                    contacts.listed[i], contacts.faces[i] = False, -1
        if k < end or candidates.plain[k]:
            continue
        if candidates.pairs[k] >= 0:
            end = k + FLAT
            select_features(candidates, P, twists, h, contacts, k)
            continue
        relative_placement(P, a, b, M)
        place(M, candidates.local[k], c)
        relative_velocity(P, twists, a, b, c, v, x)
        here = (c[0], c[1], c[2])
        there = ahead(here, h, (v[0], v[1], v[2]))
        if candidates.kinds[row, 0] == BOX:
            contacts.faces[k] = seen_faces(candidates, k, here, M)
        reach = reach_of(candidates, k) + h * length((v[0], v[1], v[2]))
        reach += candidates.radii[k]
        if is_swept(candidates, k):
            spin(P, twists, a, b, h, candidates.local[k], there, M)
            at_end = aim(candidates, contacts, k, M)
            relative_placement(P, a, b, M)
            place(M, contacts.held[k], c)
            at_start, _ = surface_at(candidates, contacts, k, (c[0], c[1], c[2]))
            contacts.listed[k] = not min(at_start, at_end) > reach
            continue
        if candidates.kinds[row, 0] == MESH:
            end = k + MINIMA
            for i in range(k, end):
                contacts.faces[i], contacts.listed[i] = -1, candidates.reach == math.inf
            _add_minima(candidates, contacts, k, there, reach)
            _add_minima(candidates, contacts, k, here, reach)
            continue
        least = min(
            distance_to(candidates, contacts, k, here), distance_to(candidates, contacts, k, there)
        )
        contacts.listed[k] = not least > reach


@jit
def _are_apart(
    candidates: Candidates, block: int, P: np.ndarray, twists: np.ndarray, h: float, reach: float
) -> bool:
    """Whether no point of a block comes within a distance of a shape in a time h."""
    k, M, c = candidates.blocks[block], np.empty((4, 3)), np.empty(3)
    a, b = candidates.bodies[k, 0], candidates.bodies[k, 1]
    points, shapes = candidates.spheres[block, 0], candidates.spheres[block, 1]
    if not shapes[3] < math.inf:
        return False
    v, x = np.empty(3), np.empty(3)
    relative_placement(P, a, b, M)
    place(M, points[:3], c)
    relative_velocity(P, twists, a, b, c, v, x)
    for j in range(3):
        x[j] = twists[a, 3 + j] - twists[b, 3 + j]
        c[j] -= shapes[j]
    travel = h * (length((v[0], v[1], v[2])) + points[3] * length((x[0], x[1], x[2])))
    return length((c[0], c[1], c[2])) > reach + travel + points[3] + shapes[3]


@jit
def _add_minima(
    candidates: Candidates, contacts: Contacts, k: int, p: Vector3, limit: float
) -> bool:
    """List contacts with a mesh at the local minima of the distance that have none; False: none.

    Where there are more than `MINIMA`, the nearest ones are contacts.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        k: first candidate of the sphere and the mesh.
        p: centre of the sphere [m].
        limit: largest distance of a minimum [m].
    """
    mesh, row, added = candidates.triangles, candidates.rows[k], False
    if not abs(p[0]) + abs(p[1]) + abs(p[2]) < LOST:
        return False
    found = np.empty(MINIMA, np.int64)
    n = local_minima(mesh, candidates.kinds[row, 2], p, limit, candidates.shapes[row, 16], found)
    for x in range(n):
        nearest, _, foot = closest_point(mesh, found[x], p)
        place_of, known, furthest = -1, False, nearest
        for i in range(k, k + MINIMA):
            t, gap = contacts.faces[i], math.inf
            if t >= 0:
                _, _, other = settle(mesh, t, p)
                known |= largest_difference(other, foot) <= SAME
                off = minus(p, other)
                gap = dot(off, off)
            if gap > furthest:
                place_of, furthest = i, gap
        if not known and place_of >= 0:
            contacts.faces[place_of], contacts.listed[place_of] = found[x], True
            added = True
    return added


@jit
def missed_shapes(candidates: Candidates, P: np.ndarray, contacts: Contacts) -> bool:
    """Note candidates with other shapes that touch at placements P; see `missed_contacts`."""
    M, c, missed, end, block = np.empty((4, 3)), np.empty(3), False, 0, 0
    still = np.zeros((len(P), 6))
    for k in range(len(candidates.rows)):
        row = candidates.rows[k]
        if k == candidates.blocks[block]:
            block += 1
            if _are_apart(candidates, block - 1, P, still, 0.0, 0.0):
                end = candidates.blocks[block]
        if candidates.plain[k]:
            continue
        if candidates.pairs[k] >= 0:
            if k >= end:
                end = k + FLAT
                missed |= missed_features(candidates, P, contacts, k)
            continue
        rim = is_swept(candidates, k)
        mesh = candidates.kinds[row, 0] == MESH and not rim
        if k < end or (contacts.listed[k] and not mesh):
            continue
        relative_placement(P, candidates.bodies[k, 0], candidates.bodies[k, 1], M)
        if rim:
            if aim(candidates, contacts, k, M) < candidates.radii[k]:
                contacts.listed[k] = missed = True
            continue
        place(M, candidates.local[k], c)
        p = (c[0], c[1], c[2])
        if mesh:
            end = k + MINIMA
            missed |= _add_minima(candidates, contacts, k, p, candidates.radii[k])
        elif distance_to(candidates, contacts, k, p) < candidates.radii[k]:
            contacts.listed[k] = missed = True
    return missed
