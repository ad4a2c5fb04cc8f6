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
from nmdp_pin.kernels.step_ends import step_ends
from nmdp_pin.state import State
from nmdp_pin.status import Status

_MOVES = 5e-3  # [m/s] speed below which a contact is at rest
_GAIN = 1e-4  # share of the kinetic energy
_QUADRATURE = 0.02  # share of the work of the torques by which its sum over the stages may err
_SUNK = 1e-3  # [m]; shallower penetrations do not matter
_LEAST_WORK = 0.25  # share of the largest force times the depth: 1 / (p + 1) for powers p up to 3


class Impact(NamedTuple):
    """Verdict on the contacts at the end of a step.

    Args:
        status: REBOUNDED, SANK or CONVERGED.
        suspects: contacts that leave or slide back though nothing may drive them, which a step of
            first order has to confirm, shape (n + r,); None: there are none.
    """

    status: Status = Status.CONVERGED
    suspects: np.ndarray | None = None


def impact(
    form: Form, state: State, made: Stages, gain: float, done: float, kinetic: float
) -> Impact:
    """Whether the contacts of a step are plastic.

    Args:
        form: form of the dynamics.
        state: state at the start of the step.
        made: stages of the step.
        gain: energy gained beyond the work of the torques [J].
        done: work of the torques [J].
        kinetic: kinetic energy at the start [J].
    """
    end = _ends(form, made.points[0], made.end, made.problems[-1].rate)
    gains = gain > _GAIN * kinetic + _QUADRATURE * abs(done)
    if (gains or end.some_thrown) and _rebounds(form, state, made, end, gains):
        return Impact(Status.REBOUNDED)
    if end.deepest > _SUNK and _sinks(form, state, made, end, -gain):
        return Impact(Status.SANK)
    if end.some_thrown or end.some_sliding:
        return Impact(suspects=_suspects(form, state, made, end))
    return Impact()


def _rebounds(form: Form, state: State, made: Stages, end: _Ends, gains: bool) -> bool:
    """Whether a contact that approached is thrown back, or its impact has added energy."""
    thrown = end.touching if gains else end.touching & end.thrown
    return bool(thrown.any() and (_approached(form, state, made) & thrown).any())


def _sinks(form: Form, state: State, made: Stages, end: _Ends, lost: float) -> bool:
    """Whether contacts penetrate deeper than the lost energy [J] can press them.

    The velocity of the first stage, in which they hardly touched, continues in the second one.
    """
    entered = (end.entered > _SUNK) & _approached(form, state, made)
    n, V = form.contacts.n, made.end.V
    largest = V[:, 0, 0].copy()
    largest[:n] = np.einsum("ni,nim->nm", made.end.normal, V[:n, :3]).max(axis=1)
    return bool(_LEAST_WORK * (largest * end.entered)[entered].sum() > lost)


def _suspects(form: Form, state: State, made: Stages, end: _Ends) -> np.ndarray | None:
    """Contacts that leave though the first stage loads them, or that slide back; None: none do.

    A robot that moves up pushes itself off; one that comes down is thrown up by the stages, unless
    a step of first order agrees (`confirms`).
    """
    first = made.points[0]
    result = np.zeros(len(first.w), bool)
    if end.some_thrown:
        loaded = ~_ends(form, first, first, made.problems[0].rate).unloaded
        result = end.thrown & loaded & end.touching
        if result.any():
            data = form.workspace.data
            pin.centerOfMass(form.model, data, state.q, state.v)
            result[: form.contacts.n] &= first.normal @ data.vcom[0] <= _MOVES
    if end.some_sliding:
        result |= end.sliding & _slides_back(form, state, end)
    return result if result.any() else None


def confirms(form: Form, state: State, made: Stages, contacts: np.ndarray) -> bool:
    """Whether these contacts also leave or slide back in a step of first order."""
    end = _ends(form, made.points[0], made.end, made.problems[-1].rate)
    return bool((end.thrown | _slides_back(form, state, end))[contacts].all())


def _approached(form: Form, state: State, made: Stages) -> np.ndarray:
    """Contacts and joints that approach at the start, shape (n + r,)."""
    velocities = _velocities(form, state)
    approached: np.ndarray = np.vecdot(_normals(form, made.points[0]), velocities) < -_MOVES
    return approached


class _Ends(NamedTuple):
    """Loads and velocities of contacts and joints at the end of a stage; see `step_ends`."""

    unloaded: np.ndarray
    thrown: np.ndarray
    sliding: np.ndarray
    slip: np.ndarray
    entered: np.ndarray
    touching: np.ndarray
    some_thrown: bool
    some_sliding: bool
    deepest: float


def _ends(form: Form, first: Evaluation, end: Evaluation, rate: float) -> _Ends:
    """Loads and velocities at the end of a stage of length 1 / rate, and the way since `first`."""
    rows, bounds = len(end.w), form.bounds
    unloaded, thrown, sliding, touching = np.empty((4, rows), bool)
    slip, entered = np.empty((rows, 3)), np.empty(rows)
    flags = step_ends(
        first.values,
        end.values,
        first.q,
        end.q,
        first.active,
        end.active,
        bounds.coordinates,
        bounds.lower,
        bounds.upper,
        bounds.friction,
        rate,
        _MOVES,
        form.layout.table,
        unloaded,
        thrown,
        sliding,
        slip,
        entered,
        touching,
    )
    return _Ends(unloaded, thrown, sliding, slip, entered, touching, *flags)


def _slides_back(form: Form, state: State, end: _Ends) -> np.ndarray:
    """Contacts and joints that slide at the end against their motion at the start."""
    slip, velocities = end.slip, _velocities(form, state)
    size = np.linalg.norm(slip, axis=1)
    back: np.ndarray = (np.vecdot(slip, velocities) < -_MOVES * size) & (size > _MOVES)
    return back


def _velocities(form: Form, state: State) -> np.ndarray:
    """Velocities of the contacts, and in the first column of the joints, shape (n + r, 3)."""
    contacts = form.contact_velocities(state.q, state.v)
    return np.concatenate([contacts, _first_column(state.v[form.bounds.dofs])])


def _normals(form: Form, at: Evaluation) -> np.ndarray:
    """Normals of the contacts, and in the first column those of the stops, shape (n + r, 3)."""
    return np.concatenate([at.normal, _first_column(form.bounds.inward(at.q))])


def _first_column(x: np.ndarray) -> np.ndarray:
    """X beside two columns of zeros, shape (r, 3)."""
    result = np.zeros((len(x), 3))
    result[:, 0] = x
    return result
