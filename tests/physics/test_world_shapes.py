"""Points of the world that are no contact points of a body: which there are, and who feels them."""

import itertools

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from kernel_scenes import robot_of

from nmdp_pin._dynamics.geometry.world_points import (
    WorldPoint,
    _feels,
    _world_points,
    reported_point,
)
from nmdp_pin._robot import ContactPoints
from nmdp_pin._terrain import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Plane,
    Sphere,
    Terrain,
)

RPY = (0.3, -0.2, 0.5)
R = pin.rpy.rpyToMatrix(*RPY)
AT = np.array([1.0, 2.0, 3.0])
CORNERS = np.array(list(itertools.product((-0.1, 0.1), (-0.2, 0.2), (-0.3, 0.3))))
BLOCK = trimesh.creation.box((0.2, 0.4, 0.6))
PLACED = {"position": tuple(AT), "rpy": RPY}
BOX = Box(size=(0.2, 0.4, 0.6), **PLACED)
MESH = Mesh(vertices=BLOCK.vertices, faces=BLOCK.faces, **PLACED)
DISC = np.diag([0.1, 0.1, 0.0])


def points_of(shape, *others):
    """Centres, radii and semi-axes of the points of a shape among others."""
    found = list(_world_points(Terrain([shape, *others]), 7, shape))
    assert all(point.row == 7 for point in found)
    return (
        [point.centre for point in found],
        [p.radius for p in found],
        [p.semi_axes for p in found],
    )


@pytest.mark.parametrize("shape", [BOX, MESH], ids=["box", "mesh"])
def test_corners(shape):
    """Those of boxes and of convex meshes, as bare points."""
    centres, radii, axes = points_of(shape)
    expected = AT + CORNERS @ R.T
    assert np.array(sorted(map(tuple, centres))) == pytest.approx(
        np.array(sorted(map(tuple, expected)))
    )
    assert radii == [0.0] * 8
    assert np.array(axes).shape == (8, 3, 3)
    assert not np.array(axes).any()


@pytest.mark.parametrize(
    ("shape", "ends", "radius", "axes"),
    [
        (Sphere(radius=0.1, **PLACED), [0.0], 0.1, np.zeros((3, 3))),
        (Capsule(radius=0.1, length=0.6, **PLACED), [-0.3, 0.3], 0.1, np.zeros((3, 3))),
        (Cylinder(radius=0.1, length=0.6, **PLACED), [-0.3, 0.3], 0.0, DISC),
        (Ellipsoid(radii=(0.1, 0.2, 0.3), **PLACED), [0.0], 0.0, np.diag([0.1, 0.2, 0.3])),
    ],
)
def test_round_shapes(shape, ends, radius, axes):
    """Ends, rims and whole ellipsoids, turned as the shape is."""
    centres, radii, swept = points_of(shape)
    assert np.array(centres) == pytest.approx(AT + np.array([[0, 0, z] for z in ends]) @ R.T)
    assert radii == [radius] * len(ends)
    assert np.array(swept) == pytest.approx(np.array([axes @ R.T] * len(ends)))


def test_planes_and_fields_have_none():
    """Nothing of them is a point."""
    assert points_of(Plane(), BOX)[0] == []
    assert points_of(HeightField(heights=np.zeros((3, 3)), spacing=(1.0, 1.0)), BOX)[0] == []


@pytest.mark.parametrize(("height", "count"), [(-0.00009, 8), (0.0, 4), (0.7, 0)])
def test_what_other_shapes_hide_is_not_felt(height, count):
    """Corners in the ground, or nearer to it than 0.1 mm; balls are felt there all the same."""
    box = Box(size=(0.2, 0.4, 0.6), position=(0.0, 0.0, 0.3))
    ground = Plane(height=height - 0.00005)
    assert len(points_of(box, ground)[0]) == count
    assert len(points_of(Sphere(radius=0.1), Plane(height=1.0))[0]) == 1
    rim = Cylinder(radius=0.1, length=0.6)
    assert len(points_of(rim, Plane(height=0.0))[0]) == 1
    half = Cylinder(radius=0.1, length=0.6, rpy=(0.0, 0.5 * np.pi, 0.0))
    assert len(points_of(half, Plane(height=0.05))[0]) == 2  # part of each rim is above


BARE = WorldPoint(0, np.zeros(3), 0.0, np.zeros((3, 3)))
BALL = WorldPoint(0, np.zeros(3), 0.1, np.zeros((3, 3)))
RIM = WorldPoint(0, np.zeros(3), 0.0, DISC)
EGG = WorldPoint(0, np.zeros(3), 0.0, np.eye(3))


@pytest.mark.parametrize(
    ("shape", "other", "point", "feels"),
    [
        (Capsule(radius=0.1, length=0.2), BOX, BARE, True),
        (Cylinder(radius=0.1, length=0.2), BOX, BARE, True),
        (Cone(radius=0.1, length=0.2), BOX, BALL, True),
        (Ellipsoid(radii=(0.1, 0.2, 0.3)), BOX, BARE, True),
        (Ellipsoid(radii=(0.1, 0.2, 0.3)), BOX, RIM, True),
        (Ellipsoid(radii=(0.1, 0.2, 0.3)), BOX, BALL, False),
        (Ellipsoid(radii=(0.1, 0.2, 0.3)), BOX, EGG, False),
        (BOX, Sphere(radius=0.1), BALL, True),
        (MESH, Cylinder(radius=0.1, length=0.2), RIM, True),
        (BOX, MESH, BARE, False),
        (MESH, BOX, BARE, False),
        (Sphere(radius=0.1), BOX, BARE, False),
    ],
)
def test_who_feels_a_point(shape, other, point, feels):
    """What has sides or faces, unless the point's own shape has a contact with it already."""
    assert bool(_feels(shape, other, point)) == feels


def body(positions, radii, axes=None, joints=None, touches=None):
    """A robot of two bodies with contact points."""
    model, n = pin.Model(), len(positions)
    for k in range(2):
        model.addJoint(k, pin.JointModelPX(), pin.SE3.Identity(), f"joint{k}")
    points = ContactPoints(
        tuple(map(str, range(n))),
        np.ones(n, int) if joints is None else np.array(joints),
        np.array(positions, float),
        np.array(radii, float),
        np.zeros(n, int) if touches is None else np.array(touches),
        np.zeros((n, 3, 3)) if axes is None else np.array(axes),
    )
    return robot_of(model, points)


def test_forces_are_reported_at_the_first_point_of_a_shape():
    """If all of its points are contact points of its body, with its radii and rims."""
    capsule = Capsule(radius=0.1, length=0.6)
    ends = [[0.0, 0.0, 9.0], [0.0, 0.0, 0.3], [0.0, 0.0, -0.3]]
    assert reported_point(body(ends, [0.1] * 3), 1, capsule) == 2
    assert reported_point(body(ends, [0.1] * 3), 2, capsule) == -1
    assert reported_point(body(ends, [0.1, 0.1, 0.2]), 1, capsule) == -1
    assert reported_point(body(ends, [0.1] * 3, joints=[1, 2, 1]), 1, capsule) == -1
    assert reported_point(body(ends, [0.1] * 3, touches=[0, 0, 2]), 1, capsule) == -1
    cylinder = Cylinder(radius=0.1, length=0.6)
    rims = [np.zeros((3, 3)), DISC, DISC]
    assert reported_point(body(ends, [0.0] * 3, rims), 1, cylinder) == 2
    assert reported_point(body(ends, [0.0] * 3, [DISC, DISC, 2.0 * DISC]), 1, cylinder) == -1
    assert reported_point(body(ends, [0.0] * 3), 1, Plane()) == -1


@pytest.mark.parametrize(("count", "found"), [(3, -1), (4, 0)])
def test_a_mesh_has_more_than_three_points(count, found):
    """Bare ones on its surface, to a micrometre; others do not count."""
    corners = (AT + CORNERS @ R.T)[:count]
    assert reported_point(body(corners, [0.0] * count), 1, MESH) == found
    assert reported_point(body(corners, [0.1] * count), 1, MESH) == -1
    rims = [DISC] * count
    assert reported_point(body(corners, [0.0] * count, rims), 1, MESH) == -1
    for share, near in ((2e-6, found), (4e-6, -1)):  # of 0.37 m from the centre
        away = AT + ((1.0 + share) * CORNERS[:count]) @ R.T
        assert reported_point(body(away, [0.0] * count), 1, MESH) == near
