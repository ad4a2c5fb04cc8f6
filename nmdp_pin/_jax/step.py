"""Equations of a step of pbfd ([P] eq. 13) for many lanes, as in the kernels' `position_step`."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from nmdp_pin._jax.contacts import Listed, contact_pushes, list_contacts, place_contacts
from nmdp_pin._jax.joints import Commands, JointTrial, add_diagonal, joint_residual, spring_forces
from nmdp_pin._jax.manifold import by_joints, integrate, of_dofs
from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.stages import stage
from nmdp_pin._jax.tree import (
    add_children,
    body_twists,
    contract,
    energies,
    forward_kinematics,
    inertial_stiffness,
    inertial_wrenches,
    project_pairs,
    project_stiffness,
    project_wrenches,
    world_motions,
)

ROUNDING = 8.0  # errors of M q / h^2 that add up, in units of the type's own
LARGEST_GAIN, LEAST_GAIN = 0.5, 0.01  # share of the energy that moves; [m] of the weight's lift


class StepStart(NamedTuple):
    """What follows from the start of a step.

    Attributes:
        q0: configuration, shape (nq, K).
        v0: velocity, shape (nv, K).
        P0: placements of the bodies, shape (4, 3, n, K).
        target: placements that they reach without forces, likewise.
        scale: U'^-1 with U'U = M / h^2 + kd / h + kp, shape (nv, nv, K).
        energies: kinetic energy, potential energy of gravity and energy of springs [J], (3, K).
        bound: bound on |r| [N, N m], shape (K,).
        contacts: contacts of the step.
    """

    q0: Array
    v0: Array
    P0: Array
    target: Array
    scale: Array
    energies: Array
    bound: Array
    contacts: Listed


class Trial(NamedTuple):
    """A step at one configuration.

    Attributes:
        P: placements, shape (4, 3, n, K).
        S: motions of the dofs, shape (6, nv, K).
        joints: the joints.
        depths: penetrations of all spheres [m], shape (m, K).
        overflow: whether more contacts touch than may act, shape (K,).
        r: residual [N, N m], shape (nv, K).
        A: its derivative by the configuration (tangent), shape (nv, nv, K).
        stored: energy stored in contacts and stops [J], shape (K,).
        springs: energy of springs [J], shape (K,).
    """

    P: Array
    S: Array
    joints: JointTrial
    depths: Array
    overflow: Array
    r: Array
    A: Array
    stored: Array
    springs: Array


def begin(scene: DeviceScene, q0: Array, v0: Array, command: Commands, h: Array) -> StepStart:
    """The start of a step; its scale is not finite where M is singular."""
    structure = scene.structure
    P0, target = reference(scene, q0, v0, h)

    def moving(P0: Array, v0: Array) -> tuple[Array, Array, Array]:
        S0 = world_motions(scene, P0)
        twists = body_twists(structure, S0, v0)
        return S0, twists, jnp.stack(energies(scene, P0, twists, v0))

    def inertia_of(P0: Array, S0: Array) -> tuple[Array, Array]:
        inertia = add_children(structure, inertial_stiffness(P0, P0, scene.moments))
        return contract(structure, S0, inertia, jnp.zeros_like(inertia[0]))

    def metric_of(S0: Array, rows: Array, columns: Array) -> Array:
        M = project_stiffness(structure, S0, rows, columns)
        gains = (command.kd + scene.motors[1, :, None]) / h + command.kp
        return add_diagonal(M / (h * h), gains + scene.rotors[:, None] / (h * h))

    S0, twists, energy = stage(structure, h, moving, P0, v0)
    metric = stage(structure, h, metric_of, S0, *stage(structure, h, inertia_of, P0, S0))
    joints = joint_residual(scene, command, q0, v0, q0, h)[1]
    springs = spring_forces(scene, q0)[1] + joints.stored[1]
    weight, inertia = scene.sizes
    rounding = ROUNDING * jnp.finfo(q0.dtype).eps * inertia / (h * h)
    bound = jnp.maximum(scene.options[0] * weight, rounding * (1.0 + jnp.abs(q0).max(0)))
    contacts = stage(structure, h, lambda P, t: list_contacts(scene, P, t, h), P0, twists)
    known = jnp.concatenate([energy, springs[None]])
    return StepStart(q0, v0, P0, target, inverse_factor(metric), known, bound, contacts)


def reference(scene: DeviceScene, q0: Array, v0: Array, h: Array) -> tuple[Array, Array]:
    """Placements at the start, and those that the bodies reach without forces."""
    back = stage(scene.structure, h, lambda *x: integrate(scene.structure, *x), q0, -h * v0)
    P = _placed(scene, jnp.concatenate([q0, back], axis=1), h)
    P0, before = jnp.split(P, 2, axis=-1)
    return P0, 2.0 * P0 - before + scene.gravity[..., None] * (h * h)


def _placed(scene: DeviceScene, q: Array, h: Array) -> Array:
    """Placements of the bodies."""
    return stage(scene.structure, h, lambda q: forward_kinematics(scene, q), q)


def inverse_factor(metric: Array) -> Array:
    """U'^-1 of matrices U'U, shape (nv, nv, K); not finite where one is not positive definite."""
    L = jnp.linalg.cholesky(jnp.moveaxis(metric, -1, 0))
    eye = jnp.broadcast_to(jnp.eye(L.shape[1], dtype=L.dtype), L.shape)
    return jnp.moveaxis(lax.linalg.triangular_solve(L, eye, left_side=True, lower=True), 0, -1)


def evaluate(scene: DeviceScene, start: StepStart, command: Commands, q: Array, h: Array) -> Trial:
    """The residual of a step at configurations q, shape (nq, K), and its derivative."""
    structure, known = scene.structure, lax.stop_gradient

    def loads(P: Array, S: Array, start: StepStart) -> tuple[Any, ...]:
        touching, depths, overflow = place_contacts(scene, start.contacts, P, start.P0)
        pushes = contact_pushes(scene, touching, h)
        inertia = inertial_wrenches(P, P - start.target, scene.moments) / (h * h)
        K = inertial_stiffness(*known((P, start.target, scene.moments))) / known(h * h)
        F = add_children(structure, inertia - pushes.wrenches)
        K = add_children(structure, K - pushes.own)
        rows, columns = contract(structure, *known((S, K, F)))
        r = project_wrenches(structure, S, F)
        return r, rows, columns, pushes.between, pushes.stored, depths, overflow

    def project(
        S: Array, slopes: Array, coupling: Array, rows: Array, columns: Array, between: Array | None
    ) -> Array:
        A = project_stiffness(structure, S, rows, columns) + of_dofs(structure, slopes) + coupling
        return A if between is None else A - project_pairs(structure, S, between)

    def of_joints(command: Commands, q0: Array, v0: Array, q: Array) -> tuple[Array, ...]:
        own, joints = joint_residual(scene, command, q0, v0, q, h)
        pulls, springs, derivative = spring_forces(scene, q)
        slopes = slopes_of(*known((scene, command, q0, v0, q, h)))
        return own + pulls, slopes, derivative, joints, springs

    def slopes_of(
        scene: DeviceScene, command: Commands, q0: Array, v0: Array, q: Array, h: Array
    ) -> Array:
        along = lambda q: joint_residual(scene, command, q0, v0, q, h)[0]  # noqa: E731
        return by_joints(structure, along, q)

    P = _placed(scene, q, h)
    S = stage(structure, h, lambda P: world_motions(scene, P), P)
    r, *parts, stored, depths, overflow = stage(structure, h, loads, P, S, start)
    given = command, start.q0, start.v0, q
    own, *slopes, joints, springs = stage(structure, h, of_joints, *given)
    A = stage(structure, h, project, *known((S, *slopes, *parts)))
    stored, springs = stored + joints.stored[0], springs + joints.stored[1]
    return Trial(P, S, joints, depths, overflow, r + own, A, stored, springs)


def gains_energy(scene: DeviceScene, start: StepStart, at: Trial, stored: Array, h: Array) -> Array:
    """Whether the end of a step has energy that nothing gave, shape (K,).

    Args:
        scene: what all steps share.
        start: start of the step.
        at: its end.
        stored: energy stored at the start [J], shape (K,).
        h: length of the step [s].
    """
    v = at.joints.v
    work = h * (at.joints.tau * v).sum(0)
    moves, falls = energies(scene, at.P, body_twists(scene.structure, at.S, v), v)
    gain = moves + falls + at.stored + at.springs - work - (start.energies.sum(0) + stored)
    moving = start.energies[0] + jnp.maximum(work, 0.0) + stored
    moving = moving + jnp.maximum(start.energies[2] - at.springs, 0.0)
    return ~(gain <= LARGEST_GAIN * moving + LEAST_GAIN * scene.sizes[0])
