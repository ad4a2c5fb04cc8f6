"""The equations of a step at a point, and those of steps with other parameters."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from nmdp_pin.contact import FiniteDifferences, WrenchSpace
from nmdp_pin.control.controller import Command
from nmdp_pin.derivatives.parameters import COMMAND, other_commands, other_residuals
from nmdp_pin.derivatives.stationarity import GradientStationarity, Stationarity, WorkStationarity
from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.dynamics.objective import objective_named
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.errors import DerivativeError
from nmdp_pin.integrators.nmdp import Nmdp
from nmdp_pin.robot import Robot
from nmdp_pin.simulator import Simulator
from nmdp_pin.state import State
from nmdp_pin.terrain import Terrain


class Point(NamedTuple):
    """A step and where it ended.

    `known` are the motions that its end can tell from none [m]; of `dt` see `StepResidual.begin`.
    """

    start: State
    q: np.ndarray
    w: np.ndarray
    command: Command
    h: float
    known: float
    second_order: bool = False
    dt: float | None = None

    def begin(self, residual: StepResidual, start: State | None = None) -> None:
        """State the step to a residual, from another start if one is given."""
        start = self.start if start is None else start
        residual.begin(start, self.command, self.h, second_order=self.second_order, dt=self.dt)

    def move(self, residual: StepResidual) -> np.ndarray:
        """State the step to a residual and evaluate it at the end: G."""
        self.begin(residual)
        return residual.evaluate(self.q, self.w)


class StepTerms:
    """The residual of a method with all its derivatives, and what vanishes along free weights.

    Args:
        simulator: whose steps are differentiated.
        method: the simulator's.
    """

    def __init__(self, simulator: Simulator, method: Nmdp) -> None:
        self._simulator, self._method = simulator, method
        self.residual: StepResidual = method.residual
        if method.zeroth_order:
            space = simulator.contact
            assert isinstance(space, WrenchSpace)  # noqa: S101
            if not space.differentiable:
                space = FiniteDifferences(model=space)
            self.residual = method.form(simulator.robot, simulator.terrain, space)

    def stationarity(self, residual: StepResidual, point: Point) -> Stationarity:
        """What vanishes along the free weights."""
        method = self._method
        if method.objective == Dissipation.name:
            return WorkStationarity(residual)
        objective = objective_named(method.objective, residual)
        return GradientStationarity(residual, objective, partial(point.begin, residual))

    def of_parameter(
        self, name: str, point: Point, stationarity: Stationarity | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """dG/dp and dr/dp, q and w held, by differences that are exact where p enters linearly."""
        residual = self.residual
        forces, turns = [], []
        if name in COMMAND:
            for ahead, behind, apart in other_commands(
                self._simulator.robot.model, point.command, name
            ):
                sides = [self._values(residual, point, c, stationarity) for c in (ahead, behind)]
                forces.append((sides[0][0] - sides[1][0]) / apart)
                turns.append((sides[0][1] - sides[1][1]) / apart)
        else:
            held = stationarity
            for *pair, apart in self._other_residuals(name):
                sides = []
                for other in pair:
                    if stationarity is not None:
                        held = self.stationarity(other, point)
                        self._hold_there(held, stationarity)
                    sides.append(self._values(other, point, point.command, held))
                forces.append((sides[0][0] - sides[1][0]) / apart)
                turns.append((sides[0][1] - sides[1][1]) / apart)
        point.move(residual)
        residual.linearise()
        return np.stack(forces, axis=-1), np.stack(turns, axis=-1)

    def _values(
        self,
        residual: StepResidual,
        point: Point,
        command: Command,
        stationarity: Stationarity | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """G and r of a residual at the point."""
        G = point._replace(command=command).move(residual)
        residual.linearise()
        r = np.zeros(0) if stationarity is None else stationarity.value()
        return G, r

    @staticmethod
    def _hold_there(other: Stationarity | None, here: Stationarity) -> None:
        """Give another residual's stationarity the adjoint that is held."""
        if isinstance(other, GradientStationarity) and isinstance(here, GradientStationarity):
            other.hold_as(here)

    def _other_residuals(self, name: str) -> list[tuple[StepResidual, StepResidual, float]]:
        """Residuals around this one, for each entry of a parameter of the models."""
        robot, terrain, method = self._simulator.robot, self._simulator.terrain, self._method
        space = self._simulator.contact
        assert isinstance(space, WrenchSpace)  # noqa: S101
        stiffness = getattr(space, "stiffness", None)
        if not isinstance(stiffness, float | int):
            if name == "stiffness":
                raise DerivativeError(
                    f"the contact model {type(space).__name__} has no single stiffness"
                )
            stiffness = 0.0

        def make(robot: Robot, terrain: Terrain, stiffness: float) -> StepResidual:
            changed: WrenchSpace = space
            if name == "stiffness":
                changed = replace(space, stiffness=stiffness)  # type: ignore[type-var]
            if not changed.differentiable:
                changed = FiniteDifferences(model=changed)
            return method.form(robot, terrain, changed)

        return other_residuals(name, robot, terrain, float(stiffness), make)
