"""Motion of a scripted body through knots."""

import numpy as np
import pinocchio as pin
import scipy  # whose parts are imported when they are used

from nmdp_pin._options import Number, Vector3, checked
from nmdp_pin._robot.gait import Gait
from nmdp_pin.errors import ControlError

_COLUMNS = ("x", "y", "z", "roll", "pitch", "yaw")


class BodyMotion:
    """Pose and velocity of a body, cubic between knots at which it is at rest.

    Args:
        times: times of the knots, increasing [s].
        positions: where the pivot is at the knots, world frame [m].
        rpy: roll, pitch and yaw at the knots, which may be more than a turn [rad]; None: 0.
        pivot: point of the body, in its frame, such as the hinge of a door [m].
        loop: start and end of the part that repeats [s]; None: the last knot is held.

    Raises:
        ControlError: knots are not in order, or their numbers differ.
    """

    @checked(ControlError)
    def __init__(
        self,
        *,
        times: tuple[Number, ...],
        positions: tuple[Vector3, ...],
        rpy: tuple[Vector3, ...] | None = None,
        pivot: Vector3 = (0.0, 0.0, 0.0),
        loop: tuple[Number, Number] | None = None,
    ) -> None:
        angles = np.zeros((len(positions), 3)) if rpy is None else np.array(rpy)
        if len(angles) != len(positions):
            what = f"{len(positions)} positions and {len(angles)} rpy are given, as many are needed"
            raise ControlError(what)
        knots = np.hstack([np.array(positions), angles])
        self._gait = Gait("motion", _COLUMNS, np.array(times), knots, loop)
        still = np.zeros_like(knots)
        self._curve = scipy.interpolate.CubicHermiteSpline(self._gait.times, knots, still)
        self._slope, self._pivot = self._curve.derivative(), np.array(pivot)

    def __call__(self, t: float) -> tuple[pin.SE3, np.ndarray]:
        """Pose at a time [s], and velocity and angular velocity along the world's axes, (6,)."""
        phase = self._gait.phase(t)
        place, angles = np.split(self._curve(phase), 2)
        velocity, rates = np.split(self._slope(phase), 2)
        R = pin.rpy.rpyToMatrix(angles)
        angular = pin.rpy.computeRpyJacobian(angles, pin.LOCAL_WORLD_ALIGNED) @ rates
        arm = -R @ self._pivot
        linear = velocity + np.cross(angular, arm)
        return pin.SE3(R, place + arm), np.concatenate([linear, angular])
