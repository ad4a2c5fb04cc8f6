"""Which bodies of a robot touch each other, and by which of their points."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._robot import free_body, together, touching
from nmdp_pin._robot.body_contacts import connected
from nmdp_pin._robot.body_surfaces import hull_arrays
from nmdp_pin._terrain import Box, Ellipsoid, Mesh, Sphere
from nmdp_pin.errors import RobotError

BALL = Sphere(radius=0.1)
EGG = Ellipsoid(radii=(0.1, 0.15, 0.2), rpy=(0.3, -0.2, 0.5))
BOX = Box(size=(0.2, 0.2, 0.2))


def pairs_of(first, second, x=1.0):
    """Carriers and touched bodies of the points of two bodies, a number of metres apart."""
    one = free_body("one", first, mass=1.0)
    two = free_body("two", second, mass=1.0, position=(x, 0.0, 0.0))
    robot = touching(together(one, [two]))
    points = robot.contact_points
    between = points.touches > 0
    found = set(zip(points.joints[between].tolist(), points.touches[between].tolist(), strict=True))
    one, two = (robot.model.frames[robot.model.getFrameId(n)].parentJoint for n in ("one", "two"))
    names = {int(one): "one", int(two): "two"}
    return {(names[a], names[b]) for a, b in found}, robot


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (BALL, BALL, {("one", "two")}),
        (BALL, BOX, {("one", "two")}),
        (BOX, BALL, {("two", "one")}),
        (EGG, BOX, {("one", "two"), ("two", "one")}),  # its corners touch eggs as well
        (BOX, BOX, {("one", "two"), ("two", "one")}),
        (EGG, EGG, {("one", "two")}),
    ],
)
def test_what_consists_of_its_points_is_touched_by_no_others(first, second, expected):
    """Balls and eggs touch a box with themselves; two of them need one contact."""
    found, robot = pairs_of(first, second)
    assert found == expected
    points = robot.contact_points
    for name, touched in zip(points.names, points.touches.tolist(), strict=True):
        assert (" on " in name) == (touched > 0)


@pytest.mark.parametrize(("deep", "kept"), [(0.0009, True), (0.0011, False), (-0.1, True)])
def test_bodies_that_overlap_are_left_out(deep, kept):
    """By more than a millimetre, with a note that names them."""
    for second in (BALL, BOX):
        found, robot = pairs_of(BALL, second, x=0.2 - deep)
        assert bool(found) == kept
        notes = [note for note in robot.notes if "overlap" in note]
        assert (notes == []) == kept
        assert all(note.endswith("stands: one and two") for note in notes)


def test_neighbours():
    """Bodies with a joint between them, or joints with nothing that weighs."""
    model = pin.Model()
    masses = (1.0, 0.0, 0.0, 1.0, 1.0)  # a chain
    for k, mass in enumerate(masses):
        model.addJoint(k, pin.JointModelRX(), pin.SE3.Identity(), f"joint{k}")
        inertia = pin.Inertia(mass, np.zeros(3), np.zeros((3, 3)))
        model.appendBodyToJoint(k + 1, inertia, pin.SE3.Identity())
    expected = {(1, 2), (2, 3), (3, 4), (1, 3), (1, 4), (2, 4), (4, 5)}
    for a in range(1, 6):
        assert connected(model, a, a)
        for b in range(a + 1, 6):
            assert connected(model, a, b) == connected(model, b, a) == ((a, b) in expected)
    other = model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "other")
    assert not connected(model, 1, other)


def test_pairs_that_are_none():
    """Each mistake has its sentence."""
    robot = together(
        free_body("one", BALL, mass=1.0),
        [free_body("two", BALL, mass=1.0, position=(1.0, 0.0, 0.0))],
    )
    for pair, words in (
        ("one", "two names of links, got 'one'"),
        (("one", "two", "two"), "two names of links"),
        (("one", "one"), "both move as one body"),
        (("one", "universe"), "one of them does not move"),
        (("one", "three"), "three"),
    ):
        with pytest.raises(RobotError, match=words):
            touching(robot, [pair])


def test_hulls_of_vertices_that_nearly_coincide_are_closed():
    """As in exports of CAD, whose faces share corners up to rounding."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 200)
    disc = np.column_stack([np.cos(angle), np.sin(angle), np.repeat([-0.3, 0.3], 100)])
    vertices = np.concatenate([disc, disc + 3e-8 * rng.standard_normal(disc.shape)])
    corners, faces = hull_arrays(0.03 * vertices)
    hull = Mesh(vertices=corners, faces=faces)
    assert hull.collision_geometry().computeVolume() == pytest.approx(5.05e-5, rel=2e-2)
