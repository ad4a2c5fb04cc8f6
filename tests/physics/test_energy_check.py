"""Solutions that gain energy: roots of G = 0 far away, which no motion leads to, are refused."""

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contact_laws import law_for
from pairwise import pairwise

from nmdp_pin._control import Command
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._robot import Robot
from nmdp_pin._runs.recorder import kinetic_energy
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Plane, Terrain

FORMS = ("ne-nmdp", "pbd-nmdp")
ROBOTS = ("robosimian planar", "spider free-flyer", "chain fixed", "pendulum", "wheels")
# Of the energy that moves: backward Euler gains none, what turns in a step adds a share of it.
# Measured: 3e-12 and 3e-6.
GAIN = {"ne-nmdp": 1e-10, "pbd-nmdp": 1e-4}
PASSIVE = Command()
AIR = Terrain([Plane(height=-99.0)])


def flying(robot: Robot, method: str, **options):
    """The method for a robot in the air."""
    return INTEGRATORS[method](System(robot, AIR, samples.CONE), **options)


@pairwise({"method": FORMS, "name": ROBOTS, "h": [1e-3, 1e-2]})
def test_free_motion_gains_nothing(method, name, h):
    """A converged step of first order gains no energy at random states, without torque."""
    robot = samples.without_limits(samples.robot(name))
    integrator, data = flying(robot, method, order=1), robot.model.createData()
    for seed in range(40):
        start = samples.random_start(robot, seed)
        result = integrator.step(start, PASSIVE, h)
        assert result.status.ok
        kinetic = kinetic_energy(robot.model, data, start.q, start.v)
        before = kinetic + pin.computePotentialEnergy(robot.model, data, start.q)
        end = result.state
        after = kinetic_energy(robot.model, data, end.q, end.v)
        after += pin.computePotentialEnergy(robot.model, data, end.q)
        assert result.kinetic_energy + result.potential_energy == pytest.approx(after)
        done = -h * float(robot.model.damping @ end.v**2)
        assert after - before - done <= GAIN[method] * kinetic


@pytest.mark.parametrize(("name", "seed"), [("robosimian planar", 38)])
def test_a_long_step_of_free_motion_stays_near(name, seed):
    """A start from which Newton's method goes to a root at 60 rad/s, of 2.4 by short steps."""
    robot = samples.robot(name)
    start = samples.random_start(robot, seed)
    found = flying(robot, "pbd-nmdp", order=1).step(start, PASSIVE, 0.05)
    assert found.status.ok
    state, short = start, flying(robot, "pbd-nmdp", order=1)
    for _ in range(50):
        state = short.step(state, PASSIVE, 0.001).state
    # [rad/s, m/s] backward Euler's error over a step in which the body turns by 0.1 rad
    assert np.abs(found.state.v - state.v).max() < 0.5


@pytest.mark.parametrize("method", ["ne-ncp", "ne-mdp"])
def test_methods_with_explicit_spins_refuse_gains(method):
    """A chain thrown at 15 rad/s in steps of 20 ms: without the bound it gains without end."""
    robot = samples.without_limits(samples.robot("chain free-flyer"))
    v = np.zeros(robot.model.nv)
    v[6:] = 15.0 * np.random.default_rng(0).standard_normal(robot.model.nv - 6)
    simulator = Simulator(robot, AIR, law_for(method, samples.CONE), method)
    state = simulator.state(v=v)
    start = pin.computeMechanicalEnergy(robot.model, robot.model.createData(), state.q, v)
    for _ in range(25):
        result = simulator.step(state, None, 0.02)
        assert result.status.ok
        assert result.kinetic_energy + result.potential_energy < 2.0 * start
        state = result.state
