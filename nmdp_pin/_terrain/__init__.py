"""The static world as a union of shapes: signed distance, normal and curvature at points."""

from nmdp_pin._terrain.height_field import HeightField
from nmdp_pin._terrain.mesh import Mesh
from nmdp_pin._terrain.primitives import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Sphere
from nmdp_pin._terrain.shape import Shape
from nmdp_pin._terrain.shape_arrays import Surface
from nmdp_pin._terrain.terrain import Terrain

__all__ = [
    "SHAPES",
    "Box",
    "Capsule",
    "Cone",
    "Cylinder",
    "Ellipsoid",
    "HeightField",
    "Mesh",
    "Plane",
    "Shape",
    "Sphere",
    "Surface",
    "Terrain",
]

SHAPES: dict[str, type[Shape]] = {
    "plane": Plane,
    "box": Box,
    "sphere": Sphere,
    "cylinder": Cylinder,
    "capsule": Capsule,
    "cone": Cone,
    "ellipsoid": Ellipsoid,
    "height-field": HeightField,
    "mesh": Mesh,
}
