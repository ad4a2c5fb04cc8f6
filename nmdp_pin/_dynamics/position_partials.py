"""Partial derivatives of a step of pbd or pbfd."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nmdp_pin._dynamics.parameters import COMMAND, residual_by_command
from nmdp_pin._kernels.inertia import inertial_gradient
from nmdp_pin._kernels.manifold import add_turning, difference_derivative
from nmdp_pin._kernels.penalty import FRICTIONAL, PenaltyLaw
from nmdp_pin._kernels.position_partials import StartPartials, start_partials
from nmdp_pin._kernels.position_step import (
    PositionStep,
    linearise_step,
    replace_kinks,
    write_contact_forces,
)

_TOUCHING = 1e-11  # [m] distance up to which a contact is at the surface


@dataclass(frozen=True, eq=False)
class PositionPartials:
    """Partial derivatives of r(q1, start, command, parameters) and v1(q1, start) of a step.

    Derivatives with respect to configurations are tangent; the start is (q0, v0).

    Args:
        of_q: dr/dq1, shape (nv, nv).
        of_start: dr/dstart, shape (nv, 2 nv).
        of_torque: dr/dtau, shape (nv, nv).
        velocity_of_q: dv1/dq1 [1/s], shape (nv, nv).
        velocity_of_start: dv1/dstart, shape (nv, 2 nv).
        of_parameters: dr/dp by name, shape (nv, k) each.
        touching: indices of the contact points that are at a surface, shape (m,).
    """

    of_q: np.ndarray
    of_start: np.ndarray
    of_torque: np.ndarray
    velocity_of_q: np.ndarray
    velocity_of_start: np.ndarray
    of_parameters: Mapping[str, np.ndarray]
    touching: np.ndarray


def partials_of(
    step: PositionStep, command: Any, *, names: Iterable[str] = (), n_shapes: int = 0
) -> PositionPartials:
    """The partial derivatives of a step.

    Args:
        step: the step, evaluated at its end.
        command: command of the step.
        names: names of the parameters to differentiate with respect to.
        n_shapes: number of shapes that may be touched, each with a friction coefficient.
    """
    step = _without_kinks(step)
    trial, torque = step.trial, step.start.torque
    following = 1.0 * (torque.signs == 0.0)
    linearise_step(step, True)  # writes trial.A
    of_start, velocity_of_start = _of_start(step)
    frictional = step.scene.law.kind == FRICTIONAL
    of_parameters = {name: _of_parameter(name, step, command, n_shapes) for name in names}
    for name in COMMAND:
        if name in of_parameters:
            of_parameters[name] *= following[:, None]
    return PositionPartials(
        of_q=trial.A.copy(),
        of_start=of_start,
        of_torque=-following[:, None] * (np.eye(len(following)) if frictional else trial.D.T),
        velocity_of_q=trial.D / step.start.h,
        velocity_of_start=velocity_of_start,
        of_parameters=of_parameters,
        touching=_touching(step),
    )


def _touching(step: PositionStep) -> np.ndarray:
    """Indices of the contact points that are apart on one side and pressed on the other."""
    contacts = step.ref.contacts
    n = contacts.n[0]
    near = np.abs(step.trial.places.depth[:n]) <= _TOUCHING
    result: np.ndarray = step.scene.candidates.points[contacts.index[:n][near]]
    return result


def _of_start(step: PositionStep) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of r and of v1 with respect to the start, shapes (nv, 2 nv).

    The targets of the bodies are 2 X(q0) - X(q_back) + gravity's part. The derivatives of
    q_back = integrate(q0, -h v0) are Jr Jl^-1 and -h Jr, where Jr^-1 = `right`, Jl^-1 = `left`.
    """
    tree, start, trial = step.scene.tree, step.start, step.trial
    nv, h = len(start.v0), start.h
    square, one = (nv, nv), np.eye(nv)
    parts = StartPartials(
        targets=np.empty(square),
        back=np.empty(square),
        right=one.copy(),
        left=one.copy(),
        contacts=np.zeros(square),
        D0=one.copy(),
    )
    start_partials(step, parts)
    of_v = np.zeros((nv, 2 * nv))
    of_v[:, :nv] = parts.D0 / -h
    rotors = tree.rotors / h
    result = (start.torque.kd + rotors)[:, None] * of_v
    result[:, nv:] -= np.diag(rotors)
    if step.scene.law.kind != FRICTIONAL:
        result = trial.D.T @ result
        force = start.torque.kd * trial.v - start.torque.constant + rotors * (trial.v - start.v0)
        turned = np.zeros(square)
        add_turning(tree.space, trial.y, -parts.D0, force, turned)
        result[:, :nv] += turned
    back = parts.back.T @ np.linalg.inv(parts.right)
    result[:, :nv] += 1.0 / h**2 * (2.0 * parts.targets.T - back @ parts.left) + parts.contacts
    result[:, nv:] += back / h
    return result, of_v


def _without_kinks(step: PositionStep) -> PositionStep:
    """The step with gains and torques that replace friction and limits near its end.

    Dry friction is a damper or a constant torque, a saturated motor a constant torque.
    """
    torque, joints = copy.deepcopy(step.start.torque), step.scene.joints
    replace_kinks(step, torque)
    free, none = np.full(len(torque.kp), np.inf), np.zeros_like(joints.friction)
    scene = replace(step.scene, joints=replace(joints, friction=none, effort=free))
    return replace(step, scene=scene, start=replace(step.start, torque=torque))


def _of_parameter(name: str, step: PositionStep, command: Any, n_shapes: int) -> np.ndarray:
    """dr/dp, shape (nv, k)."""
    scene, torque, trial, nv = step.scene, step.start.torque, step.trial, len(step.start.v0)
    frictional = scene.law.kind == FRICTIONAL
    if name in COMMAND:
        result = residual_by_command(name, scene.tree.space, command, trial.e, trial.v)
        if frictional:
            return result
        if name == "q_target":
            turned = np.zeros((nv, nv))
            D0 = np.eye(nv)
            difference_derivative(scene.tree.space, -trial.e, D0)
            add_turning(scene.tree.space, trial.e, -D0, torque.kp * trial.e, turned)
            return trial.D_t.T @ result + turned
        return (trial.D_t if name == "kp" else trial.D).T @ result
    if name == "mass":
        return _of_masses(step)
    if name == "stiffness":
        unit, none = (_wrenches(step, replace(scene.law, stiffness=s)) for s in (1.0, 0.0))
        return -_generalised(step, unit - none)[:, None]
    result = np.zeros((nv, n_shapes))
    n, places = step.ref.contacts.n[0], trial.places
    friction, shape = places.friction.copy(), places.surface[:n]
    try:
        parts = []
        for value in (1.0, 0.0):
            places.friction[:] = value
            parts.append(_wrenches(step, scene.law))
    finally:
        places.friction[:] = friction
    for index in np.unique(shape[shape >= 0]):
        own = np.where((shape == index)[:, None], parts[0] - parts[1], 0.0)
        result[:, index] = -_generalised(step, own)
    return result


def _of_masses(step: PositionStep) -> np.ndarray:
    """Derivative with respect to masses, as in `parameters`."""
    tree, trial, nv = step.scene.tree, step.trial, len(step.start.v0)
    n = len(tree.parents)
    result, wrenches = np.empty((nv, n)), np.empty((n, 6))
    for b in range(n):
        moments = np.zeros_like(tree.moments)
        mass = tree.moments[b, 3, 3]
        if mass > 0.0:
            moments[b] = tree.moments[b] / mass
        else:
            moments[b, 3, 3] = 1.0
        column = np.empty(nv)
        one = replace(tree, moments=moments)
        inertial_gradient(trial.P[1:], step.ref.target, one, trial.S, wrenches, column)
        result[:, b] = column / step.start.h**2
    return result


def _wrenches(step: PositionStep, law: PenaltyLaw) -> np.ndarray:
    """Wrenches of the contacts at the world's origin under another law, shape (n, 6)."""
    trial = replace(step.trial, forces=copy.deepcopy(step.trial.forces))
    write_contact_forces(replace(step, scene=replace(step.scene, law=law), trial=trial))
    result: np.ndarray = trial.forces.origin[: step.ref.contacts.n[0]]
    return result


def _generalised(step: PositionStep, wrenches: np.ndarray) -> np.ndarray:
    """The generalised force of the contacts' wrenches at the world's origin, shape (nv,)."""
    moves, (carried, touched) = step.scene.tree.moves, step.ref.contacts.bodies[: len(wrenches)].T
    shares = moves[carried] - moves[touched]
    result: np.ndarray = np.vecdot(step.trial.S, shares.T @ wrenches)
    return result
