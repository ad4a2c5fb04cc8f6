"""Acceptance check of impacts: contacts are plastic, and friction reverses no motion.

A stage that arrests a contact, or stops its slide, has the acceleration of an impact over its
length; extrapolated by a later stage, it may throw the contact back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.form import Form
from nmdp_pin.integrators.stages import Stages
from nmdp_pin.kernels.contact_ends import contact_ends
from nmdp_pin.state import State

_MOVES = 5e-3  # [m/s] speed below which a contact is at rest
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
    end = _at_end(form, made)
    gains = gain > _GAIN * kinetic + _QUADRATURE * abs(done)
    if not (gains or end.some_thrown):
        return False
    touches = _touching(made)
    thrown = touches & end.thrown
    if not (touches if gains else thrown).any():
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


def doubtful(form: Form, state: State, made: Stages) -> np.ndarray | None:
    """Contacts that leave though the first stage loads them, or that slide back; None: none do.

    A robot that moves up pushes itself off; one that comes down is thrown up by the stages, unless
    a step of first order agrees (`confirms`).

    Returns:
        A mask, shape (n + r,).
    """
    end, first = _at_end(form, made), made.points[0]
    if not (end.some_thrown or end.some_sliding):
        return None
    result = np.zeros(len(first.w), bool)
    if end.some_thrown:
        loaded = ~_contact_end(form, first, made.problems[0].rate).unloaded
        result = end.thrown & loaded & _touching(made)
        if result.any():
            data = form.workspace.data
            pin.centerOfMass(form.model, data, state.q, state.v)
            result[: form.contacts.n] &= first.contacts.normal @ data.vcom[0] <= _MOVES
    if end.some_sliding:
        result |= end.sliding & _slides_back(form, state, made)
    return result if result.any() else None


def confirms(form: Form, state: State, made: Stages, contacts: np.ndarray) -> bool:
    """Whether these contacts also leave or slide back in a step of first order."""
    return bool((_at_end(form, made).thrown | _slides_back(form, state, made))[contacts].all())


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


class _ContactEnd(NamedTuple):
    """Loads and velocities of contacts and joints at the end of a stage; see `contact_ends`."""

    unloaded: np.ndarray
    thrown: np.ndarray
    sliding: np.ndarray
    slip: np.ndarray
    some_thrown: bool
    some_sliding: bool


def _contact_end(form: Form, at: Evaluation, rate: float) -> _ContactEnd:
    """Loads and velocities at the end of a stage of length 1 / rate."""
    rows = len(at.w)
    unloaded, thrown, sliding = np.empty(rows, bool), np.empty(rows, bool), np.empty(rows, bool)
    slip = np.empty((rows, 3))
    some_thrown, some_sliding = contact_ends(
        at.V,
        at.wrench,
        at.motion,
        at.contacts.normal,
        form.bounds.inward(at.q),
        form.bounds.friction,
        rate,
        _MOVES,
        unloaded,
        thrown,
        sliding,
        slip,
    )
    return _ContactEnd(unloaded, thrown, sliding, slip, some_thrown, some_sliding)


def _at_end(form: Form, made: Stages) -> _ContactEnd:
    """Loads and velocities at the end of the step."""
    return _contact_end(form, made.end, made.problems[-1].rate)


def _slides_back(form: Form, state: State, made: Stages) -> np.ndarray:
    """Contacts and joints that slide at the end against their motion at the start."""
    slip, velocities = _at_end(form, made).slip, _velocities(form, state)
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
