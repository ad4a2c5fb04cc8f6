"""Flight: a floating robot that its thrusters move along a path."""

from typing import Annotated

import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._control.actuators import Actuators
from nmdp_pin._control.body_motion import BodyMotion
from nmdp_pin._control.controller import Command, Controller
from nmdp_pin._options import Number, Vector3, checked
from nmdp_pin._robot import Robot
from nmdp_pin._robot.model import FREE_JOINTS
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError

_FASTER = 4.0  # rate at which it turns, over that at which it moves


class Flight(Controller):
    """Thrusters of a floating robot, such as a drone, that follow a path of its base.

    A force as of a spring and a damper without overshoot leads the base along the path. It turns to
    where its thrusters push that way (Lee, Leok and McClamroch, Geometric tracking control of a
    quadrotor UAV on SE(3), 2010), and their forces, by least squares, are clipped to their ranges.

    Args:
        robot: robot with a floating base and thrusters.
        times: times of the knots, increasing [s].
        positions: positions of the base at the knots, where it is at rest, world frame [m].
        yaw: its heading [rad].
        frequency: natural frequency of the spring [Hz].

    Raises:
        ControlError: the base is fixed, or its thrusters cannot carry or turn it.
    """

    @checked(ControlError)
    def __init__(
        self,
        robot: Robot,
        *,
        times: tuple[Number, ...],
        positions: tuple[Vector3, ...],
        yaw: Number = 0.0,
        frequency: Annotated[Number, Field(gt=0, le=1e3)] = 0.5,
    ) -> None:
        model, data = robot.model, robot.model.createData()
        pushing = [(k, a) for k, a in enumerate(robot.actuators) if a.frame]
        if not (pushing and model.existJointName(FREE_JOINTS[-1])):
            raise ControlError(f"robot '{robot.name}' needs a free-flyer base and thrusters")
        self._motors, self._chosen = Actuators(robot), [k for k, _ in pushing]
        root = model.getJointId(FREE_JOINTS[-1])
        pin.crba(model, data, robot.standing)
        pin.updateFramePlacements(model, data)
        body = data.Ycrb[root]
        self._mass, self._inertia, self._g = body.mass, body.inertia, model.gravity.linear
        com = pin.SE3(np.eye(3), body.lever)
        wrenches = [
            com.actInv(data.oMi[root].actInv(data.oMf[model.getFrameId(a.frame)]))
            .act(pin.Force(np.array(a.wrench)))
            .vector
            for _, a in pushing
        ]
        W = np.array(wrenches).T
        up = W[:3].sum(axis=1)
        if np.linalg.matrix_rank(W[3:]) < 3 or not up.any():
            raise ControlError(f"the thrusters of robot '{robot.name}' cannot carry and turn it")
        self._up = up / np.linalg.norm(up)
        self._shares = np.linalg.pinv(np.vstack([self._up @ W[:3], W[3:]]))
        self._path = BodyMotion(times=times, positions=positions)
        self._yaw, self._rate = yaw, 2.0 * np.pi * frequency

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        place, velocity = self._path(state.t + h)
        rate, turning = self._rate, _FASTER * self._rate
        R = pin.Quaternion(state.q[3:7]).toRotationMatrix()
        wanted = rate**2 * (place.translation - state.q[:3]) - self._g
        wanted += 2.0 * rate * (velocity[:3] - state.v[:3])
        heading = pin.rpy.rpyToMatrix(0.0, 0.0, self._yaw)
        to = pin.Quaternion.FromTwoVectors(heading @ self._up, wanted).toRotationMatrix() @ heading
        error = R.T @ to
        lean = pin.unSkew(0.5 * (error - error.T))
        turn = self._inertia @ (turning**2 * lean - 2.0 * turning * state.v[3:6])
        push = self._mass * max(float(wanted @ (R @ self._up)), 0.0)
        controls = np.zeros(len(self._motors.names))
        controls[self._chosen] = self._shares @ [push, *turn]
        return self._motors.command_of(controls, self._motors.activations)
