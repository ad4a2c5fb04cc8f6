"""Derivatives along trajectories, as products with vectors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nmdp_pin._control.controller import Command
from nmdp_pin._derivatives.differentiator import StepDerivatives, StepDifferentiator
from nmdp_pin._options import check_parts, numbers, shown
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin.errors import DerivativeError


@dataclass(frozen=True, eq=False)
class Horizon:
    """Derivatives of a trajectory of nt steps, or of nb trajectories.

    Args:
        dx_dx: derivatives dx_k+1/dx_k of x = [q; v], shape (..., nt, 2 nv, 2 nv).
        dx_du: derivatives by the torques, shape (..., nt, 2 nv, nu).
        parameters: derivatives by the parameters, by name, shape (..., nt, 2 nv, k) each.
        steps: steps of a single trajectory; empty for several.
    """

    dx_dx: np.ndarray
    dx_du: np.ndarray
    parameters: Mapping[str, np.ndarray]
    steps: tuple[StepDerivatives, ...] = ()

    @property
    def x(self) -> np.ndarray:
        """Ends [q; v] of the steps of a single trajectory, shape (nt, nq + nv)."""
        ends = [step.result.state for step in self.steps]
        return np.array([np.concatenate([end.q, end.v]) for end in ends])

    @classmethod
    def of(cls, steps: Sequence[StepDerivatives]) -> "Horizon":
        """Horizon of the steps of one trajectory.

        Raises:
            DerivativeError: there are no steps.
        """
        if not steps:
            raise DerivativeError("a horizon needs at least one step")
        names = steps[0].parameters
        return cls(
            np.stack([step.dx_dx for step in steps]),
            np.stack([step.dx_du for step in steps]),
            {name: np.stack([step.parameters[name] for step in steps]) for name in names},
            tuple(steps),
        )

    @classmethod
    def stacked(cls, trajectories: "Sequence[Horizon]") -> "Horizon":
        """Stack trajectories of equal length along a new first axis.

        Raises:
            DerivativeError: there are no trajectories, or their lengths differ.
        """
        trajectories = check_parts("trajectories", trajectories, Horizon, DerivativeError)
        lengths = {trajectory.dx_dx.shape[-3] for trajectory in trajectories}
        if len(lengths) != 1:
            raise DerivativeError(
                f"trajectories side by side must have one length, got {sorted(lengths)}"
            )
        names = trajectories[0].parameters
        return cls(
            np.stack([trajectory.dx_dx for trajectory in trajectories]),
            np.stack([trajectory.dx_du for trajectory in trajectories]),
            {name: np.stack([t.parameters[name] for t in trajectories]) for name in names},
        )

    def vjp(self, gradients: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Gradients of a sum of functions of the states, backwards in time.

        Args:
            gradients: gradients with respect to x_1 ... x_nt, shape (..., nt, 2 nv). Axes before
                those of the trajectories are several functions at once.

        Returns:
            Gradients with respect to x_0, shape (..., 2 nv), to the torques, (..., nt, nu), and to
            each parameter, equal in all steps, (..., k).
        """
        nt, ndx = self.dx_dx.shape[-3:-1]
        gradients = _of_shape("gradients", gradients, (nt, ndx))
        covector = np.zeros(gradients[..., 0, :].shape)
        of_u = []
        sums: dict[str, np.ndarray] = {}
        for k in reversed(range(self.dx_dx.shape[-3])):
            covector = covector + gradients[..., k, :]
            of_u.append(_times(covector, self.dx_du[..., k, :, :]))
            for name, D in self.parameters.items():
                part = _times(covector, D[..., k, :, :])
                sums[name] = part if name not in sums else sums[name] + part
            covector = _times(covector, self.dx_dx[..., k, :, :])
        return covector, np.stack(of_u[::-1], axis=-2), sums

    def jvp(self, dx0: np.ndarray, du: np.ndarray | None = None) -> np.ndarray:
        """Change of x_1 ... x_nt, forwards in time, shape (..., nt, 2 nv).

        Args:
            dx0: change of x_0, shape (..., 2 nv).
            du: change of the torques, shape (..., nt, nu); None: none.
        """
        nt, ndx = self.dx_dx.shape[-3:-1]
        dx, changes = _of_shape("dx0", dx0, (ndx,)), []
        if du is not None:
            du = _of_shape("du", du, (nt, self.dx_du.shape[-1]))
        for k in range(self.dx_dx.shape[-3]):
            dx = (self.dx_dx[..., k, :, :] @ dx[..., None])[..., 0]
            if du is not None:
                dx = dx + (self.dx_du[..., k, :, :] @ du[..., k, :, None])[..., 0]
            changes.append(dx)
        return np.stack(changes, axis=-2)


def horizon_derivatives(
    simulator: Simulator,
    state: State,
    commands: Sequence[Command | np.ndarray | None],
    h: float,
    *,
    with_respect_to: tuple[str, ...] = (),
    smoothing: float = 0.0,
) -> Horizon:
    """Step through the commands and differentiate each step, up to a step that fails.

    Args:
        simulator: simulator with an NMDP method, `pbd` or `pbfd`.
        state: start of the first step.
        commands: commands of the steps, at least one, or torques (nt, nu).
        h: length of the steps [s].
        with_respect_to: names of further parameters; see `StepDifferentiator`.
        smoothing: smoothing over switches of contacts; see `StepDifferentiator`.
    """
    differentiate, steps = StepDifferentiator(simulator), []
    if isinstance(commands, Command) or not isinstance(commands, Iterable):
        raise DerivativeError(f"commands must be a list of commands, got {shown(commands)}")
    for command in commands:
        step = differentiate(
            state, command, h, with_respect_to=with_respect_to, smoothing=smoothing
        )
        steps.append(step)
        if not step.status.ok:
            break
        state = step.result.state
    return Horizon.of(steps)


def _of_shape(name: str, values: np.ndarray, last: tuple[int, ...]) -> np.ndarray:
    """An array whose last axes have these lengths."""
    array = numbers(name, values, DerivativeError)
    if array.shape[-len(last) :] != last:
        allowed = ", ".join(map(str, last))
        raise DerivativeError(f"{name} has shape {array.shape}, expected (..., {allowed})")
    return array


def _times(covector: np.ndarray, D: np.ndarray) -> np.ndarray:
    result: np.ndarray = (covector[..., None, :] @ D)[..., 0, :]
    return result
