"""Stages of a step, which are solved one after another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.reference import Slopes
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.integrators.scheme import Scheme
from nmdp_pin.kernels.step_ends import add_world_wrenches
from nmdp_pin.status import Status


class Work(NamedTuple):
    """Iterations and evaluations of a solution, summed over its attempts."""

    iterations: int = 0
    evaluations: int = 0
    rejected: int = 0

    def plus(self, iterations: int, evaluations: int, rejected: int) -> Work:
        """Sum with the work of another attempt."""
        return Work(
            self.iterations + iterations,
            self.evaluations + evaluations,
            self.rejected + rejected,
        )


class Stages(NamedTuple):
    """The stages of one step, as far as they were solved.

    Args:
        scheme: time scheme of the step.
        h: length of the step [s].
        problems: equations of each stage.
        points: end of each stage.
        slopes: rates of change at these ends, except that of the last stage.
        status: status of the last stage.
        gamma: step-size parameter of the solver.
        value: objective or gap at the end.
        energies: kinetic energy and potential energy of gravity at the end [J].
        work: iterations and evaluations of all stages.
        suspects: contacts whose motion a step of first order has to confirm; see `plastic`.
    """

    scheme: Scheme
    h: float
    problems: tuple[StepProblem, ...]
    points: tuple[Evaluation, ...]
    slopes: tuple[Slopes, ...]
    status: Status
    gamma: float
    value: float
    energies: tuple[float, float]
    work: Work
    suspects: np.ndarray | None = None

    @property
    def end(self) -> Evaluation:
        """The end of the step, or where the last stage stopped."""
        return self.points[-1]

    def torque_work(self) -> float:
        """Work of the joint torques over the step [J]."""
        powers = [float(at.tau @ at.v) for at in self.points]
        return self.h * sum(b * power for b, power in zip(self.scheme.a[-1], powers, strict=True))

    def mean_wrenches(self) -> np.ndarray:
        """Impulses of the contacts over the length of the step, about their centres, (n, 6)."""
        form = self.problems[0].form
        result = np.zeros((form.contacts.n, 6))
        for weight, at in zip(self.scheme.a[-1], self.points, strict=True):
            add_wrenches(weight, at, result)
        return result

    def local_error(self, v0: np.ndarray) -> np.ndarray:
        """Estimated error of the configuration at the end, shape (nv,)."""
        return self.scheme.error(self.h, [v0, *(at.v for at in self.points)])


def add_wrenches(weight: float, at: Evaluation, total: np.ndarray) -> None:
    """Add the weighted wrenches about the contact spheres' centres, in the world's axes, (n, 6)."""
    points = at.points
    add_world_wrenches(weight, points.touched, points.radii, at.layout.table, at.values, total)
