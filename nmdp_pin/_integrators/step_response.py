"""Derivatives of one step by its start, the torque and parameters."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


class Switch(NamedTuple):
    """Kink of a step, at which its derivative is that of one side.

    Attributes:
        contact: index among the robot's contact points; behind them those of the joints with a stop
            or dry friction.
        kind: "touch" (the sphere is at the surface), "weight" (a zero weight may increase), "sum"
            (a full sum of weights may decrease) or "impact" (it lands in a step of second order,
            which another start may have repeated in first order) or "rim" (it bears load on a
            point of a rim that was chosen for this start, as all but the nearest are).
        vertex: index of the weight, -1 for the other kinds.
    """

    contact: int
    kind: str
    vertex: int = -1


class StepResponse(NamedTuple):
    """Derivatives of the end x1 = [q1; v1] of a step, tangent.

    Args:
        of_state: derivative by the start x0 = [q0; v0], shape (2 nv, 2 nv).
        of_torque: derivative by the torque of all dofs, shape (2 nv, nv).
        of_parameters: derivatives by further parameters, by name, shape (2 nv, k) each.
        switches: kinks on which a stage ended.
        settled: whether the ends of the stages are known to their last digits.
    """

    of_state: np.ndarray
    of_torque: np.ndarray
    of_parameters: Mapping[str, np.ndarray]
    switches: tuple[Switch, ...]
    settled: bool


def split_response(
    whole: np.ndarray,
    sizes: Mapping[str, int],
    switches: tuple[Switch, ...] = (),
    *,
    settled: bool = True,
) -> StepResponse:
    """The response with derivatives by x0, the torque and the parameters side by side.

    Args:
        whole: the derivatives, shape (2 nv, n).
        sizes: number of entries of each parameter, by name.
        switches: as in `StepResponse`.
        settled: as in `StepResponse`.
    """
    rows = len(whole)
    torque = rows + rows // 2
    parameters, begin = {}, torque
    for name, size in sizes.items():
        parameters[name] = whole[:, begin : begin + size]
        begin += size
    of_state, of_torque = whole[:, :rows], whole[:, rows:torque]
    return StepResponse(of_state, of_torque, parameters, switches, settled)
