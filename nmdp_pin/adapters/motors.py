"""Motors driven by actions in [-1, 1]."""

import numpy as np

from nmdp_pin._control.controller import Command
from nmdp_pin._robot import Robot
from nmdp_pin.errors import ControlError

ACTIONS = ("target", "torque")
REACH = 0.5  # [rad or m] of a target from the standing pose at action 1; there kp asks for all
_DAMPING_TIME = 0.04  # [s] kd = kp * this


class Motors:
    """Motors that turn one action in [-1, 1] each into the command of a step.

    An action is either a target, `REACH` times it from the standing pose, held by a spring and a
    damper, or the torque as a share of the motor's largest. The simulator has the stops at the ends
    of the joints' ranges. Springs and dampers are gains of the command, so an implicit method holds
    them at any length of step.

    Args:
        robot: robot with ranges and effort limits, `Robot.limits` or, without, those of its URDF.
        action: one of `ACTIONS`.

    Raises:
        ControlError: an unknown kind of action, no motor, or one without a largest torque.
    """

    def __init__(self, robot: Robot, action: str = "target") -> None:
        if action not in ACTIONS:
            raise ControlError(f"action must be one of {ACTIONS}, got {action!r}")
        model = robot.model
        self._robot, self._targets = robot, action == "target"
        self._data = model.createData()
        joints = {joint.idx_v: joint for joint in model.joints}
        self._v = np.asarray(robot.driven, dtype=int)
        self._q = np.array([joints[v].idx_q for v in self._v.tolist()], dtype=int)
        self.torques = _given(robot.limits.effort[self._v], model.effortLimit[self._v])
        if not (len(self._v) and np.isfinite(self.torques).all() and (self.torques > 0.0).all()):
            raise ControlError(
                f"robot '{robot.name}' has no driven joint, or one whose <limit> in the URDF has "
                "no effort; say there how much torque each motor has"
            )
        if any(joints[v].nq != 1 for v in self._v.tolist()):
            raise ControlError(
                f"robot '{robot.name}' has a continuous driven joint; make it revolute with a "
                "range, for a target needs one number"
            )
        self._low = _given(robot.limits.lower[self._v], model.lowerPositionLimit[self._q])
        self._high = _given(robot.limits.upper[self._v], model.upperPositionLimit[self._q])

    def __len__(self) -> int:
        return len(self._v)

    def command(self, action: np.ndarray) -> Command:
        """The command of a step.

        Args:
            action: shape (n_motors,), within [-1, 1].
        """
        tau, target = self.asked(action)
        kp = np.zeros(self._robot.model.nv)
        if self._targets:
            kp[self._v] = self.torques / REACH
        return Command(tau=tau, kp=kp, kd=_DAMPING_TIME * kp, q_target=target)

    def asked(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Torques and targets, shapes (..., nv) and (..., nq), of actions, (..., n_motors)."""
        tau = np.zeros((*actions.shape[:-1], self._robot.model.nv))
        target = np.zeros((*actions.shape[:-1], self._robot.model.nq)) + self._robot.standing
        if self._targets:
            aims = target[..., self._q] + REACH * actions
            target[..., self._q] = np.clip(aims, self._low, self._high)
        else:
            tau[..., self._v] = self.torques * actions
        return tau, target


def _given(limits: np.ndarray, described: np.ndarray) -> np.ndarray:
    """Limits of the robot, and those of its description where it has none."""
    return np.where(np.isfinite(limits), limits, described)
