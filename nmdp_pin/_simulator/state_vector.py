"""States as vectors x = [q; v] on a manifold, and velocities of Pinocchio's free-flyer.

In this package a floating base is a translation joint and a rotation joint, so its linear velocity
is in the world frame. That of Pinocchio's `JointModelFreeFlyer` is in the frame of the base.
Configurations, angular velocities, sizes and order are equal.
"""

from collections.abc import Iterator

import numpy as np
import pinocchio as pin

from nmdp_pin._options import check_part, numbers
from nmdp_pin._robot.model import FREE_JOINTS
from nmdp_pin._state.state import State
from nmdp_pin.errors import StateError


class StateVector:
    """Space of x = [q; v]; its tangents are [dq; dv], with dq in the tangent space at q.

    Args:
        model: model of the robot.
    """

    def __init__(self, model: pin.Model) -> None:
        self.model = model
        self.nq, self.nv = model.nq, model.nv
        self.nx, self.ndx = model.nq + model.nv, 2 * model.nv

    def neutral(self) -> np.ndarray:
        """Pinocchio's neutral configuration at rest, shape (nx,)."""
        return np.concatenate([pin.neutral(self.model), np.zeros(self.nv)])

    def pack(self, state: State) -> np.ndarray:
        """[q; v] of a state, shape (nx,); time and warm start are left out."""
        check_part("state", state, State, StateError)
        return np.concatenate([state.q, state.v])

    def unpack(self, x: np.ndarray, t: float = 0.0) -> State:
        """State of [q; v], without warm start.

        Raises:
            StateError: x has a wrong shape, or is no array of numbers.
        """
        x = numbers("x", x, StateError, self.nx)
        return State(t, x[: self.nq].copy(), x[self.nq :].copy())

    def difference(self, x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
        """Tangent at x0 that leads to x1, shape (ndx,).

        Raises:
            StateError: an argument has a wrong shape.
        """
        x0, x1 = numbers("x0", x0, StateError, self.nx), numbers("x1", x1, StateError, self.nx)
        dq = pin.difference(self.model, x0[: self.nq], x1[: self.nq])
        return np.concatenate([dq, x1[self.nq :] - x0[self.nq :]])

    def integrate(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Sum of x and the tangent dx on the manifold, shape (nx,).

        Raises:
            StateError: an argument has a wrong shape.
        """
        x, dx = numbers("x", x, StateError, self.nx), numbers("dx", dx, StateError, self.ndx)
        q = pin.integrate(self.model, x[: self.nq], dx[: self.nv])
        return np.concatenate([q, x[self.nq :] + dx[self.nv :]])


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
    check_part("model", model, pin.Model, StateError)
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
