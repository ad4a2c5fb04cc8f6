"""What it takes to solve a step to the last digits that numbers have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.solvers.pgm import PGMOptions

FREE = 1e-10  # proximal term on the way there: long valleys are walked through to their ends
_FINEST = 1e-13  # [-], [rad, m]; rounding allows no more
_PLACE = 2e-15  # [m] to which a contact's place is known, beside a robot of about a metre
_PATIENT = 50  # iterations to get there


def finest(options: PGMOptions, residual: StepResidual) -> PGMOptions:
    """Options of a solve to the last digits.

    Args:
        options: of the step.
        residual: at a point near its end.
    """
    # the work of a vertex is no better known than the places of the contacts
    largest = float(np.abs(residual.contact.V).max(initial=0.0)) / residual.weight
    return replace(
        options,
        tolerance=residual.tolerance(_FINEST),
        epsilon=max(_FINEST, _PLACE * largest),
        max_iterations=_PATIENT,
        early_stop=False,
    )
