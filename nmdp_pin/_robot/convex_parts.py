"""Convex hulls of collision meshes, and meshes divided into convex parts."""

import hashlib
from importlib import metadata

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._files.array_cache import cached_array
from nmdp_pin._terrain.coal_mesh import mesh_arrays, triangle_geometry
from nmdp_pin.errors import MissingExtra

# Share of its volume by which a mesh may differ from its convex hull.
_CONVEX = 1e-3
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
