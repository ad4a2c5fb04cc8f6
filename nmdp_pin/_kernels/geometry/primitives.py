"""Signed distance, normal and Hessian of boxes and round solids.

Arguments are in the frame of the shape: `p` is a point, `half` the half extents of the bounding
box [m].
The kinds are the integers below.
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.vector3 import Vector3, dot, length, scaled
from nmdp_pin._kernels.compiler.jit import Array, jit

BOX, SPHERE, CYLINDER, CAPSULE, CONE, ELLIPSOID = 1, 2, 3, 4, 5, 6
_BASE, _SIDE, _TIP, _RIM = 0, 1, 2, 3  # features of a cone
_CLOSEST = 1e-12  # [m] radius below which the curvature at an edge no longer grows
_BESIDE = 1e-100  # [-] of a semi-axis by which points are kept from the planes between the others
_MOST = 50  # Newton steps to the nearest point of an ellipsoid; it takes about six


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
    if kind == CONE:
        return _cone_feature(p, half)[1]
    if kind == ELLIPSOID:
        return _ellipsoid_offset(p, half)[0]
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
    sphere it is the x axis, on that of a capsule -x. Inside a cylinder caps come before the side,
    inside a cone the base does.

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
    if kind == CONE:
        return _cone_normal(p, half)
    if kind == ELLIPSOID:
        return _ellipsoid_offset(p, half)[1]
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
def primitive_hessian(kind: int, p: Vector3, half: Vector3, n: Vector3, hessian: Array) -> bool:
    """Write the Hessian of the signed distance into `hessian`; False where it is zero.

    (P - nn') / phi over the edges and vertices of a box, P projecting on the axes along which the
    point is outside; (I - nn') / |x - c| of a ball about c; of a capsule the same, beside the tube
    less zz' / |x - c|; tt' (n.e) / rho at the side of a cylinder or cone, with mm' / phi at a rim,
    e pointing away from the axis, t = z x e going around it and m being the other unit vector of
    the plane of e and z; of an ellipsoid that of the surface moved along its normals, see
    `_ellipsoid_hessian`.

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
    if kind == CONE:
        return _cone_hessian(p, half, n, hessian)
    if kind == ELLIPSOID:
        return _ellipsoid_hessian(p, half, n, hessian)
    r = max(length(_from_axis(kind, p, half)), _CLOSEST)
    for i in range(3):
        for j in range(3):
            hessian[i, j] = ((1.0 if i == j else 0.0) - n[i] * n[j]) / r
    if kind == CAPSULE and abs(p[2]) < half[2] - half[0]:
        hessian[2, 2] = 0.0
    return True


@jit
def _box_hessian(p: Vector3, half: Vector3, n: Vector3, hessian: Array) -> bool:
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
def _cylinder_hessian(p: Vector3, half: Vector3, n: Vector3, hessian: Array) -> bool:
    side, cap = math.sqrt(p[0] * p[0] + p[1] * p[1]) - half[0], abs(p[2]) - half[2]
    if side <= 0.0 and cap >= side:
        return False
    rim = side > 0.0 and cap > 0.0
    revolved_hessian(p, n, math.sqrt(side * side + cap * cap) if rim else math.inf, hessian)
    return True


@jit
def revolved_hessian(p: Vector3, n: Vector3, beyond: float, hessian: Array) -> None:
    """Hessian at a solid of revolution.

    Args:
        p: point [m].
        n: normal.
        beyond: distance from the rim that is nearest, inf where a side is [m].
        hessian: output [1/m], shape (3, 3).
    """
    rho = max(math.sqrt(p[0] * p[0] + p[1] * p[1]), _CLOSEST)
    x, y = p[0] / rho, p[1] / rho
    e_n = x * n[0] + y * n[1]
    t, m = (-y, x, 0.0), (-n[2] * x, -n[2] * y, e_n)
    for i in range(3):
        for j in range(3):
            around, across = e_n / rho * t[i] * t[j], m[i] * m[j] / max(beyond, _CLOSEST)
            hessian[i, j] = around + across


@jit
def _cone_feature(p: Vector3, half: Vector3) -> tuple[int, float]:
    """The feature of a cone that is nearest, and the signed distance [m]."""
    radius, tall = half[0], 2.0 * half[2]
    rho, slant = math.sqrt(p[0] * p[0] + p[1] * p[1]), math.sqrt(half[0] ** 2 + tall * tall)
    side, base = (rho * tall + (p[2] - half[2]) * radius) / slant, -half[2] - p[2]
    if side <= 0.0 and base <= 0.0:
        return (_BASE, base) if base >= side else (_SIDE, side)
    if base > 0.0 and rho <= radius:
        return _BASE, base
    along = ((radius - rho) * radius + (p[2] + half[2]) * tall) / slant
    if along < 0.0:
        return _RIM, math.sqrt((rho - radius) ** 2 + base * base)
    if along > slant:
        return _TIP, math.sqrt(rho * rho + (p[2] - half[2]) ** 2)
    return _SIDE, side


@jit
def _cone_normal(p: Vector3, half: Vector3) -> Vector3:
    feature, phi = _cone_feature(p, half)
    rho, tall = math.sqrt(p[0] * p[0] + p[1] * p[1]), 2.0 * half[2]
    x, y = (p[0] / rho, p[1] / rho) if rho > 0.0 else (1.0, 0.0)
    if feature == _BASE:
        return 0.0, 0.0, -1.0
    if feature == _SIDE or phi <= 0.0:
        slant = math.sqrt(half[0] * half[0] + tall * tall)
        return x * tall / slant, y * tall / slant, half[0] / slant
    if feature == _TIP:
        return p[0] / phi, p[1] / phi, (p[2] - half[2]) / phi
    return x * (rho - half[0]) / phi, y * (rho - half[0]) / phi, (p[2] + half[2]) / phi


@jit
def _cone_hessian(p: Vector3, half: Vector3, n: Vector3, hessian: Array) -> bool:
    feature, phi = _cone_feature(p, half)
    if feature == _BASE:
        return False
    if feature == _TIP:
        for i in range(3):
            for j in range(3):
                hessian[i, j] = ((1.0 if i == j else 0.0) - n[i] * n[j]) / max(phi, _CLOSEST)
        return True
    revolved_hessian(p, n, phi if feature == _RIM else math.inf, hessian)
    return True


@jit
def _ellipsoid_offset(p: Vector3, half: Vector3) -> tuple[float, Vector3]:
    """Signed distance to an ellipsoid with semi-axes a_i [m], and its gradient.

    The nearest point is a_i^2 p_i / (a_i^2 + t), where t is the largest root of
    sum_i (a_i p_i / (a_i^2 + t))^2 = 1, which Newton's method approaches from below. It counts
    from -a_i^2 of the shortest semi-axis, whose sum with t would cancel near the centre.
    """
    shortest = min(half[0], half[1], half[2]) ** 2
    a = (half[0] ** 2 - shortest, half[1] ** 2 - shortest, half[2] ** 2 - shortest)
    x, y, z = _off_plane(p[0], half[0]), _off_plane(p[1], half[1]), _off_plane(p[2], half[2])
    t = max(abs(x) * half[0] - a[0], abs(y) * half[1] - a[1], abs(z) * half[2] - a[2])
    for _ in range(_MOST):
        u, v, w = half[0] * x / (a[0] + t), half[1] * y / (a[1] + t), half[2] * z / (a[2] + t)
        over = u * u + v * v + w * w - 1.0
        slope = u * u / (a[0] + t) + v * v / (a[1] + t) + w * w / (a[2] + t)
        before, t = t, t + 0.5 * over / slope
        if not t > before:
            break
    n = (x / (a[0] + t), y / (a[1] + t), z / (a[2] + t))
    size = length(n)
    return (t - shortest) * size, scaled(n, 1.0 / size)


@jit
def _off_plane(x: float, semi_axis: float) -> float:
    """A coordinate at least `_BESIDE` of a semi-axis from 0."""
    least = _BESIDE * semi_axis
    return x if abs(x) >= least else (least if x >= 0.0 else -least)


@jit
def _ellipsoid_hessian(p: Vector3, half: Vector3, n: Vector3, hessian: Array) -> bool:
    """S (1 + phi S)^-1, with the derivative S of the normal along the surface itself.

    S = P A P / |A x| at the nearest point x, with A = diag(1 / a_i^2) and P = 1 - n n'. In the
    tangent plane the inverse is that of a matrix of two rows.
    """
    phi, _ = _ellipsoid_offset(p, half)
    A = (1.0 / half[0] ** 2, 1.0 / half[1] ** 2, 1.0 / half[2] ** 2)
    bent = (A[0] * n[0], A[1] * n[1], A[2] * n[2])
    # |A x| for the point x = A^-1 n / sqrt(n . A^-1 n) with the normal n
    size = 1.0 / math.sqrt(n[0] ** 2 / A[0] + n[1] ** 2 / A[1] + n[2] ** 2 / A[2])
    nAn, trace, squares = dot(n, bent), 0.0, 0.0
    for i in range(3):
        for j in range(3):
            own = (A[i] if i == j else 0.0) - n[i] * bent[j] - bent[i] * n[j] + n[i] * n[j] * nAn
            hessian[i, j] = own / size
            squares += hessian[i, j] ** 2
        trace += hessian[i, i]
    product = 0.5 * (trace * trace - squares)
    below = max(1.0 + phi * trace + phi * phi * product, _CLOSEST)
    for i in range(3):
        for j in range(3):
            plane = (1.0 if i == j else 0.0) - n[i] * n[j]
            hessian[i, j] = (hessian[i, j] + phi * product * plane) / below
    return True
