"""The shapes of a terrain in a meshcat scene; planes as a wide checkerboard."""

from __future__ import annotations

import io
from typing import Any

import coal
import meshcat
import meshcat.geometry as mg
import numpy as np
import pinocchio as pin
from PIL import Image
from pinocchio.visualize.meshcat_visualizer import Plane

from nmdp_pin.terrain import Terrain
from nmdp_pin.viz.body_shapes import ShapeDrawer

GROUND_WIDTH = 120.0
"""Side of the square that stands for a plane [m]."""
TILE = 0.5
"""Side of a tile of the checkerboard [m]."""

_TERRAIN = "/meshcat/terrain"
_TILES = (214, 200)  # grey levels of the two kinds of tiles
_COLOR = np.array([0.72, 0.69, 0.64, 1.0])
_REPEAT, _NEAREST, _MIPMAPS = 1000, 1003, 1008  # three.js's numbers


def draw_terrain(window: Any, terrain: Terrain, center: np.ndarray) -> None:
    """Draw all shapes of a terrain.

    Args:
        window: where meshcat's commands go.
        terrain: the terrain.
        center: planes are drawn around its foot on them [m], shape (3,).
    """
    drawer = ShapeDrawer(window, _TERRAIN)
    for k, shape in enumerate(terrain.shapes):
        geometry, placement = shape.collision_geometry(), shape.placement
        if isinstance(geometry, coal.Plane | coal.Halfspace):
            _draw_plane(window, f"{_TERRAIN}/plane_{k}", geometry, placement, center)
            continue
        name = f"{type(shape).__name__.lower()}_{k}"
        look = pin.GeometryObject(name, 0, placement, geometry)
        look.meshColor = _COLOR
        drawer.draw(look)


def _draw_plane(
    window: Any,
    path: str,
    plane: coal.Plane | coal.Halfspace,
    placement: pin.SE3,
    center: np.ndarray,
) -> None:
    """Draw n · x = d as a checkerboard whose tiles stay at multiples of their side."""
    normal = placement.rotation @ plane.n
    origin = placement.act(plane.d * plane.n)
    foot = center - normal * float(normal @ (center - origin))
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).matrix()
    steps = np.round(turn.T @ (foot - origin) / (2.0 * TILE)) * 2.0 * TILE
    board = meshcat.Visualizer(window=window)[path]
    repeats = GROUND_WIDTH / (2.0 * TILE)
    texture = mg.ImageTexture(
        mg.PngImage(_tiles()),
        wrap=[_REPEAT, _REPEAT],
        repeat=[repeats, repeats],
        magFilter=_NEAREST,
        minFilter=_MIPMAPS,
        anisotropy=16,
    )
    board.set_object(Plane(GROUND_WIDTH, GROUND_WIDTH), mg.MeshLambertMaterial(map=texture))
    board.set_transform(pin.SE3(turn, origin + turn @ [steps[0], steps[1], 0.0]).homogeneous)


def _tiles() -> bytes:
    """Two by two tiles as a PNG; larger than 2 × 2 pixels, so that mipmaps blend them evenly."""
    rows, columns = np.indices((64, 64)) // 32
    dark = (rows + columns) % 2
    levels = np.where(dark == 1, _TILES[1], _TILES[0]).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(levels).convert("RGB").save(file, format="PNG")
    return file.getvalue()
