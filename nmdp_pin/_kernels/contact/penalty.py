"""Penalty contacts: forces of one contact ([P] eq. 8, 11 and 12) and their derivatives.

Forces, energies and derivatives of a contact with penetration d, normal n and displacement u of the
touching material point over the step follow from three quantities:

    p = C_perp d^alpha                                      the normal force
    q = C_par (beta + 1) |u_t|^(beta - 1) d^(gamma + 1)     friction over slip
    u_t = u - (n . u) n                                     the slip

A motion of the sphere is (dx, dphi), of its centre and a rotation R -> exp([dphi]) R of its body,
for which dd = -n . dx and dn = K dx, K being the curvature. Wrenches are about the centre.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import cross_into, dot
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, record, vector, zero_vector

FRICTIONAL, CONSERVATIVE = 0, 1  # forces of pbfd, and those of pbd, which have an energy


@record
class PenaltyLaw:
    """Parameters of a `Penalty`.

    Args:
        kind: kind of the friction, FRICTIONAL or CONSERVATIVE.
        friction: C_par [N/m^(beta + gamma + 1)]; negative where the terrain's coefficient gives it.
        slip_speed: speed at which that friction equals dry friction [m/s].
        alpha: exponent of the normal force.
        beta: exponent of the slip.
        gamma: exponent of the penetration in the friction.
    """

    kind: int
    friction: float
    slip_speed: float
    alpha: float
    beta: float
    gamma: float


# Sizes of a contact: d, r, n . u, p, q, dp/dd, |u_t|, and 1 where the ground is curved.
PENETRATION, RADIUS, ALONG, LOAD, DRAG, STEEPNESS, SPEED, CURVED, TOUCH_SIZES = range(9)


class Touch(NamedTuple):
    """A contact at one configuration.

    Args:
        sizes: `PENETRATION` to `CURVED`, shape (8,).
        n: normal, shape (3,).
        slip: u_t, shape (3,).
        arm: r n, shape (3,).
        turn: rotation Q of the body back to the start of the step, shape (3, 3).
        K: curvature, shape (3, 3).
        of_surface: derivative of what u has of moving surfaces, shape (3, 6), or (0, 6).
    """

    sizes: Array
    n: Array
    slip: Array
    arm: Array
    turn: Array
    K: Array
    of_surface: Array


@jit
def new_touch(moving: bool) -> Touch:
    """Memory for a contact; `moving`: whether there are surfaces that move."""
    sizes, turn, K = np.zeros(TOUCH_SIZES), np.zeros((3, 3)), np.zeros((3, 3))
    n, slip, arm, of_surface = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((3 * moving, 6))
    return Touch(sizes, n, slip, arm, turn, K, of_surface)


@jit
def measure(
    law: PenaltyLaw,
    h: float,
    depth: float,
    stiffness: float,
    mu: float,
    u: Array,
    radius: float,
    t: Touch,
) -> None:
    """Fill in slip and sizes; `n` and, of round contacts, `turn` are given.

    Args:
        law: parameters of the penalty law.
        h: length of the step [s].
        depth: penetration d [m], above 0.
        stiffness: normal stiffness C_perp [N/m^alpha].
        mu: friction coefficient.
        u: displacement of the sphere's centre over the step [m], shape (3,).
        radius: radius of the sphere [m].
        t: output, the contact.
    """
    n, sizes, x, y, z = t.n, t.sizes, u[0], u[1], u[2]
    for i in range(3):
        t.arm[i] = radius * n[i]
    if radius > 0.0:
        x += dot(t.turn[0], t.arm) - t.arm[0]
        y += dot(t.turn[1], t.arm) - t.arm[1]
        z += dot(t.turn[2], t.arm) - t.arm[2]
    along = n[0] * x + n[1] * y + n[2] * z
    t.slip[0], t.slip[1], t.slip[2] = x - along * n[0], y - along * n[1], z - along * n[2]
    friction = law.friction
    if friction < 0.0:
        friction = mu * stiffness / ((law.beta + 1.0) * (h * law.slip_speed) ** law.beta)
    speed = math.sqrt(dot(t.slip, t.slip))
    q = (law.beta + 1.0) * friction * depth ** (law.gamma + 1.0)
    if law.beta != 1.0:
        q *= speed ** (law.beta - 1.0)
    p = stiffness * depth**law.alpha
    sizes[PENETRATION], sizes[RADIUS], sizes[ALONG], sizes[SPEED] = depth, radius, along, speed
    sizes[LOAD], sizes[DRAG], sizes[STEEPNESS] = p, q, law.alpha * p / depth


@jit
def stored_energy(law: PenaltyLaw, t: Touch) -> float:
    """Energy of the normal force, C_perp d^(alpha + 1) / (alpha + 1) [J]."""
    value: float = t.sizes[LOAD] * t.sizes[PENETRATION] / (law.alpha + 1.0)
    return value


@jit
def friction_energy(law: PenaltyLaw, t: Touch) -> float:
    """Energy of conservative friction, C_par |u_t|^(beta + 1) d^(gamma + 1) [J]."""
    value: float = t.sizes[DRAG] * dot(t.slip, t.slip) / (law.beta + 1.0)
    return value


@jit
def carried_slip(t: Touch, carried: Array, z: Array, pull: Array) -> None:
    """Q' u_t, z = r (Q' u_t - u_t) - (n . u) u_t and u_t + K z of conservative friction."""
    r, along = t.sizes[RADIUS], t.sizes[ALONG]
    for i in range(3):
        carried[i] = t.slip[i]
        if r > 0.0:
            carried[i] = t.turn[0, i] * t.slip[0] + t.turn[1, i] * t.slip[1]
            carried[i] += t.turn[2, i] * t.slip[2]
        z[i] = r * (carried[i] - t.slip[i]) - along * t.slip[i]
    for i in range(3):
        pull[i] = t.slip[i]
        if t.sizes[CURVED] > 0.0:
            pull[i] += dot(t.K[i], z)


@jit
def wrench_of(law: PenaltyLaw, t: Touch, wrench: Array) -> None:
    """The wrench on the body about the centre, shape (6,).

    Frictional: f = p n - q u_t where the sphere touches. Conservative: minus the gradient of the
    energy, f = (p + c) n - q (u_t + K z) and q o x Q' u_t with o = r n and
    c = C_par (gamma + 1) |u_t|^(beta + 1) d^gamma ([P] f*).
    """
    d, p, q = t.sizes[PENETRATION], t.sizes[LOAD], t.sizes[DRAG]
    force, moment = wrench[:3], wrench[3:]
    if law.kind == FRICTIONAL:
        for i in range(3):
            force[i] = p * t.n[i] - q * t.slip[i]
        cross_into(force, t.arm, moment)
        return
    carried, z, pull = vector(3), vector(3), vector(3)
    carried_slip(t, carried, z, pull)
    c = (law.gamma + 1.0) / (law.beta + 1.0) * q * dot(t.slip, t.slip) / d
    cross_into(t.arm, carried, moment)
    for i in range(3):
        force[i] = (p + c) * t.n[i] - q * pull[i]
        moment[i] *= q


@jit
def slip_derivative(t: Touch, change: Array) -> None:
    """Write du_t / d(dx, dphi), shape (3, 6).

    With T = 1 - n n', b = n . u, Q the rotation back and o = r n,
    du = (1 + r (Q - 1) K) dx + Q [o] dphi and du_t = T du - n (K u_t)' dx - b K dx.
    """
    n, r, along = t.n, t.sizes[RADIUS], t.sizes[ALONG]
    change[:] = 0.0
    for i in range(3):
        change[i, i] = 1.0
        for j in range(3):
            change[i, j] -= n[i] * n[j]
    bent = t.sizes[CURVED] > 0.0
    if bent:
        for j in range(3):
            turned = dot(t.K[j], t.slip)
            for i in range(3):
                change[i, j] -= along * t.K[i, j] + n[i] * turned
    if len(t.of_surface) > 0:
        for j in range(6):
            out = n[0] * t.of_surface[0, j] + n[1] * t.of_surface[1, j] + n[2] * t.of_surface[2, j]
            for i in range(3):
                change[i, j] += t.of_surface[i, j] - out * n[i]
    if r <= 0.0:
        return
    o, back = t.arm, vector(3)
    for i in range(3):
        # back is row i of T Q
        for j in range(3):
            back[j] = t.turn[i, j]
            for k in range(3):
                back[j] -= n[i] * n[k] * t.turn[k, j]
        change[i, 3] += back[1] * o[2] - back[2] * o[1]
        change[i, 4] += back[2] * o[0] - back[0] * o[2]
        change[i, 5] += back[0] * o[1] - back[1] * o[0]
        if bent:
            for j in range(3):
                change[i, j] += r * (
                    back[0] * t.K[0, j] + back[1] * t.K[1, j] + back[2] * t.K[2, j] - t.K[i, j]
                )


@jit
def stretch_along_slip(t: Touch, share: float, change: Array) -> None:
    """Change += share e e' change, e being the direction of the slip; unchanged without slip."""
    speed = t.sizes[SPEED]
    if share == 0.0 or speed == 0.0:
        return
    for j in range(6):
        along = t.slip[0] * change[0, j] + t.slip[1] * change[1, j] + t.slip[2] * change[2, j]
        for i in range(3):
            change[i, j] += share * along * t.slip[i] / (speed * speed)


@jit
def frictional_derivative(law: PenaltyLaw, t: Touch, wrench: Array, D: Array) -> None:
    """Derivative of `wrench_of` by (dx, dphi), of frictional forces.

    Args:
        law: parameters of the penalty law.
        t: contact at the configuration.
        wrench: wrench at the configuration, shape (6,).
        D: output, shape (6, 6).
    """
    d, r, slope = t.sizes[PENETRATION], t.sizes[RADIUS], t.sizes[STEEPNESS]
    p, q = t.sizes[LOAD], t.sizes[DRAG]
    dF, bent = D[:3], t.sizes[CURVED] > 0.0
    slip_derivative(t, dF)
    stretch_along_slip(t, law.beta - 1.0, dF)
    for i in range(3):
        at = (law.gamma + 1.0) * q / d * t.slip[i] - slope * t.n[i]
        for j in range(6):
            dF[i, j] *= -q
        for j in range(3):
            dF[i, j] += at * t.n[j]
            if bent:
                dF[i, j] += p * t.K[i, j]
    o, f = t.arm, wrench[:3]
    for j in range(6):
        D[3, j] = dF[1, j] * o[2] - dF[2, j] * o[1]
        D[4, j] = dF[2, j] * o[0] - dF[0, j] * o[2]
        D[5, j] = dF[0, j] * o[1] - dF[1, j] * o[0]
    if bent and r > 0.0:
        for j in range(3):
            D[3, j] += r * (f[1] * t.K[2, j] - f[2] * t.K[1, j])
            D[4, j] += r * (f[2] * t.K[0, j] - f[0] * t.K[2, j])
            D[5, j] += r * (f[0] * t.K[1, j] - f[1] * t.K[0, j])


@jit
def _skew(a: Array, out: Array) -> None:
    """The matrix of a x."""
    out[0, 0] = out[1, 1] = out[2, 2] = 0.0
    out[0, 1], out[0, 2], out[1, 2] = -a[2], a[1], -a[0]
    out[1, 0], out[2, 0], out[2, 1] = a[2], -a[1], a[0]


@jit
def gauss_newton(law: PenaltyLaw, t: Touch, D: Array) -> None:
    """The positive semidefinite part of the Hessian of the energy by (dx, dphi), (6, 6).

    The energy is a convex function of d, linearised, plus the square of the vector
    |u_t|^((beta - 1) / 2) u_t d^((gamma + 1) / 2), linearised.
    """
    d, q, slope = t.sizes[PENETRATION], t.sizes[DRAG], t.sizes[STEEPNESS]
    change = matrix(3, 6)
    slip_derivative(t, change)
    stretch_along_slip(t, 0.5 * (law.beta - 1.0), change)
    for i in range(3):
        for j in range(3):
            change[i, j] -= 0.5 * (law.gamma + 1.0) / d * t.slip[i] * t.n[j]
    factor = 2.0 * q / (law.beta + 1.0)
    for i in range(6):
        for j in range(6):
            D[i, j] = 0.0
            for k in range(3):
                D[i, j] += factor * change[k, i] * change[k, j]
            if i < 3 and j < 3:
                D[i, j] += slope * t.n[i] * t.n[j]


@jit
def conservative_derivative(law: PenaltyLaw, t: Touch, D: Array) -> None:
    """Derivative of `wrench_of` by (dx, dphi), if conservative: minus the Hessian, (6, 6)."""
    d, r, slope = t.sizes[PENETRATION], t.sizes[RADIUS], t.sizes[STEEPNESS]
    p, q = t.sizes[LOAD], t.sizes[DRAG]
    n, bent = t.n, t.sizes[CURVED] > 0.0
    carried, z, pull, lever = vector(3), vector(3), vector(3), vector(3)
    carried_slip(t, carried, z, pull)
    change, dq, along = matrix(3, 6), zero_vector(6), vector(6)
    slip_derivative(t, change)
    square = dot(t.slip, t.slip)
    for j in range(6):  # dq / q, and u_t . du_t
        along[j] = t.slip[0] * change[0, j] + t.slip[1] * change[1, j] + t.slip[2] * change[2, j]
        if j < 3:
            dq[j] = -(law.gamma + 1.0) / d * n[j]
        if law.beta != 1.0 and square > 0.0:
            dq[j] += (law.beta - 1.0) * along[j] / square
    c = (law.gamma + 1.0) / (law.beta + 1.0) * q * square / d
    pushed = slope + law.gamma * c / d
    D[:] = 0.0
    for i in range(3):
        for j in range(6):
            D[i, j] = n[i] * q * (law.gamma + 1.0) / d * along[j]
            D[i, j] -= q * (pull[i] * dq[j] + change[i, j])
        for j in range(3):
            D[i, j] -= pushed * n[i] * n[j]
            if bent:
                D[i, j] += (p + c) * t.K[i, j]
    if bent:
        turning = matrix(3, 6)
        _turning_normal(t, change, carried, z, turning)
        for i in range(3):
            for j in range(6):
                D[i, j] -= q * turning[i, j]
    if r <= 0.0:
        return
    cross_into(t.arm, carried, lever)
    turned, o, C = matrix(3, 6), matrix(3, 3), matrix(3, 3)
    _skew(t.arm, o)
    _skew(carried, C)
    for i in range(3):
        for j in range(6):
            turned[i, j] = t.turn[0, i] * change[0, j] + t.turn[1, i] * change[1, j]
            turned[i, j] += t.turn[2, i] * change[2, j]
            if j >= 3:
                turned[i, j] -= C[i, j - 3]
    for i in range(3):
        for j in range(6):
            moved = lever[i] * dq[j]
            for k in range(3):
                moved += o[i, k] * turned[k, j]
                if bent and j < 3:
                    moved -= r * C[i, k] * t.K[k, j]
            D[3 + i, j] = q * moved


@jit
def _turning_normal(t: Touch, change: Array, carried: Array, z: Array, result: Array) -> None:
    """d(K z), shape (3, 6).

    The curvature of a distance changes by dK z = -K^2 z (n . dx) - (n . z) K^2 dx -
    n (K^2 z . dx), apart from changes of its principal curvatures along the surface, which are
    zero on every shape here but the rim of a cylinder.
    """
    K, n, r, b = t.K, t.n, t.sizes[RADIUS], t.sizes[ALONG]
    dz, db = matrix(3, 6), zero_vector(6)
    back, o, C = zero_vector(3), matrix(3, 3), matrix(3, 3)
    _skew(t.arm, o)
    _skew(carried, C)
    if r > 0.0:
        for j in range(3):
            back[j] = n[0] * t.turn[0, j] + n[1] * t.turn[1, j] + n[2] * t.turn[2, j]
    for j in range(3):
        db[j] = n[j] + dot(K[j], t.slip)
        for k in range(3):
            db[j] += r * back[k] * K[k, j]
            db[3 + j] += back[k] * o[k, j]
    for i in range(3):
        for j in range(6):
            dz[i, j] = -b * change[i, j] - t.slip[i] * db[j]
            if r > 0.0:
                turned = t.turn[0, i] * change[0, j] + t.turn[1, i] * change[1, j]
                turned += t.turn[2, i] * change[2, j]
                dz[i, j] += r * (turned - change[i, j])
                if j >= 3:
                    dz[i, j] -= r * C[i, j - 3]
    K2, bent = matrix(3, 3), vector(3)
    for i in range(3):
        for j in range(3):
            K2[i, j] = K[i, 0] * K[0, j] + K[i, 1] * K[1, j] + K[i, 2] * K[2, j]
    for i in range(3):
        bent[i] = dot(K2[i], z)
    deep = dot(n, z)
    for i in range(3):
        for j in range(6):
            result[i, j] = K[i, 0] * dz[0, j] + K[i, 1] * dz[1, j] + K[i, 2] * dz[2, j]
            if j < 3:
                result[i, j] -= bent[i] * n[j] + n[i] * bent[j] + deep * K2[i, j]
