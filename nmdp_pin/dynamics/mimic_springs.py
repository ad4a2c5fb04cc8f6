"""Stiff springs that hold mimic joints to their primary joints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.dynamics.joint_bounds import largest_loads
from nmdp_pin.robot import Robot

_STATIC_ERROR = 1e-6  # [rad or m] by which the largest static load moves a joint off its primary


class MimicSprings(NamedTuple):
    """The springs of a robot's mimic joints, as `kernels.joint_springs` reads them.

    An implicit step is stable at any stiffness, and damps oscillations of the springs.

    Args:
        coordinates: indices of the mimic and the primary joint in q, shape (c, 2).
        dofs: indices of the mimic and the primary joint in v, shape (c, 2).
        multiplier: multipliers of the primary positions, shape (c,).
        offset: offsets of the mimic positions [rad or m], shape (c,).
        stiffness: stiffness of the springs [N m/rad or N/m], shape (c,).
    """

    coordinates: np.ndarray
    dofs: np.ndarray
    multiplier: np.ndarray
    offset: np.ndarray
    stiffness: np.ndarray

    @classmethod
    def of(cls, robot: Robot) -> MimicSprings:
        """The springs of a robot's mimic joints."""
        model, mimics = robot.model, robot.limits.mimics
        joints = [
            [model.joints[model.getJointId(name)] for name in (m.joint, m.primary)] for m in mimics
        ]
        dofs = np.array([[joint.idx_v for joint in pair] for pair in joints], dtype=np.int64)
        dofs = dofs.reshape(-1, 2)
        coordinates = np.array([[joint.idx_q for joint in pair] for pair in joints], dtype=np.int64)
        return cls(
            coordinates.reshape(-1, 2),
            dofs,
            np.array([m.multiplier for m in mimics], dtype=float),
            np.array([m.offset for m in mimics], dtype=float),
            largest_loads(robot)[dofs].max(axis=1, initial=0.0) / _STATIC_ERROR,
        )
