"""Circles: where they are nearest to lines and to each other.

A circle is given by its axis, which is a unit vector, its radius and the arm from its centre to a
place on it.
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.vector3 import Vector3, axpy, cross, dot, length, minus, scaled
from nmdp_pin._kernels.compiler.jit import jit
from nmdp_pin._kernels.geometry.polytopes import PARALLEL, TILT

# Parts of a circle that touch a line: the nearest point, or one of two that cross it.
NEAREST, FIRST_CROSSING, SECOND_CROSSING = 0, 1, 2
PLACES = 16  # around a rim, from which those nearest to another are found
_FACING = 0.5  # [-] cosine beyond which directions count as along each other
_TURNS, _LARGEST = 30, 0.5  # Newton steps along a rim, and the largest one [rad]
_AIMED = 1e-15  # [rad] last step to the nearest point
_FOUND = 1e-9  # [-] slope of the distance there
_STEPS = 60  # to the direction of the least overlap
_BESIDE = 0.05  # [rad] slope beside a saddle
_SECTIONS, _GOLDEN = 16, 0.6180339887498949  # of the way between places, and their share


@jit
def arm_to_line(axis: Vector3, radius: float, y: Vector3, f: Vector3) -> tuple[Vector3, bool]:
    """Arm from the centre of a rim to where it is nearest to a line; False where there is none.

    With w = a x f and b = a x w, normalised, the circle r (cos t w + sin t b) is seen along f as
    an ellipse r (cos t, e sin t), e = a . f, and the line as a point (y1, y2). At the least
    distance y1 sin t = e y2 cos t + r (1 - e^2) sin t cos t.

    Args:
        axis: direction a out of the flat end.
        radius: radius r of the rim [m].
        y: a point of the line, relative to the centre [m].
        f: unit vector along the line.
    """
    if dot(axis, f) < 0.0:
        f = scaled(f, -1.0)
    e, w = dot(axis, f), cross(axis, f)
    size = length(w)
    if size > _FOUND:
        w = scaled(w, 1.0 / size)
    else:  # seen as a circle
        aside = (1.0, 0.0, 0.0) if abs(axis[0]) < TILT else (0.0, 1.0, 0.0)
        w = cross(axis, aside)
        w = scaled(w, 1.0 / length(w))
    b, up = cross(axis, w), cross(f, w)
    y1, y2, bent = dot(y, w), dot(y, up), radius * (1.0 - e * e)
    t = math.atan2(y2, e * y1)
    if y2 < 0.0 and e < _FACING:  # deeper than the rim is high: from the point above it
        t = math.acos(min(max(y1 / radius, -1.0), 1.0))
    slope, curvature = 0.0, 0.0
    for _ in range(_TURNS):
        s, c = math.sin(t), math.cos(t)
        slope = y1 * s - e * y2 * c - bent * s * c
        curvature = y1 * c + e * y2 * s - bent * (c * c - s * s)
        step = -slope / curvature if curvature > 0.0 else -math.copysign(_LARGEST, slope)
        t += min(max(step, -_LARGEST), _LARGEST)
        if abs(step) <= _AIMED:
            break
    arm = axpy(scaled(w, radius * math.cos(t)), radius * math.sin(t), b)
    return arm, curvature > 0.0 and abs(slope) <= _FOUND * radius


@jit
def crossing_arm(
    axis: Vector3, radius: float, y: Vector3, f: Vector3, part: int
) -> tuple[Vector3, float]:
    """Arm from the centre to where a line along the flat end crosses the rim; see `arm_to_line`.

    With it goes half the length of the chord, 0 where there is none [m].
    """
    along = axpy(f, -dot(f, axis), axis)
    along = scaled(along, 1.0 / length(along))
    off = axpy(y, -dot(y, axis), axis)
    off = axpy(off, -dot(off, along), along)
    half = math.sqrt(max(radius * radius - dot(off, off), 0.0))
    return axpy(off, math.copysign(half, part - 1.5), along), half


@jit
def normal_to_line(axis: Vector3, arm: Vector3, f: Vector3, part: int) -> Vector3:
    """Normal across an edge and the tangent of a rim, into the latter; 0 where there is none."""
    n = cross(cross(axis, arm), f)
    size = length(n)
    if size <= PARALLEL * length(arm):
        return 0.0, 0.0, 0.0
    out = dot(n, arm) if part == NEAREST else dot(n, axis)
    return scaled(n, (-1.0 if out > 0.0 else 1.0) / size)


@jit
def _rotated_arm(axis: Vector3, arm: Vector3, angle: float) -> Vector3:
    """An arm across an axis, turned about it."""
    return axpy(scaled(arm, math.cos(angle)), math.sin(angle), cross(axis, arm))


@jit
def _arm_towards(axis: Vector3, radius: float, y: Vector3) -> Vector3:
    """Arm of a rim towards a point, relative to its centre."""
    arm = axpy(y, -dot(y, axis), axis)
    size = length(arm)
    return scaled(arm, radius / size) if size > 0.0 else arm


@jit
def arms_between(
    axis: Vector3, arm: Vector3, y: Vector3, other: Vector3, radius: float
) -> tuple[Vector3, Vector3, bool]:
    """Arms of two rims to where they are nearest to each other; False where that is not found.

    Newton's method for the least |p - y - x|^2 / 2 along both circles, or a saddle that is near.

    Args:
        axis: direction out of the first one.
        arm: arm p of the first one, with which to begin [m].
        y: centre of the second one, relative to that of the first [m].
        other: direction out of the second one.
        radius: its radius [m].
    """
    far, size = _arm_towards(other, radius, minus(arm, y)), dot(arm, arm)
    slope, known = math.inf, False
    for _ in range(_TURNS):
        off, e, f = minus(minus(arm, y), far), cross(axis, arm), cross(other, far)
        a, b, mixed = dot(off, e), -dot(off, f), -dot(e, f)
        own, across = size - dot(off, arm), radius * radius + dot(off, far)
        slope = max(abs(a) / size, abs(b) / (radius * radius))
        below = own * across - mixed * mixed
        known = own > 0.0 and across > 0.0 and below != 0.0
        if slope <= _AIMED:
            break
        if not known or (below < 0.0 and slope > _BESIDE):
            own, across, mixed = 2.0 * size, 2.0 * radius * radius, 0.0
            below = own * across
        dt, ds = (mixed * b - across * a) / below, (mixed * a - own * b) / below
        arm = _rotated_arm(axis, arm, min(max(dt, -_LARGEST), _LARGEST))
        far = _rotated_arm(other, far, min(max(ds, -_LARGEST), _LARGEST))
    return arm, far, known and slope <= _FOUND


@jit
def normal_of_circles(
    axis: Vector3, arm: Vector3, least: float, other: Vector3, far: Vector3
) -> Vector3:
    """Normal across the tangents of two rims, into the first one; 0 where there is none."""
    n = cross(cross(axis, arm), cross(other, far))
    size, radius = length(n), length(arm)
    if size <= PARALLEL * radius * length(far):
        return 0.0, 0.0, 0.0
    out = (1.0 + least) * dot(n, axis) + math.sqrt(1.0 - least * least) * dot(n, arm) / radius
    return scaled(n, (-1.0 if out > 0.0 else 1.0) / size)


@jit
def sample(axis: Vector3, radius: float, j: int) -> Vector3:
    """Arm to place j around a rim."""
    aside = (1.0, 0.0, 0.0) if abs(axis[0]) < _FACING else (0.0, 1.0, 0.0)
    return _rotated_arm(axis, _arm_towards(axis, radius, aside), 2.0 * math.pi * j / PLACES)


@jit
def is_nearest(
    axis: Vector3, radius: float, j: int, y: Vector3, other: Vector3, size: float
) -> bool:
    """Whether place j is not farther from another circle than those beside it; see `start_of`."""
    before, here = sample(axis, radius, j - 1), sample(axis, radius, j)
    after = sample(axis, radius, j + 1)
    beside = min(_apart(before, y, other, size), _apart(after, y, other, size))
    return j == PLACES or _apart(here, y, other, size) <= beside


@jit
def start_of(
    axis: Vector3, radius: float, j: int, y: Vector3, other: Vector3, size: float
) -> Vector3:
    """Arm to near where a rim is nearest to another, of those between the places beside place j.

    It is found by golden sections. Newton's method alone would leave for other places. The last
    place is that of the least overlap.
    """
    if j == PLACES:
        return _arm_across(axis, radius, y, other, size)
    middle, low, high = sample(axis, radius, j), -2.0 * math.pi / PLACES, 2.0 * math.pi / PLACES
    for _ in range(_SECTIONS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        one, two = _rotated_arm(axis, middle, left), _rotated_arm(axis, middle, right)
        if _apart(one, y, other, size) < _apart(two, y, other, size):
            high = right
        else:
            low = left
    return _rotated_arm(axis, middle, 0.5 * (low + high))


@jit
def _arm_across(axis: Vector3, radius: float, y: Vector3, other: Vector3, size: float) -> Vector3:
    """Arm of a rim to near where it overlaps another least: where their tangents are parallel.

    There the distance may have a saddle, and no least. The direction along which the rims are
    farthest apart is found by steps along the vector between the points that are nearest in it.
    """
    n = minus(other, axis)
    for _ in range(_STEPS):
        n = scaled(n, 1.0 / max(length(n), _FOUND))
        arm = _arm_towards(axis, radius, scaled(n, -1.0))
        off = minus(minus(arm, y), _arm_towards(other, size, n))
        one, two = length(cross(axis, n)), length(cross(other, n))  # which bend the distance
        share = one * two / max(radius * two + size * one, _FOUND)
        n = axpy(n, share, axpy(off, -dot(off, n), n))
    return _arm_towards(axis, radius, scaled(n, -1.0))


@jit
def _apart(arm: Vector3, y: Vector3, other: Vector3, size: float) -> float:
    """Distance from a place on a rim to another rim [m]."""
    off = minus(arm, y)
    return length(minus(off, _arm_towards(other, size, off)))
