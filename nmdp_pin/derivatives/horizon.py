"""Derivatives along a trajectory: products with vectors, never of matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nmdp_pin.control.controller import Command
from nmdp_pin.derivatives.differentiator import StepDifferentiator
from nmdp_pin.derivatives.step_derivatives import StepDerivatives
from nmdp_pin.errors import DerivativeError
from nmdp_pin.simulator import Simulator
from nmdp_pin.state import State


@dataclass(frozen=True, eq=False)
class Horizon:
    """A trajectory of nt steps, or nb of them side by side, and its derivatives.

    The state z is x = [q; v], and in second order the memory behind it: see `StepDerivatives`.

    Args:
        of_state: dz_k+1/dz_k, shape (..., nt, nz, nz).
        of_torque: shape (..., nt, nz, nu).
        of_parameters: shape (..., nt, nz, k) each.
        nx: 2 nv.
        steps: those of one trajectory; empty where several are side by side.
    """

    of_state: np.ndarray
    of_torque: np.ndarray
    of_parameters: Mapping[str, np.ndarray]
    nx: int
    steps: tuple[StepDerivatives, ...] = ()

    @property
    def dx_dx(self) -> np.ndarray:
        """Shape (..., nt, 2 nv, 2 nv)."""
        return self.of_state[..., : self.nx, : self.nx]

    @property
    def dx_du(self) -> np.ndarray:
        """Shape (..., nt, 2 nv, nu)."""
        return self.of_torque[..., : self.nx, :]

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Shape (..., nt, 2 nv, k) each."""
        return {name: D[..., : self.nx, :] for name, D in self.of_parameters.items()}

    @classmethod
    def of(cls, steps: Sequence[StepDerivatives]) -> Horizon:
        """The steps of one trajectory, in order.

        Raises:
            DerivativeError: there are none.
        """
        if not steps:
            raise DerivativeError("a horizon needs at least one step")
        names = steps[0].of_parameters
        return cls(
            np.stack([step.of_state for step in steps]),
            np.stack([step.of_torque for step in steps]),
            {name: np.stack([step.of_parameters[name] for step in steps]) for name in names},
            steps[0].nx,
            tuple(steps),
        )

    @classmethod
    def stacked(cls, trajectories: Sequence[Horizon]) -> Horizon:
        """Trajectories of the same length side by side, along a new first axis.

        Raises:
            DerivativeError: there are none, or their lengths differ.
        """
        lengths = {trajectory.of_state.shape[-3] for trajectory in trajectories}
        if len(lengths) != 1:
            raise DerivativeError(
                f"trajectories side by side must have one length, got {sorted(lengths)}"
            )
        names = trajectories[0].of_parameters
        return cls(
            np.stack([trajectory.of_state for trajectory in trajectories]),
            np.stack([trajectory.of_torque for trajectory in trajectories]),
            {name: np.stack([t.of_parameters[name] for t in trajectories]) for name in names},
            trajectories[0].nx,
        )

    def vjp(self, gradients: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Gradients of a sum of functions of the states, backwards in time.

        Args:
            gradients: of the function with respect to x_1 ... x_nt, shape (..., nt, 2 nv), or
                to z_1 ... z_nt, (..., nt, nz). Axes before those of the trajectories are several
                functions at once.

        Returns:
            With respect to z_0, shape (..., nz): x_0 and, in second order, its memory behind; to
            the torques, (..., nt, nu); and to each parameter, which is the same in all steps,
            (..., k).
        """
        nt = self.of_state.shape[-3]
        gradients = self._filled(gradients)
        covector = np.zeros(gradients[..., 0, :].shape)
        of_u = []
        sums: dict[str, np.ndarray] = {}
        for k in reversed(range(nt)):
            covector = covector + gradients[..., k, :]
            of_u.append(_times(covector, self.of_torque[..., k, :, :]))
            for name, D in self.of_parameters.items():
                part = _times(covector, D[..., k, :, :])
                sums[name] = part if name not in sums else sums[name] + part
            covector = _times(covector, self.of_state[..., k, :, :])
        return covector, np.stack(of_u[::-1], axis=-2), sums

    def jvp(self, dx0: np.ndarray, du: np.ndarray | None = None) -> np.ndarray:
        """Change of x_1 ... x_nt, forwards in time, shape (..., nt, 2 nv).

        Args:
            dx0: change of x_0, shape (..., 2 nv), or of z_0, (..., nz).
            du: change of the torques, shape (..., nt, nu); None: none.
        """
        dz, changes = self._filled(dx0), []
        for k in range(self.of_state.shape[-3]):
            dz = (self.of_state[..., k, :, :] @ dz[..., None])[..., 0]
            if du is not None:
                dz = dz + (self.of_torque[..., k, :, :] @ du[..., k, :, None])[..., 0]
            changes.append(dz[..., : self.nx])
        return np.stack(changes, axis=-2)

    def _filled(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors of x as vectors of z, the memory's part being zero."""
        vectors = np.asarray(vectors, dtype=float)
        missing = self.of_state.shape[-1] - vectors.shape[-1]
        return np.pad(vectors, [(0, 0)] * (vectors.ndim - 1) + [(0, missing)])


def horizon_derivatives(
    simulator: Simulator,
    state: State,
    commands: Sequence[Command | np.ndarray | None],
    h: float,
    *,
    with_respect_to: tuple[str, ...] = (),
    smoothing: float = 0.0,
) -> Horizon:
    """Step through the commands and differentiate each step; ends after one that failed.

    Args:
        simulator: see `StepDifferentiator`.
        state: start of the first step.
        commands: one a step, at least one; an array (nt, nu) of torques will do.
        h: length of the steps [s].
        with_respect_to: see `StepDifferentiator`.
        smoothing: likewise.
    """
    differentiate, steps = StepDifferentiator(simulator), []
    for command in commands:
        step = differentiate(
            state, command, h, with_respect_to=with_respect_to, smoothing=smoothing
        )
        steps.append(step)
        if not step.status.ok:
            break
        state = step.result.state
    return Horizon.of(steps)


def _times(covector: np.ndarray, D: np.ndarray) -> np.ndarray:
    result: np.ndarray = (covector[..., None, :] @ D)[..., 0, :]
    return result
