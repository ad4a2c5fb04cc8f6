"""Triangle meshes as geometries of coal, and geometries of coal as triangle meshes."""

import itertools
from typing import Any

import coal
import numpy as np

_SIDES = 32  # of a round solid
_SUBDIVISIONS = 3  # of an icosahedron; 1280 triangles
_SIGNS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))  # of the corners of a box
_FACES = (  # of a box, anticlockwise from outside
    *((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)),
    *((2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)),
)


def triangle_geometry(vertices: np.ndarray, faces: np.ndarray) -> coal.BVHModelOBBRSS:
    """A new coal mesh."""
    geometry = coal.BVHModelOBBRSS()
    geometry.beginModel(len(faces), len(vertices))
    geometry.addVertices(np.asarray(vertices, dtype=float))
    geometry.addTriangles(np.asarray(faces, dtype=np.int64))
    geometry.endModel()
    geometry.computeLocalAABB()
    return geometry


def box_hull(half_extents: np.ndarray) -> coal.ConvexBase:
    """A box as the hull of its corners, whose distances are the same in every process.

    Those of `coal.Box` differ by 1e-10 of its size, by the first box that the process has met
    (coal 3.0.3, `getShapeSupport`).

    Args:
        half_extents: half of the edges [m], shape (3,).
    """
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for corner in _SIGNS * half_extents:
        points.append(corner)
    for face in _FACES:
        triangles.append(coal.Triangle(*face))
    return coal.Convex(points, triangles)


def convex_hull(vertices: np.ndarray) -> coal.ConvexBase:
    """The convex hull of points, shape (v, 3)."""
    points = coal.StdVec_Vec3s()
    for vertex in vertices:
        points.append(vertex)
    return coal.Convex.convexHull(points, False, "Qt")


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
