"""Derivatives of a step by the implicit function theorem at its optimum."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin.contact import FiniteDifferences, WrenchSpace
from nmdp_pin.control.controller import Command
from nmdp_pin.derivatives.active_set import Switch, active_set
from nmdp_pin.derivatives.parameters import COMMAND, checked, other_commands, other_residuals
from nmdp_pin.derivatives.response import LinearisedStep
from nmdp_pin.derivatives.stationarity import GradientStationarity, Stationarity, WorkStationarity
from nmdp_pin.derivatives.step_derivatives import StepDerivatives
from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.dynamics.objective import objective_named
from nmdp_pin.dynamics.start_derivative import StartDerivative
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.errors import DerivativeError
from nmdp_pin.integrators.integrator import StepResult
from nmdp_pin.integrators.nmdp import Nmdp
from nmdp_pin.integrators.pbd import PositionBasedStep
from nmdp_pin.robot import Robot
from nmdp_pin.simulator import Simulator
from nmdp_pin.solvers.simplices import block_scales
from nmdp_pin.state import State
from nmdp_pin.status import Status
from nmdp_pin.terrain import Terrain

_NEAR = 10.0  # times what the solver leaves undone, a motion counts as none
_LEAST = 1e-11  # [m, rad] below which it does so in any case


class StepDifferentiator:
    """Differentiates the steps of a simulator; holds scratch memory, so one a thread.

    Args:
        simulator: whose method is one of NMDP, PBD or PBFD in first order.

    Raises:
        DerivativeError: the method has no derivatives.
    """

    def __init__(self, simulator: Simulator) -> None:
        method = simulator.integrator
        if not isinstance(method, Nmdp | PositionBasedStep):
            raise DerivativeError(
                f"there are no derivatives of '{simulator.method}'; use ne-nmdp, pbd-nmdp, "
                "ne-zonmdp, pbd-zonmdp, pbd or pbfd"
            )
        if method.order != 1:
            raise DerivativeError(
                "a step of order 2 depends on the step before, so [q; v] is not its whole state; "
                "use order = 1"
            )
        if simulator.halving != "consistent":
            raise DerivativeError(
                'a step with halving = "paper" depends on the length of the step before, so '
                '[q; v] is not its whole state; use halving = "consistent"'
            )
        self.simulator, self._method = simulator, method
        self._model = simulator.robot.model
        self._space = simulator.contact
        if isinstance(method, PositionBasedStep):
            self._residual = method.residual
        else:
            if not self._space.differentiable:
                self._space = FiniteDifferences(model=self._space)
            if method.zeroth_order:
                self._residual = self._nmdp_residual(
                    simulator.robot, simulator.terrain, self._space
                )
            else:
                self._residual = method.residual
        self._start = StartDerivative(self._residual)

    def __call__(
        self,
        state: State,
        command: Command | np.ndarray | None,
        h: float,
        *,
        result: StepResult | None = None,
        with_respect_to: tuple[str, ...] = (),
        smoothing: float = 0.0,
    ) -> StepDerivatives:
        """Derivatives of a step.

        Args:
            state: start of the step.
            command: for its end, as `Simulator.step` takes it.
            h: length of the step [s].
            result: of that very step, if it is at hand; None: it is made.
            with_respect_to: further parameters, of `PARAMETERS`.
            smoothing: 0 is exact; above it derivatives average over switches of contacts, as if
                weights were known up to this share of one.

        Raises:
            StateError, ControlError: as of `Simulator.step`.
            DerivativeError: a parameter that is not known, or that this method has not.
        """
        names = checked(tuple(with_respect_to))
        if not 0.0 <= smoothing < math.inf:
            raise DerivativeError(f"smoothing must be a finite number >= 0, got {smoothing!r}")
        if result is None:
            result = self.simulator.step(state, command, h)
        command = self.simulator.checked_command(command)
        if not result.status.ok:
            return self._none(result, result.status, names)
        parts = [state]
        lengths = result.step_sizes if len(result.step_sizes) > 1 else (h,)
        with np.errstate(all="ignore"):
            for s in lengths[:-1]:
                made = self._method.step(parts[-1], command, s)
                if not made.status.ok:
                    return self._none(result, made.status, names)
                parts.append(made.state)
            parts.append(result.state)
            whole: StepDerivatives | None = None
            for begin, end, s in zip(parts[:-1], parts[1:], lengths, strict=True):
                part = self._of_one(begin, end, command, s, names, smoothing, result)
                whole = part if whole is None else _chained(whole, part)
        assert whole is not None  # noqa: S101
        return whole

    def _of_one(
        self,
        start: State,
        end: State,
        command: Command,
        h: float,
        names: tuple[str, ...],
        smoothing: float,
        result: StepResult,
    ) -> StepDerivatives:
        """Derivatives of a step that was not halved."""
        residual = self._residual
        point = _Point(start, end.q, self._weights(end), command, h)
        point.move(residual)
        A, B = residual.linearise(), residual.vertex_jacobian()
        stationarity = self._stationarity(residual, point) if residual.contact.active else None
        try:
            inverse = np.linalg.inv(A)
        except np.linalg.LinAlgError:
            return self._none(result, Status.SINGULAR, names)
        P = inverse @ B.T
        G_q0, G_v0 = self._start.residual()
        D, D0 = residual.velocity_derivative(), self._start.velocity()
        feed = residual.torque.feed_forward()[:, self.simulator.robot.driven]
        pushes, turns = [-inverse @ G_q0, -inverse @ G_v0, inverse @ feed], []
        linear, switches = None, self._touches(h)
        if stationarity is not None and len(P):
            stationarity.hold(P)
            linear = self._linearised(stationarity, P, B, point, h)
            switches += linear.face.switches
            turns = [*stationarity.of_start(self._start), np.zeros((P.shape[1], feed.shape[1]))]
        for name in names:
            force, turned = self._of_parameter(name, point, stationarity)
            pushes.append(-inverse @ force)
            turns.append(turned)
        pushed = np.hstack(pushes)
        if linear is not None:
            turned = np.hstack(turns)
            if smoothing > 0.0:
                dw = linear.of_smoothed_weights(
                    pushed, turned, point.w, residual.contact.touching, smoothing
                )
            else:
                dw = linear.of_weights(pushed, turned)
            pushed = pushed + P @ dw
        moved = pushed * residual.rate if D is None else D @ pushed
        moved[:, : residual.nv] += D0
        whole = np.vstack([pushed, moved])
        ok = bool(np.isfinite(whole).all())
        if not ok:
            return self._none(result, Status.NOT_FINITE, names)
        ends = np.cumsum([2 * residual.nv, feed.shape[1]] + [p.shape[1] for p in pushes[3:]])
        of_x, of_u, *others = np.split(whole, ends[:-1], axis=1)
        return StepDerivatives(
            result, Status.CONVERGED, of_x, of_u, dict(zip(names, others, strict=True)), switches
        )

    def _linearised(
        self, stationarity: Stationarity, P: np.ndarray, B: np.ndarray, point: _Point, h: float
    ) -> LinearisedStep:
        """The conditions on the weights at the optimum, and the face they hold on."""
        contact = self._residual.contact
        curvature = np.abs(stationarity.curvature())
        scale = block_scales(curvature, contact.m)
        scale = np.where(scale > 0.0, scale, 1.0)
        moves = np.abs(P).max(axis=0, initial=0.0) / scale
        touching = contact.touching
        face = active_set(point.w, stationarity.value(), B, moves, touching, self._tolerance(h))
        r_w = np.zeros((len(scale), len(scale)))
        free = np.flatnonzero(face.free)
        r_w[:, free] = stationarity.of_weights(free)
        return LinearisedStep(P, stationarity.of_motion(), r_w, scale, face)

    def _stationarity(self, residual: StepResidual, point: _Point) -> Stationarity | None:
        """What vanishes along the free weights; None where there are no weights."""
        method = self._method
        if isinstance(method, PositionBasedStep):
            return None
        if method.objective == Dissipation.name:
            return WorkStationarity(residual, self._space)
        objective = objective_named(method.objective, residual)
        return GradientStationarity(residual, objective, point.start, point.command, point.h)

    def _of_parameter(
        self, name: str, point: _Point, stationarity: Stationarity | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """dG/dp and dr/dp, q and w held, by differences that are exact where p enters linearly."""
        residual = self._residual
        forces, turns = [], []
        if name in COMMAND:
            for ahead, behind, apart in other_commands(self._model, point.command, name):
                sides = [self._values(residual, point, c, stationarity) for c in (ahead, behind)]
                forces.append((sides[0][0] - sides[1][0]) / apart)
                turns.append((sides[0][1] - sides[1][1]) / apart)
        else:
            held = stationarity
            for *pair, apart in self._other_residuals(name):
                sides = []
                for other in pair:
                    if stationarity is not None:
                        held = self._stationarity(other, point)
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
        point: _Point,
        command: Command,
        stationarity: Stationarity | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """G and r of a residual at the point."""
        G = replace_command(point, command).move(residual)
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
        robot, terrain, method = self.simulator.robot, self.simulator.terrain, self._method
        make: Callable[[Robot, Terrain, float], StepResidual]
        if isinstance(method, PositionBasedStep):
            law = method.law

            def make(robot: Robot, terrain: Terrain, stiffness: float) -> StepResidual:
                changed = replace(law, normal_stiffness=stiffness)
                return method.residual_with(robot, terrain, changed)

            return other_residuals(name, robot, terrain, law.normal_stiffness, make)
        space = self.simulator.contact
        stiffness = getattr(space, "stiffness", None)
        if not isinstance(stiffness, float | int):
            if name == "stiffness":
                raise DerivativeError(
                    f"the contact model {type(space).__name__} has no single stiffness"
                )
            stiffness = 0.0

        def make(robot: Robot, terrain: Terrain, stiffness: float) -> StepResidual:
            changed = space
            if name == "stiffness":
                changed = replace(space, stiffness=stiffness)  # type: ignore[type-var]
            if not changed.differentiable:
                changed = FiniteDifferences(model=changed)
            return self._nmdp_residual(robot, terrain, changed)

        return other_residuals(name, robot, terrain, float(stiffness), make)

    def _nmdp_residual(self, robot: Robot, terrain: Terrain, space: WrenchSpace) -> StepResidual:
        assert isinstance(self._method, Nmdp)  # noqa: S101
        return self._method.form(robot, terrain, space)

    def _weights(self, end: State) -> np.ndarray:
        contact = self._residual.contact
        return np.zeros((contact.n, 0)) if end.warm is None else end.warm.w

    def _tolerance(self, h: float) -> float:
        epsilon = self._method.epsilon(h) if isinstance(self._method, Nmdp) else 0.0
        return max(_NEAR * epsilon, _LEAST)

    def _touches(self, h: float) -> tuple[Switch, ...]:
        """Contacts that are at the surface: apart on one side, pressed on the other."""
        contact = self._residual.contact
        if not contact.n:
            return ()
        near = np.abs(contact.contacts.depth) <= self._tolerance(h)
        return tuple(Switch(int(c), "touch") for c in np.flatnonzero(near))

    def _none(self, result: StepResult, status: Status, names: tuple[str, ...]) -> StepDerivatives:
        """No derivatives: all of them NaN."""
        nx, nu = 2 * self._model.nv, len(self.simulator.robot.driven)
        nan = {name: np.full((nx, self._columns(name)), np.nan) for name in names}
        return StepDerivatives(
            result, status, np.full((nx, nx), np.nan), np.full((nx, nu), np.nan), nan
        )

    def _columns(self, name: str) -> int:
        sizes = {
            "friction": len(self.simulator.terrain.shapes),
            "stiffness": 1,
            "mass": self._model.njoints - 1,
        }
        return sizes.get(name, self._model.nv)


class _Point(NamedTuple):
    """A step and where it ended."""

    start: State
    q: np.ndarray
    w: np.ndarray
    command: Command
    h: float

    def move(self, residual: StepResidual) -> np.ndarray:
        """State the step to a residual and evaluate it at the end: G."""
        residual.begin(self.start, self.command, self.h)
        return residual.evaluate(self.q, self.w)


def replace_command(point: _Point, command: Command) -> _Point:
    """The same step with another command."""
    return point._replace(command=command)


def _chained(first: StepDerivatives, second: StepDerivatives) -> StepDerivatives:
    """Of two parts of a step, one after the other."""
    if not (first.status.ok and second.status.ok):
        return first if not first.status.ok else second
    A = second.dx_dx
    parameters = {name: A @ D + second.parameters[name] for name, D in first.parameters.items()}
    return replace(
        second,
        dx_dx=A @ first.dx_dx,
        dx_du=A @ first.dx_du + second.dx_du,
        parameters=parameters,
        one_sided=first.one_sided + second.one_sided,
    )


def step_derivatives(
    simulator: Simulator,
    state: State,
    command: Command | np.ndarray | None,
    h: float,
    *,
    result: StepResult | None = None,
    with_respect_to: tuple[str, ...] = (),
    smoothing: float = 0.0,
) -> StepDerivatives:
    """Derivatives of one step; for many of them make a `StepDifferentiator`, whose call this is."""
    return StepDifferentiator(simulator)(
        state,
        command,
        h,
        result=result,
        with_respect_to=with_respect_to,
        smoothing=smoothing,
    )
