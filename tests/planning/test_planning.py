"""Planners find the optimum of a problem that is known in closed form, within bounds."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from nmdp_pin import Command, FrictionCone, Plane, Simulator, Terrain, load_robot
from nmdp_pin.errors import ControlError
from nmdp_pin.planning import Problem, cem, ilqr, mppi

H, KNOTS, HELD, GOAL = 0.02, 6, 2, 0.05  # [s], [m]
PLANNERS = (
    lambda *a: mppi(*a, spread=2.0, samples=48, rounds=25),
    lambda *a: cem(*a, spread=4.0, samples=64, rounds=15),
    ilqr,
)
CLOSE = 2e-3  # [m]
ERRORS = (0.01, 0.02, 1e-7)  # of the cost, which is 25 without controls


def slide(**options):
    """A mass of 0.5 kg on a slide goes to a place and rests there."""
    simulator = Simulator(
        load_robot("finger"), Terrain(Plane()), FrictionCone(stiffness=1e6, power=2), order=1
    )
    problem = Problem(
        simulator=simulator,
        h=H,
        held=HELD,
        running=lambda x, u: 0.05 * u,
        final=lambda x: np.array([100.0, 5.0]) * (x - np.array([GOAL, 0.0])),
        **options,
    )
    return problem, simulator.state()


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
