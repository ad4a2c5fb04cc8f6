"""Derivatives of the inertia of material points in a stage by the start of its step."""

import numpy as np
import pinocchio as pin

from nmdp_pin._kernels.inertia import placements_derivative, rates_derivative
from nmdp_pin._kernels.stage import Point, System
from nmdp_pin._kernels.step import Memory, Scheme, Start


class MaterialRates:
    """The chain of derivatives through the targets of the stages of one step.

    Args:
        model: model of the robot.
        system: what all steps share.
        scheme: time scheme of the step.
        start: start of the step.
        memory: memory, in which the stages are stated one after another.
    """

    def __init__(
        self, model: pin.Model, system: System, scheme: Scheme, start: Start, memory: Memory
    ) -> None:
        self._model, self._tree, self._scheme = model, system.tree, scheme
        self._M = system.dynamics.M  # at the last point that was evaluated
        self._start, self._memory = start, memory
        self._rate = 1.0 / (scheme.a[0, 0] * start.h)  # of all stages
        self._rates: np.ndarray | None = None  # of the reference rates, shape (n, 4, 3, nz)

    def of_inertia(
        self, at: Point, of_q: np.ndarray, of_v: np.ndarray, v_z: np.ndarray
    ) -> np.ndarray:
        """Derivative of the inertia in G by z, the configuration held, shape (nv, nz).

        Args:
            at: end of the stage, the last point that was evaluated.
            of_q: derivative of the reference configuration, shape (nv, nz).
            of_v: derivative of the reference velocity, shape (nv, nz).
            v_z: derivative of the velocity at the end, shape (nv, nz).
        """
        rate, rotors = self._rate, self._tree.rotors[:, None]
        if self._scheme.order == 1:
            moved = self._target_force(at, self._of_positions(of_q, of_v))
            grown = rate * moved + rotors * (v_z - of_v)
            return rate * grown
        if self._rates is None:
            origin = self._memory.origin
            self._rates = self._of_rates(origin, origin.v, of_q, of_v)
        moved = self._target_force(at, self._rates)
        return rate * (self._M @ v_z - rotors * of_v + moved)

    def follow(self, at: Point, of_q: np.ndarray, of_v: np.ndarray) -> None:
        """Go on to the second stage.

        Args:
            at: end of the first stage.
            of_q: derivative of its configuration, shape (nv, nz).
            of_v: derivative of its velocity, shape (nv, nz).
        """
        if self._rates is not None:
            share = self._scheme.a[1, 0] / self._scheme.a[0, 0]
            self._rates = (1.0 - share) * self._rates + share * self._of_rates(at, at.v, of_q, of_v)

    def _of_positions(self, of_q: np.ndarray, of_v: np.ndarray) -> np.ndarray:
        """Derivative of the target placements 2 P(q0) - P(q0 - v0 / rate), (n, 4, 3, nz)."""
        start, rate = self._start, self._rate
        back = -start.v / rate
        by_q, by_v = (
            pin.dIntegrate(self._model, start.q, back, argument)
            for argument in (pin.ARG0, pin.ARG1)
        )
        before = by_q @ of_q - by_v @ of_v / rate
        here = self._of_placements(self._memory.origin, of_q)
        return 2.0 * here - self._of_placements(self._memory.scratch, before)

    def _of_placements(self, at: Point, of_q: np.ndarray) -> np.ndarray:
        """Derivative of the placements at a point, shape (n, 4, 3, nz)."""
        change = np.empty((len(at.S), len(at.P) - 1, 4, 3))
        placements_derivative(at.P, at.S, self._tree.moves, change)
        result: np.ndarray = np.moveaxis(np.tensordot(of_q, change, (0, 0)), 0, -1)
        return result

    def _of_rates(self, at: Point, v: np.ndarray, of_q: np.ndarray, of_v: np.ndarray) -> np.ndarray:
        """Derivative of the rates of the placements at a point, shape (n, 4, 3, nz)."""
        by_q = np.empty((len(at.P) - 1, 4, 3, len(v)))
        rates_derivative(at.P[1:], self._tree, at.S, v, by_q)
        result: np.ndarray = np.tensordot(by_q, of_q, 1) + self._of_placements(at, of_v)
        return result

    def _target_force(self, at: Point, change: np.ndarray) -> np.ndarray:
        """Derivative of the inertial potential's gradient along changes of its target, (nv, nz)."""
        n = len(at.P) - 1
        by_dof = np.empty((len(at.S), n, 4, 3))
        placements_derivative(at.P, at.S, self._tree.moves, by_dof)
        weighted = (self._tree.moments @ change.reshape(n, 4, -1)).reshape(12 * n, -1)
        result: np.ndarray = -by_dof.reshape(len(by_dof), -1) @ weighted
        return result
