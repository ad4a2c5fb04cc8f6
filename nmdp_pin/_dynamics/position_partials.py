"""Partial derivatives of a step of pbd or pbfd."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nmdp_pin._contact.penalty import Penalty
from nmdp_pin._control.controller import Command
from nmdp_pin._dynamics.parameters import COMMAND, MOTORS, residual_by_command, shapes_of
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.algebra.manifold import add_turning, difference_derivative
from nmdp_pin._kernels.contact.penalty import FRICTIONAL
from nmdp_pin._kernels.derivative.position_partials import StepPartials, step_partials
from nmdp_pin._kernels.step.inertia import inertial_gradient
from nmdp_pin._kernels.step.position_contacts import write_contact_forces
from nmdp_pin._kernels.step.position_records import PositionStep

_TOUCHING = 1e-11  # [m] distance up to which a contact is at the surface


@dataclass(frozen=True, eq=False)
class PositionPartials:
    """Partial derivatives of r(q1, start, torque, parameters) and v1(q1, start) of a step.

    Derivatives with respect to configurations are tangent; the start is (q0, v0).

    Args:
        of_q: dr/dq1, shape (nv, nv).
        of_start: dr/d(start, torque), shape (nv, 3 nv).
        velocity_of_q: dv1/dq1 [1/s], shape (nv, nv).
        velocity_of_start: dv1/dstart, shape (nv, 2 nv).
        of_parameters: dr/dp by name, shape (nv, k) each.
        touching: indices of the contact points that are at a surface, shape (m,).
    """

    of_q: np.ndarray
    of_start: np.ndarray
    velocity_of_q: np.ndarray
    velocity_of_start: np.ndarray
    of_parameters: Mapping[str, np.ndarray]
    touching: np.ndarray


class StepLineariser:
    """The partial derivatives of a step at its end.

    Args:
        step: the step, which is evaluated at its end before.
        system: simulated system, each of whose shapes has a friction coefficient.
    """

    def __init__(self, step: PositionStep, system: System[Penalty]) -> None:
        joints, nv = step.scene.joints, len(step.r)
        self._step, self._system = step, system
        free, none = np.full(nv, np.inf), np.zeros_like(joints.friction)
        scene = replace(step.scene, joints=replace(joints, friction=none, effort=free))
        self._smooth = replace(step, scene=scene, start=copy.deepcopy(step.start))
        self._parts = StepPartials(np.zeros((nv, 3 * nv)), np.zeros((nv, 2 * nv)))

    def partials(self, command: Command, names: Iterable[str]) -> PositionPartials:
        """The partial derivatives.

        Args:
            command: command of the step.
            names: names of the parameters to differentiate with respect to.

        Raises:
            numpy.linalg.LinAlgError: the derivative of the velocity is singular.
        """
        step, smooth, parts, trial = self._step, self._smooth, self._parts, self._step.trial
        if not step_partials(step, smooth, parts):
            raise np.linalg.LinAlgError("the velocity at the start turns by a full revolution")
        of_parameters = {}
        for name in names:
            of_parameters[name] = _of_parameter(name, smooth, command, self._system)
            if name in MOTORS:
                of_parameters[name] *= (smooth.start.torque.signs == 0.0)[:, None]
        return PositionPartials(
            of_q=trial.A.copy(),
            of_start=parts.of_start.copy(),
            velocity_of_q=trial.D / step.start.h,
            velocity_of_start=parts.velocity_of_start.copy(),
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


def _of_parameter(
    name: str, step: PositionStep, command: Any, system: System[Penalty]
) -> np.ndarray:
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
            found: np.ndarray = trial.D_t.T @ result + turned
            return found
        found = (trial.D_t if name == "kp" else trial.D).T @ result
        return found
    if name == "mass":
        return _of_masses(step)
    index, places = step.ref.contacts.index[: step.ref.contacts.n[0]], trial.places
    if name == "stiffness":
        own = np.isnan(system.pairs.stiffness[index])  # those that have the law's
        by_stiffness = _by_unit(step, places.stiffness)
        return -_generalised(step, np.where(own[:, None], by_stiffness, 0.0))[:, None]
    result, shape = np.zeros((nv, len(shapes_of(system)))), scene.candidates.rubbing[index]
    by_friction = _by_unit(step, places.friction)
    for number in np.unique(shape[shape >= 0]):
        own = (shape == number)[:, None]
        result[:, number] = -_generalised(step, np.where(own, by_friction, 0.0))
    return result


def _by_unit(step: PositionStep, values: np.ndarray) -> np.ndarray:
    """Derivative of the contacts' wrenches, (n, 6), by values in which they are linear, (n,)."""
    kept, parts = values.copy(), []
    try:
        for value in (1.0, 0.0):
            values[:] = value
            parts.append(_wrenches(step))
    finally:
        values[:] = kept
    difference: np.ndarray = parts[0] - parts[1]
    return difference


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


def _wrenches(step: PositionStep) -> np.ndarray:
    """Wrenches of the contacts at the world's origin, shape (n, 6)."""
    trial = replace(step.trial, forces=copy.deepcopy(step.trial.forces))
    write_contact_forces(replace(step, trial=trial))
    result: np.ndarray = trial.forces.origin[: step.ref.contacts.n[0]]
    return result


def _generalised(step: PositionStep, wrenches: np.ndarray) -> np.ndarray:
    """The generalised force of the contacts' wrenches at the world's origin, shape (nv,)."""
    moves, (carried, touched) = step.scene.tree.moves, step.ref.contacts.bodies[: len(wrenches)].T
    shares = moves[carried] - moves[touched]
    result: np.ndarray = np.vecdot(step.trial.S, shares.T @ wrenches)
    return result
