"""Contacts: pairs of a contact sphere and a shape, their places, normals and motions.

A candidate is a pair of a sphere of one body and a shape of another body or of the world; the
contacts of a step are the candidates that may touch in it. Every contact is expressed in the frame
of the body that it touches, whose placement is P[b]; the world is the body 0.

The sphere may be swept along a circle, a rim. It then has `RIM` contacts with a shape: one at the
point that is nearest, which moves along the rim, and the others at quarter turns from where that
is expected at the end of the step, fixed to the body. Where the rim is nearly parallel to the
surface, as of a standing cylinder, all are fixed to the body.

A sphere has several contacts with a mesh: one for each local minimum of the distance, which is
found again at other configurations by a walk over the mesh from the same face.

A box is felt by points and rims on the sides on which a step begins: what comes deep into a thin
floor is pushed back up, and not out of its bottom.

Two polytopes have up to `FLAT` contacts, at vertices of one on faces of the other and where edges
cross. They are held during a step: their distances are those of points from planes, and of lines;
they act where the vertex is over the face, and where the edges cross. The centre of a contact of
edges is the end of the edge, its arm leads to the crossing.

A contact has a centre c, a normal n, a penetration d and an arm o to the point x = c + o where its
force acts; for a sphere of radius r the arm is -r n, for a rim of radius R, in the direction u of
its nearest point, R u - r n. A motion (dx, dphi) of its body moves the
centre by dx and rotates by dphi; it changes the normal by N (dx, dphi), the arm by L (dx, dphi),
and the penetration by -n . (dx + dphi x o).
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.polytopes import (
    CROSSED,
    NONE,
    ON_A,
    ON_B,
    PARALLEL,
    Polytope,
    Polytopes,
    crossing,
    edge_distance,
    edge_of,
    find_features,
    is_over,
    moved,
    polytope,
    row_of,
    separating_direction,
)
from nmdp_pin.kernels.primitives import BOX
from nmdp_pin.kernels.record import record
from nmdp_pin.kernels.terrain import MESH, describe, seen_from, shape_distance, turn_tensor
from nmdp_pin.kernels.triangles import (
    SAME,
    Triangles,
    closest_point,
    describe_minimum,
    local_minima,
    nearest_face,
    settle,
)
from nmdp_pin.kernels.vector3 import (
    Vector3,
    ahead,
    cross,
    cross_into,
    dot,
    length,
    minus,
    place,
    relative,
    rotate,
    rotate_back,
    scaled,
)

REACH = 0.05  # [m] between surfaces up to which a candidate is a contact of a step
MINIMA = 6  # contacts of a sphere with a mesh
RIM = 4  # contacts of a rim with a shape
FLAT = 16  # contacts of two polytopes
MOST_SHARES = 64  # vertices of a face that may share its force
_FOUND = 128  # features that are compared to choose those contacts
_BESIDE = 1e-3  # [m] beside a surface, where another shape shows that it is an inner one
_BORDER = 1e-4  # [m] beyond faces and edges of polytopes up to which they touch
_ACROSS = 0.7  # [-] cosine of the least angle between a wall and a floor
_LEDGE = 1e-4  # [m] by which a surface has to rise above a shape to be felt beside it
_STANDING = 0.05  # [-] sine of the angle between rim and surface below which no point is nearest
_AIMED = 1e-13  # [-] slope of the distance along a rim that counts as none
_TURNS = 10  # largest number of Newton steps to the nearest point of a rim
_LOST = 1e9  # [m] |x| + |y| + |z| beyond which coordinates no longer resolve a micrometre


@record
class Candidates:
    """Pairs that may touch.

    Args:
        bodies: the body that carries the sphere, and the one that has the shape, shape (k, 2).
        local: centres of the spheres in the frames of their bodies [m], shape (k, 3).
        radii: radii of the spheres [m], shape (k,).
        rows: rows of the shapes in the tables, that of a mesh `MINIMA` times, shape (k,).
        points: indices of the spheres among the robot's contact points, ascending, shape (k,).
        rims: axes of the rims in the frames of their bodies, as long as their radii [m], (k, 3).
        slots: number of the contact among those of the rim, shape (k,).
        kinds: table of kinds, as in `terrain`, shape (s, 3).
        shapes: table of shapes, in the frames of their bodies, shape (s, 17).
        triangles: meshes, in the frames of their bodies.
        owners: bodies of the shapes, shape (s,).
        polytopes: polytopes, in the frames of their bodies.
        pairs: pairs of polytopes of the candidates, each `FLAT` times, -1: none, shape (k,).
        reach: distance up to which a candidate is a contact of a step [m].
        distant: whether contacts act that do not touch.
        rolling: whether contacts may move along rims.
    """

    bodies: np.ndarray
    local: np.ndarray
    radii: np.ndarray
    rows: np.ndarray
    points: np.ndarray
    rims: np.ndarray
    slots: np.ndarray
    kinds: np.ndarray
    shapes: np.ndarray
    triangles: Triangles
    owners: np.ndarray
    polytopes: Polytopes
    pairs: np.ndarray
    reach: float
    distant: bool
    rolling: bool


@record
class Contacts:
    """Contacts of a step: n of the candidates, in their order.

    Args:
        n: number of contacts, shape (1,).
        index: their candidates, shape (k,).
        bodies: as in `Candidates`, of the contacts, shape (k, 2); those of a vertex of the second
            polytope on a face of the first are swapped.
        listed: whether each candidate is a contact, shape (k,).
        faces: faces of meshes from which their contacts are found, -1: none; of boxes, bits for the
            axes along which a face was seen at the start, and for those that face ahead, (k,).
        held: centres of the spheres in the frames of their bodies [m], shape (k, 3).
        rolls: whether a contact moves along a rim, shape (k,).
        features: kinds of contacts of polytopes, and the features that touch, shape (k, 3).
        planes: normals and levels of the planes that vertices touch, in the frames of their
            bodies, shape (k, 4).
        directions: directions in which pairs of polytopes touch, 0: far apart, shape (p, 3).
        reference: placements of their bodies at the reference of a stage, shape (k, 4, 3).
    """

    n: np.ndarray
    index: np.ndarray
    bodies: np.ndarray
    listed: np.ndarray
    faces: np.ndarray
    held: np.ndarray
    rolls: np.ndarray
    features: np.ndarray
    planes: np.ndarray
    directions: np.ndarray
    reference: np.ndarray


@record
class Places:
    """The contacts at one configuration.

    Args:
        placements: placements of the bodies that carry them, relative to those that they touch,
            shape (k, 4, 3).
        centre: centres of the spheres, or of the rims along which they move [m], shape (k, 3).
        depth: penetrations, negative when apart [m], shape (k,).
        normal: outward normals of the surfaces, shape (k, 3).
        arm: arms o from the centres to the points of the forces [m], shape (k, 3).
        curvature: derivatives of the normals by the centres, if `curved` [1/m], (k, 3, 3).
        curved: whether a surface is curved, shape (k,).
        covered: whether another shape covers the place, which then is no contact, shape (k,).
        friction: friction coefficients, shape (k,).
        surface: indices of the shapes among those of the world and the bodies, -1: none, (k,).
    """

    placements: np.ndarray
    centre: np.ndarray
    depth: np.ndarray
    normal: np.ndarray
    arm: np.ndarray
    curvature: np.ndarray
    curved: np.ndarray
    covered: np.ndarray
    friction: np.ndarray
    surface: np.ndarray


@jit
def list_contacts(candidates: Candidates, contacts: Contacts) -> None:
    """Make contacts of the candidates that are listed."""
    n = 0
    for c in range(len(candidates.rows)):
        if contacts.listed[c]:
            contacts.index[n] = c
            swapped = contacts.features[c, 0] == ON_A
            contacts.bodies[n, 0] = candidates.bodies[c, 1 if swapped else 0]
            contacts.bodies[n, 1] = candidates.bodies[c, 0 if swapped else 1]
            n += 1
    contacts.n[0] = n


@jit
def relative_placement(P: np.ndarray, a: int, b: int, out: np.ndarray) -> None:
    """The placement of body a relative to body b."""
    if b != 0:
        relative(P[b], P[a], out)
        return
    for r in range(4):
        for j in range(3):
            out[r, j] = P[a, r, j]


@jit
def select_contacts(
    candidates: Candidates, P: np.ndarray, twists: np.ndarray, h: float, contacts: Contacts
) -> None:
    """List the candidates that may touch in a time h, by their places at its start and end.

    Args:
        candidates: pairs that may touch.
        P: placements at the start, shape (n + 1, 4, 3).
        twists: motions of the bodies there, shape (n + 1, 6).
        h: length of the step [s].
        contacts: output.
    """
    M, c, v, x = np.empty((4, 3)), np.empty(3), np.empty(3), np.empty(3)
    end = 0
    for k in range(len(candidates.rows)):
        a, b, row = candidates.bodies[k, 0], candidates.bodies[k, 1], candidates.rows[k]
        if k < end:
            continue
        if candidates.pairs[k] >= 0:
            end = k + FLAT
            _select_features(candidates, P, twists, h, contacts, k)
            continue
        relative_placement(P, a, b, M)
        place(M, candidates.local[k], c)
        relative_velocity(P, twists, a, b, c, v, x)
        here = (c[0], c[1], c[2])
        there = ahead(here, h, (v[0], v[1], v[2]))
        if candidates.kinds[row, 0] == BOX:
            contacts.faces[k] = _seen_faces(candidates, row, here)
        reach = candidates.reach + h * math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        reach += candidates.radii[k]
        if _radius(candidates, k) > 0.0:
            _spin(P, twists, a, b, h, candidates.local[k], there, M)
            at_end = _aim(candidates, contacts, k, M)
            relative_placement(P, a, b, M)
            place(M, contacts.held[k], c)
            at_start, _ = _surface_at(candidates, contacts, k, (c[0], c[1], c[2]))
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
            _distance(candidates, contacts, k, here), _distance(candidates, contacts, k, there)
        )
        contacts.listed[k] = not least > reach
    list_contacts(candidates, contacts)


@jit
def _select_features(
    candidates: Candidates, P: np.ndarray, twists: np.ndarray, h: float, contacts: Contacts, k: int
) -> None:
    """List the contacts of the two polytopes of candidate k; see `select_contacts`."""
    polytopes, pair = candidates.polytopes, candidates.pairs[k]
    a, b = candidates.bodies[k, 0], candidates.bodies[k, 1]
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    for i in range(k, k + FLAT):
        contacts.features[i], contacts.listed[i] = NONE, False
    contacts.directions[pair] = 0.0
    M, c, v, work = np.empty((4, 3)), np.empty(3), np.empty(3), np.empty(3)
    relative_placement(P, a, b, M)
    place(M, polytopes.centres[first], c)
    relative_velocity(P, twists, a, b, c, v, work)
    travel = h * math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    there = ahead((c[0], c[1], c[2]), h, (v[0], v[1], v[2]))
    reach = candidates.reach + travel
    beside = length(minus(there, row_of(polytopes.centres, second)))
    if not beside <= reach + polytopes.sizes[first] + polytopes.sizes[second]:
        return
    one, other = polytope(polytopes, first), polytope(polytopes, second)
    before = moved(one, M)
    _spin(P, twists, a, b, h, polytopes.centres[first], there, M)
    at_end = moved(one, M)
    towards, gap = separating_direction(before, at_end, other, reach)
    if not gap <= reach:
        return
    for j in range(3):
        contacts.directions[pair, j] = towards[j]
    _hold_features(candidates, contacts, k, at_end, other, reach, _BORDER)
    if candidates.rolling:  # crossings that are held where they are expected act nowhere else
        _hold_features(candidates, contacts, k, at_end, other, reach, REACH + travel)


@jit
def _missed_features(candidates: Candidates, P: np.ndarray, contacts: Contacts, k: int) -> bool:
    """List features of polytopes that touch at placements P besides the contacts; False: none."""
    polytopes, pair = candidates.polytopes, candidates.pairs[k]
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    M, c = np.empty((4, 3)), np.empty(3)
    relative_placement(P, candidates.bodies[k, 0], candidates.bodies[k, 1], M)
    place(M, polytopes.centres[first], c)
    beside = length(minus((c[0], c[1], c[2]), row_of(polytopes.centres, second)))
    if not beside < polytopes.sizes[first] + polytopes.sizes[second]:
        return False
    here, other = moved(polytope(polytopes, first), M), polytope(polytopes, second)
    if length(row_of(contacts.directions, pair)) == 0.0:
        towards, gap = separating_direction(here, here, other, 0.0)
        if gap > 0.0:
            return False
        for j in range(3):
            contacts.directions[pair, j] = towards[j]
    return _hold_features(candidates, contacts, k, here, other, 0.0, _BORDER)


@jit
def _hold_features(
    candidates: Candidates,
    contacts: Contacts,
    k: int,
    a: Polytope,
    b: Polytope,
    limit: float,
    slack: float,
) -> bool:
    """List contacts of two polytopes that are none, the nearest first; False where there are none.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        k: first candidate of the pair.
        a: first polytope.
        b: second polytope.
        limit: largest distance of a contact [m].
        slack: distance beyond borders and ends up to which features are contacts [m].
    """
    found, gaps, added = np.empty((_FOUND, 3), np.int64), np.empty(_FOUND), False
    towards = row_of(contacts.directions, candidates.pairs[k])
    fixed = candidates.bodies[k, 1] == 0
    n = find_features(a, b, towards, limit, slack, fixed, found, gaps)
    for i in range(k, k + FLAT):
        for x in range(n):
            same = contacts.features[i, 0] == found[x, 0] and contacts.features[i, 1] == found[x, 1]
            if same and contacts.features[i, 2] == found[x, 2]:
                gaps[x] = math.inf
    for i in range(k, k + FLAT):
        if contacts.features[i, 0] != NONE:
            continue
        x = -1
        for y in range(n):
            if gaps[y] < math.inf and (x < 0 or gaps[y] < gaps[x]):
                x = y
        if x < 0:
            break
        gaps[x] = math.inf
        contacts.features[i] = found[x]
        contacts.listed[i] = added = True
        _hold_feature(candidates, contacts, i, a, b)
    for i in range(k + 1, k + FLAT):
        for j in range(i, k, -1):
            if identity(candidates, contacts, j) >= identity(candidates, contacts, j - 1):
                break
            contacts.listed[j], contacts.listed[j - 1] = contacts.listed[j - 1], contacts.listed[j]
            _swap_rows(contacts.features, j)
            _swap_rows(contacts.held, j)
            _swap_rows(contacts.planes, j)
    return added


@jit
def _swap_rows(table: np.ndarray, i: int) -> None:
    """Swap row i of a table and the one before."""
    for j in range(table.shape[1]):
        table[i, j], table[i - 1, j] = table[i - 1, j], table[i, j]


@jit
def identity(candidates: Candidates, contacts: Contacts, c: int) -> int:
    """Number of the features by which candidate c touches, ascending; the same in all steps."""
    pair, kind = candidates.pairs[c], contacts.features[c, 0]
    if pair < 0:
        return c
    most = max(len(candidates.polytopes.vertices), len(candidates.polytopes.edges))
    if kind == NONE:
        kind = CROSSED + 1
    features = (pair * 4 + kind) * most + contacts.features[c, 1]
    return len(candidates.rows) + features * most + contacts.features[c, 2]


@jit
def _hold_feature(
    candidates: Candidates, contacts: Contacts, i: int, a: Polytope, b: Polytope
) -> None:
    """Write the point and the plane of candidate i, between two polytopes in the frame of b."""
    polytopes, pair = candidates.polytopes, candidates.pairs[i]
    kind, x, y = contacts.features[i, 0], contacts.features[i, 1], contacts.features[i, 2]
    one = polytope(polytopes, polytopes.pairs[pair, 0])
    if kind == CROSSED:
        p, e = edge_of(a, x)
        q, f = edge_of(b, y)
        towards = row_of(contacts.directions, pair)
        n, _ = edge_distance(a, x, b, y, 1.0, towards)
        start = row_of(one.vertices, one.edges[x, 0])
        if not candidates.rolling:
            s, _ = crossing(p, e, q, f)
            start = ahead(start, s, edge_of(one, x)[1])
        level = dot(n, q) + b.rounding
    else:
        point, face = (x, y) if kind == ON_B else (y, x)
        start = row_of(one.vertices if kind == ON_B else b.vertices, point)
        n = row_of(b.normals if kind == ON_B else one.normals, face)
        level = (b if kind == ON_B else one).levels[face]
    for j in range(3):
        contacts.held[i, j], contacts.planes[i, j] = start[j], n[j]
    contacts.planes[i, 3] = level


@jit
def _radius(candidates: Candidates, k: int) -> float:
    """Radius of the rim of a candidate, 0 of a sphere [m]."""
    r = candidates.rims[k]
    return math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])


@jit
def _spin(
    P: np.ndarray,
    twists: np.ndarray,
    a: int,
    b: int,
    h: float,
    point: np.ndarray,
    there: Vector3,
    M: np.ndarray,
) -> None:
    """Placement of body a relative to body b after a time h at constant velocity.

    Args:
        P: placements at the start, shape (n + 1, 4, 3).
        twists: motions of the bodies there, shape (n + 1, 6).
        a: index of the first body.
        b: index of the second body.
        h: time [s].
        point: point of body a in its frame, shape (3,).
        there: where the point is after that time [m].
        M: relative placement at the start, which is overwritten, shape (4, 3).
    """
    w, v, x = np.empty(3), np.empty(3), np.empty(3)
    for j in range(3):
        x[j] = h * (twists[a, 3 + j] - twists[b, 3 + j])
    rotate_back(P[b], x, w)
    angle = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if angle > 0.0:
        for j in range(3):
            w[j] /= angle
        sine, cosine = math.sin(angle), math.cos(angle)
        for column in range(3):
            cross_into(w, M[column], v)
            along = (1.0 - cosine) * (
                w[0] * M[column, 0] + w[1] * M[column, 1] + w[2] * M[column, 2]
            )
            for j in range(3):
                M[column, j] = cosine * M[column, j] + sine * v[j] + along * w[j]
    rotate(M, point, v)
    for j in range(3):
        M[3, j] = there[j] - v[j]


@jit
def _surface_at(
    candidates: Candidates, contacts: Contacts, k: int, p: Vector3
) -> tuple[float, Vector3]:
    """Signed distance of a point to the shape of a candidate [m], and its gradient.

    The nearest face of a mesh becomes that of the candidate.
    """
    row, hessian = candidates.rows[k], np.empty((3, 3))
    if candidates.kinds[row, 0] == MESH:
        mesh = candidates.triangles
        face = nearest_face(mesh, candidates.kinds[row, 2], p)
        face, feature, foot = settle(mesh, face, p)
        contacts.faces[k] = face
        rounding = candidates.shapes[row, 16]
        phi, normal, _ = describe_minimum(mesh, face, feature, foot, p, rounding, hessian)
        return phi, normal
    phi, normal, _ = _surface(candidates, contacts, k, p, hessian)
    return phi, normal


@jit
def _seen_faces(candidates: Candidates, row: int, p: Vector3) -> int:
    """Faces of a box that are seen from a point, or the one that is nearest to a point inside."""
    local, faces, nearest, most = seen_from(candidates.shapes, row, p), 0, 0, -math.inf
    for j in range(3):
        beyond = abs(local[j]) - candidates.shapes[row, 12 + j]
        if local[j] >= 0.0:
            faces |= 8 << j
        if beyond > 0.0:
            faces |= 1 << j
        if beyond > most:
            most, nearest = beyond, j
    return faces | 1 << nearest


@jit
def _felt(
    candidates: Candidates, contacts: Contacts, k: int, p: Vector3
) -> tuple[Vector3, int, float]:
    """What candidate k feels of a box at a point: the point, or the axis and depth of a face.

    Behind the middle of a box, the sides around it are felt where the point is in the middle.
    """
    shapes, row, faces = candidates.shapes, candidates.rows[k], contacts.faces[k]
    local, inside, axis, most = seen_from(shapes, row, p), True, -1, -math.inf
    for j in range(3):
        along = (shapes[row, 3 + j], shapes[row, 6 + j], shapes[row, 9 + j])
        sign = 1.0 if faces & (8 << j) else -1.0
        beyond = abs(local[j]) - shapes[row, 12 + j]
        if faces & (1 << j):
            beyond = sign * local[j] - shapes[row, 12 + j]
            if sign * local[j] < 0.0:
                p = ahead(p, -local[j], along)
            if beyond > most:
                most, axis = beyond, j
        inside = inside and beyond <= 0.0
    return p, axis if inside else -1, most


@jit
def _distance(candidates: Candidates, contacts: Contacts, k: int, p: Vector3) -> float:
    """Signed distance of a point to the shape of candidate k, without meshes [m]."""
    row = candidates.rows[k]
    if candidates.kinds[row, 0] == BOX and contacts.faces[k] >= 0:
        p, axis, depth = _felt(candidates, contacts, k, p)
        if axis >= 0:
            return depth
    return shape_distance(candidates.kinds, candidates.shapes, row, p)


@jit
def _surface(
    candidates: Candidates, contacts: Contacts, k: int, p: Vector3, hessian: np.ndarray
) -> tuple[float, Vector3, bool]:
    """Signed distance [m] and normal of the shape of candidate k at a point, and whether it bends.

    Without meshes; `hessian` is written as by `describe`.
    """
    row, shapes = candidates.rows[k], candidates.shapes
    if candidates.kinds[row, 0] == BOX and contacts.faces[k] >= 0:
        p, axis, depth = _felt(candidates, contacts, k, p)
        if axis >= 0:
            sign = 1.0 if contacts.faces[k] & (8 << axis) else -1.0
            normal = (shapes[row, 3 + axis], shapes[row, 6 + axis], shapes[row, 9 + axis])
            return depth, scaled(normal, sign), False
    phi = shape_distance(candidates.kinds, shapes, row, p)
    normal, bends = describe(candidates.kinds, shapes, row, p, phi, hessian)
    return phi, normal, bends


@jit
def _aim(candidates: Candidates, contacts: Contacts, k: int, M: np.ndarray) -> float:
    """Choose the point of a rim for candidate k at a placement of its body; its distance [m]."""
    c, a, e, x, radius = np.empty(3), np.empty(3), np.empty(3), np.empty(3), _radius(candidates, k)
    place(M, candidates.local[k], c)
    rotate(M, candidates.rims[k], a)
    # without a nearest point, the first direction is fixed to the body
    least = 0
    for j in range(3):
        a[j] /= radius
        if abs(candidates.rims[k, j]) < abs(candidates.rims[k, least]):
            least = j
    cross_into(a, M[least], e)
    u = (e[0], e[1], e[2])
    u, sine = scaled(u, 1.0 / length(u)), 0.0
    for turn in range(2):
        off = turn * radius
        p = (c[0] + off * u[0], c[1] + off * u[1], c[2] + off * u[2])
        _, n = _surface_at(candidates, contacts, k, p)
        along = dot(n, a)
        flat = (n[0] - along * a[0], n[1] - along * a[1], n[2] - along * a[2])
        sine = length(flat)
        if sine > SAME:
            u = scaled(flat, -1.0 / sine)
    for _ in range(candidates.slots[k]):
        u = (a[1] * u[2] - a[2] * u[1], a[2] * u[0] - a[0] * u[2], a[0] * u[1] - a[1] * u[0])
    for j in range(3):
        x[j] = radius * u[j]
    rotate_back(M, x, contacts.held[k])
    for j in range(3):
        contacts.held[k, j] += candidates.local[k, j]
    contacts.rolls[k] = candidates.rolling and candidates.slots[k] == 0 and sine > _STANDING
    return _surface_at(candidates, contacts, k, (c[0] + x[0], c[1] + x[1], c[2] + x[2]))[0]


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
    if not abs(p[0]) + abs(p[1]) + abs(p[2]) < _LOST:
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
                known |= _gap(other, foot) <= SAME
                off = minus(p, other)
                gap = dot(off, off)
            if gap > furthest:
                place_of, furthest = i, gap
        if not known and place_of >= 0:
            contacts.faces[place_of], contacts.listed[place_of] = found[x], True
            added = True
    return added


@jit
def _gap(a: Vector3, b: Vector3) -> float:
    """Largest difference of the coordinates of two points."""
    return max(abs(a[0] - b[0]), abs(a[1] - b[1]), abs(a[2] - b[2]))


@jit
def missed_contacts(candidates: Candidates, P: np.ndarray, contacts: Contacts) -> bool:
    """List candidates besides the contacts that touch at placements P; False where none does."""
    M, c, missed, end = np.empty((4, 3)), np.empty(3), False, 0
    for k in range(len(candidates.rows)):
        row = candidates.rows[k]
        if candidates.pairs[k] >= 0:
            if k >= end:
                end = k + FLAT
                missed |= _missed_features(candidates, P, contacts, k)
            continue
        rim = _radius(candidates, k) > 0.0
        mesh = candidates.kinds[row, 0] == MESH and not rim
        if k < end or (contacts.listed[k] and not mesh):
            continue
        relative_placement(P, candidates.bodies[k, 0], candidates.bodies[k, 1], M)
        if rim:
            if _aim(candidates, contacts, k, M) < candidates.radii[k]:
                contacts.listed[k] = missed = True
            continue
        place(M, candidates.local[k], c)
        p = (c[0], c[1], c[2])
        if mesh:
            end = k + MINIMA
            missed |= _add_minima(candidates, contacts, k, p, candidates.radii[k])
        elif _distance(candidates, contacts, k, p) < candidates.radii[k]:
            contacts.listed[k] = missed = True
    if missed:
        list_contacts(candidates, contacts)
    return missed


@jit
def relative_velocity(
    P: np.ndarray,
    twists: np.ndarray,
    a: int,
    b: int,
    point: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
) -> None:
    """Velocity of a point of body a relative to body b, in the axes of b.

    Args:
        P: placements, shape (n + 1, 4, 3).
        twists: motions of the bodies at the world's origin, shape (n + 1, 6).
        a: index of the first body.
        b: index of the second body.
        point: the point in the frame of b, shape (3,).
        out: output, shape (3,).
        work: workspace, shape (3,).
    """
    place(P[b], point, work)
    w0 = twists[a, 3] - twists[b, 3]
    w1 = twists[a, 4] - twists[b, 4]
    w2 = twists[a, 5] - twists[b, 5]
    x = twists[a, 0] - twists[b, 0] + w1 * work[2] - w2 * work[1]
    y = twists[a, 1] - twists[b, 1] + w2 * work[0] - w0 * work[2]
    z = twists[a, 2] - twists[b, 2] + w0 * work[1] - w1 * work[0]
    if b == 0:
        out[0], out[1], out[2] = x, y, z
        return
    work[0], work[1], work[2] = x, y, z
    rotate_back(P[b], work, out)


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
        at.friction[i], at.surface[i] = candidates.shapes[row, 15], candidates.kinds[row, 1]
        if not abs(p[0]) + abs(p[1]) + abs(p[2]) < _LOST:
            at.depth[i] = math.nan
        elif candidates.pairs[c] >= 0:
            _place_feature(candidates, contacts, at, i, p)
        elif contacts.rolls[c]:
            _place_on_rim(candidates, contacts, at, i)
        elif candidates.kinds[row, 0] == MESH:
            _place_on_mesh(candidates, contacts, at, i, p)
        else:
            phi, normal, _ = _surface(candidates, contacts, c, p, hessian)
            at.depth[i] = candidates.radii[c] - phi
            at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = normal
        if not contacts.rolls[c] and candidates.pairs[c] < 0:
            for j in range(3):
                at.arm[i, j] = -candidates.radii[c] * at.normal[i, j]
    _leave_seams(candidates, contacts, at)


@jit
def _place_feature(
    candidates: Candidates, contacts: Contacts, at: Places, i: int, p: Vector3
) -> None:
    """Contact i of two polytopes, whose centre is at p; it is covered where they do not meet."""
    c, polytopes = contacts.index[i], candidates.polytopes
    kind, x, y = contacts.features[c, 0], contacts.features[c, 1], contacts.features[c, 2]
    pair = candidates.pairs[c]
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    radius = polytopes.rounding[second if kind == ON_A else first]
    for j in range(3):
        at.normal[i, j] = contacts.planes[c, j]
        at.arm[i, j] = -radius * at.normal[i, j]
    at.depth[i] = contacts.planes[c, 3] + radius - dot(at.normal[i], p)
    meets = kind == CROSSED
    if kind == ON_B:
        meets = is_over(polytope(polytopes, second), y, p, _BORDER)
    elif kind == ON_A:
        meets = is_over(polytope(polytopes, first), x, p, _BORDER)
        if polytopes.rows[first] >= 0 and contacts.bodies[i, 0] != 0:
            row = polytopes.rows[first]
            at.friction[i], at.surface[i] = candidates.shapes[row, 15], candidates.kinds[row, 1]
    elif kind == CROSSED and candidates.rolling:
        e, f, q, n, s, t = _edges_at(candidates, contacts, at, i)
        beyond = max(max(-s, s - 1.0) * length(e), max(-t, t - 1.0) * length(f))
        meets = beyond <= _BORDER
        at.depth[i] = dot(n, minus(q, p)) + radius + polytopes.rounding[second]
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], s * e[j] - radius * n[j]
    if not meets:
        at.depth[i], at.covered[i] = -REACH, True


@jit
def _edges_at(
    candidates: Candidates, contacts: Contacts, at: Places, i: int
) -> tuple[Vector3, Vector3, Vector3, Vector3, float, float]:
    """Both edges of contact i, a point of the second, normal, and where they cross; s = inf: not.

    The crossing is at the centre plus s times the first edge.
    """
    c, polytopes = contacts.index[i], candidates.polytopes
    pair = candidates.pairs[c]
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    b, turned = polytope(polytopes, second), np.empty(3)
    _, own = edge_of(polytope(polytopes, first), contacts.features[c, 1])
    q, f = edge_of(b, contacts.features[c, 2])
    rotate(at.placements[i], np.array(own), turned)
    e, p = (turned[0], turned[1], turned[2]), row_of(at.centre, i)
    n, expected = cross(e, f), row_of(contacts.planes, c)
    size = length(n)
    if size <= PARALLEL * length(e) * length(f):
        return e, f, q, expected, math.inf, math.inf
    s, t = crossing(p, e, q, f)
    return e, f, q, scaled(n, (1.0 if dot(n, expected) >= 0.0 else -1.0) / size), s, t


@jit
def _place_on_rim(candidates: Candidates, contacts: Contacts, at: Places, i: int) -> None:
    """Contact i at the nearest point of its rim, found by Newton's method from the one held."""
    c, M, centre = contacts.index[i], at.placements[i], at.centre[i]
    row, a, own, radius = candidates.rows[c], np.empty(3), np.empty((3, 3)), _radius(candidates, c)
    x = (centre[0], centre[1], centre[2])
    place(M, candidates.local[c], centre)
    rotate(M, candidates.rims[c], a)
    middle = (centre[0], centre[1], centre[2])
    axis = scaled((a[0], a[1], a[2]), 1.0 / radius)
    u = scaled(minus(x, middle), 1.0 / radius)
    phi, n, bends = 0.0, axis, False
    for turn in range(_TURNS):
        x = ahead(middle, radius, u)
        if candidates.kinds[row, 0] == MESH:
            face, feature, foot = settle(candidates.triangles, contacts.faces[c], x)
            phi, n, bends = describe_minimum(
                candidates.triangles, face, feature, foot, x, candidates.shapes[row, 16],
                at.curvature[i],
            )  # fmt: skip
        else:
            phi, n, bends = _surface(candidates, contacts, c, x, own)
            if bends:
                turn_tensor(candidates.shapes, row, own, at.curvature, i)
        t = cross(axis, u)
        slope, outward = dot(n, t), dot(n, u)
        if abs(slope) <= _AIMED or turn == _TURNS - 1:
            break
        angle = math.atan2(slope, -outward)
        if bends:
            bend = radius * dot(t, _times(at.curvature[i], t))
            angle = slope / (bend + abs(outward) + _AIMED)
        u = ahead(scaled(u, math.cos(angle)), -math.sin(angle), t)
        u = scaled(u, 1.0 / length(u))
    r = candidates.radii[c]
    at.depth[i], at.curved[i] = r - phi, bends
    for j in range(3):
        at.normal[i, j] = n[j]
        at.arm[i, j] = radius * u[j] - r * n[j]


@jit
def _times(A: np.ndarray, x: Vector3) -> Vector3:
    """The product of a matrix, shape (3, 3), and a vector."""
    return (
        A[0, 0] * x[0] + A[0, 1] * x[1] + A[0, 2] * x[2],
        A[1, 0] * x[0] + A[1, 1] * x[1] + A[1, 2] * x[2],
        A[2, 0] * x[0] + A[2, 1] * x[1] + A[2, 2] * x[2],
    )


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
def _leave_seams(candidates: Candidates, contacts: Contacts, at: Places) -> None:
    """Mark the contacts of a sphere whose point on the surface another shape covers.

    Where shapes join, the edge of one of them is no edge of their union: what slides over the seam
    feels the shape that is nearer alone.
    """
    n, i = contacts.n[0], 0
    least = -math.inf if candidates.distant else 0.0
    while i < n:
        end = i + 1
        while end < n and _is_same_sphere(candidates, contacts.index[i], contacts.index[end]):
            end += 1
        if end > i + 1:
            for k in range(i, end):
                if at.depth[k] > least and not at.covered[k]:
                    at.covered[k] = _is_covered(candidates, contacts, at, i, end, k)
            for k in range(i, end):
                if at.covered[k]:
                    at.depth[k] = -REACH
        elif (
            candidates.pairs[contacts.index[i]] >= 0
            and at.depth[i] > least
            and (_is_inner(candidates, contacts, at, i) or _is_at_seam(candidates, contacts, at, i))
        ):
            at.depth[i], at.covered[i] = -REACH, True
        i = end


@jit
def _is_inner(candidates: Candidates, contacts: Contacts, at: Places, i: int) -> bool:
    """Whether the point on the surface of contact i, of polytopes, is inside their body.

    There another shape of the body, or of the world, covers the surface, which does not go on above
    that shape, unlike a wall on a floor.
    """
    polytopes, pair = candidates.polytopes, candidates.pairs[contacts.index[i]]
    swapped = contacts.features[contacts.index[i], 0] == ON_A
    own = polytopes.rows[polytopes.pairs[pair, 0 if swapped else 1]]
    if own < 0 or candidates.kinds[own, 0] == MESH:
        return False
    n = row_of(at.normal, i)
    foot = ahead(row_of(at.centre, i), at.depth[i], n)
    foot = ahead(foot, 1.0, row_of(at.arm, i))
    beside = ahead(foot, _BESIDE, n)
    for row in range(len(candidates.kinds)):
        other = candidates.owners[row] == contacts.bodies[i, 1] and row != own
        if not other or candidates.kinds[row, 0] == MESH:
            continue
        if shape_distance(candidates.kinds, candidates.shapes, row, beside) >= 0.0:
            continue
        up, rise = _way_out(candidates, row, beside, n)
        above = ahead(foot, rise + _LEDGE, up)
        phi = shape_distance(candidates.kinds, candidates.shapes, own, above)
        if phi > (rise + _LEDGE) * dot(up, n) + 0.5 * _LEDGE:
            return True
    return False


@jit
def _is_at_seam(candidates: Candidates, contacts: Contacts, at: Places, i: int) -> bool:
    """Whether contact i is at an edge or a corner of polytope b where its body goes on beside it.

    What touches there touches the faces on both sides as well.
    """
    c, polytopes = contacts.index[i], candidates.polytopes
    kind, y = contacts.features[c, 0], contacts.features[c, 2]
    if kind == ON_B:
        return False
    second = polytopes.pairs[candidates.pairs[c], 1]
    b, own, n = polytope(polytopes, second), polytopes.rows[second], row_of(at.normal, i)
    foot = ahead(ahead(row_of(at.centre, i), 1.0, row_of(at.arm, i)), at.depth[i], n)
    if kind == ON_A:
        turned = np.empty(3)
        rotate_back(at.placements[i], at.normal[i], turned)
        n, foot = (-turned[0], -turned[1], -turned[2]), row_of(contacts.held, c)
    below = ahead(foot, -_LEDGE, n)
    for edge in range(len(b.edges)):
        of_corner = kind == ON_A and (b.edges[edge, 0] == y or b.edges[edge, 1] == y)
        if not (of_corner or (kind == CROSSED and edge == y)):
            continue
        for k in range(2, 4):
            if b.edges[edge, k] < 0:
                continue
            side = row_of(b.normals, b.edges[edge, k])
            if abs(dot(side, n)) > _ACROSS:
                continue
            beside = ahead(below, 2.0 * _LEDGE, side)
            for row in range(len(candidates.kinds)):
                other = candidates.owners[row] == candidates.bodies[c, 1] and row != own
                if not other or candidates.kinds[row, 0] == MESH:
                    continue
                if shape_distance(candidates.kinds, candidates.shapes, row, beside) < 0.0:
                    return True
    return False


@jit
def _way_out(candidates: Candidates, row: int, p: Vector3, n: Vector3) -> tuple[Vector3, float]:
    """Direction and distance from a point inside a shape to its surface, across a direction n."""
    shapes, hessian = candidates.shapes, np.empty((3, 3))
    phi = shape_distance(candidates.kinds, shapes, row, p)
    up, _ = describe(candidates.kinds, shapes, row, p, phi, hessian)
    rise = -phi
    if candidates.kinds[row, 0] == BOX:
        local, rise = seen_from(shapes, row, p), math.inf
        for j in range(3):
            axis = (shapes[row, 3 + j], shapes[row, 6 + j], shapes[row, 9 + j])
            inside = shapes[row, 12 + j] - abs(local[j])
            if abs(dot(axis, n)) < _ACROSS and inside < rise:
                rise, up = inside, scaled(axis, 1.0 if local[j] >= 0.0 else -1.0)
    return up, rise


@jit
def _is_same_sphere(candidates: Candidates, c: int, d: int) -> bool:
    """Whether two candidates are of the same sphere, or of the same place on a rim."""
    return (
        candidates.points[c] == candidates.points[d] and candidates.slots[c] == candidates.slots[d]
    )


@jit
def _is_covered(
    candidates: Candidates, contacts: Contacts, at: Places, begin: int, end: int, k: int
) -> bool:
    """Whether a nearer shape covers the point of contact k on its surface."""
    c = contacts.index[k]
    phi, foot = _foot(candidates, contacts, at, k)
    for other in range(begin, end):
        d = contacts.index[other]
        row = candidates.rows[d]
        if other == k or (candidates.kinds[row, 0] == MESH and contacts.faces[d] < 0):
            continue
        nearer = at.depth[other] > at.depth[k] or (at.depth[other] == at.depth[k] and other < k)
        if row == candidates.rows[c]:
            # Inside a mesh, and behind another side of it, the nearest face is all that counts.
            beside, there = _foot(candidates, contacts, at, other)
            nearer = abs(beside) < abs(phi) or (abs(beside) == abs(phi) and other < k)
            if nearer and (beside < 0.0 or phi < 0.0 or _gap(foot, there) <= SAME):
                return True
        elif not nearer:
            continue
        elif candidates.kinds[row, 0] == MESH:
            _, _, there = settle(candidates.triangles, contacts.faces[d], foot)
            if _gap(foot, there) <= SAME:
                return True
        else:
            inside = -shape_distance(candidates.kinds, candidates.shapes, row, foot)
            if inside >= -SAME and (
                inside <= SAME or not _rises(candidates, contacts, at, k, row, foot, inside)
            ):
                return True
    return False


@jit
def _rises(
    candidates: Candidates,
    contacts: Contacts,
    at: Places,
    k: int,
    row: int,
    foot: Vector3,
    inside: float,
) -> bool:
    """Whether the surface of contact k, inside a shape at its foot, goes on above that shape.

    Then it is a wall on a floor, or the side of a groove; else it is hidden in the shape.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        at: contacts at the configuration.
        k: contact.
        row: row of the shape, which has a closed form.
        foot: point of contact k on its surface [m].
        inside: its depth in the shape [m].
    """
    hessian, c = np.empty((3, 3)), contacts.index[k]
    up, _ = describe(candidates.kinds, candidates.shapes, row, foot, -inside, hessian)
    rise, own = inside + _LEDGE, candidates.rows[c]
    above, phi = ahead(foot, rise, up), 0.0
    if candidates.kinds[own, 0] == MESH:
        mesh = candidates.triangles
        face, feature, there = settle(mesh, contacts.faces[c], above)
        rounding = candidates.shapes[own, 16]
        phi = describe_minimum(mesh, face, feature, there, above, rounding, hessian)[0]
    else:
        phi = shape_distance(candidates.kinds, candidates.shapes, own, above)
    normal = (at.normal[k, 0], at.normal[k, 1], at.normal[k, 2])
    return phi <= rise * dot(up, normal) + 0.5 * _LEDGE


@jit
def _foot(candidates: Candidates, contacts: Contacts, at: Places, k: int) -> tuple[float, Vector3]:
    """Signed distance of the centre of contact k [m], and the closest point of its surface."""
    d = at.depth[k]
    foot = (
        at.centre[k, 0] + at.arm[k, 0] + d * at.normal[k, 0],
        at.centre[k, 1] + at.arm[k, 1] + d * at.normal[k, 1],
        at.centre[k, 2] + at.arm[k, 2] + d * at.normal[k, 2],
    )
    return candidates.radii[contacts.index[k]] - d, foot


@jit
def bend_contact(candidates: Candidates, contacts: Contacts, at: Places, i: int) -> None:
    """Write the curvature at contact i of a closed form; that of a mesh, and of rims, is there."""
    c = contacts.index[i]
    row = candidates.rows[c]
    if candidates.kinds[row, 0] == MESH or contacts.rolls[c] or candidates.pairs[c] >= 0:
        return
    own = np.empty((3, 3))
    p = (at.centre[i, 0], at.centre[i, 1], at.centre[i, 2])
    _, _, curved = _surface(candidates, contacts, c, p, own)
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
        _rim_rates(candidates, contacts, at, i, N, L)
        return
    if contacts.features[contacts.index[i], 0] == CROSSED and candidates.rolling:
        _edge_rates(candidates, contacts, at, i, N, L)
        return
    for j in range(3):
        for k in range(6):
            N[j, k] = at.curvature[i, j, k] if curved and k < 3 else 0.0
            L[j, k] = -radius * N[j, k]


@jit
def _rim_rates(
    candidates: Candidates,
    contacts: Contacts,
    at: Places,
    i: int,
    N: np.ndarray,
    L: np.ndarray,
) -> None:
    """Derivatives of normal and arm of a contact that moves along its rim, shapes (3, 6).

    The nearest point x = c + R u has n . t = 0, t = a x u being the rim's direction there. With
    y = dx + dphi x R u and the turn dtheta of u about the axis a, that gives
    (R t'H t - n . u) dtheta = -(t'H y + (t x n) . dphi); then dn = H (y + R t dtheta) and
    do = dphi x R u + R t dtheta - r dn.
    """
    c, r = contacts.index[i], candidates.radii[contacts.index[i]]
    axis, y, radius = np.empty(3), np.zeros(3), _radius(candidates, c)
    rotate(at.placements[i], candidates.rims[c], axis)
    n = (at.normal[i, 0], at.normal[i, 1], at.normal[i, 2])
    arm = ahead((at.arm[i, 0], at.arm[i, 1], at.arm[i, 2]), r, n)
    u = scaled(arm, 1.0 / radius)
    t = cross(scaled((axis[0], axis[1], axis[2]), 1.0 / radius), u)
    Ht = _times(at.curvature[i], t) if at.curved[i] else (0.0, 0.0, 0.0)
    lever, stiff = cross(t, n), radius * dot(t, Ht) - dot(n, u)
    for k in range(6):
        y[:] = 0.0
        if k < 3:
            y[k] = 1.0
        else:  # e_k x R u
            p, q = (k - 2) % 3, (k - 1) % 3
            y[q], y[p] = arm[p], -arm[q]
        turned = dot(Ht, y) + (lever[k - 3] if k >= 3 else 0.0)
        slide = -radius * turned / stiff
        moved = (y[0] + slide * t[0], y[1] + slide * t[1], y[2] + slide * t[2])
        change = _times(at.curvature[i], moved) if at.curved[i] else (0.0, 0.0, 0.0)
        for j in range(3):
            N[j, k] = change[j]
            L[j, k] = (y[j] if k >= 3 else 0.0) + slide * t[j] - r * change[j]


@jit
def _edge_rates(
    candidates: Candidates,
    contacts: Contacts,
    at: Places,
    i: int,
    N: np.ndarray,
    L: np.ndarray,
) -> None:
    """Derivatives of normal and arm of a contact of edges e, f by a motion, shapes (3, 6).

    n = e x f / |e x f| has dn = (1 - n n') (de x f) / |e x f|, de = dphi x e. The crossing c + s e
    has (c - q + s e) . m = 0, m = f x n, q being a point of the other edge; the arm is s e - r n.
    """
    e, f, q, n, s, _ = _edges_at(candidates, contacts, at, i)
    polytopes = candidates.polytopes
    radius = polytopes.rounding[polytopes.pairs[candidates.pairs[contacts.index[i]], 0]]
    both = cross(e, f)
    scale = (1.0 if dot(both, n) > 0.0 else -1.0) / length(both)
    m, lever = cross(f, n), ahead(minus(row_of(at.centre, i), q), s, e)
    across = dot(e, m)
    for k in range(6):
        dc = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        turn = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        de = cross(turn, e)
        dn = scaled(cross(de, f), scale)
        dn = ahead(dn, -dot(n, dn), n)
        ds = -(dot(ahead(dc, s, de), m) + dot(lever, cross(f, dn))) / across
        for j in range(3):
            N[j, k] = dn[j]
            L[j, k] = ds * e[j] + s * de[j] - radius * dn[j]


@jit
def shares(
    candidates: Candidates,
    contacts: Contacts,
    at: Places,
    i: int,
    points: np.ndarray,
    weights: np.ndarray,
) -> int:
    """Contact points at which the force of contact i is reported, and their shares; their number.

    The ends of an edge share its force by the rule of levers, the vertices of a face that of a
    vertex of the world: the smallest weights with the same resultant and moment.

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
    if pair < 0:
        return 1
    kind, x, y = contacts.features[c, 0], contacts.features[c, 1], contacts.features[c, 2]
    a = polytope(polytopes, polytopes.pairs[pair, 0])
    own, others = polytopes.first_points[pair, 0], polytopes.first_points[pair, 1]
    if kind == ON_B:
        points[0] = polytopes.points[own + x]
        return 1
    if kind == CROSSED:
        start, e = edge_of(a, x)
        s = dot(minus(row_of(contacts.held, c), start), e) / dot(e, e)
        if candidates.rolling:
            s = _edges_at(candidates, contacts, at, i)[4]
        points[0], weights[0] = polytopes.points[own + a.edges[x, 0]], 1.0 - s
        points[1], weights[1] = polytopes.points[own + a.edges[x, 1]], s
        return 2
    if polytopes.points[others + y] >= 0:
        points[0] = polytopes.points[others + y]
        return 1
    return _face_shares(polytopes, pair, a, x, row_of(at.centre, i), points, weights)


@jit
def _face_shares(
    polytopes: Polytopes,
    pair: int,
    a: Polytope,
    face: int,
    p: Vector3,
    points: np.ndarray,
    weights: np.ndarray,
) -> int:
    """Shares of the vertices of a face in the force on it at p; see `shares`."""
    corners, n = np.empty((MOST_SHARES, 3)), 0
    for v in range(len(a.vertices)):
        of_face = False
        for i in range(len(a.edges)):
            here = a.edges[i, 0] == v or a.edges[i, 1] == v
            of_face |= here and (a.edges[i, 2] == face or a.edges[i, 3] == face)
        if of_face and n < MOST_SHARES:
            corners[n] = a.vertices[v]
            points[n] = polytopes.points[polytopes.first_points[pair, 0] + v]
            n += 1
    middle, S, off = np.zeros(3), np.zeros((3, 3)), np.empty(3)
    for v in range(n):
        for j in range(3):
            middle[j] += corners[v, j] / n
    for v in range(n):
        for j in range(3):
            for k in range(3):
                S[j, k] += (corners[v, j] - middle[j]) * (corners[v, k] - middle[k])
    normal, size = row_of(a.normals, face), S[0, 0] + S[1, 1] + S[2, 2]
    for j in range(3):
        off[j] = p[j] - middle[j]
        for k in range(3):
            S[j, k] += size * normal[j] * normal[k]
    u = np.linalg.solve(S, off)
    for v in range(n):
        weights[v] = -1.0 / n
        for j in range(3):
            weights[v] -= u[j] * (corners[v, j] - middle[j])
    return n


@jit
def report_depths(
    candidates: Candidates, contacts: Contacts, at: Places, depths: np.ndarray
) -> None:
    """Write the penetrations of the contact points, 0 when apart [m], shape (p,)."""
    points, weights = np.empty(MOST_SHARES, np.int64), np.empty(MOST_SHARES)
    for p in range(depths.size):
        depths[p] = 0.0
    for i in range(contacts.n[0]):
        if at.depth[i] > 0.0:
            n, most = shares(candidates, contacts, at, i, points, weights), 0
            for x in range(1, n):
                if abs(weights[x]) > abs(weights[most]):
                    most = x
            depths[points[most]] = max(depths[points[most]], at.depth[i])


@jit
def report_wrench(
    candidates: Candidates,
    contacts: Contacts,
    at: Places,
    i: int,
    wrench: np.ndarray,
    wrenches: np.ndarray,
) -> None:
    """Add the wrench of contact i to those of its contact points.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        at: contacts at the configuration.
        i: contact.
        wrench: wrench about the contact point, or, where several share it, about its place, in
            the axes of the world [N, N m], shape (6,).
        wrenches: wrenches of the contact points, shape (p, 6).
    """
    points, weights = np.empty(MOST_SHARES, np.int64), np.empty(MOST_SHARES)
    for x in range(shares(candidates, contacts, at, i, points, weights)):
        for j in range(6):
            wrenches[points[x], j] += weights[x] * wrench[j]


@jit
def report_wrenches(
    candidates: Candidates,
    contacts: Contacts,
    at: Places,
    wrenches: np.ndarray,
    of_points: np.ndarray,
) -> None:
    """Add the wrenches of all contacts, shape (n, 6), to those of their points; `report_wrench`."""
    for i in range(contacts.n[0]):
        report_wrench(candidates, contacts, at, i, wrenches[i], of_points)


@jit
def displacement(
    placement: np.ndarray,
    reference: np.ndarray,
    centre: np.ndarray,
    arm: np.ndarray,
    motion: np.ndarray,
) -> None:
    """Motion since the reference on which a contact's wrench works [m, rad].

    Three entries are the displacement of the touching material point; six are that of the centre,
    and the rotation as its axis times the sine of its angle.

    Args:
        placement: placement of the carrier, shape (4, 3).
        reference: reference placement of the carrier, which need not be rigid, shape (4, 3).
        centre: centre of the contact, shape (3,).
        arm: arm from the centre to the touching point, shape (3,).
        motion: output, shape (3,) or (6,).
    """
    force = motion.size == 3
    x, local = np.empty(3), np.empty(3)
    for a in range(3):
        x[a] = centre[a] + (arm[a] if force else 0.0)
        local[a] = x[a] - placement[3, a]
    for a in range(3):
        motion[a] = x[a] - reference[3, a]
        for c in range(3):
            along = (
                placement[c, 0] * local[0] + placement[c, 1] * local[1] + placement[c, 2] * local[2]
            )
            motion[a] -= reference[c, a] * along
    if force:
        return
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        turn_ji, turn_ij = 0.0, 0.0
        for c in range(3):
            turn_ji += placement[c, j] * reference[c, i]
            turn_ij += placement[c, i] * reference[c, j]
        motion[3 + k] = 0.5 * (turn_ji - turn_ij)


@jit
def turn_back(placement: np.ndarray, reference: np.ndarray, Q: np.ndarray) -> None:
    """Q = R_ref R', the rotation of a carrier back to the reference, shape (3, 3)."""
    for a in range(3):
        for b in range(3):
            Q[a, b] = (
                reference[0, a] * placement[0, b]
                + reference[1, a] * placement[1, b]
                + reference[2, a] * placement[2, b]
            )


@jit
def velocity_motion(
    P: np.ndarray,
    twists: np.ndarray,
    a: int,
    b: int,
    point: np.ndarray,
    h: float,
    motion: np.ndarray,
) -> None:
    """Motion on which a contact's wrench works in a time h at the velocity of its end [m, rad].

    Args:
        P: placements, shape (n + 1, 4, 3).
        twists: motions of the bodies at the world's origin, shape (n + 1, 6).
        a: index of the body that carries the contact.
        b: index of the body that it touches.
        point: point where the wrench acts, in the frame of b, shape (3,).
        h: length of the stage [s].
        motion: output, shape (3,) or (6,).
    """
    work, turn = np.empty(3), np.empty(3)
    relative_velocity(P, twists, a, b, point, motion[:3], work)
    for k in range(3):
        motion[k] *= h
    if motion.size == 6:
        for k in range(3):
            work[k] = h * (twists[a, 3 + k] - twists[b, 3 + k])
        rotate_back(P[b], work, turn)
        for k in range(3):
            motion[3 + k] = turn[k]


@jit
def wrench_at_origin(
    P: np.ndarray, b: int, point: np.ndarray, wrench: np.ndarray, out: np.ndarray
) -> None:
    """The wrench of a contact about the world's origin, in the world's axes, shape (6,).

    Args:
        P: placements, shape (n + 1, 4, 3).
        b: index of the touched body.
        point: point where the wrench acts, in the frame of b, shape (3,).
        wrench: wrench in the axes of b, shape (3,) or (6,).
        out: output, shape (6,).
    """
    p = np.empty(3)
    place(P[b], point, p)
    for a in range(3):
        out[a] = P[b, 0, a] * wrench[0] + P[b, 1, a] * wrench[1] + P[b, 2, a] * wrench[2]
    cross_into(p, out[:3], out[3:])
    if wrench.size == 6:
        for a in range(3):
            out[3 + a] += P[b, 0, a] * wrench[3] + P[b, 1, a] * wrench[4] + P[b, 2, a] * wrench[5]


@jit
def stiffness_at_origin(
    P: np.ndarray,
    b: int,
    centre: np.ndarray,
    wrench: np.ndarray,
    D: np.ndarray,
    carried: bool,
    out: np.ndarray,
) -> None:
    """Derivative of a wrench at the world's origin by motions relative to the touched body.

    Args:
        P: placements, shape (n + 1, 4, 3).
        b: index of the touched body.
        centre: centre of the contact in the frame of b, shape (3,).
        wrench: force of the contact in the axes of b, shape (>= 3,).
        D: derivative of its wrench about the centre by (dx, dphi), in the axes of b, shape (6, 6);
            overwritten.
        carried: whether the centre's motion carries the force along.
        out: output, row-major, shape (36,).
    """
    c, f = np.empty(3), np.empty(3)
    place(P[b], centre, c)
    for a in range(3):
        f[a] = P[b, 0, a] * wrench[0] + P[b, 1, a] * wrench[1] + P[b, 2, a] * wrench[2]
    if b != 0:
        _turn(P[b], D)
    for j in range(6):  # D times the motion of the centre that one of the origin causes
        x, y, z = D[j, 0], D[j, 1], D[j, 2]
        D[j, 3] += c[1] * z - c[2] * y
        D[j, 4] += c[2] * x - c[0] * z
        D[j, 5] += c[0] * y - c[1] * x
    if carried:  # -[f] of the motion of the centre
        D[3, 1] += f[2]
        D[3, 2] -= f[1]
        D[4, 0] -= f[2]
        D[4, 2] += f[0]
        D[5, 0] += f[1]
        D[5, 1] -= f[0]
        along = f[0] * c[0] + f[1] * c[1] + f[2] * c[2]
        for i in range(3):  # [f][c] = c f' - (f . c) 1
            for j in range(3):
                D[3 + i, 3 + j] += c[i] * f[j]
            D[3 + i, 3 + i] -= along
    for k in range(6):
        x, y, z = D[0, k], D[1, k], D[2, k]
        out[k], out[6 + k], out[12 + k] = x, y, z
        out[18 + k] = D[3, k] + c[1] * z - c[2] * y
        out[24 + k] = D[4, k] + c[2] * x - c[0] * z
        out[30 + k] = D[5, k] + c[0] * y - c[1] * x


@jit
def _turn(axes: np.ndarray, D: np.ndarray) -> None:
    """Rotate both sides of D to the axes of the world, in place; axes[j] is column j of R."""
    half = np.empty((6, 6))
    for p in range(0, 6, 3):
        for i in range(3):
            for q in range(6):
                half[p + i, q] = (
                    axes[0, i] * D[p, q] + axes[1, i] * D[p + 1, q] + axes[2, i] * D[p + 2, q]
                )
    for q in range(0, 6, 3):
        for p in range(6):
            for j in range(3):
                D[p, q + j] = (
                    half[p, q] * axes[0, j]
                    + half[p, q + 1] * axes[1, j]
                    + half[p, q + 2] * axes[2, j]
                )
