"""Rotations and rigid motions as groups: exponential, logarithm and its derivative.

Quaternions are (x, y, z, w), as in pinocchio; the trajectories are in the last axis.
"""

from __future__ import annotations

import jax.numpy as jnp

from nmdp_pin.batch.lanes import Lanes, cross, dot, matmul, skew, times

# [rad^2] squares of angles below which series stand for quotients; what they leave out is < 1e-16
_SMALL = 1e-2
_NEAR = 0.25
_TINY = 1e-8  # squared sine of half the angle, for the logarithm
# c(x) = 1/x - cot(t/2) / 2t with t^2 = x, as a series: |B_2n| / (2n)! from n = 1 on
_BEND = (
    1.0 / 12.0,
    1.0 / 720.0,
    1.0 / 30240.0,
    1.0 / 1209600.0,
    1.0 / 47900160.0,
    691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
)


def product(a: Lanes, b: Lanes) -> Lanes:
    """Product of quaternions, (..., 4, K)."""
    u, v = a[..., :3, :], b[..., :3, :]
    s, t = a[..., 3:, :], b[..., 3:, :]
    vector = s * v + t * u + cross(u, v)
    return jnp.concatenate([vector, s * t - dot(u, v)[..., None, :]], axis=-2)


def conjugate(a: Lanes) -> Lanes:
    """The quaternion of the inverse rotation."""
    return jnp.concatenate([-a[..., :3, :], a[..., 3:, :]], axis=-2)


def normalized(a: Lanes) -> Lanes:
    """The quaternion, made one of unit length."""
    return a / jnp.sqrt(dot(a, a))[..., None, :]


def rotation(a: Lanes) -> Lanes:
    """Rotation matrices of quaternions, (..., 4, K) to (..., 3, 3, K)."""
    x, y, z, w = (a[..., i, :] for i in range(4))
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
    return jnp.stack([jnp.stack(row, axis=-2) for row in rows], axis=-3)


def turn_exp(w: Lanes) -> Lanes:
    """Quaternion of a rotation vector, (..., 3, K) to (..., 4, K)."""
    square = dot(w, w)[..., None, :]
    small = square < _SMALL
    theta = jnp.sqrt(jnp.where(small, 1.0, square))
    series = 0.5 * (1.0 - square / 24.0 * (1.0 - square / 80.0 * (1.0 - square / 168.0)))
    factor = jnp.where(small, series, jnp.sin(0.5 * theta) / theta)
    series = 1.0 - square / 8.0 * (1.0 - square / 48.0 * (1.0 - square / 120.0))
    cosine = jnp.where(small, series, jnp.cos(0.5 * theta))
    return jnp.concatenate([factor * w, cosine], axis=-2)


def turn_log(a: Lanes) -> Lanes:
    """Rotation vector of a quaternion, (..., 4, K) to (..., 3, K); at most half a turn."""
    vector, w = a[..., :3, :], a[..., 3:, :]
    vector, w = jnp.where(w < 0.0, -vector, vector), jnp.abs(w)
    square = dot(vector, vector)[..., None, :]
    small = square < _TINY
    length = jnp.sqrt(jnp.where(small, 1.0, square))
    ratio = square / (w * w)
    series = 2.0 / w * (1.0 - ratio / 3.0 * (1.0 - 0.6 * ratio))
    return jnp.where(small, series, 2.0 * jnp.arctan2(length, w) / length) * vector


def rigid_exp(v: Lanes, w: Lanes) -> tuple[Lanes, Lanes]:
    """Translation (..., 3, K) and quaternion (..., 4, K) of a twist."""
    square = dot(w, w)[..., None, :]
    small = square < _SMALL
    theta = jnp.sqrt(jnp.where(small, 1.0, square))
    half = 0.5 - square / 24.0 * (1.0 - square / 30.0 * (1.0 - square / 56.0))
    sixth = (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0))) / 6.0
    b = jnp.where(small, half, (1.0 - jnp.cos(theta)) / (theta * theta))
    c = jnp.where(small, sixth, (theta - jnp.sin(theta)) / (theta * theta * theta))
    once = cross(w, v)
    return v + b * once + c * cross(w, once), turn_exp(w)


def rigid_log(p: Lanes, w: Lanes) -> Lanes:
    """Twist (..., 6, K) that leads to translation p and rotation vector w."""
    c = _bend(dot(w, w))[..., None, :]
    once = cross(w, p)
    return jnp.concatenate([p - 0.5 * once + c * cross(w, once), w], axis=-2)


def log_derivative(twist: Lanes) -> Lanes:
    """Derivative of log(M exp(d)) with respect to d at 0, (..., 6, K) to (..., 6, 6, K).

    The inverse of the right Jacobian, 1 + ad/2 + sum B_n ad^n/n!, ad being the adjoint of log M.
    Its eigenvalues are 0 and +-i t, these twice, so two powers are enough: a ad^2 + b ad^4 with
    a = c - x c', b = -c', where c(x) is that of rotations and x = t^2.
    """
    w = twist[..., 3:, :]
    square = dot(w, w)[..., None, None, :]
    c, slope = _bend(square), _bend_slope(square)
    a, b = c - square * slope, -slope
    ad = adjoint(twist)
    ad2 = matmul(ad, ad)
    one = jnp.eye(6, dtype=twist.dtype)[..., None]
    return one + 0.5 * ad + a * ad2 + b * matmul(ad2, ad2)


def turn_log_derivative(w: Lanes) -> Lanes:
    """The same for rotations: 1 + [w]/2 + c [w]^2, (..., 3, K) to (..., 3, 3, K)."""
    c = _bend(dot(w, w))[..., None, None, :]
    W = skew(w)
    return jnp.eye(3, dtype=w.dtype)[..., None] + 0.5 * W + c * matmul(W, W)


def adjoint(twist: Lanes) -> Lanes:
    """Ad of twists (linear, angular), (..., 6, K) to (..., 6, 6, K)."""
    V, W = skew(twist[..., :3, :]), skew(twist[..., 3:, :])
    upper = jnp.concatenate([W, V], axis=-2)
    return jnp.concatenate([upper, jnp.concatenate([jnp.zeros_like(W), W], axis=-2)], axis=-3)


def rotated(a: Lanes, v: Lanes) -> Lanes:
    """Vectors turned by quaternions."""
    return times(rotation(a), v)


def _bend(x: Lanes) -> Lanes:
    """c(x) = 1/x - cot(t/2) / 2t with t^2 = x."""
    t = jnp.sqrt(jnp.where(x < _NEAR, 1.0, x))
    exact = 1.0 / (t * t) - jnp.cos(0.5 * t) / (2.0 * t * jnp.sin(0.5 * t))
    return jnp.where(x < _NEAR, _polynomial(x, _BEND), exact)


def _bend_slope(x: Lanes) -> Lanes:
    """dc/dx."""
    t = jnp.sqrt(jnp.where(x < _NEAR, 1.0, x))
    sine, cosine = jnp.sin(0.5 * t), jnp.cos(0.5 * t)
    by_t = -2.0 / t**3 + cosine / (2.0 * t**2 * sine) + 1.0 / (4.0 * t * sine**2)
    slope = tuple(n * c for n, c in enumerate(_BEND))[1:]
    return jnp.where(x < _NEAR, _polynomial(x, slope), by_t / (2.0 * t))


def _polynomial(x: Lanes, coefficients: tuple[float, ...]) -> Lanes:
    result = jnp.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = result * x + c
    return result
