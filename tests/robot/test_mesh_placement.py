"""Meshes beside the masses of their links."""

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from urdf_samples import hinge, link, mesh, pyramid, robot, shape, write

from nmdp_pin import load_robot

# Half of an arm, along the z axis of the file: 0.3 m, from 0.1 m on.
_SIZE, _CENTRE = (0.04, 0.06, 0.3), np.array([0.0, 0.0, 0.25])
SAYS_UP = "are turned, so that z is up"


def collada(path, up):
    """Write a box of `_SIZE` about `_CENTRE` whose file says which way is up."""
    solid = trimesh.creation.box(_SIZE)
    solid.apply_translation(_CENTRE)
    text = trimesh.exchange.dae.export_collada(solid).decode()
    start, _, rest = text.partition("<up_axis>")
    assert rest
    path.write_text(f"{start}<up_axis>{up}{rest[rest.index('<') :]}")


def arm(tmp_path, lever, up):
    """An arm whose centre of mass is at `lever`."""
    collada(tmp_path / "arm.dae", up)
    part = link("arm", shapes=mesh("collision", "arm.dae") + mesh("visual", "arm.dae"))
    xyz = " ".join(map(str, lever))
    part = part.replace("<inertial>", f'<inertial><origin xyz="{xyz}"/>')
    return load_robot(write(tmp_path, robot(link("base"), part, hinge("joint", "base", "arm"))))


@pytest.mark.parametrize("up", ["Y_UP", "Z_UP"])
@pytest.mark.parametrize("turned", [False, True])
def test_y_up_is_read_as_the_author_of_the_description_did(tmp_path, up, turned):
    """The mesh of an arm that points along z, or, turned about x, along -y."""
    lever = np.array([0.0, -0.25, 0.0]) if turned else _CENTRE
    bot = arm(tmp_path, lever, up)
    told = any(SAYS_UP in note for note in bot.notes)
    assert told == (turned and up == "Y_UP")
    for geometry in (bot.collision_model, bot.visual_model):
        (item,) = geometry.geometryObjects
        item.geometry.computeLocalAABB()
        centre = item.placement.act(np.array(item.geometry.aabb_local.center()))
        np.testing.assert_allclose(centre, lever if told else _CENTRE, atol=1e-6)  # of the file
    far = any("far outside the collision geometry" in text for text in bot.warnings)
    assert far == (turned and up == "Z_UP")


def test_a_misplaced_shape_is_told(tmp_path):
    """By the distance of the centre of mass from its box; an offset within bounds is none."""
    write(tmp_path, pyramid(), "foot.stl")  # 0.2 m wide, 0.3 m high
    solid = '<mesh filename="foot.stl"/>'
    for x, far in ((0.3, False), (0.31, True)):
        part = link("arm", shapes=shape("collision", solid, f"{x} 0 0"))
        path = write(tmp_path, robot(link("base"), part, hinge("joint", "base", "arm")))
        told = [text for text in load_robot(path).warnings if "far outside" in text]
        assert bool(told) == far
        assert not far or "arm (0.21 m)" in told[0]
    part = link("arm", shapes="".join(shape("collision", solid, f"{x} 0 0") for x in (-0.6, 0.6)))
    path = write(tmp_path, robot(link("base"), part, hinge("joint", "base", "arm")))
    assert not any("far outside" in text for text in load_robot(path).warnings)


def test_icub_stands_on_its_soles():
    """Its files say Y_UP: its soles are 16 cm long on the ground, not 16 cm high."""
    bot = load_robot("icub", visuals=False)
    assert any(SAYS_UP in note for note in bot.notes)
    data = bot.model.createData()
    pin.forwardKinematics(bot.model, data, bot.standing)
    (sole,) = (g for g in bot.collision_model.geometryObjects if g.name == "l_foot_0")
    corners = np.array(sole.geometry.vertices())
    place = data.oMi[sole.parentJoint] * sole.placement
    size = np.ptp(corners @ place.rotation.T, axis=0)
    assert size[0] == pytest.approx(0.156, abs=0.002)
    assert size[2] < 0.08
    assert not any(SAYS_UP in note for note in load_robot("tiago").notes)
