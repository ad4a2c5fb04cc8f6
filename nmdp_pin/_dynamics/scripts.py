"""Scripted joints as the kernels know them."""

import numpy as np

from nmdp_pin._kernels.geometry.contacts import ContactPairs
from nmdp_pin._robot import Robot
from nmdp_pin._robot.joint_limits import dofs_of


def scripted_dofs(robot: Robot) -> np.ndarray:
    """Whether commands state the motion of a dof, shape (nv,), or (0,): of none."""
    found = dofs_of(robot.model, robot.scripted)
    return found if robot.scripted else found[:0]


def idle_pairs(robot: Robot, scripted: np.ndarray, pairs: ContactPairs) -> np.ndarray:
    """Whether nothing moves the bodies of a pair but scripts, shape (k,), or (0,)."""
    if not len(scripted):
        return np.zeros(0, dtype=bool)
    model = robot.model
    moved = np.zeros(model.njoints, dtype=bool)
    for k in range(1, model.njoints):
        joint = model.joints[k]
        free = not scripted[joint.idx_v : joint.idx_v + joint.nv].all()
        moved[k] = moved[model.parents[k]] or free
    idle: np.ndarray = ~moved[pairs.bodies].any(axis=1)
    return idle
