"""Closed triangle meshes as the tables that the kernels search."""

from collections.abc import Sequence

import numpy as np

from nmdp_pin._kernels.geometry.triangles import LEAF, Triangles
from nmdp_pin._terrain.mesh import topology

_STRAIGHT = 1e-4  # [-] sine of the angle between two faces below which they have no ridge
_BITS = 20  # of a coordinate along the curve that orders the faces


def triangles_of(meshes: Sequence[tuple[np.ndarray, np.ndarray]]) -> Triangles:
    """The tables of meshes, of vertices (v, 3) [m] and faces (f, 3) each; see `topology`."""
    parts = [_one(vertices, faces) for vertices, faces in meshes]
    return joined(parts)


def joined(parts: Sequence[Triangles]) -> Triangles:
    """The tables of all meshes of several tables, in their order."""
    v = np.cumsum([0, *(len(part.vertices) for part in parts)])
    f = np.cumsum([0, *(len(part.corners) for part in parts)])
    b = np.cumsum([0, *(len(part.boxes) for part in parts)])
    o = np.cumsum([0, *(len(part.order) for part in parts)])
    r = np.cumsum([0, *(len(part.ridges) for part in parts)])
    each = list(enumerate(parts))

    def rows(width: tuple[int, ...], kind: type, tables: list[np.ndarray]) -> np.ndarray:
        return np.ascontiguousarray(np.concatenate([np.zeros((0, *width), kind), *tables]), kind)

    firsts = [part.first[:-1] + 3 * f[i] for i, part in each]
    return Triangles(
        vertices=rows((3,), float, [part.vertices for part in parts]),
        pseudonormals=rows((3,), float, [part.pseudonormals for part in parts]),
        corners=rows((3,), np.int32, [part.corners + v[i] for i, part in each]),
        normals=rows((3,), float, [part.normals for part in parts]),
        across=rows((3,), np.int32, [part.across + f[i] for i, part in each]),
        first=rows((), np.int32, [*firsts, np.array([3 * f[-1]])]),
        fans=rows((), np.int32, [part.fans + f[i] for i, part in each]),
        boxes=rows((6,), float, [part.boxes for part in parts]),
        order=rows((), np.int32, [np.where(p.order < 0, -1, p.order + f[i]) for i, p in each]),
        trees=rows((3,), np.int64, [np.add(part.trees, (b[i], 0, o[i])) for i, part in each]),
        ridges=rows((4,), np.int32, [p.ridges + np.repeat((v[i], f[i]), 2) for i, p in each]),
        ridge_of=rows(
            (3,), np.int32, [np.where(p.ridge_of < 0, -1, p.ridge_of + r[i]) for i, p in each]
        ),
        peaks=rows((), np.bool_, [part.peaks for part in parts]),
    )


def _one(vertices: np.ndarray, faces: np.ndarray) -> Triangles:
    """The tables of one mesh."""
    normals, across = topology(vertices, faces)
    around = faces.ravel().argsort(kind="stable")
    first = np.searchsorted(faces.ravel()[around], np.arange(len(vertices) + 1))
    order, boxes = _tree(vertices[faces])
    ridges, ridge_of = _ridges(vertices, faces, normals, across)
    peaks = np.zeros(len(vertices), bool)
    peaks[ridges[:, :2]] = True
    return Triangles(
        vertices=np.ascontiguousarray(vertices),
        corners=np.ascontiguousarray(faces, np.int32),
        normals=normals,
        pseudonormals=_pseudonormals(vertices, faces, normals),
        across=across.astype(np.int32),
        first=first.astype(np.int32),
        fans=(around // 3).astype(np.int32),
        boxes=boxes,
        order=order,
        trees=np.array([[0, len(boxes) // 2, 0]]),
        ridges=ridges,
        ridge_of=ridge_of,
        peaks=peaks,
    )


def _ridges(
    vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray, across: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The convex edges of a mesh, and their numbers at the edges of the faces; see `Triangles`."""
    ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2)
    along = vertices[ends[:, :, 1]] - vertices[ends[:, :, 0]]
    turn = np.vecdot(np.cross(normals[:, None], normals[across]), along)
    convex = turn > _STRAIGHT * np.linalg.norm(along, axis=2)
    own = convex & (np.arange(len(faces))[:, None] < across)
    t, k = np.nonzero(own)
    ridge_of = np.full(faces.shape, -1, np.int32)
    ridge_of[t, k] = np.arange(len(t))
    beyond = across[t, k]
    back = (across[beyond] == t[:, None]) & (faces[beyond] == ends[t, k, 1][:, None])
    ridge_of[beyond, back.argmax(axis=1)] = np.arange(len(t))
    return np.column_stack([ends[t, k], t, beyond]).astype(np.int32), ridge_of


def _pseudonormals(vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Sums of the normals around the vertices, weighted by the angles there, shape (v, 3)."""
    edges = np.roll(vertices[faces], -1, axis=1) - vertices[faces]
    before = -np.roll(edges, 1, axis=1)
    sine = np.linalg.norm(np.cross(edges, before), axis=2)
    angle = np.arctan2(sine, np.vecdot(edges, before))
    pseudonormals = np.zeros_like(vertices)
    np.add.at(pseudonormals, faces, angle[:, :, None] * normals[:, None, :])
    return pseudonormals


def _tree(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Faces of the leaves, and the boxes of a tree, see `kernels.triangles.Triangles`."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    n = len(corners)
    leaves = 1 << max(0, int(-(-n // LEAF) - 1).bit_length())
    order = np.full(LEAF * leaves, -1, dtype=np.int32)
    order[:n] = _morton(0.5 * (low + high)).argsort(kind="stable")
    lows, highs = np.full((LEAF * leaves, 3), np.inf), np.full((LEAF * leaves, 3), -np.inf)
    lows[:n], highs[:n] = low[order[:n]], high[order[:n]]
    boxes = np.zeros((2 * leaves, 6))
    boxes[leaves:, :3] = lows.reshape(-1, LEAF, 3).min(axis=1)
    boxes[leaves:, 3:] = highs.reshape(-1, LEAF, 3).max(axis=1)
    while leaves > 1:
        below, leaves = boxes[leaves : 2 * leaves].reshape(-1, 2, 6), leaves // 2
        boxes[leaves : 2 * leaves, :3] = below[:, :, :3].min(axis=1)
        boxes[leaves : 2 * leaves, 3:] = below[:, :, 3:].max(axis=1)
    return order, boxes


def _morton(points: np.ndarray) -> np.ndarray:
    """Places of points along a curve that keeps neighbours together (Morton's), shape (n,)."""
    low, size = points.min(axis=0), np.ptp(points, axis=0).max() or 1.0
    cells = ((points - low) / size * (2**_BITS - 1)).astype(np.uint64)
    code = np.zeros(len(points), dtype=np.uint64)
    for bit in range(_BITS):
        for axis in range(3):
            here = (cells[:, axis] >> np.uint64(bit)) & np.uint64(1)
            code |= here << np.uint64(3 * bit + axis)
    return code
