"""The bundled robots are the robots of the paper, to the figures that are published."""

import pickle

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._robot import Robot, bundled_robots, load_robot
from nmdp_pin.errors import RobotError

# Published figures have four or five digits.
POSITION_TOL = 1e-4
MASS_TOL = 5e-4
# What is left of a round trip through double precision.
ROUNDING = 1e-9
# Inertias listed with six digits.
INERTIA_TOL = 1e-6


def contact_positions(robot: Robot, q: np.ndarray) -> np.ndarray:
    """World positions of the contact points, shape (n, 3)."""
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    points = robot.contact_points
    return np.array(
        [
            data.oMi[int(joint)].act(position)
            for joint, position in zip(points.joints, points.positions, strict=True)
        ]
    )


def mass_matrix(robot: Robot) -> np.ndarray:
    """The mass matrix in the standing configuration, shape (nv, nv)."""
    upper = np.triu(pin.crba(robot.model, robot.model.createData(), robot.standing))
    return upper + np.triu(upper, 1).T


@pytest.mark.parametrize(
    ("name", "base", "joints", "nq", "nv", "driven"),
    [
        ("robosimian", "free-flyer", "all", 35, 34, 28),
        ("robosimian", "free-flyer", None, 19, 18, 12),
        ("robosimian", "planar", None, 15, 15, 12),
        ("robosimian", "fixed", "driven", 12, 12, 12),
        ("robosimian", None, None, 19, 18, 12),
        ("spider", "free-flyer", None, 19, 18, 12),
        ("spider", "planar", None, 15, 15, 12),
        ("box", None, None, 7, 6, 0),
        ("box", "planar", None, 3, 3, 0),
        ("chain", None, None, 10, 10, 0),
        ("chain", "free-flyer", None, 17, 16, 0),
        ("chain", "planar", None, 13, 13, 0),
        ("probe", None, None, 2, 2, 2),
        ("finger", None, None, 1, 1, 1),
        ("gripper", None, None, 3, 3, 2),
        ("robotiq-2f85", None, None, 9, 9, 2),
        ("cassie", None, None, 27, 26, 10),
        ("drone", None, None, 7, 6, 0),
        ("rover", None, None, 11, 10, 4),
    ],
)
def test_sizes(name, base, joints, nq, nv, driven):
    """A robot has the degrees of freedom that its base and joints say."""
    robot = load_robot(name, base=base, joints=joints)
    assert (robot.model.nq, robot.model.nv, len(robot.driven)) == (nq, nv, driven)
    assert robot.standing.shape == (nq,)


@pytest.mark.parametrize(
    ("name", "mass"), [("robosimian", 99.888), ("spider", 100.0), ("box", 1.0), ("chain", 1.05)]
)
@pytest.mark.parametrize("base", ["free-flyer", "planar"])
def test_mass(name, mass, base):
    """No base and no lock loses mass."""
    robot = load_robot(name, base=base)
    assert pin.computeTotalMass(robot.model) == pytest.approx(mass, abs=MASS_TOL)


@pytest.mark.parametrize("name", bundled_robots())
@pytest.mark.parametrize("base", ["free-flyer", "planar"])
def test_mass_matrix_is_regular(name, base):
    """Every bundled robot can be accelerated in every direction."""
    values = np.linalg.eigvalsh(mass_matrix(load_robot(name, base=base)))
    assert values[0] > 1e-8 * values[-1]


def test_planar_robosimian_has_the_published_mass_matrix():
    """The spectrum of the source at the standing pose: 0.081 to 110.5."""
    values = np.linalg.eigvalsh(mass_matrix(load_robot("robosimian", base="planar")))
    assert 0.05 < values[0] < 0.12
    assert 105.0 < values[-1] < 115.0


@pytest.mark.parametrize("base", ["free-flyer", "planar", "fixed"])
def test_robosimian_stands_where_the_paper_says(base):
    """Feet at x +-0.6211, y +-0.5604, z -0.7892 m, in the order of the limbs."""
    robot = load_robot("robosimian", base=base)
    expected = [
        (sx * 0.6211, sy * 0.5604, -0.7892) for sx, sy in ((1, -1), (-1, -1), (-1, 1), (1, 1))
    ]
    feet = contact_positions(robot, robot.standing)
    np.testing.assert_allclose(feet, expected, atol=POSITION_TOL)
    np.testing.assert_array_equal(robot.contact_points.radii, 0.02225)


def test_robosimian_centre_of_mass():
    """The centre of mass of the standing robot is at (-0.0003, -0.0008, -0.282) m."""
    robot = load_robot("robosimian")
    com = pin.centerOfMass(robot.model, robot.model.createData(), robot.standing)
    np.testing.assert_allclose(com, [-0.0003, -0.0008, -0.282], atol=5e-4)


def test_spider_stands_where_the_paper_says():
    """Feet at x, y +-0.5395, z -0.3592 m with spheres of 0.08 m."""
    robot = load_robot("spider", base="planar")
    a, z = 0.53953, -0.35922
    expected = [(a, a, z), (-a, a, z), (-a, -a, z), (a, -a, z)]
    np.testing.assert_allclose(
        contact_positions(robot, robot.standing), expected, atol=POSITION_TOL
    )
    np.testing.assert_array_equal(robot.contact_points.radii, 0.08)


@pytest.mark.parametrize("name", ["robosimian", "spider"])
def test_robots_are_symmetric(name):
    """Left and right feet mirror each other to rounding; the source had a slip of 0.01 rad."""
    robot = load_robot(name)
    feet = contact_positions(robot, robot.standing)
    mirrored = feet * [1.0, -1.0, 1.0]
    for foot in mirrored:
        assert np.linalg.norm(feet - foot, axis=1).min() < 1e-8


def test_box_stands_on_the_ground():
    """The lower corners of the box are at z = 0, the upper ones at 0.2 m."""
    robot = load_robot("box")
    heights = contact_positions(robot, robot.standing)[:, 2]
    np.testing.assert_allclose(np.sort(heights), [0.0] * 4 + [0.2] * 4, atol=ROUNDING)
    np.testing.assert_allclose(
        robot.model.inertias[2].inertia, 0.2**2 / 6 * np.eye(3), atol=ROUNDING
    )


def test_chain_hangs_along_x():
    """The ends of the ten rods are 0.1 m apart."""
    robot = load_robot("chain")
    expected = [(0.1 * k, 0.0, 0.0) for k in range(11)]
    np.testing.assert_allclose(contact_positions(robot, robot.standing), expected, atol=ROUNDING)


def test_locked_links_are_merged():
    """The 12-joint reduction has the published merged masses."""
    model = load_robot("robosimian", base="planar").model
    masses = [inertia.mass for inertia in model.inertias]
    assert masses[model.getJointId("root_pitch")] == pytest.approx(41.716, abs=ROUNDING)
    for joint, mass in (("limb1_joint2", 4.404), ("limb2_joint4", 4.404), ("limb3_joint6", 5.735)):
        assert masses[model.getJointId(joint)] == pytest.approx(mass, abs=ROUNDING)


def test_locked_robot_moves_as_the_whole_one():
    """Feet of the reduction and of the 28-hinge robot agree at the same joint angles."""
    part, whole = load_robot("robosimian"), load_robot("robosimian", joints="all")
    rng = np.random.default_rng(3)
    q, full = part.standing.copy(), whole.standing.copy()
    for name in list(part.model.names)[2:]:
        angle = rng.uniform(-1.0, 1.0)
        q[part.model.joints[part.model.getJointId(name)].idx_q] = angle
        full[whole.model.joints[whole.model.getJointId(name)].idx_q] = angle
    np.testing.assert_allclose(
        contact_positions(part, q), contact_positions(whole, full), atol=ROUNDING
    )


def test_planar_base_is_a_part_of_the_free_one():
    """Moving x, z and pitch moves the feet as the same placement of a free base does."""
    planar, free = load_robot("spider", base="planar"), load_robot("spider")
    x, z, pitch = 0.3, -0.2, 0.7
    q, q_free = planar.standing.copy(), free.standing.copy()
    q[:3] = x, z, pitch
    place = pin.SE3(pin.utils.rotate("y", pitch), np.array([x, 0.0, z]))
    q_free[:7] = pin.SE3ToXYZQUAT(place)
    np.testing.assert_allclose(
        contact_positions(planar, q), contact_positions(free, q_free), atol=ROUNDING
    )


def test_listed_variant_is_stiffer():
    """The paper's variant differs in the inertias only: same mass, 5.8 times the roll of link 2."""
    ours = load_robot("robosimian", joints="all")
    paper = load_robot("robosimian", joints="all", variant="listed")
    assert pin.computeTotalMass(paper.model) == pytest.approx(pin.computeTotalMass(ours.model))
    k = ours.model.getJointId("limb1_joint2")
    assert ours.model.inertias[k].inertia[0, 0] == pytest.approx(0.007717, abs=INERTIA_TOL)
    assert paper.model.inertias[k].inertia[0, 0] == pytest.approx(0.044712, abs=INERTIA_TOL)
    np.testing.assert_array_equal(
        contact_positions(ours, ours.standing), contact_positions(paper, paper.standing)
    )


def test_the_torso_turns_like_a_body_of_its_size():
    """The torso's moments lie between a half and the whole of a uniform box of its hull's size."""
    ours = load_robot("robosimian", joints="all")
    torso = ours.model.inertias[ours.model.getJointId("root_rotation")]
    box = pin.Inertia.FromBox(40.0, 0.949, 0.522, 0.270)
    ratio = np.diag(torso.inertia) / np.diag(box.inertia)
    assert (ratio > 0.5).all()
    assert (ratio < 1.0).all()


@pytest.mark.parametrize("name", bundled_robots())
def test_inertias_are_physical(name):
    """Every moving body has positive mass or none, and principal moments of a real solid."""
    for inertia in list(load_robot(name, joints="all").model.inertias)[1:]:
        low, middle, high = np.linalg.eigvalsh(inertia.inertia)
        assert inertia.mass >= 0.0
        assert low >= 0.0
        assert high <= (low + middle) * (1.0 + ROUNDING)


@pytest.mark.parametrize("name", bundled_robots())
def test_robots_can_be_drawn(name):
    """Looks and collision shapes are primitives: nothing is missing, every link is coloured."""
    robot = load_robot(name, base="free-flyer")
    assert robot.missing_visuals == () == robot.missing_collisions
    assert len(robot.require_visuals().geometryObjects) > 0
    assert len(robot.require_collisions().geometryObjects) > 0
    assert all(shape.meshColor[3] == 1.0 for shape in robot.require_visuals().geometryObjects)


@pytest.mark.parametrize("base", ["planar", "free-flyer"])
def test_geometry_follows_the_base(base):
    """Looks move with the base: raising it by 1 m raises every shape by 1 m."""
    robot = load_robot("robosimian", base=base)
    heights = []
    for lift in (0.0, 1.0):
        q = robot.standing.copy()
        q[1 if base == "planar" else 2] += lift
        data, shapes = robot.model.createData(), robot.require_visuals().createData()
        pin.updateGeometryPlacements(robot.model, data, robot.require_visuals(), shapes, q)
        heights.append([place.translation[2] for place in shapes.oMg])
    np.testing.assert_allclose(np.subtract(*heights[::-1]), 1.0, atol=ROUNDING)


@pytest.mark.parametrize("name", bundled_robots())
def test_robot_pickles(name):
    """A robot survives pickling: same model, same geometry, same contact points."""
    robot = load_robot(name, base="planar")
    copy = pickle.loads(pickle.dumps(robot))
    assert copy.model == robot.model
    assert copy.contact_points.names == robot.contact_points.names
    np.testing.assert_array_equal(copy.standing, robot.standing)
    np.testing.assert_array_equal(
        contact_positions(copy, copy.standing), contact_positions(robot, robot.standing)
    )
    assert len(copy.require_visuals().geometryObjects) == len(
        robot.require_visuals().geometryObjects
    )
    assert sorted(copy.gaits) == sorted(robot.gaits)


def test_visuals_can_be_left_out():
    """visuals=False leaves looks out and says so when they are asked for."""
    robot = load_robot("box", visuals=False)
    assert robot.visual_model is None
    with pytest.raises(RobotError, match="visuals=False"):
        robot.require_visuals()
