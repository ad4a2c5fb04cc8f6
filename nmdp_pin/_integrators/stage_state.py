"""Motion at the stages of steps that were made, from their starts and ends alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._integrators.scheme import SDIRK2


@dataclass(frozen=True, eq=False)
class StageState:
    """Motion at the end of a stage.

    Args:
        weight: share of the stage in the means of the whole step; those of a step add up to 1 [-].
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        a: acceleration that is in the equations of the stage [rad/s^2, m/s^2], shape (nv,).
        wrenches: mean wrenches of the contacts in the sub-step of the stage, as
            `StepResult.wrenches`, shape (n_contacts, 6).
    """

    weight: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    wrenches: np.ndarray


def stage_states(model: pin.Model, result: StepResult) -> tuple[StageState, ...]:
    """The stages of all sub-steps of a step that was made; none where its start is not known.

    A step of which some islands were repeated in first order counts as one stage, whose
    accelerations and forces are means.
    """
    parts = result.parts or (result,)
    total = sum(part.step_sizes[0] for part in parts)
    return tuple(
        stage for part in parts for stage in _stages(model, part, part.step_sizes[0] / total)
    )


def _stages(model: pin.Model, part: StepResult, share: float) -> Iterator[StageState]:
    """The stages of a sub-step, which is a share of the step."""
    start, end, h = part.start, part.state, part.step_sizes[0]
    if start is None:
        return
    if part.order == 1:
        yield StageState(share, end.q, end.v, (end.v - start.v) / h, part.wrenches)
        return
    # The end is an implicit step of length a_11 h from the reference of the last stage, which the
    # velocity of the first stage has led to.
    (c,), (before, last) = SDIRK2.a
    reference = pin.integrate(model, end.q, -last * h * end.v)
    v = pin.difference(model, start.q, reference) / (before * h)
    q = pin.integrate(model, start.q, c * h * v)
    a = (v - start.v) / (c * h)
    yield StageState(share * before, q, v, a, part.wrenches)
    a = (end.v - start.v - before * h * a) / (last * h)
    yield StageState(share * last, end.q, end.v, a, part.wrenches)
