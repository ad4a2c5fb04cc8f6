"""The function that a step of pbd or pbfd minimises, for the optimisers of `solvers/`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
from scipy.linalg.blas import dtrsv

from nmdp_pin.kernels.penalty import FRICTIONAL
from nmdp_pin.kernels.position_scene import Scene, StepStart
from nmdp_pin.kernels.position_solver import Memory
from nmdp_pin.kernels.position_step import begin, evaluate, linearise, place


class PositionMinimisation:
    """A step in tangents y = U dq, with U'U its metric, so that free motion has the Hessian 1.

    Args:
        model: model that provides the derivative of integrate().
        scene: data that all steps share.
        memory: scratch memory of the evaluations.
        query: function that describes the surfaces at the contacts of the memory.
    """

    def __init__(
        self, model: pin.Model, scene: Scene, memory: Memory, query: Callable[[], None]
    ) -> None:
        self._model, self._scene, self._memory, self._query = model, scene, memory, query

    def begin(self, start: StepStart) -> bool:
        """State a step; False where its mass matrix is singular."""
        self._start, self._stored = start, np.nan
        return bool(begin(self._scene, start, self._memory.ref, self._memory.point))

    def evaluate(self, q: np.ndarray) -> tuple[float, float]:
        """Value of the function, and norm of the residual [N, N m]."""
        memory, scene = self._memory, self._scene
        memory.point.q[:] = q
        place(scene, memory.point)
        self._query()
        value, error = evaluate(scene, self._start, memory.ref, memory.point)
        if np.isnan(self._stored):
            self._stored = memory.energies[2] = memory.point.forces.energies[0]
        return value, error

    def gradient(self) -> np.ndarray:
        """Gradient with respect to y, shape (nv,)."""
        point = self._memory.point
        if self._scene.law.kind != FRICTIONAL:
            return self._scaled(point.r)
        linearise(self._scene, self._start, point, self._memory.ref, True)
        s = self._scaled(point.r)
        force = point.A.T @ dtrsv(self._memory.ref.U, s, lower=0)
        return self._scaled(force)

    def retract(self, q: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The configuration at tangent y from q."""
        dq = dtrsv(self._memory.ref.U, y, lower=0)
        result: np.ndarray = pin.integrate(self._model, q, dq)
        return result

    def pull_back(self, q: np.ndarray, y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Gradient with respect to y of the function of `retract(q, y)`, from that at its end."""
        if self._model.nq == self._model.nv:
            return gradient
        U = self._memory.ref.U
        D: np.ndarray = pin.dIntegrate(self._model, q, dtrsv(U, y, lower=0), pin.ARG1)
        return self._scaled(D.T @ (np.triu(U).T @ gradient))

    def _scaled(self, force: np.ndarray) -> np.ndarray:
        """U'^-1 force."""
        result: np.ndarray = dtrsv(self._memory.ref.U, force, lower=0, trans=1)
        return result
