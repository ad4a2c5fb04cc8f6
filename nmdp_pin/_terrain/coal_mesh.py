"""Triangle meshes as geometries of coal, and geometries of coal as triangle meshes."""

from typing import Any

import coal
import numpy as np

_SIDES = 32  # of a round solid
_SUBDIVISIONS = 3  # of an icosahedron; 1280 triangles


def triangle_geometry(vertices: np.ndarray, faces: np.ndarray) -> coal.BVHModelOBBRSS:
    """A new coal mesh."""
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in vertices:
        points.append(vertex)
    for face in faces.tolist():
        triangles.append(coal.Triangle(*face))
    geometry = coal.BVHModelOBBRSS()
    geometry.beginModel(len(faces), len(vertices))
    geometry.addSubModel(points, triangles)
    geometry.endModel()
    geometry.computeLocalAABB()
    return geometry


def mesh_vertices(mesh: coal.BVHModelBase | coal.ConvexBase) -> np.ndarray:
    """Vertices of a mesh or of a convex polytope [m], shape (v, 3)."""
    return np.array(mesh.vertices() if isinstance(mesh, coal.BVHModelBase) else mesh.points())


def mesh_arrays(mesh: coal.BVHModelBase) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m], shape (v, 3), and faces, shape (f, 3); the inverse of `triangle_geometry`."""
    faces = map(mesh.tri_indices, range(mesh.num_tris))
    # iterating a triangle of coal runs past its end
    return mesh_vertices(mesh), np.array([(f[0], f[1], f[2]) for f in faces], dtype=int)


def surface_mesh(geometry: coal.CollisionGeometry) -> Any:
    """Triangles of a bounded geometry, in its own frame (`trimesh.Trimesh`)."""
    import trimesh  # slow to import

    create, half = trimesh.creation, getattr(geometry, "halfLength", 0.0)
    match geometry:
        case coal.Box():
            return create.box(2.0 * geometry.halfSide)
        case coal.Sphere():
            return create.icosphere(_SUBDIVISIONS, radius=geometry.radius)
        case coal.Ellipsoid():
            return create.icosphere(_SUBDIVISIONS).apply_scale(geometry.radii)
        case coal.Cylinder():
            return create.cylinder(geometry.radius, 2.0 * half, sections=_SIDES)
        case coal.Capsule():
            return create.capsule(2.0 * half, geometry.radius, count=[_SIDES, _SIDES])
        case coal.Cone():
            cone = create.cone(geometry.radius, 2.0 * half, sections=_SIDES)
            return cone.apply_translation([0.0, 0.0, -half])
        case coal.BVHModelBase():
            return trimesh.Trimesh(*mesh_arrays(geometry), process=False)
        case coal.ConvexBase():
            return trimesh.convex.convex_hull(mesh_vertices(geometry))
    raise ValueError(f"a {type(geometry).__name__} has no triangles")
