"""Exponential and logarithm of rigid motions, and the derivative of the logarithm.

A twist is (linear, angular), shape (6,). With x the square of the angle and
c(x) = 1/x - cot(sqrt(x)/2) / (2 sqrt(x)), the derivative of d = log M with respect to a motion e
of M to M exp(e) is

    D(d) = 1 + ad/2 + a ad^2 + b ad^4,   a = c - x c', b = -c',

ad being the adjoint of d: its eigenvalues are 0 and, twice each, +- i sqrt(x).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import zero_matrix, zero_vector

_TERMS = 28  # number of terms of the series of c; at an angle of pi the next one is below 1e-16
_SMALL = 1e-2  # [rad^2] squares of angles below which series replace quotients


def _series() -> Array:
    """Coefficients |B_2n| / (2n)! of c(x) = sum over n >= 1 of |B_2n| / (2n)! x^(n - 1).

    With s = sin(a/2) / (a/2) and x = a^2, x c s = s - cos(a/2).
    """
    c: list[Fraction] = []
    s = [Fraction((-1) ** n, 4**n * math.factorial(2 * n + 1)) for n in range(_TERMS + 1)]
    for n in range(1, _TERMS + 1):
        cosine = (2 * n + 1) * s[n]
        c.append(s[n] - cosine - sum(s[k] * c[n - 1 - k] for k in range(1, n)))
    return np.array([float(x) for x in c])


_C = _series()


@jit
def bernoulli(x: float) -> tuple[float, float, float]:
    """c(x) and its first two derivatives, for angles up to half a turn."""
    c, c1, c2 = 0.0, 0.0, 0.0
    for k in range(_TERMS - 1, -1, -1):
        c2 = c2 * x + 2.0 * c1
        c1 = c1 * x + c
        c = c * x + _C[k]
    return c, c1, c2


@jit
def quaternion_product(a: Array, b: Array, out: Array) -> None:
    """Product of quaternions (x, y, z, w); `out` may be neither of them."""
    out[0] = a[3] * b[0] + b[3] * a[0] + a[1] * b[2] - a[2] * b[1]
    out[1] = a[3] * b[1] + b[3] * a[1] + a[2] * b[0] - a[0] * b[2]
    out[2] = a[3] * b[2] + b[3] * a[2] + a[0] * b[1] - a[1] * b[0]
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]


@jit
def quaternion_exp(w: Array, out: Array) -> None:
    """Unit quaternion of a rotation vector, shape (3,)."""
    x = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if x < _SMALL:
        factor = 0.5 * (1.0 - x / 24.0 * (1.0 - x / 80.0 * (1.0 - x / 168.0)))
        out[3] = 1.0 - x / 8.0 * (1.0 - x / 48.0 * (1.0 - x / 120.0 * (1.0 - x / 224.0)))
    else:
        theta = math.sqrt(x)
        factor = math.sin(0.5 * theta) / theta
        out[3] = math.cos(0.5 * theta)
    for i in range(3):
        out[i] = factor * w[i]


@jit
def quaternion_log(a: Array, out: Array) -> None:
    """Rotation vector of a unit quaternion, at most half a turn long."""
    sign = -1.0 if a[3] < 0.0 else 1.0
    w = sign * a[3]
    square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
    if square < 1e-8:
        factor = 2.0 / w * (1.0 - square / (3.0 * w * w))
    else:
        length = math.sqrt(square)
        factor = 2.0 * math.atan2(length, w) / length
    for i in range(3):
        out[i] = sign * factor * a[i]


@jit
def translation_exp(v: Array, w: Array, out: Array) -> None:
    """Translation of the exponential of a twist (v, w)."""
    x = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if x < _SMALL:
        b = 0.5 - x / 24.0 * (1.0 - x / 30.0 * (1.0 - x / 56.0))
        c = (1.0 - x / 20.0 * (1.0 - x / 42.0 * (1.0 - x / 72.0))) / 6.0
    else:
        theta = math.sqrt(x)
        b = (1.0 - math.cos(theta)) / x
        c = (theta - math.sin(theta)) / (x * theta)
    along = w[0] * v[0] + w[1] * v[1] + w[2] * v[2]
    out[0] = v[0] + b * (w[1] * v[2] - w[2] * v[1]) + c * (w[0] * along - x * v[0])
    out[1] = v[1] + b * (w[2] * v[0] - w[0] * v[2]) + c * (w[1] * along - x * v[1])
    out[2] = v[2] + b * (w[0] * v[1] - w[1] * v[0]) + c * (w[2] * along - x * v[2])


@jit
def translation_log(p: Array, w: Array, out: Array) -> None:
    """Linear part of the logarithm of a motion with translation p and rotation vector w."""
    x = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    c = bernoulli(x)[0]
    along = w[0] * p[0] + w[1] * p[1] + w[2] * p[2]
    out[0] = p[0] - 0.5 * (w[1] * p[2] - w[2] * p[1]) + c * (w[0] * along - x * p[0])
    out[1] = p[1] - 0.5 * (w[2] * p[0] - w[0] * p[2]) + c * (w[1] * along - x * p[1])
    out[2] = p[2] - 0.5 * (w[0] * p[1] - w[1] * p[0]) + c * (w[2] * along - x * p[2])


@jit
def coadjoint(d: Array, f: Array, out: Array) -> None:
    """Out = ad(d)' f, d = (v, w) and f = (g, m): (g x w, g x v + m x w)."""
    out[0] = f[1] * d[5] - f[2] * d[4]
    out[1] = f[2] * d[3] - f[0] * d[5]
    out[2] = f[0] * d[4] - f[1] * d[3]
    out[3] = f[1] * d[2] - f[2] * d[1] + f[4] * d[5] - f[5] * d[4]
    out[4] = f[2] * d[0] - f[0] * d[2] + f[5] * d[3] - f[3] * d[5]
    out[5] = f[0] * d[1] - f[1] * d[0] + f[3] * d[4] - f[4] * d[3]


@jit
def log_derivative(d: Array, D: Array) -> None:
    """D(d), shape (6, 6): row i of it is D' e_i."""
    x = d[3] * d[3] + d[4] * d[4] + d[5] * d[5]
    c, c1, _ = bernoulli(x)
    a, b = c - x * c1, -c1
    f = zero_matrix(5, 6)
    for i in range(6):
        for j in range(6):
            f[0, j] = 1.0 if i == j else 0.0
        for k in range(4):
            coadjoint(d, f[k], f[k + 1])
        for j in range(6):
            D[i, j] = f[0, j] + 0.5 * f[1, j] + a * f[2, j] + b * f[4, j]


@jit
def log_second_derivative(d: Array, force: Array, H: Array) -> None:
    """The derivative of D(d)' force with respect to d.

    Args:
        d: logarithm of the motion, shape (6,).
        force: constant force, shape (6,).
        H: output, whose column k is along d_k, shape (6, 6).
    """
    x = d[3] * d[3] + d[4] * d[4] + d[5] * d[5]
    c, c1, c2 = bernoulli(x)
    a, b, a1, b1 = c - x * c1, -c1, -x * c2, -c2
    f, g, e, part = zero_matrix(5, 6), zero_matrix(5, 6), zero_vector(6), zero_vector(6)
    for k in range(6):
        f[0, k] = force[k]
    for k in range(4):
        coadjoint(d, f[k], f[k + 1])
    for i in range(6):
        e[:] = 0.0
        e[i] = 1.0
        slope = 2.0 * d[i] if i >= 3 else 0.0
        for k in range(4):
            coadjoint(d, g[k], part)
            coadjoint(e, f[k], g[k + 1])
            for j in range(6):
                g[k + 1, j] += part[j]
        for j in range(6):
            H[j, i] = 0.5 * g[1, j] + a * g[2, j] + b * g[4, j]
            H[j, i] += slope * (a1 * f[2, j] + b1 * f[4, j])


@jit
def cross_motions(a: Array, b: Array, out: Array) -> None:
    """Out = ad(a) b: (w_a x v_b + v_a x w_b, w_a x w_b)."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] = a[3 + j] * b[k] - a[3 + k] * b[j] + a[j] * b[3 + k] - a[k] * b[3 + j]
        out[3 + i] = a[3 + j] * b[3 + k] - a[3 + k] * b[3 + j]
