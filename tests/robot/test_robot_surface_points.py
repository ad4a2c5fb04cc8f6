"""Contact points spread over the collision geometry of a robot: where they are, how even."""

import itertools

import numpy as np
import pinocchio as pin
import pytest
from pairwise import spread
from urdf_samples import PYRAMID_CORNERS, link, mesh, pyramid, robot, shape, write

from nmdp_pin._robot import check_robot, free_body, load_robot
from nmdp_pin._robot.surface_points import MOST_CONTACT_POINTS
from nmdp_pin._scenario import Scenario
from nmdp_pin._terrain import Cone, Cylinder, Ellipsoid
from nmdp_pin.errors import RobotError, ScenarioError

ON_SURFACE = 1e-12  # [m]; what rounding leaves of a place on a shape
# Farthest points of a set of places: no two of N nearer than those of a hexagonal grid by more
# than this factor; the places are 8192, so that N = 256 points have 32 places each.
EVEN = 2.0
CENTRED = 0.02  # [m]; the mean of 200 points on a box of 0.6 m
SINGLE = 1e-7  # meshes are stored in single precision
NAMES = ("box", "chain", "robosimian", "spider")


def spread_over(name: str, count: int, **options) -> tuple[np.ndarray, np.ndarray]:
    """Joints and positions of the points of a robot."""
    points = load_robot(name, contact_points=count, visuals=False, **options).contact_points
    return points.joints, points.positions


def in_world(name: str, count: int) -> np.ndarray:
    """Places of the points in the standing pose."""
    loaded = load_robot(name, contact_points=count, visuals=False)
    data = loaded.model.createData()
    pin.forwardKinematics(loaded.model, data, loaded.standing)
    points = loaded.contact_points
    return np.array(
        [data.oMi[int(j)].act(x) for j, x in zip(points.joints, points.positions, strict=True)]
    )


@spread({"count": [1, 4, 64, 256], "name": NAMES})
def test_as_many_as_asked_for(name, count):
    """Each has a name of its own and no radius, and two calls give the same points."""
    points = load_robot(name, contact_points=count, visuals=False).contact_points
    assert len(points) == len(set(points.names)) == count
    assert not points.radii.any()
    again = load_robot(name, contact_points=count, visuals=False).contact_points
    assert np.array_equal(points.positions, again.positions)


@pytest.mark.parametrize("name", NAMES)
def test_refining_adds_points(name):
    """The points of a smaller number are among those of a larger one."""
    few, many = (
        {(int(j), *x) for j, x in zip(*spread_over(name, count), strict=True)} for count in (48, 96)
    )
    assert len(few) == 48
    assert few < many


def test_corners_come_first():
    """Eight points on a box are its corners, and further ones lie on its faces."""
    _, corners = spread_over("box", 8)
    expected = set(itertools.product((-0.1, 0.1), repeat=3))
    assert {tuple(np.round(x, 12)) for x in corners} == expected
    _, all_points = spread_over("box", 200)
    assert np.abs(np.abs(all_points).max(axis=1) - 0.1).max() < ON_SURFACE


def test_points_are_far_from_each_other():
    """The two nearest of 256 points on a cube are about as far apart as in a hexagonal grid."""
    places = in_world("box", 256)
    apart = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(len(places))
    grid = np.sqrt(2.0 / np.sqrt(3.0) * (6 * 0.2**2) / len(places))
    assert apart.min() > grid / EVEN


def test_every_face_is_covered():
    """No place of the chain's rods is farther from 256 points than a rod is thick, or so."""
    places = in_world("chain", 256)
    along = np.linspace(0.0, 1.0, 1001)
    # The rods lie along x in the standing pose, 10 mm in radius.
    assert max(np.abs(places[:, 0] - x).min() for x in along) < 0.01
    assert (np.hypot(places[:, 1], places[:, 2]) < 0.015 + ON_SURFACE).all()


def test_what_another_shape_covers_gets_none(tmp_path):
    """Two boxes that overlap: points on each, and none inside the other."""
    centres = np.array([[0.0, 0.0, 0.0], [0.1, 0.15, 0.2]])
    boxes = [
        shape("collision", '<box size="0.2 0.3 0.4"/>', "{} {} {}".format(*c)) for c in centres
    ]
    file = write(tmp_path, robot(link("body", shapes="".join(boxes))))
    x = load_robot(file, contact_points=200, visuals=False).contact_points.positions
    gaps = (np.abs(x[:, None] - centres) - [0.1, 0.15, 0.2]).max(axis=2)
    assert np.abs(gaps.min(axis=1)).max() < ON_SURFACE
    assert (np.abs(gaps) < ON_SURFACE).sum(axis=0).min() > 60


@pytest.mark.parametrize(
    ("geometry", "distance"),
    [
        ('<sphere radius="0.2"/>', lambda x: np.linalg.norm(x, axis=1) - 0.2),
        (
            '<capsule radius="0.1" length="0.4"/>',
            lambda x: np.linalg.norm(x - np.clip(x, [0, 0, -0.2], [0, 0, 0.2]), axis=1) - 0.1,
        ),
        (
            '<cylinder radius="0.1" length="0.4"/>',
            lambda x: np.maximum(np.hypot(x[:, 0], x[:, 1]) - 0.1, np.abs(x[:, 2]) - 0.2),
        ),
        ('<box size="0.2 0.4 0.6"/>', lambda x: (np.abs(x) - [0.1, 0.2, 0.3]).max(axis=1)),
    ],
)
def test_points_lie_on_the_shape(tmp_path, geometry, distance):
    """On every kind of primitive, moved in its link: on its surface, with a mean at its centre."""
    placed = shape("collision", geometry, "0.3 -0.1 0.2").replace(
        '"/><g', '" rpy="0.4 0.5 -0.6"/><g'
    )
    file = write(tmp_path, robot(link("ball", shapes=placed)))
    points = load_robot(file, contact_points=200, visuals=False).contact_points
    place = pin.SE3(pin.rpy.rpyToMatrix(0.4, 0.5, -0.6), np.array([0.3, -0.1, 0.2]))
    local = np.array([place.actInv(x) for x in points.positions])
    assert np.abs(distance(local)).max() < ON_SURFACE
    assert np.abs(local.mean(axis=0)).max() < CENTRED
    assert np.linalg.matrix_rank(local) == 3


def test_rims_and_tips_come_first():
    """Of a cylinder eight points on its two rims, of a cone seven on its rim and its tip."""
    for solid, upper in (
        (Cylinder(radius=0.1, length=0.4), 0.1),
        (Cone(radius=0.1, length=0.4), 0.0),
    ):
        body = free_body("body", solid, mass=1.0, contact_points=8)
        x = body.contact_points.positions
        np.testing.assert_allclose(np.abs(x[:, 2]), 0.2, atol=ON_SURFACE)
        across = np.hypot(x[:, 0], x[:, 1])
        np.testing.assert_allclose(across[x[:, 2] < 0.0], 0.1, atol=ON_SURFACE)
        np.testing.assert_allclose(across[x[:, 2] > 0.0], upper, atol=ON_SURFACE)
        assert 0 < (x[:, 2] > 0.0).sum() < 8


def test_points_lie_on_an_ellipsoid():
    """All of them: its centre is no corner."""
    radii = (0.1, 0.2, 0.3)
    body = free_body("egg", Ellipsoid(radii=radii), mass=1.0, contact_points=50)
    x = body.contact_points.positions / radii
    assert len(x) == 50
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, atol=ON_SURFACE)


def test_points_lie_on_a_mesh(tmp_path):
    """The extreme vertices first, then places on the triangles, each side having its share."""
    write(tmp_path, pyramid(), "meshes/pyramid.stl")
    file = write(tmp_path, robot(link("body", shapes=mesh("collision", "meshes/pyramid.stl"))))
    x = load_robot(file, contact_points=200, visuals=False).contact_points.positions
    corners = {tuple(np.round(corner, 6) + 0.0) for corner in x}
    assert {tuple(map(float, corner)) for corner in PYRAMID_CORNERS} <= corners
    # A side is the plane through the tip and an edge of the foot: |x| / 0.1 + z / 0.3 = 1.
    side = np.abs(x[:, :2]).max(axis=1) / 0.1 + x[:, 2] / 0.3 - 1.0
    foot = np.abs(x[:, 2]) < SINGLE
    assert np.abs(side[~foot]).max() < SINGLE / 0.1
    # Of the surface the foot has 0.04 of 0.04 + 4 * 0.0316 m2, a quarter.
    assert 0.15 < foot.mean() < 0.4


def test_named_links_alone():
    """With names in `contacts` only these links get points."""
    loaded = load_robot("chain", contacts=["link3", "link10"], contact_points=32, visuals=False)
    assert set(loaded.contact_points.joints) == {3, 10}
    assert {name.split("_")[0] for name in loaded.contact_points.names} == {"link3", "link10"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contact_points": 0}, "contact_points must be >= 1, got 0"),
        ({"contact_points": MOST_CONTACT_POINTS + 1}, "got 1025"),
        ({"contact_points": 2.5}, "got 2.5"),
        ({"contact_points": True}, "got True"),
        ({"contact_points": 4, "contacts": [("a", "box", [0, 0, 0], 0.0)]}, "must name links"),
        ({"contact_points": 4, "contacts": ["lid"]}, "link 'lid' has no collision geometry"),
        ({"contact_points": 4, "contacts": []}, "there is no collision geometry"),
    ],
)
def test_mistakes_are_named(options, message):
    """A number that is none, and links that have no surface, are refused with what is allowed."""
    with pytest.raises(RobotError, match="contact_points") as caught:
        load_robot("box", **options)
    assert message in str(caught.value)
    assert message in str(check_robot("box", **options))


def test_a_robot_without_surface_is_refused(tmp_path):
    """Without collision geometry there is nothing to spread points over."""
    with pytest.raises(RobotError, match="no collision geometry that moves"):
        load_robot(write(tmp_path, robot(link("ball"))), contact_points=4)


def test_in_a_scenario():
    """`robot.contact_points` refines any scenario, and is resolved with it."""
    scenario = Scenario.load("chain-slope", overrides=["robot.contact_points=64"])
    assert scenario.resolved()["robot"]["contact_points"] == 64
    assert len(scenario.build(visuals=False).robot.contact_points) == 64
    with pytest.raises(ScenarioError, match=r"robot\.contact_points"):
        Scenario.load("chain-slope", overrides=["robot.contact_points=0"])
