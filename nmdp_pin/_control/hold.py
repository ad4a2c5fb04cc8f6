"""Stable PD that holds a pose, with gains from the inertia that each joint moves."""

from typing import Annotated

import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._control.stable_pd import Rest, StablePD
from nmdp_pin._options import Number, checked, numbers
from nmdp_pin._robot import Robot
from nmdp_pin.errors import ControlError

# An arm of length l sags under gravity by about g / (l (2 pi f)^2): 5 mm at 0.5 m.
FREQUENCY = 10.0  # [Hz]
DAMPING_RATIO = 1.0


@checked(ControlError)
def hold(
    robot: Robot,
    q: np.ndarray | None = None,
    *,
    frequency: Annotated[Number, Field(gt=0, le=1e3)] = FREQUENCY,
    damping_ratio: Annotated[Number, Field(gt=0, le=1e3)] = DAMPING_RATIO,
) -> StablePD:
    """Stable PD that holds a configuration.

    kp = I (2 pi f)^2 and kd = 2 zeta I 2 pi f, where I is the inertia that the joint moves in that
    configuration: the diagonal entry of the mass matrix, with the reflected inertia of its rotor.
    Where the base is free, a leg that stands moves the rest of the robot instead, so I is the
    larger of the inertias on both sides of the joint.

    Args:
        robot: robot whose driven joints get the gains.
        q: configuration to hold, shape (nq,); None: the standing pose.
        frequency: natural frequency f of each joint by itself [Hz].
        damping_ratio: damping ratio zeta, 1 is critical [-].

    Raises:
        ControlError: q has a wrong shape, or an option is no number > 0.
    """
    given = numbers("q", robot.standing if q is None else q, ControlError, robot.model.nq)
    target = given.copy()
    rate = 2.0 * np.pi * frequency
    inertias = moved_inertias(robot, target)
    kp = {name: rate**2 * inertia for name, inertia in inertias.items()}
    kd = {name: 2.0 * damping_ratio * rate * inertia for name, inertia in inertias.items()}
    return StablePD(robot, kp=kp, kd=kd, gait=Rest(target, np.zeros(robot.model.nv)))


def moved_inertias(robot: Robot, q: np.ndarray) -> dict[str, float]:
    """Inertia that each driven joint moves [kg m^2 or kg], by the joint's name; see `hold`."""
    model, data = robot.model, robot.model.createData()
    pin.crba(model, data, q)
    J = pin.computeJointJacobians(model, data, q)
    driven = set(np.asarray(robot.driven).tolist())
    result = {}
    for k in range(1, model.njoints):
        column = model.joints[k].idx_v
        if column not in driven:
            continue
        inertia = float(data.M[column, column])
        if robot.floating:
            motion = pin.Motion(J[:, column])
            beyond = data.oMi[k].act(data.Ycrb[k])
            before = _rest(data, model, k, beyond)
            inertia = max(inertia, float(before.vtiv(motion)) + float(model.armature[column]))
        result[str(model.names[k])] = inertia
    return result


def _rest(data: pin.Data, model: pin.Model, joint: int, beyond: pin.Inertia) -> pin.Inertia:
    """Inertia of the bodies on the near side of a joint, world frame."""
    root = joint
    while model.parents[root] > 0:
        root = model.parents[root]
    whole = data.oMi[root].act(data.Ycrb[root])
    rest = pin.Inertia(whole)
    rest -= beyond
    return rest
