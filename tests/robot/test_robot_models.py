"""Models on their bases, their standing configurations, and the places of contact points."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._robot import ContactPoints
from nmdp_pin._robot.contact_points import in_world, place_points, reach
from nmdp_pin._robot.frames import link_frame
from nmdp_pin._robot.model import (
    append_model,
    base_model,
    base_velocities,
    idle_joints,
    standing_configuration,
)
from nmdp_pin._robot.settings import ContactPoint
from nmdp_pin.errors import RobotError

ROUNDING = 1e-12
POSE = pin.SE3(pin.rpy.rpyToMatrix(0.3, 0.4, 0.5), np.array([1.0, 2.0, 3.0]))


def arm(prefix=""):
    """A turning column, a slider without mass, a light link 1 m long."""
    model = pin.Model()
    kinds = (pin.JointModelRZ(), pin.JointModelPX(), pin.JointModelRUBY())
    names = ("column", "slide", "wheel")
    for k, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        at = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.5]))
        joint = model.addJoint(k, kind, at, f"{prefix}{name}")
        model.addJointFrame(joint)
        model.addBodyFrame(f"{name} link", joint, pin.SE3(np.eye(3), np.array([0.1, 0, 0])), 0)
    return model


@pytest.mark.parametrize("base", ["planar", "free-flyer", "fixed"])
def test_a_base_holds_the_root_where_it_stands(base):
    """The root link is at the base pose, whatever of it the joints can move."""
    holder, place = base_model(base, POSE)
    whole, _ = append_model(holder, arm(), [], holder.nframes - 1, place)
    q = standing_configuration(whole, {}, POSE)
    data = whole.createData()
    pin.forwardKinematics(whole, data, q)
    parent = whole.parents[whole.getJointId("column")]
    at = data.oMi[parent] * (place if base != "free-flyer" else pin.SE3.Identity())
    assert at.homogeneous == pytest.approx(POSE.homogeneous, abs=ROUNDING)
    driven = np.arange(holder.nv, whole.nv)
    assert base_velocities(whole, driven).tolist() == list(range(holder.nv))
    assert base_velocities(whole, np.arange(whole.nv)).tolist() == []
    if base == "planar":
        forward = POSE.rotation[:, 0]
        assert q[:3] == pytest.approx([1.0, 3.0, np.arctan2(-forward[2], forward[0])])


def test_free_bodies_have_bases_of_their_own():
    """Those of other objects by the ends of their names, and joints of six velocities."""
    model = pin.Model()
    still = pin.SE3.Identity()
    first = model.addJoint(0, pin.JointModelFreeFlyer(), still, "floating")
    model.addJoint(first, pin.JointModelRX(), still, "hinge")
    other = model.addJoint(0, pin.JointModelPX(), still, "cart/root_x")
    model.addJoint(other, pin.JointModelPX(), still, "cart/x")
    assert base_velocities(model, np.array([6])).tolist() == [0, 1, 2, 3, 4, 5, 7]


def test_standing_positions():
    """Displacements from neutral, or parts of the configuration; unknown joints are skipped."""
    model = arm()
    q = standing_configuration(model, {"column": 0.3, "nothing": 1.0}, pin.SE3.Identity())
    assert q == pytest.approx([0.3, 0.0, 1.0, 0.0])
    q = standing_configuration(model, {"wheel": 0.5}, pin.SE3.Identity())
    assert q == pytest.approx([0.0, 0.0, np.cos(0.5), np.sin(0.5)])
    q = standing_configuration(model, {"wheel": np.array([0.0, 1.0])}, pin.SE3.Identity())
    assert q == pytest.approx([0.0, 0.0, 0.0, 1.0])


def test_models_keep_their_names_and_rotors():
    """Links and joints of one name stay apart, and rotors stay with their joints."""
    first, second = arm(), arm("other ")
    first.armature = np.array([0.1, 0.2, 0.3])
    second.armature = np.array([0.4, 0.5, 0.6])
    second.frames[2].name = "slide"  # a link that is called like a joint of the first
    carrier = first.getFrameId("wheel link")
    whole, _ = append_model(first, second, [], carrier, POSE)
    assert whole.armature.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    frame = whole.frames[whole.getFrameId("slide", pin.BODY)]
    assert frame.parentJoint == 4
    assert whole.jointPlacements[4].translation == pytest.approx(
        (first.frames[carrier].placement * POSE * second.jointPlacements[1]).translation
    )
    assert second.frames[2].name == "slide"


def loaded(*masses, armature=None):
    """The arm with masses at 1 m from its joints."""
    model = arm()
    for k, mass in enumerate(masses):
        inertia = pin.Inertia(mass, np.array([0.0, 0.0, 1.0]), np.zeros((3, 3)))
        model.appendBodyToJoint(k + 1, inertia, pin.SE3.Identity())
    if armature is not None:
        model.armature = np.array(armature)
    return model


@pytest.mark.parametrize(
    ("masses", "armature", "idle"),
    [
        ((1.0, 1.0, 1.0), None, ["column"]),  # all masses are above its axis
        ((1.0, 1.0, 1.0), (0.1, 0.0, 0.0), []),
        ((1.0, 1.0, 0.0), (0.1, 0.0, 0.0), ["wheel"]),
        ((1.0, 0.0, 0.0), (0.1, 0.0, 0.0), ["slide", "wheel"]),
        ((1.0, 0.0, 0.0), (0.1, 0.1, 1e-16), ["wheel"]),
        ((1.0, 0.0, 0.0), (0.1, 0.1, 1e-12), []),
    ],
)
def test_joints_with_nothing_to_move(masses, armature, idle):
    """Those in whose directions the mass matrix is singular, with regard to its largest."""
    model = loaded(*masses, armature=armature)
    assert sorted(idle_joints(model, pin.neutral(model))) == idle


def test_contact_points_are_placed_on_joints():
    """From the frames of links, which may be turned; the rows of fewer semi-axes are zero."""
    model = arm()
    M = pin.SE3(pin.rpy.rpyToMatrix(0.3, 0.4, 0.5), np.array([0.1, 0.2, 0.3]))
    model.addBodyFrame("tool", 2, M, 0)
    ring = [[0.2, 0.0, 0.0], [0.0, 0.2, 0.0]]
    points = [
        ContactPoint(name="a", link="tool", position=[1.0, 2.0, 3.0], radius=0.1),
        ContactPoint(name="b", link="tool", semi_axes=ring),
        ContactPoint(name="c", link="wheel"),  # a frame that is no link
    ]
    placed = place_points(model, points, "file")
    assert placed.names == ("a", "b", "c")
    assert placed.joints.tolist() == [2, 2, 3]
    assert placed.positions[0] == pytest.approx(M.act(np.array([1.0, 2.0, 3.0])))
    assert placed.positions[1] == pytest.approx(M.translation)
    assert placed.radii.tolist() == [0.1, 0.0, 0.0]
    axes = np.vstack([np.array(ring) @ M.rotation.T, np.zeros((1, 3))])
    assert placed.semi_axes[1] == pytest.approx(axes)
    assert not placed.semi_axes[[0, 2]].any()
    with pytest.raises(RobotError, match="given twice") as caught:
        place_points(model, [*points, points[1]], "file")
    assert caught.value.element == "contact 'b'"
    with pytest.raises(RobotError, match="link 'x' does not exist; links: column link, slide"):
        link_frame(model, "x", "file", "element")


def test_heights_of_the_lowest_points():
    """Of spheres on the terrain, discs and ellipsoids; those against bodies are left out."""
    model, rng = arm(), np.random.default_rng(0)
    axes = np.array([np.zeros((3, 3)), np.diag([0.2, 0.2, 0.0]), np.diag([0.1, 0.2, 0.3])] * 2)
    points = ContactPoints(
        tuple("abcdef"),
        np.array([1, 2, 3, 1, 2, 3]),
        rng.standard_normal((6, 3)),
        np.linspace(0.1, 0.2, 6),
        np.array([0, 0, 0, 0, 0, 1]),
        axes,
    )
    assert points.n_terrain == 5
    q, data = np.array([0.3, 0.2, np.cos(0.7), np.sin(0.7)]), model.createData()
    pin.forwardKinematics(model, data, q)
    world = in_world(data, points.joints, points.positions)
    expected = []
    u = rng.standard_normal((40000, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    for k in range(5):
        M = data.oMi[int(points.joints[k])]
        assert world[k] == pytest.approx(M.act(points.positions[k]))
        swept = M.act(points.positions[k])[2] + (u @ axes[k] @ M.rotation.T)[:, 2]
        expected.append(swept.min() - points.radii[k])
    assert points.bottoms(model, q) == pytest.approx(np.array(expected), abs=1e-3)  # of the sample
    assert reach(np.diag([0.1, 0.2, 0.3]), np.array([0.0, 0.6, 0.8])) == pytest.approx(
        np.hypot(0.12, 0.24)
    )
    with pytest.raises(RobotError, match="must come before"):
        ContactPoints(("a", "b"), np.ones(2, int), np.zeros((2, 3)), np.zeros(2), np.array([1, 0]))


def test_points_are_spheres_of_the_ground_by_default():
    """They touch the terrain, and are swept over nothing."""
    points = ContactPoints(("a", "b"), np.ones(2, int), np.eye(2, 3), np.zeros(2))
    assert points.touches.tolist() == [0, 0]
    assert points.n_terrain == 2
    assert np.array_equal(points.semi_axes, np.zeros((2, 3, 3)))
