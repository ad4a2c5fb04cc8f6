"""Twists of the surfaces that touch, such as belts and turntables, for the kernels."""

import itertools

import numpy as np

from nmdp_pin._dynamics.geometry.pair_friction import own_rows
from nmdp_pin._kernels.geometry.contacts import ContactPairs
from nmdp_pin._kernels.geometry.shape_table import INDEX
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import IntegratorError


def surface_twists(robot: Robot, terrain: Terrain, pairs: ContactPairs) -> np.ndarray:
    """Twists of the surfaces of both bodies of each pair, in their frames.

    Returns:
        Shape (k, 2, 6) in the order of `pairs.bodies`, or (0, 2, 6) where no surface moves.
    """
    surfaces = {0: terrain, **robot.surfaces}
    twists = np.zeros((len(pairs.kinds) + 1, 6))  # of the rows of shapes; the last one of none
    shapes = [*itertools.chain.from_iterable(surface.shapes for surface in surfaces.values())]
    for row, index in enumerate(pairs.kinds[:, INDEX].tolist()):
        if index < len(shapes):  # those behind are of links, which have none
            twists[row] = shapes[index].surface_twist
    if not twists.any():
        return np.zeros((0, 2, 6))
    rows_of = {j: np.flatnonzero(pairs.owners == j).tolist() for j in surfaces}
    own = np.array([*own_rows(robot, surfaces, rows_of), -1])
    of_world, of_polytopes = pairs.bodies[:, 0] == 0, pairs.pairs >= 0
    touching = own[np.where(of_world, -1, pairs.points)]
    touching[of_world] = pairs.surfaces[of_world]
    firsts = pairs.polytopes.pairs[pairs.pairs[of_polytopes], 0]
    touching[of_polytopes] = pairs.polytopes.rows[firsts]
    return np.stack([twists[touching], twists[pairs.rows]], axis=1)


def refuse_surface_motion(robot: Robot, terrain: Terrain, what: str) -> None:
    """Refuse surfaces that move for what does not simulate them.

    Raises:
        IntegratorError: one does.
    """
    surfaces = (terrain, *robot.surfaces.values())
    for shape in itertools.chain.from_iterable(surface.shapes for surface in surfaces):
        if shape.surface_twist.any():
            raise IntegratorError(
                f"{what} does not simulate surfaces that move, and a {type(shape).__name__} has a "
                "surface_velocity or surface_angular_velocity; use 'ne-nmdp', 'pbd-nmdp' or 'pbfd'"
            )
