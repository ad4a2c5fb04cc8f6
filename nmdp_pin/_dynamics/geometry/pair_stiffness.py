"""The one stiffness of a pair of bodies that may touch."""

from collections.abc import Mapping

import numpy as np

from nmdp_pin._dynamics.geometry.pair_friction import exceptions_of, stated_values
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Terrain


def pair_stiffnesses(
    robot: Robot,
    surfaces: Mapping[int, Terrain],
    bodies: np.ndarray,
    touched: np.ndarray,
    own: np.ndarray,
    power: float,
) -> np.ndarray:
    """Stiffnesses of k pairs, NaN: neither side states one [N/m^p].

    Two that are stated are in series: under the force that both bear their depths add up,

        k^(-1/p) = k_1^(-1/p) + k_2^(-1/p),    for p = 1    1 / k = 1 / k_1 + 1 / k_2.

    One alone is that of the pair: like friction, what states nothing leaves it to the other side.
    `Robot.stiffnesses` has exceptions.

    Args:
        robot: robot with exceptions by joints.
        surfaces: surfaces by joint, in the order of the table of shapes.
        bodies: joints of the pairs, shape (k, 2).
        touched: row of one of the shapes of each pair, shape (k,).
        own: row of the other one, -1: none, shape (k,).
        power: exponent p of the depth.
    """
    stated = stated_values(surfaces, "stiffness", np.nan)
    one, other = stated[touched], stated[own]
    with np.errstate(divide="ignore", over="ignore"):  # of two rigid sides, or next to none
        series = (one ** (-1.0 / power) + other ** (-1.0 / power)) ** -power
    alone: np.ndarray = np.where(np.isnan(one), other, one)
    result: np.ndarray = np.where(np.isnan(series), alone, series)
    for these, value in exceptions_of(robot.stiffnesses, bodies):
        result[these] = value
    return result
