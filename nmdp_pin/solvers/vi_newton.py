"""Options of Newton's method for the dissipation principle; see `kernels.vi_newton`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nmdp_pin.errors import IntegratorError


@dataclass(frozen=True, kw_only=True)
class ViNewton:
    """Josephy and Newton's method for the dissipation principle.

    The default tolerances change no error of a trajectory in its third digit (docs/choices.md, 6).

    Args:
        tolerance: tolerance of the norm of G over the weight.
        slip: sliding velocity that other forces could still prevent at a contact [m/s].
        max_iterations: largest number of iterations from one initial guess.
        loose: norm of G over the weight up to which an iteration may take it.
        proximal: least proximal term, relative to the curvature of each contact. With less,
            weights find their way along long valleys sooner and are less unique.

    Raises:
        IntegratorError: an option is out of range.
    """

    objective: ClassVar[str] = "dissipation"

    tolerance: float = 1e-4
    slip: float = 1e-4
    max_iterations: int = 25
    loose: float = 1.0
    proximal: float = 1e-6

    def __post_init__(self) -> None:
        for name in ("tolerance", "slip", "max_iterations", "loose", "proximal"):
            if not 0 < getattr(self, name) < np.inf:
                raise IntegratorError(f"{name} must be finite and > 0, got {getattr(self, name)}")
