"""Geometry of a compiled MJCF file."""

from __future__ import annotations

from typing import Any

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin.robot.mjcf_tree import MjcfTree, names_of, placement
from nmdp_pin.terrain.triangles import triangle_geometry

_GREY = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)  # of geometry that has no color


def shapes_of(m: Any, tree: MjcfTree, wanted: np.ndarray) -> pin.GeometryModel:
    """Geometry of the bodies, without planes and height fields.

    Args:
        m: the compiled model (`mujoco.MjModel`).
        tree: its bodies.
        wanted: which geometry, shape (ngeom,).
    """
    names, shapes = names_of(m.geom, m.ngeom, "geom"), pin.GeometryModel()
    for k in np.flatnonzero(wanted & (m.geom_bodyid != 0)).tolist():
        solid = _solid(m, k) if int(m.geom_bodyid[k]) in tree.at else None
        if solid is None:
            continue
        joint, frame, place = tree.at[int(m.geom_bodyid[k])]
        place = place * placement(m.geom_pos[k], m.geom_quat[k])
        shape = pin.GeometryObject(names[k], joint, frame, place, solid)
        color, material = m.geom_rgba[k], int(m.geom_matid[k])
        color = m.mat_rgba[material] if material >= 0 and (color == _GREY).all() else color
        shape.meshColor = np.array(color, dtype=float)
        shapes.addGeometryObject(shape)
    return shapes


def _solid(m: Any, k: int) -> coal.CollisionGeometry | None:
    """Geometry in its own frame; None: a plane or a height field."""
    from mujoco import mjtGeom

    x, y, z = m.geom_size[k].tolist()
    match m.geom_type[k]:
        case mjtGeom.mjGEOM_SPHERE:
            return coal.Sphere(x)
        case mjtGeom.mjGEOM_CAPSULE:
            return coal.Capsule(x, 2.0 * y)
        case mjtGeom.mjGEOM_CYLINDER:
            return coal.Cylinder(x, 2.0 * y)
        case mjtGeom.mjGEOM_BOX:
            return coal.Box(2.0 * x, 2.0 * y, 2.0 * z)
        case mjtGeom.mjGEOM_ELLIPSOID:
            return coal.Ellipsoid(x, y, z)
        case mjtGeom.mjGEOM_MESH | mjtGeom.mjGEOM_SDF:
            mesh = m.mesh(int(m.geom_dataid[k])).id
            first, begin = int(m.mesh_vertadr[mesh]), int(m.mesh_faceadr[mesh])
            vertices = m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])]
            faces = m.mesh_face[begin : begin + int(m.mesh_facenum[mesh])]
            return triangle_geometry(np.array(vertices, dtype=float), faces)
    return None
