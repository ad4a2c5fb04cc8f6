"""Derivatives of a step by the implicit function theorem at its end."""

import math
import threading

import numpy as np

from nmdp_pin._control.controller import Command, CommandSource
from nmdp_pin._derivatives.step_derivatives import StepDerivatives
from nmdp_pin._dynamics.parameters import checked, columns
from nmdp_pin._integrators import Integrator
from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.errors import DerivativeError


class StepDifferentiator:
    """Derivatives of the steps of a simulator; threads that share one wait for each other.

    Args:
        simulator: simulator with an NMDP method, `pbd` or `pbfd`.

    Raises:
        DerivativeError: the method has no derivatives.
    """

    def __init__(self, simulator: Simulator) -> None:
        method = type(simulator.integrator)
        if method.response is Integrator.response:
            raise DerivativeError(
                f"there are no derivatives of '{simulator.method}'; use ne-nmdp, pbd-nmdp, "
                "ne-zonmdp, pbd-zonmdp, pbd or pbfd"
            )
        self.simulator = simulator
        self._integrator = method(simulator.system, **simulator.options)
        self._lock = threading.Lock()

    def __reduce__(self) -> "tuple[type[StepDifferentiator], tuple[Simulator]]":
        return StepDifferentiator, (self.simulator,)

    def __call__(
        self,
        state: State,
        command: Command | CommandSource | np.ndarray | None,
        h: float,
        *,
        result: StepResult | None = None,
        with_respect_to: tuple[str, ...] = (),
        smoothing: float = 0.0,
    ) -> StepDerivatives:
        """Derivatives of a step.

        Args:
            state: start of the step.
            command: command, as in `Simulator.step`.
            h: length of the step [s].
            result: result of the step, if it exists already; None: the step is made.
            with_respect_to: names of further parameters, of `PARAMETERS`.
            smoothing: 0 is exact; larger values average over switches of contacts, as if weights
                were known up to this fraction of one.

        Raises:
            StateError, ControlError: as `Simulator.step`.
            DerivativeError: a parameter is unknown, or the method lacks it.
        """
        names = checked(tuple(with_respect_to))
        if not 0.0 <= smoothing < math.inf:
            raise DerivativeError(f"smoothing must be a finite number >= 0, got {smoothing!r}")
        source = self.simulator.checked_source(command)
        if result is None:
            result = self.simulator.step(state, source, h)
        if not result.status.ok:
            return self._none(result, result.status, names)
        lengths = result.step_sizes if len(result.step_sizes) > 1 else (h,)
        whole, at = None, state
        with self._lock, np.errstate(all="ignore"):
            for k, s in enumerate(lengths):
                part = result
                if k + 1 < len(lengths):
                    part = self._integrator.step(at, source, s)
                    if not part.status.ok:
                        return self._none(result, part.status, names)
                found = self._derivatives(result, part, at, source, s, names, smoothing)
                whole = found if whole is None else whole.then(found)
                at = part.state
        if whole is None or not whole.status.ok:
            return self._none(result, Status.NOT_FINITE if whole is None else whole.status, names)
        return whole

    def _derivatives(
        self,
        result: StepResult,
        part: StepResult,
        state: State,
        source: CommandSource,
        s: float,
        names: tuple[str, ...],
        smoothing: float,
    ) -> StepDerivatives:
        """Derivatives of one sub-step, `part`, of a step."""
        try:
            found = self._integrator.response(
                state, source, s, part, names=names, smoothing=smoothing
            )
        except np.linalg.LinAlgError:
            return self._none(result, Status.SINGULAR, names)
        parts = [found.of_state, found.of_torque, *found.of_parameters.values()]
        if not all(np.isfinite(array).all() for array in parts):
            return self._none(result, Status.NOT_FINITE, names)
        of_u = found.of_torque[:, self.simulator.robot.driven]
        return StepDerivatives(
            result,
            Status.CONVERGED,
            found.of_state,
            of_u,
            found.of_parameters,
            found.switches,
            found.settled,
        )

    def _none(self, result: StepResult, status: Status, names: tuple[str, ...]) -> StepDerivatives:
        """NaN derivatives."""
        robot, system = self.simulator.robot, self.simulator.system
        n = 2 * robot.model.nv
        sizes = {name: columns(system, name) for name in names}
        return StepDerivatives(
            result,
            status,
            np.full((n, n), np.nan),
            np.full((n, len(robot.driven)), np.nan),
            {name: np.full((n, size), np.nan) for name, size in sizes.items()},
        )


def step_derivatives(
    simulator: Simulator,
    state: State,
    command: Command | CommandSource | np.ndarray | None,
    h: float,
    *,
    result: StepResult | None = None,
    with_respect_to: tuple[str, ...] = (),
    smoothing: float = 0.0,
) -> StepDerivatives:
    """Derivatives of one step; the arguments are those of `StepDifferentiator`."""
    return StepDifferentiator(simulator)(
        state, command, h, result=result, with_respect_to=with_respect_to, smoothing=smoothing
    )
