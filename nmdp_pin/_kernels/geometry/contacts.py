"""Contacts: pairs of a contact sphere and a shape, their places, normals and motions.

A candidate is a pair of a sphere of one body and a shape of another body or of the world; the
contacts of a step are the candidates that may touch in it. Every contact is expressed in the frame
of the body that it touches, whose placement is P[b]; the world is the body 0.

The sphere may be swept over an ellipsoid, or over a disc, such as the end of a cylinder. It then
touches where these are nearest to the shape, at a point that moves along them. A disc has `N_RIM`
contacts with a shape: the others are at quarter turns along its rim from where that point is
expected at the end of the step, fixed to the body. Where a disc is nearly parallel to the surface,
as of a standing cylinder, all are fixed to the body. With a ball, a capsule or an ellipsoid it has
`N_ROUNDED`, where the distance along its rim is least, which both move.

A sphere has several contacts with a mesh: one for each local minimum of the distance, which is
found again at other configurations by a walk over the mesh from the same face. A disc or an
ellipsoid has them where it is near those of its middle.

Boxes, cylinders and cones are felt by points and rims on the sides on which a step begins: what
comes deep into a thin floor is pushed back up, and not out of its bottom. Where two solids overlap
there, one of which is a cylinder or a cone, coal finds the direction in which they do least: their
contacts feel the face in this direction, and what is deeper than the overlap is none.

Two polytopes have up to `N_FEATURES` contacts, at vertices of one on faces of the other and where
edges cross. They are held during a step: their distances are those of points from planes, and of
lines; they act where the vertex is over the face, and where the edges cross. The centre of a
contact of edges is the end of the edge, its arm leads to the crossing. A polytope and a mesh of the
world have as many, at peaks and ridges of the mesh; so have a rim and a polytope or another rim
(`rims`), and a polytope and a cone or an ellipsoid (`sides`), at places that move along both.

A pair of solids is a contact where coal finds that they overlap deeper than their other contacts: a
point of one of them and a plane at the other one, which are held during a step (`SolidCalls`).

All contacts of two solids, one of which is round, share `N_SOLIDS` rows: those of their candidates
that are nearest where the step starts or is expected to end have them, and what touches besides
takes the place of the furthest.

A contact has a centre c, a normal n, a penetration d and an arm o to the point x = c + o where its
force acts; for a sphere of radius r the arm is -r n, and for one that is swept it leads to the
point of the disc or ellipsoid less r n. A motion (dx, dphi) of its body moves the centre by dx and
rotates by dphi; it changes the normal by N (dx, dphi), the arm by L (dx, dphi), and the
penetration by -n . (dx + dphi x o).
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import record
from nmdp_pin._kernels.geometry.polytopes import FEATURE_KINDS, NONE, ON_A, Polytopes
from nmdp_pin._kernels.geometry.triangles import Triangles

REACH = 0.05  # [m] between surfaces up to which a candidate is a contact of a step
NEARBY = 0.01  # [m] likewise of two bodies, which may stay close to each other
LOST = 1e9  # [m] |x| + |y| + |z| beyond which coordinates no longer resolve a micrometre
# Kinds of contacts: of a sphere and a plane, another shape with a closed form, or a mesh; of a
# sphere that is swept over a disc or an ellipsoid, and any shape; of features of two polytopes; of
# two solids, whose overlap coal finds.
(
    SPHERE_PLANE,
    SPHERE_SOLID,
    SPHERE_MESH,
    DISC,
    ELLIPSOID_SURFACE,
    POLYTOPES,
    OVERLAP,
) = range(7)
MOST_LOSSES = 2  # of a contact, after which it is kept for the rest of a stage
N_MINIMA = 6  # contacts of a sphere with a mesh
N_RIM = 4  # contacts of a disc with a shape
N_ROUNDED = 2  # likewise with a ball, a capsule or an ellipsoid
N_FEATURES = 16  # contacts of two polytopes
N_OVERLAPS = 4  # contacts of two solids that overlap deeper than their other contacts
N_SOLIDS = 12  # contacts of two solids that have more candidates than two polytopes


@record(frozen=True)
class ContactPairs:
    """Pairs that may touch.

    Args:
        contact_kinds: kinds of the contacts, `SPHERE_PLANE` or one of the others, shape (k,).
        bodies: the body that carries the sphere, and the one that has the shape; 0 is the world,
            shape (k, 2).
        local: centres of the spheres in the frames of their bodies [m], shape (k, 3).
        radii: radii of the spheres [m], shape (k,).
        rows: rows of the shapes in the tables, that of a mesh `N_MINIMA` times, shape (k,).
        surfaces: rows of the shapes that are touched, those of the world before others, (k,).
        friction: friction coefficients, shape (k,).
        rubbing: indices of the shapes whose coefficients these are, -1: of the pair, shape (k,).
        stiffness: stiffnesses k, inf: rigid [N/m^p], shape (k,).
        points: indices of the spheres among the robot's contact points; of those of the world, of
            the first point of the body that they touch, shape (k,).
        carriers: bodies of the robot's contact points that touch the world, shape (p,).
        places: centres of these in the frames of their bodies [m], shape (p, 3).
        semi_axes: those of the discs and ellipsoids over which the spheres are swept, in the frames
            of their bodies; 0 where there are fewer than three [m], shape (k, 3, 3).
        facing: directions out of the rims of cylinders and cones and of tips, in the frames of
            their bodies, and cosines, see `dynamics.candidates`; 0 of others, shape (k, 4).
        overlap_rows: rows of `Contacts.overlaps` of the solids that touch, -1: none, shape (k,).
        solids_of: numbers of the pairs of solids that share `N_SOLIDS` contacts, -1: none, (k,).
        slots: number of the contact among those of the disc, shape (k,).
        kinds: table of kinds, as in `terrain`, shape (s, 3).
        shapes: table of shapes, in the frames of their bodies, shape (s, 17).
        pointed: whether edges, rims or tips of the shapes touch by themselves, shape (s,).
        triangles: meshes, in the frames of their bodies.
        owners: bodies of the shapes, shape (s,).
        blocks: first candidates of blocks with the same bodies, and the end, shape (g + 1,).
        balls: balls around the points of blocks, in the frames of their bodies: centre and radius
            [m], shape (g, 4).
        boxes: boxes around the shapes of blocks, in the frames of their bodies: centre and half
            lengths, inf where there are planes or polytopes [m], shape (g, 2, 3).
        polytopes: polytopes, in the frames of their bodies.
        pairs: pairs of polytopes of the candidates, each `N_FEATURES` times, -1: none, shape (k,).
        solids: handle of the pairs of solids, see `SolidCalls`; 0: there are none.
        shaped: whether other shapes than planes are touched, or several planes of one body.
        swept: whether discs or ellipsoids touch planes.
        rise: rates rho / p at which they push out [1/s], shape (k,); see `stage_records.System`.
        reach: distance up to which a candidate is a contact of a step [m].
        distant: whether contacts act that do not touch.
        rolling: whether the law of contact lets contacts move along curved surfaces in a step.
    """

    contact_kinds: Array
    bodies: Array
    local: Array
    radii: Array
    rows: Array
    surfaces: Array
    friction: Array
    rubbing: Array
    stiffness: Array
    points: Array
    carriers: Array
    places: Array
    semi_axes: Array
    facing: Array
    overlap_rows: Array
    solids_of: Array
    slots: Array
    kinds: Array
    shapes: Array
    pointed: Array
    triangles: Triangles
    owners: Array
    blocks: Array
    balls: Array
    boxes: Array
    polytopes: Polytopes
    pairs: Array
    solids: int
    shaped: bool
    swept: bool
    rise: Array
    reach: float
    distant: bool
    rolling: bool


@record
class Contacts:
    """Contacts of a step: n of the candidates, in their order.

    Args:
        n: number of contacts, shape (1,).
        index: their candidates, shape (c,).
        bodies: as in `ContactPairs`, of the contacts, shape (c, 2); those of a vertex of the second
            polytope on a face of the first are swapped.
        listed: whether each candidate may touch, shape (c,).
        chosen: whether it is a contact, shape (c,).
        gaps: least distance of a candidate at the start and the expected end, -inf: it touches
            where it was no contact [m], shape (c,).
        nearest: contacts of pairs of solids, the nearest first, shape (g, 12).
        n_nearest: their numbers, shape (g,).
        left_out: whether it is none for the whole step, shape (c,).
        losses: how often it went beyond the borders of its features in a stage; from `MOST_LOSSES`
            on it is felt there, too, shape (c,).
        overlaps: of solids that are near where the step starts, the direction out of what is
            touched in which they overlap least, or in which they are apart, in the axes of its
            body, 0: not known; how deep; and the largest depth of a contact [m], 0: any. Each pair
            twice, as either is touched; 0 where they are not near, shape (2 s, 5).
        faces: faces of meshes from which their contacts are found, -1: none; of others, bits
            of `seen_faces`, shape (c,).
        held: centres of the spheres in the frames of their bodies [m], shape (c, 3).
        rolls: whether a contact moves along a disc or an ellipsoid, shape (c,).
        features: kinds of contacts of polytopes, and the features that touch, shape (c, 3).
        planes: normals and levels of the planes that vertices and solids touch, in the frames of
            their bodies, shape (c, 4).
        feature_margin: distances beyond faces and edges up to which polytopes touch in the step,
            twice `BORDER` where they do at its expected end [m], shape (c, 1).
        directions: directions in which pairs of polytopes touch, 0: far apart, shape (p, 3).
        reference: placements of their bodies at the reference of a stage, shape (k, 4, 3).
        rolling: whether they move along curved surfaces in the step; else they are held where they
            are expected at its end.
    """

    n: Array
    index: Array
    bodies: Array
    listed: Array
    chosen: Array
    gaps: Array
    nearest: Array
    n_nearest: Array
    left_out: Array
    losses: Array
    overlaps: Array
    faces: Array
    held: Array
    rolls: Array
    features: Array
    planes: Array
    feature_margin: Array
    directions: Array
    reference: Array
    rolling: bool


@record(frozen=True)
class ContactFrames:
    """The contacts at one configuration.

    Args:
        placements: placements of the bodies that carry them, relative to those that they touch,
            shape (k, 4, 3).
        centre: centres of the spheres, or of what they are swept over [m], shape (k, 3).
        depth: penetrations, negative when apart [m], shape (k,).
        normal: outward normals of the surfaces, shape (k, 3).
        arm: arms o from the centres to the points of the forces [m], shape (k, 3).
        curvature: derivatives of the normals by the centres, if `curved` [1/m], (k, 3, 3).
        curved: whether a surface is curved, shape (k,).
        N: derivatives of the normals by motions of the bodies, if bent, shape (k, 3, 6).
        L: derivatives of the arms, likewise.
        on_internal_edge: whether another shape covers the place, which then is no contact, (k,).
        friction: friction coefficients, shape (k,).
        stiffness: stiffnesses k, inf: rigid [N/m^p], shape (k,).
        surface: indices of the shapes among those of the world and the bodies, -1: none, (k,).
    """

    placements: Array
    centre: Array
    depth: Array
    normal: Array
    arm: Array
    curvature: Array
    curved: Array
    N: Array
    L: Array
    on_internal_edge: Array
    friction: Array
    stiffness: Array
    surface: Array


@jit
def is_nearby(candidates: ContactPairs, at: ContactFrames, i: int) -> bool:
    """Whether contact i is near enough for its curvature to count.

    Objectives of the papers count what does not touch too, within any reach.
    """
    holds: bool = candidates.distant or candidates.reach == math.inf or at.depth[i] > -NEARBY
    return holds


@jit
def list_contacts(candidates: ContactPairs, contacts: Contacts) -> None:
    """Make contacts of the candidates that are listed, the nearest ones of two solids."""
    n = 0
    for p in range(contacts.n_nearest.size):
        contacts.n_nearest[p] = 0
    for c in range(len(candidates.rows)):
        contacts.chosen[c] = contacts.listed[c]
        if contacts.listed[c] and candidates.solids_of[c] >= 0:
            _choose_nearest(candidates, contacts, c)
    for c in range(len(candidates.rows)):
        if contacts.chosen[c]:
            contacts.index[n] = c
            swapped = contacts.features[c, 0] == ON_A
            contacts.bodies[n, 0] = candidates.bodies[c, 1 if swapped else 0]
            contacts.bodies[n, 1] = candidates.bodies[c, 0 if swapped else 1]
            n += 1
    contacts.n[0] = n


@jit
def _choose_nearest(candidates: ContactPairs, contacts: Contacts, c: int) -> None:
    """Let candidate c have one of the contacts of its solids if it is nearer than another one."""
    p, gap = candidates.solids_of[c], contacts.gaps[c]
    nearest, n = contacts.nearest[p], contacts.n_nearest[p]
    if n == N_SOLIDS:
        furthest = nearest[n - 1]
        if not gap < contacts.gaps[furthest]:
            contacts.chosen[c] = False
            return
        contacts.chosen[furthest] = False
        n -= 1
    contacts.n_nearest[p] = n + 1
    while n > 0 and gap < contacts.gaps[nearest[n - 1]]:
        nearest[n] = nearest[n - 1]
        n -= 1
    nearest[n] = c


@jit
def reach_of(candidates: ContactPairs, c: int) -> float:
    """Distance up to which a candidate is a contact of a step [m]."""
    of_bodies = candidates.bodies[c, 0] > 0 and candidates.bodies[c, 1] > 0
    return NEARBY if of_bodies and candidates.reach == REACH else candidates.reach


@jit
def most_features(polytopes: Polytopes, mesh: Triangles) -> int:
    """Number above those of all features of polytopes and meshes."""
    of_polytopes = max(len(polytopes.vertices), len(polytopes.edges))
    return max(of_polytopes, len(mesh.vertices), len(mesh.ridges))


@jit
def identity(candidates: ContactPairs, contacts: Contacts, c: int) -> int:
    """Number of the features by which candidate c touches, ascending; the same in all steps."""
    pair, kind = candidates.pairs[c], contacts.features[c, 0]
    if pair < 0:
        return c
    most = most_features(candidates.polytopes, candidates.triangles)
    if kind == NONE:
        kind = FEATURE_KINDS - 1
    features = (pair * FEATURE_KINDS + kind) * most + contacts.features[c, 1]
    number: int = len(candidates.rows) + features * most + contacts.features[c, 2]
    return number
