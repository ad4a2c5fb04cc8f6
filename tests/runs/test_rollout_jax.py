"""Rollouts by JAX agree with those of the compiled pbfd."""

import subprocess
import sys

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip("jax")

from nmdp_pin import Command, Fixed, Halving, Penalty, Plane, Simulator, Terrain, load_robot
from nmdp_pin.errors import ControlError, IntegratorError, WorkerError
from nmdp_pin.rollout import rollout
from nmdp_pin.terrain import Box, Capsule, Sphere
from tests.benchmark_modules import load_benchmark

TOLERANCE = 1e-8  # relative to the sizes of q and v; both solve to 1e-8 of the weight
STEPS = 50
ANYMAL_FEET = [(f"{leg}_foot", f"{leg}_FOOT", (0.0, 0.0, 0.02), 0.03) for leg in
               ("LF", "RF", "LH", "RH")]


def scene(name, K, seed=0):
    """Simulator, starts, command and torques of K trajectories, and the length of a step."""
    rng = np.random.default_rng(seed)
    if name == "chain":
        batch = load_benchmark("batch")
        robot, h = batch.chain(10), 0.005
        x0 = batch.starts(robot, K)
    else:
        contacts = {"go2": "feet", "anymal": ANYMAL_FEET}.get(name)
        keywords = {} if contacts is None else {"contacts": contacts}
        robot, h = load_robot(name, visuals=False, **keywords), 0.01 if "gym" in name else 0.02
        model = robot.model
        x0 = np.array([
            np.concatenate([
                pin.integrate(model, robot.standing, 0.02 * rng.normal(size=model.nv)),
                0.1 * rng.normal(size=model.nv),
            ])
            for _ in range(K)
        ])  # fmt: skip
    nv, gains = robot.model.nv, np.zeros(robot.model.nv)
    gains[robot.driven] = 60.0
    command = Command(kp=gains, kd=gains / 30.0, q_target=robot.standing, tau=np.zeros(nv))
    u = 3.0 * rng.normal(size=(K, STEPS, len(robot.driven)))
    law, ground = Penalty(), Terrain([Plane(friction=0.7)])
    simulator = Simulator(robot, ground, law, "pbfd", control=Fixed())
    return simulator, x0, command, u, h


def check_agreement(simulator, x0, command, u, h):
    """Positions, velocities, statuses and numbers of steps are those of compiled steps."""
    expected = rollout(simulator, x0, u, h=h, command=command)
    found = rollout(simulator, x0, u, h=h, command=command, backend="jax")
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_array_equal(found.steps, expected.steps)
    np.testing.assert_allclose(found.x, expected.x, rtol=TOLERANCE, atol=TOLERANCE)
    assert [s.t for s in found.final] == [s.t for s in expected.final]
    return expected


@pytest.mark.parametrize("K", [1, 7])
@pytest.mark.parametrize("name", ["gym-hopper", "go2", "anymal", "gym-walker", "chain"])
@pytest.mark.filterwarnings("ignore::nmdp_pin.errors.RobotWarning")
def test_agrees_with_compiled_steps(name, K):
    """At every number of lanes, also where trajectories fail."""
    made = check_agreement(*scene(name, K))
    assert made.steps.sum() > K


@pytest.mark.parametrize("name", ["gym-hopper", "go2"])
def test_agrees_in_a_thousand_lanes(name):
    """Lanes of which some are damped, some fail and some have missed contacts."""
    check_agreement(*scene(name, 1024))
