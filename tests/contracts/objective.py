"""The contract of objectives."""

from __future__ import annotations

import core_samples as samples
import numpy as np
import pytest

from nmdp_pin.control import Command
from nmdp_pin.dynamics.objective import Objective
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.state import State

_NO_CURVATURE = 1e-10  # relative; rounding of a positive semidefinite matrix


class ObjectiveContract:
    """Needs the fixtures `kind`, the objective's class, `form`, the residual's, and `order`."""

    ROBOTS = ("robosimian planar", "spider", "wheels", "wheels+points", "chain fixed")

    @pytest.mark.parametrize("name", ROBOTS)
    @pytest.mark.parametrize("ground", ["tilted", "sphere"])
    def test_gradient(
        self, kind: type[Objective], form: type[StepResidual], order: int, name: str, ground: str
    ) -> None:
        """The gradient agrees with central differences of the value."""
        objective, residual, q, w = self._at(kind, form, order, name, ground)
        gradient, _ = objective.derivatives()

        def moved(dq: np.ndarray) -> np.ndarray:
            residual.evaluate(residual.retract(q, dq), w)
            return np.array(objective.value())

        expected = samples.central_differences(moved, residual.nv)
        samples.assert_same(gradient[None], expected[None])

    @pytest.mark.parametrize("name", ROBOTS)
    def test_hessian_is_positive_semidefinite(
        self, kind: type[Objective], form: type[StepResidual], order: int, name: str
    ) -> None:
        """The Hessian is symmetric and has no negative eigenvalue."""
        objective, _, _, _ = self._at(kind, form, order, name, "sphere")
        _, hessian = objective.derivatives()
        largest = np.abs(hessian).max()
        assert np.abs(hessian - hessian.T).max() <= _NO_CURVATURE * largest
        assert np.linalg.eigvalsh(hessian)[0] >= -_NO_CURVATURE * largest

    def test_at_rest_it_is_zero(self, kind: type[Objective], form: type[StepResidual]) -> None:
        """Not to move is the minimum: value and gradient vanish there."""
        robot = samples.robot("wheels")
        residual, q, w = samples.residual_at(robot, "flat", samples.CONE, seed=0, form=form)
        objective = kind(residual)
        start = State(0.0, q, residual.v0)
        residual.begin(start, samples.command(robot.model, np.random.default_rng(0)), 0.05)
        residual.evaluate(q, w)
        residual.linearise()
        assert objective.value() == pytest.approx(0.0, abs=1e-20)
        assert np.abs(objective.derivatives()[0]).max() <= 1e-10

    def test_no_contact_points(self, kind: type[Objective], form: type[StepResidual]) -> None:
        """A robot without contact points has a finite value."""
        robot = samples.robot("no-contact")
        residual, q, _ = samples.residual_at(
            samples.robot("chain fixed"), "flat", samples.CONE, seed=0
        )
        residual = form(robot, residual.contact.terrain, samples.CONE)
        residual.begin(State(0.0, robot.standing, np.ones(10)), Command(), 0.01)
        residual.evaluate(q, np.zeros((0, samples.CONE.n_vertices)))
        residual.linearise()
        objective = kind(residual)
        gradient, hessian = objective.derivatives()
        assert np.isfinite(objective.value())
        assert gradient.shape == (10,)
        assert hessian.shape == (10, 10)

    def _at(
        self, kind: type[Objective], form: type[StepResidual], order: int, name: str, ground: str
    ) -> tuple[Objective, StepResidual, np.ndarray, np.ndarray]:
        residual, q, w = samples.residual_at(
            samples.robot(name), ground, samples.CONE, 5, form=form, second_order=order == 2
        )
        objective = kind(residual)
        residual.evaluate(q, w)
        residual.linearise()
        return objective, residual, q, w
