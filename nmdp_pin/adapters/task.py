"""What an environment observes, rewards and begins with, as functions of states."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._robot import Robot
from nmdp_pin._simulator.simulator import Simulator

__all__ = ["near", "near_standing", "never", "points", "state_itself"]


@dataclass(frozen=True, eq=False)
class States:
    """State of an episode, or states of n: shapes (), (nq,), (nv,), (k,), or these after (n,).

    Args:
        t: time [s].
        q: configuration.
        v: velocity.
        goal: what `Task.reset` drew for the episode.
    """

    t: Any
    q: np.ndarray
    v: np.ndarray
    goal: np.ndarray = field(default_factory=lambda: np.empty(0))


Start = tuple[np.ndarray, ...]
"""Configuration and velocity, and a goal where the task has one."""


def near_standing(simulator: Simulator, random: np.random.Generator) -> Start:
    """The standing pose, changed by up to 5 mm or 5 mrad in each direction, and per second."""
    return near(simulator.robot, random, 5e-3)


def near(robot: Robot, random: np.random.Generator, noise: np.ndarray | float) -> Start:
    """The standing pose with uniform noise of q and v within `noise`, a number or shape (nv,)."""
    dq, v = random.uniform(-noise, noise, (2, robot.model.nv))
    return pin.integrate(robot.model, robot.standing, dq), v


def state_itself(state: States) -> np.ndarray:
    """q, v and the goal."""
    return np.concatenate([state.q, state.v, state.goal], axis=-1)


def never(state: States) -> Any:
    """No state ends an episode."""
    return np.zeros(np.shape(state.t), bool)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task as functions, of one state or of many along leading axes.

    An object of your own with functions of these four names is a task too.

    Args:
        reward: reward of a step f(before, after, action), or its terms by name.
        observation: what the policy sees of a state, shape (..., n).
        terminated: whether a state ends the episode.
        reset: start of an episode f(simulator, random): q, v and, if there is one, a goal (k,).
    """

    reward: Callable[[States, States, np.ndarray], Any | Mapping[str, Any]]
    observation: Callable[[States], np.ndarray] = state_itself
    terminated: Callable[[States], Any] = never
    reset: Callable[[Simulator, np.random.Generator], Start] = near_standing


def points(robot: Robot, frame: str, q: np.ndarray) -> np.ndarray:
    """Origins of a frame in the world at configurations (..., nq), shape (..., 3) [m]."""
    model = robot.model
    data, index = model.createData(), model.getFrameId(frame)
    found = []
    for each in q.reshape(-1, model.nq):
        pin.forwardKinematics(model, data, each)
        found.append(pin.updateFramePlacement(model, data, index).translation.copy())
    return np.array(found).reshape(*q.shape[:-1], 3)
