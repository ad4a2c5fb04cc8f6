"""Normals and neighbours of the faces of a closed triangle mesh."""

import numpy as np

from nmdp_pin.errors import TerrainError

_FLAT = 1e-13  # [-] double area over squared longest edge, below which a face is a line


def topology(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals of the faces of a mesh, which is checked to be the boundary of a solid.

    Args:
        vertices: vertices [m], shape (v, 3).
        faces: indices of the corners, anticlockwise from outside, shape (f, 3).

    Returns:
        Normals, shape (f, 3), and the faces beyond the edges from corner k to k + 1, shape (f, 3).
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
