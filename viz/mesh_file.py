"""Mesh files with their colours and pictures, as triangles."""

from __future__ import annotations

import importlib.util
import io
import os
from typing import Any

import numpy as np
import trimesh

from nmdp_pin._files.limited_process import within_limits
from nmdp_pin.errors import MissingExtra
from nmdp_pin.viz.colored_mesh import WHITE, Color, ColoredMesh

_LARGEST_PICTURE = 1024  # [pixels] of a side


def read_mesh(path: str | os.PathLike[str], color: Color) -> list[ColoredMesh]:
    """The parts of a mesh file, one a material, in the frame of the file.

    COLLADA, OBJ, STL, PLY and glTF are read by trimesh, so that no page or renderer has to: the
    loader of COLLADA in a browser, for one, fails on parts whose attributes differ.

    Args:
        path: the file.
        color: colour of parts to which the file gives none.

    Returns:
        the parts; empty where the file holds no triangles.

    Raises:
        ValueError: the file cannot be read, for whichever reason.
    """
    if os.fspath(path).lower().endswith(".dae") and importlib.util.find_spec("collada") is None:
        raise ValueError(str(MissingExtra("pycollada", "collada")))
    try:
        return within_limits(_parts, os.fspath(path), color)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _parts(path: str, color: Color) -> list[ColoredMesh]:
    scene = trimesh.load_scene(path)
    parts = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        geometry = scene.geometry[name]
        if isinstance(geometry, trimesh.Trimesh) and len(geometry.faces):
            parts.append(_part(geometry, np.asarray(transform), color))
    return parts


def _part(mesh: trimesh.Trimesh, transform: np.ndarray, default: Color) -> ColoredMesh:
    vertices = np.asarray(mesh.vertices) @ transform[:3, :3].T + transform[:3, 3]
    faces = np.asarray(mesh.faces)
    color, image = _material(mesh.visual, default)
    uv = getattr(mesh.visual, "uv", None) if image else None
    corners = None if uv is None else np.asarray(uv)[faces]
    if np.linalg.det(transform[:3, :3]) < 0.0:
        faces, corners = faces[:, ::-1], None if corners is None else corners[:, ::-1]
    return ColoredMesh.welded(
        vertices, faces, corners, color=color, image=image if corners is not None else b""
    )


def _material(visual: Any, default: Color) -> tuple[Color, bytes]:
    """Colour and picture of a part."""
    material = getattr(visual, "material", None)
    if material is None:
        if not getattr(visual, "defined", False):
            return default, b""
        return _color(visual.main_color), b""
    picture = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if picture is None:
        return _color(material.main_color), b""
    picture = picture.convert("RGB")
    picture.thumbnail((_LARGEST_PICTURE, _LARGEST_PICTURE))
    file = io.BytesIO()
    picture.save(file, format="JPEG", quality=85)
    return WHITE, file.getvalue()


def _color(rgba: np.ndarray) -> Color:
    """A colour of whole numbers to 255."""
    red, green, blue, opacity = (float(part) / 255.0 for part in rgba)
    return red, green, blue, opacity if opacity > 0.0 else 1.0
