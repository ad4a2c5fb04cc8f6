"""What sensors measure: a robot at the end of a step, and before the first one."""

import functools
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._integrators.stage_state import StageState, stage_states
from nmdp_pin._robot import Robot
from nmdp_pin._robot.contact_points import in_world
from nmdp_pin._robot.frames import frame_named
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import ControlError


class Instant:
    """Robot at the end of a step; what a state alone does not say is 0, as if the robot was held.

    Args:
        robot: the robot.
        terrain: the static world; None: none.
        of: the step, or a state before the first step: no acceleration, no contact, no torque.
        scratch: memory of sensors that is dear to make, such as a renderer, by their names.

    Attributes:
        robot: the robot.
        terrain: the static world.
        state: state at the end of the step.
        tau: torque of the command [N m or N], shape (nv,).
        wrenches: mean wrenches of the contacts, as `StepResult.wrenches`, shape (n_contacts, 6).
        scratch: as above.
    """

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain | None,
        of: StepResult | State,
        scratch: dict[str, Any] | None = None,
    ) -> None:
        self.robot, self.terrain = robot, terrain
        self.scratch = {} if scratch is None else scratch
        self._result = of if isinstance(of, StepResult) else None
        if isinstance(of, StepResult):
            self.state, self.tau, self.wrenches = of.state, of.tau, of.wrenches
        else:
            self.state, self.tau = of, np.zeros(robot.model.nv)
            self.wrenches = np.zeros((len(robot.contact_points), 6))

    @functools.cached_property
    def data(self) -> pin.Data:
        """Placements and velocities of all joints and frames."""
        model = self.robot.model
        data = model.createData()
        pin.forwardKinematics(model, data, self.state.q, self.state.v)
        pin.updateFramePlacements(model, data)
        return data

    @functools.cached_property
    def stages(self) -> tuple[tuple[StageState, pin.Data], ...]:
        """Stages of the step, with the kinematics up to the accelerations."""
        state, model = self.state, self.robot.model
        found: tuple[StageState, ...] = ()
        if self._result is not None:
            found = stage_states(model, self._result)
        still = np.zeros(model.nv)
        found = found or (StageState(1.0, state.q, state.v, still, self.wrenches),)
        data = [model.createData() for _ in found]
        for stage, of_stage in zip(found, data, strict=True):
            pin.forwardKinematics(model, of_stage, stage.q, stage.v, stage.a)
        return tuple(zip(found, data, strict=True))

    @functools.cached_property
    def contact_centres(self) -> np.ndarray:
        """Centres of the contact points in the world [m], shape (n_contacts, 3)."""
        points = self.robot.contact_points
        return in_world(self.data, points.joints, points.positions)

    @functools.cached_property
    def reactions(self) -> np.ndarray:
        """Mean wrench of each joint on its body, in its frame [N, N m], shape (n_joints, 6)."""
        model = self.robot.model
        total, scratch = np.zeros((model.njoints, 6)), model.createData()
        for stage, data in self.stages:
            loads = self._loads(stage, data)
            pin.rnea(model, scratch, stage.q, stage.v, stage.a, loads)
            total += stage.weight * np.array([force.vector for force in scratch.f])
        total[0] = 0.0
        return total

    def _loads(self, stage: StageState, data: pin.Data) -> pin.StdVec_Force:
        """Wrenches of contacts and from outside on each body, in the frames of the joints."""
        points = self.robot.contact_points
        at_origin = np.zeros((self.robot.model.njoints, 6))
        acting = np.flatnonzero(stage.wrenches.any(axis=1))
        centres = in_world(data, points.joints[acting], points.positions[acting])
        for point, centre in zip(acting, centres, strict=True):
            wrench = stage.wrenches[point].copy()
            wrench[3:] += np.cross(centre, wrench[:3])
            at_origin[points.joints[point]] += wrench
            at_origin[points.touches[point]] -= wrench
        for outside in self._result.external if self._result else ():
            index = frame_named(self.robot.model, outside.frame, ControlError, "a wrench")
            frame = self.robot.model.frames[index]
            place = data.oMi[frame.parentJoint] * frame.placement
            force, torque = outside.in_world(place.rotation)
            at_origin[frame.parentJoint, :3] += force
            at_origin[frame.parentJoint, 3:] += torque
            at_origin[frame.parentJoint, 3:] += np.cross(place.act(np.array(outside.point)), force)
        for lift in self.robot.lifts:
            joint = self.robot.model.getJointId(lift.joint)
            mass = lift.share * self.robot.model.inertias[joint].mass
            force = -mass * self.robot.model.gravity.linear
            at_origin[joint, :3] += force
            at_origin[joint, 3:] += np.cross(data.oMi[joint].act(np.array(lift.centre)), force)
        loads = pin.StdVec_Force()
        for place, wrench in zip(data.oMi, at_origin, strict=True):
            loads.append(place.actInv(pin.Force(wrench)))
        return loads
