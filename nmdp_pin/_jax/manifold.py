"""Configurations of many lanes: integration, differences and their derivatives.

The formulas are those of `nmdp_pin._kernels.algebra.manifold` and `lie`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from nmdp_pin._jax.scene import FREE, PLANAR, SPHERICAL, UNBOUNDED, Structure
from nmdp_pin._jax.vectors import Components, cross, dot, rotate, rotate_back

_TERMS = 28  # of the series of c; at an angle of pi the next one is below 1e-16
_SMALL = 1e-2  # [rad^2] squares of angles below which series replace quotients
_SHORT = 1e-8  # likewise of the vector part of a quaternion


def _series() -> list[float]:
    """Coefficients of c(x) = 1/x - cot(sqrt(x)/2) / (2 sqrt(x)), as in the kernels' `lie`."""
    c: list[Fraction] = []
    s = [Fraction((-1) ** n, 4**n * math.factorial(2 * n + 1)) for n in range(_TERMS + 1)]
    for n in range(1, _TERMS + 1):
        c.append(s[n] - (2 * n + 1) * s[n] - sum(s[k] * c[n - 1 - k] for k in range(1, n)))
    return [float(x) for x in c]


_C = _series()


def _bernoulli(x: Array) -> Array:
    """c(x)."""
    c = jnp.zeros_like(x)
    for coefficient in reversed(_C):
        c = c * x + coefficient
    return c


def rotation_of_quaternion(q: Components) -> Array:
    """The rotation of a unit quaternion (x, y, z, w), by its columns, shape (3, 3, ...)."""
    x, y, z, w = q[0], q[1], q[2], q[3]
    columns = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)],
        [2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)],
        [2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return jnp.stack([jnp.stack(column) for column in columns])


def _product(a: Components, b: Components) -> list[Array]:
    """Product of quaternions (x, y, z, w)."""
    return [
        a[3] * b[0] + b[3] * a[0] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] + b[3] * a[1] + a[2] * b[0] - a[0] * b[2],
        a[3] * b[2] + b[3] * a[2] + a[0] * b[1] - a[1] * b[0],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ]


def _turned(q: Components, w: Components) -> list[Array]:
    """Unit quaternion rotated by a rotation vector."""
    x = dot(w, w)
    theta = jnp.sqrt(jnp.where(x < _SMALL, 1.0, x))
    series = 0.5 * (1.0 - x / 24.0 * (1.0 - x / 80.0 * (1.0 - x / 168.0)))
    cosine = 1.0 - x / 8.0 * (1.0 - x / 48.0 * (1.0 - x / 120.0 * (1.0 - x / 224.0)))
    factor = jnp.where(x < _SMALL, series, jnp.sin(0.5 * theta) / theta)
    real = jnp.where(x < _SMALL, cosine, jnp.cos(0.5 * theta))
    p = _product(q, [factor * w[0], factor * w[1], factor * w[2], real])
    length = jnp.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    return [part / length for part in p]


def _rotation_between(a: Components, b: Components) -> Array:
    """Rotation vector from one unit quaternion to another, at most half a turn long."""
    turn = _product([-a[0], -a[1], -a[2], a[3]], b)
    sign = jnp.where(turn[3] < 0.0, -1.0, 1.0)
    w, square = sign * turn[3], dot(turn, turn)
    short = square < _SHORT
    length = jnp.sqrt(jnp.where(short, 1.0, square))
    series = 2.0 / jnp.where(short, w, 1.0) * (1.0 - square / (3.0 * w * w + (1.0 - short)))
    factor = sign * jnp.where(short, series, 2.0 * jnp.arctan2(length, w) / length)
    return jnp.stack([factor * turn[0], factor * turn[1], factor * turn[2]])


def _turned_pair(c: Array, s: Array, angle: Array) -> list[Array]:
    """Cosine and sine rotated by an angle, with pinocchio's step towards unit length."""
    x = c * jnp.cos(angle) - s * jnp.sin(angle)
    y = c * jnp.sin(angle) + s * jnp.cos(angle)
    share = 0.5 * (3.0 - x * x - y * y)
    return [share * x, share * y]


def _angle(a: Components, b: Components) -> Array:
    """Angle from one pair of cosine and sine to another."""
    return jnp.arctan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])


def _translation_exp(v: Components, w: Components) -> Array:
    """Translation of the exponential of a twist (v, w)."""
    x = dot(w, w)
    small = x < _SMALL
    y = jnp.where(small, 1.0, x)
    theta = jnp.sqrt(y)
    b = 0.5 - x / 24.0 * (1.0 - x / 30.0 * (1.0 - x / 56.0))
    c = (1.0 - x / 20.0 * (1.0 - x / 42.0 * (1.0 - x / 72.0))) / 6.0
    b = jnp.where(small, b, (1.0 - jnp.cos(theta)) / y)
    c = jnp.where(small, c, (theta - jnp.sin(theta)) / (y * theta))
    turned, along = cross(w, v), dot(w, v)
    return jnp.stack([v[i] + b * turned[i] + c * (w[i] * along - x * v[i]) for i in range(3)])


def _translation_log(p: Components, w: Components) -> Array:
    """Linear part of the logarithm of a motion with translation p and rotation vector w."""
    x, turned, along = dot(w, w), cross(w, p), dot(w, p)
    c = _bernoulli(x)
    return jnp.stack([p[i] - 0.5 * turned[i] + c * (w[i] * along - x * p[i]) for i in range(3)])


def _twist(kind: int, d: Array) -> tuple[Components, Components]:
    """Linear and angular part of a tangent of a planar, spherical or free joint."""
    none = jnp.zeros_like(d[0])
    if kind == PLANAR:
        return [d[0], d[1], none], [none, none, d[2]]
    if kind == SPHERICAL:
        return [none, none, none], d
    return d[:3], d[3:]


def integrate(structure: Structure, q: Array, d: Array) -> Array:
    """The configurations at tangents d from q, shapes (nq, K) and (nv, K)."""
    parts: list[Array] = []
    for kind, i, k, end in structure.factors:
        if kind == UNBOUNDED:
            parts += _turned_pair(q[i], q[i + 1], d[k])
        elif kind == SPHERICAL:
            parts += _turned(q[i : i + 4], d[k : k + 3])
        elif kind in (PLANAR, FREE):
            v, w = _twist(kind, d[k:end])
            p = _translation_exp(v, w)
            if kind == PLANAR:
                c, s = q[i + 2], q[i + 3]
                parts += [q[i] + c * p[0] - s * p[1], q[i + 1] + s * p[0] + c * p[1]]
                parts += _turned_pair(c, s, d[k + 2])
            else:
                moved = q[i : i + 3] + rotate(rotation_of_quaternion(q[i + 3 : i + 7]), p)
                parts += [*moved, *_turned(q[i + 3 : i + 7], d[k + 3 : k + 6])]
        else:
            parts += [q[i + j] + d[k + j] for j in range(end - k)]
    return jnp.stack(parts)


def difference(structure: Structure, q0: Array, q1: Array) -> Array:
    """The tangents that lead from q0 to q1, shape (nv, K)."""
    parts: list[Array] = []
    for kind, i, k, end in structure.factors:
        if kind == UNBOUNDED:
            parts.append(_angle(q0[i : i + 2], q1[i : i + 2]))
        elif kind == SPHERICAL:
            parts += [*_rotation_between(q0[i : i + 4], q1[i : i + 4])]
        elif kind == PLANAR:
            c, s = q0[i + 2], q0[i + 3]
            x, y = q1[i] - q0[i], q1[i + 1] - q0[i + 1]
            none = jnp.zeros_like(x)
            angle = _angle(q0[i + 2 : i + 4], q1[i + 2 : i + 4])
            v = _translation_log([c * x + s * y, c * y - s * x, none], [none, none, angle])
            parts += [v[0], v[1], angle]
        elif kind == FREE:
            R = rotation_of_quaternion(q0[i + 3 : i + 7])
            w = _rotation_between(q0[i + 3 : i + 7], q1[i + 3 : i + 7])
            parts += [*_translation_log(rotate_back(R, q1[i : i + 3] - q0[i : i + 3]), w), *w]
        else:
            parts += [q1[i + j] - q0[i + j] for j in range(end - k)]
    return jnp.stack([jnp.broadcast_to(part, q1.shape[1:]) for part in parts])


def by_tangents(
    structure: Structure, function: Callable[[Array], Array], q: Array, *, coupled: bool
) -> Array:
    """Derivative of a function of the configuration by its tangents, (nv, K) to (nv, nv, K).

    Unless coupled, each component depends on the dofs of its own joint alone: joints move at once.
    """
    number, joint = np.arange(structure.nv), np.zeros(structure.nv, int)
    for j, (_, _, k, end) in enumerate(() if coupled else structure.factors):
        number[k:end], joint[k:end] = range(end - k), j
    none = jnp.zeros((structure.nv, q.shape[-1]), q.dtype)
    moved = lambda d: function(integrate(structure, q, d))  # noqa: E731
    along = lambda d: jax.jvp(moved, (none,), (d,))[1]  # noqa: E731
    seeds = jnp.asarray(np.arange(number.max() + 1)[:, None] == number, q.dtype)
    found = jax.vmap(along, out_axes=1)(seeds[:, :, None] + none)
    derivative: Array = jnp.where((joint[:, None] == joint)[:, :, None], found[:, number], 0.0)
    return derivative
