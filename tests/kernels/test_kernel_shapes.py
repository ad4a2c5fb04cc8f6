"""Contacts of pairs of shapes: how they move with the bodies, and where points bear their forces.

Poses are random; what is missed by a step far away is found, and is as deep as coal says.
"""

import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh
from benchmark_modules import benchmark
from kernel_scenes import array_of
from pairwise import pairwise

from nmdp_pin._contact import AnisotropicCone, FrictionCone
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.geometry.contacts import N_FEATURES, N_SOLIDS
from nmdp_pin._kernels.geometry.planes import (
    bend_contacts,
    missed_contacts,
    place_contacts,
    select_contacts,
)
from nmdp_pin._kernels.geometry.polytopes import ON_A, polytope, side_of
from nmdp_pin._kernels.geometry.shares import share_wrenches
from nmdp_pin._robot import free_body
from nmdp_pin._terrain import (
    Box,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    Terrain,
)

H = 0.01  # [s]
STEP = 1e-6  # [m, rad] of central differences
DIFFERENCE = 1e-4  # [1/m] their error, relative to the curvature, whose radius is 0.2 mm at a tip
COAL = 2e-6  # [m] to which coal finds distances
DEEP = 4e-4  # [m] overlap of the poses
SHALLOW = 0.02  # share of the overlap that the deepest contact may lack
BESIDE = 0.03  # [m] between a seam and a contact that may feel it
EXPECTED = 0.2  # likewise of contacts that are held at points of the body
LEVER = 1e-9  # [m^2] of a force and corners; shares are regular by 1e-9 of the size of a face
BLOCK = trimesh.creation.box((0.1, 0.14, 0.08))
OVERLAPS = benchmark("overlaps")
SOLIDS = OVERLAPS.SOLIDS
GROUNDS = {
    "plane": Plane(),
    **{name: shape for name, shape in OVERLAPS.GROUNDS.items() if name != "hull"},
    "mesh": Mesh(vertices=BLOCK.vertices, faces=BLOCK.faces),
}
ROUGH = HeightField(roughness=0.1, seed=1, size=(1.0, 1.0), spacing=(0.08, 0.08))


def overlap(solid, M, ground):
    """Depth by coal [m], and its direction from the ground to the solid."""
    if isinstance(ground, Plane):
        other = coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    elif isinstance(ground, Mesh):
        other = Box(size=tuple(BLOCK.extents)).collision_geometry()
    else:
        other = ground.collision_geometry()
    return OVERLAPS.overlap(solid.collision_geometry(), M, other)


LAWS = {
    "rolling": FrictionCone(stiffness=1e6),
    "held": AnisotropicCone(stiffness=1e6, along=0.5),  # its contacts are fixed to bodies
}


class Pair:
    """A free solid on a ground of one shape."""

    def __init__(self, solid, ground, law=LAWS["rolling"]):
        self.solid, self.ground = solid, ground
        robot = free_body("body", solid, mass=1.0)
        self.form = CompiledSystem(System(robot, Terrain(ground), law))
        self.candidates = self.form.candidates
        self.contacts, self.at = self.form.new_stage().contacts, self.form.new_point().places
        self.points = robot.contact_points

    def pose(self, rng):
        """A random one in which the solid overlaps by DEEP."""
        while True:
            towards = rng.normal(size=3)
            if isinstance(self.ground, Plane):
                towards[2] = abs(towards[2])
            R = pin.Quaternion(*rng.normal(size=4)).normalized().matrix()
            M = pin.SE3(R, 0.3 * towards / np.linalg.norm(towards))
            for _ in range(4):
                depth, n = overlap(self.solid, M, self.ground)
                M.translation = M.translation + (depth - DEEP) * n
            if abs(overlap(self.solid, M, self.ground)[0] - DEEP) < COAL:
                return M, overlap(self.solid, M, self.ground)[1]

    def placements(self, M):
        """Of the world, and of the joints of the body."""
        return np.array(
            [array_of(pin.SE3.Identity()), *[array_of(M)] * (self.form.model.njoints - 1)]
        )

    def select(self, M, v=(0.0, 0.0, 0.0), w=(0.0, 0.0, 0.0)):
        """List the contacts of a step at constant velocity that ends at a pose."""
        P = self.placements(
            pin.SE3(pin.exp3(-H * np.asarray(w)) @ M.rotation, M.translation - H * np.asarray(v))
        )
        twists = np.tile([*(v - np.cross(w, P[1, 3])), *w], (len(P), 1))
        twists[0] = 0.0
        select_contacts(self.candidates, P, twists, H, self.candidates.rolling, self.contacts)

    def missed(self, M):
        """Whether contacts touch that are not listed; they are then."""
        P = self.placements(M)
        return missed_contacts(self.candidates, P, self.contacts)

    def place(self, M):
        """Places of the contacts, and which of them touch."""
        P = self.placements(M)
        place_contacts(self.candidates, self.contacts, P, self.at)
        bend_contacts(self.candidates, self.contacts, self.at)
        n = self.contacts.n[0]
        return np.flatnonzero(~self.at.on_internal_edge[:n] & (self.at.depth[:n] > 0.0))

    def deepest(self, M):
        """Largest depth of a contact [m]."""
        return self.at.depth[self.place(M)].max(initial=0.0)

    def found(self, M):
        """Depths, points and normals towards the solid of what touches, in the world, (n, 7)."""
        self.select(M)
        rows = []
        for i in self.place(M):
            x, n = self.at.centre[i] + self.at.arm[i], self.at.normal[i]
            if self.contacts.bodies[i, 0] == 0:
                x, n = M.act(x), -M.rotation @ n
            rows.append([self.at.depth[i], *x, *n])
        return np.reshape(rows, (-1, 7))

    def moved(self, M, i, motion):
        """The solid after a motion, about its centre, of the body that carries contact i."""
        own = self.contacts.bodies[i, 0] > 0
        relative, c = M if own else M.inverse(), self.at.centre[i].copy()
        turn = pin.exp3(motion[3:])
        there = pin.SE3(
            turn @ relative.rotation, c + motion[:3] + turn @ (relative.translation - c)
        )
        return there if own else there.inverse()


def check_rates(pair, M):
    """Central differences of depth, normal and arm of all that touches."""
    for i in pair.place(M):
        at = pair.at
        n, arm, N, L = (x[i].copy() for x in (at.normal, at.arm, at.N, at.L))
        rates = []
        for motion in STEP * np.eye(6):
            sides = []
            for sign in (1.0, -1.0):
                pair.place(pair.moved(M, i, sign * motion))
                sides.append(np.concatenate([[at.depth[i]], at.normal[i], at.arm[i]]))
                pair.place(M)
            rates.append((sides[0] - sides[1]) / (2.0 * STEP))
        of_depth, of_normal, of_arm = np.split(np.transpose(rates), [1, 4])
        expected = -np.concatenate([n, np.cross(arm, n)])
        assert of_depth[0] == pytest.approx(expected, abs=DIFFERENCE)
        size = DIFFERENCE * max(np.abs(N).max(), np.abs(L).max(), 1.0)
        assert of_normal == pytest.approx(N, abs=size)
        assert of_arm == pytest.approx(L, abs=size)


def check_shares(pair, M):
    """Points of the body bear a force, in the line, the plane or the space that they span."""
    at, places = pair.at, pair.points.positions
    for i in pair.place(M):
        of_world = pair.contacts.bodies[i, 0] == 0
        wrenches, borne = np.zeros((pair.contacts.n[0], 6)), np.zeros((len(places), 6))
        wrenches[i, 0] = -1.0 if of_world else 1.0
        share_wrenches(pair.candidates, pair.contacts, at, wrenches, borne)
        points = np.flatnonzero(borne[:, 0])
        corners, share = places[points], borne[points, 0]
        assert share.sum() == pytest.approx(1.0)
        x = at.centre[i] + at.arm[i]
        off = (x if of_world else M.actInv(x)) - share @ corners
        assert (corners - corners.mean(axis=0)) @ off == pytest.approx(0.0 * share, abs=LEVER)


@pairwise({"name": SOLIDS, "ground": GROUNDS, "law": LAWS})
def test_contacts_of_a_pair(name, ground, law):
    """As deep as coal says, expected, listed or missed; rates are those of their differences."""
    pair, rng = Pair(SOLIDS[name], GROUNDS[ground], LAWS[law]), np.random.default_rng(7)
    of_world = pair.candidates.bodies[:, 0] == 0
    assert (pair.candidates.points[of_world] == 0).all()  # the first of the body
    lacks = SHALLOW if law == "rolling" else EXPECTED
    for _ in range(3):
        M, n = pair.pose(rng)
        pair.select(M, -0.5 * n + 0.1 * rng.normal(size=3), rng.normal(size=3))
        assert pair.deepest(M) > (1.0 - lacks) * DEEP - COAL
        pair.select(pin.SE3(M.rotation, M.translation + 5.0 * n))
        assert pair.contacts.n[0] == 0
        assert pair.missed(M)
        assert pair.deepest(M) > (1.0 - lacks) * DEEP - COAL
        assert not pair.missed(M)
        pair.select(M)
        assert pair.deepest(M) > (1.0 - lacks) * DEEP - COAL
        if (name, ground) != ("ellipsoid", "mesh"):  # an edge of a mesh is a kink of the distance
            check_rates(pair, M)
        check_shares(pair, M)


@pytest.mark.parametrize("towards", [-1.0, 1.0])
def test_sides_of_edges(towards):
    """By the faces of the second polytope, or of the first, or by the direction of two lone edges.

    Each face comes first and last at some edge; the direction is asked for where there is none.
    """
    tables = Pair(SOLIDS["capsule"], GROUNDS["box"]).candidates.polytopes
    box, lone = sorted((polytope(tables, 0), polytope(tables, 1)), key=lambda a: -len(a.edges))
    assert len(lone.edges) == 1
    other = tuple(towards * np.array([0.3, 0.5, -0.8]))
    assert side_of(lone, 0, lone, 0, (1.0, 0.0, 0.0), other) == pytest.approx(0.3 * towards)
    for j, (_, _, first, second) in enumerate(box.edges):
        n = box.normals[first] + box.normals[second]
        assert side_of(lone, 0, box, j, tuple(n), other) == pytest.approx(2.0)
        assert side_of(box, (j + 1) % 12, box, j, tuple(n), other) == pytest.approx(2.0)
        assert side_of(box, j, lone, 0, tuple(n), other) == pytest.approx(-2.0)


SEAM = 0.01  # [m] x of the face at which two boxes meet
PARTS = {
    "halves": [
        Box(size=(0.11, 0.12, 0.08), position=(SEAM - 0.055, 0.0, 0.0)),
        Box(size=(0.09, 0.12, 0.08), position=(SEAM + 0.045, 0.0, 0.0)),
    ],
    "inlay": [GROUNDS["box"], Box(size=(0.09, 0.06, 0.08), position=(SEAM - 0.045, 0.0, 0.0))],
}


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("name", SOLIDS)
def test_two_boxes_are_one(name, parts):
    """What touches where they meet is what touches the box that they make up."""
    one, two = Pair(SOLIDS[name], GROUNDS["box"]), Pair(SOLIDS[name], PARTS[parts])
    near, rng = 0, np.random.default_rng(3)
    while near < 3:
        M, _ = one.pose(rng)
        expected = one.found(M)
        if np.abs(expected[:, 1] - SEAM).min(initial=1.0) > BESIDE:
            continue
        near, found = near + 1, two.found(M)
        assert len(found) == len(expected)
        for row in expected:
            assert np.abs(found - row).max(axis=1).min() < COAL


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("name", "kinds"), [("box", 3), ("capsule", 2)])
def test_contacts_with_peaks_and_ridges(name, kinds, law):
    """Of a body on rough ground: rates and shares."""
    pair, rng, seen = Pair(SOLIDS[name], ROUGH, LAWS[law]), np.random.default_rng(7), set()
    for _ in range(6):
        R = pin.Quaternion(*rng.normal(size=4)).normalized().matrix()
        M = pin.SE3(R, np.append(rng.uniform(-0.1, 0.1, 2), 0.15))
        pair.select(M)
        while not len(pair.place(M)):
            M.translation[2] -= 2e-3
            pair.select(M)
        check_rates(pair, M)
        check_shares(pair, M)
        touching = pair.contacts.index[pair.place(M)]
        seen |= {*pair.contacts.features[touching, 0].tolist()}
    assert len(seen) >= kinds, seen


def test_two_solids_share_their_contacts():
    """The nearest of 68 candidates; one that touches besides has the place of the furthest."""
    pair = Pair(Cylinder(radius=0.05, length=0.01), Box(size=(0.1, 0.09, 0.1)))
    contacts, M = pair.contacts, pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.058]))
    pair.select(M)
    chosen = contacts.index[: contacts.n[0]].tolist()
    others = np.setdiff1d(np.flatnonzero(contacts.listed), chosen)
    assert len(chosen) == N_SOLIDS == pair.form.n_contacts
    assert len(others) > 0
    assert contacts.gaps[chosen].max() <= contacts.gaps[others].min()
    over = pin.SE3(pin.rpy.rpyToMatrix(np.pi, 0.0, 0.0), np.array([0.0, 0.0, 0.054]))
    assert pair.missed(over)  # the other end is down
    assert contacts.n[0] == N_SOLIDS
    assert pair.deepest(over) == pytest.approx(1e-3)
    last = max(chosen, key=lambda c: contacts.gaps[c])
    assert last not in contacts.index[:N_SOLIDS].tolist()


def test_the_nearest_of_many_features_are_contacts():
    """A plate that leans over a column of 20 sides: the corners that it is least far from."""
    angles, half = 2.0 * np.pi * np.arange(20) / 20, 0.1
    x, y = 0.1 * np.cos(angles), 0.1 * np.sin(angles)
    ends = [np.stack([x, y, np.full(20, z)], axis=1) for z in (-half, half)]
    column = trimesh.convex.convex_hull(np.vstack(ends))
    pair = Pair(Box(size=(0.4, 0.4, 0.02)), Mesh(vertices=column.vertices, faces=column.faces))
    M = pin.SE3(pin.rpy.rpyToMatrix(0.02, 0.03, 0.0), np.array([0.0, 0.0, half + 0.01]))
    pair.select(M)
    features, tables = pair.contacts.features[pair.candidates.pairs == 0], pair.candidates.polytopes
    corners = polytope(tables, tables.pairs[0, 1]).vertices
    above = (corners - M.translation) @ M.rotation[:, 2]  # more of those that are nearer, or deeper
    assert (features[:, 0] == ON_A).all()
    assert {*features[:, 2].tolist()} == {*np.argsort(-above)[:N_FEATURES].tolist()}
