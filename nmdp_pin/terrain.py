"""The static world: shapes, and their union."""

from nmdp_pin._terrain import (
    SHAPES,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Plane,
    Shape,
    Sphere,
    Surface,
    Terrain,
)

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
