"""Look of the terrain: rock, ice and sand, each with its own texture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

import coal
import numpy as np
import pinocchio as pin
from PIL import Image

from nmdp_pin._terrain import Terrain
from nmdp_pin.viz.body_shapes import Piece
from nmdp_pin.viz.colored_mesh import ColoredMesh, mesh_of

if TYPE_CHECKING:
    from nmdp_pin._scenario import Scenario

PLANE_WIDTH = 120.0
"""Side of the square that stands for a plane [m]."""
TILE = 0.5
"""Side of a tile of the checkerboard [m]; a picture is two by two tiles."""

SLIPPERY, ROUGH = 0.2, 1.0
"""Friction coefficient below which the ground is drawn as ice, and from which as rock."""

_PIXELS = 128  # of the side of a picture
_GLOSS = {"ice": 0.9, "sand": 0.0, "rock": 0.05, "floor": 0.1}
# Red, green and blue of the two kinds of tiles, and how far pixels differ from them.
_TILES = {
    "floor": ((214, 214, 214), (200, 200, 200), 0),
    "ice": ((205, 229, 243), (190, 219, 238), 5),
    "rock": ((158, 150, 141), (146, 138, 130), 26),
    "sand": ((222, 198, 148), (215, 190, 138), 20),
}


def ground_kinds(scenario: Scenario) -> dict[int, str]:
    """Kind of those shapes of a scenario's terrain whose name or contact model tells it.

    Args:
        scenario: a granular contact model makes a shape "sand"; a shape that is called as one of
            the kinds is of that kind.

    Returns:
        index of the shape → "sand", "ice", "rock" or "floor".
    """
    kinds = {}
    for k, shape in enumerate(scenario.terrain.shapes):
        name = shape.name or ""
        models = [r.model for r in scenario.contact_rules if r.on and _matches(name, r.on)]
        if "granular" in (models or [scenario.contact.model]):
            kinds[k] = "sand"
        elif name in _TILES:
            kinds[k] = name
    return kinds


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def terrain_pieces(terrain: Terrain, center: np.ndarray, kinds: Mapping[int, str]) -> list[Piece]:
    """The shapes of a terrain.

    Args:
        terrain: the terrain.
        center: planes are drawn around its foot on them [m], shape (3,).
        kinds: index of a shape → its kind, as `ground_kinds`; the others' follows from friction.
    """
    pieces = []
    for k, shape in enumerate(terrain.shapes):
        kind = kinds.get(k) or _kind(shape.coefficient)
        geometry, placement = shape.collision_geometry(), shape.placement
        if isinstance(geometry, coal.Plane | coal.Halfspace):
            mesh, place = _plane(geometry, placement, center)
        else:
            mesh, place = mesh_of(geometry).wrapped(b"", 2.0 * TILE), placement.homogeneous
        mesh = replace(mesh, image=_picture(kind), color=(1.0, 1.0, 1.0, 1.0), gloss=_GLOSS[kind])
        pieces.append(Piece(0, place, mesh, f"{kind}_{k}"))
    return pieces


def _kind(friction: float) -> str:
    return "ice" if friction < SLIPPERY else "rock" if friction >= ROUGH else "floor"


def _plane(
    plane: coal.Plane | coal.Halfspace, placement: pin.SE3, center: np.ndarray
) -> tuple[ColoredMesh, np.ndarray]:
    """A square in n · x = d whose tiles stay at multiples of their side."""
    normal = placement.rotation @ plane.n
    origin = placement.act(plane.d * plane.n)
    foot = center - normal * float(normal @ (center - origin))
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).matrix()
    steps = np.round(turn.T @ (foot - origin) / (2.0 * TILE)) * 2.0 * TILE
    half = PLANE_WIDTH / 2.0
    square = np.array([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0]])
    mesh = ColoredMesh.welded(square, np.array([[0, 1, 2], [0, 2, 3]])).wrapped(b"", 2.0 * TILE)
    return mesh, pin.SE3(turn, origin + turn @ [steps[0], steps[1], 0.0]).homogeneous


@cache
def _picture(kind: str) -> bytes:
    """Two by two tiles as a PNG that repeats."""
    light, dark, noise = _TILES[kind]
    rows, columns = np.indices((_PIXELS, _PIXELS)) // (_PIXELS // 2)
    pixels = np.where(((rows + columns) % 2)[:, :, None], dark, light).astype(float)
    rng = np.random.default_rng(1)
    # Coarse and fine grain.
    for cells in (_PIXELS // 8, _PIXELS // 2):
        grain = rng.normal(size=(cells, cells)).repeat(_PIXELS // cells, 0)
        pixels += noise * 0.5 * grain.repeat(_PIXELS // cells, 1)[:, :, None]
    file = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(file, format="PNG")
    return file.getvalue()
