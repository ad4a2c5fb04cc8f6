"""Round feet of meshes: spheres that flat ground cannot tell from them."""

import numpy as np
import pinocchio as pin
import pytest
import trimesh

from nmdp_pin._robot import load_robot

ROUND = 2e-3  # [m] that a foot may differ from a sphere, as the loader has it
LIKE = 1e-4  # [m]; a sphere of 642 vertices is inside of one by so much

LEG = """<robot name="leg"><link name="trunk">
<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
</link>
<joint name="knee" type="revolute"><parent link="trunk"/><child link="shank"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
<link name="shank"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><origin xyz="0 0 -0.3"/><geometry><mesh filename="foot.stl"/></geometry></collision>
</link></robot>
"""


def leg(folder, mesh):
    """A trunk and a shank that ends in a mesh."""
    mesh.export(folder / "foot.stl")
    (folder / "leg.urdf").write_text(LEG)
    return load_robot(str(folder / "leg.urdf"), contacts="feet", visuals=False)


def test_a_ball_of_triangles_is_a_sphere(tmp_path):
    """Its centre and radius."""
    points = leg(tmp_path, trimesh.creation.icosphere(3, radius=0.02)).contact_points
    assert points.radii == pytest.approx([0.02], abs=LIKE)
    np.testing.assert_allclose(points.positions, [[0.0, 0.0, -0.3]], atol=LIKE)
    named = load_robot(str(tmp_path / "leg.urdf"), contacts=["shank"], visuals=False).contact_points
    assert (named.names, *named.radii) == (("shank",), *points.radii)


@pytest.mark.parametrize(
    ("mesh", "count"),
    [
        (trimesh.creation.box((0.04, 0.04, 0.04)), 8),
        (trimesh.creation.cylinder(radius=0.02, height=0.03, sections=16), 32),
        (trimesh.creation.icosphere(0, radius=0.1), 12),
    ],
    ids=["box", "cylinder", "icosahedron"],
)
def test_other_meshes_keep_their_points(tmp_path, mesh, count):
    """A box, a cylinder that fits well into a sphere, and a sphere of few faces."""
    points = leg(tmp_path, mesh).contact_points
    assert not points.radii.any()
    assert 8 <= len(points) <= count


@pytest.mark.parametrize("name", ["go2", "solo12", "bolt"])
def test_flat_ground_cannot_tell(name):
    """However a leg leans, up to 60 degrees: the lowest points of sphere and mesh are as high."""
    robot = load_robot(name, contacts="feet", visuals=False)
    feet, rng = robot.contact_points, np.random.default_rng(0)
    assert len(feet) == 2 if name == "bolt" else 4
    for joint, centre, radius in zip(feet.joints, feet.positions, feet.radii, strict=True):
        shapes = [
            (np.linalg.norm(shape.placement.translation - centre), shape)
            for shape in robot.collision_model.geometryObjects
            if shape.parentJoint == joint
        ]
        shape = min(shapes, key=lambda pair: pair[0])[1]
        geometry = shape.geometry
        mesh = geometry.vertices() if hasattr(geometry, "vertices") else geometry.points()
        vertices = np.array([shape.placement.act(x) for x in mesh])
        along = vertices.mean(axis=0) / np.linalg.norm(vertices.mean(axis=0))
        for _ in range(50):
            tilt = rng.standard_normal(3)
            tilt *= np.radians(60.0) * rng.uniform() / np.linalg.norm(tilt)
            down = pin.exp3(tilt) @ along
            assert (vertices @ down).max() == pytest.approx(centre @ down + radius, abs=ROUND)
