"""The acceptance check of impacts: contacts are plastic."""

from __future__ import annotations

import numpy as np

from nmdp_pin.dynamics.form import Form
from nmdp_pin.integrators.stages import Stages
from nmdp_pin.state import State

_MOVES = 5e-3  # [m/s]; a slower contact stands
_UNLOADED = 1e-6  # share of the largest force
_GAIN = 1e-4  # share of the energy that moves


def rebounds(form: Form, state: State, made: Stages, gain: float, moving: float) -> bool:
    """Whether a contact that approached is thrown back, or its impact has made energy.

    A stage that arrests a contact has an acceleration that is an impact over its length; what a
    later stage makes of it may throw the contact back.

    Args:
        form: of the dynamics.
        state: start of the step.
        made: its stages.
        gain: energy gained beyond the work of the torques [J].
        moving: energy that moves [J].
    """
    end, first = made.end, made.points[0]
    if not any(at.active.size for at in made.points):
        return False
    touches = np.zeros(form.contacts.n, dtype=bool)
    for at in made.points:
        touches[at.active] = True
    gains = gain > _GAIN * moving
    leaving = made.problems[-1].rate * np.vecdot(end.contacts.normal, end.motion[:, :3])
    # A contact that slides may rise by mu |u_t| under load; one that is free is thrown back.
    largest = np.abs(end.V).max(axis=(1, 2), initial=0.0)
    free = np.abs(end.wrench).max(axis=1, initial=0.0) <= _UNLOADED * largest
    thrown = touches & free & (leaving > _MOVES)
    if not (gains or thrown.any()):
        return False
    velocity = form.contact_velocities(state.q, state.v)
    approached = np.vecdot(first.contacts.normal, velocity) < -_MOVES
    return bool((approached & (touches if gains else thrown)).any())
