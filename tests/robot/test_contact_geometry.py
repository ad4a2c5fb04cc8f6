"""Points that stand for shapes, points far from each other, and hulls of few points."""

import itertools

import coal
import numpy as np
import pytest
from urdf_samples import hinge, link, robot, shape, write

from nmdp_pin import load_robot
from nmdp_pin._robot.contact_geometry import (
    DIRECTIONS,
    _extent,
    corners_near,
    extreme_points,
    hold_out,
    spread,
)
from nmdp_pin._robot.settings import ContactPoint

ROUNDING = 1e-12
CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
AXES = np.vstack([np.eye(3), -np.eye(3)])
STILL = [0.0, 0.0, 0.0]
UP, DOWN = [0.0, 0.0, 0.7], [0.0, 0.0, -0.7]


def disc(*radii):
    """Semi-axes along the axes of the shape."""
    return np.diag([*radii, 0.0, 0.0, 0.0][:3])


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (coal.Sphere(0.3), [(STILL, 0.3, disc())]),
        (coal.Capsule(0.3, 1.4), [(DOWN, 0.3, disc()), (UP, 0.3, disc())]),
        (coal.Box(0.2, 0.4, 0.6), [(c * [0.1, 0.2, 0.3], 0.0, disc()) for c in CUBE]),
        (coal.Cylinder(0.3, 1.4), [(DOWN, 0.0, disc(0.3, 0.3)), (UP, 0.0, disc(0.3, 0.3))]),
        (coal.Cone(0.3, 1.4), [(DOWN, 0.0, disc(0.3, 0.3)), (UP, 0.0, disc())]),
        (coal.Ellipsoid(0.1, 0.2, 0.3), [(STILL, 0.0, disc(0.1, 0.2, 0.3))]),
    ],
    ids=lambda x: type(x).__name__,
)
def test_spheres_that_stand_for_a_shape(shape, expected):
    """Corners, ends and rims, as spheres swept over discs and ellipsoids."""
    found = extreme_points(shape)
    assert len(found) == len(expected)
    for (centre, radius, axes), (place, size, swept) in zip(found, expected, strict=True):
        assert centre == pytest.approx(np.array(place), abs=ROUNDING)
        assert radius == size
        assert axes == pytest.approx(swept)


def test_a_mesh_is_felt_in_level_and_slanted_directions():
    """Faces, edges and corners of a cube, and eight directions by 5 degrees around each face."""
    assert DIRECTIONS.shape == (26 + 6 * 8, 3)
    assert len(np.unique(DIRECTIONS.round(6), axis=0)) == 74
    around = DIRECTIONS[26:]
    tilt = np.degrees(np.arccos(np.abs(around).max(axis=1) / np.linalg.norm(around, axis=1)))
    diagonal = np.degrees(np.arctan(np.sqrt(2.0) * np.tan(np.radians(5.0))))
    assert np.sort(tilt) == pytest.approx(np.repeat([5.0, diagonal], 24))


@pytest.mark.parametrize("turned", [False, True])
def test_reach_of_discs(turned):
    """The farthest of many points of a disc, and the radius of its sphere more."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0] if turned else np.eye(3)
    centre, axes = np.array([0.3, -0.4, 0.5]), np.diag([0.2, 0.2, 0.0]) @ Q
    angles = np.linspace(0.0, 2.0 * np.pi, 20000)
    rim = centre + np.cos(angles)[:, None] * axes[0] + np.sin(angles)[:, None] * axes[1]
    farthest = np.linalg.norm(rim, axis=1).max()
    assert _extent(centre, 0.1, axes) == pytest.approx(farthest + 0.1, abs=1e-6)  # of the angles
    assert _extent(np.zeros(3), 0.0, axes) == pytest.approx(0.2)


def test_points_far_from_each_other():
    """The farthest from the origin first, then always the one farthest from those chosen."""
    line = np.array([[x, 0.0, 0.0] for x in (0.0, 1.0, 2.0, 3.5, 4.0)])
    assert spread(line, 3) == [4, 0, 2]
    assert spread(line, 9) == [4, 0, 2, 1, 3]
    assert spread(line, 0) == []
    assert spread(line, 2, away_from=line[4:]) == [0, 2]
    assert spread(line, 2, away_from=np.zeros((0, 3))) == [4, 0]
    assert spread(line, 9, nearest=1.0) == [4, 0, 2, 1]
    assert spread(line, 9, nearest=1.1) == [4, 0, 2]
    assert spread(line, 9, away_from=line[[0, 4]], nearest=2.0) == [2]
    assert sorted(spread(np.zeros((3, 3)), 3)) == [0, 1, 2]


@pytest.mark.parametrize(("bump", "kept"), [(0.09, False), (0.11, True)])
@pytest.mark.parametrize("away", [0.0, 5.0])
def test_hulls_of_few_points(bump, kept, away):
    """Corners, and what stands out of their hull by more than is allowed; the inside is left."""
    places = np.vstack([CUBE, [[0.0, 0.0, 1.0 + bump], [0.1, 0.2, 0.3], [1.0, 0.0, 0.0]]])
    found = corners_near(places + away, CUBE, 0.1)
    assert [k for k, _ in found] == list(range(8 + kept))
    expected = [np.inf] * 8 + [bump] * kept
    assert [missed for _, missed in found] == pytest.approx(expected, abs=ROUNDING)


def test_the_farthest_is_added_first():
    """Each is the farthest from the hull of those before; what a larger hull holds is left."""
    steps = [[0.0, 0.0, 1.2], [0.0, 0.0, 1.5], [0.0, 1.3, 0.0], [0.05, 0.0, 1.4]]
    found = corners_near(np.vstack([CUBE, steps]), CUBE, 0.01)[8:]
    assert found[0] == (9, pytest.approx(0.5))
    assert found[1] == (10, pytest.approx(0.3))
    assert 8 not in [k for k, _ in found]


def test_hulls_of_flat_and_of_no_points():
    """Those farthest in the directions; none of none."""
    assert corners_near(np.zeros((0, 3)), AXES, 0.1) == []
    flat = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.1, 0.1, 0.0]])
    assert {k for k, _ in corners_near(flat, AXES, 0.1)} == {0, 1, 2}


def test_points_that_are_not_bare_stay():
    """Balls and discs are kept in their places; bare points only where they are corners."""
    places = [*CUBE.tolist(), [0.0, 0.0, 0.5]]
    points = [ContactPoint(name=str(k), link="a", position=p) for k, p in enumerate(places)]
    ball = ContactPoint(name="ball", link="a", radius=0.1)
    ring = ContactPoint(name="ring", link="a", semi_axes=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    group = [points[0], ball, *points[1:], ring]
    assert hold_out([group], len(group)) == group
    assert hold_out([group], len(group) - 1) == [points[0], ball, *points[1:8], ring]


def test_boxes_keep_their_corners(tmp_path):
    """A chain of nine boxes has 72 corners, and stays one of boxes; corners of meshes are thinned.

    With fewer its links sink into each other: they are no boxes.
    """
    box = shape("collision", '<box size="0.2 0.1 0.1"/>', "0.15 0 0")
    names = [f"l{k}" for k in range(9)]
    parts = [link(name, shapes=box) for name in names]
    parts += [
        hinge(f"j{k}", a, b, xyz="0.3 0 0") for k, (a, b) in enumerate(itertools.pairwise(names))
    ]
    loaded = load_robot(write(tmp_path, robot(*parts)), base="free-flyer", contacts="all")
    assert np.unique(loaded.contact_points.joints, return_counts=True)[1].tolist() == [8] * 9
    corners = (0.1 * CUBE).tolist()
    group = [ContactPoint(name=str(k), link="a", position=p) for k, p in enumerate(corners)]
    assert hold_out([group] * 2, 9) == group * 2
    assert len(hold_out([group] * 2, 9, 15)) < 16


def test_points_have_other_names_than_links(tmp_path):
    """A link that is called like a point of another one has one mark less."""
    balls = "".join(shape("collision", '<sphere radius="0.05"/>', f"{x} 0 0") for x in (0.0, 0.2))
    parts = link("base"), link("foot", shapes=balls), hinge("one", "base", "foot")
    path = write(tmp_path, robot(*parts, link("foot_1"), hinge("two", "base", "foot_1")))
    names = load_robot(path, contacts=["foot", "foot_1"]).contact_points.names
    assert names == ("foot__0", "foot__1", "foot_1")
