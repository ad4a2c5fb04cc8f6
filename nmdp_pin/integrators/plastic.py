"""Acceptance check of impacts: contacts are plastic, and friction reverses no motion.

A stage that arrests a contact, or stops its slide, has the acceleration of an impact over its
length; extrapolated by a later stage, it may throw the contact back.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.form import Form
from nmdp_pin.integrators.stages import Stages
from nmdp_pin.state import State

_MOVES = 5e-3  # [m/s] speed below which a contact is at rest
_UNLOADED = 1e-6  # share of the largest force
_GAIN = 1e-4  # share of the kinetic energy
_QUADRATURE = 0.02  # share of the work of the torques by which its sum over the stages may err
_SUNK = 1e-3  # [m]; shallower penetrations do not matter
_LEAST_WORK = 0.25  # share of the largest force times the depth: 1 / (p + 1) for powers p up to 3


def rebounds(
    form: Form, state: State, made: Stages, gain: float, done: float, kinetic: float
) -> bool:
    """Whether a contact that approached is thrown back, or its impact has added energy.

    Args:
        form: form of the dynamics.
        state: state at the start of the step.
        made: stages of the step.
        gain: energy gained beyond the work of the torques [J].
        done: work of the torques [J].
        kinetic: kinetic energy at the start [J].
    """
    touches = _touching(made)
    gains = gain > _GAIN * kinetic + _QUADRATURE * abs(done)
    thrown = touches & _leaving(form, made)
    if not (thrown.any() or (gains and touches.any())):
        return False
    approached = _approached(form, state, made)
    return bool((approached & (touches if gains else thrown)).any())


def sinks(form: Form, state: State, made: Stages, lost: float) -> bool:
    """Whether contacts penetrate deeper than the lost energy can press them.

    The velocity of the first stage, in which they hardly touched, continues in the second one.

    Args:
        form: form of the dynamics.
        state: state at the start of the step.
        made: stages of the step.
        lost: energy lost beyond the work of the torques [J].
    """
    first, end = made.points[0], made.end
    way = _depths(form, end) - np.maximum(_depths(form, first), 0.0)
    entered = way > _SUNK
    if not entered.any():
        return False
    entered &= _approached(form, state, made)
    n = form.contacts.n
    largest = end.V[:, 0, 0].copy()
    largest[:n] = np.einsum("ni,nim->nm", end.contacts.normal, end.V[:n, :3]).max(axis=1)
    return bool(_LEAST_WORK * (largest * way)[entered].sum() > lost)


def doubtful(form: Form, state: State, made: Stages) -> np.ndarray:
    """Contacts that leave though the first stage loads them, or that slide back, shape (n + r,).

    A robot that moves up pushes itself off; one that comes down is thrown up by the stages, unless
    a step of first order agrees (`confirms`).
    """
    first = made.points[0]
    result: np.ndarray = _leaving(form, made) & ~_free(form, first) & _touching(made)
    if result.any():
        data = form.workspace.data
        pin.centerOfMass(form.model, data, state.q, state.v)
        result[: form.contacts.n] &= first.contacts.normal @ data.vcom[0] <= _MOVES
    sliding = np.linalg.norm(_slip(form, made), axis=1) > _MOVES
    sliding[: form.contacts.n] &= ~_free(form, made.end)[: form.contacts.n]
    if sliding.any():
        result = result | (sliding & _slides_back(form, state, made))
    return result


def confirms(form: Form, state: State, made: Stages, contacts: np.ndarray) -> bool:
    """Whether these contacts also leave or slide back in a step of first order."""
    return bool((_leaving(form, made) | _slides_back(form, state, made))[contacts].all())


def _approached(form: Form, state: State, made: Stages) -> np.ndarray:
    """Contacts and joints that approach at the start, shape (n + r,)."""
    velocities = _velocities(form, state)
    approached: np.ndarray = np.vecdot(_normals(form, made.points[0]), velocities) < -_MOVES
    return approached


def _touching(made: Stages) -> np.ndarray:
    """Contacts and joints that act in some stage."""
    result = np.zeros(len(made.end.w), dtype=bool)
    for at in made.points:
        result[at.active] = True
    return result


def _free(form: Form, at: Evaluation) -> np.ndarray:
    """Contacts that bear no load, and joints that press no stop."""
    largest = np.abs(at.V).max(axis=(1, 2), initial=0.0)
    load = np.abs(at.wrench).max(axis=1, initial=0.0)
    load[form.contacts.n :] -= form.bounds.friction
    free: np.ndarray = load <= _UNLOADED * largest
    return free


def _leaving(form: Form, made: Stages) -> np.ndarray:
    """Contacts and joints that leave at the end without load.

    Under the principle a sliding contact may rise by mu |u_t| under load.
    """
    end = made.end
    speed = made.problems[-1].rate * np.vecdot(_normals(form, end), end.motion[:, :3])
    leaving: np.ndarray = _free(form, end) & (speed > _MOVES)
    return leaving


def _slip(form: Form, made: Stages) -> np.ndarray:
    """Velocities at the end along which friction acts, shape (n + r, 3)."""
    end, points = made.end, form.contacts.n
    slip: np.ndarray = made.problems[-1].rate * end.motion[:, :3]
    n, u = end.contacts.normal, slip[:points]
    slip[:points] = u - np.vecdot(n, u)[:, None] * n
    slip[points:][form.bounds.friction == 0.0] = 0.0
    return slip


def _slides_back(form: Form, state: State, made: Stages) -> np.ndarray:
    """Contacts and joints that slide at the end against their motion at the start."""
    slip, velocities = _slip(form, made), _velocities(form, state)
    size = np.linalg.norm(slip, axis=1)
    back: np.ndarray = (np.vecdot(slip, velocities) < -_MOVES * size) & (size > _MOVES)
    return back


def _velocities(form: Form, state: State) -> np.ndarray:
    """Velocities of the contacts, and in the first column of the joints, shape (n + r, 3)."""
    contacts = form.contact_velocities(state.q, state.v)
    return np.concatenate([contacts, _first_column(state.v[form.bounds.dofs])])


def _normals(form: Form, at: Evaluation) -> np.ndarray:
    """Normals of the contacts, and in the first column those of the stops, shape (n + r, 3)."""
    return np.concatenate([at.contacts.normal, _first_column(form.bounds.inward(at.q))])


def _depths(form: Form, at: Evaluation) -> np.ndarray:
    """Depths of contacts and of joints in their stops, negative where apart, (n + r,)."""
    return np.concatenate([at.contacts.depth, -form.bounds.gap(at.q)])


def _first_column(x: np.ndarray) -> np.ndarray:
    """X beside two columns of zeros, shape (r, 3)."""
    result = np.zeros((len(x), 3))
    result[:, 0] = x
    return result
