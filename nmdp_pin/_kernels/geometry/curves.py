"""Curves that touch: how normal and arm move with a motion of one of them."""

from __future__ import annotations

from nmdp_pin._kernels.algebra.vector3 import Vector3, axpy, cross, dot, length, scaled
from nmdp_pin._kernels.compiler.jit import Array, jit


@jit
def curve_rates(
    arm: Vector3,
    tangent: Vector3,
    bend: Vector3,
    other: Vector3,
    other_bend: Vector3,
    gap: float,
    n: Vector3,
    radius: float,
    N: Array,
    L: Array,
) -> None:
    """Derivatives of normal and arm where two curves touch, by a motion of the first, (3, 6).

    The curves p(t) and x(s), with tangents e and f and second derivatives b and k, are nearest
    where p - x = g n is across both. With dp = dc + dphi x arm + e dt, de = dphi x e + b dt, and
    dx = f ds, df = k ds,

        (e . e + g n . b) dt - e . f ds = -(dc + dphi x arm) . e - g n . (dphi x e),
        e . f dt - (f . f - g n . k) ds = -(dc + dphi x arm) . f,

    and n = +-e x f / |e x f| has dn = (1 - n n') (de x f + e x df) / |e x f|. The point of the
    force is at arm - r n.

    Args:
        arm: from the centre to the point of the first curve [m].
        tangent: e [m].
        bend: b [m].
        other: f [m].
        other_bend: k [m].
        gap: g [m].
        n: normal.
        radius: radius r by which the first curve is rounded [m].
        N: output, derivatives of the normal.
        L: output, derivatives of the arm with its rounding.
    """
    both, mixed = cross(tangent, other), dot(tangent, other)
    scale = (1.0 if dot(both, n) > 0.0 else -1.0) / length(both)
    own, across = dot(tangent, tangent) + gap * dot(n, bend), dot(other, other)
    across -= gap * dot(n, other_bend)
    below = mixed * mixed - own * across
    for k in range(6):
        dc = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        turn = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        swing, de = cross(turn, arm), cross(turn, tangent)
        moved = axpy(dc, 1.0, swing)
        a, b = -dot(moved, tangent) - gap * dot(n, de), -dot(moved, other)
        dt, ds = (mixed * b - across * a) / below, (own * b - mixed * a) / below
        dn = axpy(cross(axpy(de, dt, bend), other), ds, cross(tangent, other_bend))
        dn = scaled(dn, scale)
        dn = axpy(dn, -dot(n, dn), n)
        for j in range(3):
            N[j, k] = dn[j]
            L[j, k] = swing[j] + dt * tangent[j] - radius * dn[j]
