"""Stages of a step, which are solved one after another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.reference import Slopes
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.integrators.scheme import Scheme
from nmdp_pin.kernels.wrenches import world_wrenches
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

    @property
    def end(self) -> Evaluation:
        """The end of the step, or where the last stage stopped."""
        return self.points[-1]

    def mean(self, values: list[np.ndarray]) -> np.ndarray:
        """Mean over the step of a quantity of the stages, with the scheme's weights."""
        weights = self.scheme.a[-1]
        result = weights[0] * values[0]
        for weight, value in zip(weights[1:], values[1:], strict=True):
            result += weight * value
        return result

    def torque_work(self) -> float:
        """Work of the joint torques over the step [J]."""
        powers = [float(at.tau @ at.v) for at in self.points]
        return self.h * sum(b * power for b, power in zip(self.scheme.a[-1], powers, strict=True))

    def mean_wrenches(self) -> np.ndarray:
        """Impulses of the contacts over the length of the step, about their centres, (n, 6)."""
        return self.mean(
            [in_world(p, at) for p, at in zip(self.problems, self.points, strict=True)]
        )

    def local_error(self, v0: np.ndarray) -> np.ndarray:
        """Estimated error of the configuration at the end, shape (nv,)."""
        return self.scheme.error(self.h, [v0, *(at.v for at in self.points)])


def in_world(problem: StepProblem, at: Evaluation) -> np.ndarray:
    """Wrenches about the centres of the contact spheres, in the world's axes, shape (n, 6)."""
    points = problem.form.contacts
    result = np.empty((points.n, 6))
    world_wrenches(at.P, points.touched, points.radii, at.contacts.normal, at.wrench, result)
    return result
