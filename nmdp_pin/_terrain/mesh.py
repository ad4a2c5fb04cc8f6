"""Solids given by closed triangle meshes."""

import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import coal
import numpy as np

from nmdp_pin._files.input_file import not_a_file, read_input
from nmdp_pin._files.limited_process import within_limits
from nmdp_pin._options import FilePath, Positive, phrased
from nmdp_pin._terrain.coal_mesh import triangle_geometry
from nmdp_pin._terrain.shape import LARGEST, Lengths, Solid, Table, checked_table
from nmdp_pin.errors import TerrainError

_SUFFIXES = (".stl", ".obj")
_LARGEST_FILE = 2**28  # [bytes]
_FLAT = 1e-13  # [-] double area over squared longest edge, below which a face is a line


@dataclass(frozen=True, kw_only=True, eq=False)
class Mesh(Solid):
    """Solid inside a closed triangle mesh, convex or not.

    The file is read once; pickled shapes contain the triangles.

    Args:
        path: STL or OBJ file, instead of `vertices` and `faces`.
        vertices: vertices in the frame of the shape [m], shape (v, 3).
        faces: indices of the corners, anticlockwise from outside, shape (f, 3).
        scale: factor, or one factor an axis, > 0, from the unit of the file to metres.
        position: position of the mesh's origin [m].
    """

    path: FilePath | None = None
    vertices: Table | None = None
    faces: Table | None = None
    scale: Annotated[Positive | Lengths, phrased("one factor > 0, or three")] = 1.0
    corners: np.ndarray = field(init=False, repr=False)
    indices: np.ndarray = field(init=False, repr=False)

    def _check(self) -> None:
        arrays = (self.vertices is not None, self.faces is not None)
        if any(arrays) != all(arrays) or (self.path is None) != all(arrays):
            raise TerrainError("Mesh: give either path, or both vertices and faces")
        if self.path is None:
            source, (vertices, faces) = "Mesh", self._given()
        else:
            source, (vertices, faces) = f"Mesh {self.path}", _read(Path(self.path))
        try:
            vertices, faces = _welded(vertices, faces)
            vertices = vertices * np.array(self.scale)
            topology(vertices, faces)
        except TerrainError as error:
            raise TerrainError(f"{source}: {error}") from None
        vertices.setflags(write=False)
        faces.setflags(write=False)
        self._set(corners=vertices, indices=faces)

    def _given(self) -> tuple[np.ndarray, np.ndarray]:
        """The arrays of the options, checked."""
        vertices = checked_table(self, "vertices", self.vertices, 3)
        table = checked_table(self, "faces", self.faces, 3)
        faces = table.astype(int)
        if (faces != table).any() or (faces < 0).any() or (faces >= len(vertices)).any():
            raise TerrainError(
                f"Mesh: faces must hold whole numbers from 0 to {len(vertices) - 1}, "
                "the indices of the vertices"
            )
        return vertices, faces

    def collision_geometry(self) -> coal.BVHModelOBBRSS:
        """A new bounding-volume hierarchy, in the shape's frame."""
        return triangle_geometry(*self.triangles())

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices in the shape's frame [m], shape (v, 3), and faces, shape (f, 3)."""
        return self.corners, self.indices


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of an STL or OBJ file, read by trimesh."""
    import trimesh  # slow to import

    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise TerrainError(f"Mesh {path}: not one of the formats {', '.join(_SUFFIXES)}")
    if not os.path.isfile(path):
        raise TerrainError(f"Mesh {path}: {not_a_file(path)} (looked in {path.parent.absolute()})")
    content = read_input(path, "mesh", largest=_LARGEST_FILE, error=TerrainError)
    try:
        vertices, faces = within_limits(_triangles, trimesh, content, suffix[1:])
    except ValueError as error:
        raise TerrainError(
            f"Mesh {path}: cannot be read as {suffix[1:].upper()}: {error}; export it again"
        ) from None
    if vertices.shape[1:] != (3,) or faces.shape[1:] != (3,):
        raise TerrainError(f"Mesh {path}: has no triangles of points in space; export it again")
    if not (np.abs(vertices) <= LARGEST).all():  # also where one is NaN
        raise TerrainError(
            f"Mesh {path}: has coordinates that are not finite numbers, or beyond {LARGEST:g}"
        )
    return vertices, faces


def _triangles(trimesh: Any, content: bytes, suffix: str) -> tuple[np.ndarray, np.ndarray]:
    mesh = trimesh.load_mesh(io.BytesIO(content), file_type=suffix, process=False)
    return np.array(mesh.vertices), np.array(mesh.faces)


def _welded(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equal vertices made one, and faces that have become lines dropped.

    An STL file repeats a vertex in every face; only exactly equal ones are merged.
    """
    # Adding 0 turns -0 into 0.
    used, index = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    faces = index.reshape(-1)[faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    if not len(faces):
        raise TerrainError("there are no faces, or each is a single line or point")
    return used, faces


def topology(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normals of faces, (f, 3), and the faces beyond their edges from corner k to k + 1, (f, 3).

    The mesh is checked to be the boundary of a solid, its faces anticlockwise from outside.
    """
    corners = vertices[faces]
    edges = np.roll(corners, -1, axis=1) - corners
    area = np.cross(edges[:, 0], edges[:, 1])
    double = np.sqrt((area * area).sum(axis=1))
    longest = (edges * edges).sum(axis=2).max(axis=1)
    flat = (double <= _FLAT * longest).nonzero()[0]
    if len(flat):
        raise TerrainError(
            f"face {flat[0]} has no area ({len(flat)} such faces): "
            "merge its corners or remove it (e.g. 'merge by distance' in Blender)"
        )
    across = _neighbours(faces, len(vertices))
    if ((corners[:, 0] - vertices[0]) * area).sum() <= 0.0:
        raise TerrainError("the faces point inwards: reverse the order of their corners")
    return area / double[:, None], across


def _neighbours(faces: np.ndarray, n_vertices: int) -> np.ndarray:
    """The face beyond the edge from corner k to corner k + 1, shape (f, 3)."""
    start, end = faces.astype(np.int64), np.roll(faces, -1, axis=1).astype(np.int64)
    forth, back = (start * n_vertices + end).ravel(), (end * n_vertices + start).ravel()
    order = forth.argsort()
    forth = forth[order]
    twice = (forth[1:] == forth[:-1]).sum()
    if twice:
        raise TerrainError(
            f"{twice} edges belong to faces that do not agree on what is outside, or to more than "
            "two faces: make the normals consistent and the mesh manifold"
        )
    place = np.minimum(forth.searchsorted(back), len(forth) - 1)
    missing = (forth[place] != back).sum()
    if missing:
        raise TerrainError(
            f"the mesh is not closed: {missing} edges belong to one face only. Fill its holes, or "
            "pass a ground survey as a height field"
        )
    return (order[place] // 3).reshape(-1, 3)
