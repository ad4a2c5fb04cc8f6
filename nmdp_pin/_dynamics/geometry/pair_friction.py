"""The one friction coefficient of a pair of bodies that may touch."""

from collections.abc import Iterator, Mapping

import numpy as np

from nmdp_pin._kernels.geometry.shape_table import FRICTION, INDEX
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Terrain


def stated_values(surfaces: Mapping[int, Terrain], option: str, absent: float) -> np.ndarray:
    """An option of all rows of shapes, `absent` for None, and behind them `absent`, (s + 1,)."""
    found = [
        getattr(surface.shapes[index], option)
        for surface in surfaces.values()
        for index in surface.arrays.kinds[:, INDEX].tolist()
    ]
    return np.array([*(absent if x is None else x for x in found), absent], dtype=float)


def own_rows(
    robot: Robot, surfaces: Mapping[int, Terrain], rows_of: Mapping[int, list[int]]
) -> list[int]:
    """Rows of the shapes of whose bodies the contact points are parts, -1: none, (p,)."""
    points = robot.contact_points
    found = np.full(len(points), -1)
    for joint, surface in surfaces.items():
        at = np.flatnonzero(points.joints == joint)
        if joint and len(at):
            nearest = surface.query(points.positions[at]).shape
            rows = dict(zip(surface.arrays.kinds[:, INDEX].tolist(), rows_of[joint], strict=True))
            found[at] = [rows.get(shape, -1) for shape in nearest.tolist()]
    result: list[int] = found.tolist()
    return result


def pair_frictions(
    robot: Robot,
    surfaces: Mapping[int, Terrain],
    bodies: np.ndarray,
    touched: np.ndarray,
    own: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of k pairs, and the rows of the shapes whose they are, -1: of the pair alone.

    Of two coefficients the larger one counts, as in MuJoCo: it is symmetric, and a pad or a tyre
    that grips does so on whatever it touches. A shape without a coefficient takes the other one's,
    and 0.7 where none has one. `Robot.frictions` has exceptions.

    Args:
        robot: robot with exceptions by joints.
        surfaces: surfaces by joint, in the order of the table of shapes.
        bodies: joints of the pairs, shape (k, 2).
        touched: row of one of the shapes of each pair, shape (k,).
        own: row of the other one, -1: none, shape (k,).
    """
    stated = stated_values(surfaces, "friction", -1.0)
    rubbing: np.ndarray = np.where(stated[own] > stated[touched], own, touched)
    values = np.concatenate([surface.arrays.shapes[:, FRICTION] for surface in surfaces.values()])
    friction: np.ndarray = values[rubbing]
    for these, value in exceptions_of(robot.frictions, bodies):
        friction[these], rubbing[these] = value, -1
    return friction, rubbing


def exceptions_of(
    table: Mapping[tuple[int, int], float], bodies: np.ndarray
) -> Iterator[tuple[np.ndarray, float]]:
    """Masks of the pairs that a table of joints names, shape (k,), and its values."""
    ordered = np.sort(bodies, axis=1)
    for pair, value in table.items():
        yield (ordered == pair).all(axis=1), value
