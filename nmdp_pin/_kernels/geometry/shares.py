"""Shares of the robot's contact points in the penetrations and wrenches of the contacts."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.linear import copy_vector
from nmdp_pin._kernels.algebra.vector3 import Vector3, axpy, dot, minus
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.geometry.contacts import ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.features import curves_at
from nmdp_pin._kernels.geometry.polytopes import (
    CROSSED,
    CROSSED_ROUND,
    ON_B,
    ON_ROUND,
    ON_SIDE,
    Polytope,
    Polytopes,
    edge_of,
    is_mesh,
    polytope,
    row_of,
)
from nmdp_pin._kernels.geometry.ridges import side_at
from nmdp_pin._kernels.geometry.sides import side_at_edge

_FLAT = 1e-9  # [-] of the size of corners, less than which they are flat
MOST_SHARES = 64  # vertices of a face that may share its force


@jit
def distribute_to_contact_points(
    candidates: ContactPairs,
    contacts: Contacts,
    at: ContactFrames,
    i: int,
    points: Array,
    weights: Array,
) -> int:
    """Contact points at which the force of contact i is reported, and their shares; their number.

    The ends of an edge share its force by the rule of levers, the vertices of a face that of a
    vertex of the world, all points of a body that of a point of the world: by the smallest weights
    with the same resultant and moment.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        at: contacts at the configuration.
        i: contact.
        points: output, indices of contact points, shape (`MOST_SHARES`,).
        weights: output, likewise; negative where the force acts on the touched body.
    """
    c, polytopes = contacts.index[i], candidates.polytopes
    pair = candidates.pairs[c]
    points[0], weights[0] = candidates.points[c], 1.0
    alone = pair < 0 or contacts.features[c, 0] >= CROSSED_ROUND
    if alone and candidates.bodies[c, 0] == 0:
        n, corners = 0, np.empty((MOST_SHARES, 3))
        for p in range(len(candidates.carriers)):
            if candidates.carriers[p] == candidates.bodies[c, 1] and n < MOST_SHARES:
                copy_vector(candidates.places[p], corners[n])
                points[n] = p
                n += 1
        _least_weights(corners[:n], axpy(row_of(at.centre, i), 1.0, row_of(at.arm, i)), weights)
        return n
    if pair < 0 or contacts.features[c, 0] == CROSSED_ROUND:
        return 1
    kind, x, y = contacts.features[c, 0], contacts.features[c, 1], contacts.features[c, 2]
    a = polytope(polytopes, polytopes.pairs[pair, 0])
    own, others = polytopes.first_points[pair, 0], polytopes.first_points[pair, 1]
    if kind == ON_B:
        points[0] = polytopes.points[own + x]
        return 1
    if kind == CROSSED or kind == ON_SIDE or kind == ON_ROUND:
        start, e = edge_of(a, x)
        s = dot(minus(row_of(contacts.held, c), start), e) / dot(e, e)
        if contacts.rolling and kind == CROSSED:
            arm, e, _, _, _, _, _, _ = curves_at(candidates, contacts, at, i)
            s = dot(arm, e) / dot(e, e)
        elif contacts.rolling and kind == ON_ROUND:
            s = side_at_edge(candidates, contacts, at, i, np.empty((1, 3, 3)))[1]
        elif contacts.rolling:
            s = side_at(candidates, contacts, at, i)[1]
        points[0], weights[0] = polytopes.points[own + a.edges[x, 0]], 1.0 - s
        points[1], weights[1] = polytopes.points[own + a.edges[x, 1]], s
        return 2
    if not is_mesh(polytopes, polytopes.pairs[pair, 1]) and polytopes.points[others + y] >= 0:
        points[0] = polytopes.points[others + y]
        return 1
    return _face_shares(polytopes, pair, a, x, row_of(at.centre, i), points, weights)


@deferred
def _face_shares(
    polytopes: Polytopes,
    pair: int,
    a: Polytope,
    face: int,
    p: Vector3,
    points: Array,
    weights: Array,
) -> int:
    """Shares of the vertices of a face in a force at p; `distribute_to_contact_points`."""
    corners, n = np.empty((MOST_SHARES, 3)), 0
    for v in range(len(a.vertices)):
        of_face = False
        for i in range(len(a.edges)):
            here = a.edges[i, 0] == v or a.edges[i, 1] == v
            of_face |= here and (a.edges[i, 2] == face or a.edges[i, 3] == face)
        if of_face and n < MOST_SHARES:
            copy_vector(a.vertices[v], corners[n])
            points[n] = polytopes.points[polytopes.first_points[pair, 0] + v]
            n += 1
    _least_weights(corners[:n], p, weights)
    return n


@deferred
def _least_weights(corners: Array, p: Vector3, weights: Array) -> None:
    """Write the smallest weights of corners with the resultant and moment of the force at p."""
    middle, S, off, n = np.zeros(3), np.zeros((3, 3)), np.empty(3), len(corners)
    weights[0] = -1.0
    if n == 1:
        return
    for v in range(n):
        for j in range(3):
            middle[j] += corners[v, j] / n
    for v in range(n):
        for j in range(3):
            for k in range(3):
                S[j, k] += (corners[v, j] - middle[j]) * (corners[v, k] - middle[k])
    size = S[0, 0] + S[1, 1] + S[2, 2]
    for j in range(3):
        off[j] = p[j] - middle[j]
        S[j, j] += _FLAT * size  # across a face or a line, there is nothing to share
    u = np.linalg.solve(S, off)
    for v in range(n):
        weights[v] = -1.0 / n
        for j in range(3):
            weights[v] -= u[j] * (corners[v, j] - middle[j])


@deferred
def share_depths(
    candidates: ContactPairs,
    contacts: Contacts,
    at: ContactFrames,
    reported: Array,
    depths: Array,
) -> None:
    """Raise the penetrations of the contact points to those of their contacts; `report_depths`."""
    points, weights = np.empty(MOST_SHARES, np.int64), np.empty(MOST_SHARES)
    for i in range(contacts.n[0]):
        if reported[i] and at.depth[i] > 0.0:
            n, most = distribute_to_contact_points(candidates, contacts, at, i, points, weights), 0
            for x in range(1, n):
                if abs(weights[x]) > abs(weights[most]):
                    most = x
            depths[points[most]] = max(depths[points[most]], at.depth[i])


@deferred
def share_wrenches(
    candidates: ContactPairs,
    contacts: Contacts,
    at: ContactFrames,
    wrenches: Array,
    of_points: Array,
) -> None:
    """Add the wrenches of all contacts to those of the points that share them."""
    points, weights = np.empty(MOST_SHARES, np.int64), np.empty(MOST_SHARES)
    for i in range(contacts.n[0]):
        if not wrenches[i].any():
            continue
        for x in range(distribute_to_contact_points(candidates, contacts, at, i, points, weights)):
            for j in range(6):
                of_points[points[x], j] += weights[x] * wrenches[i, j]
