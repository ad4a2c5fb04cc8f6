"""Forces of joints: motors, stops, dry friction and springs, as in pbfd."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from nmdp_pin._jax.manifold import add_rows, difference
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


def joint_forces(scene: DeviceScene, q: Array, y: Array, h: Array) -> tuple[Array, Array, Array]:
    """Forces of joints in the residual, (nv, K), and energies of stops and springs [J], (K,).

    Args:
        scene: bounds and springs of the joints.
        q: configuration, shape (nq, K).
        y: motion over the step, shape (nv, K).
        h: length of the step [s].
    """
    force, energy = add_springs(scene, q, jnp.zeros_like(y))
    stored, dofs = jnp.zeros_like(energy), np.array(scene.structure.dofs, int)
    if len(dofs):
        lower, upper, stiffness, friction = scene.stops[..., None]
        x, moved, stick = q[np.array(scene.structure.stops)], y[dofs], h * CREEP
        depth = jnp.minimum(x - lower, 0.0) + jnp.maximum(x - upper, 0.0)
        slides = jnp.abs(moved) > stick
        dry = friction * jnp.where(slides, jnp.sign(moved), moved / stick)
        force = force.at[dofs].add(stiffness * depth + dry)
        stored = (0.5 * stiffness * depth * depth).sum(0)
    return force, stored, energy


def add_springs(scene: DeviceScene, q: Array, force: Array) -> tuple[Array, Array]:
    """Forces and those of springs in the residual, shape (nv, K), and the springs' energy, (K,)."""
    energy = jnp.zeros(q.shape[-1], q.dtype)
    if len(scene.factors):
        factors, (rest, stiffness) = scene.factors[..., None], scene.springs[..., None]
        stretch = (factors * q[np.array(scene.structure.coordinates)]).sum(1) - rest
        force = force + (factors * (stiffness * stretch)[:, None]).sum(0)
        energy = energy + 0.5 * (stiffness * stretch * stretch).sum(0)
    if len(scene.ball_stiffness):
        turn, stiffness = _ball_turns(scene, q), scene.ball_stiffness[:, None]
        force = force + stiffness * turn
        energy = energy + 0.5 * (stiffness * turn * turn).sum(0)
    return force, energy


def _ball_turns(scene: DeviceScene, q: Array) -> Array:
    """Ways from the rest of the springs of ball joints, of all dofs, shape (nv, K)."""
    return difference(scene.structure, scene.ball_rest[:, None], q)


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
    if len(scene.factors):
        pull = scene.factors * scene.springs[1, :, None]
        A = A + (pull[:, :, None] * scene.factors[:, None]).sum(0)[..., None]
    if len(scene.ball_stiffness):
        A = add_rows(structure, scene.ball_stiffness[:, None], _ball_turns(scene, q), A)
    return A


def add_diagonal(A: Array, diagonal: Array) -> Array:
    """A + diag(diagonal), shapes (nv, nv, K) and (nv, K or 1)."""
    eye = jnp.eye(len(A), dtype=A.dtype)[:, :, None]
    return A + jnp.where(eye > 0.0, diagonal[:, None], 0.0)
