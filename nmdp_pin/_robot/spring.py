"""Springs of joints."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.joint_limits import simple_joints


@dataclass(frozen=True, eq=False)
class Spring:
    """A spring of a joint, of energy stiffness e^2 / 2, e being the way of the joint from its rest.

    Of a ball joint e is the rotation vector, of a translation the way of each coordinate.

    Args:
        joint: name of the joint: a hinge or slide with one coordinate, a ball, or a translation.
        stiffness: [N m/rad or N/m].
        rest: position without force [rad or m]: a number, a unit quaternion (x, y, z, w), or a
            translation.
    """

    joint: str
    stiffness: float
    rest: float | np.ndarray = 0.0


def spring_efforts(springs: Iterable[Spring], model: pin.Model, q: np.ndarray) -> np.ndarray:
    """Efforts of the springs of hinges and slides at q, (nq,), on all dofs [N m or N], (nv,)."""
    efforts, simple = np.zeros(model.nv), simple_joints(model)
    for spring in springs:
        if spring.joint in simple:
            joint = simple[spring.joint]
            efforts[joint.idx_v] -= spring.stiffness * (q[joint.idx_q] - spring.rest)
    return efforts
