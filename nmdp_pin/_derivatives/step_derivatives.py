"""Derivatives of one step, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._integrators.step_response import Switch
from nmdp_pin._state.status import Status


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """Derivatives of the end x1 = [q1; v1] of a step by its start x0, the torque and parameters.

    Both ends are tangent: a change dq means `pinocchio.integrate(model, q, dq)`.

    Args:
        result: the step.
        status: CONVERGED, or the reason for which the derivatives are NaN.
        dx_dx: derivatives dx1/dx0, shape (2 nv, 2 nv).
        dx_du: derivatives by the torque of the driven joints, shape (2 nv, nu).
        parameters: derivatives by the requested parameters, by name, shape (2 nv, k) each.
        one_sided: kinks at the end of the step; with any, the derivative is that of one side.
        settled: whether the step was solved to rounding; if not, motions below ten times the
            resolution of the solver count as none.
    """

    result: StepResult
    status: Status
    dx_dx: np.ndarray
    dx_du: np.ndarray
    parameters: Mapping[str, np.ndarray]
    one_sided: tuple[Switch, ...] = ()
    settled: bool = True

    def vjp(self, covector: np.ndarray) -> dict[str, np.ndarray]:
        """Vector-Jacobian products, by name: "x", "u" and the parameters.

        Args:
            covector: gradient with respect to x1, shape (..., 2 nv).
        """
        found = {"x": covector @ self.dx_dx, "u": covector @ self.dx_du}
        return found | {name: covector @ D for name, D in self.parameters.items()}

    def then(self, second: "StepDerivatives") -> "StepDerivatives":
        """Derivatives of this step followed by another; the result is that of the other."""
        if not (self.status.ok and second.status.ok):
            return self if not self.status.ok else second
        A = second.dx_dx
        return replace(
            second,
            dx_dx=A @ self.dx_dx,
            dx_du=A @ self.dx_du + second.dx_du,
            parameters={
                name: A @ D + second.parameters[name] for name, D in self.parameters.items()
            },
            one_sided=self.one_sided + second.one_sided,
            settled=self.settled and second.settled,
        )
