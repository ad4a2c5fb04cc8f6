"""The action model: Crocoddyl's own finite differences agree, and its solvers converge."""

from dataclasses import replace

import numpy as np
import pytest

crocoddyl = pytest.importorskip("crocoddyl")

from adapter_scenes import near, simulator, standing  # noqa: E402
from tight_solves import TIGHT  # noqa: E402

from nmdp_pin import Command  # noqa: E402
from nmdp_pin._integrators.vi_newton import ViNewton  # noqa: E402
from nmdp_pin._simulator.step_control import Halving  # noqa: E402
from nmdp_pin.adapters.crocoddyl import StepAction, VectorState  # noqa: E402
from nmdp_pin.errors import ControlError, DerivativeError, StateError  # noqa: E402

H = 0.02  # [s]
DISTURBANCE = 1e-7  # of Crocoddyl's forward differences
# Their truncation error is DISTURBANCE times a second derivative; that of the quadratic cost,
# whose gradient is exact, is 7e-6 of it; that of contacts that recover 3e-5.
AGREES = 5e-5
NEAR = 3e-3  # from the standing pose, where no contact is at a switch
STATE_AGREES = 1e-6  # Crocoddyl's differences of the state alone


def cost(state, nu, goal, weight=1.0, effort=1e-3):
    """Distance from a goal, and effort."""
    total = crocoddyl.CostModelSum(state, nu)
    residual = crocoddyl.ResidualModelState(state, goal, nu)
    total.addCost("state", crocoddyl.CostModelResidual(state, residual), weight)
    residual = crocoddyl.ResidualModelControl(state, nu)
    total.addCost("effort", crocoddyl.CostModelResidual(state, residual), effort)
    return total


def action(sim, h=H, goal=None, **options):
    """One knot."""
    state = VectorState(sim.robot.model)
    goal = standing(sim) if goal is None else goal
    return StepAction(sim, h, cost(state, len(sim.robot.driven), goal), **options)


@pytest.mark.parametrize(
    ("base", "method"), [("planar", "ne-nmdp"), ("planar", "pbfd"), ("free-flyer", "ne-nmdp")]
)
def test_num_diff_agrees(base, method):
    """Fx, Fu, Lx and Lu are those of `ActionModelNumDiff`, on a planar and a free base."""
    tight = {} if method == "pbfd" else {"vi_newton": TIGHT}
    sim = simulator("hopper", method, base, **tight)
    model = action(sim, goal=near(sim, 9, 0.3))
    x = near(sim, 0, NEAR)
    u = np.random.default_rng(1).uniform(-5.0, 5.0, model.nu)
    data = model.createData()
    model.calc(data, x, u)
    model.calcDiff(data, x, u)
    differences = crocoddyl.ActionModelNumDiff(model)
    differences.disturbance = DISTURBANCE
    found = differences.createData()
    differences.calc(found, x, u)
    differences.calcDiff(found, x, u)
    np.testing.assert_array_equal(found.xnext, data.xnext)
    for name in ("Fx", "Fu", "Lx", "Lu"):
        exact, expected = np.array(getattr(data, name)), np.array(getattr(found, name))
        assert np.abs(expected).max() > 0.0
        assert np.abs(exact - expected).max() < AGREES * np.abs(expected).max(), name


@pytest.mark.parametrize("robot", ["hopper", "walker"])
def test_state_is_the_simulators(robot):
    """Differences and integrals are the simulator's; their derivatives those of `StateNumDiff`."""
    sim = simulator(robot)
    state = VectorState(sim.robot.model)
    x0, x1 = near(sim, 0, 0.3), near(sim, 1, 0.3)
    dx = sim.vector.difference(x0, x1)
    np.testing.assert_array_equal(state.diff(x0, x1), dx)
    np.testing.assert_allclose(state.integrate(x0, dx), x1, atol=1e-12)
    differences, both = crocoddyl.StateNumDiff(state), crocoddyl.Jcomponent.both
    for exact, expected in (
        (state.Jdiff(x0, x1, both), differences.Jdiff(x0, x1, both)),
        (state.Jintegrate(x0, dx, both), differences.Jintegrate(x0, dx, both)),
    ):
        np.testing.assert_allclose(np.array(exact), np.array(expected), atol=STATE_AGREES)
    moved = state.JintegrateTransport(x0, dx, np.eye(state.ndx), crocoddyl.Jcomponent.second)
    assert moved.shape == (state.ndx, state.ndx)
    assert state.rand().shape == (state.nx,)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbfd"])
def test_fddp_leans_the_hopper(method):
    """FDDP converges through contact at 20 ms; the plan replayed by the simulator is the plan."""
    sim = simulator("hopper", method)
    x0 = standing(sim)
    goal = x0.copy()
    goal[0] += 0.05
    knots = 15
    state = VectorState(sim.robot.model)
    nu = len(sim.robot.driven)
    running = StepAction(sim, H, cost(state, nu, goal))
    last = StepAction(sim, H, cost(state, nu, goal, weight=100.0))
    problem = crocoddyl.ShootingProblem(x0, [running] * knots, last)
    solver = crocoddyl.SolverFDDP(problem)
    us = [np.zeros(nu)] * knots
    # The last iterations go to and fro across a kink, where a foot lifts off or stays.
    assert solver.solve([x0] * (knots + 1), us, 60, False)
    x, still = x0, x0
    for u in solver.us:
        x, _ = sim.step_x(x, np.array(u), H)
        still, _ = sim.step_x(still, np.zeros(nu), H)
    np.testing.assert_array_equal(x, solver.xs[-1])
    away = [np.linalg.norm(sim.vector.difference(goal, end)) for end in (x, still)]
    assert away[0] < 0.2 * away[1]


def test_controls_beside_a_held_command():
    """Controls add to a held command's torques; derivatives are those of springs and all."""
    sim = simulator("hopper", vi_newton=TIGHT)  # differences over 1e-7 are those of exact steps
    nv, driven = sim.robot.model.nv, sim.robot.driven
    gains = np.zeros(nv)
    gains[driven] = 50.0
    hold = Command(tau=0.1 * gains, kp=gains, kd=0.1 * gains, q_target=sim.robot.standing)
    model = action(sim, hold=hold)
    x, u = near(sim, 0, NEAR), np.array([1.0, -2.0, 3.0])
    data = model.createData()
    model.calc(data, x, u)
    model.calcDiff(data, x, u)
    full = np.zeros(nv)
    full[driven] = u + 5.0
    np.testing.assert_array_equal(model.command(u).tau, full)
    expected, _ = sim.step_x(x, replace(hold, tau=full), H)
    np.testing.assert_array_equal(data.xnext, expected)
    assert np.abs(expected - sim.step_x(x, full, H)[0]).max() > NEAR
    differences = crocoddyl.ActionModelNumDiff(model)
    differences.disturbance = DISTURBANCE
    found = differences.createData()
    differences.calc(found, x, u)
    differences.calcDiff(found, x, u)
    for name in ("Fx", "Fu"):
        exact, numeric = np.array(getattr(data, name)), np.array(getattr(found, name))
        assert np.abs(exact - numeric).max() < AGREES * np.abs(numeric).max(), name
    with pytest.raises(ControlError, match="kp"):
        action(sim, hold=Command(kp=gains))


def test_failed_steps_are_not_a_number():
    """What cannot be stepped has a cost of NaN and raises nothing."""
    sim = simulator("hopper", vi_newton=ViNewton(max_iterations=1), control=Halving(min_step=H))
    model = action(sim)
    data = model.createData()
    model.calc(data, near(sim, 0, 0.1), np.full(model.nu, 50.0))
    assert np.isnan(data.cost)
    assert np.isnan(np.array(data.xnext)).all()
    model.calcDiff(data, np.full(model.state.nx, np.nan), np.zeros(model.nu))
    assert np.isnan(np.array(data.Fx)).all()


def test_warm_start_changes_little():
    """Steps from the weights of the last ones end at the same place, within the tolerance."""
    sim = simulator("hopper", vi_newton=TIGHT)
    warm, cold = action(sim, warm=True), action(sim)
    x, u = near(sim, 0), np.array([1.0, -2.0, 3.0])
    data, other = warm.createData(), cold.createData()
    warm.calc(data, near(sim, 1), u)
    warm.calc(data, x, u)
    cold.calc(other, x, u)
    np.testing.assert_allclose(data.xnext, other.xnext, atol=1e-6)


def test_end_of_the_horizon():
    """Without a control the cost counts once and the state stays."""
    sim = simulator("hopper")
    model = action(sim)
    data, x = model.createData(), near(sim, 0)
    model.calc(data, x)
    model.calcDiff(data, x)
    np.testing.assert_array_equal(data.xnext, x)
    difference = sim.vector.difference(standing(sim), x)
    assert data.cost == pytest.approx(0.5 * difference @ difference)
    np.testing.assert_allclose(data.Lx, difference, atol=1e-9)
    bare = StepAction(sim, H)
    data = bare.createData()
    bare.calc(data, x)
    assert data.cost == 0.0
    assert (np.array(bare.u_ub) == [80.0, 100.0, 60.0]).all()


def test_mistakes_are_named():
    """Costs of another robot, and methods without derivatives, raise typed errors."""
    sim = simulator("hopper")
    state = VectorState(sim.robot.model)
    with pytest.raises(ControlError, match="2 controls"):
        StepAction(sim, H, cost(state, 2, standing(sim)))
    other = simulator("hopper", base="free-flyer")
    with pytest.raises(StateError, match="VectorState"):
        StepAction(other, H, cost(state, 3, standing(sim)))
    with pytest.raises(StateError, match=r"built against pinocchio 4\.0\.0"):
        StepAction(sim, H, cost(crocoddyl.StateMultibody(sim.robot.model), 3, standing(sim)))
    with pytest.raises(DerivativeError, match="ne-ncp"):
        StepAction(simulator("hopper", "ne-ncp"), H)
