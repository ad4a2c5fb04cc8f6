"""Surfaces that contacts may touch: the terrain and bodies, each in its own frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Surface, Terrain

_NEAR = 0.1  # [m]; of a body further off only the distance to its bounding box is computed


class _Body(NamedTuple):
    """The contacts with one body: their rows, its surface, the index of its first shape."""

    rows: np.ndarray
    surface: Terrain
    first_shape: int


class TouchedSurfaces:
    """The terrain for the contacts that touch it, the surfaces of bodies for the others.

    Shapes are numbered after those of the terrain, in the order of `Robot.surfaces`.

    Args:
        robot: robot with the contact points and the surfaces of bodies.
        terrain: static world.
    """

    def __init__(self, robot: Robot, terrain: Terrain) -> None:
        points = robot.contact_points
        self._terrain, self._n = terrain, len(points)
        self._n_terrain = points.n_terrain
        self._all_terrain = np.arange(self._n_terrain)
        self._radii = np.asarray(points.radii, dtype=float)[self._n_terrain :]
        touched = points.touches[self._n_terrain :]
        self._body = np.zeros(len(touched), dtype=int)
        self._bodies = []
        low, high = np.zeros((2, len(touched), 3))
        first = len(terrain.shapes)
        for index, (joint, surface) in enumerate(robot.surfaces.items()):
            rows = np.flatnonzero(touched == joint)
            self._body[rows] = index
            low[rows], high[rows] = surface.bounds()
            self._bodies.append(_Body(rows, surface, first))
            first += len(surface.shapes)
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)

    def query(self, points: np.ndarray) -> tuple[Surface, np.ndarray | None]:
        """The surfaces at points, and the contacts that were queried exactly (None: all of them).

        Args:
            points: points in the frames of the touched bodies [m], shape (n, 3).
        """
        if not len(self._radii):
            return self._terrain.query(points), None
        k = self._n_terrain
        ground = self._terrain.query(points[:k])
        here = points[k:]
        gap = np.abs(here - self._middle)
        gap -= self._half
        side = gap.argmax(axis=1)
        rows = np.arange(len(here))
        distance = gap[rows, side]
        normal = np.zeros_like(here)
        normal[rows, side] = np.copysign(1.0, (here - self._middle)[rows, side])
        near = ~(distance > self._radii + _NEAR)  # also where it is NaN
        asked = np.concatenate([self._all_terrain, k + near.nonzero()[0]])
        friction, shape = np.zeros(len(here)), np.full(len(here), -1)
        curvature = None
        for index in np.unique(self._body[near]):
            body = self._bodies[index]
            of_body = body.rows[near[body.rows]]
            found = body.surface.query(here[of_body])
            distance[of_body], normal[of_body] = found.distance, found.normal
            friction[of_body], shape[of_body] = found.friction, body.first_shape + found.shape
            if found.curvature is not None:
                curvature = np.zeros((len(here), 3, 3)) if curvature is None else curvature
                curvature[of_body] = found.curvature
        surface = Surface(
            np.concatenate([ground.distance, distance]),
            np.concatenate([ground.normal, normal]),
            _joined(ground.curvature, curvature, k, len(here)),
            np.concatenate([ground.friction, friction]),
            np.concatenate([ground.shape, shape]),
        )
        return surface, asked


def _joined(
    first: np.ndarray | None, second: np.ndarray | None, n_first: int, n_second: int
) -> np.ndarray | None:
    """Curvatures of both, None where both are flat."""
    if first is None and second is None:
        return None
    result = np.zeros((n_first + n_second, 3, 3))
    if first is not None:
        result[:n_first] = first
    if second is not None:
        result[n_first:] = second
    return result
