"""Rims of flat ends that lie across rounded shapes, where they touch at two places.

These are where the distance along the rim is least. They are looked for at equal turns, the first
on one side of the place that is held and the second on the other, so that each stays the same as
the body moves.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import Vector3, axpy, dot, length, scaled
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.geometry.contacts import DISC, N_ROUNDED, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.primitives import CAPSULE, CONE, CYLINDER, ELLIPSOID, SPHERE
from nmdp_pin._kernels.geometry.shape_table import KIND, axis_of, tip_sine
from nmdp_pin._kernels.geometry.swept import arm_of
from nmdp_pin._kernels.geometry.touched_surface import ACROSS, distance_to, surface_at

_SIDE = 0.1  # [-] cosine to which a normal is that of a side
_PLACES = 24  # around a rim, beside which its least distances are
_OPPOSITE = 1e-9  # [-] length of the sum of two directions that are opposite


@jit
def is_rounded(candidates: ContactPairs, contacts: Contacts, k: int) -> bool:
    """Whether candidate k is of a disc and a shape that bends where it touches."""
    kind, faces = candidates.kinds[candidates.rows[k], KIND], contacts.faces[k]
    rounded: bool = kind == SPHERE or kind == CAPSULE or kind == ELLIPSOID
    if kind == CYLINDER or kind == CONE:
        rounded = faces >= 0 and faces & ACROSS > 0
    return rounded and candidates.contact_kinds[k] == DISC


@jit
def is_spare(candidates: ContactPairs, contacts: Contacts, k: int) -> bool:
    """Whether a candidate of a disc is more than the two that move where a shape bends."""
    moves = contacts.rolling and is_rounded(candidates, contacts, k)
    spare: bool = moves and candidates.slots[k] >= N_ROUNDED
    return spare


@jit
def note_side(candidates: ContactPairs, contacts: Contacts, k: int, x: Vector3) -> None:
    """Note whether a rim touches the side of a cylinder or cone at its nearest point x."""
    row, shapes = candidates.rows[k], candidates.shapes
    kind, sine = candidates.kinds[row, KIND], 0.0
    if contacts.faces[k] < 0 or candidates.contact_kinds[k] != DISC:
        return
    if kind == CONE:
        sine = tip_sine(shapes, row)
    elif kind != CYLINDER:
        return
    _, n = surface_at(candidates, contacts, k, x, False)
    contacts.faces[k] &= ~ACROSS
    if abs(dot(n, axis_of(shapes, row, 2)) - sine) <= _SIDE:
        contacts.faces[k] |= ACROSS


@jit
def least_of_rim(
    candidates: ContactPairs,
    contacts: Contacts,
    k: int,
    E: Array,
    middle: Vector3,
    held: Vector3,
) -> tuple[Vector3, Vector3, int]:
    """Directions u to where the distance to a rounded shape is least along a rim; how many.

    They are the first place on one side of that which is held, and the first on the other side.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        k: candidate.
        E: semi-axes of the disc [m], shape (3, 3).
        middle: its middle [m].
        held: direction u to the place that is held.
    """
    heights = np.empty(_PLACES)
    for j in range(_PLACES):
        x = axpy(middle, 1.0, arm_of(E, _turned(held, 2.0 * math.pi * j / _PLACES)))
        heights[j] = distance_to(candidates, contacts, k, x)
    first, last = -1, -1
    for i in range(_PLACES):
        j = _PLACES - i if i > 0 else 0
        before, after = heights[j - 1], heights[(j + 1) % _PLACES]
        if heights[j] <= before and heights[j] < after:
            first, last = j if first < 0 else first, j
    if first < 0:
        return held, held, 0
    one = _turned(held, 2.0 * math.pi * first / _PLACES)
    return one, _turned(held, 2.0 * math.pi * last / _PLACES), 1 if first == last else 2


@jit
def _turned(u: Vector3, angle: float) -> Vector3:
    """A direction in the plane of a disc, turned by an angle [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    return c * u[0] - s * u[1], s * u[0] + c * u[1], 0.0


@jit
def between(one: Vector3, other: Vector3) -> Vector3:
    """The direction between two places of a rim."""
    v = axpy(one, 1.0, other)
    size = length(v)
    return scaled(v, 1.0 / size) if size > _OPPOSITE else _turned(one, 0.5 * math.pi)
