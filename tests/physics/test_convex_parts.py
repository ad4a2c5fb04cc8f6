"""Collision meshes divided into convex parts: what is flat reaches into them."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh
from pairwise import pairwise

from nmdp_pin._contact import FrictionCone
from nmdp_pin._robot import Robot, free_body, load_robot, together, touching
from nmdp_pin._robot.body_surfaces import decomposed, hull_arrays
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Box, Plane, Sphere, Terrain
from nmdp_pin._terrain.coal_mesh import triangle_geometry
from nmdp_pin._terrain.shape import Solid
from nmdp_pin.errors import MissingExtra

RADIUS, WALL, HEIGHT = 0.05, 0.006, 0.08  # of the cup [m]
BALL, CUBE = 0.02, 0.03  # radius and side of what falls into it [m]
DROP = 0.002  # [m]
STIFF = 1e7  # [N/m^2]: half a newton rests 0.2 mm deep
# An impact at 0.2 m/s leaves it deeper, and the cup leans a little [m].
DEPTH = 2e-3
VOLUME = 0.02  # of a mesh that its parts, with CoACD's concavity, may add


@pytest.fixture(scope="module")
def cup_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cup as a free link whose one mesh is not convex."""
    folder = tmp_path_factory.mktemp("cup")
    inner = RADIUS - WALL
    outline = [(0, 0), (RADIUS, 0), (RADIUS, HEIGHT), (inner, HEIGHT), (inner, WALL), (0, WALL)]
    trimesh.creation.revolve(outline, sections=8).export(folder / "cup.stl")
    (folder / "cup.urdf").write_text(
        '<robot name="cup"><link name="cup"><inertial><origin xyz="0 0 0.03"/><mass value="0.3"/>'
        '<inertia ixx="5e-4" iyy="5e-4" izz="4e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<collision><geometry><mesh filename="cup.stl"/></geometry></collision></link></robot>'
    )
    return folder / "cup.urdf"


@pytest.fixture(scope="module")
def cup(cup_file: Path) -> Robot:
    """The cup in convex parts."""
    pytest.importorskip("coacd")
    return load_robot(cup_file, base="free-flyer", decompose=True)


def test_parts_are_convex_and_fill_the_mesh(cup: Robot, cup_file: Path) -> None:
    """Together they have the volume of the mesh, not of its hull; the note counts them."""
    shapes = [item.geometry for item in cup.require_collisions().geometryObjects]
    parts = [np.array(shape.vertices()) for shape in shapes]
    volumes = [trimesh.Trimesh(*hull_arrays(part)).volume for part in parts]
    assert volumes == pytest.approx([shape.computeVolume() for shape in shapes])
    mesh = trimesh.load_mesh(cup_file.with_name("cup.stl"))
    assert mesh.volume < 0.4 * mesh.convex_hull.volume
    assert sum(volumes) == pytest.approx(mesh.volume, rel=VOLUME)
    assert f"cup_0: a mesh divided into {len(parts)} convex parts" in cup.notes


@pairwise({"thing": ["ball", "cube"], "order": [1, 2], "h": [0.002, 0.01, 0.02]})
def test_what_falls_into_a_cup_rests_on_its_bottom(
    cup: Robot, thing: str, order: int, h: float
) -> None:
    """A ball and a cube go through the mouth and stay on the bottom."""
    half = BALL if thing == "ball" else 0.5 * CUBE
    shape: Solid = Sphere(radius=BALL) if thing == "ball" else Box(size=(CUBE, CUBE, CUBE))
    start = (0.01, 0.005, WALL + half + DROP)
    inside = free_body("inside", shape, mass=0.05, position=start)
    scene = touching(together(cup, [inside]), [("cup", "inside")])
    law = FrictionCone(stiffness=STIFF, power=2)
    simulator = Simulator(scene, Terrain([Plane()]), law, "ne-nmdp", order=order)
    state = simulator.state()
    for _ in range(round(0.5 / h)):
        result = simulator.step(state, None, h)
        assert result.status.ok
        state = result.state
    height = state.q[9] - state.q[2]
    assert abs(height - WALL - half) < DEPTH
    assert np.hypot(*state.q[7:9]) < RADIUS - WALL


def test_without_parts_the_mouth_is_closed_for_a_cube(cup_file: Path) -> None:
    """The hull of a link's points holds what is flat above the mouth."""
    cube = free_body(
        "cube", Box(size=(CUBE, CUBE, CUBE)), mass=0.05, position=(0, 0, HEIGHT + 0.5 * CUBE)
    )
    whole = load_robot(cup_file, base="free-flyer")
    scene = touching(together(whole, [cube]), [("cup", "cube")])
    law = FrictionCone(stiffness=STIFF, power=2)
    simulator = Simulator(scene, Terrain([Plane()]), law, "ne-nmdp")
    state = simulator.state()
    for _ in range(50):
        state = simulator.step(state, None, 0.01).state
    assert state.q[9] > HEIGHT


def test_convex_meshes_and_shapes_stay() -> None:
    """Nothing is divided that fills its hull, and nobody needs CoACD for it."""
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    model = pin.GeometryModel()
    mesh = triangle_geometry(box.vertices, np.asarray(box.faces))
    for name, shape in (("mesh", mesh), ("ball", coal.Sphere(0.1))):
        model.addGeometryObject(pin.GeometryObject(name, 0, 0, pin.SE3.Identity(), shape))
    made, notes = decomposed(model)
    assert [item.name for item in made.geometryObjects] == ["mesh", "ball"]
    assert notes == ()


def test_parts_are_read_from_the_cache(
    cup: Robot, cup_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same mesh is divided once."""
    import coacd

    monkeypatch.setattr(coacd, "run_coacd", None)
    again = load_robot(cup_file, base="free-flyer", decompose=True)
    assert np.array_equal(again.contact_points.positions, cup.contact_points.positions)


def test_a_missing_package_is_named(cup_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which extra to install."""
    monkeypatch.setitem(__import__("sys").modules, "coacd", None)
    with pytest.raises(MissingExtra, match=r"nmdp-pin\[decomposition\]"):
        load_robot(cup_file, base="free-flyer", decompose=True)


def test_scenarios_ask_for_parts(cup: Robot, cup_file: Path, tmp_path: Path) -> None:
    """`decompose` of the robot and of an object from a URDF."""
    file = tmp_path / "two.toml"
    file.write_text(
        f'duration = 0.1\n[robot]\nurdf = "{cup_file}"\nbase = "free-flyer"\ndecompose = true\n'
        f'[[objects]]\nkind = "urdf"\nname = "other"\npath = "{cup_file}"\ndecompose = true\n'
        "position = [0.3, 0, 0]\n"
        "[[terrain.shapes]]\nkind = 'plane'\n[contact]\nstiffness = 1e6\n[integrator]\ndt = 0.01\n"
    )
    robot = Scenario.load(file).build(visuals=False).robot
    parts = len(cup.require_collisions().geometryObjects)
    assert len(robot.require_collisions().geometryObjects) == 2 * parts
