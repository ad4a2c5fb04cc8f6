"""What the settings that the NMDP paper leaves open do to its Table I.

    OMP_NUM_THREADS=1 python benchmarks/left_open.py [--motion NAME ...] [--method NAME ...]

Each row changes one thing of preset "paper" to what the authors' engine does, one row all of them;
the first lets the edges of the cones begin along the motion, which the engine does not. Columns:
the spread of Table I over steps of 5 to 50 ms [m]; first rise of the torso in the first and the
last of these steps [m]; outer iterations and halved steps in the last. Of `ne-mdp`, over 1 to
10 ms, only the controller is left open.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin.control import Command, Controller
from nmdp_pin.control.trajectory import GaitTrajectory
from nmdp_pin.dynamics.objective import Objective
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.experiments.consistency import consistency
from nmdp_pin.experiments.curve import DISTANCE, HEIGHT, Curve, time_grid
from nmdp_pin.experiments.nmdp.paper import (
    JUMP,
    MDP_STEPS,
    NMDP_STEPS,
    TABLE,
    WALK_FAST,
    Motion,
)
from nmdp_pin.experiments.nmdp.preset import PRESETS
from nmdp_pin.gait import Gait
from nmdp_pin.integrators import INTEGRATORS, Integrator, StepResult
from nmdp_pin.integrators.local_solver import MinimumSolver
from nmdp_pin.integrators.ne_mdp import NeMdp
from nmdp_pin.integrators.nmdp import NeNmdp, Nmdp, PbdNmdp
from nmdp_pin.integrators.start import Start
from nmdp_pin.robot import Robot
from nmdp_pin.scenario import Scenario
from nmdp_pin.simulator import Simulator
from nmdp_pin.solvers.pgm import PGMOptions
from nmdp_pin.solvers.projection import Projection, project
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.solvers.solver_result import SolverResult
from nmdp_pin.state import State
from nmdp_pin.status import Status

FIRST_JUMP = 1.9  # [s]
MOTIONS = {row.motion.scenario: row.motion for row in TABLE}
AXES = {DISTANCE: 0, HEIGHT: 1}  # of the planar base
_LEAST_BETA = 1e-4


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the paper leaves open.

    Args:
        target_at_start: joints follow the target of the step's start, not of its end.
        stage_rate: the target's velocity is its change over the time between knots, not a second.
        at_centre: forces act, and displacements count, at the centre of the foot's sphere.
        least_fall: stop where K falls by less [m^2/s^2]; 0: where the configuration rests.
        absolute: the proximal term is beta |dw|^2 / 2 with 1e-4 <= beta, taken over from step
            to step; False: in units of the largest curvature, beginning with 1.
        predicts: the projection begins where the linear response leads, not at the last point.
        halves: a projection that fails ends the step, for Algorithm 2 to halve it.
        along: the cones' first edge is along the motion, not across its plane.
        explicit: joints' torques are those of the step's start.
    """

    target_at_start: bool = False
    stage_rate: bool = False
    at_centre: bool = False
    least_fall: float = 0.0
    absolute: bool = False
    predicts: bool = True
    halves: bool = False
    along: bool = False
    explicit: bool = False


ALONG = "edges along the motion"
EXPLICIT = "explicit PD, of the step's start"
AUTHORS: dict[str, dict[str, Any]] = {
    "target of the step's start": {"target_at_start": True},
    "target's velocity in units of a stage": {"stage_rate": True},
    "feet at the centre of the sphere": {"at_centre": True},
    "stop where K falls by less than 1e-6 m²/s²": {"least_fall": 1e-6},
    "beta absolute, at least 1e-4, taken over": {"absolute": True},
    "projection from the last point": {"predicts": False},
    "a failed projection halves the step": {"halves": True},
}
ALL = {key: value for change in AUTHORS.values() for key, value in change.items()}
ROWS: dict[str, dict[str, Any]] = {
    ALONG: {"along": True},
    "preset paper": {},
    **AUTHORS,
    "all of them": ALL,
}
BASELINE_ROWS = {ALONG: ROWS[ALONG], "preset paper": {}, EXPLICIT: {"explicit": True}}


class Descent(MinimumSolver):
    """Algorithm 1 with the choices open; as `solvers.pgm` has it where none is taken."""

    def __init__(
        self, residual: StepResidual, objective: Objective, qp: SimplexQP, choices: Choices
    ) -> None:
        super().__init__(residual, objective, qp)
        self._choices = choices

    def solve(self, start: Start, gamma: float, options: PGMOptions) -> SolverResult:
        """See the base."""
        return descend(self, start, gamma, options, self._choices)


def descend(
    problem: MinimumSolver, start: Start, gamma: float, options: PGMOptions, choices: Choices
) -> SolverResult:
    """One descent."""
    residual, objective, qp = problem.residual, problem.objective, problem.qp
    w = start.w.ravel()

    def projected(q: np.ndarray, w: np.ndarray) -> Projection:
        return project(
            residual,
            q,
            w.reshape(start.w.shape),
            tolerance=options.tolerance,
            max_iterations=options.max_newton,
            line_search=False,
        )

    point = projected(start.q, w)
    K, iterations, rejected = np.inf, 0, 0

    def result(status: Status) -> SolverResult:
        return SolverResult(point.q, w, gamma, status, point.residual, (K,), iterations, rejected)

    if not point.status.ok:
        return result(point.status)
    K = objective.value()
    while True:
        P = np.linalg.solve(residual.linearise(), residual.vertex_jacobian().T)
        gradient, hessian = objective.derivatives()
        g, H = P.T @ gradient, P.T @ (hessian @ P)
        unit = 1.0 if choices.absolute else H.diagonal().max()
        if unit == 0.0:
            return result(Status.CONVERGED)
        while True:
            if iterations >= options.max_iterations:
                return result(Status.ITERATION_LIMIT)
            if gamma < options.gamma_min:
                return result(Status.STALLED)
            iterations += 1
            w1 = qp.solve(H + unit / gamma * np.eye(len(H)), g, w)
            if w1 is not None:
                dq = P @ (w1 - w)
                if np.abs(dq).max() <= options.epsilon:
                    return result(Status.CONVERGED)
                ahead = residual.retract(point.q, dq) if choices.predicts else point.q
                trial = projected(ahead, w1)
                if choices.halves and not trial.status.ok:
                    return result(trial.status)
                K1 = objective.value() if trial.status.ok else np.inf
                if K1 <= K:
                    break
            gamma *= options.shrink
            rejected += 1
        fall, point, w, K = K - K1, trial, w1, K1
        gamma = min(gamma * options.grow, options.gamma_max)
        if fall < choices.least_fall:
            return result(Status.CONVERGED)


def variant(form: type[Nmdp], choices: Choices) -> type[Nmdp]:
    """A method that solves with these choices."""

    class Variant(form):  # type: ignore[misc, valid-type]
        name = f"{form.name}-left-open"

        @wraps(form.__init__)  # its options are those of the method
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            K, qp = self.solver.objective, self.solver.qp
            self.solver = Descent(self.residual, K, qp, choices)

    return Variant


class AtStart(Controller):
    """Commands a step late: of its start."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def command(self, state: State, h: float) -> Command:
        """See the contract."""
        return self._controller.command(state, 0.0)


class StageRate(Controller):
    """Multiplies the target's velocity by the time between the knots around it.

    The engine takes its slope along the knot, from 0 to 1, for a velocity.
    """

    def __init__(self, controller: Controller, robot: Robot, gait: Gait) -> None:
        self._controller = controller
        self._phase, self._times = GaitTrajectory(robot, gait).phase, gait.times

    def command(self, state: State, h: float) -> Command:
        """See the contract."""
        command = self._controller.command(state, h)
        knot = int(np.searchsorted(self._times, self._phase(state.t + h), side="right"))
        knot = min(max(knot, 1), len(self._times) - 1)
        stage = float(self._times[knot] - self._times[knot - 1])
        return replace(command, v_target=stage * command.v_target)


class Explicit(Controller):
    """Commands the PD's torque at the start of the step, as a feed-forward one."""

    def __init__(self, controller: Controller, model: pin.Model) -> None:
        self._controller, self._model = controller, model

    def command(self, state: State, h: float) -> Command:
        """See the contract."""
        pd = self._controller.command(state, 0.0)
        late = pin.difference(self._model, pd.q_target, state.q)
        return Command(tau=-pd.kp * late - pd.kd * (state.v - pd.v_target))


def centred(robot: Robot) -> tuple[Robot, float]:
    """The robot on points at the centres of its spheres, and how much the ground must rise [m]."""
    points = robot.contact_points
    radius = float(points.radii[0])
    return replace(robot, contact_points=replace(points, radii=np.zeros(len(points)))), radius


def settings_of(motion: Motion, form: type[Integrator], choices: Choices, dt: float) -> list[str]:
    """Those of the scenario."""
    preset = PRESETS["paper"]
    settings = [*preset.overrides(motion, form.name), f"integrator.dt={dt}"]
    if choices.along:
        settings.append("contact.angle=0.0")
    if not issubclass(form, Nmdp):
        return [*settings, f'integrator.name="{form.name}"']
    method = variant(form, choices)
    INTEGRATORS[method.name] = method
    settings += [
        f'integrator.name="{method.name}"',
        f'integrator.objective="{preset.objective}"',
    ]
    if choices.absolute:
        settings += [f"integrator.{key}={1 / _LEAST_BETA}" for key in ("gamma", "gamma_max")]
        settings.append("integrator.carry_gamma=true")
    return settings


def run(
    motion: Motion, form: type[Integrator], choices: Choices, dt: float
) -> tuple[list[StepResult], State]:
    """All steps of a motion, and where it began."""
    settings = settings_of(motion, form, choices, dt)
    scenario = Scenario.load(motion.scenario, overrides=settings)
    setup = scenario.build(visuals=False)
    simulator, controller = setup.simulator, setup.controller
    if choices.at_centre:
        robot, radius = centred(setup.robot)
        height = scenario.terrain.shapes[0].height + radius
        ground = [f"terrain.shapes.0.height={height}"]
        raised = Scenario.load(motion.scenario, overrides=ground).build(visuals=False)
        old = setup.simulator
        simulator = Simulator(
            robot, raised.terrain, old.contact, old.method, halving=old.halving, **old.options
        )
    if choices.stage_rate:
        gait = setup.robot.gaits[scenario.controller.gait]
        controller = StageRate(controller, setup.robot, gait)
    if choices.target_at_start:
        controller = AtStart(controller)
    if choices.explicit:
        controller = Explicit(controller, setup.robot.model)
    results = list(simulator.run(setup.state, controller, dt=dt, duration=motion.duration))
    return results, setup.state


def row(motion: Motion, form: type[Integrator], label: str, choices: Choices) -> str:
    """One row of the table."""
    steps = MDP_STEPS if form is NeMdp else NMDP_STEPS
    axis, curves, rises, work = AXES[motion.quantity], [], [], ""
    for dt in steps:
        results, start = run(motion, form, choices, dt)
        good = [result.state for result in results if result.status.ok]
        t = np.array([0.0, *(state.t for state in good)])
        q = np.array([start.q[:2], *(state.q[:2] for state in good)])
        curves.append(Curve(t, q[:, axis]))
        rises.append(q[t <= FIRST_JUMP, 1].max() - start.q[1])
        work = (
            f"{np.mean([r.iterations for r in results]):.1f} "
            f"| {sum(r.halvings > 0 for r in results)}"
        )
    found = consistency(curves, time_grid(steps[-1], motion.duration))
    cut = f" ({found.cut} failed)" if found.cut else ""
    return f"| {label} | {found.spread:.2f}{cut} | {rises[0]:.2f} | {rises[-1]:.2f} | {work} |"


def main() -> None:
    """Print a table a motion and form."""
    forms: dict[str, type[Integrator]] = {f.name: f for f in (NeNmdp, PbdNmdp, NeMdp)}
    parser = argparse.ArgumentParser(description=__doc__)
    default = [WALK_FAST.scenario, JUMP.scenario]
    parser.add_argument("--motion", nargs="*", default=default, choices=list(MOTIONS))
    parser.add_argument("--method", nargs="*", default=list(forms)[:2], choices=list(forms))
    arguments = parser.parse_args()
    for name in arguments.motion:
        for form in arguments.method:
            print(f"\n{name}, {form}\n\n| | spread | rise, first | last | outer | halved |")
            print("|---|---|---|---|---|---|")
            rows = BASELINE_ROWS if form == NeMdp.name else ROWS
            for label, change in rows.items():
                print(row(MOTIONS[name], forms[form], label, Choices(**change)), flush=True)


if __name__ == "__main__":
    main()
