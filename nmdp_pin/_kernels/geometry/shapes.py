"""Contacts with other shapes than planes: where they are, and how they move."""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.linear import copy_vector
from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    dot,
)
from nmdp_pin._kernels.compiler.jit import deferred
from nmdp_pin._kernels.compiler.record import matrix
from nmdp_pin._kernels.geometry.contacts import (
    OVERLAP,
    POLYTOPES,
    REACH,
    ContactFrames,
    ContactPairs,
    Contacts,
    is_nearby,
)
from nmdp_pin._kernels.geometry.features import curve_motion, place_feature
from nmdp_pin._kernels.geometry.polytopes import (
    CROSSED,
    ON_ROUND,
    ON_SIDE,
    row_of,
)
from nmdp_pin._kernels.geometry.ridges import side_rates
from nmdp_pin._kernels.geometry.seams import leave_seams
from nmdp_pin._kernels.geometry.shape_table import COORDINATE_ERROR, KIND
from nmdp_pin._kernels.geometry.sides import round_rates
from nmdp_pin._kernels.geometry.support_points import place_support_point, support_rates
from nmdp_pin._kernels.geometry.swept import is_on_plane
from nmdp_pin._kernels.geometry.terrain import MESH, turn_tensor
from nmdp_pin._kernels.geometry.touched_surface import (
    surface_of,
)
from nmdp_pin._kernels.geometry.triangles import (
    descend_to_minimum,
    describe_minimum,
)


@deferred
def place_shapes(candidates: ContactPairs, contacts: Contacts, at: ContactFrames) -> None:
    """Depths, normals and arms of the contacts with other shapes than planes, and what is covered.

    Placements and centres are known; see `place_contacts`.
    """
    hessian = matrix(3, 3)
    for i in range(contacts.n[0]):
        c = contacts.index[i]
        kind = candidates.contact_kinds[c]
        p = (at.centre[i, 0], at.centre[i, 1], at.centre[i, 2])
        if is_on_plane(candidates, c) or math.isnan(at.depth[i]):
            continue
        if kind == OVERLAP:
            copy_vector(contacts.planes[c, :3], at.normal[i])
            at.depth[i] = contacts.planes[c, 3] - dot(row_of(at.normal, i), p)
        elif kind == POLYTOPES:
            place_feature(candidates, contacts, at, i, p)
        elif contacts.rolls[c]:
            place_support_point(candidates, contacts, at, i)
        elif candidates.kinds[candidates.rows[c], KIND] == MESH:
            _place_on_mesh(candidates, contacts, at, i, p)
        else:
            phi, normal, _ = surface_of(candidates, contacts, c, p, hessian)
            at.depth[i] = candidates.radii[c] - phi
            at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = normal
        if not contacts.rolls[c] and kind != POLYTOPES:
            for j in range(3):
                at.arm[i, j] = -candidates.radii[c] * at.normal[i, j]
    leave_seams(candidates, contacts, at)


@deferred
def _place_on_mesh(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, p: Vector3
) -> None:
    """Depth, normal and curvature of contact i, with a mesh, at its centre p."""
    c = contacts.index[i]
    row, face = candidates.rows[c], contacts.faces[c]
    if face < 0:
        at.depth[i], at.on_internal_edge[i] = -REACH, True
        at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = 0.0, 0.0, 1.0
        return
    face, feature, foot = descend_to_minimum(candidates.triangles, face, p)
    phi, normal, at.curved[i] = describe_minimum(
        candidates.triangles,
        face,
        feature,
        foot,
        p,
        candidates.shapes[row, COORDINATE_ERROR],
        at.curvature[i],
    )
    at.depth[i] = candidates.radii[c] - phi
    at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = normal


@deferred
def bend_shapes(candidates: ContactPairs, contacts: Contacts, at: ContactFrames) -> None:
    """Curvatures of what touches other shapes, and derivatives N and L of its normals and arms.

    Both are 0 before; see `bend_contacts`.
    """
    for i in range(contacts.n[0]):
        c = contacts.index[i]
        if is_on_plane(candidates, c) or not is_nearby(candidates, at, i):
            continue
        _bend(candidates, contacts, at, i)
        if contacts.rolls[c]:
            support_rates(candidates, contacts, at, i, at.N[i], at.L[i])
        elif contacts.rolling and contacts.features[c, 0] == ON_SIDE:
            side_rates(candidates, contacts, at, i, at.N[i], at.L[i])
        elif contacts.rolling and contacts.features[c, 0] == ON_ROUND:
            round_rates(candidates, contacts, at, i, at.N[i], at.L[i])
        elif contacts.rolling and contacts.features[c, 0] >= CROSSED:
            curve_motion(candidates, contacts, at, i, at.N[i], at.L[i])
        elif at.curved[i]:
            for j in range(3):
                for k in range(3):
                    at.N[i, j, k] = at.curvature[i, j, k]
                    at.L[i, j, k] = -candidates.radii[c] * at.N[i, j, k]


@deferred
def _bend(candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int) -> None:
    """Write the curvature at contact i of a closed form; that of a mesh, and of rims, is there."""
    c = contacts.index[i]
    row, kind = candidates.rows[c], candidates.contact_kinds[c]
    if candidates.kinds[row, KIND] == MESH or contacts.rolls[c] or kind == POLYTOPES:
        return
    if kind == OVERLAP:  # on a plane
        return
    own = matrix(3, 3)
    p = (at.centre[i, 0], at.centre[i, 1], at.centre[i, 2])
    _, _, curved = surface_of(candidates, contacts, c, p, own)
    at.curved[i] = curved
    if curved:
        turn_tensor(candidates.shapes, row, own, at.curvature, i)
