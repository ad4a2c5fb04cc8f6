"""Derivatives of one step by its start, the torque and parameters."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Switch(NamedTuple):
    """Kink of a step, at which its derivative is that of one side.

    Attributes:
        contact: index among the robot's contact points; behind them those of the joints with a stop
            or dry friction.
        kind: "touch" (the sphere is at the surface), "weight" (a zero weight may increase), "sum"
            (a full sum of weights may decrease), "impact" (it lands in a step of second order,
            which another start may have repeated in first order), "rim" (it bears load on a
            point of a rim that was chosen for this start, as all but the nearest are), "plane"
            (on a plane that coal found for this start) or "sub-steps" (of no contact, -1: the
            step has several, of which another start may have another number).
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


def merged_response(parts: Sequence[tuple[StepResponse, np.ndarray]]) -> StepResponse:
    """The response of a step whose dofs were made by several schemes, which do not interact.

    Args:
        parts: responses by one scheme, and the dofs that it made, shape (nv,).
    """
    first, _ = parts[0]
    if len(parts) == 1:
        return first
    of_state, of_torque = first.of_state.copy(), first.of_torque.copy()
    parameters = {name: values.copy() for name, values in first.of_parameters.items()}
    for part, made in parts[1:]:
        rows = np.tile(made, 2)
        of_state[rows], of_torque[rows] = part.of_state[rows], part.of_torque[rows]
        for name, values in parameters.items():
            values[rows] = part.of_parameters[name][rows]
    switches = tuple(dict.fromkeys(x for part, _ in parts for x in part.switches))
    settled = all(part.settled for part, _ in parts)
    return StepResponse(of_state, of_torque, parameters, switches, settled)


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
