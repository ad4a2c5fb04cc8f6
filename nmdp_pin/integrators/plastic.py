"""The acceptance check of impacts: contacts are plastic, and friction turns nothing round.

A stage that arrests a contact, or stops its slide, has an acceleration that is an impact over its
length; what a later stage makes of it may throw the contact back.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.form import Form
from nmdp_pin.integrators.stages import Stages
from nmdp_pin.state import State

_MOVES = 5e-3  # [m/s]; a slower contact stands
_UNLOADED = 1e-6  # share of the largest force
_GAIN = 1e-4  # share of the kinetic energy
_QUADRATURE = 0.02  # share of the work of the torques that its sum over the stages may miss
_SUNK = 1e-3  # [m]; what is not as deep is no matter
_LEAST_WORK = 0.25  # of the largest force times the way: 1 / (p + 1) of it for powers p up to 3


def rebounds(
    form: Form, state: State, made: Stages, gain: float, done: float, kinetic: float
) -> bool:
    """Whether a contact that approached is thrown back, or its impact has made energy.

    Args:
        form: of the dynamics.
        state: start of the step.
        made: its stages.
        gain: energy gained beyond the work of the torques [J].
        done: that work [J].
        kinetic: kinetic energy at the start [J].
    """
    touches = _touching(form, made)
    gains = gain > _GAIN * kinetic + _QUADRATURE * abs(done)
    thrown = touches & _leaving(made)
    if not (thrown.any() or (gains and touches.any())):
        return False
    approached = _approached(form, state, made)
    return bool((approached & (touches if gains else thrown)).any())


def sinks(form: Form, state: State, made: Stages, lost: float) -> bool:
    """Whether contacts came in deeper than the energy that was lost can press them.

    The velocity of the first stage, in which they hardly touched, moves them on in the second one.

    Args:
        form: of the dynamics.
        state: start of the step.
        made: its stages.
        lost: energy beyond the work of the torques [J].
    """
    first, end = made.points[0], made.end
    way = end.contacts.depth - np.maximum(first.contacts.depth, 0.0)
    entered = way > _SUNK
    if not entered.any():
        return False
    entered &= _approached(form, state, made)
    largest = np.einsum("ni,nim->nm", end.contacts.normal, end.V[:, :3]).max(axis=1)
    return bool(_LEAST_WORK * (largest * way)[entered].sum() > lost)


def doubtful(form: Form, state: State, made: Stages) -> np.ndarray:
    """Contacts that leave though the first stage loads them, or that slide back, shape (n,).

    A robot that moves up pushes itself off; one that comes down is thrown up by the stages, unless
    first order says the same (`confirms`).
    """
    first = made.points[0]
    result: np.ndarray = _leaving(made) & ~_free(first) & _touching(form, made)
    if result.any():
        data = form.workspace.data
        pin.centerOfMass(form.model, data, state.q, state.v)
        result = result & (first.contacts.normal @ data.vcom[0] <= _MOVES)
    sliding = ~_free(made.end) & (np.linalg.norm(_slip(made), axis=1) > _MOVES)
    if sliding.any():
        result = result | (sliding & _slides_back(form, state, made))
    return result


def confirms(form: Form, state: State, made: Stages, contacts: np.ndarray) -> bool:
    """Whether these contacts also leave or slide back in a step of first order."""
    return bool((_leaving(made) | _slides_back(form, state, made))[contacts].all())


def _approached(form: Form, state: State, made: Stages) -> np.ndarray:
    """Contacts that come closer at the start, shape (n,)."""
    velocity = form.contact_velocities(state.q, state.v)
    approached: np.ndarray = np.vecdot(made.points[0].contacts.normal, velocity) < -_MOVES
    return approached


def _touching(form: Form, made: Stages) -> np.ndarray:
    """Contacts that act in some stage."""
    result = np.zeros(form.contacts.n, dtype=bool)
    for at in made.points:
        result[at.active] = True
    return result


def _free(at: Evaluation) -> np.ndarray:
    """Contacts that bear no load."""
    largest = np.abs(at.V).max(axis=(1, 2), initial=0.0)
    free: np.ndarray = np.abs(at.wrench).max(axis=1, initial=0.0) <= _UNLOADED * largest
    return free


def _leaving(made: Stages) -> np.ndarray:
    """Contacts that leave at the end, free of load.

    One that slides may rise by mu |u_t| under load, as the polytope's principle has it.
    """
    end = made.end
    speed = made.problems[-1].rate * np.vecdot(end.contacts.normal, end.motion[:, :3])
    leaving: np.ndarray = _free(end) & (speed > _MOVES)
    return leaving


def _slip(made: Stages) -> np.ndarray:
    """Tangential velocities at the end, shape (n, 3)."""
    end = made.end
    n, u = end.contacts.normal, made.problems[-1].rate * end.motion[:, :3]
    slip: np.ndarray = u - np.vecdot(n, u)[:, None] * n
    return slip


def _slides_back(form: Form, state: State, made: Stages) -> np.ndarray:
    """Contacts whose slide at the end is against that at the start."""
    slip, velocity = _slip(made), form.contact_velocities(state.q, state.v)
    against = np.vecdot(slip, velocity) < -_MOVES * np.linalg.norm(slip, axis=1)
    back: np.ndarray = against & (np.linalg.norm(slip, axis=1) > _MOVES)
    return back
