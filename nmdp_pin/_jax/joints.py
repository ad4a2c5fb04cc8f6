"""Forces of joints: motors, stops, dry friction and springs, as in pbfd."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from nmdp_pin._jax.manifold import difference
from nmdp_pin._jax.scene import DeviceScene

CREEP = 1e-3  # [rad/s or m/s] up to which dry friction of a joint is viscous


class Commands(NamedTuple):
    """Commands of all steps; an axis of length 1 stands for all steps, or for all lanes.

    Attributes:
        tau: feed-forward torques [N m or N], shape (nt or 1, nv, K or 1).
        kp: position gains [N m/rad], likewise.
        kd: velocity gains [N m s/rad], likewise.
        q_target: target configurations, shape (nt or 1, nq, K or 1).
        v_target: target velocities [rad/s or m/s], as `tau`.
        force: forces from outside, which no motor makes or limits [N m or N], likewise.
    """

    tau: Array
    kp: Array
    kd: Array
    q_target: Array
    v_target: Array
    force: Array


def commands_at(commands: Commands, step: Array) -> Commands:
    """The commands of one step of each lane, whose indices have the shape (K,)."""
    return Commands(*(_at(values, step) for values in commands))


def _at(values: Array, step: Array) -> Array:
    """Rows of commands, shape (nv or nq, K or 1)."""
    if len(values) == 1:
        return values[0]
    rows = jnp.minimum(step, len(values) - 1)
    if values.shape[2] == 1:
        return values[rows, :, 0].T
    return jnp.take_along_axis(values, rows[None, None], 0)[0]


class JointTrial(NamedTuple):
    """The joints at one configuration.

    Attributes:
        v: velocity, shape (nv, K).
        excess: excess of the motors' efforts over their limits [N m or N], shape (nv, K).
        tau: torque of the command and the damping, shape (nv, K).
        stored: energy of stops and of springs [J], shape (2, K).
    """

    v: Array
    excess: Array
    tau: Array
    stored: Array


def joint_residual(
    scene: DeviceScene, command: Commands, q0: Array, v0: Array, q: Array, h: Array
) -> tuple[Array, JointTrial]:
    """What commands, joints and rotors add to the residual, shape (nv, K).

    But for springs, each component depends on the dofs of its own joint alone.

    Args:
        scene: what all steps share.
        command: commands of the step.
        q0: configuration at the start, shape (nq, K).
        v0: velocity there, shape (nv, K).
        q: configuration at which the residual is, shape (nq, K).
        h: length of the step [s].
    """
    origins = jnp.stack(jnp.broadcast_arrays(q0, command.q_target), axis=1)
    y, e = jnp.moveaxis(difference(scene.structure, origins, q[:, None]), 1, 0)
    v, (limit, damping) = y / h, scene.motors[..., None]
    effort = command.tau + command.kd * (command.v_target - v) - command.kp * e
    excess = jnp.maximum(effort - limit, 0.0) + jnp.minimum(effort + limit, 0.0)
    tau = effort - excess + command.force - damping * v
    forces, stops = _stop_forces(scene, q, y, h)
    own = forces - tau + scene.rotors[:, None] / h * (v - v0)
    springs = jnp.zeros_like(stops)
    if len(scene.ball_stiffness):
        turn = difference(scene.structure, scene.ball_rest[:, None], q)
        pulls = scene.ball_stiffness[:, None] * turn
        own, springs = own + pulls, 0.5 * (pulls * turn).sum(0)
    return own, JointTrial(v, excess, tau, jnp.stack([stops, springs]))


def _stop_forces(scene: DeviceScene, q: Array, y: Array, h: Array) -> tuple[Array, Array]:
    """Forces of stops and dry friction in the residual, (nv, K), and the stops' energy [J], (K,).

    Args:
        scene: bounds of the joints.
        q: configuration, shape (nq, K).
        y: motion over the step, shape (nv, K).
        h: length of the step [s].
    """
    dofs = np.array(scene.structure.dofs, int)
    lower, upper, stiffness, friction = scene.stops[..., None]
    x, moved, stick = q[np.array(scene.structure.stops, int)], y[dofs], h * CREEP
    depth = jnp.where(x < lower, x - lower, jnp.where(x > upper, x - upper, 0.0))
    dry = friction * jnp.where(jnp.abs(moved) > stick, jnp.sign(moved), moved / stick)
    force = jnp.zeros_like(y).at[dofs].set(stiffness * depth + dry)
    return force, (0.5 * stiffness * depth * depth).sum(0)


def spring_forces(scene: DeviceScene, q: Array) -> tuple[Array, Array, Array]:
    """Forces of springs of coordinates in the residual, (nv, K), and their energy [J], (K,).

    The last result is the derivative of the forces, shape (nv, nv, 1).
    """
    factors, (rest, stiffness) = scene.factors, scene.springs[..., None]
    stretch = factors @ q[np.array(scene.structure.coordinates)] - rest
    derivative = (factors * stiffness).T @ factors
    energy = 0.5 * (stiffness * stretch * stretch).sum(0)
    return factors.T @ (stiffness * stretch), energy, derivative[..., None]


def add_diagonal(A: Array, diagonal: Array) -> Array:
    """A + diag(diagonal), shapes (nv, nv, K) and (nv, K or 1)."""
    return A + jnp.where(np.eye(len(A), dtype=bool)[:, :, None], diagonal[:, None], 0.0)
