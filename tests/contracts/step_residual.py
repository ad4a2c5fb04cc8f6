"""The contract of dynamics residuals."""

from __future__ import annotations

from collections.abc import Callable

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin.contact import WrenchSpace
from nmdp_pin.control import Command
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.robot import Robot
from nmdp_pin.state import State
from nmdp_pin.terrain import Terrain

_LINEAR = 1e-9  # relative; G is linear in w, so differences are exact to rounding

Make = Callable[[Robot, Terrain, WrenchSpace], StepResidual]


class StepResidualContract:
    """Needs the fixture `make`: the residual's class, or a function with its arguments."""

    second_order = False

    ROBOTS = ("robosimian planar", "wheels+damping", "chain fixed")

    @pytest.mark.parametrize("name", ROBOTS)
    @pytest.mark.parametrize("kind", ["flat", "sphere"])
    def test_linearise(self, make: Make, name: str, kind: str) -> None:
        """`linearise` is dG/dq, with contact, gains and feed-forward torque."""
        residual, q, w = self._begun(make, name, kind)
        residual.evaluate(q, w)
        found = np.array(residual.linearise())

        def moved(dq: np.ndarray) -> np.ndarray:
            return residual.evaluate(residual.retract(q, dq), w)

        samples.assert_same(found, samples.central_differences(moved, residual.nv))

    @pytest.mark.parametrize("name", ROBOTS)
    def test_vertex_jacobian(self, make: Make, name: str) -> None:
        """`vertex_jacobian` is -(dG/dw)'."""
        residual, q, w = self._begun(make, name, "tilted")
        G = residual.evaluate(q, w).copy()
        residual.linearise()
        found = np.array(residual.vertex_jacobian())
        assert found.shape == (w.size, residual.nv)
        change = np.array(
            [G - residual.evaluate(q, w + e.reshape(w.shape)) for e in np.eye(w.size)]
        )
        np.testing.assert_allclose(found, change, atol=_LINEAR * np.abs(G).max())

    def test_retract(self, make: Make) -> None:
        """`retract` by zero is the identity, and it stays on the manifold."""
        robot = samples.robot("wheels")
        residual, q, _ = self._begun(make, "wheels", "flat")
        np.testing.assert_allclose(residual.retract(q, np.zeros(residual.nv)), q, atol=1e-15)
        far = residual.retract(q, np.full(residual.nv, 2.0))
        assert pin.isNormalized(robot.model, far, 1e-12)

    def test_evaluations_are_counted(self, make: Make) -> None:
        """`begin` resets the count, every `evaluate` adds one."""
        residual, q, w = self._begun(make, "robosimian planar", "flat")
        assert residual.evaluations == 0
        for _ in range(3):
            residual.evaluate(q, w)
        assert residual.evaluations == 3

    def test_nothing_is_left_of_another_step(self, make: Make) -> None:
        """A step gives the same bits after another one, far away and with other weights."""
        residual, q, w = self._begun(make, "wheels+damping", "sphere")
        robot = samples.robot("wheels+damping")
        G, A = residual.evaluate(q, w).copy(), residual.linearise().copy()
        residual.begin(State(0.0, robot.standing, np.ones(residual.nv)), Command(), 1e-3)
        residual.evaluate(residual.retract(q, np.full(residual.nv, 40.0)), np.zeros_like(w))
        residual.linearise()
        self._begin()
        assert np.array_equal(residual.evaluate(q, w), G)
        assert np.array_equal(residual.linearise(), A)

    def test_results_are_not_overwritten(self, make: Make) -> None:
        """What `evaluate` and `linearise` return survives the next evaluation."""
        residual, q, w = self._begun(make, "robosimian planar", "flat")
        G, A = residual.evaluate(q, w), residual.linearise()
        kept = G.copy(), A.copy()
        residual.evaluate(residual.retract(q, np.full(residual.nv, 0.1)), w)
        residual.linearise()
        assert np.array_equal(G, kept[0])
        assert np.array_equal(A, kept[1])

    def _begun(
        self, make: Make, name: str, kind: str
    ) -> tuple[StepResidual, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(3)
        robot, h = samples.robot(name), 0.05
        q0 = samples.configuration(robot.model, rng)
        v0 = rng.standard_normal(robot.model.nv)
        q = pin.integrate(robot.model, q0, h * v0 + 0.02 * rng.standard_normal(robot.model.nv))
        terrain = samples.ground_through(kind, samples.centres(robot, q))
        residual = make(robot, terrain, samples.CONE)
        start = samples.with_history(robot, State(0.0, q0, v0), 0.7 * h, rng)
        command = samples.command(robot.model, rng)
        self._begin = lambda: residual.begin(start, command, h, second_order=self.second_order)
        self._begin()
        n = len(robot.contact_points)
        return residual, q, samples.weights(n, samples.CONE.n_vertices, rng)
