"""Partial derivatives of a step of pbd or pbfd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmdp_pin.dynamics.parameters import COMMAND
from nmdp_pin.errors import DerivativeError
from nmdp_pin.kernels.inertial_potential import inertial_gradient
from nmdp_pin.kernels.joint_law import replace_kinks
from nmdp_pin.kernels.manifold import add_turning, difference_derivative
from nmdp_pin.kernels.penalty import FRICTIONAL
from nmdp_pin.kernels.penalty_contacts import penalty_forces
from nmdp_pin.kernels.position_partials import StartPartials, start_partials
from nmdp_pin.kernels.position_scene import Point, Scene, StepStart
from nmdp_pin.kernels.position_solver import Memory
from nmdp_pin.kernels.position_step import linearise


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
        depths: penetrations of the contacts, negative where they are apart [m], shape (m,).
    """

    of_q: np.ndarray
    of_start: np.ndarray
    of_torque: np.ndarray
    velocity_of_q: np.ndarray
    velocity_of_start: np.ndarray
    of_parameters: Mapping[str, np.ndarray]
    depths: np.ndarray


def partials_of(
    scene: Scene,
    start: StepStart,
    memory: Memory,
    command: Any,
    *,
    names: Iterable[str] = (),
    n_shapes: int = 0,
) -> PositionPartials:
    """The partial derivatives of a step.

    Args:
        scene: data that all steps share.
        start: data of the step.
        memory: memory after `evaluate` at the end of the step.
        command: command of the step.
        names: names of the parameters to differentiate with respect to.
        n_shapes: number of shapes that may be touched, each with a friction coefficient.

    Raises:
        DerivativeError: the command has no target.
    """
    point, nv = memory.point, len(start.v0)
    following, start = _without_kinks(scene, start, point)
    scene = scene._replace(
        joints=scene.joints._replace(friction=np.zeros(nv), effort=np.full(nv, np.inf))
    )
    linearise(scene, start, point, memory.ref, True)  # writes point.A
    of_start, velocity_of_start = _of_start(scene, start, memory)
    frictional = scene.law.kind == FRICTIONAL
    of_parameters = {
        name: _of_parameter(name, scene, start, memory, command, n_shapes) for name in names
    }
    for name in COMMAND:
        if name in of_parameters:
            of_parameters[name] *= following[:, None]
    return PositionPartials(
        of_q=point.A.copy(),
        of_start=of_start,
        of_torque=-following[:, None] * (np.eye(nv) if frictional else point.D.T),
        velocity_of_q=point.D / start.h,
        velocity_of_start=velocity_of_start,
        of_parameters=of_parameters,
        depths=scene.contacts.radii - point.surfaces.distance,
    )


def _of_start(scene: Scene, start: StepStart, memory: Memory) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of r and of v1 with respect to the start, shapes (nv, 2 nv).

    The targets of the bodies are 2 X(q0) - X(q_back) + gravity's part. The derivatives of
    q_back = integrate(q0, -h v0) are Jr Jl^-1 and -h Jr, where Jr^-1 = `right`, Jl^-1 = `left`.
    """
    tree, point, nv, h = scene.tree, memory.point, len(start.v0), start.h
    square, one = (nv, nv), np.eye(nv)
    parts = StartPartials(
        targets=np.empty(square),
        back=np.empty(square),
        right=one.copy(),
        left=one.copy(),
        contacts=np.zeros(square),
        D0=one.copy(),
    )
    start_partials(scene, start, memory.ref, point, parts)
    of_v = np.zeros((nv, 2 * nv))
    of_v[:, :nv] = parts.D0 / -h
    rotors = tree.rotors * start.rate
    result = (start.kd + rotors)[:, None] * of_v
    result[:, nv:] -= np.diag(rotors)
    if scene.law.kind != FRICTIONAL:
        result = point.D.T @ result
        force = start.kd * point.v - start.tau + rotors * (point.v - start.v0)
        turned = np.zeros(square)
        add_turning(tree, point.y, -parts.D0, force, turned)
        result[:, :nv] += turned
    back = parts.back @ np.linalg.inv(parts.right)
    result[:, :nv] += start.rate / h * (2.0 * parts.targets - back @ parts.left) + parts.contacts
    result[:, nv:] += start.rate * back
    return result, of_v


def _without_kinks(scene: Scene, start: StepStart, point: Point) -> tuple[np.ndarray, StepStart]:
    """The step with gains and torques that replace friction and limits near its end.

    Dry friction is a damper or a constant torque, a saturated motor a constant torque. Also 1 for
    the dofs whose motors follow the command, 0 for the saturated ones, shape (nv,).
    """
    tau, kp, kd = start.tau.copy(), start.kp.copy(), start.kd.copy()
    following = np.ones(len(tau))
    replace_kinks(scene, start, point, tau, kp, kd, following)
    return following, start._replace(tau=tau, kp=kp, kd=kd)


def _of_parameter(
    name: str, scene: Scene, start: StepStart, memory: Memory, command: Any, n_shapes: int
) -> np.ndarray:
    """dr/dp, shape (nv, k)."""
    point, nv = memory.point, len(start.v0)
    frictional = scene.law.kind == FRICTIONAL
    D, D_t = (np.eye(nv), np.eye(nv)) if frictional else (point.D, point.D_t)
    if name == "tau":
        return -D.T
    if name == "v_target":
        return -D.T * (0.0 if command.kd is None else command.kd)
    if name == "kd":
        target = 0.0 if command.v_target is None else command.v_target
        return D.T * (point.v - target)
    if name in ("kp", "q_target"):
        return _of_spring(name, scene, start, memory, command, D_t)
    if name == "mass":
        return _of_masses(scene, start, memory)
    if name == "stiffness":
        unit, none = (scene.law._replace(stiffness=value) for value in (1.0, 0.0))
        wrenches = _wrenches(scene, start, memory, unit) - _wrenches(scene, start, memory, none)
        return -_generalised(scene, memory, wrenches)[:, None]
    result = np.zeros((nv, n_shapes))
    friction, shape = point.surfaces.friction.copy(), point.surfaces.shape
    try:
        parts = []
        for value in (1.0, 0.0):
            point.surfaces.friction[:] = value
            parts.append(_wrenches(scene, start, memory, scene.law))
    finally:
        point.surfaces.friction[:] = friction
    for index in np.unique(shape[shape >= 0]):
        own = np.where((shape == index)[:, None], parts[0] - parts[1], 0.0)
        result[:, index] = -_generalised(scene, memory, own)
    return result


def _of_spring(
    name: str, scene: Scene, start: StepStart, memory: Memory, command: Any, D_t: np.ndarray
) -> np.ndarray:
    """Derivative with respect to kp or q_target."""
    point, nv = memory.point, len(start.v0)
    if command.q_target is None:
        raise DerivativeError(
            "the command has no q_target, without which kp means nothing and nothing can be "
            "differentiated with respect to q_target"
        )
    if name == "kp":
        return D_t.T * point.e
    D0 = np.eye(nv)
    difference_derivative(scene.tree, -point.e, D0)
    result = -(D_t.T * start.kp) @ D0
    if scene.law.kind != FRICTIONAL:
        add_turning(scene.tree, point.e, -D0, start.kp * point.e, result)
    return result


def _of_masses(scene: Scene, start: StepStart, memory: Memory) -> np.ndarray:
    """Derivative with respect to masses, as in `parameters`."""
    tree, point, nv = scene.tree, memory.point, len(start.v0)
    n = len(tree.kinds)
    result, wrenches = np.empty((nv, n)), np.empty((n, 6))
    for b in range(n):
        moments = np.zeros_like(tree.moments)
        mass = tree.moments[b, 3, 3]
        if mass > 0.0:
            moments[b] = tree.moments[b] / mass
        else:
            moments[b, 3, 3] = 1.0
        column = np.empty(nv)
        one = tree._replace(moments=moments)
        inertial_gradient(point.P[1:], memory.ref.target, one, point.S, wrenches, column)
        result[:, b] = start.rate / start.h * column
    return result


def _wrenches(scene: Scene, start: StepStart, memory: Memory, law: Any) -> np.ndarray:
    """Wrenches at the world's origin under another law, shape (m, 6)."""
    point = memory.point
    kept = point.forces.wrenches.copy(), point.forces.origin.copy(), point.forces.energies.copy()
    penalty_forces(scene._replace(law=law), start.h, memory.ref, point)
    result = point.forces.origin.copy()
    point.forces.wrenches[:], point.forces.origin[:], point.forces.energies[:] = kept
    return result


def _generalised(scene: Scene, memory: Memory, wrenches: np.ndarray) -> np.ndarray:
    """The generalised force of the contacts' wrenches at the world's origin, shape (nv,)."""
    tree, contacts = scene.tree, scene.contacts
    bodies = np.zeros((len(tree.kinds) + 1, 6))
    np.add.at(bodies, contacts.joints, wrenches)
    np.subtract.at(bodies, contacts.touched, wrenches)
    for b in range(len(tree.kinds) - 1, -1, -1):
        bodies[tree.parents[b] + 1] += bodies[b + 1]
    body_of = np.repeat(np.arange(len(tree.kinds)), np.diff(tree.first_dofs))
    result: np.ndarray = np.vecdot(memory.point.S, bodies[body_of + 1])
    return result
