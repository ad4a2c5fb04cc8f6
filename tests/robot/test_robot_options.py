"""Options of load_robot: base, joints, variant, contacts, meshes and packages."""

import itertools

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from urdf_samples import (
    FOOT,
    HOPPER,
    PYRAMID_CORNERS,
    hinge,
    link,
    mesh,
    pyramid,
    robot,
    shape,
    write,
)

from nmdp_pin._robot import ContactPoint, Robot, check_robot, free_body, load_robot
from nmdp_pin._robot.check import _forms
from nmdp_pin._robot.contact_geometry import _extent, directions, hold_out
from nmdp_pin._robot.contact_points import ContactPoints
from nmdp_pin._scenario import Scenario
from nmdp_pin._terrain import Cylinder, Ellipsoid
from nmdp_pin.errors import RobotError

# What is left of a placement there and back.
ROUNDING = 1e-12
# Meshes are stored in single precision.
SINGLE = 1e-7
# Of means over 400 directions: an error of quadrature.
EVEN = 5e-3


def test_foreign_urdf_gets_the_plain_defaults(tmp_path):
    """Free-flyer, every joint free and driven, standing on its foot."""
    loaded = load_robot(write(tmp_path, HOPPER))
    assert (loaded.name, loaded.model.nq, loaded.model.nv) == ("sample", 8, 7)
    assert list(loaded.driven) == [6]
    assert loaded.contact_points.names == ("leg",)
    np.testing.assert_allclose(loaded.contact_points.positions, [[0, 0, -0.4]], atol=ROUNDING)
    assert loaded.standing[2] == pytest.approx(0.45)
    assert load_robot(str(write(tmp_path, HOPPER))).source.endswith("sample.urdf")


def test_a_root_link_named_world_is_fixed(tmp_path):
    """As in ROS and Gazebo; the ground lies below what hangs from it, and `base` frees it."""
    mount = hinge("mount", "world", "body", kind="fixed")
    text = robot(link("world", mass=0), mount, HOPPER[HOPPER.index("<link") : -len("</robot>")])
    path = write(tmp_path, text)
    loaded = load_robot(path)
    assert not loaded.floating
    assert loaded.model.nv == 1
    assert any("base fixed" in note for note in loaded.notes)
    (plane,) = Scenario.load(str(path)).terrain.shapes
    assert plane.height < -0.45
    assert load_robot(path, base="free-flyer").floating


def test_continuous_joints_stand_upright(tmp_path):
    """A continuous joint has two numbers (cos, sin), and still one driven velocity."""
    text = HOPPER.replace("revolute", "continuous")
    loaded = load_robot(write(tmp_path, text), base="planar")
    assert (loaded.model.nq, loaded.model.nv) == (5, 4)
    np.testing.assert_allclose(loaded.standing[3:], [1.0, 0.0], atol=ROUNDING)
    assert list(loaded.driven) == [3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "floating"}, "base must be 'free-flyer', 'planar' or 'fixed', got 'floating'"),
        ({"joints": "some"}, 'joints must be "driven", "all" or a list of names, got'),
        ({"joints": ["hip", "knee"]}, "joint 'knee': does not exist"),
        ({"variant": "light"}, "unknown variant 'light'"),
        ({"base": "fixed", "joints": []}, "nothing can move"),
        ({"contacts": ["leg", "leg"]}, "given twice"),
        ({"contacts": ["arm"]}, "link 'arm' does not exist; links: body, leg"),
        ({"contacts": [("a", "arm", [0, 0, 0], 0.0)]}, "contact 'a': link 'arm' does not exist"),
        ({"contacts": [("a", "leg", [0, 0], 0.0)]}, "contacts.0.position List should have"),
        ({"contacts": [("a", "leg", [0, 0, 0], -1.0)]}, "contacts.0.radius must be >= 0, got -1"),
        ({"contacts": [("a", "leg", [0, 0, np.nan], 0.0)]}, "position.2 must be a finite number"),
        ({"contacts": [("a", "leg")]}, "must be the name of a link or frame, (name, link"),
        ({"contacts": [3.0]}, "contacts.0 must be the name of a link or frame"),
        ({"contacts": "hands"}, "contacts must be 'feet' or 'all' or a list, got 'hands'"),
    ],
)
def test_wrong_options_are_refused(options, message, tmp_path):
    """A wrong option raises a RobotError that says what is allowed; the report has it too."""
    path = write(tmp_path, HOPPER)
    with pytest.raises(RobotError) as caught:
        load_robot(path, **options)
    assert message in str(caught.value)
    assert message in str(check_robot(path, **options))


def test_contacts_by_tuple_record_and_name(tmp_path):
    """Contact points may be given whole, or as links and frames that are looked up."""
    loaded = load_robot(
        write(tmp_path, HOPPER),
        contacts=[
            ("heel", "leg", [0.1, 0.0, -0.4], 0.02),
            ContactPoint(name="tip", link="body", position=[0.0, 0.0, 0.2]),
            "leg",
            "body",
            "hip",
        ],
    )
    points = loaded.contact_points
    assert points.names == ("heel", "tip", "leg", "body", "hip")
    np.testing.assert_array_equal(points.radii, [0.02, 0.0, 0.05, 0.0, 0.0])
    np.testing.assert_array_equal(points.joints, [3, 2, 3, 2, 3])
    assert len(load_robot(write(tmp_path, HOPPER), contacts=[]).contact_points) == 0


def test_joints_that_are_called_like_links(tmp_path):
    """They may be locked; the links keep their names and their points."""
    text = robot(
        link("body"),
        link("leg", shapes=FOOT),
        link("toe", shapes=FOOT),
        hinge("leg", "body", "leg"),
        hinge("toe", "leg", "toe"),
    )
    path = write(tmp_path, text)
    whole, loaded = load_robot(path), load_robot(path, joints=["leg"])
    assert list(loaded.model.names)[3:] == ["leg"]
    assert sorted(loaded.contact_points.names) == sorted(whole.contact_points.names)
    assert loaded.mass == whole.mass


SHAPES = {
    "sphere": ('<sphere radius="0.1"/>', 1, 0.1, 0.1),
    "box": ('<box size="0.2 0.4 0.6"/>', 8, 0.0, 0.3),
    "cylinder": ('<cylinder radius="0.1" length="0.6"/>', 2, 0.0, 0.3),
    "capsule": ('<capsule radius="0.1" length="0.6"/>', 2, 0.1, 0.4),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_contacts_from_primitives(kind, tmp_path):
    """Spheres give centre and radius, boxes corners, cylinders rims, capsules ends; all touch."""
    geometry, count, radius, down = SHAPES[kind]
    foot = shape("collision", geometry, "0.5 0 -1")
    loaded = load_robot(write(tmp_path, robot(link("body", shapes=foot))))
    points = loaded.contact_points
    assert len(points) == count
    assert len(set(points.names)) == count
    np.testing.assert_array_equal(points.radii, radius)
    np.testing.assert_allclose(points.positions.mean(axis=0), [0.5, 0.0, -1.0], atol=ROUNDING)
    assert loaded.standing[2] == pytest.approx(1.0 + down)
    corner = np.abs(points.positions - [0.5, 0.0, -1.0])
    if kind == "box":
        np.testing.assert_allclose(corner, [[0.1, 0.2, 0.3]] * 8, atol=ROUNDING)
    if kind == "cylinder":
        np.testing.assert_allclose(corner, [[0.0, 0.0, 0.3]] * 2, atol=ROUNDING)
        disc = np.diag([0.1, 0.1, 0.0])
        np.testing.assert_allclose(points.semi_axes, [disc, disc], atol=ROUNDING)


def test_bottoms_of_what_is_round():
    """A cylinder that leans by 30 degrees and an ellipsoid, in closed form."""
    lean = np.radians(30.0)
    can = free_body("can", Cylinder(radius=0.1, length=0.4), mass=1.0, rpy=(lean, 0.0, 0.0))
    ends = 0.2 * np.cos(lean) * np.array([-1.0, 1.0]) - 0.1 * np.sin(lean)
    bottoms = can.contact_points.bottoms(can.model, can.standing)
    np.testing.assert_allclose(bottoms, ends, atol=ROUNDING)
    egg = free_body("egg", Ellipsoid(radii=(0.1, 0.2, 0.3)), mass=1.0, rpy=(lean, 0.0, 0.0))
    (bottom,) = egg.contact_points.bottoms(egg.model, egg.standing)
    assert bottom == pytest.approx(-np.hypot(0.2 * np.sin(lean), 0.3 * np.cos(lean)))


def test_contacts_from_a_mesh(tmp_path):
    """A mesh gives its extreme vertices, once each, scaled as the URDF says."""
    write(tmp_path, pyramid(), "meshes/pyramid.stl")
    foot = mesh("collision", "meshes/pyramid.stl").replace("<mesh", '<mesh scale="2 2 2"')
    loaded = load_robot(write(tmp_path, robot(link("body", shapes=foot))))
    found = sorted(map(tuple, np.round(loaded.contact_points.positions, 6) + 0.0))
    expected = sorted(tuple(2.0 * x for x in corner) for corner in PYRAMID_CORNERS)
    np.testing.assert_allclose(found, expected, atol=SINGLE)


def test_contacts_are_thinned_out(tmp_path):
    """Of more than 64 points those stay that hold the link out of flat ground on every side."""
    boxes = "".join(shape("collision", '<box size="0.1 0.1 0.1"/>', f"{k} 0 0") for k in range(20))
    loaded = load_robot(write(tmp_path, robot(link("body", shapes=boxes))))
    x = loaded.contact_points.positions[:, 0]
    assert 8 <= len(x) <= 64
    assert (x.min(), x.max()) == pytest.approx((-0.05, 19.05))
    assert any("thinned from 160" in note for note in loaded.notes)


def test_feet_and_what_lies_lowest_are_chosen(tmp_path):
    """Of each branch the last link with geometry; a trunk that hangs lower is added."""
    ball = shape("collision", '<sphere radius="0.05"/>')
    text = robot(
        link("trunk", shapes=shape("collision", '<sphere radius="0.8"/>', "0 0 -0.3")),
        link("thigh", shapes=ball),
        link("shank", shapes=FOOT),
        link("arm", shapes=ball),
        link("sensor"),
        hinge("hip", "trunk", "thigh"),
        hinge("knee", "thigh", "shank"),
        hinge("shoulder", "trunk", "arm"),
        hinge("pan", "arm", "sensor"),
    )
    path = write(tmp_path, text)
    feet = load_robot(path, contacts="feet").contact_points
    assert feet.names == ("shank", "arm", "trunk")
    whole = load_robot(path, contacts="all").contact_points
    assert whole.names == ("shank", "arm", "trunk", "thigh")
    assert load_robot(path).contact_points.names == whole.names
    assert load_robot(path, base="fixed", contacts="feet").contact_points.names == ("shank", "arm")


def test_each_arm_of_a_fixed_base_ends_in_a_hand(tmp_path):
    """The first joint of the model may be the end of a branch."""
    text = robot(
        link("base"),
        link("left", shapes=FOOT),
        link("right", shapes=FOOT),
        hinge("l", "base", "left"),
        hinge("r", "base", "right"),
    )
    points = load_robot(write(tmp_path, text), base="fixed", contacts="feet").contact_points
    assert points.names == ("left", "right")


def test_a_hopper_stands_on_its_foot(tmp_path):
    """Of two bodies the lower one; of one body both links that are fixed to it."""
    ball = shape("collision", '<sphere radius="0.05"/>')
    parts = link("body", shapes=ball), link("leg", shapes=FOOT)
    hopper = write(tmp_path, robot(*parts, hinge("hip", "body", "leg")))
    assert load_robot(hopper, contacts="feet").contact_points.names == ("leg",)
    rigid = write(tmp_path, robot(*parts, hinge("hip", "body", "leg", kind="fixed")))
    assert load_robot(rigid, contacts="feet").contact_points.names == ("body", "leg")


def test_a_level_sole_has_its_corners(tmp_path):
    """Of a foot that is wider above, the four corners below and the four above."""
    sole = [(x, y, 0.0) for x in (-0.05, 0.05) for y in (-0.1, 0.1)]
    ankle = [(3.0 * x, 3.0 * y, 0.1) for x, y, _ in sole]
    trimesh.convex.convex_hull(np.array(sole + ankle)).export(tmp_path / "foot.stl")
    loaded = load_robot(write(tmp_path, robot(link("body", shapes=mesh("collision", "foot.stl")))))
    found = sorted(map(tuple, np.round(loaded.contact_points.positions, 6) + 0.0))
    np.testing.assert_allclose(found, sorted(sole + ankle), atol=SINGLE)


def test_extent_of_what_is_swept():
    """The farthest point of a disc and its sphere, and of a ball, from the origin."""
    centre, disc = np.array([0.3, 0.4, 0.5]), np.diag([0.2, 0.2, 0.0])
    assert _extent(centre, 0.1, disc) == pytest.approx(np.hypot(0.5 + 0.2, 0.5) + 0.1)
    assert _extent(centre, 0.1, np.zeros((3, 3))) == pytest.approx(np.sqrt(0.5) + 0.1)


def test_directions_are_unit_and_even():
    """400 directions: the mean is zero, their second moment that of the sphere."""
    n = directions(400)
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, atol=ROUNDING)
    np.testing.assert_allclose(n.mean(axis=0), 0.0, atol=EVEN)
    np.testing.assert_allclose(n.T @ n / len(n), np.eye(3) / 3.0, atol=EVEN)
    nearest = np.sort(n @ n.T, axis=1)[:, -2]
    assert np.degrees(np.arccos(nearest)).min() > 4.0  # a square grid would have 10


def test_as_many_points_stay_as_may():
    """Eight corners hold out a box; nine points that all matter are thinned to eight."""
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))

    def held(places, limit):
        points = [ContactPoint(name=str(k), link="body", position=p) for k, p in enumerate(places)]
        return hold_out([points], limit)

    assert len(held(corners.tolist(), 8)) == 8
    assert len(held([*corners.tolist(), [0.0, 0.0, 3.0]], 8)) < 9


def test_no_collision_geometry_means_no_contacts(tmp_path):
    """A robot without collision geometry loads, has no contact points, and says so."""
    loaded = load_robot(write(tmp_path, robot(link("body"))))
    assert len(loaded.contact_points) == 0
    assert loaded.contact_points.positions.shape == (0, 3)
    assert any("no contact points" in note for note in loaded.notes)


def test_looks_stand_in_for_missing_collision_geometry(tmp_path):
    """A robot that has visual geometry only touches with it, and a warning says so."""
    ball = shape("visual", '<sphere radius="0.1"/>')
    loaded = load_robot(write(tmp_path, robot(link("body", shapes=ball))))
    assert list(loaded.contact_points.radii) == [0.1]
    assert any("no collision geometry" in text for text in loaded.warnings)
    lost = robot(link("body", shapes=mesh("visual", "lost.stl")))
    assert len(load_robot(write(tmp_path, lost)).contact_points) == 0
    both = robot(link("body", shapes=ball), link("leg", shapes=FOOT), hinge("hip", "body", "leg"))
    assert load_robot(write(tmp_path, both)).contact_points.names == ("leg",)


def test_missing_visual_mesh_matters_only_to_a_viewer(tmp_path):
    """The robot loads; asking what it looks like names the link and the mesh."""
    text = robot(link("body", shapes=mesh("visual", "package://lost/body.stl") + FOOT))
    path = write(tmp_path, text)
    loaded = load_robot(path)
    assert loaded.visual_model is None
    assert loaded.collision_model is not None
    with pytest.raises(RobotError, match=r"package://lost/body\.stl.*package_dirs") as caught:
        loaded.require_visuals()
    assert (caught.value.file, caught.value.element) == (str(path), "link 'body'")
    report = check_robot(path)
    assert report.ok
    assert report.missing == (("visual", "body", "package://lost/body.stl"),)


def test_missing_collision_mesh_matters_only_to_contacts(tmp_path):
    """Contact points from a missing mesh are an error, given ones are not."""
    path = write(tmp_path, robot(link("body", shapes=mesh("collision", "lost.stl"))))
    with pytest.raises(RobotError, match=r"lost\.stl") as caught:
        load_robot(path)
    assert caught.value.element == "link 'body'"
    loaded = load_robot(path, contacts=[("tip", "body", [0, 0, 0], 0.1)])
    with pytest.raises(RobotError, match=r"collision mesh 'lost\.stl'"):
        loaded.require_collisions()


def test_unreadable_mesh_is_named(tmp_path):
    """A file that is no mesh raises a RobotError."""
    write(tmp_path, "no mesh at all", "body.stl")
    path = write(tmp_path, robot(link("body", shapes=mesh("collision", "body.stl"))))
    with pytest.raises(RobotError, match=r"body\.stl"):
        load_robot(path)


@pytest.mark.parametrize("how", ["package_dirs", "the package itself", "ROS_PACKAGE_PATH", "above"])
def test_packages_are_found(how, tmp_path, monkeypatch):
    """package:// is looked up in package_dirs, ROS_PACKAGE_PATH and above the URDF."""
    home = tmp_path / ("work" if how == "above" else "elsewhere")
    write(home, pyramid(), "pack/meshes/foot.stl")
    urdf = robot(link("body", shapes=mesh("collision", "package://pack/meshes/foot.stl")))
    path = write(tmp_path / "work" / "robots" / "urdf", urdf)
    dirs = {"package_dirs": [home], "the package itself": [str(home / "pack")]}.get(how, [])
    if how == "ROS_PACKAGE_PATH":
        monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{home}")
    assert len(load_robot(path, package_dirs=dirs).contact_points) == 5


def test_mesh_beside_the_urdf_folder(tmp_path):
    """../meshes is inside the package of a URDF in urdf/."""
    write(tmp_path, pyramid(), "pack/meshes/foot.stl")
    text = robot(link("body", shapes=mesh("collision", "../meshes/foot.stl")))
    assert len(load_robot(write(tmp_path / "pack" / "urdf", text)).contact_points) == 5


def test_fixed_base_keeps_its_height(tmp_path):
    """The base height of a robot.toml places a fixed base too, and a planar one."""
    write(tmp_path, HOPPER)
    toml = write(tmp_path, 'urdf = "sample.urdf"\n[standing]\nbase_height = 0.7\n', "robot.toml")
    for base in ("fixed", "planar", "free-flyer"):
        loaded = load_robot(toml, base=base, contacts=["body"])
        data = loaded.model.createData()
        pin.framesForwardKinematics(loaded.model, data, loaded.standing)
        body = data.oMf[loaded.model.getFrameId("body")]
        np.testing.assert_allclose(body.translation, [0.0, 0.0, 0.7], atol=ROUNDING)


@pytest.mark.parametrize(
    ("toml", "message", "element"),
    [
        ("urdf = ", "not valid TOML", ""),
        (
            'urdf = "sample.urdf"\ncolour = 1',
            "'colour' is not a key of this table. Known: armature, base",
            "colour",
        ),
        ('urdf = "sample.urdf"\nbase = "flying"', "'free-flyer', 'planar' or 'fixed'", "base"),
        ('urdf = "../sample.urdf"', "beside the robot.toml", "urdf"),
        ('urdf = "sample.urdf"\n[[contact]]\nname = "a"', "is missing", "contact.0.link"),
        (
            'urdf = "sample.urdf"\n[[contact]]\nname = "a"\nlink = "leg"\nradius = -1.0',
            "must be >= 0, got -1.0",
            "contact.0.radius",
        ),
        (
            'urdf = "sample.urdf"\n[[contact]]\nname = "a"\nlink = "arm"',
            "link 'arm' does not exist",
            "contact 'a'",
        ),
        ('urdf = "sample.urdf"\n[standing.joints]\nknee = 1.0', "does not exist", "joint 'knee'"),
        ('urdf = "sample.urdf"\n[standing]\nbase_height = nan', "finite", "standing.base_height"),
        ('urdf = "sample.urdf"\ndriven = ["knee"]', "does not exist", "joint 'knee'"),
    ],
)
def test_bad_robot_toml(toml, message, element, tmp_path):
    """A wrong robot.toml raises a RobotError with the path of the key."""
    write(tmp_path, HOPPER)
    path = write(tmp_path, toml, "robot.toml")
    with pytest.raises(RobotError) as caught:
        load_robot(path)
    assert message in str(caught.value)
    assert element in caught.value.element
    assert str(tmp_path) in caught.value.file


def test_report_of_a_good_robot():
    """The report has what the issue asks for: mass, joints, contact points, what is massless."""
    report = check_robot("spider", base="planar")
    assert report.ok
    assert (report.nq, report.nv, len(report.joints), len(report.driven)) == (15, 15, 12, 12)
    assert report.mass == pytest.approx(100.0)
    assert report.massless == ("FL_hip", "FR_hip", "RL_hip", "RR_hip")
    assert [contact.joint for contact in report.contacts] == [
        f"{leg}_knee" for leg in ("FL", "RL", "RR", "FR")
    ]
    text = str(report)
    for part in ("can be simulated", "100 kg", "FL_yaw", "front_left", "robot.toml"):
        assert part in text
    uses = {row.use for row in check_robot("robosimian").joints}
    assert uses == {"driven", "locked"}
    assert {row.use for row in check_robot("chain").joints} == {"free"}


def test_rows_of_a_report(tmp_path):
    """Bounds in SI units, "" where there is none; places of contact points."""
    wheel = hinge("wheel", "leg", "tyre", kind="continuous")
    limit = '<limit lower="-1" upper="1" effort="10" velocity="5"/></joint>'
    free = wheel.replace(limit, "</joint>")
    assert free != wheel
    spin = hinge("spin", "tyre", "nut", kind="continuous")
    text = HOPPER.replace("</robot>", link("tyre") + free + link("nut") + spin + "</robot>")
    report = check_robot(write(tmp_path, text), base="fixed")
    assert [tuple(row) for row in report.joints] == [
        ("hip", "RY", "-1", "1", "10", "5", "driven"),
        ("wheel", "RUBY", "", "", "", "", "driven"),
        ("spin", "RUBY", "", "", "10", "5", "driven"),
    ]
    assert report.contacts[0][:3] == ("leg", "hip", "ball")
    assert [float(x) for x in report.contacts[0][3:]] == [0.0, 0.0, -0.4, 0.05]


def test_report_of_rims_and_ellipsoids(tmp_path):
    """A rim has its radius, and an ellipsoid its semi-axes; corners are points."""
    shapes = ('cylinder radius="0.2" length="0.1"', 'box size="1 1 1"')
    text = "".join(
        f'<link name="{k}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" '
        f'iyz="0" izz="1"/></inertial><collision><geometry><{shape}/></geometry></collision></link>'
        for k, shape in enumerate(shapes)
    )
    text += '<joint name="j" type="fixed"><parent link="0"/><child link="1"/></joint>'
    report = check_robot(write(tmp_path, f'<robot name="r">{text}</robot>'), contacts=["0", "1"])
    assert {(row.form, row.size) for row in report.contacts} == {
        ("rim", "0.2000"),
        ("point", "0.0000"),
    }
    egg = ContactPoints(
        ("egg",),
        np.zeros(1, int),
        np.zeros((1, 3)),
        np.zeros(1),
        semi_axes=np.diag([1, 2, 3])[None],
    )
    assert [*_forms(egg)] == [("ellipsoid", "1.0000 x 2.0000 x 3.0000")]


def test_report_of_an_unknown_robot():
    """An unknown name is an error of the report, not an exception."""
    report = check_robot("spidre")
    assert not report.ok
    assert "Did you mean spider" in str(report)


def test_report_on_mimic_joints(tmp_path):
    """What a joint copies is told; a joint that copies itself moves by itself, with a warning."""
    knee = hinge("knee", "leg", "foot").replace("<axis", '<mimic joint="hip" offset="0.5"/><axis')
    text = robot(link("body"), link("leg"), link("foot"), hinge("hip", "body", "leg"), knee)
    report = check_robot(write(tmp_path, text), contacts=["foot"])
    assert any("'knee' = 1 * 'hip' + 0.5" in note for note in report.notes)
    own = HOPPER.replace("<axis", '<mimic joint="hip"/><axis')
    report = check_robot(write(tmp_path, own))
    assert report.ok
    assert any("mimics 'hip', which is not another joint" in text for text in report.warnings)


def test_joints_out_of_order():
    """Two arms whose joints alternate in the model are refused: pinocchio's M would be wrong."""
    model = pin.Model()
    arms = [model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), name) for name in "ab"]
    for arm, name in zip(arms, "cd", strict=True):
        model.addJoint(arm, pin.JointModelRY(), pin.SE3.Identity(), name)
    points = ContactPoints((), np.zeros(0, int), np.zeros((0, 3)), np.zeros(0))
    with pytest.raises(RobotError, match=r"joint 'a': .*depth-first order"):
        Robot("arms", model, points, np.arange(4), np.zeros(4))
