"""Sampled motions, whose resistance spans the wrench space of an intruder."""

import numpy as np

SLOPE = np.pi / 4.0  # [rad] of the oblique translations


def sampled_motions(azimuths: int) -> np.ndarray:
    """Twists (velocity of the centre, angular velocity) in a frame whose z is up, shape (m, 6).

    Straight down and up; for each of the azimuths level, obliquely down and obliquely up, and a
    turn about the level axis; and turns both ways about the vertical: m = 4 azimuths + 4. A pure
    turn has its axis through the centre. RFT knows no speed, so lengths mean nothing.

    The set is symmetric under x -> -x and y -> -y if `azimuths` is even.
    """
    angles = 2.0 * np.pi * np.arange(azimuths) / azimuths
    cos, sin, zero = np.cos(angles), np.sin(angles), np.zeros(azimuths)
    level = np.array([cos, sin, zero, zero, zero, zero]).T
    up = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    spin = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    turns = np.array([zero, zero, zero, cos, sin, zero]).T
    down, rise = (np.cos(SLOPE) * level + sign * np.sin(SLOPE) * up for sign in (-1.0, 1.0))
    return np.concatenate([[-up, up], level, down, rise, turns, [spin, -spin]]) + 0.0  # no -0
