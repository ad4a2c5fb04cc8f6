"""Derivatives of a step by the implicit function theorem at its optimum."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nmdp_pin.control.controller import Command
from nmdp_pin.derivatives.active_set import Switch, active_set
from nmdp_pin.derivatives.parameters import all_shapes, checked
from nmdp_pin.derivatives.response import LinearisedStep
from nmdp_pin.derivatives.stationarity import Stationarity
from nmdp_pin.derivatives.step_derivatives import StepDerivatives
from nmdp_pin.derivatives.step_terms import Point, StepTerms
from nmdp_pin.dynamics.start_derivative import StartDerivative
from nmdp_pin.errors import DerivativeError
from nmdp_pin.integrators.integrator import StepResult
from nmdp_pin.integrators.nmdp import Nmdp
from nmdp_pin.integrators.pbd import PositionBasedStep
from nmdp_pin.simulator import Simulator
from nmdp_pin.solvers.simplices import block_scales
from nmdp_pin.state import State
from nmdp_pin.status import Status

_NEAR = 10.0  # times what the solver leaves undone, a motion counts as none
_LEAST = 1e-11  # [m, rad] below which it does so in any case
_SAME = 1e-4  # [m, rad] that solving on may move the end; what is farther is another solution


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
        self._terms = StepTerms(simulator, method)
        self._residual = self._terms.residual
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
                point = self._refined(Point(begin, end.q, self._weights(end), command, s, _LEAST))
                part = self._of_one(point, names, smoothing, result)
                whole = part if whole is None else _chained(whole, part)
        assert whole is not None  # noqa: S101
        return whole

    def _of_one(
        self, point: Point, names: tuple[str, ...], smoothing: float, result: StepResult
    ) -> StepDerivatives:
        """Derivatives of a step that was not halved."""
        residual = self._residual
        point.move(residual)
        A, B = residual.linearise(), residual.vertex_jacobian()
        stationarity = (
            self._terms.stationarity(residual, point) if residual.contact.active else None
        )
        try:
            inverse = np.linalg.inv(A)
        except np.linalg.LinAlgError:
            return self._none(result, Status.SINGULAR, names)
        P = inverse @ B.T
        feed = residual.torque.feed_forward()[:, self.simulator.robot.driven]
        pushes = [*(-inverse @ part for part in self._start.residual()), inverse @ feed]
        turns: list[np.ndarray] = []
        linear, switches = None, self._touches(point)
        if stationarity is not None and len(P):
            stationarity.hold(P)
            linear = self._linearised(stationarity, P, B, point)
            switches += linear.face.switches
            turns = [*stationarity.of_start(self._start), np.zeros((P.shape[1], feed.shape[1]))]
        for name in names:
            force, turned = self._terms.of_parameter(name, point, stationarity)
            pushes.append(-inverse @ force)
            turns.append(turned)
        pushed = np.hstack(pushes)
        if linear is not None:
            dw = self._of_weights(linear, pushed, np.hstack(turns), point, smoothing)
            pushed = pushed + P @ dw
        whole = np.vstack([pushed, self._of_velocity(pushed)])
        if not np.isfinite(whole).all():
            return self._none(result, Status.NOT_FINITE, names)
        sizes = [2 * residual.nv, *(part.shape[1] for part in pushes[2:])]
        of_x, of_u, *others = np.split(whole, np.cumsum(sizes)[:-1], axis=1)
        return StepDerivatives(
            result, Status.CONVERGED, of_x, of_u, dict(zip(names, others, strict=True)), switches
        )

    def _of_weights(
        self,
        linear: LinearisedStep,
        pushed: np.ndarray,
        turned: np.ndarray,
        point: Point,
        smoothing: float,
    ) -> np.ndarray:
        """dw/dp, exact or smoothed."""
        if smoothing == 0.0:
            return linear.of_weights(pushed, turned)
        touching = self._residual.contact.touching
        return linear.of_smoothed_weights(pushed, turned, point.w, touching, smoothing)

    def _of_velocity(self, moved: np.ndarray) -> np.ndarray:
        """dv1/dp by dq1/dp, whose first columns are those of q0."""
        residual, D = self._residual, self._residual.velocity_derivative()
        result: np.ndarray = moved * residual.rate if D is None else D @ moved
        result[:, : residual.nv] += self._start.velocity()
        return result

    def _linearised(
        self, stationarity: Stationarity, P: np.ndarray, B: np.ndarray, point: Point
    ) -> LinearisedStep:
        """The conditions on the weights at the optimum, and the face they hold on."""
        contact = self._residual.contact
        curvature = np.abs(stationarity.curvature())
        scale = block_scales(curvature, contact.m)
        scale = np.where(scale > 0.0, scale, 1.0)
        moves = np.abs(P).max(axis=0, initial=0.0) / scale
        touching = contact.touching
        face = active_set(point.w, stationarity.value(), B, moves, touching, point.known)
        r_w = np.zeros((len(scale), len(scale)))
        free = np.flatnonzero(face.free)
        r_w[:, free] = stationarity.of_weights(free)
        return LinearisedStep(P, stationarity.of_motion(), r_w, scale, face)

    def _weights(self, end: State) -> np.ndarray:
        contact = self._residual.contact
        return np.zeros((contact.n, 0)) if end.warm is None else end.warm.w

    def _refined(self, point: Point) -> Point:
        """The end of the step with all its digits, if they can be had.

        Which contacts slide is a matter of motions far below what a solver need resolve: a foot
        may creep by less than its epsilon, and it has other derivatives than one that holds.
        """
        method = self._method
        if not isinstance(method, Nmdp):
            return point
        found = method.refined(point.start, point.command, point.h, point.q, point.w)
        moved = method.residual.difference(point.q, found.q)
        if found.status.ok and np.abs(moved).max(initial=0.0) <= _SAME:
            return point._replace(q=found.q, w=found.w.reshape(point.w.shape))
        return point._replace(known=max(_NEAR * method.epsilon(point.h), _LEAST))

    def _touches(self, point: Point) -> tuple[Switch, ...]:
        """Contacts that are at the surface: apart on one side, pressed on the other."""
        contact = self._residual.contact
        if not contact.n:
            return ()
        near = np.abs(contact.contacts.depth) <= point.known
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
            "friction": len(all_shapes(self.simulator.robot, self.simulator.terrain)),
            "stiffness": 1,
            "mass": self._model.njoints - 1,
        }
        return sizes.get(name, self._model.nv)


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
