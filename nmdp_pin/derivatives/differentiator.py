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
from nmdp_pin.error_control import joined
from nmdp_pin.errors import DerivativeError
from nmdp_pin.integrators.integrator import StepResult
from nmdp_pin.integrators.nmdp import Nmdp
from nmdp_pin.integrators.pbd import PositionBasedStep
from nmdp_pin.simulator import Simulator
from nmdp_pin.solvers.simplices import block_scales
from nmdp_pin.state import State
from nmdp_pin.status import Status
from nmdp_pin.step_control import last_length

_NEAR = 10.0  # times what the solver leaves undone, a motion counts as none
_LEAST = 1e-11  # [m, rad] below which it does so in any case
_SAME = 1e-4  # [m, rad] that solving on may move the end; what is farther is another solution


class StepDifferentiator:
    """Differentiates the steps of a simulator; holds scratch memory, so one a thread.

    Args:
        simulator: whose method is one of NMDP, PBD or PBFD.

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
        self.simulator, self._method = simulator, method
        self._model = simulator.robot.model
        self._n = 2 * self._model.nv
        if isinstance(method, Nmdp):
            self._terms = StepTerms(simulator, method)
            self._residual = self._terms.residual
            self._start = StartDerivative(self._residual, second_order=method.order == 2)
            self._n = self._start.n

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
        lengths = result.step_sizes if len(result.step_sizes) > 1 else (h,)
        # error control makes sub-steps in pairs, which in second order leave one memory
        pairs = self.simulator.error_control is not None and self._n > 2 * self._model.nv
        ends, wholes = [state], [self._still(result, names)]
        paper = self.simulator.halving == "paper"
        last = last_length(state, h) if paper else None
        with np.errstate(all="ignore"):
            for k, s in enumerate(lengths):
                begin, end = ends[-1], result.state
                dt = None if last == s else last
                if k + 1 < len(lengths):
                    made = self._method.step(begin, command, s, dt=dt)
                    if not made.status.ok:
                        return self._none(result, made.status, names)
                    end = made.state
                point = self._refined(self._point(begin, end, command, s, dt))
                last = s if paper else None
                part = self._of_one(point, names, smoothing, result)
                wholes.append(wholes[-1].then(part) if k else part)
                if not wholes[-1].status.ok:
                    return wholes[-1]
                if pairs and k % 2:
                    end = joined(begin, end)
                    wholes[-1] = self._with_one_memory(*wholes[-3:])
                ends.append(end)
        return wholes[-1]

    def _point(
        self, begin: State, end: State, command: Command, h: float, dt: float | None
    ) -> Point:
        """A step and its end; in second order, of which order it was."""
        second, w = self._method.order == 2, self._weights(end)
        point = Point(begin, end.q, w, command, h, _LEAST, second, dt)
        if point.second_order and begin.history is not None:
            point.begin(self._residual)
            if not np.array_equal(self._residual.velocity(end.q), end.v):  # made anew, in first
                start = replace(begin, history=replace(begin.history, smooth=False))
                point = point._replace(start=start)
        return point

    def _of_one(
        self, point: Point, names: tuple[str, ...], smoothing: float, result: StepResult
    ) -> StepDerivatives:
        """Derivatives of a step that was not halved."""
        if isinstance(self._method, PositionBasedStep):
            return self._of_penalty_step(self._method, point, names, result)
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
        pushes = [-inverse @ self._start.residual(), inverse @ feed]
        turns: list[np.ndarray] = []
        linear, switches = None, self._touches(point)
        if stationarity is not None and len(P):
            stationarity.hold(P)
            linear = self._linearised(stationarity, P, B, point)
            switches += linear.face.switches
            turns = [stationarity.of_start(self._start), np.zeros((P.shape[1], feed.shape[1]))]
        for name in names:
            force, turned = self._terms.of_parameter(name, point, stationarity)
            pushes.append(-inverse @ force)
            turns.append(turned)
        pushed = np.hstack(pushes)
        if linear is not None:
            dw = self._of_weights(linear, pushed, np.hstack(turns), point, smoothing)
            pushed = pushed + P @ dw
        whole = np.vstack([pushed, self._of_velocity(pushed), self._of_memory(pushed)])
        if not np.isfinite(whole).all():
            return self._none(result, Status.NOT_FINITE, names)
        sizes = np.cumsum([part.shape[1] for part in pushes])
        of_z, of_u, *others = np.split(whole, sizes[:-1], axis=1)
        of_parameters = dict(zip(names, others, strict=True))
        settled = point.known <= _LEAST
        return StepDerivatives(
            result, Status.CONVERGED, of_z, of_u, of_parameters, switches, settled
        )

    def _of_penalty_step(
        self, method: PositionBasedStep, point: Point, names: tuple[str, ...], result: StepResult
    ) -> StepDerivatives:
        """The same of a method whose forces follow from the configuration."""
        parts = method.partials(
            point.start, point.command, point.h, point.q, names=names, dt=point.dt
        )
        nv, driven = self._model.nv, self.simulator.robot.driven
        of_r = [parts.of_start, parts.of_torque[:, driven], *parts.of_parameters.values()]
        try:
            moved = -np.linalg.solve(parts.of_q, np.hstack(of_r))
        except np.linalg.LinAlgError:
            return self._none(result, Status.SINGULAR, names)
        velocity = parts.velocity_of_q @ moved
        velocity[:, : 2 * nv] += parts.velocity_of_start
        whole = np.vstack([moved, velocity])
        if not np.isfinite(whole).all():
            return self._none(result, Status.NOT_FINITE, names)
        sizes = np.cumsum([part.shape[1] for part in of_r])
        of_z, of_u, *others = np.split(whole, sizes[:-1], axis=1)
        near = np.flatnonzero(np.abs(parts.depths) <= point.known)
        switches = tuple(Switch(int(c), "touch") for c in near)
        of_parameters = dict(zip(names, others, strict=True))
        return StepDerivatives(result, Status.CONVERGED, of_z, of_u, of_parameters, switches, True)

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
        """dv1/dp by dq1/dp, whose first columns are those of the start."""
        residual, D = self._residual, self._residual.velocity_derivative()
        result: np.ndarray = moved * residual.rate if D is None else D @ moved
        result[:, : self._start.n] += self._start.velocity()
        return result

    def _of_memory(self, moved: np.ndarray) -> np.ndarray:
        """The same of the memory that the step leaves, shape (nm, k)."""
        of_start, of_end = self._start.memory()
        result: np.ndarray = of_end @ moved
        result[:, : self._start.n] += of_start
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
        n = len(self.simulator.robot.contact_points)
        return np.zeros((n, 0)) if end.warm is None else end.warm.w

    def _refined(self, point: Point) -> Point:
        """The end of the step with all its digits, if they can be had.

        Which contacts slide is a matter of motions far below what a solver need resolve: a foot
        may creep by less than its epsilon, and it has other derivatives than one that holds.
        """
        method = self._method
        if not isinstance(method, Nmdp):
            return point
        found = method.refined(point.start, point.command, point.h, point.q, point.w, dt=point.dt)
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
        still = self._still(result, names)
        nan = {name: np.full_like(D, np.nan) for name, D in still.of_parameters.items()}
        of_state, of_torque = still.of_state * np.nan, still.of_torque * np.nan
        return StepDerivatives(result, status, of_state, of_torque, nan)

    def _still(self, result: StepResult, names: tuple[str, ...]) -> StepDerivatives:
        """Of no step at all."""
        n, nu = self._n, len(self.simulator.robot.driven)
        zero = {name: np.zeros((n, self._columns(name))) for name in names}
        return StepDerivatives(result, Status.CONVERGED, np.eye(n), np.zeros((n, nu)), zero)

    def _with_one_memory(
        self, before: StepDerivatives, first: StepDerivatives, second: StepDerivatives
    ) -> StepDerivatives:
        """Of two halves whose memories become that of one step: see `error_control.joined`."""
        nv, n = self._model.nv, self._n
        rates = (n - 4 * nv) // 2
        start, begun = slice(2 * nv, 4 * nv), slice(4 * nv, 4 * nv + rates)
        return second.with_rows(start, before, slice(2 * nv)).with_rows(begun, first, begun)

    def _columns(self, name: str) -> int:
        sizes = {
            "friction": len(all_shapes(self.simulator.robot, self.simulator.terrain)),
            "stiffness": 1,
            "mass": self._model.njoints - 1,
        }
        return sizes.get(name, self._model.nv)


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
