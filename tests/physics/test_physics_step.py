"""What every step must satisfy: dynamics, wrench space, descent, and replay to the bit."""

import pickle

import numpy as np
import pinocchio as pin
import pytest
from physics_scenes import (
    CUBE,
    IMPLICIT,
    MINIMISING,
    NEWTON_EULER,
    OF_BOTH_ORDERS,
    SOFT,
    block,
    cone,
    flying,
    ground,
    pendulum,
    run,
    simulator,
)
from recorded_solves import recorded_solves
from tight_solves import solve_tightly

from nmdp_pin._integrators import StepResult
from nmdp_pin._robot import load_robot
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient

FRICTION = 0.5
STEPS = (5e-3, 1e-2, 5e-2)
BALANCE = 1e-6  # of the weight; steps are solved to 1e-8 of it, and to rounding of M q / h^2
PLACE = 2e-9  # [m] to which a depth is that of its force
BOUND = 2e-4  # share by which a force may exceed its bound, as the residual
ROUNDING = 1e-9


def tumble(method: str) -> tuple[Simulator, State]:
    """A cube that falls on a corner, slides and falls over."""
    cube = block(CUBE)
    sim = simulator(cube, ground(FRICTION), cone(cube, depth=SOFT), method)
    R = pin.rpy.rpyToMatrix(0.3, 0.4, 0.2)
    q = pin.SE3ToXYZQUAT(pin.SE3(R, np.array([0.0, 0.0, 0.25])))
    return sim, sim.state(q, np.array([1.0, 0.3, 0.0, 0.0, 2.0, 1.0]))


def imbalance(sim: Simulator, before: State, result: StepResult) -> float:
    """Norm of rnea - J' f by pinocchio alone, over the weight [-]."""
    model, points, after = sim.robot.model, sim.robot.contact_points, result.state
    data = model.createData()
    pin.computeJointJacobians(model, data, after.q)
    a = (after.v - before.v) / result.step_sizes[0]
    G = np.array(pin.rnea(model, data, after.q, after.v, a))
    for joint, local, force in zip(
        points.joints, points.positions, result.contact_forces, strict=True
    ):
        J = pin.getJointJacobian(model, data, int(joint), pin.LOCAL_WORLD_ALIGNED)
        moment = np.cross(data.oMi[int(joint)].rotation @ local, force)
        G -= J.T @ np.concatenate([force, moment])
    return float(np.linalg.norm(G) / (9.81 * pin.computeTotalMass(model)))


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("method", NEWTON_EULER)
def test_every_step_satisfies_the_equations_of_motion(method, h, monkeypatch):
    """G = 0 as pinocchio's rnea and frame Jacobians say, apart from our own residual."""
    solve_tightly(monkeypatch)
    sim, state = tumble(method)
    touched = 0
    for result in run(sim, state, h, 0.6):
        if result.halvings == 0:
            assert imbalance(sim, state, result) < BALANCE
            touched += result.contact_forces.any()
        state = result.state
    assert touched > 5


@pytest.mark.parametrize("h", [5e-3, 5e-2])
@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_every_force_is_in_the_wrench_space(method, h):
    """No pull, no more friction than the cone's, none without contact, none beyond k d^p."""
    sim, state = tumble(method)
    k, touched = sim.contact.stiffness, 0
    for result in run(sim, state, h, 0.6):
        warm = result.state.warm
        touched += len(warm.contacts)
        if warm.forces is None:
            assert warm.w.min(initial=0.0) >= 0.0
            assert warm.w.sum(axis=1).max(initial=0.0) <= 1.0 + ROUNDING
        normal = result.contact_forces[:, 2]
        sideways = np.linalg.norm(result.contact_forces[:, :2], axis=1)
        assert (normal >= 0.0).all()
        if sim.integrator.order == 1 and not result.halvings:  # else it is the mean over the step
            deepest = np.where(normal > 0.0, result.contact_depths + PLACE, 0.0)
            assert (normal <= k * deepest**2 * (1.0 + BOUND)).all()
        assert (sideways <= FRICTION * normal * (1.0 + ROUNDING)).all()
    assert touched > 5


@pytest.mark.parametrize("method", MINIMISING)
def test_objective_never_rises_along_the_iterates(method, monkeypatch):
    """K is monotone along PGM's accepted iterates, on every step of a tumble."""
    found = recorded_solves(monkeypatch)
    for h in STEPS:
        sim, state = tumble(method)
        run(sim, state, h, 0.6)
    values = [np.array(result.values) for result in found if len(result.values) > 1]
    assert len(values) > 50
    for K in values:
        assert (np.diff(K) <= ROUNDING * K[:-1]).all()


def same(a: StepResult, b: StepResult) -> bool:
    """Equal to the last bit."""
    warm, other = a.state.warm, b.state.warm
    pairs = [
        (a.state.q, b.state.q),
        (a.state.v, b.state.v),
        (warm.contacts, other.contacts),
        (warm.w, other.w),
        (np.zeros(0), np.zeros(0)) if warm.forces is None else (warm.forces, other.forces),
        (warm.joints, other.joints),
        (warm.a, other.a),
        (a.contact_forces, b.contact_forces),
    ]
    equal = all(np.array_equal(x, y) for x, y in pairs)
    return equal and warm.gamma == other.gamma and a.objective == b.objective


def history(sim: Simulator, state: State) -> list[tuple[State, StepResult]]:
    """Forty steps with their starts, the last one first."""
    made = []
    for _ in range(40):
        made.append((state, sim.step(state, None, 0.01)))
        state = made[-1][1].state
    return made[::-1]


@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_a_step_replays_to_the_bit_after_any_others(method):
    """A simulator remembers nothing: its steps, made again in another order, are the same."""
    sim, state = tumble(method)
    for start, result in history(sim, state):
        assert same(result, sim.step(start, None, 0.01))


@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_a_step_replays_in_another_simulator(method):
    """To the bit, also in a pickled one."""
    sim, state = tumble(method)
    others = (tumble(method)[0], pickle.loads(pickle.dumps(sim)))
    for start, result in history(sim, state):
        assert all(same(result, other.step(start, None, 0.01)) for other in others)


@pytest.mark.parametrize("objective", ["kinetic", "end_effector"])
def test_a_step_replays_in_another_simulator_with_daqp(objective):
    """To the bit, also in a pickled one."""
    first, state = tumble(IMPLICIT[0])
    parts = (first.robot, first.terrain, first.contact, "ne-nmdp")
    options = {"objective": objective, "projected_gradient": ProjectedGradient(qp_solver="daqp")}
    sim = Simulator(*parts, **options)
    others = (Simulator(*parts, **options), pickle.loads(pickle.dumps(sim)))
    for start, result in history(sim, state):
        assert all(same(result, other.step(start, None, 0.01)) for other in others)


def test_a_driven_robot_replays_to_the_bit_from_the_middle():
    """Robosimian's jump at 50 ms, from a state in the middle of it."""
    setup = Scenario.load("robosimian-jump-paper", overrides=["integrator.dt=0.05"]).build(
        visuals=False
    )
    states, results = [setup.state], []
    for start in (0, 10):
        state = states[start]
        for k in range(start, 25):
            result = setup.simulator.step(state, setup.controller.command(state, 0.05), 0.05)
            state = result.state
            if start == 0:
                results.append(result)
                states.append(state)
            assert same(result, results[k])


@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_robots_without_contact_points_and_of_one_velocity_can_be_stepped(method):
    """No contact point, or a single joint, is no special case."""
    sim = flying(pendulum(), method)
    assert run(sim, sim.state(np.array([0.1])), 0.01, 0.1)[-1].state.q[0] < 0.1
    chain = load_robot("chain", visuals=False, contacts=[])
    assert not len(chain.contact_points)
    sim = flying(chain, method)
    assert run(sim, sim.state(), 0.01, 0.1)[-1].state.q[0] > 0.0
