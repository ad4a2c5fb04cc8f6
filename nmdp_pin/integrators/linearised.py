"""Derivatives of the equations of an NMDP step at the ends of its stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from nmdp_pin.contact import FiniteDifferences, WrenchSpace
from nmdp_pin.control.controller import Command, CommandSource
from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.form import Form
from nmdp_pin.dynamics.linearised_step import LinearisedStage, LinearisedStep, LinearisedWeights
from nmdp_pin.dynamics.parameters import COMMAND, other_commands, other_systems
from nmdp_pin.dynamics.reference import Reference, Slopes
from nmdp_pin.dynamics.stationarity import (
    GradientStationarity,
    StageReference,
    Stationarity,
    WorkStationarity,
)
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.integrators.scheme import Scheme
from nmdp_pin.integrators.stage_solver import StageSolver
from nmdp_pin.state import State
from nmdp_pin.system import System

_KNOWN = 1e-11  # [m, rad] motions below this are rounding in any case
_NEAR = 10.0  # multiple of the solver's residual motion, used where the end is not settled
_SAME = 1e-4  # [m, rad] farthest move of the end by further iterations to the same solution
_SAME_VELOCITY = 1e-12  # relative: rounding of differences

End = tuple[np.ndarray, np.ndarray]  # q and w
Changed = list[tuple[StepProblem, StepProblem, float]]


def stage_ends(form: Form, scheme: Scheme, state: State, h: float, end: State) -> list[End] | None:
    """Ends of the stages of a step, recovered from its own end.

    The last stage ends with the step and gives its velocity; the remaining motion is that of the
    first stage. None where the step may also have been made in first order. The weights are those
    of the end.
    """
    assert end.warm is not None  # noqa: S101
    w = end.warm.w
    if len(scheme.a) == 1:
        return [(end.q, w)]

    mean = form.difference(state.q, end.q) / h
    if np.abs(mean - end.v).max(initial=0.0) <= _SAME_VELOCITY * np.abs(mean).max(initial=1.0):
        return None
    (first,), (before, last) = scheme.a
    reference = form.integrate(end.q, -last * h * end.v)
    v = form.difference(state.q, reference) / (before * h)
    return [(form.integrate(state.q, first * h * v), w), (end.q, w)]


def differentiable(form: Form, system: System[WrenchSpace]) -> Form:
    """The form of a system with the exact derivative of its contact model."""
    if not system.law.differentiable:
        system = replace(system, law=FiniteDifferences(model=system.law))
    return type(form)(system)


class _Parameters(NamedTuple):
    """Stages with perturbed parameters.

    Args:
        names: names of the parameters.
        forms: two forms for each entry of the models' parameters, and the distance between them.
    """

    names: tuple[str, ...]
    forms: dict[str, list[tuple[Form, Form, float]]]

    @classmethod
    def of(cls, form: Form, system: System[WrenchSpace], names: tuple[str, ...]) -> _Parameters:
        """Perturbed stages of a system."""
        forms = {
            name: [
                (differentiable(form, ahead), differentiable(form, behind), apart)
                for ahead, behind, apart in other_systems(system, name)
            ]
            for name in names
            if name not in COMMAND
        }
        return cls(names, forms)

    def changed(
        self, problem: StepProblem, command: Command, signs: np.ndarray
    ) -> Iterator[Changed]:
        """Two stages for each entry of each parameter, and the distance between them.

        Args:
            problem: equations of the stage.
            command: command at its end.
            signs: signs of the saturated motors.
        """

        def commanded(other: Command) -> StepProblem:
            torques = problem.form.torques
            return replace(problem, torque=torques.saturated(torques.law(other), signs))

        for name in self.names:
            if name in COMMAND:
                yield [
                    (commanded(a), commanded(b), apart)
                    for a, b, apart in other_commands(problem.form.model, command, name)
                ]
            else:
                yield [
                    (replace(problem, form=a), replace(problem, form=b), apart)
                    for a, b, apart in self.forms[name]
                ]


def linearised_step(
    form: Form,
    solver: StageSolver,
    scheme: Scheme,
    start: Reference,
    t: float,
    command: CommandSource,
    h: float,
    ends: list[End],
    names: tuple[str, ...],
) -> LinearisedStep:
    """Derivatives of the stages of a step at their ends, which are solved to rounding.

    Args:
        form: form of the dynamics, with the exact derivative of the contact model.
        solver: solver of the stages.
        scheme: time scheme of the step.
        start: reference of the first stage, the start of the step.
        t: time at the start [s].
        command: command at its stages.
        h: length of the step [s].
        ends: ends of the stages.
        names: names of the parameters.
    """
    nv = form.nv
    nz = (1 + len(scheme.a)) * nv
    of_start = form.start_tangent(start, scheme.a[0][0] * h, nz)
    parameters = _Parameters.of(form, form.system, names)
    stages: list[LinearisedStage] = []
    slopes: list[Slopes] = []
    of_slopes: list[Slopes] = []
    sizes: dict[str, int] = {}
    settled = True
    for i, (row, c, guess) in enumerate(zip(scheme.a, scheme.c, ends, strict=True)):
        reference, of_reference = start, of_start
        if slopes:
            terms = [(a * h, slope) for a, slope in zip(row, slopes, strict=False)]
            reference = form.shifted(start, terms)
            of_reference = form.shifted_tangent(start, of_start, terms, of_slopes)
        told, rate = command.at(t + c * h), 1.0 / (row[-1] * h)
        free = form.problem(reference, told, rate, scheme.acceleration * rate)
        v = rate * form.difference(reference.q, guess[0])
        signs = form.torques.saturation(free.torque, guess[0], v)
        stated = partial(_stated, free, told, signs)
        problem = _limited(free, signs)
        at, known = _settled(solver, problem, *guess)
        settled = settled and known <= _KNOWN
        changed = list(parameters.changed(problem, told, signs))
        sizes = dict(zip(names, map(len, changed), strict=True))
        stage = _linearised(
            solver,
            problem,
            at,
            StageReference(form, reference, of_reference, stated),
            [pair for pairs in changed for pair in pairs],
            known,
        )
        stages.append(stage)
        if i + 1 < len(scheme.a):
            of_q = np.eye(nv, nz, k=(2 + i) * nv)
            of_v = stage.v_q @ of_q + stage.v_z
            slopes.append(form.slopes(problem, at))
            of_slopes.append(form.slopes_tangent(problem, at, of_reference, of_q, of_v))
    return LinearisedStep(tuple(stages), {"u": nv, **sizes}, settled)


def _stated(
    like: StepProblem, command: Command, signs: np.ndarray, reference: Reference
) -> StepProblem:
    """A stage like another one, from a given reference and with given motors saturated."""
    problem = like.form.problem(reference, command, like.rate, like.acceleration_rate)
    return _limited(problem, signs)


def _limited(problem: StepProblem, signs: np.ndarray) -> StepProblem:
    """A stage with given motors saturated."""
    return replace(problem, torque=problem.form.torques.saturated(problem.torque, signs))


def _settled(
    solver: StageSolver, problem: StepProblem, q: np.ndarray, w: np.ndarray
) -> tuple[Evaluation, float]:
    """The end of a stage, to rounding where possible, and the smallest motion that it resolves.

    Whether a contact slides depends on motions far below the tolerance of a solver: a foot that
    creeps by less than it has other derivatives than one that holds.
    """
    found = solver.tight(problem, q, w)
    point = found.point
    if np.abs(problem.form.difference(q, point.q)).max(initial=0.0) <= _SAME:
        if found.status.ok:
            return point, _KNOWN
        if solver.solved(problem, point):
            return point, max(_NEAR * point.slip, _KNOWN)
    return problem.evaluate(q, w), max(_NEAR * solver.method.resolution(problem), _KNOWN)


def _linearised(
    solver: StageSolver,
    problem: StepProblem,
    at: Evaluation,
    stage: StageReference,
    changed: Changed,
    known: float,
) -> LinearisedStage:
    """Derivatives of a stage at its end."""
    form, linear = problem.form, problem.linearise(at)
    D = at.D
    v_q = problem.rate * np.eye(form.nv) if D.size == 0 else D
    v_z = problem.velocity_by_reference(at.q) @ stage.of_reference.q
    inertia = problem.inertial_derivative(at, stage.of_reference, v_z)
    G_z = inertia + problem.torque.kd[:, None] * v_z
    stationarity: Stationarity | None = None
    if at.active.size:
        if solver.K is None:
            stationarity = WorkStationarity(problem, at, linear)
        else:
            stationarity = GradientStationarity(problem, at, linear, solver.K)
    following = problem.torque.following
    forces, turns = [-np.eye(form.nv) if following is None else -np.diag(following * 1.0)], []
    for *pair, apart in changed:
        sides = [(other, other.evaluate(at.q, at.w)) for other in pair]
        forces.append(((sides[0][1].G - sides[1][1].G) / apart)[:, None])
        if stationarity is not None:
            r = [stationarity.value(*side) for side in sides]
            turns.append((r[0] - r[1]) / apart)
    weights = None
    if stationarity is not None:
        r_p = np.zeros((len(stationarity.forces), form.nv + len(turns)))
        if turns:
            r_p[:, form.nv :] = np.stack(turns, axis=-1)
        weights = LinearisedWeights(
            at.active,
            at.w[at.active],
            stationarity.forces,
            stationarity.value(problem, at),
            stationarity.of_motion(),
            stationarity.of_weights(),
            stationarity.of_reference(stage, v_z),
            r_p,
            stationarity.curved(),
        )
    gaps = np.concatenate([at.depth, form.bounds.gap(at.q)])
    touching = np.flatnonzero(np.abs(gaps) <= known)
    return LinearisedStage(
        linear.A,
        G_z,
        np.hstack(forces),
        v_q,
        v_z,
        weights,
        tuple(int(c) for c in touching),
        known,
    )
