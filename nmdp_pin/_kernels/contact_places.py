"""Places of contacts: their centres, penetrations, normals and arms at a configuration."""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.contact_motion import relative_placement
from nmdp_pin._kernels.contact_selection import LOST
from nmdp_pin._kernels.contacts import REACH, Candidates, Contacts, Places
from nmdp_pin._kernels.features import edge_rates, place_feature
from nmdp_pin._kernels.jit import jit
from nmdp_pin._kernels.polytopes import CROSSED, ON_SIDE
from nmdp_pin._kernels.ridges import side_rates
from nmdp_pin._kernels.seams import leave_seams
from nmdp_pin._kernels.support_points import place_support_point, support_rates
from nmdp_pin._kernels.terrain import MESH, turn_tensor
from nmdp_pin._kernels.touched_surface import surface_of
from nmdp_pin._kernels.triangles import describe_minimum, settle
from nmdp_pin._kernels.vector3 import Vector3, place


@jit
def place_references(candidates: Candidates, contacts: Contacts, P: np.ndarray) -> None:
    """Write the placements of the contacts' bodies at the reference of a stage."""
    for i in range(contacts.n[0]):
        relative_placement(P, contacts.bodies[i, 0], contacts.bodies[i, 1], contacts.reference[i])


@jit
def place_contacts(candidates: Candidates, contacts: Contacts, P: np.ndarray, at: Places) -> None:
    """Places of the contacts, without the curvatures of closed forms; see `bend_contacts`.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        P: placements of the bodies, shape (n + 1, 4, 3).
        at: output.
    """
    n, hessian = contacts.n[0], np.empty((3, 3))
    for i in range(n):
        c = contacts.index[i]
        relative_placement(P, contacts.bodies[i, 0], contacts.bodies[i, 1], at.placements[i])
        place(at.placements[i], contacts.held[c], at.centre[i])
        row = candidates.rows[c]
        p = (at.centre[i, 0], at.centre[i, 1], at.centre[i, 2])
        at.curved[i] = at.covered[i] = False
        surface = candidates.surfaces[c]
        at.friction[i], at.surface[i] = candidates.shapes[surface, 15], candidates.kinds[surface, 1]
        if not abs(p[0]) + abs(p[1]) + abs(p[2]) < LOST:
            at.depth[i] = math.nan
        elif candidates.pairs[c] >= 0:
            place_feature(candidates, contacts, at, i, p)
        elif contacts.rolls[c]:
            place_support_point(candidates, contacts, at, i)
        elif candidates.kinds[row, 0] == MESH:
            _place_on_mesh(candidates, contacts, at, i, p)
        else:
            phi, normal, _ = surface_of(candidates, contacts, c, p, hessian)
            at.depth[i] = candidates.radii[c] - phi
            at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = normal
        if not contacts.rolls[c] and candidates.pairs[c] < 0:
            for j in range(3):
                at.arm[i, j] = -candidates.radii[c] * at.normal[i, j]
    leave_seams(candidates, contacts, at)


@jit
def _place_on_mesh(
    candidates: Candidates, contacts: Contacts, at: Places, i: int, p: Vector3
) -> None:
    """Depth, normal and curvature of contact i, with a mesh, at its centre p."""
    c = contacts.index[i]
    row, face = candidates.rows[c], contacts.faces[c]
    if face < 0:
        at.depth[i], at.covered[i] = -REACH, True
        at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = 0.0, 0.0, 1.0
        return
    face, feature, foot = settle(candidates.triangles, face, p)
    phi, normal, at.curved[i] = describe_minimum(
        candidates.triangles, face, feature, foot, p, candidates.shapes[row, 16], at.curvature[i]
    )
    at.depth[i] = candidates.radii[c] - phi
    at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = normal


@jit
def bend_contact(candidates: Candidates, contacts: Contacts, at: Places, i: int) -> None:
    """Write the curvature at contact i of a closed form; that of a mesh, and of rims, is there."""
    c = contacts.index[i]
    row = candidates.rows[c]
    if candidates.kinds[row, 0] == MESH or contacts.rolls[c] or candidates.pairs[c] >= 0:
        return
    own = np.empty((3, 3))
    p = (at.centre[i, 0], at.centre[i, 1], at.centre[i, 2])
    _, _, curved = surface_of(candidates, contacts, c, p, own)
    at.curved[i] = curved
    if curved:
        turn_tensor(candidates.shapes, row, own, at.curvature, i)


@jit
def surface_rates(
    candidates: Candidates,
    contacts: Contacts,
    at: Places,
    i: int,
    N: np.ndarray,
    L: np.ndarray,
) -> None:
    """Derivatives of normal and arm of contact i by a motion of its body, shapes (3, 6)."""
    radius, curved = candidates.radii[contacts.index[i]], at.curved[i]
    if contacts.rolls[contacts.index[i]]:
        support_rates(candidates, contacts, at, i, N, L)
        return
    kind = contacts.features[contacts.index[i], 0]
    if kind == CROSSED and candidates.rolling:
        edge_rates(candidates, contacts, at, i, N, L)
        return
    if kind == ON_SIDE and candidates.rolling:
        side_rates(candidates, contacts, at, i, N, L)
        return
    for j in range(3):
        for k in range(6):
            N[j, k] = at.curvature[i, j, k] if curved and k < 3 else 0.0
            L[j, k] = -radius * N[j, k]
