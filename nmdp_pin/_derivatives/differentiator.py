"""Derivatives of a step by the implicit function theorem at its end."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nmdp_pin._control.controller import Command, CommandSource
from nmdp_pin._control.external_wrench import Loads
from nmdp_pin._control.scripted import spread
from nmdp_pin._dynamics.kinematic_tree import joints_with_turning_motions
from nmdp_pin._dynamics.parameters import checked, columns
from nmdp_pin._integrators import Integrator
from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._integrators.step_response import Switch
from nmdp_pin._kernels.compiler.kernel_lock import KernelLock
from nmdp_pin._options import check_part, check_parts
from nmdp_pin._simulator.argument_check import is_real
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.errors import DerivativeError


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


class StepDifferentiator:
    """Derivatives of the steps of a simulator; threads that share one wait for each other.

    Args:
        simulator: simulator with an NMDP method, `pbd` or `pbfd`.

    Raises:
        DerivativeError: the method has no derivatives, or a joint, such as a universal one, has
            motions that depend on its configuration.
    """

    def __init__(self, simulator: Simulator) -> None:
        check_part("simulator", simulator, Simulator, DerivativeError)
        method = type(simulator.integrator)
        if method.response is Integrator.response:
            raise DerivativeError(
                f"there are no derivatives of '{simulator.method}'; use ne-nmdp, pbd-nmdp, "
                "ne-zonmdp, pbd-zonmdp, pbd or pbfd"
            )
        if turning := joints_with_turning_motions(simulator.robot.model):
            raise DerivativeError(
                f"joint {', '.join(turning)} has motions that depend on its configuration, of "
                "which derivatives are not known; make its parts joints of the model, one after "
                "the other"
            )
        self.simulator = simulator
        self._integrator = method(simulator.system, **simulator.options)
        self._lock, self._loads = KernelLock(), Loads(simulator.robot.model)

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
            command: command, as in `Simulator.step`; of a source, wrenches are those at the end.
            h: length of the step [s].
            result: result of the step, if it exists already; None: the step is made.
            with_respect_to: names of further parameters, of `PARAMETERS`.
            smoothing: 0 is exact; larger values average over switches of contacts, as if forces
                were known up to this fraction of the largest, and weights of one.

        Raises:
            StateError, ControlError: as `Simulator.step`.
            DerivativeError: a parameter is unknown, or the method or the robot lacks it.
        """
        names = checked(check_parts("with_respect_to", with_respect_to, str, DerivativeError))
        if not (is_real(smoothing) and 0.0 <= smoothing < math.inf):
            raise DerivativeError(f"smoothing must be a finite number >= 0, got {smoothing!r}")
        if self.simulator.robot.scripted and {"q_target", "v_target"} & {*names}:
            raise DerivativeError(
                "derivatives by targets are not known where some of them are scripted joints'"
            )
        source = self.simulator.checked_source(command)
        if result is None:
            result = self.simulator.step(state, source, h)
        if not result.status.ok:
            return self._none(result, result.status, names)
        spread_out = spread(self.simulator.robot, source, state, h)
        source, wrenches = self._loads.on(spread_out, state), spread_out.at(state.t + h).wrenches
        asked = names if "force" in names or not wrenches else (*names, "force")
        lengths = result.step_sizes if len(result.step_sizes) > 1 else (h,)
        parts, at = list[StepDerivatives](), state
        with self._lock, np.errstate(all="ignore"):
            for k, s in enumerate(lengths):
                part = result
                if k + 1 < len(lengths):
                    part = self._integrator.step(at, source, s)
                    if not part.status.ok:
                        return self._none(result, part.status, names)
                try:
                    found = self._integrator.response(
                        at, source, s, part, names=asked, smoothing=smoothing
                    )
                except np.linalg.LinAlgError:
                    return self._none(result, Status.SINGULAR, names)
                of_x, of_tau, of_p, switches, settled = found
                if not all(np.isfinite(D).all() for D in (of_x, of_tau, *of_p.values())):
                    return self._none(result, Status.NOT_FINITE, names)
                of_u = of_tau[:, self.simulator.robot.driven]
                parts.append(
                    StepDerivatives(result, Status.CONVERGED, of_x, of_u, of_p, switches, settled)
                )
                at = part.state
        whole = functools.reduce(StepDerivatives.then, parts)
        if wrenches:  # their Jacobians are those of the start
            by_start, nv = self._loads.by_configuration(wrenches, state.q), len(state.v)
            of_x, of_p = whole.dx_dx.copy(), dict(whole.parameters)
            of_x[:, :nv] += of_p["force"] @ by_start
            kept = {name: of_p[name] for name in names}
            whole = replace(whole, dx_dx=of_x, parameters=kept)
        if len(parts) > 1:
            return replace(whole, one_sided=(*whole.one_sided, Switch(-1, "sub-steps")))
        return whole

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
