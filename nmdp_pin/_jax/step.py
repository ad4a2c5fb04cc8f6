"""Equations of a step of pbfd ([P] eq. 13) for many lanes, as in the kernels' `position_step`."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from nmdp_pin._jax.contacts import (
    Listed,
    Touching,
    contact_forces,
    contact_stiffness,
    list_contacts,
    place_contacts,
)
from nmdp_pin._jax.joints import (
    Torque,
    add_diagonal,
    excess,
    joint_forces,
    spring_forces,
)
from nmdp_pin._jax.manifold import by_tangents, difference, integrate
from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.stages import stage
from nmdp_pin._jax.tree import (
    add_children,
    body_twists,
    by_motions,
    forward_kinematics,
    inertial_wrenches,
    kinetic_energy,
    potential_energy,
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
        metric: M / h^2 + kd / h + kp, shape (nv, nv, K).
        scale: U'^-1 with U'U the metric, shape (nv, nv, K).
        energies: kinetic energy, potential energy of gravity and energy of springs [J], (3, K).
        bound: bound on |r| [N, N m], shape (K,).
        contacts: contacts of the step.
    """

    q0: Array
    v0: Array
    P0: Array
    target: Array
    metric: Array
    scale: Array
    energies: Array
    bound: Array
    contacts: Listed


class JointTrial(NamedTuple):
    """The joints at one configuration.

    Attributes:
        v: velocity, shape (nv, K).
        excess: excess of the motors' efforts over their limits, shape (nv, K).
        tau: torque of the command and the damping, shape (nv, K).
        stops: energy of stops [J], shape (K,).
        springs: energy of springs [J], shape (K,).
    """

    v: Array
    excess: Array
    tau: Array
    stops: Array
    springs: Array


class Trial(NamedTuple):
    """A step at one configuration.

    Attributes:
        q: configuration, shape (nq, K).
        P: placements, shape (4, 3, n, K).
        S: motions of the dofs, shape (6, nv, K).
        wrenches: wrenches of inertia less contacts, summed over subtrees, shape (6, n, K).
        contacts: contacts that act.
        joints: the joints.
        r: residual [N, N m], shape (nv, K).
        stored: energy stored in contacts and stops [J], shape (K,).
    """

    q: Array
    P: Array
    S: Array
    wrenches: Array
    contacts: Touching
    joints: JointTrial
    r: Array
    stored: Array


def begin(scene: DeviceScene, q0: Array, v0: Array, torque: Torque, h: Array) -> StepStart:
    """The start of a step; its scale is not finite where M is singular."""
    structure = scene.structure
    P0, target = reference(scene, q0, v0, h)

    def motions(P0: Array, v0: Array) -> tuple[Array, Array]:
        S0 = world_motions(scene, P0)
        return S0, body_twists(structure, S0, v0)

    def metric_of(P0: Array, S0: Array) -> Array:
        inertia = by_motions(lambda P: inertial_wrenches(P, P0, scene.moments), P0)
        sums = add_children(structure, inertia)
        M = add_diagonal(project_stiffness(structure, S0, sums, None), scene.rotors[:, None])
        return add_diagonal(M / (h * h), torque.kd / h + torque.kp)

    def energies_of(P0: Array, twists: Array, v0: Array) -> Array:
        moves, falls = kinetic_energy(scene, P0, twists, v0), potential_energy(scene, P0)
        return jnp.stack([moves, falls, springs])

    _, springs = spring_forces(scene, q0)
    S0, twists = stage(structure, h, motions, P0, v0)
    metric = stage(structure, h, metric_of, P0, S0)
    energies = stage(structure, h, energies_of, P0, twists, v0)
    weight, inertia = scene.sizes
    rounding = ROUNDING * jnp.finfo(q0.dtype).eps * inertia / (h * h)
    bound = jnp.maximum(scene.options[0] * weight, rounding * (1.0 + jnp.abs(q0).max(0)))
    contacts = stage(structure, h, lambda P, t: list_contacts(scene, P, t, h), P0, twists)
    scale = inverse_factor(metric)
    return StepStart(q0, v0, P0, target, metric, scale, energies, bound, contacts)


def reference(scene: DeviceScene, q0: Array, v0: Array, h: Array) -> tuple[Array, Array]:
    """Placements at the start, and those that the bodies reach without forces."""

    def back(q0: Array, v0: Array) -> Array:
        return forward_kinematics(scene, integrate(scene.structure, q0, -h * v0))

    P0 = stage(scene.structure, h, lambda q: forward_kinematics(scene, q), q0)
    target = 2.0 * P0 - stage(scene.structure, h, back, q0, v0)
    return P0, target + scene.gravity[..., None] * (h * h)


def inverse_factor(metric: Array) -> Array:
    """U'^-1 of matrices U'U, shape (nv, nv, K); not finite where one is not positive definite."""
    L = jnp.linalg.cholesky(jnp.moveaxis(metric, -1, 0))
    eye = jnp.broadcast_to(jnp.eye(L.shape[1], dtype=L.dtype), L.shape)
    return jnp.moveaxis(lax.linalg.triangular_solve(L, eye, left_side=True, lower=True), 0, -1)


def evaluate(scene: DeviceScene, start: StepStart, torque: Torque, q: Array, h: Array) -> Trial:
    """The residual of a step at configurations q, shape (nq, K)."""
    structure = scene.structure

    def loads(P: Array, start: StepStart) -> tuple[Array, Touching, Array]:
        contacts = place_contacts(scene, start.contacts, P, start.P0)
        pushes, stored = contact_forces(scene, contacts, h)
        inertia = inertial_wrenches(P, start.target, scene.moments) / (h * h)
        return add_children(structure, inertia - pushes), contacts, stored

    P = stage(structure, h, lambda q: forward_kinematics(scene, q), q)
    S = stage(structure, h, lambda P: world_motions(scene, P), P)
    wrenches, contacts, stored = stage(structure, h, loads, P, start)
    own, joints = joint_residual(scene, start, torque, q, h)
    r = project_wrenches(structure, S, wrenches) + own
    stored = stored + joints.stops
    return Trial(q, P, S, wrenches, contacts, joints, r, stored)


def joint_residual(
    scene: DeviceScene, start: StepStart, torque: Torque, q: Array, h: Array
) -> tuple[Array, JointTrial]:
    """What commands, joints and rotors add to the residual at q, shape (nv, K)."""
    y, e = difference(scene.structure, start.q0, q), difference(scene.structure, torque.q_target, q)
    v = y / h
    more = excess(scene, torque, e, v)
    tau = torque.constant - torque.kd * v - torque.kp * e - more
    forces, stops = joint_forces(scene, q, y, h)
    pulls, springs = spring_forces(scene, q)
    own = forces + pulls - tau + scene.rotors[:, None] / h * (v - start.v0)
    return own, JointTrial(v, more, tau, stops, springs)


def linearise(scene: DeviceScene, start: StepStart, torque: Torque, at: Trial, h: Array) -> Array:
    """dr/dq (tangent) at a point, shape (nv, nv, K)."""
    structure = scene.structure

    def stiffness_of(P: Array, target: Array, contacts: Touching) -> tuple[Array, Array | None]:
        pushes, between = contact_stiffness(scene, contacts, h)
        inertia = by_motions(lambda P: inertial_wrenches(P, target, scene.moments), P)
        return add_children(structure, inertia / (h * h) - pushes), between

    def project(S: Array, sums: Array, between: Array | None, wrenches: Array) -> Array:
        A = project_stiffness(structure, S, sums, wrenches)
        return A if between is None else A - project_pairs(structure, S, between)

    sums, between = stage(structure, h, stiffness_of, at.P, start.target, at.contacts)
    A = stage(structure, h, project, at.S, sums, between, at.wrenches)
    own = lambda q: joint_residual(scene, start, torque, q, h)[0]  # noqa: E731
    coupled = len(scene.factors) > 0  # by springs of several joints
    along = lambda q: by_tangents(structure, own, q, coupled=coupled)  # noqa: E731
    return A + stage(structure, h, along, at.q)


def gains_energy(scene: DeviceScene, start: StepStart, at: Trial, stored: Array, h: Array) -> Array:
    """Whether the end of a step has energy that nothing gave, shape (K,).

    Args:
        scene: what all steps share.
        start: start of the step.
        at: its end.
        stored: energy stored at the start [J], shape (K,).
        h: length of the step [s].
    """
    joints = at.joints
    twists = body_twists(scene.structure, at.S, joints.v)
    work = h * (joints.tau * joints.v).sum(0)
    end = kinetic_energy(scene, at.P, twists, joints.v) + potential_energy(scene, at.P) + at.stored
    gain = end + joints.springs - work - (start.energies.sum(0) + stored)
    moving = start.energies[0] + jnp.maximum(work, 0.0) + stored
    moving = moving + jnp.maximum(start.energies[2] - joints.springs, 0.0)
    return ~(gain <= LARGEST_GAIN * moving + LEAST_GAIN * scene.sizes[0])
