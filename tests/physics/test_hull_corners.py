"""Which contact points are corners of a polytope, and which polytopes meet by their edges."""

import itertools

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from kernel_scenes import robot_of

from nmdp_pin._dynamics.geometry import polytopes
from nmdp_pin._dynamics.geometry.hulls import Hull, convex_corners, hulls_of
from nmdp_pin._dynamics.geometry.polytopes import _joined, _may_touch, polytope_pairs
from nmdp_pin._kernels.geometry.polytopes import CIRCULAR_RIM, FACETED, ROUND, WORLD_MESH
from nmdp_pin._robot import ContactPoints
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Mesh, Terrain

VERTICES = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
DISC = np.diag([0.3, 0.3, 0.0])


def hull(vertices=VERTICES, faces=1, edges=3, **other):
    """A polytope with so many faces and edges."""
    return Hull(
        1, 0, vertices, np.zeros((faces, 3)), np.zeros(faces), np.zeros((edges, 4), int), **other
    )


def robot(radii=(0.0, 0.0, 0.0), discs=(False, False, False), joints=(1, 1, 1), touches=(0, 0, 0)):
    """Contact points at the vertices."""
    model = pin.Model()
    for k in range(2):
        model.addJoint(k, pin.JointModelPX(), pin.SE3.Identity(), f"joint{k}")
    axes = np.array([DISC if disc else np.zeros((3, 3)) for disc in discs])
    points = ContactPoints(
        ("a", "b", "c"), np.array(joints), VERTICES, np.array(radii), np.array(touches), axes
    )
    return robot_of(model, points)


def _corners(robot, hull, touched):
    """Those among the points of its body that may touch another one."""
    points = robot.contact_points
    own = np.flatnonzero((points.joints == hull.body) & (points.touches == touched))
    return polytopes._corners(robot, hull, own)


def test_corners_are_points_of_their_body():
    """At the vertices, bare ones of bare corners, and of the body that touches that other one."""
    bare = hull()
    assert _corners(robot(), bare, 0) == [0, 1, 2]
    assert _corners(robot(joints=(1, 2, 1)), bare, 0) == [0, -1, 2]
    assert _corners(robot(touches=(0, 0, 2)), bare, 0) == [0, 1, -1]
    assert _corners(robot(touches=(0, 0, 2)), bare, 2) == [-1, -1, 2]
    assert _corners(robot(radii=(0.0, 0.1, 0.0)), bare, 0) == [0, -1, 2]
    assert _corners(robot(discs=(True, False, False)), bare, 0) == [-1, 1, 2]
    away = hull(VERTICES + np.full(3, 2e-9))
    assert _corners(robot(), away, 0) == [-1, -1, -1]


def test_corners_of_round_polytopes():
    """Balls of the rounding, rims of the radius; a ring has one, in its centre."""
    ball = hull(rounding=0.1)
    assert _corners(robot(radii=(0.1, 0.0, 0.1)), ball, 0) == [0, -1, 2]
    rim = hull(rounding=0.4, rim=0.3)
    balls, discs = (0.1, 0.1, 0.1), (True, True, False)
    assert _corners(robot(radii=balls, discs=discs), rim, 0) == [0, 1, -1]
    assert _corners(
        robot(discs=(True,) * 3), hull(rounding=0.3, rim=0.3, kind=CIRCULAR_RIM), 0
    ) == [0]


def test_corners_of_prisms_are_those_of_their_axis():
    """Each vertex belongs to the nearer end, whose point may have any rim."""
    near = VERTICES[[0, 1]] + [0.1, 0.0, 0.0]
    prism = hull(near, rounding=0.2, rim=0.2, axis=VERTICES[:2])
    assert _corners(robot(discs=(True, True, True)), prism, 0) == [0, 1]


def test_corners_of_boxes_make_no_pairs_of_their_own():
    """Those of both boxes, in whatever order the contact points are, the first one too."""
    cube = Box(size=(2.0, 2.0, 2.0))
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    surfaces, rows = {1: Terrain(cube), 2: Terrain(cube)}, {1: [0], 2: [1]}
    for first, second in ((1, 2), (2, 1)):
        points = ContactPoints(
            tuple("abcdefghijklmnop"),
            np.repeat([first, second], 8),
            np.tile(corners, (2, 1)),
            np.zeros(16),
            np.repeat([second, first], 8),
        )
        tables, needless = polytope_pairs(robot_of(robot().model, points), surfaces, rows)
        assert tables.pairs.tolist() == [[0, 1]]
        assert needless == {(k, second - 1 if k < 8 else first - 1) for k in range(16)}


BOX = hull()
EMPTY = hull(np.zeros((0, 3)), 0, 0, kind=WORLD_MESH)  # a mesh that need not be convex
LINE = hull(faces=0, edges=1)
PRISM = hull(axis=VERTICES[:2])
RIM = hull(faces=0, edges=0, kind=CIRCULAR_RIM)
EGG = hull(kind=ROUND, faces=0, edges=0)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (BOX, BOX, True),
        (BOX, EMPTY, True),
        (PRISM, EMPTY, True),
        (EMPTY, BOX, False),
        (PRISM, BOX, False),
        (BOX, PRISM, False),
        (RIM, BOX, True),
        (RIM, RIM, True),
        (RIM, LINE, False),
        (RIM, PRISM, False),
        (BOX, RIM, False),
        (BOX, EGG, True),
        (LINE, EGG, False),  # an egg on the side of a cylinder
        (PRISM, EGG, False),
        (hull(edges=0), EGG, False),
        (EGG, BOX, False),
        (LINE, hull(kind=ROUND, faces=0, edges=0, rim=0.1), True),
    ],
)
def test_which_polytopes_meet_by_features(one, other, meet):
    """Rims on faces and rims, edges on eggs, all but prisms on edges and faces."""
    assert bool(_may_touch(one, other)) == meet


def test_tables_of_polytopes():
    """Vertices, centres and sizes of each, where its tables begin, and its contact points."""
    first, second = hull(rounding=0.1), hull(VERTICES[:1], 2, 0)
    made = _joined([first, second, EMPTY], [[0, 1]], [([5, 6, 7], [-1])])
    assert made.first.tolist() == [[0, 0, 0], [3, 1, 3], [4, 3, 3], [4, 3, 3]]
    centre = VERTICES.mean(axis=0)
    assert made.centres == pytest.approx(np.array([centre, VERTICES[0], np.zeros(3)]))
    size = np.linalg.norm(VERTICES - centre, axis=1).max() + 0.1
    assert made.sizes == pytest.approx([size, 0.0, np.inf])
    assert made.points.tolist() == [5, 6, 7, -1]
    assert made.first_points.tolist() == [[0, 3]]
    assert made.pairs.tolist() == [[0, 1]]
    assert made.rounding.tolist() == [0.1, 0.0, 0.0]
    assert made.kinds.tolist() == [FACETED, FACETED, WORLD_MESH]


@pytest.mark.parametrize(
    ("shape", "rings"),
    [
        (Capsule(radius=0.1, length=0.6), []),
        (Cylinder(radius=0.1, length=0.6), [-1.0, 1.0]),
        (Cone(radius=0.1, length=0.6), [-1.0]),
    ],
)
def test_polytopes_of_round_shapes(shape, rings):
    """The axis of capsules and cylinders, and a rim at each flat end with a point beyond it."""
    found = hulls_of(robot(), 0, 0, shape)
    ends = np.array([[0.0, 0.0, -0.3], [0.0, 0.0, 0.3]])
    axes = [one for one in found if len(one.edges) and one.kind == FACETED]
    assert [one.vertices.tolist() for one in axes] == [ends.tolist()] * (len(rings) != 1)
    made = [one for one in found if one.kind == CIRCULAR_RIM]
    assert [one.vertices[:, 2].tolist() for one in made] == [
        pytest.approx([0.3 * end, 0.4 * end]) for end in rings
    ]
    assert all(one.rounding == 0.1 for one in axes + made)
    assert all(one.rim == (0.1 if rings else 0.0) for one in axes + made)


@pytest.mark.parametrize(("sides", "count"), [(63, 64), (64, 0)])
def test_meshes_of_many_corners_have_none(sides, count):
    """A pyramid has one corner more than its ground has."""
    angles = 2.0 * np.pi * np.arange(sides) / sides
    ground = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    solid = trimesh.convex.convex_hull(np.vstack([ground, [0.0, 0.0, 1.0]]))
    mesh = Mesh(vertices=solid.vertices, faces=solid.faces, position=(0.0, 0.0, 2.0))
    found = convex_corners(mesh)
    assert found.shape == (count, 3)
    if count:
        assert found[:, 2].max() == pytest.approx(3.0)


@pytest.mark.parametrize(("dent", "count"), [(2.8e-6, 8), (3.2e-6, 0)])
def test_meshes_that_are_not_convex_have_no_corners(dent, count):
    """A cube of 1 m with a flat pyramid taken out of its top, a millionth of its volume."""
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    sides = box.faces[box.face_normals[:, 2] < 0.5]
    vertices = np.vstack([box.vertices, [0.0, 0.0, 0.5 - dent]])
    top = [k for k in range(8) if box.vertices[k, 2] > 0.0]
    top.sort(key=lambda k: np.arctan2(box.vertices[k, 1], box.vertices[k, 0]))
    faces = [*sides.tolist(), *([top[k - 1], top[k], 8] for k in range(4))]
    assert len(convex_corners(Mesh(vertices=vertices, faces=faces))) == count
