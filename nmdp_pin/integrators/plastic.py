"""The acceptance check of impacts: contacts are plastic."""

from __future__ import annotations

import numpy as np

from nmdp_pin.dynamics.form import Form
from nmdp_pin.integrators.stages import Stages
from nmdp_pin.state import State

_LEAVES = 5e-3  # [m/s]
_APPROACHED = 5e-3  # [m/s]


def rebounds(form: Form, state: State, made: Stages) -> bool:
    """Whether a contact that approached at the start of a step leaves at its end.

    A stage that arrests a contact has an acceleration that is an impact over its length; what a
    later stage makes of it may throw the contact back.

    Args:
        form: of the dynamics.
        state: start of the step.
        made: its stages.
    """
    touches = np.zeros(form.contacts.n, dtype=bool)
    for at in made.points:
        touches[at.active] = True
    if not touches.any():
        return False
    end, last = made.end, made.problems[-1]
    leaving = last.rate * np.vecdot(end.contacts.normal, end.motion[:, :3])
    # A contact that slides may rise by mu |u_t| under load; one that is free is thrown back.
    free = end.work.min(axis=1, initial=0.0) >= 0.0
    suspects = touches & free & (leaving > _LEAVES)
    if not suspects.any():
        return False
    first = made.points[0]
    approach = -np.vecdot(first.contacts.normal, form.contact_velocities(state.q, state.v))
    return bool((approach[suspects] > _APPROACHED).any())
