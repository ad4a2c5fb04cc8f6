"""Forces of joints: motors, stops, dry friction and the springs of mimic joints, as in pbfd."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from nmdp_pin._jax.scene import DeviceScene

CREEP = 1e-3  # [rad/s or m/s] up to which dry friction of a joint is viscous


class Torque(NamedTuple):
    """The torque constant - kp difference(q_target, q) - kd v, and forces from outside.

    Args:
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
    """Forces of stops, friction and springs in the residual, (nv, K), and stored energy [J], (K,).

    Args:
        scene: bounds of the joints.
        q: configuration, shape (nq, K).
        y: motion over the step, shape (nv, K).
        h: length of the step [s].
    """
    structure, force = scene.structure, jnp.zeros_like(y)
    energy = jnp.zeros_like(y[0]) if len(y) else jnp.zeros(q.shape[-1], q.dtype)
    dofs = np.array(structure.dofs, int)
    if len(dofs):
        lower, upper, stiffness, friction = scene.stops[..., None]
        x, moved, stick = q[np.array(structure.stops)], y[dofs], h * CREEP
        depth = jnp.minimum(x - lower, 0.0) + jnp.maximum(x - upper, 0.0)
        slides = jnp.abs(moved) > stick
        dry = friction * jnp.where(slides, jnp.sign(moved), moved / stick)
        force = force.at[dofs].add(stiffness * depth + dry)
        energy = energy + (0.5 * stiffness * depth * depth).sum(0)
    for (a, b, copy, primary), spring in zip(structure.mimics, scene.mimics.T, strict=True):
        multiplier, offset, k = spring
        error = q[a] - offset - multiplier * q[b]
        force = force.at[copy].add(k * error).at[primary].add(-multiplier * k * error)
        energy = energy + 0.5 * k * error * error
    return force, energy


def add_joint_stiffness(scene: DeviceScene, q: Array, y: Array, h: Array, A: Array) -> Array:
    """A + the derivative of `joint_forces` by the configuration, shape (nv, nv, K)."""
    structure, dofs = scene.structure, np.array(scene.structure.dofs, int)
    if len(dofs):
        lower, upper, stiffness, friction = scene.stops[..., None]
        x, moved, stick = q[np.array(structure.stops)], y[dofs], h * CREEP
        beyond = (x < lower) | (x > upper)
        own = jnp.where(beyond, stiffness, 0.0)
        own = own + jnp.where(jnp.abs(moved) <= stick, friction / stick, 0.0)
        A = add_diagonal(A, jnp.zeros_like(y).at[dofs].add(own))
    for (_, _, copy, primary), spring in zip(structure.mimics, scene.mimics.T, strict=True):
        multiplier, _, k = spring
        A = A.at[copy, copy].add(k).at[primary, primary].add(multiplier * multiplier * k)
        A = A.at[copy, primary].add(-multiplier * k).at[primary, copy].add(-multiplier * k)
    return A


def add_diagonal(A: Array, diagonal: Array) -> Array:
    """A + diag(diagonal), shapes (nv, nv, K) and (nv, K or 1)."""
    eye = jnp.eye(len(A), dtype=A.dtype)[:, :, None]
    return A + jnp.where(eye > 0.0, diagonal[:, None], 0.0)
