"""Stops and dry friction of the joints as flat arrays, with the loads that size them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin.kernels.joint_forces import intervals, stops
from nmdp_pin.robot import Robot

_STATIC_DEPTH = 1e-4  # [rad or m] to which the largest static load presses a joint into its stop


class JointBounds(NamedTuple):
    """Joints with a stop or dry friction, in the order of `JointLimits.bounded`.

    The element of the interval that dissipates the most acts: a stop is inelastic, dry friction
    holds or opposes the motion. Positions beyond a stop are penetrations, as those of contacts.

    Args:
        coordinates: index of each joint in q, shape (r,).
        dofs: index of each joint in v, shape (r,).
        lower: position of the lower stop [rad or m], shape (r,).
        upper: position of the upper stop [rad or m], shape (r,).
        stiffness: stiffness of the stops [N m/rad or N/m], shape (r,).
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
        """Stops and dry friction of a robot's joints.

        At a penetration of 0.1 mrad or 0.1 mm a stop carries the largest static load.
        """
        model, limits = robot.model, robot.limits
        dofs = limits.bounded
        coordinates = {joint.idx_v: joint.idx_q for joint in list(model.joints)[1:]}
        return cls(
            np.array([coordinates[dof] for dof in dofs.tolist()], dtype=np.int64),
            dofs,
            limits.lower[dofs],
            limits.upper[dofs],
            largest_loads(robot)[dofs] / _STATIC_DEPTH,
            limits.friction[dofs],
        )

    def least(self, q: np.ndarray) -> np.ndarray:
        """Least forces of the joints' intervals, to which the weights add [N m or N], (r,)."""
        return self._intervals(q)[0]

    def widening(self, q: np.ndarray) -> np.ndarray:
        """Derivative of the widths of the intervals with respect to the positions, shape (r,)."""
        return self._intervals(q)[3]

    def _intervals(self, q: np.ndarray) -> np.ndarray:
        coordinates, _, lower, upper, stiffness, friction = self
        result = np.empty((4, len(coordinates)))
        intervals(coordinates, lower, upper, stiffness, friction, q, result)
        return result

    def gap(self, q: np.ndarray) -> np.ndarray:
        """Distance of the joints from the nearer stop, negative beyond it, shape (r,)."""
        return self.stops(q)[0]

    def inward(self, q: np.ndarray) -> np.ndarray:
        """Direction away from the nearer stop, 1 or -1, and 0 where there is none, shape (r,)."""
        return self.stops(q)[1]

    def stops(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`gap` and `inward`."""
        gap, inward = np.empty(len(self.dofs)), np.empty(len(self.dofs))
        stops(self.coordinates, self.lower, self.upper, q, gap, inward)
        return gap, inward


def largest_loads(robot: Robot) -> np.ndarray:
    """Larger one of the motor's effort and the weight that each dof moves [N m or N], (nv,).

    The moment of a weight m g with inertia M about the axis is at most g sqrt(m M).

    Args:
        robot: robot whose joints are concerned, with everything that they move.
    """
    model, effort = robot.model, robot.limits.effort
    data = model.createData()
    pin.computeSubtreeMasses(model, data)
    inertia = pin.crba(model, data, robot.standing).diagonal()
    joints = enumerate(list(model.joints)[1:], 1)
    mass = np.concatenate([np.full(joint.nv, data.mass[index]) for index, joint in joints])
    weight = STANDARD_GRAVITY * np.sqrt(mass * inertia)
    result: np.ndarray = np.maximum(weight, np.where(np.isfinite(effort), effort, 0.0))
    return result
