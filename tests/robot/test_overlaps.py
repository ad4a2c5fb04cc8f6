"""Overlaps of bodies that contacts do not explain: depths in closed form, and who is told."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from pairwise import pairwise
from urdf_samples import link, mesh, robot, write

from nmdp_pin import Scenario, Terrain, load_robot
from nmdp_pin._cli.recordings import compare
from nmdp_pin._robot import free_body, together, touching
from nmdp_pin._robot.overlaps import GROUND, OverlapCheck, overlap_sentences, transparency
from nmdp_pin._runs.run import run
from nmdp_pin._runs.run_summary import summary
from nmdp_pin._runs.run_warnings import recorded_warnings, start_warnings
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
)

CLOSE = 1e-5  # [m] tolerance of coal's iterative depths
ROOM = Box(size=(2.0, 2.0, 1.0), position=(0.0, 0.0, -0.5))


def block(z: float) -> Mesh:
    """Box as a closed mesh whose top is at height z [m]."""
    solid = trimesh.creation.box((2.0, 2.0, 1.0))
    solid.apply_translation([0.0, 0.0, z - 0.5])
    return Mesh(vertices=solid.vertices, faces=solid.faces)


GROUNDS = {
    "plane": Plane(),
    "box": ROOM,
    "mesh": block(0.0),
    "height field": HeightField(heights=np.zeros((9, 9)), spacing=(0.25, 0.25)),
}
SOLIDS = {
    "box": (Box(size=(0.2, 0.2, 0.2)), 0.1),
    "ball": (Sphere(radius=0.1), 0.1),
    "capsule": (Capsule(radius=0.05, length=0.1), 0.1),
    "cylinder": (Cylinder(radius=0.1, length=0.2), 0.1),
    "cone": (Cone(radius=0.1, length=0.2), 0.1),
    "ellipsoid": (Ellipsoid(radii=(0.12, 0.08, 0.1)), 0.1),
}


def loose(name, shape, **options):
    """Free body of the density of water."""
    return free_body(name, shape, density=1000.0, **options)


def at(robot, z):
    """Configuration of a free body at height z [m], shape (1, nq)."""
    q = robot.standing.copy()
    q[:3] = 0.03, 0.02, z
    return q[None]


@pairwise({"depth": [0.004, 0.05, 0.15], "solid": SOLIDS, "ground": GROUNDS})
def test_depth_in_the_ground_is_the_closed_form(ground, solid, depth):
    """Of upright bodies over level ground of every kind, shallow and past their centres."""
    shape, half = SOLIDS[solid]
    body = loose("body", shape)
    check = OverlapCheck(body, Terrain(GROUNDS[ground]))
    (found,) = check.depths(at(body, half - depth)).values()
    assert found[0] == pytest.approx(depth, abs=CLOSE)
    assert check.depths(at(body, half + 0.001)) == {}


def test_a_convex_mesh_is_as_deep_as_its_shape(tmp_path):
    """A ball of 320 triangles, which a box of the ground holds past its centre."""
    trimesh.creation.icosphere(subdivisions=2, radius=0.1).export(tmp_path / "ball.stl")
    path = write(tmp_path, robot(link("body", shapes=mesh("collision", "ball.stl"))))
    ball = load_robot(path)
    depth = OverlapCheck(ball, Terrain(ROOM)).depths(at(ball, -0.05))["body", GROUND]
    assert depth[0] == pytest.approx(0.15, abs=CLOSE)


@pytest.mark.parametrize("turn", np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False))
def test_a_rim_under_the_ground(turn):
    """A cylinder leans to any side: its rim is as deep as the nearest of 16 points along it."""
    body = loose("body", Cylinder(radius=0.1, length=0.2))
    axis = np.array([-np.sin(turn), np.cos(turn), 0.0])
    q = at(body, -0.2)
    q[0, 3:7] = pin.Quaternion(pin.AngleAxis(0.5, axis)).coeffs()
    depth = OverlapCheck(body, Terrain(block(0.0))).depths(q)["body", GROUND]
    lowest = 0.1 * np.sin(0.5) + 0.1 * np.cos(0.5) + 0.2
    between = 0.1 * np.sin(0.5) * (1.0 - np.cos(np.pi / 16))
    assert lowest - between - CLOSE <= depth[0] <= lowest + CLOSE


def test_what_is_not_found_is_left_out():
    """Where meshes of one of two bodies are missing, neither is looked at, and all are named."""
    a, b = loose("body", SOLIDS["ball"][0]), loose("other", SOLIDS["box"][0])
    torn = replace(a, missing_visuals=("a.stl",), missing_collisions=("b.stl",))
    for both in (together(torn, [b]), together(b, [torn])):
        assert both.collision_model is None is both.visual_model
        assert (both.missing_visuals, both.missing_collisions) == (("a.stl",), ("b.stl",))
    assert together(a, [b]).collision_model is not None


def test_a_spike_under_a_box_is_found():
    """The corners of the box are beside the tip of a mesh, which is 2 cm inside."""
    vertices = [(-0.05, -0.05, 0.0), (0.05, -0.05, 0.0), (0.0, 0.05, 0.0), (0.0, 0.0, 0.1)]
    spike = Mesh(vertices=np.array(vertices), faces=[(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)])
    body = loose("body", Box(size=(0.4, 0.4, 0.1)))
    depth = OverlapCheck(body, Terrain(spike)).depths(at(body, 0.13))["body", GROUND]
    assert depth[0] == pytest.approx(0.02, abs=2e-3)


def two(first, second, apart):
    """Two free bodies side by side."""
    other = loose("other", second, position=(apart, 0.0, 0.0))
    return together(loose("body", first), [other])


@pytest.mark.parametrize(
    ("first", "second", "reach"),
    [
        (Sphere(radius=0.1), Sphere(radius=0.2), 0.3),
        (Box(size=(0.2, 0.2, 0.2)), Sphere(radius=0.1), 0.2),
        (Box(size=(0.2, 0.2, 0.2)), Cylinder(radius=0.1, length=0.3), 0.2),
        (Box(size=(0.2, 0.2, 0.2)), Box(size=(0.4, 0.1, 0.1)), 0.3),
    ],
)
def test_depth_of_two_bodies_is_the_closed_form(first, second, reach):
    """Along the line of their centres; each row of configurations is its own."""
    robot = two(first, second, 1.0)
    q = np.tile(robot.standing, (3, 1))
    q[1, 7], q[2, 7] = reach - 0.03, reach - 0.01
    depth = OverlapCheck(robot, Terrain(Plane(height=-5.0))).depths(q)["body", "other"]
    np.testing.assert_allclose(depth, [0.0, 0.03, 0.01], atol=CLOSE)


def test_bodies_that_overlap_where_they_stand_are_left_out():
    """They are so described; others of the same robot are still looked at."""
    ground = Terrain(Plane(height=-5.0))
    ball = Sphere(radius=0.1)
    robot = together(two(ball, ball, 0.1), [loose("third", ball, position=(0.5, 0.0, 0.0))])
    q = robot.standing[None].copy()
    assert OverlapCheck(robot, ground).depths(q) == {}
    q[0, 14] = 0.25
    assert {*OverlapCheck(robot, ground).depths(q)} == {("other", "third")}


def test_joined_bodies_are_left_out_and_bent_ones_are_not():
    """The Panda's hand in its own upper arm is found; its neighbours overlap by design."""
    robot = load_robot("panda")
    check = OverlapCheck(robot, Terrain(Plane(height=-5.0)))
    assert check.depths(robot.standing[None]) == {}
    q = robot.standing[None].copy()
    joints = {n: robot.model.joints[k].idx_q for k, n in enumerate(robot.model.names)}
    q[0, joints["panda_joint4"]], q[0, joints["panda_joint6"]] = -3.0, -0.8
    assert any("hand" in a + b or "finger" in a + b for a, b in check.depths(q))


def test_contacts_explain_overlaps_and_three_are_named():
    """An overlap as deep as the contact of its row is none; of five the deepest are told."""
    ball = Sphere(radius=0.1)
    others = [loose(f"b{k}", ball, position=(k, 0.0, 0.0)) for k in range(1, 5)]
    robot = together(loose("b0", ball), others)
    q = np.tile(robot.standing, (2, 1))
    q[:, 2::7] = 1.0
    q[1, 2::7] = 0.1 - np.array([0.02, 0.05, 0.01, 0.04, 0.03])
    check = OverlapCheck(robot, Terrain(Plane()))
    assert check.deepest(q, np.array([0.0, 0.05])) == []
    found = check.deepest(q, np.array([0.05, 0.0]))
    assert [overlap.first for overlap in found] == ["b1", "b3", "b4"]
    said = overlap_sentences(found, np.array([0.0, 0.25]))
    assert said[0] == "'b1' and the ground overlap by 0.05 m at 0.25 s (in 1 of 2 states)"
    q[0, 2::7] = q[1, 2::7] + 0.02
    found = check.deepest(q, np.array([0.0, 0.1]))  # the deeper row is explained
    assert [(o.row, o.rows, round(o.depth, 6)) for o in found] == [
        (0, 1, 0.03),
        (0, 1, 0.02),
        (0, 1, 0.01),
    ]


def test_contacts_explain_the_start():
    """Feet that stand in the ground as deep as their contacts, before any step, are no overlap."""
    setup = Scenario.load("spider-walk", overrides=["duration=0.2"]).build(visuals=False)
    assert start_warnings(setup) == []
    assert setup.overlap_check.deepest(setup.state.q[None])


def test_starts_that_are_too_deep_are_told():
    """A floor 0.15 m above the lowest contact is named with what to do; one of 4.9 mm is not."""
    told = []
    for height in (0.0049, 0.15):
        setup = Scenario.load("robosimian-jump-paper").build(visuals=False)
        floor = setup.robot.lowest_point + height
        given = [f"terrain.shapes.0.height={floor!r}"]
        setup = Scenario.load("robosimian-jump-paper", overrides=given).build(visuals=False)
        told.append([text for text in start_warnings(setup) if text.startswith("contacts are")])
    sentence = (
        "contacts are 150 mm deep in the ground at the start: raise the robot by as much, or lower "
        "the terrain"
    )
    assert told == [[], [sentence]]


@pytest.mark.parametrize("contacts", ["feet", "all"])
def test_a_run_through_the_ground_is_told(contacts, tmp_path, capsys):
    """Go2 with weak motors sinks through the ground unless all of it touches."""
    given = [
        f'robot.contacts="{contacts}"',
        "controller.kp=0.5",
        "duration=0.6",
    ]  # too weak to stand
    scenario = Scenario.load("go2-stand", overrides=given)
    setup, file = scenario.build(visuals=False), tmp_path / "run.npz"
    recording = run(scenario, setup=setup, out=file)
    told = [text for text in recorded_warnings(setup, recording) if "overlap" in text]
    through = contacts == "feet"
    assert len(told) == (3 if through else 0)
    assert (summary(recording, setup)["overlap"] > 0.05) == through
    compare([file, file], None, None)
    assert capsys.readouterr().out.count("and the ground overlap by") == (2 if through else 0)


def test_runs_that_exploded_are_read():
    """Configurations beyond all terrain, or no numbers, have no overlaps and raise nothing."""
    robot = load_robot("robosimian")
    q = np.tile(robot.standing, (3, 1))
    q[:, 2] = 1e30, -1e12, np.nan
    assert OverlapCheck(robot, Terrain(Plane())).depths(q) == {}


def test_links_without_contacts_are_named():
    """Of a robot that touches by chosen links the rest is transparent; pairs that touch are not."""
    feet = transparency(load_robot("go2", contacts="feet"))[0]
    six = "'base', 'FL_thigh', 'FR_thigh', 'RL_hip', 'RL_thigh', 'RR_hip' and 1 more"
    assert feet.startswith(f"links that pass through the ground, without contact points: {six} (")
    assert not any("pass through the ground" in text for text in transparency(load_robot("go2")))
    jump = Scenario.load("robosimian-jump-paper")  # whose legs reach below its feet
    warned = recorded_warnings(jump.build(visuals=False), run(jump))
    (told,) = (text for text in warned if "pass through the ground" in text)
    assert told.endswith("'limb4_link4' (robot.contacts = \"all\" gives them some)")
    ball = Sphere(radius=0.1)
    robot = two(ball, ball, 0.5)
    assert any("pass through each other" in text for text in transparency(robot))
    assert transparency(touching(robot)) == []
