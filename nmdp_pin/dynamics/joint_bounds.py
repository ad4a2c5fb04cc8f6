"""Stops and dry friction of the joints as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin.robot import Robot

_STATIC_DEPTH = 1e-4  # [rad or m] to which the largest static load presses a joint into its stop


class JointBounds(NamedTuple):
    """Joints that have a stop or dry friction, in the order of `JointLimits.bounded`.

    The element of the interval that dissipates the most acts: a stop is inelastic, dry friction
    holds or opposes the motion. Positions beyond a stop are penetrations, as those of contacts.

    Args:
        coordinates: index of each joint in q, shape (r,).
        dofs: index in v, shape (r,).
        lower: position of the lower stop [rad or m], shape (r,).
        upper: position of the upper stop [rad or m], shape (r,).
        stiffness: of the stops [N m/rad or N/m], shape (r,).
        friction: dry friction [N m or N], shape (r,).
    """

    coordinates: np.ndarray
    dofs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    stiffness: np.ndarray
    friction: np.ndarray

    @classmethod
    def of(cls, robot: Robot) -> JointBounds:
        """The stops and the friction of a robot's joints.

        A stop carries the motor's effort or the weight of what the joint moves, whichever is more,
        at a penetration of 0.1 mrad or 0.1 mm. The moment of a weight m g with inertia M about the axis
        is at most g sqrt(m M).
        """
        model, limits = robot.model, robot.limits
        dofs = limits.bounded
        joints = {joint.idx_v: index for index, joint in enumerate(model.joints) if joint.nv == 1}
        moving = [joints[dof] for dof in dofs.tolist()]
        data = model.createData()
        pin.computeSubtreeMasses(model, data)
        inertia = pin.crba(model, data, robot.standing).diagonal()[dofs]
        mass = np.array([data.mass[joint] for joint in moving])
        weight = STANDARD_GRAVITY * np.sqrt(mass * inertia)
        effort = np.where(np.isfinite(limits.effort[dofs]), limits.effort[dofs], 0.0)
        return cls(
            np.array([model.joints[joint].idx_q for joint in moving], dtype=np.int64),
            dofs,
            limits.lower[dofs],
            limits.upper[dofs],
            np.maximum(weight, effort) / _STATIC_DEPTH,
            limits.friction[dofs],
        )

    def gap(self, q: np.ndarray) -> np.ndarray:
        """Distance of the joints from the nearer stop, negative beyond it, shape (r,)."""
        x = q[self.coordinates]
        result: np.ndarray = np.minimum(x - self.lower, self.upper - x)
        return result

    def inward(self, q: np.ndarray) -> np.ndarray:
        """Direction away from the nearer stop, 1 or -1, and 0 where there is none, shape (r,)."""
        x = q[self.coordinates]
        result = np.where(x - self.lower < self.upper - x, 1.0, -1.0)
        result[np.isinf(self.gap(q))] = 0.0
        return result
