"""Robots from strangers: files that reach out of their package, or for all memory and time."""

import dataclasses
import os
from pathlib import Path

import pytest
from urdf_samples import HOPPER, hinge, link, mesh, pyramid, robot, write

from nmdp_pin import load_robot
from nmdp_pin._cli import main
from nmdp_pin._files import limited_process
from nmdp_pin._robot import check_robot
from nmdp_pin._robot.assembly import assemble
from nmdp_pin._robot.catalog import find_robot
from nmdp_pin._robot.loading import describe
from nmdp_pin._runs.run_warnings import start_warnings
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import RobotError

# A COLLADA file with one triangle that says that it has a thousand million.
HUGE_DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="f" count="9">0 0 0 1 0 0 0 1 0</float_array><technique_common>
<accessor source="#f" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="1000000000"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p>
</triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><instance_geometry url="#g"/></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>
"""


# An OBJ file with one face of 150,000 corners at three places: assimp cuts it for minutes.
LONG_OBJ = f"v 0 0 0\nv 1 0 0\nv 0 1 0\nf {'1 2 3 ' * 50_000}\n"


def shaped(kind: str, filename: str) -> str:
    """A robot of one link with one mesh."""
    return robot(link("body", shapes=mesh(kind, filename)))


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "file:///etc/passwd", "../" * 20 + "etc/passwd", "package://../bin/sh"]
)
@pytest.mark.parametrize("kind", ["visual", "collision"])
def test_meshes_lie_in_the_folders_of_packages(kind, name, tmp_path, monkeypatch):
    """A path that leads elsewhere is not read: refused, not found, or left out of the looks."""
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "a" / "b" / "c", shaped(kind, name))
    write(tmp_path / "a" / "b", "<package/>", "package.xml")
    report = check_robot(path)
    said = report.errors if kind == "collision" else report.warnings
    assert report.missing == ((kind, "body", name),) or any(
        "lies outside the folders of packages" in text and name in text for text in said
    )
    assert kind == "collision" or report.ok


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


def test_a_large_mesh_is_not_opened(tmp_path):
    """Its size is looked at first; half a gibibyte may be."""
    with (tmp_path / "foot.stl").open("wb") as file:
        file.truncate(2**29 + 1)  # takes no room on disk
    path = write(tmp_path, shaped("collision", "foot.stl"))
    told = rf"foot\.stl' has {2**29 + 1} bytes; a mesh may have at most {2**29}"
    with pytest.raises(RobotError, match=told):
        load_robot(path)


@pytest.mark.parametrize("broken", ["nan", "1e30", "-inf"])
def test_a_mesh_of_no_places_is_refused(broken, tmp_path):
    """One vertex that is no number, or light-years away, and the mesh is named."""
    write(tmp_path, pyramid().replace("0.3", broken), "foot.stl")
    path = write(tmp_path, shaped("collision", "foot.stl"))
    with pytest.raises(RobotError, match=r"foot\.stl': has no vertices, or others than numbers"):
        load_robot(path)
    seen = load_robot(write(tmp_path, shaped("visual", "foot.stl")))
    assert any("foot.stl' is left out: has no vertices" in text for text in seen.warnings)
    assert seen.require_visuals().ngeoms == 0


def test_too_many_links(tmp_path):
    """A robot of more links than memory serves is refused before it is built."""
    path = write(tmp_path, robot(*(link(f"l{k}") for k in range(501))))
    with pytest.raises(RobotError, match="has 501 links; at most 500 are read"):
        load_robot(path)


def test_too_many_joints(tmp_path):
    """The joints that move are counted, those that are fixed are not."""
    links = [link(f"l{k}") for k in range(252)]
    joints = [hinge(f"j{k}", f"l{k}", f"l{k + 1}") for k in range(251)]
    path = write(tmp_path, robot(*links, *joints))
    with pytest.raises(RobotError, match="has 251 joints that move; at most 250 are read"):
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


def told(kind: str, path: Path) -> str:
    """The error of a robot with a bad collision mesh, the warnings of one with a bad visual one."""
    if kind == "visual":
        return "\n".join(load_robot(path).warnings)
    with pytest.raises(RobotError) as caught:
        load_robot(path)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["visual", "collision"])
def test_a_mesh_that_asks_for_all_memory(kind, tmp_path, monkeypatch):
    """It is an error that says so, or left out, and this program keeps its memory."""
    monkeypatch.setattr(limited_process, "MEMORY", 1 << 30)
    write(tmp_path, HUGE_DAE, "foot.dae")
    path = write(tmp_path, shaped(kind, "foot.dae"))
    assert "it takes more than 1 GiB of memory" in told(kind, path)


@pytest.mark.parametrize("kind", ["visual", "collision"])
def test_a_mesh_that_takes_for_ever(kind, tmp_path, monkeypatch):
    """Its time is limited."""
    monkeypatch.setattr(limited_process, "SECONDS", 1)
    write(tmp_path, LONG_OBJ, "foot.obj")
    path = write(tmp_path, shaped(kind, "foot.obj"))
    assert "it takes more than 1 s" in told(kind, path)


def test_a_name_that_no_file_can_have(tmp_path):
    """A mesh with a name of 5,000 characters was not found."""
    path = write(tmp_path, shaped("collision", "m" * 5000))
    assert check_robot(path).missing == (("collision", "body", "m" * 5000),)


SRDF = '<robot name="anymal"><group_state name="standing" group="legs">{}</group_state></robot>'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<robot", "is not valid XML: unclosed token"),
        (SRDF.format("<joint/>"), "pinocchio cannot read it"),
        (SRDF.format("<a>" * 99 + "</a>" * 99), "nests more than 64 elements"),
        (" " * 5_000_001, "has 5000001 bytes; a SRDF may have at most 5000000"),
    ],
    ids=["broken", "nameless", "deep", "large"],
)
def test_a_bad_srdf(text, says, tmp_path):
    """It has the limits of a URDF, and its errors name it."""
    files = find_robot("anymal")
    files = dataclasses.replace(files, srdf=write(tmp_path, text, "robot.srdf"))
    with pytest.raises(RobotError, match=f"robot\\.srdf.*{says}"):
        assemble(files, describe(files, visuals=False))
