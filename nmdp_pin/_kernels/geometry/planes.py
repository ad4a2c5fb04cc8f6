"""Contacts with planes, which most scenes have; those with other shapes are called.

Kernels of other shapes take long to compile, and are compiled where a scene has such contacts.
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.vector3 import axpy, dot, length, place
from nmdp_pin._kernels.compiler.callbacks import call_missed_overlaps, call_overlaps
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, vector, zero_matrix
from nmdp_pin._kernels.contact.contact_motion import relative_placement, relative_velocity, spin
from nmdp_pin._kernels.geometry.contacts import (
    LOST,
    ContactFrames,
    ContactPairs,
    Contacts,
    is_nearby,
    list_contacts,
    reach_of,
)
from nmdp_pin._kernels.geometry.polytopes import row_of
from nmdp_pin._kernels.geometry.shape_selection import select_shapes
from nmdp_pin._kernels.geometry.shape_table import INDEX, ROTATION, SIZES, axis_of
from nmdp_pin._kernels.geometry.shapes import bend_shapes, place_shapes
from nmdp_pin._kernels.geometry.shares import share_depths, share_wrenches
from nmdp_pin._kernels.geometry.swept import (
    is_on_plane,
    is_swept,
    place_on_plane,
    rates_of_flat,
    support_on_plane,
    turn_axes,
)


@jit
def _height(candidates: ContactPairs, k: int, p: Array) -> float:
    """Distance of a point to the plane of candidate k [m]."""
    shapes, row = candidates.shapes, candidates.rows[k]
    value: float = dot(axis_of(shapes, row, 2), p) - shapes[row, SIZES]
    return value


@jit
def select_contacts(
    candidates: ContactPairs,
    P: Array,
    twists: Array,
    h: float,
    rolling: bool,
    contacts: Contacts,
) -> None:
    """List the candidates that may touch in a time h, by their places at its start and end.

    Args:
        candidates: pairs that may touch.
        P: placements at the start, shape (n + 1, 4, 3).
        twists: motions of the bodies there, shape (n + 1, 6).
        h: length of the step [s].
        rolling: whether contacts move along curved surfaces in the step, see `Contacts`.
        contacts: output.
    """
    contacts.rolling = rolling
    contacts.losses[:] = 0
    M, c, v, x = matrix(4, 3), vector(3), vector(3), vector(3)
    for k in range(candidates.rows.size):
        if not is_on_plane(candidates, k):
            continue
        a, b = candidates.bodies[k, 0], candidates.bodies[k, 1]
        relative_placement(P, a, b, M)
        place(M, candidates.local[k], c)
        relative_velocity(P, twists, a, b, c, v, x)
        reach = reach_of(candidates, k) + h * length((v[0], v[1], v[2])) + candidates.radii[k]
        if is_swept(candidates, k):
            there = axpy((c[0], c[1], c[2]), h, (v[0], v[1], v[2]))
            spin(P, twists, a, b, h, candidates.local[k], there, M)
            at_end = support_on_plane(candidates, contacts, k, M)
            relative_placement(P, a, b, M)
            place(M, contacts.held[k], c)
            contacts.listed[k] = not at_end > reach or not _height(candidates, k, c) > reach
            continue
        least = _height(candidates, k, c)
        for j in range(3):
            c[j] += h * v[j]
        contacts.listed[k] = not min(least, _height(candidates, k, c)) > reach
    if candidates.solids != 0:
        call_overlaps(candidates.solids, contacts, P)
    if candidates.shaped:
        select_shapes(candidates, contacts, P, twists, h, False)
    list_contacts(candidates, contacts)


@jit
def missed_contacts(candidates: ContactPairs, P: Array, contacts: Contacts) -> bool:
    """List candidates besides the contacts that touch at placements P; False where none does."""
    M, c, missed = matrix(4, 3), vector(3), False
    for k in range(candidates.rows.size):
        if not is_on_plane(candidates, k) or contacts.listed[k]:
            continue
        relative_placement(P, candidates.bodies[k, 0], candidates.bodies[k, 1], M)
        if is_swept(candidates, k):
            height = support_on_plane(candidates, contacts, k, M)
        else:
            place(M, candidates.local[k], c)
            height = _height(candidates, k, c)
        if height < candidates.radii[k]:
            contacts.listed[k] = missed = True
    if candidates.shaped:
        missed |= select_shapes(candidates, contacts, P, zero_matrix(len(P), 6), 0.0, True)
    if missed:
        list_contacts(candidates, contacts)
    return missed


@jit
def missed_overlaps(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, P: Array, P0: Array
) -> bool:
    """List pairs of solids that overlap deeper than the contacts do; False where none does.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        at: their places at placements P.
        P: placements, shape (n + 1, 4, 3).
        P0: placements at the start of the step, likewise.
    """
    if candidates.solids == 0:
        return False
    if not call_missed_overlaps(candidates.solids, contacts, at, P, P0):
        return False
    list_contacts(candidates, contacts)
    return True


@jit
def select_overlaps(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, P0: Array
) -> None:
    """Leave out contacts that are deeper than their solids overlap, and list those that lack.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        at: output, their places at its start.
        P0: placements there, shape (n + 1, 4, 3).
    """
    if candidates.solids == 0:
        return
    place_contacts(candidates, contacts, P0, at)
    some = True
    while some:  # others take the places of those that are left out
        some = False
        for i in range(contacts.n[0]):
            c = contacts.index[i]
            row = candidates.overlap_rows[c]
            most = contacts.overlaps[row, 4] if row >= 0 else 0.0
            if most > 0.0 and at.depth[i] > most:
                contacts.listed[c], contacts.left_out[c], some = False, True, True
        if some:
            list_contacts(candidates, contacts)
            place_contacts(candidates, contacts, P0, at)
    missed_overlaps(candidates, contacts, at, P0, P0)


@jit
def place_references(contacts: Contacts, P: Array) -> None:
    """Write the placements of the contacts' bodies at the reference of a stage."""
    for i in range(contacts.n[0]):
        relative_placement(P, contacts.bodies[i, 0], contacts.bodies[i, 1], contacts.reference[i])


@jit
def place_contacts(
    candidates: ContactPairs, contacts: Contacts, P: Array, at: ContactFrames
) -> None:
    """Places of the contacts at placements P, shape (n + 1, 4, 3).

    The curvatures of closed forms are left out; see `bend_contacts`.
    """
    for i in range(contacts.n[0]):
        c, p, n = contacts.index[i], at.centre[i], at.normal[i]
        relative_placement(P, contacts.bodies[i, 0], contacts.bodies[i, 1], at.placements[i])
        place(at.placements[i], contacts.held[c], p)
        at.curved[i] = at.on_internal_edge[i] = False
        at.friction[i], at.stiffness[i] = candidates.friction[c], candidates.stiffness[c]
        at.surface[i] = candidates.kinds[candidates.surfaces[c], INDEX]
        if not abs(p[0]) + abs(p[1]) + abs(p[2]) < LOST:
            at.depth[i] = math.nan
        elif not is_on_plane(candidates, c):
            at.depth[i] = 0.0
        elif contacts.rolls[c]:
            place_on_plane(candidates, contacts, at, i)
        else:
            at.depth[i] = candidates.radii[c] - _height(candidates, c, p)
            for j in range(3):
                n[j] = candidates.shapes[candidates.rows[c], ROTATION + 3 * j + 2]
                at.arm[i, j] = -candidates.radii[c] * n[j]
    if candidates.shaped:
        place_shapes(candidates, contacts, at)


@jit
def bend_contacts(candidates: ContactPairs, contacts: Contacts, at: ContactFrames) -> None:
    """Write the curvatures of what touches, and the derivatives N and L of normals and arms.

    Those of points and balls on planes are 0, as they are from the beginning.
    """
    if not (candidates.shaped or candidates.swept):
        return
    E = matrix(3, 3)
    for i in range(contacts.n[0]):
        c = contacts.index[i]
        for j in range(3):
            for k in range(6):
                at.N[i, j, k] = at.L[i, j, k] = 0.0
        if contacts.rolls[c] and is_on_plane(candidates, c) and is_nearby(candidates, at, i):
            turn_axes(candidates, c, at.placements[i], E)
            n = row_of(at.normal, i)
            rates_of_flat(E, axpy(row_of(at.arm, i), candidates.radii[c], n), n, at.L[i])
    if candidates.shaped:
        bend_shapes(candidates, contacts, at)


@jit
def report_depths(
    candidates: ContactPairs,
    contacts: Contacts,
    at: ContactFrames,
    reported: Array,
    depths: Array,
) -> None:
    """Raise the penetrations of the contact points to those of their contacts [m].

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        at: contacts at the configuration.
        reported: contacts that are reported, shape (n,).
        depths: penetrations of the points, 0 when apart, shape (p,).
    """
    if candidates.shaped:
        share_depths(candidates, contacts, at, reported, depths)
        return
    for i in range(contacts.n[0]):
        if not reported[i]:
            continue
        p = candidates.points[contacts.index[i]]
        depths[p] = max(depths[p], at.depth[i])


@jit
def report_wrenches(
    candidates: ContactPairs,
    contacts: Contacts,
    at: ContactFrames,
    wrenches: Array,
    of_points: Array,
) -> None:
    """Add the wrenches of all contacts to those of their contact points.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        at: contacts at the configuration.
        wrenches: wrenches about the contact points, or, where several share one, about its place,
            in the axes of the world [N, N m], shape (n, 6).
        of_points: wrenches of the contact points, shape (p, 6).
    """
    if candidates.shaped:
        share_wrenches(candidates, contacts, at, wrenches, of_points)
        return
    for i in range(contacts.n[0]):
        for j in range(6):
            of_points[candidates.points[contacts.index[i]], j] += wrenches[i, j]
