"""Conversion of velocities from and to Pinocchio's free-flyer joint.

In this package a floating base is a translation joint and a rotation joint, so its linear velocity
is in the world frame. That of Pinocchio's `JointModelFreeFlyer` is in the frame of the base.
Configurations, angular velocities, sizes and order are equal.
"""

from collections.abc import Iterator

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.model import FREE_JOINTS
from nmdp_pin._simulator.argument_check import numbers
from nmdp_pin.errors import StateError


def to_free_flyer(model: pin.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocity of a state for a model with Pinocchio's free-flyer, shape (nv,).

    Args:
        model: model of the robot; all floating bases are converted, those of objects too.
        q: configuration, shape (nq,).
        v: velocity, `State.v`, shape (nv,).

    Raises:
        StateError: an argument has a wrong shape, or is no array of numbers.
    """
    return _turned(model, q, v, back=True)


def from_free_flyer(model: pin.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocity `State.v` from that of a model with Pinocchio's free-flyer, shape (nv,).

    Args:
        model: model of the robot; all floating bases are converted, those of objects too.
        q: configuration, shape (nq,).
        v: velocity of the model with the free-flyer, shape (nv,).

    Raises:
        StateError: an argument has a wrong shape, or is no array of numbers.
    """
    return _turned(model, q, v, back=False)


def _turned(model: pin.Model, q: np.ndarray, v: np.ndarray, *, back: bool) -> np.ndarray:
    q = numbers("q", q, StateError, model.nq)
    v = numbers("v", v, StateError, model.nv).copy()
    for translation, rotation in _floating_bases(model):
        start = rotation.idx_q
        R = pin.Quaternion(q[start : start + 4]).toRotationMatrix()
        part = slice(translation.idx_v, translation.idx_v + 3)
        v[part] = (R.T if back else R) @ v[part]
    return v


def _floating_bases(model: pin.Model) -> Iterator[tuple[pin.JointModel, pin.JointModel]]:
    """Translation and rotation joint of each floating base."""
    names = list(model.names)
    for k in range(1, len(names) - 1):
        prefix = names[k].removesuffix(FREE_JOINTS[0])
        if names[k] != prefix and names[k + 1] == prefix + FREE_JOINTS[1]:
            yield model.joints[k], model.joints[k + 1]
