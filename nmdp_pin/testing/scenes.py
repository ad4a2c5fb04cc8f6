"""Grounds and contacts to try contact models on."""

import numpy as np

from nmdp_pin._contact import ContactState
from nmdp_pin._terrain import Cylinder, Plane, Sphere, Terrain

PLANES = {
    "flat": (0.0, 0.0, 1.0),
    "tilted": (0.3, -0.5, 0.8),
    "wall": (0.8, 0.6, 0.0),
    "ceiling": (0.0, 0.0, -1.0),
    "overhang": (-0.4, 0.2, -0.9),
}
GROUNDS = (*PLANES, "sphere", "cylinder")
_FRICTION = 0.6


def contact_state(
    terrain: Terrain, position: np.ndarray, rotation: np.ndarray, radius: float = 0.02
) -> ContactState:
    """Contact spheres over a terrain.

    Args:
        terrain: the ground.
        position: position of the centres [m], shape (n, 3).
        rotation: rotation of the bodies that carry them, shape (n, 3, 3).
        radius: radius of the spheres [m].
    """
    n = len(position)
    surface = terrain.query(position)
    return ContactState(
        position=position,
        rotation=rotation,
        depth=radius - surface.distance,
        normal=surface.normal,
        curvature=surface.curvature,
        friction=surface.friction,
        radius=np.full(n, radius),
        surface=surface.shape,
        contact=np.arange(n),
    )


def ground_through(kind: str, points: np.ndarray) -> Terrain:
    """A ground, one of GROUNDS or "valley", whose surface has about half of `points` inside.

    The valley has two shapes, which meet below the mean of the points.
    """
    if kind in PLANES:
        return Terrain([_plane(PLANES[kind], points)])
    if kind == "valley":
        return Terrain([_plane((0.5, 0.1, 1.0), points), _plane((-0.5, 0.2, 1.0), points)])
    below = points.mean(axis=0) - [0.3, 0.2, 1.5]
    position = (float(below[0]), float(below[1]), float(below[2]))
    if kind == "sphere":
        radius = _between(np.linalg.norm(points - below, axis=1))
        return Terrain([Sphere(radius=radius, position=position, friction=_FRICTION)])
    radius = _between(np.linalg.norm((points - below)[:, 1:], axis=1))
    along_x = (0.0, np.pi / 2, 0.0)
    return Terrain(
        [Cylinder(radius=radius, length=50.0, position=position, rpy=along_x, friction=_FRICTION)]
    )


def weights(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Random weights inside the simplices, shape (n, m)."""
    return rng.dirichlet(np.ones(m + 1), size=n)[:, :m].copy()


def _plane(normal: tuple[float, float, float], points: np.ndarray) -> Plane:
    level = points @ (np.array(normal) / np.linalg.norm(normal))
    return Plane(normal=normal, offset=_between(level), friction=_FRICTION)


def _between(levels: np.ndarray) -> float:
    """A level with about half of the others below, none close to it."""
    ordered = np.sort(levels)
    k = len(ordered) // 2
    return float(0.5 * (ordered[k - 1] + ordered[k])) if len(ordered) > 1 else ordered[0] + 0.05
