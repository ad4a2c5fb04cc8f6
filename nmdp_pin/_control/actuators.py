"""Control of the actuators of a robot's description."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command, Controller, ExternalWrench
from nmdp_pin._options import Number, checked, numbers, shown, unknown
from nmdp_pin._robot import Robot
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError


class Actuators(Controller):
    """The actuators of a robot's description, each within its ranges of control and force.

    The servo of a joint is in the residual of implicit methods, as gains with the joint's effort
    limit. What else moves the joint is constant in a step and comes to it as `Command.force`, and
    thrusters as `Command.wrenches`. As a controller it holds controls from t = 0 on.

    Args:
        robot: robot with `Robot.actuators`.
        controls: held controls by name; None: 0, as of those that have none.

    Attributes:
        names: names of the actuators.
        activations: values at the start of those that follow their controls, 0 of the others, (n,).

    Raises:
        ControlError: there are no actuators, or a name is unknown.
    """

    follows_time: ClassVar[bool] = True

    @checked(ControlError)
    def __init__(self, robot: Robot, *, controls: Mapping[str, Number] | None = None) -> None:
        controls = controls or {}
        if not robot.actuators:
            raise ControlError(f"robot '{robot.name}' has no actuators, which MJCF files have")
        self.names = tuple(a.name for a in robot.actuators)
        for name in controls.keys() - {*self.names}:
            raise ControlError(unknown(name, f"an actuator of robot '{robot.name}'", self.names))
        model, self._actuators = robot.model, robot.actuators
        actuators = robot.actuators
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
        self._follow = np.array([a.activation is not None for a in actuators])
        self.activations = np.array(
            [a.activation.start if a.activation else 0.0 for a in actuators]
        )
        self._kp, self._kd = -k @ self._arms**2, -d @ self._arms**2
        self._beside_servo = (self._arms[self._servo] != 0.0).any(axis=0)
        self._zero = pin.neutral(model)
        self._held = np.array([controls.get(name, 0.0) for name in self.names])
        self._constantly = self.command_of(self._held, self.activations)

    def activated(
        self, activations: np.ndarray, controls: Sequence[float] | np.ndarray, h: float
    ) -> np.ndarray:
        """Activations after a time in which controls are held, shape (n,).

        Args:
            activations: those before, shape (n,).
            controls: in the order of `names`, shape (n,).
            h: the time [s].
        """
        u = np.clip(self._checked("controls", controls), *self._control.T)
        now = self._checked("activations", activations).tolist()
        if not isinstance(h, float | int | np.number) or not 0.0 <= h < np.inf:
            raise ControlError(f"h must be a finite time [s] >= 0, got {shown(h)}")
        return np.array(
            [
                actuator.activation.after(act, control, h) if actuator.activation else 0.0
                for actuator, act, control in zip(self._actuators, now, u.tolist(), strict=True)
            ]
        )

    def command_of(
        self, controls: Sequence[float] | np.ndarray, activations: np.ndarray | None = None
    ) -> Command:
        """The command of controls, clipped to their ranges.

        Args:
            controls: in the order of `names`, shape (n,).
            activations: values at the end of the step of those that follow their controls, which
                act in their place, shape (n,); None: there are none.
        """
        u = np.clip(self._checked("controls", controls), *self._control.T)
        if activations is None and self._follow.any():
            slow = ", ".join(n for n, x in zip(self.names, self._follow, strict=True) if x)
            raise ControlError(f"activations are needed, which `activated` returns, of {slow}")
        if activations is not None:
            u = np.where(self._follow, self._checked("activations", activations), u)
        asked = self._gain * u + self._constant
        forces = np.clip(asked, *self._force.T)
        motors = np.where(self._servo, 0.0, forces) @ self._arms
        servos = np.where(self._servo, asked, 0.0) @ self._arms
        return Command(
            tau=servos + np.where(self._beside_servo, 0.0, motors),
            kp=self._kp,
            kd=self._kd,
            q_target=self._zero,
            force=np.where(self._beside_servo, motors, 0.0),
            wrenches=tuple(
                ExternalWrench(
                    force=tuple(force * x for x in actuator.wrench[:3]),
                    torque=tuple(force * x for x in actuator.wrench[3:]),
                    frame=actuator.frame,
                    turned=True,
                )
                for actuator, force in zip(self._actuators, forces.tolist(), strict=True)
                if actuator.frame
            ),
        )

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        if not self._follow.any():
            return self._constantly
        now = self.activated(self.activations, self._held, state.t + h)
        return self.command_of(self._held, now)

    def _checked(self, name: str, values: Sequence[float] | np.ndarray) -> np.ndarray:
        u = numbers(name, values, ControlError)
        if u.shape != self._gain.shape or not np.isfinite(u).all():
            what = f"{name} must be {len(self.names)} finite numbers"
            raise ControlError(f"{what}, got {shown(values)}")
        return u
