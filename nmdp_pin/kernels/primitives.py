"""Signed distance, normal and Hessian of boxes, spheres, cylinders and capsules.

Arguments are in the frame of the shape: `p` is a point, `half` the half extents of the bounding
box [m].
The kinds are the integers below.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.vector3 import Vector3, length, scaled

BOX, SPHERE, CYLINDER, CAPSULE = 1, 2, 3, 4
_CLOSEST = 1e-12  # [m] radius below which the curvature at an edge no longer grows


@jit
def primitive_distance(kind: int, p: Vector3, half: Vector3) -> float:
    """Signed distance, negative inside [m]."""
    if kind == BOX:
        x, y, z = abs(p[0]) - half[0], abs(p[1]) - half[1], abs(p[2]) - half[2]
        most = max(x, y, z)
        return most if most <= 0.0 else length((max(x, 0.0), max(y, 0.0), max(z, 0.0)))
    if kind == CYLINDER:
        side, cap = math.sqrt(p[0] * p[0] + p[1] * p[1]) - half[0], abs(p[2]) - half[2]
        if side > 0.0 and cap > 0.0:
            return math.sqrt(side * side + cap * cap)
        return max(side, cap)
    return length(_from_axis(kind, p, half)) - half[0]


@jit
def _from_axis(kind: int, p: Vector3, half: Vector3) -> Vector3:
    """Vector to the point from the centre of a ball or the nearest axis point of a capsule."""
    straight = half[2] - half[0] if kind == CAPSULE else 0.0
    return p[0], p[1], p[2] - min(max(p[2], -straight), straight)


@jit
def primitive_normal(kind: int, p: Vector3, half: Vector3, distance: float) -> Vector3:
    """Gradient of the signed distance, a unit vector.

    Where several are possible the choice is coal's: inside a box the x axis comes before y and y
    before z, a coordinate 0 counts as positive, on the axis of a cylinder and in the centre of a
    sphere it is the x axis, on that of a capsule -x. Inside a cylinder caps come before the side.

    Args:
        kind: kind of the shape.
        p: point [m].
        half: half extents [m].
        distance: result of `primitive_distance` at the point [m].
    """
    if kind == BOX:
        return _box_normal(p, half, distance)
    if kind == CYLINDER:
        return _cylinder_normal(p, half, distance)
    arm = _from_axis(kind, p, half)
    r = length(arm)
    if r > 0.0:
        return scaled(arm, 1.0 / r)
    return (-1.0 if kind == CAPSULE else 1.0), 0.0, 0.0


@jit
def _box_normal(p: Vector3, half: Vector3, distance: float) -> Vector3:
    x, y, z = abs(p[0]) - half[0], abs(p[1]) - half[1], abs(p[2]) - half[2]
    east, north = 1.0 if p[0] >= 0.0 else -1.0, 1.0 if p[1] >= 0.0 else -1.0
    up = 1.0 if p[2] >= 0.0 else -1.0
    if distance > 0.0:
        x, y, z = max(x, 0.0) / distance, max(y, 0.0) / distance, max(z, 0.0) / distance
        return east * x, north * y, up * z
    if x >= y and x >= z:
        return east, 0.0, 0.0
    return (0.0, north, 0.0) if y >= z else (0.0, 0.0, up)


@jit
def _cylinder_normal(p: Vector3, half: Vector3, distance: float) -> Vector3:
    rho = math.sqrt(p[0] * p[0] + p[1] * p[1])
    x, y = (p[0] / rho, p[1] / rho) if rho > 0.0 else (1.0, 0.0)
    up = 1.0 if p[2] >= 0.0 else -1.0
    side, cap = rho - half[0], abs(p[2]) - half[2]
    if side > 0.0 and cap > 0.0:
        return x * side / distance, y * side / distance, up * cap / distance
    return (0.0, 0.0, up) if cap >= side else (x, y, 0.0)


@jit
def primitive_hessian(
    kind: int, p: Vector3, half: Vector3, n: Vector3, hessian: np.ndarray
) -> bool:
    """Write the Hessian of the signed distance into `hessian`; False where it is zero.

    (P - nn') / phi over the edges and vertices of a box, P projecting on the axes along which the
    point is outside; (I - nn') / |x - c| of a ball about c; of a capsule the same, beside the tube
    less zz' / |x - c|; tt' / rho at the side of a cylinder and tt' (n.e) / rho + mm' / phi at its
    rim, e pointing away from the axis, t = z x e going around it and m being the other unit vector
    of the plane of e and z.

    Args:
        kind: kind of the shape.
        p: point [m].
        half: half extents [m].
        n: result of `primitive_normal` at the point.
        hessian: output where the result is True [1/m], shape (3, 3).
    """
    if kind == BOX:
        return _box_hessian(p, half, n, hessian)
    if kind == CYLINDER:
        return _cylinder_hessian(p, half, n, hessian)
    r = max(length(_from_axis(kind, p, half)), _CLOSEST)
    for i in range(3):
        for j in range(3):
            hessian[i, j] = ((1.0 if i == j else 0.0) - n[i] * n[j]) / r
    if kind == CAPSULE and abs(p[2]) < half[2] - half[0]:
        hessian[2, 2] = 0.0
    return True


@jit
def _box_hessian(p: Vector3, half: Vector3, n: Vector3, hessian: np.ndarray) -> bool:
    squared, beyond = 0.0, 0
    for k in range(3):
        gap = abs(p[k]) - half[k]
        if gap > 0.0:
            squared += gap * gap
            beyond += 1
    if beyond < 2:
        return False
    phi = max(math.sqrt(squared), _CLOSEST)
    for i in range(3):
        for j in range(3):
            hessian[i, j] = -n[i] * n[j] / phi
        if abs(p[i]) > half[i]:
            hessian[i, i] += 1.0 / phi
    return True


@jit
def _cylinder_hessian(p: Vector3, half: Vector3, n: Vector3, hessian: np.ndarray) -> bool:
    rho = max(math.sqrt(p[0] * p[0] + p[1] * p[1]), _CLOSEST)
    side, cap = rho - half[0], abs(p[2]) - half[2]
    if side <= 0.0 and cap >= side:
        return False
    x, y = p[0] / rho, p[1] / rho
    rim = side > 0.0 and cap > 0.0
    e_n, over_phi = 1.0, 0.0
    if rim:
        e_n = x * n[0] + y * n[1]
        over_phi = 1.0 / max(math.sqrt(side * side + cap * cap), _CLOSEST)
    t, m = (-y, x, 0.0), (-n[2] * x, -n[2] * y, e_n)
    for i in range(3):
        for j in range(3):
            hessian[i, j] = e_n / rho * t[i] * t[j] + over_phi * m[i] * m[j]
    return True
