"""The propagator: OMPL plans with it, and the plan is what the simulator does."""

import numpy as np
import pytest

pytest.importorskip("ompl")

from adapter_scenes import near, simulator, standing
from ompl import base, control, util
from tight_solves import TIGHT

from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._simulator.step_control import Halving
from nmdp_pin.adapters.ompl import Propagator, simple_setup
from nmdp_pin.errors import ControlError, StateError

H = 0.04  # [s]
ROUNDING = 1e-9  # to the tangent and back
REPLAYED = 1e-6  # states of a plan are kept as tangents, and steps solved to a tolerance


def push(state, u, h):
    """A horizontal force on a planar body."""
    return np.array([u[0], 0.0, 0.0])


def test_rrt_pushes_a_box():
    """RRT brings a box half a metre further through friction; the replay of its plan agrees."""
    util.setLogLevel(util.LogLevel.LOG_WARN)
    util.RNG.setSeed(1)
    sim = simulator("box", base="planar", vi_newton=TIGHT)
    x0 = standing(sim)
    propagator = Propagator(sim, h=H, reference=x0, command=push, controls=1)
    bounds = [(-0.2, 0.8), (-0.05, 0.05), (-0.3, 0.3), (-2.0, 2.0), (-1.0, 1.0), (-3.0, 3.0)]
    setup = simple_setup(propagator, bounds=bounds, control_bounds=[(-15.0, 15.0)], steps=(1, 5))
    start, goal = (setup.getStateSpace().allocState() for _ in range(2))
    target = x0.copy()
    target[0] += 0.5
    propagator.write(start, x0)
    propagator.write(goal, target)
    setup.setStartAndGoalStates(start, goal, 0.15)
    setup.setPlanner(control.RRT(setup.getSpaceInformation()))
    assert setup.solve(20.0) == base.PlannerStatus.EXACT_SOLUTION
    path = setup.getSolutionPath()
    state = sim.vector.unpack(propagator.x_of(path.getState(0)))
    for k in range(path.getControlCount()):
        for _ in range(round(path.getControlDuration(k) / H)):
            state = sim.step(state, push(state, path.getControl(k), H), H).state
    end = propagator.x_of(path.getState(path.getStateCount() - 1))
    np.testing.assert_allclose(sim.vector.pack(state), end, atol=REPLAYED)
    assert np.linalg.norm(sim.vector.difference(end, target)) < 0.15 + ROUNDING


@pytest.mark.parametrize("robot", ["hopper", "walker"])
def test_states_are_tangents(robot):
    """Writing and reading gives [q; v] back, with a quaternion too; long durations are steps."""
    sim = simulator(robot)
    propagator = Propagator(sim, h=0.02, reference=standing(sim))
    x = near(sim, 0)
    start, end = np.empty(propagator.size), np.empty(propagator.size)
    propagator.write(start, x)
    np.testing.assert_allclose(propagator.x_of(start), x, atol=ROUNDING)
    u = np.random.default_rng(2).uniform(-5.0, 5.0, propagator.controls)
    propagator(start, u, 0.04, end)
    state = sim.vector.unpack(propagator.x_of(start))
    for _ in range(2):
        state = sim.step(state, u, 0.02).state
    np.testing.assert_allclose(propagator.x_of(end), sim.vector.pack(state), atol=ROUNDING)
    assert propagator.is_valid(end)


def test_durations_that_are_no_multiple_of_the_step():
    """0.05 s are three equal steps of at most 0.02 s: a fall gains g t."""
    sim = simulator("hopper")
    x0 = standing(sim)
    x0[1] += 1.0
    propagator = Propagator(sim, h=0.02, reference=x0)
    end = np.empty(propagator.size)
    propagator(np.zeros(propagator.size), np.zeros(propagator.controls), 0.05, end)
    assert propagator.x_of(end)[sim.vector.nq + 1] == pytest.approx(-9.81 * 0.05, rel=1e-4)
    assert propagator.x_of(end)[1] - x0[1] == pytest.approx(-9.81 * 0.05**2 / 2.0, rel=1e-4)


def test_what_fails_is_invalid():
    """A start that is no state, a negative duration and a failed step leave NaN, no exception."""
    sim = simulator("hopper", vi_newton=ViNewton(max_iterations=1), control=Halving(min_step=0.02))
    propagator = Propagator(sim, h=0.02, reference=standing(sim))
    zero, u = np.zeros(propagator.size), np.zeros(3)
    for start, given, duration in (
        (np.full(propagator.size, np.nan), u, 0.02),
        (zero, u, -0.02),
        (zero, np.full(3, 80.0), 0.02),
    ):
        end = np.zeros(propagator.size)
        propagator(start, given, duration, end)
        assert np.isnan(end).all()
        assert not propagator.is_valid(end)


def test_mistakes_are_named():
    """Bounds and steps that do not fit raise typed errors."""
    sim = simulator("box", base="planar")
    with pytest.raises(StateError, match="the step must be in"):
        Propagator(sim, h=0.0)
    with pytest.raises(ControlError, match="go together"):
        Propagator(sim, h=H, command=push)
    propagator = Propagator(sim, h=H, command=push, controls=1)
    with pytest.raises(StateError, match="expected 6 rows"):
        simple_setup(propagator, bounds=[(0, 1)], control_bounds=[(-1, 1)])
    with pytest.raises(ControlError, match="expected 1 rows"):
        simple_setup(propagator, bounds=[(-1, 1)] * 6, control_bounds=[(-1, 1)] * 2)
    with pytest.raises(ControlError, match="finite"):
        simple_setup(propagator, bounds=[(-1, 1)] * 6, control_bounds=[(1, -1)])


def test_a_wrong_command_is_named_before_planning():
    """In a plan it would be steps that fail, and a planner that finds nothing in silence."""
    sim = simulator("box", base="planar")
    for command, text in (
        (lambda state, u, h: np.zeros(2), r"tau has shape \(2,\), expected \(3,\)"),
        (lambda state, u, h: "push", "tau must be an array of numbers"),
        (3, "command must be of type Callable"),
    ):
        with pytest.raises(ControlError, match=text):
            Propagator(sim, h=H, command=command, controls=1)
    with pytest.raises(StateError, match="simulator must be of type Simulator"):
        Propagator(sim.robot, h=H)
