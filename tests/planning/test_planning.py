"""Planners find the optimum of a problem that is known in closed form, within bounds."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import lsq_linear

from nmdp_pin import (
    Command,
    ErrorControl,
    Fixed,
    FrictionCone,
    Plane,
    Simulator,
    Terrain,
    load_robot,
)
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin.errors import ControlError, StateError
from nmdp_pin.planning import Problem, cem, ilqr, mppi

H, KNOTS, HELD, GOAL = 0.02, 6, 2, 0.05  # [s], [m]
PLANNERS = (
    lambda *a: mppi(*a, spread=2.0, samples=48, rounds=25),
    lambda *a: cem(*a, spread=4.0, samples=64, rounds=15),
    ilqr,
)
CLOSE = 2e-3  # [m]
ERRORS = (0.01, 0.02, 1e-7)  # of the cost, which is 25 without controls


CONE = FrictionCone(stiffness=1e6, power=2)


def slide(control=None, **options):
    """A mass of 0.5 kg on a slide goes to a place and rests there."""
    simulator = Simulator(load_robot("finger"), Terrain(Plane()), CONE, order=1, control=control)
    given = {
        "held": HELD,
        "running": lambda x, u: 0.05 * u,
        "final": lambda x: np.array([100.0, 5.0]) * (x - np.array([GOAL, 0.0])),
    }
    return Problem(simulator=simulator, h=H, **given | options), simulator.state()


def flying(targets):
    """A robot of a floating base in the air, with springs and torques that are held."""
    robot = load_robot("walker")
    nv, driven = robot.model.nv, np.isin(np.arange(robot.model.nv), robot.driven)
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), CONE, order=1)
    turned = pin.integrate(robot.model, robot.standing, np.linspace(0.1, 0.3, nv))
    command = Command(
        tau=np.where(driven, 3.0, 0.0),
        kp=np.where(driven, 200.0, 0.0),
        kd=np.where(driven, 10.0, 0.0),
        q_target=turned,
    )
    places = [j.idx_q for j in robot.model.joints if j.idx_v in robot.driven]
    problem = Problem(
        simulator=simulator,
        h=H,
        running=lambda x, u: 1e-3 * u,
        final=lambda x: x[..., places] - turned[places] - 0.2,
        command=command,
        targets=targets,
        held=HELD,
        low=-1.0,
        high=1.0,
    )
    return problem, simulator.state(turned)


def optimum(bound):
    """Least cost: a linear least squares problem in the forces."""
    every = np.kron(np.eye(KNOTS), np.ones((HELD, 1)))
    steps = KNOTS * HELD
    speed = H / 0.5 * np.tri(steps) @ every  # after each step
    place = H * np.tri(steps) @ speed
    A = np.vstack([0.05 * np.eye(KNOTS), 100.0 * place[-1], 5.0 * speed[-1]])
    b = np.zeros(KNOTS + 2)
    b[-2] = 100.0 * GOAL
    return 2.0 * lsq_linear(A, b, (-bound, bound), tol=1e-12).cost


@pytest.mark.parametrize(
    ("planner", "error"), list(zip(PLANNERS, ERRORS, strict=True)), ids=["mppi", "cem", "ilqr"]
)
@pytest.mark.parametrize("bound", [3.0, 1.5])  # [N], of which the second one binds
def test_the_optimum_is_found(planner, error, bound):
    """The cost is that of least squares with bounds, which no control exceeds."""
    problem, state = slide(low=-bound, high=bound)
    found = planner(problem, state, np.zeros((KNOTS, 1)))
    assert found.cost == pytest.approx(optimum(bound), abs=error)
    assert np.abs(found.u).max() <= bound
    assert (np.diff(found.history) <= 0.0).all()
    x, cost = problem.rolled(state, found.u[None])
    np.testing.assert_allclose(x[0], found.x, atol=1e-9)
    assert cost[0] == pytest.approx(found.cost)


@pytest.mark.parametrize("planner", [lambda *a: cem(*a, spread=0.05), ilqr], ids=["cem", "ilqr"])
def test_targets_are_moved(planner):
    """By targets of a spring the mass goes there too."""
    spring = Command(kp=np.array([200.0]), kd=np.array([20.0]), q_target=np.zeros(1))
    problem, state = slide(command=spring, targets=True, low=-0.2, high=0.2)
    found = planner(problem, state, np.zeros((KNOTS, 1)))
    assert abs(found.x[-1, 0] - GOAL) < CLOSE


@pytest.mark.parametrize("targets", [False, True])
def test_a_control_is_the_command_of_its_steps(targets):
    """Of motors behind a floating base, beside what is held: the plan is what the steps make."""
    problem, state = flying(targets)
    plan = problem.plan(state, np.random.default_rng(0).uniform(-0.5, 0.5, (2, 12)))
    for u, x in zip(plan.u, plan.x, strict=True):
        for _ in range(HELD):
            state = problem.simulator.step(state, problem.commanded(u), H).state
        np.testing.assert_allclose(problem.simulator.vector.pack(state), x, atol=1e-9)


def test_ilqr_moves_targets_of_joints_behind_a_base():
    """Joints that hold their angle go 0.2 rad further in five knots."""
    problem, state = flying(targets=True)
    begin = np.zeros((5, 12))
    assert ilqr(problem, state, begin, rounds=4).cost < 0.1 * problem.plan(state, begin).cost


@pytest.mark.parametrize(("bound", "rounds"), [(1e3, 1), (1.5, 4)])
def test_a_linear_problem_takes_few_rounds(bound, rounds):
    """One of the linear quadratic regulator, and some more where bounds bind."""
    problem, state = slide(low=-bound, high=bound)
    found = ilqr(problem, state, np.zeros((KNOTS, 1)), rounds=rounds)
    assert found.cost == pytest.approx(optimum(bound), abs=1e-7)
    assert found.one_sided == ()


def test_kinks_are_told():
    """The lengths of sub-steps under error control are switches of every knot."""
    problem, state = slide(ErrorControl(rtol=1e-3), low=-9.0, high=9.0)
    assert ilqr(problem, state, np.ones((2, 1)), rounds=1).one_sided == (0, 1)


def test_failed_samples_do_not_count():
    """The next samples are about those that were made; where none was, the controls stay."""
    asked = []

    def within_one(x, u):
        asked.append(u)
        return np.where(np.abs(u) > 1.0, np.inf, u)

    problem, state = slide(running=within_one, final=lambda x: 0.0 * x, low=-20.0, high=20.0)
    begin = np.full((1, 1), 3.0)
    for planner in (lambda *a: cem(*a, spread=2.0, elites=32, rounds=1), PLANNERS[0]):
        planner(problem, state, begin)
        assert np.abs(asked[-1]).max() < 1.0
    problem, state = flying(targets=False)
    once = {"control": Fixed(), "vi_newton": ViNewton(max_iterations=1)}
    robot, terrain, begin = problem.simulator.robot, problem.simulator.terrain, np.ones((1, 12))
    problem = replace(problem, simulator=Simulator(robot, terrain, CONE, **once))
    few = {"spread": 2.0, "samples": 4, "rounds": 1}
    for planner, options in ((mppi, few), (cem, few), (ilqr, {})):
        found = planner(problem, state, begin, **options)
        np.testing.assert_array_equal(found.u, begin)
        assert found.cost == np.inf


def test_seeds_repeat():
    """A seed gives the same bits, another one others; failed samples do not count."""
    problem, state = slide()
    begin = np.zeros((KNOTS, 1))
    one, same, other = (cem(problem, state, begin, spread=1.0, rounds=2, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.u, same.u)
    assert (one.u != other.u).any()


def test_torques_stay_within_the_efforts():
    """Bounds are what the effort limits leave beside a torque that is held."""
    problem, _ = slide(command=Command(tau=np.array([3.0])))
    effort = problem.simulator.robot.limits.effort[0]
    low, high = problem.bounds
    assert (low[0], high[0]) == (-effort - 3.0, effort - 3.0)
    with pytest.raises(ControlError, match="below"):
        slide(low=1.0, high=0.0)[0].within(np.zeros(1))


WRONG = {
    "one cost a state": (
        {"final": lambda x: (x[..., 0] - GOAL) ** 2},
        r"`final` returns .* m",
    ),
    "cost of controls": (
        {"running": lambda x, u: u.sum(-1)},
        r"`running` returns an array",
    ),
    "nothing": ({"final": lambda x: None}, "must be an array of numbers|`final` returns"),
    "no function": ({"final": 1.0}, "final must be of type Callable, got 1.0"),
    "steps": ({"held": 0}, "held must be a whole number >= 1, got 0"),
    "bounds": ({"low": np.zeros(2)}, r"low has shape \(2,\), expected \(\) or \(1,\)"),
    "command": ({"command": "hold"}, "command must be of type Command or None, got the text"),
}


@pytest.mark.parametrize(("options", "text"), WRONG.values(), ids=WRONG)
def test_problems_that_are_none(options, text):
    """Residuals without an axis of their own would be summed over all samples, in silence."""
    with pytest.raises((ControlError, StateError), match=text):
        cem(*slide(**options), np.zeros((KNOTS, 1)), spread=1.0, samples=8, rounds=1)


@pytest.mark.parametrize("u", [np.zeros(6), np.zeros((6, 2)), np.zeros((0, 1)), None])
@pytest.mark.parametrize("planner", PLANNERS, ids=["mppi", "cem", "ilqr"])
def test_controls_that_are_none(planner, u):
    """Controls have one row a knot, and one column a motor."""
    with pytest.raises(ControlError, match=r"expected \(n, 1\): controls of 1 driven"):
        planner(*slide(), u)


def test_samples_whose_residuals_are_none_do_not_count():
    """A residual that is not a number costs as much as a step that fails."""
    problem, state = slide(running=lambda x, u: np.where(np.abs(u) > 1.0, np.nan, u), high=9.0)
    found = cem(problem, state, np.zeros((KNOTS, 1)), spread=1.0, samples=64, rounds=3)
    assert 0.0 < found.cost < problem.plan(state, np.zeros((KNOTS, 1))).cost


def test_options_that_are_none():
    """Of each planner, before anything is computed."""
    problem, state = slide()
    begin = np.zeros((KNOTS, 1))
    for call, text in (
        (lambda: ilqr(state, state, begin), "problem must be of type Problem"),
        (lambda: cem("slide", state, begin, spread=1.0), "problem must be of type Problem"),
        (lambda: ilqr(problem, state, begin, tolerance="small"), "tolerance must be a number"),
        (lambda: ilqr(problem, state, begin, rounds=-1), "rounds must be a whole number >= 0"),
        (lambda: cem(problem, state, begin, spread=np.ones(2)), r"spread has shape \(2,\)"),
        (lambda: cem(problem, state, begin, spread=1.0, elites=0), "elites must be a whole number"),
        (lambda: mppi(problem, state, begin, spread=1.0, temperature=0.0), "finite number > 0"),
        (lambda: mppi(problem, state, begin, spread=1.0, seed=-1), "seed must be a whole number"),
    ):
        with pytest.raises((ControlError, StateError), match=text):
            call()
