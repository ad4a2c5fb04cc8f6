"""Surfaces of bodies, from their collision geometry: hulls, convex parts, shapes."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from types import MappingProxyType
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._files.array_cache import cached_array
from nmdp_pin._robot.robot import Robot
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Shape, Sphere, Terrain
from nmdp_pin._terrain.coal_mesh import mesh_arrays, mesh_vertices, triangle_geometry
from nmdp_pin.errors import MissingExtra, RobotError, TerrainError

# Share of its volume by which a mesh may differ from its convex hull.
_CONVEX = 1e-3
_GRAIN = 1e-6  # of the size of a mesh, to which vertices are rounded where its hull is not closed
# Concavity that a part may have, relative to the size of its mesh; CoACD's default.
_CONCAVITY = 0.05
_SEED = 0  # of CoACD's search, which makes the parts the same each time


def convex_hull(geometry: coal.CollisionGeometry) -> coal.CollisionGeometry:
    """Convex hull of a mesh; other shapes are convex."""
    if not isinstance(geometry, coal.BVHModelBase):
        return geometry
    mesh = geometry.clone()
    mesh.buildConvexHull(True, "Qt")
    return mesh.convex


def fills_hull(mesh: coal.BVHModelBase, hull: coal.ConvexBase) -> bool:
    """Whether a mesh fills its convex hull."""
    return bool(mesh.computeVolume() > (1.0 - _CONVEX) * hull.computeVolume())


def hull_arrays(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices of the convex hull of points, and faces, anticlockwise seen from outside."""
    from trimesh.convex import convex_hull as hull_of  # slow to import

    hull = hull_of(points)
    if not hull.is_watertight:  # vertices that nearly coincide have made faces without area
        grain = _GRAIN * np.ptp(points, axis=0).max()
        hull = hull_of(grain * np.unique(np.round(points / grain), axis=0))
    return np.array(hull.vertices), np.array(hull.faces)


def decomposed(collision: pin.GeometryModel) -> tuple[pin.GeometryModel, tuple[str, ...]]:
    """Geometry whose meshes that are not convex are divided into convex parts, and notes.

    The parts are those of CoACD: X. Wei, M. Liu, Z. Ling, H. Su, Approximate convex decomposition
    for 3D meshes with collision-aware concavity and tree search, SIGGRAPH 2022.
    """
    made, notes = pin.GeometryModel(), []
    for item in collision.geometryObjects:
        mesh = item.geometry
        if not isinstance(mesh, coal.BVHModelBase) or fills_hull(mesh, convex_hull(mesh)):
            made.addGeometryObject(item)
            continue
        parts = _parts(mesh)
        for k, part in enumerate(parts):
            piece = pin.GeometryObject(item)
            piece.name, piece.geometry = f"{item.name}_{k}", triangle_geometry(*hull_arrays(part))
            made.addGeometryObject(piece)
        notes.append(f"{item.name}: a mesh divided into {len(parts)} convex parts")
    return made, tuple(notes)


def _parts(mesh: coal.BVHModelBase) -> list[np.ndarray]:
    """Vertices of the convex parts of a mesh [m], shape (n, 3) each; kept on disk."""
    try:
        import coacd
    except ImportError as error:
        raise MissingExtra("coacd", "decomposition") from error
    coacd.set_log_level("error")
    vertices, faces = mesh_arrays(mesh)

    def make() -> np.ndarray:
        import trimesh  # here, since it is slow to import

        welded = trimesh.Trimesh(vertices, faces)  # an STL file repeats a vertex in every face
        whole = coacd.Mesh(welded.vertices, welded.faces)
        parts = coacd.run_coacd(whole, threshold=_CONCAVITY, seed=_SEED)
        number = np.repeat(np.arange(len(parts)), [len(points) for points, _ in parts])
        return np.column_stack([np.concatenate([points for points, _ in parts]), number])

    digest = hashlib.sha256(vertices.tobytes() + faces.tobytes()).hexdigest()
    key = f"{digest} {metadata.version('coacd')} {_CONCAVITY} {_SEED}"
    table = cached_array("parts", key, make)
    return [table[table[:, 3] == k, :3] for k in np.unique(table[:, 3])]


def surfaces_of(
    robot: Robot,
    joints: Sequence[int],
    *,
    own: Mapping[str, Any] = MappingProxyType({}),
    options: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> tuple[dict[int, Terrain], list[str]]:
    """Surfaces of bodies from their collision geometry, in the frames of their joints, and notes.

    A mesh that is not closed is replaced by its convex hull.

    Args:
        robot: robot with collision geometry.
        joints: indices of the bodies.
        own: options of `Shape` of geometry that `options` does not name.
        options: options of geometry by its name.
    """
    made: dict[int, Terrain] = {}
    notes: list[str] = []
    objects = robot.require_collisions().geometryObjects if joints else ()
    for joint in joints:
        shapes = []
        for item in objects:
            if int(item.parentJoint) == joint:
                shape, hull = shape_of(item, options.get(item.name, own))
                shapes.append(shape)
                if hull:
                    notes.append(f"{item.name}: not a closed mesh, touched as its convex hull")
        if shapes:
            made[joint] = Terrain(shapes)
    return made, notes


def body_name(robot: Robot, joint: int) -> str:
    """First link that a joint carries; the name of the joint without one."""
    for frame in robot.model.frames:
        if frame.type == pin.FrameType.BODY and int(frame.parentJoint) == joint:
            return str(frame.name)
    return str(robot.model.names[joint])


def surface_names(robot: Robot) -> list[str]:
    """Name of the body of each shape of `Robot.surfaces`, in the order of their indices."""
    return [body_name(robot, j) for j, surface in robot.surfaces.items() for _ in surface.shapes]


def shaped_joints(robot: Robot) -> set[int]:
    """Joints that carry collision geometry; empty where it was not loaded."""
    if robot.collision_model is None:
        return set()
    return {int(item.parentJoint) for item in robot.require_collisions().geometryObjects} - {0}


def shape_of(item: pin.GeometryObject, options: Mapping[str, Any]) -> tuple[Shape, bool]:
    """Shape of a collision geometry in the frame of the joint; True if it became its hull."""
    geometry, place = item.geometry, item.placement
    pose: dict[str, Any] = {
        "position": tuple(place.translation.tolist()),
        "rpy": tuple(pin.rpy.matrixToRpy(place.rotation).tolist()),
        **options,
    }
    match geometry:
        case coal.Box():
            return Box(size=tuple((2.0 * geometry.halfSide).tolist()), **pose), False
        case coal.Sphere():
            return Sphere(radius=geometry.radius, **pose), False
        case coal.Ellipsoid():
            return Ellipsoid(radii=tuple(geometry.radii.tolist()), **pose), False
        case coal.Cylinder() | coal.Capsule() | coal.Cone():
            kind = {coal.Cylinder: Cylinder, coal.Capsule: Capsule}.get(type(geometry), Cone)
            length = 2.0 * geometry.halfLength
            return kind(radius=geometry.radius, length=length, **pose), False
        case coal.BVHModelBase():
            vertices, faces = mesh_arrays(geometry)
            with suppress(TerrainError):
                return Mesh(vertices=vertices, faces=faces, **pose), False
        case coal.ConvexBase():
            pass
        case _:
            raise RobotError(
                f"geometry '{item.name}' is a {type(geometry).__name__}, which has no "
                "surface that can be touched"
            )
    vertices, faces = hull_arrays(mesh_vertices(geometry))
    return Mesh(vertices=vertices, faces=faces, **pose), True
