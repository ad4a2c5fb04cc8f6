"""Linkages whose loops are closed."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from contact_laws import law_for

from nmdp_pin import ContactPoints, FrictionCone, Plane, Robot, Simulator, Terrain, with_loops
from nmdp_pin._robot.loop import Connect

FAR = Terrain([Plane(height=-10.0)])
G = 9.81  # [m/s^2]
NO_POINTS = ContactPoints((), np.zeros(0, int), np.zeros((0, 3)), np.zeros(0))


def placed(*position):
    """A placement without a rotation."""
    return pin.SE3(np.eye(3), np.array(position, dtype=float))


class Builder:
    """A model to which joints with bodies are added, and the robot of it."""

    def __init__(self, gravity=G):
        self.model = pin.Model()
        self.model.name = "linkage"
        self.model.gravity.linear = np.array([0.0, 0.0, -gravity])

    def add(self, name, parent, kind, place, inertia):
        """Add a joint and its body, of the same name; the number of the joint."""
        joint = self.model.addJoint(parent, kind, place, f"{name}-joint")
        self.model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        self.model.addBodyFrame(name, joint, pin.SE3.Identity(), 0)
        return joint

    def floating(self, name, inertia):
        """Add a body that is free, of a translation and a rotation."""
        model = self.model
        joint = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), f"{name}-at")
        return self.add(name, joint, pin.JointModelSpherical(), pin.SE3.Identity(), inertia)

    def robot(self, standing, loops=()):
        """The robot, whose loops are closed near a standing pose."""
        standing = np.array(standing, dtype=float)
        robot = Robot("linkage", self.model, NO_POINTS, np.arange(0), standing)
        return with_loops(robot, loops)


def rod(mass, length):
    """A thin rod along x, about its beginning."""
    square = mass * length**2 / 12.0
    return pin.Inertia(mass, np.array([0.5 * length, 0.0, 0.0]), np.diag([1e-6, square, square]))


def four_bar(angle, crank=0.5, coupler=0.8, masses=(1.0, 2.0, 1.0)):
    """A parallelogram in the plane y = 0, of hinges in space: two of its rows hold the same.

    At the angle 0 the cranks hang down.
    """
    b = Builder()
    hinge = pin.JointModelRY
    first = b.add("left", 0, hinge(), placed(0, 0, 0), rod(masses[0], crank))
    b.add("coupler", first, hinge(), placed(crank, 0, 0), rod(masses[1], coupler))
    b.add("right", 0, hinge(), placed(coupler, 0, 0), rod(masses[2], crank))
    down = 0.5 * np.pi - angle
    ends = Connect(first="coupler", second="right", point=(coupler, 0, 0), other=(crank, 0, 0))
    return b.robot([down, -down, down], [ends])


def simulator(robot, method="ne-nmdp", terrain=FAR, **options):
    """A simulator of a linkage."""
    law = law_for(method, FrictionCone(stiffness=1e6, power=2))
    return Simulator(robot, terrain, law, method, **options)


def run(sim, state, h, duration, command=None):
    """Results of steps, all of which converge."""
    results = []
    for _ in range(round(duration / h)):
        results.append(sim.step(state, command, h))
        assert results[-1].status.ok
        state = results[-1].state
    return results


def largest_gap(robot, q):
    """The largest gap of a robot's loops [m, rad]."""
    data = robot.model.createData()
    pin.computeJointJacobians(robot.model, data, q)
    return max(np.abs(loop.gaps(robot.model, data, q)[0]).max() for loop in robot.loops)


def energy(result):
    """Kinetic and potential energy [J]."""
    return result.kinetic_energy + result.potential_energy


def consistent(robot, v):
    """The velocity near v with which loops stay closed in the standing pose."""
    data, v = robot.model.createData(), np.array(v, dtype=float)
    pin.computeJointJacobians(robot.model, data, robot.standing)
    J = np.vstack([loop.gaps(robot.model, data, robot.standing)[1] for loop in robot.loops])
    return v - np.linalg.lstsq(J, J @ v, rcond=1e-9)[0]
