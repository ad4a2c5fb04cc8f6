"""Forces of joints: motors, stops, dry friction and springs, as in pbfd."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from nmdp_pin._jax.manifold import difference
from nmdp_pin._jax.scene import DeviceScene

CREEP = 1e-3  # [rad/s or m/s] up to which dry friction of a joint is viscous


class Torque(NamedTuple):
    """The torque constant - kp difference(q_target, q) - kd v, and forces from outside.

    Attributes:
        constant: feed-forward torque with kd v_target and `external` [N m or N], shape (nv, K).
        kp: position gains [N m/rad], shape (nv, K or 1).
        kd: velocity gains and damping [N m s/rad], shape (nv, K or 1).
        q_target: target configuration, shape (nq, K).
        external: forces from outside, which no motor limits [N m or N], shape (nv, K or 1).
    """

    constant: Array
    kp: Array
    kd: Array
    q_target: Array
    external: Array


def excess(scene: DeviceScene, torque: Torque, e: Array, v: Array) -> Array:
    """Excess of the commanded efforts over the limits of the motors [N m or N], shape (nv, K)."""
    limit, damping = scene.motors[..., None]
    effort = torque.constant - torque.external - (torque.kd - damping) * v - torque.kp * e
    return jnp.maximum(effort - limit, 0.0) + jnp.minimum(effort + limit, 0.0)


def motor_stiffness(scene: DeviceScene, torque: Torque, h: Array) -> Array:
    """Stiffness kp + kd / h of the motors, without the joints' damping, shape (nv, K or 1)."""
    return torque.kp + (torque.kd - scene.motors[1, :, None]) / h


def joint_forces(scene: DeviceScene, q: Array, y: Array, h: Array) -> tuple[Array, Array]:
    """Forces of stops and friction in the residual, (nv, K), and the stops' energy [J], (K,).

    Args:
        scene: bounds of the joints.
        q: configuration, shape (nq, K).
        y: motion over the step, shape (nv, K).
        h: length of the step [s].
    """
    force, dofs = jnp.zeros_like(y), np.array(scene.structure.dofs, int)
    if not len(dofs):
        return force, jnp.zeros(q.shape[-1], q.dtype)
    lower, upper, stiffness, friction = scene.stops[..., None]
    x, moved, stick = q[np.array(scene.structure.stops)], y[dofs], h * CREEP
    depth = jnp.where(x < lower, x - lower, jnp.where(x > upper, x - upper, 0.0))
    dry = friction * jnp.where(jnp.abs(moved) > stick, jnp.sign(moved), moved / stick)
    force = force.at[dofs].set(stiffness * depth + dry)
    return force, (0.5 * stiffness * depth * depth).sum(0)


def spring_forces(scene: DeviceScene, q: Array) -> tuple[Array, Array]:
    """Forces of springs in the residual, (nv, K), and their energy [J], (K,)."""
    structure = scene.structure
    force, energy = jnp.zeros((structure.nv, q.shape[-1]), q.dtype), jnp.zeros_like(q[0])
    if len(scene.factors):
        factors, (rest, stiffness) = scene.factors[..., None], scene.springs[..., None]
        stretch = (factors * q[np.array(structure.coordinates)]).sum(1) - rest
        force = (factors * (stiffness * stretch)[:, None]).sum(0)
        energy = 0.5 * (stiffness * stretch * stretch).sum(0)
    if len(scene.ball_stiffness):
        turn = difference(structure, scene.ball_rest[:, None], q)
        force = force + scene.ball_stiffness[:, None] * turn
        energy = energy + 0.5 * (scene.ball_stiffness[:, None] * turn * turn).sum(0)
    return force, energy


def add_diagonal(A: Array, diagonal: Array) -> Array:
    """A + diag(diagonal), shapes (nv, nv, K) and (nv, K or 1)."""
    eye = jnp.eye(len(A), dtype=A.dtype)[:, :, None]
    return A + jnp.where(eye > 0.0, diagonal[:, None], 0.0)
