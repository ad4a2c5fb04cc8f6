"""Steps whose command asks for far other torques than the step before ended with."""

from dataclasses import replace

import numpy as np
import pytest
from benchmark_modules import benchmark

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain, load_robot

STEP = 0.04  # [s], for which each target lasts
SAME = 1e-4  # [rad/s, m/s]; both ends solve the same equations, at most to the tolerance of a step


@pytest.fixture(scope="module")
def quadruped():
    """ANYmal on hard ground, whose motors saturate."""
    robot = load_robot("anymal", contacts="feet", visuals=False)
    law = FrictionCone.for_robot(robot, static_depth=1e-5, power=2)
    return Simulator(robot, Terrain(Plane(friction=0.7)), law, "ne-nmdp", order=1)


@pytest.mark.filterwarnings("ignore::nmdp_pin.errors.RobotWarning")
def test_long_steps_under_noisy_targets_take_few_evaluations(quadruped):
    """Those that begin at the reference; from the last motion and forces they take 5.1."""
    hard_ground = benchmark("hard_ground")
    state = quadruped.state(quadruped.robot.standing)
    targets = hard_ground.commands(quadruped.robot, 0.15, 0)
    evaluations = []
    for _ in range(15):
        result = quadruped.step(state, next(targets), STEP)
        assert result.status.ok
        assert result.halvings == 0
        evaluations.append(result.evaluations)
        state = result.state
    assert np.mean(evaluations) <= 4.2


@pytest.mark.filterwarnings("ignore::nmdp_pin.errors.RobotWarning")
def test_no_long_step_is_halved_where_limbs_give_way(quadruped):
    """Without the derivatives of forces all inequalities are solved; with them three steps are."""
    hard_ground = benchmark("hard_ground")
    halved = 0
    for seed in range(3):
        state = quadruped.state(quadruped.robot.standing)
        targets = hard_ground.commands(quadruped.robot, 0.4, seed)
        for _ in range(20):
            result = quadruped.step(state, next(targets), STEP)
            assert result.status.ok
            halved += result.halvings
            state = result.state
    assert halved == 0


@pytest.mark.filterwarnings("ignore::nmdp_pin.errors.RobotWarning")
def test_where_a_step_begins_changes_no_end(quadruped):
    """With the torques that it asks for in its warm start the step is predicted."""
    hard_ground = benchmark("hard_ground")
    robot, v = quadruped.robot, np.zeros(quadruped.robot.model.nv)
    still, other = (next(hard_ground.commands(robot, noise, 0)) for noise in (0.0, 0.1))
    state = quadruped.state(robot.standing)
    for _ in range(5):
        state = quadruped.step(state, still, STEP).state
    asked = quadruped.step(replace(state, warm=None, v=v), other, 1e-6).tau
    predicted = replace(state, warm=replace(state.warm, tau=asked))
    ends = [quadruped.step(start, other, STEP) for start in (state, predicted)]
    assert not np.array_equal(ends[0].state.v, ends[1].state.v)
    np.testing.assert_allclose(ends[0].state.v, ends[1].state.v, rtol=0.0, atol=SAME)
