"""Contacts of compiled steps as arrays for devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from nmdp_pin._jax.scene import BOX, CAPSULE, CROSSINGS, MINIMA, PLANE, SPHERE
from nmdp_pin._kernels.geometry.contacts import (
    N_FEATURES,
    N_MINIMA,
    POLYTOPES,
    SPHERE_MESH,
    SPHERE_PLANE,
    SPHERE_SOLID,
    ContactPairs,
)
from nmdp_pin._kernels.geometry.shape_table import INDEX, KIND
from nmdp_pin._terrain import HeightField, Terrain
from nmdp_pin.errors import IntegratorError

MOST_CONTACTS = 32  # contacts of a lane that act at once, of those that touch
_SHAPES = (PLANE, BOX, SPHERE, CAPSULE)
_WIDEST = 2  # cells of a height field in a radius


def contacts_of(
    pairs: ContactPairs, terrain: Terrain, body_of: np.ndarray
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `Structure` and `DeviceScene` have of contacts, by name.

    Args:
        pairs: contacts of compiled steps.
        terrain: the ground.
        body_of: bodies of the joints, shape (n + 1,); the first one is the world.

    Raises:
        IntegratorError: there are contacts that the JAX backend lacks.
    """
    _check(pairs, terrain)
    contacts = pairs.contact_kinds
    on_field = np.flatnonzero(contacts == SPHERE_MESH)[::N_MINIMA]
    others = np.flatnonzero(np.isin(contacts, (SPHERE_PLANE, SPHERE_SOLID)))
    spheres = np.concatenate([others, np.tile(on_field, MINIMA)])
    table = np.concatenate([pairs.kinds[:, :1], pairs.shapes[:, :16]], axis=1)
    rows, boxes, of_boxes = table[pairs.rows[spheres]], pairs.polytopes.rows, pairs.polytopes.pairs
    rows[:, 16] = pairs.friction[spheres]
    carriers, touched = body_of[pairs.bodies[spheres]].T
    heights, grid, window = np.zeros((0, 0)), np.zeros((2, 3)), (0, 0)
    if len(on_field):
        heights, grid = _grid(_field(terrain))
        window = _window(float(pairs.radii[on_field].max()), heights, grid)
    most = max(MOST_CONTACTS, CROSSINGS * (len(body_of) - 1) if len(of_boxes) else 0)
    structure = {
        "carriers": tuple(carriers.tolist()),
        "touched": tuple(touched.tolist()),
        "planes": bool((table[pairs.rows[others], 0] == PLANE).all()),
        "on_field": len(on_field),
        "window": window,
        "pairs": tuple(map(tuple, body_of[pairs.owners[boxes]][of_boxes].tolist())),
        "boxes": tuple(map(tuple, of_boxes.tolist())),
        "most": most,
    }
    arrays = {
        "points": pairs.local[spheres].T,
        "radii": pairs.radii[spheres],
        "shapes": rows.T.copy(),
        "stiffness": pairs.stiffness[spheres],
        "heights": heights,
        "grid": grid,
        "boxes": table[boxes].T.copy(),
        "box_friction": pairs.friction[contacts == POLYTOPES][::N_FEATURES],
        "box_stiffness": pairs.stiffness[contacts == POLYTOPES][::N_FEATURES],
    }
    return structure, arrays


def _field(terrain: Terrain) -> HeightField:
    """The height field of a terrain."""
    (field,) = (shape for shape in terrain.shapes if isinstance(shape, HeightField))
    return field


def _grid(field: HeightField) -> tuple[np.ndarray, np.ndarray]:
    """Heights, and the place of the first sample with the distances between samples."""
    heights, (dx, dy) = field.samples, field.steps
    ny, nx = heights.shape
    middle = np.array([0.5 * (nx - 1) * dx, 0.5 * (ny - 1) * dy, 0.0])
    return np.array(heights), np.stack([field.placement.translation - middle, [dx, dy, 0.0]])


def _window(radius: float, heights: np.ndarray, grid: np.ndarray) -> tuple[int, int]:
    """Samples along x and y that spheres of up to a radius look at."""
    cells = max(1, int(np.ceil(radius / grid[1, :2].min())))
    if cells > _WIDEST:
        raise IntegratorError(
            f"JAX has height fields whose samples are at least 1/{_WIDEST} of the radius of "
            f"contact spheres apart; these are {grid[1, :2].min():.3g} m apart, and the radius is "
            f"{radius:.3g} m: use the compiled rollout, or a coarser field"
        )
    ny, nx = heights.shape
    return min(2 * cells + 2, nx), min(2 * cells + 2, ny)


def _check(pairs: ContactPairs, terrain: Terrain) -> None:
    """Refuse contacts other than those of spheres with simple shapes and of boxes with boxes."""
    kinds, contacts = pairs.kinds[pairs.rows, KIND], pairs.contact_kinds
    simple = np.isin(contacts, (SPHERE_PLANE, SPHERE_SOLID)) & np.isin(kinds, _SHAPES)
    of_boxes = (contacts == POLYTOPES) & (kinds == BOX)
    of_boxes &= bool((pairs.kinds[pairs.polytopes.rows, KIND] == BOX).all())
    index = pairs.kinds[pairs.rows, INDEX]
    fields = [
        k
        for k, shape in enumerate(terrain.shapes)
        if isinstance(shape, HeightField) and not any(shape.rpy)
    ]
    on_field = (contacts == SPHERE_MESH) & (pairs.bodies[:, 1] == 0) & np.isin(index, fields)
    if not (simple | of_boxes | on_field).all():
        raise IntegratorError(
            "JAX has contacts of points and spheres with planes, boxes, balls, capsules and level "
            "height fields, and of boxes with boxes; this scene has others: choose contact points "
            "(contacts='feet'), or use the compiled rollout"
        )
    counts = np.bincount(pairs.owners)
    several = bool((counts[pairs.owners[pairs.polytopes.rows]] > 1).any())
    spheres = np.flatnonzero(~of_boxes)
    places = np.column_stack([pairs.points, pairs.local])[spheres]
    of_places = len(np.unique(places, axis=0))
    if several or of_places < len(
        np.unique(np.column_stack([places, pairs.rows[spheres]]), axis=0)
    ):
        raise IntegratorError(
            "JAX has terrains in which each contact point may touch one shape, and boxes that are "
            "all of their bodies; this scene has several: use the compiled rollout"
        )
