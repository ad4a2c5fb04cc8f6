"""Triangles with a colour or a picture on them: what every renderer here draws."""

from __future__ import annotations

from dataclasses import dataclass, replace

import coal
import numpy as np
import trimesh

from nmdp_pin._terrain.coal_mesh import surface_mesh

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, from 0 to 1."""

WHITE: Color = (1.0, 1.0, 1.0, 1.0)

_CREASE = np.cos(np.radians(40.0))  # faces that meet at less than this angle are shaded as one
_NORMAL_STEPS = 511  # to which a component of a normal is rounded where corners are compared


@dataclass(frozen=True, eq=False)
class Shading:
    """Corners of a mesh with normals, as graphics cards read them.

    Args:
        vertices: corners [m], shape (n, 3); a place where faces meet at an edge is several.
        normals: unit normals at the corners, shape (n, 3).
        uv: places of the corners in the picture, shape (n, 2); None without a picture.
        faces: indices of the corners, shape (m, 3).
    """

    vertices: np.ndarray
    normals: np.ndarray
    uv: np.ndarray | None
    faces: np.ndarray


@dataclass(frozen=True, eq=False)
class ColoredMesh:
    """A triangle mesh with one material.

    Args:
        vertices: corners [m], shape (n, 3); corners at the same place are one.
        faces: indices of the corners, shape (m, 3).
        color: colour of the whole mesh; a picture is multiplied by it.
        uv: place of each face's corners in the picture, shape (m, 3, 2); None without a picture.
        image: a PNG or JPEG that repeats in both directions; empty for none.
        gloss: strength of highlights, from 0 to 1.
    """

    vertices: np.ndarray
    faces: np.ndarray
    color: Color = (0.9, 0.9, 0.9, 1.0)
    uv: np.ndarray | None = None
    image: bytes = b""
    gloss: float = 0.2

    @classmethod
    def welded(
        cls, vertices: np.ndarray, faces: np.ndarray, uv: np.ndarray | None = None, **look: object
    ) -> ColoredMesh:
        """A mesh whose equal corners are made one, without empty or broken faces.

        Args:
            vertices: corners [m], shape (n, 3).
            faces: indices of the corners, shape (m, 3).
            uv: place of each face's corners in the picture, shape (m, 3, 2).
            look: `color`, `image` and `gloss`.

        Raises:
            ValueError: a face names a corner that does not exist, or no face is left.
        """
        vertices = np.asarray(vertices, dtype=np.float32).reshape(-1, 3)
        faces = np.asarray(faces, dtype=np.int64).reshape(-1, 3)
        if faces.size and not (0 <= faces.min() and faces.max() < len(vertices)):
            raise ValueError("a face names a corner that does not exist")
        places, inverse = np.unique(vertices, axis=0, return_inverse=True)
        faces = inverse.reshape(-1)[faces]
        a, b, c = faces.T
        kept = (a != b) & (b != c) & (c != a) & np.isfinite(places[faces]).all(axis=(1, 2))
        if not kept.any():
            raise ValueError("the mesh has no triangles")
        uv = None if uv is None else np.asarray(uv, dtype=np.float32)[kept]
        return cls(places, faces[kept].astype(np.uint32), uv=uv, **look)  # type: ignore[arg-type]

    def scaled(self, scale: np.ndarray) -> ColoredMesh:
        """The mesh stretched along its axes by `scale`, shape (3,)."""
        faces = self.faces if np.prod(scale) > 0.0 else self.faces[:, ::-1]
        uv = self.uv if self.uv is None or np.prod(scale) > 0.0 else self.uv[:, ::-1]
        vertices = (self.vertices * scale).astype(np.float32)
        return replace(self, vertices=vertices, faces=faces, uv=uv)

    def wrapped(self, image: bytes, tile: float) -> ColoredMesh:
        """The mesh with a picture of side `tile` [m] laid on it along the nearest axes."""
        corners = self.vertices[self.faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        axis = np.abs(normals).argmax(axis=1)
        others = np.array([[1, 2], [0, 2], [0, 1]])[axis]
        uv = np.take_along_axis(corners, others[:, None, :].repeat(3, axis=1), axis=2) / tile
        return replace(self, uv=uv.astype(np.float32), image=image)

    def shaded(self) -> Shading:
        """The mesh with normals that are means over the faces that meet smoothly at a corner."""
        corners = self.faces.astype(np.int64).ravel()
        a, b, c = self.vertices[self.faces].astype(float).transpose(1, 0, 2)
        area = np.cross(b - a, c - a)  # twice the area, along the normal
        unit = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-300)
        # All pairs of a corner and a face that has the same vertex.
        meeting = np.argsort(corners, kind="stable") // 3
        counts = np.bincount(corners, minlength=len(self.vertices))
        first, count = (np.cumsum(counts) - counts)[corners], counts[corners]
        corner = np.repeat(np.arange(len(corners)), count)
        rank = np.arange(len(corner)) - np.repeat(np.cumsum(count) - count, count)
        face = meeting[first[corner] + rank]
        smooth = np.einsum("ij,ij->i", unit[corner // 3], unit[face]) >= _CREASE
        corner, face = corner[smooth], face[smooth]
        sums = [np.bincount(corner, area[face, k], len(corners)) for k in range(3)]
        normals = np.array(sums, dtype=float).T
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        kept, faces = np.arange(len(corners)), np.arange(len(corners))
        if self.uv is None:  # corners of the same vertex and normal are one
            key = corners
            for steps in np.rint(_NORMAL_STEPS * normals.T).astype(np.int64) + _NORMAL_STEPS:
                key = key * (2 * _NORMAL_STEPS + 1) + steps
            _, kept, faces = np.unique(key, return_index=True, return_inverse=True)
        return Shading(
            self.vertices[corners[kept]].astype(np.float32),
            normals[kept].astype(np.float32),
            None if self.uv is None else self.uv.reshape(-1, 2),
            faces.reshape(-1, 3).astype(np.uint32),
        )


def mesh_of(geometry: coal.CollisionGeometry) -> ColoredMesh:
    """Triangles of a bounded coal geometry, in its own frame.

    Raises:
        ValueError: a geometry that has no triangles, such as a plane or a point cloud.
    """
    solid = surface_mesh(geometry)
    return ColoredMesh.welded(solid.vertices, solid.faces)


def arrow(shaft: float, head: float) -> tuple[ColoredMesh, ColoredMesh]:
    """Shaft and head of an arrow of length 1 along z, with the given radii."""
    bar = trimesh.creation.cylinder(radius=shaft, height=0.8, sections=12)
    bar.apply_translation([0.0, 0.0, 0.4])
    tip = trimesh.creation.cone(radius=head, height=0.2, sections=20)
    tip.apply_translation([0.0, 0.0, 0.8])
    return tuple(ColoredMesh.welded(part.vertices, part.faces) for part in (bar, tip))  # type: ignore[return-value]
