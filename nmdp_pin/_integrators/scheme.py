"""Time schemes: diagonally implicit Runge-Kutta methods whose last stage is the end of the step.

Stage i of a step of length h ends c_i h after its start. It is an implicit step of length a_ii h
from the reference q_i = q0 (+) h sum_j a_ij V_j, v_i = v0 + h sum_j a_ij A_j (j < i), with V_j and
A_j the velocity and the acceleration of the earlier stages; the principle holds at each stage for
the motions of the contacts from its reference.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from nmdp_pin._kernels.step import step_records as kernel


@dataclass(frozen=True)
class Scheme:
    """The coefficients of a stiffly accurate, diagonally implicit Runge-Kutta method.

    Args:
        order: order of the method on smooth motion.
        a: rows of the Butcher matrix up to the diagonal.
    """

    order: int
    a: tuple[tuple[float, ...], ...]

    @functools.cached_property
    def c(self) -> tuple[float, ...]:
        """Ends of the stages, as shares of the step."""
        return tuple(sum(row) for row in self.a)

    @functools.cached_property
    def record(self) -> kernel.Scheme:
        """The coefficients as the kernels take them."""
        a = np.zeros((len(self.a), len(self.a)))
        for row, entries in zip(a, self.a, strict=True):
            row[: len(entries)] = entries
        return kernel.Scheme(self.order, a)


BACKWARD_EULER = Scheme(1, ((1.0,),))

_GAMMA = 1.0 - 1.0 / math.sqrt(2.0)
SDIRK2 = Scheme(2, ((_GAMMA,), (1.0 - _GAMMA, _GAMMA)))
"""Alexander's L-stable method of second order (SIAM J. Numer. Anal. 14, 1977)."""

SCHEMES = {1: BACKWARD_EULER, 2: SDIRK2}
"""Schemes by their orders."""
