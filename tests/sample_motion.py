"""A small robot and a made-up motion of it: material for tests of what a run leaves."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._runs.recording import Recording
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status

LEG = 0.4  # length of a leg [m]


def hopper() -> Robot:
    """A floating torso on two legs with one hinge each: nq = 9, nv = 8, two contact points."""
    model = pin.Model()
    torso = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(torso, pin.Inertia.FromBox(10.0, 0.6, 0.3, 0.2), pin.SE3.Identity())
    model.addBodyFrame("torso", torso, pin.SE3.Identity(), 0)
    looks = pin.GeometryModel()
    looks.addGeometryObject(_look("torso", torso, coal.Box(0.6, 0.3, 0.2), pin.SE3.Identity()))
    joints = []
    for name, x in (("front", 0.25), ("rear", -0.25)):
        hip = pin.SE3(np.eye(3), np.array([x, 0.0, -0.1]))
        joint = model.addJoint(torso, pin.JointModelRY(), hip, f"{name}_hip")
        middle = pin.SE3(np.eye(3), np.array([0.0, 0.0, -LEG / 2]))
        model.appendBodyToJoint(joint, pin.Inertia.FromCylinder(1.0, 0.03, LEG), middle)
        model.addBodyFrame(f"{name}_leg", joint, pin.SE3.Identity(), 0)
        looks.addGeometryObject(_look(f"{name}_leg", joint, coal.Cylinder(0.03, LEG), middle))
        joints.append(joint)
    points = ContactPoints(
        names=("front_foot", "rear_foot"),
        joints=np.array(joints),
        positions=np.array([[0.0, 0.0, -LEG], [0.0, 0.0, -LEG]]),
        radii=np.array([0.03, 0.03]),
    )
    standing = pin.neutral(model)
    standing[2] = 0.1 + LEG + 0.03
    return Robot(
        name="hopper",
        model=model,
        contact_points=points,
        driven=np.array([6, 7]),
        standing=standing,
        visual_model=looks,
    )


def _look(name: str, joint: int, shape: coal.ShapeBase, place: pin.SE3) -> pin.GeometryObject:
    look = pin.GeometryObject(name, joint, place, shape)
    look.meshColor = np.array([0.2, 0.4, 0.8, 1.0])
    return look


def hop_state(robot: Robot, t: float) -> State:
    """State at time t of hops of 0.2 m and 1 s, at 0.5 m/s, the torso rocking by 0.1 rad."""
    q = robot.standing.copy()
    q[0] = 0.5 * t
    q[2] += 0.2 * abs(np.sin(np.pi * t))
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.1 * np.sin(2 * np.pi * t), 0.0)).coeffs()
    q[7:] = [0.3 * np.sin(2 * np.pi * t), -0.3 * np.sin(2 * np.pi * t)]
    v = np.zeros(robot.model.nv)
    v[0] = 0.5
    return State(t=t, q=q, v=v)


def hop_result(robot: Robot, t: float, *, status: Status = Status.CONVERGED) -> StepResult:
    """A step that ends at time t, with forces while the feet are near the ground."""
    state = hop_state(robot, t)
    pushing = state.q[2] - robot.standing[2] < 0.05
    force = np.array([[10.0, 0.0, 60.0], [-5.0, 2.0, 58.0]]) * pushing
    return StepResult(
        state=state,
        status=status,
        tau=np.linspace(0.0, t, robot.model.nv),
        contact_forces=force,
        wrenches=np.hstack([force, np.zeros((2, 3))]),
        contact_depths=np.array([0.002, 0.001]) * pushing,
        iterations=3 + int(10 * t) % 4,
        work=1,
        evaluations=12,
        step_sizes=(0.03, 0.02) if int(20 * t) % 10 == 0 else (0.05,),
        residual=1e-9,
        objective=0.1 / 3.0 + t,
        kinetic_energy=1.5,
        potential_energy=9.81 * 12.0 * state.q[2],
    )


def hop_recorder(*, duration: float = 2.0, dt: float = 0.05) -> Recorder:
    """A recorder that holds the hops of `duration` seconds."""
    robot = hopper()
    recorder = Recorder(robot, hop_state(robot, 0.0), {"scenario": {"integrator": {"dt": dt}}})
    for k in range(1, round(duration / dt) + 1):
        recorder.record(hop_result(robot, k * dt), wall_time=0.002)
    return recorder


def hop_recording(*, duration: float = 2.0, dt: float = 0.05) -> Recording:
    """What `hop_recorder` recorded."""
    return hop_recorder(duration=duration, dt=dt).recording()
