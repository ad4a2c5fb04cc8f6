"""Tolerances of a stage, and the rounding errors below which they make no sense."""

from __future__ import annotations

import math
from typing import NamedTuple

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.step.stage_records import Stage, System
from nmdp_pin._kernels.step.step_records import Options

# Relative rounding of M q / h^2 in G: 8 errors that add up, of which 1 to 3 were measured.
ROUNDING = 8.0 * 2.220446049250313e-16
PLACE = 1e-13  # [m] to which a contact's place is known, of a configuration of a metre
_DEPTH = 1e-9  # [m] by which a depth may differ from that of its force


class Tolerances(NamedTuple):
    """Stopping criteria of a stage, and options of the iteration.

    Args:
        residual: bound on the entries of G, as shares of `System.scales`.
        rounding: entries of G that are rounding errors, as shares of `System.inertias`.
        slip: bound on the motion that other forces could still prevent at a contact [m].
        place: the same that rounding errors of places leave [m]; where the bound is below it, an
            iteration more is made.
        depth: error of a depth by which a force may be larger than its bound [m].
        max_iterations: largest number of iterations from one initial guess.
        derived: whether the derivatives at the last point are asked for, which then is evaluated.
    """

    residual: float
    rounding: float
    slip: float
    place: float
    depth: float
    max_iterations: int
    derived: bool


@jit
def rounding_of(stage: Stage) -> float:
    """Rounding errors of M q / h^2 in G, as a share of the inertia [rad/s^2, m/s^2]."""
    return ROUNDING * _size_of(stage.q_ref) * stage.rate * stage.rate


@jit
def attainable(system: System, stage: Stage, relative: float) -> float:
    """Bound on the norm of G [N, N m]: `relative` times the weight, but not below rounding.

    The rounding errors are those of M q / h^2 in G.
    """
    size = _size_of(stage.q_ref) * stage.rate * stage.rate
    return max(relative * system.tree.weight, ROUNDING * system.tree.inertia * size)


@jit
def place_of(stage: Stage) -> float:
    """Rounding errors of the places of contacts [m]."""
    return PLACE * _size_of(stage.q_ref)


@jit
def _size_of(q: Array) -> float:
    """Norm of a configuration, and 1 more."""
    square = 0.0
    for i in range(q.size):
        square += q[i] * q[i]
    return 1.0 + math.sqrt(square)


@jit
def share_of_tolerance(options: Options, stage: Stage) -> float:
    """Share of the tolerances in short stages, whose own error falls with their length."""
    share = 1.0 / max(options.long * stage.rate, 1.0)
    return share if stage.displaced else share * share


@jit
def tolerances_of(options: Options, stage: Stage) -> Tolerances:
    """Tolerances of a stage with the options of a solver."""
    share = share_of_tolerance(options, stage)
    slip, place = share * options.slip / stage.rate, place_of(stage)
    return Tolerances(
        share * options.tolerance,
        rounding_of(stage),
        slip,
        place,
        max(min(_DEPTH, slip), place),
        options.max_iterations,
        False,
    )
