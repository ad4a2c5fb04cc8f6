"""Contacts with shapes: which are listed, where they are, what their points are told to bear."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from kernel_scenes import array_of, robot_of
from pairwise import pairwise
from scipy.optimize import brentq

from nmdp_pin._contact import FrictionCone
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.geometry.contacts import (
    FEATURE_KINDS,
    NEARBY,
    REACH,
    identity,
    list_contacts,
    reach_of,
)
from nmdp_pin._kernels.geometry.planes import (
    missed_contacts,
    place_contacts,
    place_references,
    report_depths,
    report_wrenches,
    select_contacts,
)
from nmdp_pin._kernels.geometry.polytopes import NONE, ON_A
from nmdp_pin._kernels.geometry.touched_surface import distance_to, seen_faces, surface_of
from nmdp_pin._robot import ContactPoints, free_body, together, touching
from nmdp_pin._terrain import Box, Cone, Cylinder, Mesh, Plane, Sphere, Terrain

ROUNDING = 1e-9  # of distances from a ball of 5 m, and of angles of rpy
H = 0.1  # [s]
N = np.array([0.36, 0.48, 0.8])  # normal of the ground, through the origin
RADII = np.array([0.1, 0.0, 0.2])
LOCAL = np.array([[0.5, 0.0, 0.0], [0.0, 0.4, 0.1], [0.0, 0.0, -0.3]])
EDGE = 1e-6  # [m] to both sides of a bound
BENT = 1e-4  # [1/m] of differences of normals, which are good to 1e-10


BALL = 5.0  # [m] radius of the ball that touches the slope in the origin
RPY = pin.rpy.matrixToRpy(pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), N).matrix())
BLOCK = trimesh.creation.box((8.0, 6.0, 2.0))
SHAPES = {
    "plane": Plane(normal=N),
    "ball": Sphere(radius=BALL, position=-BALL * N),
    "box": Box(size=(8.0, 6.0, 2.0), position=-N, rpy=RPY),
    "mesh": Mesh(vertices=BLOCK.vertices, faces=BLOCK.faces, position=-N, rpy=RPY),
}
WIDE, HALF = 3.0, 2.0  # [m] radius and half the length of round shapes
ROUND = {
    "cylinder": Cylinder(radius=WIDE, length=2.0 * HALF, position=-N, rpy=RPY),
    "cone": Cone(radius=WIDE, length=2.0 * HALF, position=-N, rpy=RPY),
}
every_shape = pytest.mark.parametrize("shape", SHAPES)


class Ground:
    """A body with three spheres over a slope or a ball, turned, its origin 1 m above it."""

    def __init__(self, shape, axes=None):
        model = pin.Model()
        model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
        model.appendBodyToJoint(1, pin.Inertia.Random(), pin.SE3.Identity())
        swept = np.zeros((3, 3, 3)) if axes is None else axes
        points = ContactPoints(
            ("a", "b", "c"), np.ones(3, int), LOCAL, RADII, np.zeros(3, int), swept
        )
        ground = Terrain([(SHAPES | ROUND)[shape]])
        law = FrictionCone(stiffness=1e3)
        self.form = CompiledSystem(System(robot_of(model, points), ground, law))
        self.candidates, self.contacts = self.form.candidates, self.form.new_stage().contacts
        self.R = pin.exp3(np.array([0.3, -0.2, 0.5]))
        self.centre = -BALL * N if shape == "ball" else None
        self.sizes = np.linalg.norm(swept @ self.R.T @ N, axis=1)  # that they reach down

    def heights(self, lowered, moved=(0.0, 0.0, 0.0)):
        """Distances of the spheres from the ground, and its normals under them."""
        centres = (1.0 - lowered) * N + LOCAL @ self.R.T + moved
        if self.centre is None:
            return centres @ N - RADII - self.sizes, np.tile(N, (3, 1))
        away = centres - self.centre
        size = np.linalg.norm(away, axis=1)
        return size - BALL - RADII, away / size[:, None]

    def touch(self, point, velocity=(0.0, 0.0, 0.0), reach=0.0):
        """How far the body is lowered where a point comes within a reach, at either end."""
        moved = H * np.asarray(velocity)

        def gap(lowered):
            ends = [self.heights(lowered, way)[0][point] for way in (np.zeros(3), moved)]
            return min(ends) - reach

        return brentq(gap, -3.0, 3.0, xtol=1e-12)

    def placements(self, lowered):
        """Of the world and the body, which is lowered."""
        body = pin.SE3(self.R, (1.0 - lowered) * N)
        return np.array([array_of(pin.SE3.Identity()), array_of(body)])

    def points(self):
        """Points of the contacts."""
        n = self.contacts.n[0]
        assert (self.contacts.bodies[:n] == (1, 0)).all()
        return self.candidates.points[self.contacts.index[:n]].tolist()

    def select(self, lowered, velocity=(0.0, 0.0, 0.0)):
        """Points of the contacts of a step of a body with a velocity."""
        twists = np.zeros((2, 6))
        twists[1, :3] = velocity
        at, rolling = self.placements(lowered), self.candidates.rolling
        select_contacts(self.candidates, at, twists, H, rolling, self.contacts)
        return self.points()


@every_shape
@pytest.mark.parametrize("point", range(3))
def test_contacts_are_what_is_near(point, shape):
    """At the start or at the end, within the reach and the way that a point goes."""
    ground = Ground(shape)
    across = np.array([0.8, -0.6, 0.0])
    for velocity in (np.zeros(3), 2.0 * across, -2.0 * N, 2.0 * N):
        lowered = ground.touch(point, velocity, REACH + H * np.linalg.norm(velocity))
        assert point not in ground.select(lowered - EDGE, velocity)
        assert ground.select(lowered + EDGE, velocity).count(point) == 1
    order = sorted(range(3), key=ground.touch)
    lowered = ground.touch(order[1], reach=REACH)
    assert ground.select(lowered + EDGE) == sorted(order[:2])


@every_shape
@pytest.mark.parametrize("point", range(3))
def test_missed_contacts_are_listed(point, shape):
    """What touches and is no contact becomes one; then nothing is missed."""
    ground = Ground(shape)
    assert ground.select(-2.0) == []
    lowered = ground.touch(point)
    missed_contacts(ground.candidates, ground.placements(lowered - EDGE), ground.contacts)
    before = ground.points()
    assert point not in before
    again = ground.placements(lowered + EDGE)
    assert missed_contacts(ground.candidates, again, ground.contacts)
    assert ground.points() == sorted([*before, point])
    assert not missed_contacts(ground.candidates, again, ground.contacts)


@every_shape
def test_places_references_and_reports(shape):
    """Depths and normals of spheres; points bear the wrenches of their contacts."""
    ground = Ground(shape)
    lowered = max(map(ground.touch, range(3))) - 0.01  # one is apart
    assert ground.select(lowered) == [0, 1, 2]
    ground.contacts.listed[ground.contacts.index[1]] = False
    list_contacts(ground.candidates, ground.contacts)
    at, P, own = ground.form.new_point().places, ground.placements(lowered), [0, 2]
    place_contacts(ground.candidates, ground.contacts, P, at)
    heights, normals = ground.heights(lowered)
    assert at.depth[:2] == pytest.approx(-heights[own], abs=ROUNDING)
    assert at.normal[:2] == pytest.approx(normals[own], abs=ROUNDING)
    assert at.arm[:2] == pytest.approx(-RADII[own, None] * normals[own], abs=ROUNDING)
    place_references(ground.contacts, P)
    assert ground.contacts.reference[:2] == pytest.approx(np.tile(P[1], (2, 1, 1)))
    depths = np.zeros(3)
    report_depths(ground.candidates, ground.contacts, at, np.array([True, False]), depths)
    assert depths == pytest.approx([max(-heights[0], 0.0), 0.0, 0.0], abs=ROUNDING)
    report_depths(ground.candidates, ground.contacts, at, np.ones(2, bool), depths)
    expected = [max(-heights[0], 0.0), 0.0, max(-heights[2], 0.0)]
    assert depths == pytest.approx(expected, abs=ROUNDING)
    assert depths.max() > 0.0
    of_points, wrenches = np.ones((3, 6)), np.arange(18.0).reshape(3, 6)
    report_wrenches(ground.candidates, ground.contacts, at, wrenches, of_points)
    assert of_points == pytest.approx(1.0 + np.array([wrenches[0], np.zeros(6), wrenches[1]]))
    lost = P.copy()
    lost[1, 3] = 1e200
    place_contacts(ground.candidates, ground.contacts, lost, at)
    assert np.isnan(at.depth[:2]).all()


# A disc, an ellipsoid and a ball.
SWEPT = np.array([np.diag([0.2, 0.2, 0.0]), np.diag([0.1, 0.2, 0.3]), np.zeros((3, 3))])


@pytest.mark.parametrize("shape", ["plane", "box", "mesh"])
def test_swept_spheres(shape):
    """Discs and eggs touch by the point that is deepest, at which they are held."""
    for point in (0, 1):
        ground = Ground(shape, SWEPT)
        for velocity in (np.zeros(3), np.array([0.8, -0.6, 0.0]), -2.0 * N):
            lowered = ground.touch(point, velocity, REACH + H * np.linalg.norm(velocity))
            assert point not in ground.select(lowered - EDGE, velocity)
            assert point in ground.select(lowered + EDGE, velocity)
        ground.select(-2.0)
        lowered = ground.touch(point)
        missed_contacts(ground.candidates, ground.placements(lowered - EDGE), ground.contacts)
        assert point not in ground.points()
        again = ground.placements(lowered + EDGE)
        assert missed_contacts(ground.candidates, again, ground.contacts)
        assert point in ground.points()
    lowered = max(map(ground.touch, range(3))) + 0.01
    points = ground.select(lowered)
    assert set(points) == {0, 1, 2}
    at, P = ground.form.new_point().places, ground.placements(lowered)
    place_contacts(ground.candidates, ground.contacts, P, at)
    heights, n = ground.heights(lowered)[0], len(points)
    deepest = [max(at.depth[i] for i in range(n) if points[i] == p) for p in range(3)]
    assert deepest == pytest.approx(-heights, abs=ROUNDING)
    assert at.normal[:n] == pytest.approx(np.tile(N, (n, 1)), abs=ROUNDING)
    for i, p in enumerate(points):
        if at.depth[i] == deepest[p]:
            down = SWEPT[p] @ ground.R.T @ N
            off = -SWEPT[p].T @ down / max(np.linalg.norm(down), 1.0e-9)
            held = LOCAL[p] + off
            foot = (1.0 - lowered) * N + ground.R @ held - RADII[p] * N
            assert at.centre[i] + at.arm[i] == pytest.approx(foot, abs=1e-6)


@pytest.mark.parametrize("swept", [False, True])
def test_faces_of_a_box_that_a_point_is_before(swept):
    """Bits 1, 2, 4 where it is beyond along an axis, or nearest to it, and 8, 16, 32 its sides."""
    ground, rng = Ground("box", SWEPT if swept else None), np.random.default_rng(0)
    k, half, turn = 0, np.array([4.0, 3.0, 1.0]), pin.rpy.rpyToMatrix(*RPY)
    M = array_of(pin.SE3(ground.R, np.zeros(3)))
    axes = SWEPT[0] if swept else np.zeros((3, 3))
    reach = np.linalg.norm(axes @ ground.R.T @ turn, axis=0)
    seen = set()
    for _ in range(60):
        local = rng.uniform(-1.3, 1.3, 3) * half
        beyond = np.abs(local) - half - reach
        expected = sum(8 << j for j in range(3) if local[j] >= 0.0)
        for j in range(3):
            if beyond[j] > 0.0 or j == np.argmax(beyond):
                expected += 1 << j
        p = tuple((turn @ local - N).tolist())
        assert seen_faces(ground.candidates, k, p, M, (0.0, 0.0, 0.0)) == expected
        seen.add(expected & 7)
    assert len(seen) == 7


@pairwise({"high": [0.2, 0.01], "right": [1.0, -1.0], "up": [1.0, -1.0]})
def test_a_disc_that_leans_over_an_edge_lies_on_the_face(up, right, high):
    """The end of a cylinder is 2 mm deep in a face and 5 mm in the side: it is before the face.

    Mirror images are alike; so is a box so thin that the disc's middle is behind that of the box.
    """
    body = free_body("body", Cylinder(radius=0.05, length=0.1), mass=1.0)
    box = Terrain(Box(size=(0.2, 0.2, high)))
    candidates = CompiledSystem(System(body, box, FrictionCone(stiffness=1e3))).candidates
    own = (candidates.pairs < 0) & (candidates.slots == 0) & candidates.semi_axes.any(axis=(1, 2))
    k = int(np.flatnonzero(own & (up * candidates.facing[:, 2] < 0.0))[0])
    R = pin.rpy.rpyToMatrix(0.0, 0.1 * up * right, 0.0)
    p = np.array([right * 0.145, 0.01, up * (0.5 * high - 0.0065)])
    M = array_of(pin.SE3(R, p - R @ candidates.local[k]))
    expected = (8 if right > 0.0 else 0) + 16 + (32 if up > 0.0 else 0) + 4
    assert seen_faces(candidates, k, tuple(p.tolist()), M, (0.0, 0.0, up)) == expected


def test_a_tip_does_not_leave_by_the_face_to_which_it_points():
    """It leans away from a side of a box, 1 mm off, and towards the bottom, half as far off."""
    body = free_body("body", Cone(radius=0.05, length=0.1, rpy=(np.pi, 0.0, 0.0)), mass=1.0)
    box = Terrain(Box(size=(0.2, 0.2, 0.2)))
    candidates = CompiledSystem(System(body, box, FrictionCone(stiffness=1e3))).candidates
    tip = candidates.facing.any(axis=1) & ~candidates.semi_axes.any(axis=(1, 2))
    k, p = int(np.flatnonzero(tip)[0]), np.array([0.099, 0.01, -0.0995])
    R = pin.rpy.rpyToMatrix(0.0, np.pi / 4, 0.0)
    M = array_of(pin.SE3(R, p - R @ candidates.local[k]))
    assert seen_faces(candidates, k, tuple(p.tolist()), M, (0.0, 0.0, 0.0)) & 7 == 1


def test_a_box_is_felt_on_the_sides_that_were_seen():
    """Along these axes it has no other side: closed forms, and normals as central differences."""
    ground, rng, half = Ground("box"), np.random.default_rng(1), np.array([4.0, 3.0, 1.0])
    candidates, contacts, k = ground.candidates, ground.contacts, 0
    turn, inside = pin.rpy.rpyToMatrix(*RPY), 0

    def distance(x):
        return distance_to(candidates, contacts, k, tuple((turn @ x - N).tolist()))

    for _ in range(80):
        seen, ahead = rng.integers(1, 8), rng.integers(0, 8)
        contacts.faces[k] = seen + 8 * ahead
        axes, sign = (seen >> np.arange(3) & 1) == 1, 2.0 * (ahead >> np.arange(3) & 1) - 1.0
        x = rng.uniform(-1.5, 1.5, 3) * half
        beyond = np.where(axes, sign * x, np.abs(x)) - half
        within = (beyond <= 0.0).all()
        expected = beyond[axes].max() if within else np.linalg.norm(np.maximum(beyond, 0.0))
        assert distance(x) == pytest.approx(expected, abs=ROUNDING)
        slopes = [(distance(x + dx) - distance(x - dx)) / (2.0 * EDGE) for dx in EDGE * np.eye(3)]
        p, H = tuple((turn @ x - N).tolist()), np.empty((3, 3))
        phi, normal, bends = surface_of(candidates, contacts, k, p, H)
        assert phi == pytest.approx(expected, abs=ROUNDING)
        assert normal == pytest.approx(turn @ slopes, abs=EDGE)
        assert bends == ((beyond > 0.0).sum() > 1)
        inside += within
    assert 20 < inside < 60


SIDE, END, UPPER = 1, 4, 32  # bits of faces of round shapes, the side along the first axis


@pytest.mark.parametrize("seen", [SIDE, END, SIDE | END])
@pytest.mark.parametrize("name", ROUND)
def test_a_round_shape_is_felt_on_the_faces_that_were_seen(name, seen):
    """Inside: on its side far beyond its ends, on an end as deep as that is; outside: as it is.

    Normals and curvatures are central differences.
    """
    ground, rng, k, inside = Ground(name), np.random.default_rng(2), 0, 0
    candidates, contacts = ground.candidates, ground.contacts
    turn, sign = pin.rpy.rpyToMatrix(*RPY), 1.0 if name == "cylinder" else -1.0
    slope = 0.0 if name == "cylinder" else np.arctan2(WIDE, 2.0 * HALF)

    def normal_at(x):
        H = np.empty((3, 3))
        phi, n, bends = surface_of(candidates, contacts, k, tuple((turn @ x - N).tolist()), H)
        return phi, turn.T @ n, H if bends else np.zeros((3, 3))

    for _ in range(80):
        x = rng.uniform(-1.2, 1.2, 3) * (WIDE, WIDE, HALF)
        rho, end = np.hypot(x[0], x[1]), sign * x[2] - HALF
        side = rho - WIDE if name == "cylinder" else np.cos(slope) * rho
        side += np.sin(slope) * (x[2] - HALF)
        contacts.faces[k] = -1
        expected = normal_at(x)[0]
        if seen == SIDE and side <= 0.0 and abs(x[2]) <= HALF:
            expected, inside = side, inside + 1
        elif seen == END and end <= 0.0 and rho <= WIDE:
            expected, inside = end, inside + 1
        elif seen == SIDE | END and end <= 0.0 and side <= 0.0:
            expected, inside = max(side, end), inside + 1
        elif name == "cylinder" and sign * x[2] < 0.0:
            continue  # behind the middle
        contacts.faces[k] = seen + (UPPER if sign > 0.0 else 0)
        phi, n, H = normal_at(x)
        assert phi == pytest.approx(expected, abs=ROUNDING)
        assert distance_to(candidates, contacts, k, tuple((turn @ x - N).tolist())) == phi
        ways = EDGE * np.eye(3)
        rates = [(normal_at(x + dx)[0] - normal_at(x - dx)[0]) / (2.0 * EDGE) for dx in ways]
        assert n == pytest.approx(rates, abs=EDGE)
        turning = [(normal_at(x + dx)[1] - normal_at(x - dx)[1]) / (2.0 * EDGE) for dx in ways]
        assert np.array(turning) == pytest.approx(H, abs=BENT)
    assert inside > 10


def test_contacts_have_numbers_of_their_own():
    """Those of pairs of features come behind the candidates', each once, whatever the step."""
    box = Box(size=(0.2, 0.3, 0.4))
    below, *above = (
        free_body(name, box, mass=1.0, position=(0.0, 0.0, z))
        for name, z in (("below", 0.2), ("middle", 0.6), ("top", 1.0))
    )
    robot = touching(together(below, above))
    form = CompiledSystem(System(robot, Terrain(Plane()), FrictionCone(stiffness=1e3)))
    candidates, contacts = form.candidates, form.new_stage().contacts
    pairs = candidates.pairs
    assert identity(candidates, contacts, 3) == 3
    most = max(len(candidates.polytopes.vertices), len(candidates.polytopes.edges))
    n, first = len(candidates.rows), [int(np.flatnonzero(pairs == p)[0]) for p in (0, 1)]
    for pair, c in enumerate(first):
        for kind, i, j in ((0, 0, 0), (0, 2, 5), (1, most - 1, 0), (NONE, 0, 3)):
            contacts.features[c] = kind, i, j
            number = FEATURE_KINDS - 1 if kind == NONE else kind
            expected = n + ((pair * FEATURE_KINDS + number) * most + i) * most + j
            assert identity(candidates, contacts, c) == expected
    contacts.features[first[0], 0] = ON_A
    list_contacts(candidates, contacts)
    bodies = contacts.bodies[contacts.index[: contacts.n[0]].tolist().index(first[0])]
    assert bodies.tolist() == candidates.bodies[first[0], ::-1].tolist()
    of_world = int(np.flatnonzero(candidates.bodies[:, 1] == 0)[0])
    assert reach_of(candidates, of_world) == REACH
    assert reach_of(candidates, first[0]) == (
        NEARBY if candidates.bodies[first[0]].all() else REACH
    )
    assert reach_of(replace(candidates, reach=np.inf), first[0]) == np.inf
