"""Partial derivatives of a step of pbd or pbfd."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nmdp_pin._control.controller import Command
from nmdp_pin._dynamics.parameters import COMMAND, residual_by_command
from nmdp_pin._dynamics.penalty_scene import new_start
from nmdp_pin._kernels.inertia import inertial_gradient
from nmdp_pin._kernels.levenberg_marquardt import Minimisation
from nmdp_pin._kernels.manifold import add_turning, difference_derivative
from nmdp_pin._kernels.penalty import FRICTIONAL, penalty_forces
from nmdp_pin._kernels.position_partials import StepPartials, step_partials
from nmdp_pin._kernels.position_step import Scene, StepStart

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
    """The partial derivatives of the steps of a scene, one at a time, with its own memory.

    Args:
        scene: data that all steps share.
        n_shapes: number of shapes that may be touched, each with a friction coefficient.
    """

    def __init__(self, scene: Scene, n_shapes: int) -> None:
        joints, nv = scene.joints, int(scene.tree.first_dofs[-1])
        self._scene, self._n_shapes = scene, n_shapes
        without = replace(
            joints, friction=np.zeros_like(joints.friction), effort=np.full(nv, np.inf)
        )
        self._plain = replace(scene, joints=without)
        self._parts = StepPartials(
            smooth=new_start(scene),
            following=np.ones(nv),
            of_start=np.zeros((nv, 3 * nv)),
            velocity_of_start=np.zeros((nv, 2 * nv)),
        )

    def partials(
        self, start: StepStart, memory: Minimisation, command: Command, names: Iterable[str] = ()
    ) -> PositionPartials:
        """The partial derivatives of a step.

        Args:
            start: data of the step.
            memory: memory after `evaluate_end` at the end of the step.
            command: command of the step.
            names: names of the parameters to differentiate with respect to.

        Raises:
            numpy.linalg.LinAlgError: the derivative of the velocity is singular.
        """
        scene, parts, trial = self._scene, self._parts, memory.trial
        if not step_partials(scene, self._plain, start, memory.ref, trial, parts):
            raise np.linalg.LinAlgError("the velocity at the start turns by a full revolution")
        of_parameters = {}
        for name in names:
            of_parameters[name] = _of_parameter(
                name, self._plain, parts.smooth, memory, command, self._n_shapes
            )
            if name in COMMAND:
                of_parameters[name] *= parts.following[:, None]
        return PositionPartials(
            of_q=trial.A.copy(),
            of_start=parts.of_start.copy(),
            velocity_of_q=trial.D / start.h,
            velocity_of_start=parts.velocity_of_start.copy(),
            of_parameters=of_parameters,
            touching=_touching(scene, memory),
        )


def _touching(scene: Scene, memory: Minimisation) -> np.ndarray:
    """Indices of the contact points that are apart on one side and pressed on the other."""
    contacts = memory.ref.contacts
    n = contacts.n[0]
    near = np.abs(memory.trial.places.depth[:n]) <= _TOUCHING
    result: np.ndarray = scene.candidates.points[contacts.index[:n][near]]
    return result


def _of_parameter(
    name: str, scene: Scene, start: StepStart, memory: Minimisation, command: Any, n_shapes: int
) -> np.ndarray:
    """dr/dp, shape (nv, k)."""
    trial, nv = memory.trial, len(start.v0)
    frictional = scene.law.kind == FRICTIONAL
    if name in COMMAND:
        result = residual_by_command(name, scene.tree.space, command, trial.e, trial.v)
        if frictional:
            return result
        if name == "q_target":
            turned = np.zeros((nv, nv))
            D0 = np.eye(nv)
            difference_derivative(scene.tree.space, -trial.e, D0)
            add_turning(scene.tree.space, trial.e, -D0, start.torque.kp * trial.e, turned)
            return trial.D_t.T @ result + turned
        return (trial.D_t if name == "kp" else trial.D).T @ result
    if name == "mass":
        return _of_masses(scene, start, memory)
    if name == "stiffness":
        unit, none = (replace(scene.law, stiffness=value) for value in (1.0, 0.0))
        wrenches = _wrenches(scene, start, memory, unit) - _wrenches(scene, start, memory, none)
        return -_generalised(scene, memory, wrenches)[:, None]
    result = np.zeros((nv, n_shapes))
    n, places = memory.ref.contacts.n[0], trial.places
    friction, shape = places.friction.copy(), places.surface[:n]
    try:
        parts = []
        for value in (1.0, 0.0):
            places.friction[:] = value
            parts.append(_wrenches(scene, start, memory, scene.law))
    finally:
        places.friction[:] = friction
    for index in np.unique(shape[shape >= 0]):
        own = np.where((shape == index)[:, None], parts[0] - parts[1], 0.0)
        result[:, index] = -_generalised(scene, memory, own)
    return result


def _of_masses(scene: Scene, start: StepStart, memory: Minimisation) -> np.ndarray:
    """Derivative with respect to masses, as in `parameters`."""
    tree, trial, nv = scene.tree, memory.trial, len(start.v0)
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
        inertial_gradient(trial.P[1:], memory.ref.target, one, trial.S, wrenches, column)
        result[:, b] = column / start.h**2
    return result


def _wrenches(scene: Scene, start: StepStart, memory: Minimisation, law: Any) -> np.ndarray:
    """Wrenches of the contacts at the world's origin under another law, shape (n, 6)."""
    trial, contacts = memory.trial, memory.ref.contacts
    forces = copy.deepcopy(trial.forces)
    penalty_forces(law, start.h, scene.candidates, contacts, trial.places, trial.P, forces)
    result: np.ndarray = forces.origin[: contacts.n[0]]
    return result


def _generalised(scene: Scene, memory: Minimisation, wrenches: np.ndarray) -> np.ndarray:
    """The generalised force of the contacts' wrenches at the world's origin, shape (nv,)."""
    tree, contacts = scene.tree, memory.ref.contacts
    carried, touched = contacts.bodies[: len(wrenches)].T
    bodies = np.zeros((len(tree.parents) + 1, 6))
    np.add.at(bodies, carried, wrenches)
    np.subtract.at(bodies, touched, wrenches)
    for b in range(len(tree.parents) - 1, -1, -1):
        bodies[tree.parents[b] + 1] += bodies[b + 1]
    body_of = np.repeat(np.arange(len(tree.parents)), np.diff(tree.first_dofs))
    result: np.ndarray = np.vecdot(memory.trial.S, bodies[body_of + 1])
    return result
