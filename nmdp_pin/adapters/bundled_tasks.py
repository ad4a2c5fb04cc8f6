"""Bundled environments: hopper, walker, balance, reach, push and pick."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._contact import FrictionCone, WrenchSpace, stiffness_for_static_depth
from nmdp_pin._integrators import integrator_named
from nmdp_pin._robot import Robot, free_body, load_robot, together, touching
from nmdp_pin._scenario.scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import Halving
from nmdp_pin._terrain import Box, Plane, Terrain
from nmdp_pin.adapters.gymnasium import SimulatorEnv
from nmdp_pin.adapters.locomotion import Forward
from nmdp_pin.adapters.task import Start, States, near, never, points, state_itself

STATIC_DEPTH = 1e-3  # [m] at which all contact points together carry the robot
MIN_STEP = 1e-3  # [s] a learner rather loses an episode than waits for shorter steps
EFFORT = 1e-3  # weight of the square of the action in all rewards

HAND = "panda_hand_tcp"


def hopper(
    *, method: str = "pbfd", friction: float = 0.9, task: Any = None, **options: Any
) -> SimulatorEnv:
    """Planar hopper with the rewards of Gymnasium's Hopper.

    Args:
        method: name of the integrator.
        friction: friction coefficient of the ground.
        task: another task; None: that of the benchmark.
        options: options of `SimulatorEnv`.
    """
    simulator = simulator_for(load_robot("gym-hopper"), method=method, friction=friction)
    task = task or Forward(healthy_height=(0.7, np.inf), healthy_tilt=0.2)
    return SimulatorEnv(simulator, task, **options)


def walker(
    *, method: str = "pbfd", friction: float = 0.9, task: Any = None, **options: Any
) -> SimulatorEnv:
    """Walker in space with the rewards of Gymnasium's Walker2d, less its sideways speed.

    Args:
        method: name of the integrator.
        friction: friction coefficient of the ground.
        task: another task; None: that of the benchmark.
        options: options of `SimulatorEnv`.
    """
    simulator = simulator_for(load_robot("gym-walker"), method=method, friction=friction)
    task = task or Forward(healthy_height=(0.8, 2.0), healthy_tilt=1.0, lateral_weight=1.0)
    return SimulatorEnv(simulator, task, **options)


def balance(**options: Any) -> SimulatorEnv:
    """The hopper stays upright from a start that is pushed by up to 0.1 m/s and 0.1 rad/s.

    Args:
        options: options of `hopper`.
    """
    still = Forward(healthy_height=(0.7, np.inf), healthy_tilt=0.2, forward_weight=0.0, noise=0.1)
    return hopper(task=still, **options)


def reach(*, method: str = "pbfd", **options: Any) -> SimulatorEnv:
    """The hand of a Panda goes to a point that it can reach.

    Args:
        method: name of the integrator.
        options: options of `SimulatorEnv`.
    """
    joints = [f"panda_joint{k}" for k in range(1, 8)]
    touching = [("fingertip", HAND, (0.0, 0.0, 0.0), 0.02)]
    robot = load_robot("panda", base="fixed", joints=joints, contacts=touching, visuals=False)
    options = {"duration": 2.0, **options}
    return SimulatorEnv(simulator_for(robot, method=method), Reach, **options)


def push(*, method: str = "ne-nmdp", **options: Any) -> SimulatorEnv:
    """A finger pushes a block along x to where it shall be.

    Args:
        method: name of the integrator.
        options: options of `SimulatorEnv`.
    """
    shape = Box(size=(0.1, 0.16, 0.1), friction=0.2)
    block = free_body("block", shape, mass=1.0, position=(0.09, 0.0, 0.0495))
    robot = touching(together(load_robot("finger"), [block]), [("tip", "block")])
    simulator = simulator_for(robot, method=method, friction=0.4)
    task = ObjectAt.of(robot, "block", 0, (0.12, 0.3))
    return SimulatorEnv(simulator, task, **{"duration": 3.0, **options})


def pick(**options: Any) -> SimulatorEnv:
    """A gripper lifts a cube to a height.

    Args:
        options: options of `SimulatorEnv`.
    """
    scenario = Scenario.load("gripper-pick", overrides=["integrator.order=1"])
    simulator = scenario.build(visuals=False).simulator
    task = ObjectAt.of(simulator.robot, "cube", 2, (0.06, 0.2))
    return SimulatorEnv(simulator, task, **{"duration": 3.0, "action": "torque", **options})


@dataclass(frozen=True)
class Reach:
    """A `Task`: the hand goes to the goal (3,), where it is with other angles of the joints.

    Args:
        robot: the arm.
        frame: the hand.
        within: largest change of a joint [rad].
    """

    robot: Robot
    frame: str = HAND
    within: float = 0.4

    def reset(self, simulator: Simulator, random: np.random.Generator) -> Start:
        """Near the standing pose, with another goal."""
        q, v = near(self.robot, random, 5e-3)
        angles = random.uniform(-self.within, self.within, self.robot.model.nv)
        there = pin.integrate(self.robot.model, self.robot.standing, angles)
        return q, v, points(self.robot, self.frame, there)

    def observation(self, state: States) -> np.ndarray:
        """q, v and the way to the goal."""
        return np.concatenate([state.q, state.v, self._way(state)], axis=-1)

    def reward(self, before: States, after: States, action: np.ndarray) -> dict[str, Any]:
        """The distance from the goal [m], negative."""
        return {
            "reward_distance": -np.linalg.norm(self._way(after), axis=-1),
            "reward_control": -EFFORT * np.square(action).sum(axis=-1),
        }

    terminated = staticmethod(never)

    def _way(self, state: States) -> np.ndarray:
        way: np.ndarray = state.goal - points(self.robot, self.frame, state.q)
        return way


@dataclass(frozen=True)
class ObjectAt:
    """A `Task`: a free body goes to the goal (1,) along an axis.

    Args:
        place: index of its position along the axis in q.
        goals: least and largest goal [m].
    """

    place: int
    goals: tuple[float, float]

    @classmethod
    def of(cls, robot: Robot, name: str, axis: int, goals: tuple[float, float]) -> "ObjectAt":
        """The task with a body of a robot."""
        joint = robot.model.frames[robot.model.getFrameId(name)].parentJoint
        return cls(robot.model.joints[joint - 1].idx_q + axis, goals)

    def reset(self, simulator: Simulator, random: np.random.Generator) -> Start:
        """The standing pose, with another goal."""
        robot = simulator.robot
        return robot.standing, np.zeros(robot.model.nv), random.uniform(*self.goals, 1)

    observation = staticmethod(state_itself)
    terminated = staticmethod(never)

    def reward(self, before: States, after: States, action: np.ndarray) -> dict[str, Any]:
        """The distance from the goal [m], negative."""
        return {
            "reward_distance": -np.abs(after.q[..., self.place] - after.goal[..., 0]),
            "reward_control": -EFFORT * np.square(action).sum(axis=-1),
        }


def simulator_for(
    robot: Robot, *, method: str = "pbfd", friction: float = 0.9, **options: Any
) -> Simulator:
    """Simulator of a robot on level ground.

    Args:
        robot: the robot.
        method: name of the integrator.
        friction: friction coefficient of the ground.
        options: options of the simulator and of the method.
    """
    law_type = integrator_named(method).law_type
    law = _cone(robot) if law_type is WrenchSpace else law_type()
    ground = Terrain([Plane(friction=friction)])
    return Simulator(
        robot, ground, law, method, **{"control": Halving(min_step=MIN_STEP), **options}
    )


def _cone(robot: Robot) -> FrictionCone:
    """A friction cone whose contacts carry the robot at `STATIC_DEPTH`."""
    n = max(len(robot.contact_points), 1)
    mass = float(pin.computeTotalMass(robot.model))
    k = stiffness_for_static_depth(mass, n, STATIC_DEPTH, 2)
    return FrictionCone(stiffness=k, power=2, directions=8)
