"""Velocities of a floating base in the axes of pinocchio's free-flyer joint, and back.

Here a floating base is a translation joint and a rotation joint, so the linear part of its velocity
has the axes of the world. Pinocchio's `JointModelFreeFlyer` has it in the axes of the base itself.
The configurations, the angular parts, the sizes and the order are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin

from nmdp_pin.errors import StateError
from nmdp_pin.number_array import numbers
from nmdp_pin.robot.model import FREE_JOINTS


def to_free_flyer(model: pin.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The velocity of a state as a model with pinocchio's free-flyer has it, shape (nv,).

    Args:
        model: of the robot; each floating base in it is turned, those of objects too.
        q: configuration, shape (nq,).
        v: velocity, `State.v`, shape (nv,).

    Raises:
        StateError: an array of another shape, or one that holds no numbers.
    """
    return _turned(model, q, v, back=True)


def from_free_flyer(model: pin.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The velocity of a state, `State.v`, from that of a model with pinocchio's free-flyer, (nv,).

    Args:
        model: of the robot; each floating base in it is turned, those of objects too.
        q: configuration, shape (nq,).
        v: velocity of the model with the free-flyer, shape (nv,).

    Raises:
        StateError: an array of another shape, or one that holds no numbers.
    """
    return _turned(model, q, v, back=False)


def _turned(model: pin.Model, q: np.ndarray, v: np.ndarray, *, back: bool) -> np.ndarray:
    q, v = numbers("q", q, StateError), numbers("v", v, StateError).copy()
    for name, value, size in (("q", q, model.nq), ("v", v, model.nv)):
        if value.shape != (size,):
            raise StateError(f"{name} has shape {value.shape}, expected ({size},)")
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
