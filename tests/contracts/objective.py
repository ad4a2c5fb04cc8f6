"""The contract of objectives."""

from __future__ import annotations

from collections.abc import Callable

import core_samples as samples
import numpy as np
import pytest

from nmdp_pin._control import Command
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.papers.methods.objectives import Objective

_NO_CURVATURE = 1e-10  # relative; rounding of a positive semidefinite matrix

FormOf = Callable[..., CompiledSystem]


class ObjectiveContract:
    """Needs the fixtures `objective`, `form`, which gives the form of a system, and `order`."""

    ROBOTS = ("robosimian planar", "wheels", "chain fixed")

    @pytest.mark.parametrize(
        ("name", "ground"), [*zip(ROBOTS, ("tilted", "sphere", "tilted"), strict=True)]
    )
    def test_gradient(
        self, objective: Objective, form: FormOf, order: int, name: str, ground: str
    ) -> None:
        """The gradient agrees with central differences of the value."""
        problem, q, w = self._at(form, order, name, ground)
        at = problem.evaluate(q, w)
        gradient, _ = objective.derivatives(problem, at, problem.linearise(at))
        expected = samples.derivative_of(
            problem, q, w, lambda at: np.array([objective.value(problem, at)])
        )
        samples.assert_same(gradient[None], expected)

    @pytest.mark.parametrize("name", ROBOTS)
    def test_hessian_is_positive_semidefinite(
        self, objective: Objective, form: FormOf, order: int, name: str
    ) -> None:
        """The Hessian is symmetric and has no negative eigenvalue."""
        problem, q, w = self._at(form, order, name, "sphere")
        at = problem.evaluate(q, w)
        _, hessian = objective.derivatives(problem, at, problem.linearise(at))
        largest = np.abs(hessian).max()
        assert np.abs(hessian - hessian.T).max() <= _NO_CURVATURE * largest
        assert np.linalg.eigvalsh(hessian)[0] >= -_NO_CURVATURE * largest

    def test_at_rest_it_is_zero(self, objective: Objective, form: FormOf, order: int) -> None:
        """Not to move is the minimum: value and gradient vanish there."""
        robot = samples.robot("wheels")
        problem, q, w = samples.problem_at(robot, "flat", samples.CONE, seed=0, form=form)
        still = np.zeros(robot.model.nv)
        rest = samples.Problem(problem.form, q, still, Command(), 0.05, order)
        at = rest.evaluate(rest.q_ref, w)
        gradient, _ = objective.derivatives(rest, at, rest.linearise(at))
        assert objective.value(rest, at) == pytest.approx(0.0, abs=1e-20)
        assert np.abs(gradient).max() <= 1e-10

    def test_no_contact_points(self, objective: Objective, form: FormOf, order: int) -> None:
        """A robot without contact points has a finite value."""
        robot = samples.robot("no-contact")
        made = form(System(robot, Terrain([Plane()]), samples.CONE))
        problem = samples.Problem(made, robot.standing, np.ones(10), Command(), 0.01, order)
        at = problem.evaluate(robot.standing + 0.1, np.zeros(made.shape))
        gradient, hessian = objective.derivatives(problem, at, problem.linearise(at))
        assert np.isfinite(objective.value(problem, at))
        assert gradient.shape == (10,)
        assert hessian.shape == (10, 10)

    @staticmethod
    def _at(form: FormOf, order: int, name: str, ground: str):  # type: ignore[no-untyped-def]
        return samples.problem_at(
            samples.robot(name), ground, samples.CONE, 5, form=form, order=order
        )
