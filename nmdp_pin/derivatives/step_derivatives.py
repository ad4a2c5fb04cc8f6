"""Derivatives of one step, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nmdp_pin.derivatives.active_set import Switch
from nmdp_pin.integrators.integrator import StepResult
from nmdp_pin.status import Status


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """How the end x1 = [q1; v1] of a step answers its start x0, the torque and parameters.

    Of configurations both ends are tangent: a change dq means pinocchio's integrate(q, dq).

    In second order the state is z = (x, m): the memory m is the step before, (q, v) at its start
    and, of the position-based form, the rates of its bodies at its start and end. In first order
    m is empty.

    Args:
        result: the step.
        status: CONVERGED, or why there are no derivatives: then they are NaN.
        of_state: dz1/dz0, shape (nz, nz); nz = 2 nv + nm.
        of_torque: with respect to the torque of the driven joints, shape (nz, nu).
        of_parameters: with respect to what was asked for, by name, shape (nz, k) each.
        one_sided: kinks that the step ended on; where there are any, the derivative is that of
            one side.
        settled: the end of the step is known to its last digits; if not, motions below ten times
            the solver's epsilon count as none, and a foot that creeps as one that holds.
    """

    result: StepResult
    status: Status
    of_state: np.ndarray
    of_torque: np.ndarray
    of_parameters: Mapping[str, np.ndarray]
    one_sided: tuple[Switch, ...] = ()
    settled: bool = True

    @property
    def nx(self) -> int:
        """2 nv."""
        return 2 * len(self.result.state.v)

    @property
    def dx_dx(self) -> np.ndarray:
        """dx1/dx0, shape (2 nv, 2 nv)."""
        return self.of_state[: self.nx, : self.nx]

    @property
    def dx_du(self) -> np.ndarray:
        """dx1/du, shape (2 nv, nu)."""
        return self.of_torque[: self.nx]

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Of x1 with respect to the parameters, shape (2 nv, k) each."""
        return {name: D[: self.nx] for name, D in self.of_parameters.items()}

    def vjp(self, covector: np.ndarray) -> dict[str, np.ndarray]:
        """Vector-Jacobian products: "x", "u", the parameters and, in second order, "memory".

        Args:
            covector: gradient with respect to x1, shape (..., 2 nv), or to z1, (..., nz).
        """
        n = np.shape(covector)[-1]
        of_z = covector @ self.of_state[:n]
        found = {"x": of_z[..., : self.nx], "u": covector @ self.of_torque[:n]}
        if len(self.of_state) > self.nx:
            found["memory"] = of_z[..., self.nx :]
        return found | {name: covector @ D[:n] for name, D in self.of_parameters.items()}

    def then(self, second: StepDerivatives) -> StepDerivatives:
        """Of this step and another one after it, as one; the result is that of the other."""
        if not (self.status.ok and second.status.ok):
            return self if not self.status.ok else second
        A = second.of_state
        return replace(
            second,
            of_state=A @ self.of_state,
            of_torque=A @ self.of_torque + second.of_torque,
            of_parameters={
                name: A @ D + second.of_parameters[name] for name, D in self.of_parameters.items()
            },
            one_sided=self.one_sided + second.one_sided,
            settled=self.settled and second.settled,
        )

    def with_rows(self, rows: slice, other: StepDerivatives, others: slice) -> StepDerivatives:
        """Some entries of the end being those of another step's end.

        Args:
            rows: which, of z1.
            other: with the same start.
            others: which entries of its end they are.
        """

        def mixed(mine: np.ndarray, its: np.ndarray) -> np.ndarray:
            result = mine.copy()
            result[rows] = its[others]
            return result

        return replace(
            self,
            of_state=mixed(self.of_state, other.of_state),
            of_torque=mixed(self.of_torque, other.of_torque),
            of_parameters={
                name: mixed(D, other.of_parameters[name]) for name, D in self.of_parameters.items()
            },
        )
