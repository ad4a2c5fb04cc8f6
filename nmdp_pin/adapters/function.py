"""Steps as functions of arrays, for NumPy and SciPy."""

import numpy as np

from nmdp_pin._derivatives.differentiator import StepDifferentiator
from nmdp_pin._options import check_part, numbers
from nmdp_pin._simulator.argument_check import check_step
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin.errors import ControlError, NmdpError, StateError


class StepFunction:
    """Function x1 = f(x, u): one step of length h from x = [q; v] under the torque u.

    The result depends on the arguments alone; leading axes broadcast. A step that fails gives NaN.

    Args:
        simulator: simulator of the steps.
        h: length of the steps [s].
    """

    def __init__(self, simulator: Simulator, h: float) -> None:
        check_part("simulator", simulator, Simulator, StateError)
        check_step(h)
        self.simulator, self.h = simulator, h
        self._differentiate: StepDifferentiator | None = None

    def __call__(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Ends of the steps, shape (..., nx).

        Args:
            x: starts, shape (..., nx).
            u: torques of the driven joints [N m], shape (..., nu); leading axes broadcast.

        Raises:
            StateError, ControlError: a shape is wrong, or a number is not finite.
        """
        x, u = self._array("x", x, StateError), self._array("u", u, ControlError)
        try:
            lead = np.broadcast_shapes(x.shape[:-1], u.shape[:-1])
        except ValueError as error:
            raise StateError(
                f"the leading axes of x {x.shape} and u {u.shape} do not fit one another"
            ) from error
        end = np.empty((*lead, self.simulator.vector.nx))
        xs = np.broadcast_to(x, (*lead, x.shape[-1]))
        us = np.broadcast_to(u, (*lead, u.shape[-1]))
        for place in np.ndindex(lead):
            x1, info = self.simulator.step_x(xs[place], us[place], self.h)
            end[place] = x1 if info.status.ok else np.nan
        return end

    def jacobians(self, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A = dx1/dx, shape (2 nv, 2 nv), and B = dx1/du, shape (2 nv, nu), of one step.

        Tangent at both ends; NaN where the step fails.

        Raises:
            DerivativeError: the method has no derivatives.
        """
        if self._differentiate is None:
            self._differentiate = StepDifferentiator(self.simulator)
        found = self._differentiate(self.simulator.vector.unpack(x), u, self.h)
        return found.dx_dx, found.dx_du

    @staticmethod
    def _array(name: str, value: np.ndarray, error: type[NmdpError]) -> np.ndarray:
        array = numbers(name, value, error)
        if array.ndim == 0:
            raise error(f"{name} must have at least one axis, got the number {value!r}")
        return array
