"""Solvers of stages in Python, in place of Newton's method."""

import abc
from collections.abc import Callable

import numpy as np

from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._kernels.derivative.stage_rates import StageRates
from nmdp_pin._kernels.step.stage_records import StageIterate
from nmdp_pin._kernels.step.step_records import Scheme, Start
from nmdp_pin._registry import Registry


class StageMinimiser(abc.ABC):
    """Solver that minimises an objective over the ends of a stage.

    Attributes:
        gamma: parameter of the solver that a step carries to the next.
        value: objective at the end of the last stage.
    """

    gamma: float
    value: float

    @abc.abstractmethod
    def begin(self, gamma: float | None) -> None:
        """Begin a step, with the parameter of the one before."""

    @abc.abstractmethod
    def minimise(
        self, point: int, rate: float, order: int, budget: int, counts: np.ndarray
    ) -> None:
        """Solve the stage of the memory from one of its points; its end is written there.

        Args:
            point: index of the point.
            rate: rate of the velocity [1/s].
            order: order of the step.
            budget: work after which to give up, in evaluations.
            counts: counters of the step; the outcome is written.
        """

    @abc.abstractmethod
    def resolution(self, rate: float) -> float:
        """Motions of a stage that the solver can tell from none [m, rad]."""

    @abc.abstractmethod
    def stationarity(
        self, scheme: Scheme, start: Start, i: int, first: int, at: StageIterate, rates: StageRates
    ) -> "Stationarity":
        """The conditions on the weights at the end of a stage."""


class Stationarity(abc.ABC):
    """Conditions r = 0 along free weights, r being the gradient of an objective by the weights."""

    @abc.abstractmethod
    def write_rates(self) -> None:
        """Write r and its derivatives into those of the stage."""

    @abc.abstractmethod
    def by_command(self, name: str) -> np.ndarray:
        """Derivative of r by a parameter of the command, shape (nw, nv)."""

    @abc.abstractmethod
    def of_form(self, form: CompiledSystem) -> np.ndarray:
        """R of a form with another parameter of the model, shape (nw,)."""


MINIMISERS: Registry[Callable[..., StageMinimiser]] = Registry("nmdp_pin.objectives")
"""Solvers by the names of their objectives, other than "dissipation"."""

OPTIONS: Registry[type] = Registry("nmdp_pin.options")
"""Records of the minimisers' options, by the keyword under which the methods take them."""
