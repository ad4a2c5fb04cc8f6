"""Wrenches of a medium on an intruder, by integration over its surface: sampled motions."""

import numpy as np

from nmdp_pin._contact.granular.intruder import Surface
from nmdp_pin._contact.granular.medium import Medium

SLOPE = np.pi / 4.0  # [rad] of the oblique translations
# [cosine] over which an element goes from trailing to leading. A sharp edge would let half of a
# shaft count or not, where it moves along itself.
_EDGE = 0.2


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


def resistive_wrenches(
    medium: Medium, surface: Surface, rotation: np.ndarray, heights: np.ndarray, twists: np.ndarray
) -> np.ndarray:
    """Wrenches about the centre for every height and motion [N, N m], shape (h, m, 6).

    F = sum over elements of alpha(N, u) |z| dA for z < 0, with u the direction in which the element
    moves. Only leading elements count, N . u > 0; a thin plate always counts once. The rotation
    leads from the intruder to a frame whose z is up; heights, (h,) [m], are those of its centre
    above the medium, and motions are (velocity of the centre, angular velocity), (m, 6).
    """
    points, normals = surface.points @ rotation.T, surface.normals @ rotation.T
    move = twists[:, None, :3] + np.cross(twists[:, None, 3:], points)
    speed = np.linalg.norm(move, axis=2, keepdims=True)
    direction = np.divide(move, speed, out=np.zeros_like(move), where=speed > 0.0)
    stress = medium.stress(np.broadcast_to(normals, move.shape), direction)
    share = surface.areas * (speed[..., 0] > 0.0)
    if not surface.thin:
        share = share * _leading((normals * direction).sum(axis=2))
    force = stress * share[..., None]
    wrench = np.concatenate([force, np.cross(points, force)], axis=2)
    depths = np.maximum(-(heights[:, None] + points[:, 2]), 0.0)
    result: np.ndarray = np.einsum("hk,mkr->hmr", depths, wrench, optimize=True)
    return result


def _leading(cosine: np.ndarray) -> np.ndarray:
    """1 for elements that lead, 0 for those that trail, smooth in between."""
    x = np.clip(0.5 + 0.5 * cosine / _EDGE, 0.0, 1.0)
    smooth: np.ndarray = x * x * (3.0 - 2.0 * x)
    return smooth
