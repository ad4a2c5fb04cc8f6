"""Derivatives of one step, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nmdp_pin.derivatives.active_set import Switch
from nmdp_pin.integrators.integrator import StepResult
from nmdp_pin.status import Status


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """How the end x1 = [q1; v1] of a step answers its start x0, the torque and parameters.

    Of configurations both ends are tangent: a change dq means pinocchio's integrate(q, dq).

    Args:
        result: the step.
        status: CONVERGED, or why there are no derivatives: then they are NaN.
        dx_dx: shape (2 nv, 2 nv).
        dx_du: with respect to the torque of the driven joints, shape (2 nv, nu).
        parameters: with respect to what was asked for, by name, shape (2 nv, k) each.
        one_sided: kinks that the step ended on; where there are any, the derivative is that of
            one side.
    """

    result: StepResult
    status: Status
    dx_dx: np.ndarray
    dx_du: np.ndarray
    parameters: Mapping[str, np.ndarray]
    one_sided: tuple[Switch, ...] = ()

    def vjp(self, covector: np.ndarray) -> dict[str, np.ndarray]:
        """Vector-Jacobian products: "x", "u" and the parameters.

        Args:
            covector: gradient with respect to x1, shape (..., 2 nv).
        """
        found = {"x": covector @ self.dx_dx, "u": covector @ self.dx_du}
        return found | {name: covector @ D for name, D in self.parameters.items()}
