"""Solvers that are led to another root, which gains energy: it is refused, and starts are tried."""

import functools

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._control import Command
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._integrators.stage_minimiser import MINIMISERS, StageMinimiser
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._kernels.step.outcomes import OUTCOME
from nmdp_pin._kernels.step.stage import evaluate
from nmdp_pin._kernels.step.tolerances import Tolerances
from nmdp_pin._kernels.step.vi_newton import solve_stage
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Plane, Terrain

FORMS = ("ne-nmdp", "pbd-nmdp")
INF = np.inf
TIGHT = Tolerances(1e-11, 0.0, INF, INF, INF, 25, False)  # of the residual
PASSIVE = Command()
AIR = Terrain([Plane(height=-99.0)])


class Misled(StageMinimiser):
    """Newton's method, of which the first `wrong` solves end far away; it counts its starts."""

    gamma, value = 1.0, 0.0
    stationarity = None  # of no use: nothing is differentiated

    def __init__(self, form, memory, *, wrong, tight, options):
        self.form, self.memory, self.wrong, self.starts = form, memory, wrong, 0
        self.trial, self.linear = form.new_point(), form.new_linear()

    def begin(self, gamma):
        """Nothing is carried from step to step."""

    def resolution(self, rate):
        """Solutions are exact."""
        return 0.0

    def minimise(self, point, rate, order, budget, counts):
        """Solve the stage, and go on to another point."""
        at, form, stage = self.memory.points[point], self.form, self.memory.stage
        counts[OUTCOME], swapped = solve_stage(
            form.record, stage, TIGHT, budget, at, self.trial, self.linear, counts
        )
        q = self.trial.q if swapped else at.q
        self.starts += 1
        if self.starts <= self.wrong:
            q = pin.integrate(form.model, q, np.full(form.model.nv, 2.0))
        at.q[:] = q
        evaluate(form.record, stage, at, True)


def misled(monkeypatch, method: str, wrong: int, **options):
    """An integrator whose first `wrong` solves end far away, and its solver."""
    monkeypatch.setitem(MINIMISERS, "misled", functools.partial(Misled, wrong=wrong))
    robot = samples.robot("robosimian planar")
    integrator = INTEGRATORS[method](
        System(robot, AIR, samples.CONE), objective="misled", **options
    )
    return integrator, integrator._minimiser


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("method", FORMS)
def test_a_far_root_is_refused_and_another_start_tried(method, order, monkeypatch):
    """The step ends where it does when the first start leads there, with the work of both."""
    start = samples.random_start(samples.robot("robosimian planar"), 3)
    expected = misled(monkeypatch, method, 0, order=order)[0].step(start, PASSIVE, 0.02)
    integrator, solver = misled(monkeypatch, method, 1, order=order)
    result = integrator.step(start, PASSIVE, 0.02)
    assert result.status.ok
    assert result.order == order
    assert solver.starts == 1 + order
    np.testing.assert_allclose(result.state.q, expected.state.q, atol=1e-9)
    assert result.evaluations > expected.evaluations


def test_a_step_that_only_gains_fails_by_name(monkeypatch):
    """Where every start leads far away the state is kept and the status says why."""
    start = samples.random_start(samples.robot("robosimian planar"), 3)
    integrator, solver = misled(monkeypatch, "ne-nmdp", 1000, order=1)
    result = integrator.step(start, PASSIVE, 0.02)
    assert result.status is Status.ENERGY_GAINED
    assert result.state is start
    assert "energy" in result.status.value
    assert solver.starts == 2  # solvers other than Newton's method have one more start
    alone, solver = misled(monkeypatch, "ne-nmdp", 1000, restarts=False, order=1)
    assert alone.step(start, PASSIVE, 0.02).status is Status.ENERGY_GAINED
    assert solver.starts == 1


def test_the_step_is_halved_where_no_start_helps(monkeypatch):
    """Algorithm 2 takes it from there: the halves lead to the end of two steps."""
    robot, tight = samples.robot("robosimian planar"), ViNewton(tolerance=1e-10)
    start = samples.random_start(robot, 3)
    simulator = Simulator(robot, AIR, samples.CONE, order=1, vi_newton=tight)
    half = simulator.step(start, None, 0.01).state
    expected = simulator.step(half, None, 0.01).state
    simulator._integrator, solver = misled(monkeypatch, "ne-nmdp", 1, restarts=False, order=1)
    result = simulator.step(start, None, 0.02)
    assert result.status.ok
    assert result.step_sizes == (0.01, 0.01)
    assert solver.starts == 3
    np.testing.assert_allclose(result.state.q, expected.q, atol=1e-9)
