"""Robots from strangers: files that reach out of their package, or for all memory and time."""

import os

import pytest
from urdf_samples import HOPPER, hinge, link, mesh, pyramid, robot, write

from nmdp_pin import load_robot
from nmdp_pin.cli import main
from nmdp_pin.errors import RobotError
from nmdp_pin.robot import check_robot, mesh_trial, xml_file
from nmdp_pin.robot.urdf import MAX_LINKS, MAX_MOVING
from nmdp_pin.runs.run_warnings import start_warnings
from nmdp_pin.scenario import Scenario

# A triangle whose third index is said to be the four hundred millionth of each point.
GREEDY = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="pa" count="9">0 0 0 1 0 0 0 1 0</float_array><technique_common>
<accessor source="#pa" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="1">
<input semantic="VERTEX" source="#v" offset="400000000"/><p>0 1 2</p></triangles></mesh></geometry>
</library_geometries><library_visual_scenes><visual_scene id="s"><node>
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def shaped(kind: str, filename: str) -> str:
    """A robot of one link with one mesh."""
    return robot(link("body", shapes=mesh(kind, filename)))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("link.stl", "outside the robot's package"),
        ("meshes/foot.stl", "outside the robot's package"),
        ("package://pack/link.stl", "link out of its package"),
        ("package://pack/meshes/foot.stl", "link out of its package"),
        ("package:///../secret/foot.stl", "climbs out of its package"),
        ("package://pack/../../secret/foot.stl", "climbs out of its package"),
    ],
)
def test_links_do_not_lead_out_of_a_package(name, says, tmp_path):
    """A link is followed before it is decided where a mesh lies, of a file and of a folder."""
    secret = write(tmp_path / "secret", pyramid(), "foot.stl")
    package = tmp_path / "pack"
    path = write(package, shaped("collision", name))
    write(package, "<package/>", "package.xml")
    os.symlink(secret, package / "link.stl")
    os.symlink(secret.parent, package / "meshes")
    with pytest.raises(RobotError, match=says):
        load_robot(path)
    assert not check_robot(path).ok


def test_the_root_is_no_folder_of_packages(tmp_path):
    """package:// names a package near the robot or in package_dirs, not any folder there is."""
    secret = write(tmp_path / "secret", pyramid(), "foot.stl")
    name = f"package:/{secret}"
    path = write(tmp_path / "a" / "b" / "c", shaped("collision", name))
    report = check_robot(path)
    assert report.missing == (("collision", "body", name),)
    with pytest.raises(RobotError, match="was not found"):
        load_robot(path)


def test_links_inside_a_package_are_followed(tmp_path):
    """What stays in the package is read."""
    write(tmp_path / "pack" / "meshes", pyramid(), "foot.stl")
    os.symlink(tmp_path / "pack" / "meshes", tmp_path / "pack" / "shapes")
    write(tmp_path / "pack", "<package/>", "package.xml")
    path = write(tmp_path / "pack" / "urdf", shaped("collision", "package://pack/shapes/foot.stl"))
    assert len(load_robot(path).contact_points) == 5


@pytest.mark.parametrize("kind", ["visual", "collision"])
def test_a_greedy_mesh_ends_a_child_process(kind, tmp_path):
    """A mesh of a kilobyte that asks for gigabytes is refused by name, and the caller lives on."""
    write(tmp_path, GREEDY, "greedy.dae")
    path = write(tmp_path, shaped(kind, "greedy.dae"))
    with pytest.raises(RobotError, match=r"greedy\.dae cannot be read: .*bad_alloc"):
        load_robot(path)


def test_a_child_that_crashes_is_told(tmp_path, monkeypatch):
    """The mesh at which the child ended is named; those before it were good."""
    child = "import os, sys; sys.stdin.read(); print('\"\"', flush=True); os.abort()"
    monkeypatch.setattr(mesh_trial, "_CHILD", child)
    for name in ("good.stl", "bad.stl"):
        write(tmp_path, pyramid(), name)
    shapes = mesh("collision", "good.stl") + mesh("collision", "bad.stl")
    path = write(tmp_path, robot(link("body", shapes=shapes)))
    with pytest.raises(RobotError, match=r"bad\.stl cannot be read: .*crash"):
        load_robot(path)


def test_too_many_elements(tmp_path, monkeypatch):
    """Elements that nobody reads are counted too."""
    monkeypatch.setattr(xml_file, "MAX_ELEMENTS", 1000)
    path = write(tmp_path, HOPPER.replace("</robot>", "<x/>" * 1001 + "</robot>"))
    with pytest.raises(RobotError, match="more than 1000 elements"):
        load_robot(path)


def test_too_many_links(tmp_path):
    """A robot of more links than memory serves is refused before it is built."""
    path = write(tmp_path, robot(*(link(f"l{k}") for k in range(MAX_LINKS + 1))))
    with pytest.raises(RobotError, match=f"at most {MAX_LINKS} are read"):
        load_robot(path)


def test_too_many_joints(tmp_path):
    """The joints that move are counted, those that are fixed are not."""
    links = [link(f"l{k}") for k in range(MAX_MOVING + 2)]
    joints = [hinge(f"j{k}", f"l{k}", f"l{k + 1}") for k in range(MAX_MOVING + 1)]
    path = write(tmp_path, robot(*links, *joints))
    with pytest.raises(RobotError, match=f"at most {MAX_MOVING} are read"):
        load_robot(path)


@pytest.mark.parametrize("name", ["robot.toml", "robot.urdf", "robot.xml"])
def test_a_pipe_is_no_robot(name, tmp_path):
    """A FIFO is refused at once, not waited for."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(RobotError, match="is not a regular file"):
        load_robot(tmp_path / name)


@pytest.mark.parametrize(
    ("inertia", "says"),
    [
        ('ixx="-0.05" iyy="0.1" izz="0.1"', "its inertia is not positive"),
        ('ixx="0.1" iyy="0.1" izz="0.5"', "breaks the triangle inequality"),
    ],
)
def test_an_impossible_inertia_of_a_child_is_told(inertia, says, tmp_path):
    """A link further down the tree may have one, and the run says so at its start."""
    leg = link("leg").replace('ixx="0.1" iyy="0.1" izz="0.1"', inertia)
    text = HOPPER.replace(link("body"), link("body", mass=9.0)).replace(
        HOPPER[HOPPER.index('<link name="leg"') : HOPPER.index("<collision")],
        leg.removesuffix("</link>"),
    )
    path = write(tmp_path, text)
    assert any(says in warning for warning in load_robot(path).warnings)
    setup = Scenario.load(path).build(visuals=False)
    assert any("link 'leg'" in text and says in text for text in start_warnings(setup))


def test_names_with_markup_are_printed_as_they_are(tmp_path, capsys):
    """Rich's markup and control characters of a name steer nothing."""
    name = "[red]$\\foo$[/red]&#155;[2J"
    path = write(tmp_path, HOPPER.replace('"leg"', f'"{name}"').replace('"hip"', f'"{name}"'))
    for words in (["check"], ["run", "--duration", "0.02"]):
        with pytest.raises(SystemExit) as end:
            main([words[0], str(path), *words[1:]])
        assert end.value.code == 0
    said = "".join(capsys.readouterr())
    assert "[red]$\\foo$[/red]" in said
    assert "\x9b" not in said
