"""Reference motions in time: cubic Hermite curves through a gait's knots."""

import numpy as np
import pinocchio as pin
import scipy  # whose parts are imported when they are used

from nmdp_pin._kernels.algebra.cubic import cubic
from nmdp_pin._robot import Robot
from nmdp_pin._robot.gait import Gait
from nmdp_pin.errors import ControlError


class GaitTrajectory:
    """Joint targets q(t), v(t) of a gait; other joints stand still.

    Cubic Hermite between the knots with zero slopes there, as the papers' authors have it. Knots of
    continuous joints are angles, of any number of turns.

    Args:
        robot: whose standing configuration holds elsewhere.
        gait: the knots.

    Raises:
        ControlError: the gait moves a joint that the robot lacks, or one with several velocities.
    """

    def __init__(self, robot: Robot, gait: Gait) -> None:
        still = np.zeros_like(gait.positions)
        curve = scipy.interpolate.CubicHermiteSpline(gait.times, gait.positions, still)
        self._breaks, self._coefficients = np.array(curve.x), np.ascontiguousarray(curve.c)
        self._gait = gait
        self._q = np.array(robot.standing)
        self._nv = robot.model.nv
        joints = [_simple_joint(robot, name, gait.name) for name in gait.joints]
        self._idx_v = np.array([joint.idx_v for joint in joints])
        self._columns = np.arange(len(joints))
        turning = np.array([joint.nq == 2 for joint in joints], dtype=bool)
        self._turning, self._simple = np.flatnonzero(turning), np.flatnonzero(~turning)
        self._cosines = np.array([joints[k].idx_q for k in self._turning], dtype=int)
        self._idx_q = np.array([joints[k].idx_q for k in self._simple], dtype=int)

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Targets (nq,) [rad, m] and their rates (nv,) [rad/s, m/s] at time t [s]."""
        phase = self._gait.phase(t)
        q, v, position = self._q.copy(), np.zeros(self._nv), np.zeros(len(self._columns))
        cubic(self._breaks, self._coefficients, phase, self._columns, self._idx_v, position, v)
        q[self._idx_q] = position[self._simple]
        if len(self._turning):
            angles = position[self._turning]
            q[self._cosines], q[self._cosines + 1] = np.cos(angles), np.sin(angles)
        return q, v


def _simple_joint(robot: Robot, name: str, gait: str) -> pin.JointModel:
    """Joint of that name with one degree of freedom."""
    model = robot.model
    if not model.existJointName(name):
        raise ControlError(
            f"gait '{gait}' moves joint '{name}', which robot '{robot.name}' has not (or holds "
            f"fixed); its joints are {list(model.names)[1:]}"
        )
    joint = model.joints[model.getJointId(name)]
    if joint.nv != 1:
        raise ControlError(f"gait '{gait}': joint '{name}' needs one velocity, has {joint.nv}")
    return joint
