"""Control of the actuators of a robot's description."""

from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command, Controller
from nmdp_pin._options import Number, checked, unknown
from nmdp_pin._robot import Robot
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError


class Actuators(Controller):
    """The actuators of an MJCF file, each within its ranges of control and force.

    The servo of a joint is in the residual of implicit methods, as gains with the joint's effort
    limit. What else moves the joint is constant in a step and comes to it as `Command.force`.

    Args:
        robot: robot with `Robot.actuators`.
        controls: held controls by name; None: 0, as of those that have none.

    Raises:
        ControlError: there are no actuators, or a name is unknown.
    """

    @checked(ControlError)
    def __init__(self, robot: Robot, *, controls: Mapping[str, Number] | None = None) -> None:
        controls = controls or {}
        if not robot.actuators:
            raise ControlError(f"robot '{robot.name}' has no actuators, which MJCF files have")
        self.names = tuple(a.name for a in robot.actuators)
        for name in controls.keys() - {*self.names}:
            raise ControlError(unknown(name, f"an actuator of robot '{robot.name}'", self.names))
        model, actuators = robot.model, robot.actuators
        self._arms = np.zeros((len(actuators), model.nv))
        for row, actuator in zip(self._arms, actuators, strict=True):
            for joint, arm in actuator.arms.items():
                row[model.joints[model.getJointId(joint)].idx_v] = arm
        self._gain = np.array([a.gain for a in actuators])
        self._control = np.array([a.control for a in actuators])
        self._force = np.array([a.force for a in actuators])
        constant, k, d = np.array([a.bias for a in actuators]).T
        self._constant = constant + k * np.array([a.offset for a in actuators])
        self._servo = np.array([a.is_servo for a in actuators])
        self._kp, self._kd = -k @ self._arms**2, -d @ self._arms**2
        self._beside_servo = (self._arms[self._servo] != 0.0).any(axis=0)
        self._zero = pin.neutral(model)
        self._held = self.command_of([controls.get(name, 0.0) for name in self.names])

    def command_of(self, controls: Sequence[float] | np.ndarray) -> Command:
        """The command of controls, clipped to their ranges.

        Args:
            controls: in the order of `names`, shape (n,).
        """
        u = np.asarray(controls, dtype=float)
        if u.shape != self._gain.shape or not np.isfinite(u).all():
            what = f"controls must be {len(self.names)} finite numbers, got {controls!r}"
            raise ControlError(what)
        asked = self._gain * np.clip(u, *self._control.T) + self._constant
        motors = np.where(self._servo, 0.0, np.clip(asked, *self._force.T)) @ self._arms
        servos = np.where(self._servo, asked, 0.0) @ self._arms
        return Command(
            tau=servos + np.where(self._beside_servo, 0.0, motors),
            kp=self._kp,
            kd=self._kd,
            q_target=self._zero,
            force=np.where(self._beside_servo, motors, 0.0),
        )

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        return self._held
