"""A robot that is changed after a simulator was made of it changes no step."""

import pickle

import numpy as np
import pinocchio as pin
import pytest
from contact_laws import law_for

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Command
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._robot import load_robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.rollout import rollout

H, STEPS = 0.01, 5  # [s]


def mass(model):
    model.inertias[3] = pin.Inertia(3.0 * model.inertias[3].mass, np.zeros(3), np.eye(3))


def gravity(model):
    model.gravity.linear = np.array([0.0, 0.0, -3.7])


def armature(model):
    model.armature[:] = model.armature + 0.5


def damping(model):
    model.damping[:] = model.damping + 5.0


def placement(model):
    M = model.jointPlacements[5]
    model.jointPlacements[5] = pin.SE3(M.rotation, 1.2 * M.translation)


CHANGES = (mass, gravity, armature, damping, placement)


def standing(method):
    """A hopper on the ground under a servo, and its simulator."""
    robot = load_robot("hopper", visuals=False)
    law = law_for(method, FrictionCone(stiffness=1e6, power=2, directions=4, recovery=0.0))
    return robot, Simulator(robot, Terrain(Plane(friction=0.7)), law, method)


def crouching(robot):
    """A servo that bends the leg."""
    gains = np.zeros(robot.model.nv)
    gains[robot.driven] = 100.0
    target = robot.standing.copy()
    target[3:] += 0.1, -0.2, 0.1
    return Command(kp=gains, kd=0.1 * gains, q_target=target)


def ends(simulator, command, n_jobs=1):
    """Ends of the steps [q; v]."""
    x = np.concatenate([simulator.state().q, simulator.state().v])
    return rollout(simulator, np.array([x, x]), h=H, steps=STEPS, command=command, n_jobs=n_jobs).x


@pytest.mark.parametrize("method", sorted(INTEGRATORS))
def test_simulators_own_their_robots(method):
    """Steps are equal to the bit, of a pickled simulator too; a new simulator's are others."""
    robot, simulator = standing(method)
    command = crouching(robot)
    before = ends(simulator, command)
    assert not np.array_equal(before[0, 0], before[0, -1])
    for change in CHANGES:
        for changed in (robot, simulator.robot):
            change(changed.model)
        assert np.array_equal(ends(simulator, command), before)
        assert np.array_equal(ends(pickle.loads(pickle.dumps(simulator)), command), before)
        new = Simulator(robot, simulator.terrain, simulator.contact, method)
        assert not np.array_equal(ends(new, command), before)


def test_workers_step_as_this_process_does():
    """After a change of the robot one process and two make the same trajectories."""
    robot, simulator = standing("pbfd")
    command = crouching(robot)
    for changed in (robot, simulator.robot):
        mass(changed.model)
    assert np.array_equal(ends(simulator, command), ends(simulator, command, n_jobs=2))


@pytest.mark.parametrize(
    "array",
    [
        lambda robot: robot.limits.effort,
        lambda robot: robot.limits.friction,
        lambda robot: robot.contact_points.positions,
        lambda robot: robot.contact_points.radii,
        lambda robot: robot.standing,
        lambda robot: robot.driven,
    ],
)
def test_arrays_are_read_only(array):
    """What can be refused of a change is refused; arrays that are given stay their owner's."""
    robot, simulator = standing("pbfd")
    for owner in (robot, simulator.robot):
        with pytest.raises(ValueError, match="read-only"):
            array(owner)[0] = 1
