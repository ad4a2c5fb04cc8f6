"""Blocks on a limit surface, and how a finger pushes them in the limit of no inertia."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from nmdp_pin._control import Command, Controller
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._state.state import State
from nmdp_pin.contact import LimitSurface, PlanarSliding

G = 9.81  # [m/s^2]
MASS = 1.0  # [kg]
SIDE = 0.1  # [m]
HEIGHT = 0.02  # [m]
DEPTH = 1e-4  # [m] at rest
HALF = 0.5 * SIDE
CORNERS = tuple((x, y, 0.0) for x in (-HALF, HALF) for y in (-HALF, HALF))


def patch(surface: LimitSurface, **options: object) -> PlanarSliding:
    """The patch that carries MASS at DEPTH, by one contact."""
    return PlanarSliding(surface=surface, stiffness=MASS * G / DEPTH**2, power=2, **options)


def corner_patch(surface: LimitSurface, **options: object) -> PlanarSliding:
    """The patch that carries `free_block` at DEPTH, shared by its four corners."""
    stiffness = MASS * G / (4.0 * DEPTH**2)
    return PlanarSliding(surface=surface, stiffness=stiffness, power=2, arms=CORNERS, **options)


def free_block() -> Robot:
    """A slab on a floating base that touches the ground with the corners of its underside."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    inertia = pin.Inertia.FromBox(MASS, SIDE, SIDE, HEIGHT)
    model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    standing = pin.neutral(model)
    standing[2] = 0.5 * HEIGHT - DEPTH
    corners = np.array(CORNERS) - [0.0, 0.0, 0.5 * HEIGHT]
    names = tuple(f"corner{i}" for i in range(4))
    points = ContactPoints(names, np.full(4, joint), corners, np.zeros(4))
    return Robot("block", model, points, np.zeros(0, int), standing)


def pushed_block(lever: float) -> Robot:
    """The slab behind a finger that moves along x: z, x, then a slider along y and a hinge.

    The finger touches the slab's rear face at `lever` [m] beside its middle. As slider and hinge
    are free, it exerts a force along x and no other.
    """
    model = pin.Model()
    joint = 0
    for kind, name in (
        (pin.JointModelPZ(), "sink"),
        (pin.JointModelPX(), "finger"),
        (pin.JointModelPY(), "slip"),
        (pin.JointModelRZ(), "turn"),
    ):
        joint = model.addJoint(joint, kind, pin.SE3.Identity(), name)
    middle = np.array([HALF, -lever, 0.0])
    inertia = pin.Inertia.FromBox(MASS, SIDE, SIDE, HEIGHT)
    model.appendBodyToJoint(joint, inertia, pin.SE3(np.eye(3), middle))
    standing = np.array([-DEPTH, 0.0, 0.0, 0.0])
    points = ContactPoints(("patch",), np.array([joint]), middle[None], np.zeros(1))
    return Robot("pushed", model, points, np.array([1]), standing)


class Finger(Controller):
    """A spring that draws the joint "finger" along at a steady speed.

    Args:
        speed: [m/s].
        stiffness: [N/m].
    """

    def __init__(self, speed: float, stiffness: float) -> None:
        self.speed, self.stiffness = speed, stiffness

    def command(self, state: State, h: float) -> Command:
        """See the contract."""
        target = np.zeros(4)
        target[1] = self.speed * (state.t + h)
        kp = np.array([0.0, self.stiffness, 0.0, 0.0])
        return Command(kp=kp, kd=0.02 * kp, q_target=target, v_target=np.eye(4)[1] * self.speed)


def quasi_static_push(surface: LimitSurface, lever: float, way: float) -> np.ndarray:
    """(y of the finger's point, angle) of `pushed_block` after each 1/100 of the way, (101, 2).

    Without inertia the load on the patch is the finger's force f along x, with its moment about the
    middle, and the slab moves along the slope of H there, so fast that the finger keeps its speed.
    """
    finger = np.array([-HALF, lever])  # from the middle, in the slab's frame

    def rates(_: float, pose: np.ndarray) -> np.ndarray:
        c, s = np.cos(pose[1]), np.sin(pose[1])
        force = np.array([c, -s])
        load = np.array([*force, (finger[0] * force[1] - finger[1] * force[0]) / surface.length])
        vx, vy, omega = surface.twist(load)
        at_finger = np.array([vx - omega * finger[1], vy + omega * finger[0]])
        world = np.array([[c, -s], [s, c]]) @ at_finger
        return np.array([world[1], omega]) / world[0]

    steps = np.linspace(0.0, way, 101)
    return solve_ivp(rates, (0.0, way), np.zeros(2), t_eval=steps, rtol=1e-9, atol=1e-12).y.T
