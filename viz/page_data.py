"""A scene as the page reads it: one JSON text and the arrays that it speaks of."""

from __future__ import annotations

import gzip
import json
import struct
from typing import Any

import numpy as np

from nmdp_pin.viz.body_shapes import Piece
from nmdp_pin.viz.colored_mesh import ColoredMesh, arrow
from nmdp_pin.viz.scene import ARROW_RADII, ARROW_TAPER, LONGEST_ARROW, TOUCHING, Scene

_ALIGNMENT = 4  # [bytes] of arrays of numbers


class _Arrays:
    """Arrays behind each other; those of the same bytes once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.table: list[dict[str, int]] = []
        self._known: dict[bytes, int] = {}
        self._size = 0

    def add(self, data: bytes) -> int:
        """Index of the array in the table."""
        index = self._known.setdefault(data, len(self.table))
        if index == len(self.table):
            self.table.append({"offset": self._size, "bytes": len(data)})
            self.parts.append(data + bytes(-len(data) % _ALIGNMENT))
            self._size += len(self.parts[-1])
        return index


def packed_scene(scene: Scene, *, speed: float, follow: bool) -> bytes:
    """A scene for the page, compressed: length of the JSON, JSON, arrays.

    Args:
        scene: what is seen.
        speed: simulated seconds a second at which it starts to play.
        follow: the camera keeps beside the robot.
    """
    arrays = _Arrays()
    points = scene.robot.contact_points
    names = [str(scene.robot.model.names[joint]) for joint in scene.joints]
    names += ["rim"] * (scene.n_nodes - len(names))
    header = {
        "speed": speed,
        "follow": follow,
        "size": scene.size,
        "base": scene.base,
        "center": scene.center.tolist(),
        "arrow": {
            "scale": scene.arrow_scale,
            "longest": LONGEST_ARROW * scene.size,
            "taper": ARROW_TAPER * scene.size,
            "touching": TOUCHING * scene.size,
        },
        "arrowMeshes": [_mesh(mesh, arrays) for mesh in _unit_arrow(scene.size)],
        "nodes": names,
        "bodies": [_item(piece, scene.rows[piece.joint], arrays) for piece in scene.bodies],
        "terrain": [_item(piece, scene.rows[piece.joint], arrays) for piece in scene.terrain],
        "contacts": [
            {
                "name": name,
                "node": int(scene.carriers[k]),
                "position": scene.positions[k].tolist(),
                "radius": float(scene.mark_radii[k]),
            }
            for k, name in enumerate(points.names)
        ],
        "notes": scene.notes,
        "arrays": arrays.table,
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return gzip.compress(b"".join([struct.pack("<I", len(text)), text, *arrays.parts]), mtime=0)


def _mesh(mesh: ColoredMesh, arrays: _Arrays) -> dict[str, Any]:
    shading = mesh.shaded()
    normals = np.rint(32767.0 * shading.normals)
    return {
        "vertices": arrays.add(shading.vertices.astype("<f4").tobytes()),
        "normals": arrays.add(normals.astype("<i2").tobytes()),
        "faces": arrays.add(shading.faces.astype("<u4").tobytes()),
        "uv": None if shading.uv is None else arrays.add(shading.uv.astype("<f4").tobytes()),
        "image": arrays.add(mesh.image) if mesh.image else None,
        "color": mesh.color,
        "gloss": mesh.gloss,
    }


def _unit_arrow(size: float) -> tuple[ColoredMesh, ColoredMesh]:
    shaft, head = ARROW_RADII
    return arrow(shaft * size, head * size)


def _item(piece: Piece, node: int, arrays: _Arrays) -> dict[str, Any]:
    return {
        "name": piece.name,
        "node": node,
        "matrix": piece.placement.T.ravel().tolist(),  # columns one after another
        "mesh": _mesh(piece.mesh, arrays),
    }
