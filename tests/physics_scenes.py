"""Robots, grounds and runs whose motion is known in closed form: material for the physics tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import trimesh

from nmdp_pin._contact import FrictionCone, stiffness_for_static_depth
from nmdp_pin._control import Command, Passive
from nmdp_pin._control.controller import Controller
from nmdp_pin._integrators import StepResult
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._robot.overlaps import OverlapCheck
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Mesh, Plane, Terrain

G = 9.81  # [m/s^2]
POWER = 2  # exponent of the penetration in all the scenes
DEPTH = 1e-4  # [m] at rest; the closed forms are those of rigid bodies, so little of it
SOFT = 1e-3  # [m] at rest; what the bundled scenarios use, for impacts
IMPACT = 5e-3  # [m] of impacts 10 mm deep, in which other places come to be the nearest
EVERY: dict[str, tuple[str, dict[str, Any]]] = {
    "ne-nmdp kinetic": ("ne-nmdp", {"objective": "kinetic", "order": 1}),
    "ne-nmdp end_effector": ("ne-nmdp", {"objective": "end_effector", "order": 1}),
    "ne-nmdp dissipation": ("ne-nmdp", {"objective": "dissipation", "order": 1}),
    "pbd-nmdp dissipation": ("pbd-nmdp", {"objective": "dissipation", "order": 1}),
    "ne-mdp": ("ne-mdp", {}),
}
# Both objectives of the papers have one solver.
METHODS = tuple(name for name in EVERY if "end_effector" not in name)
IMPLICIT = METHODS[:3]
NEWTON_EULER = METHODS[:2]  # the implicit ones whose balance is that of pinocchio's rnea
MINIMISING = METHODS[:1]  # those with an objective that falls
# Second order, where a claim holds for it too.
SECOND_ORDER = {
    "ne-nmdp dissipation, order 2": ("ne-nmdp", {"objective": "dissipation", "order": 2}),
    "pbd-nmdp dissipation, order 2": ("pbd-nmdp", {"objective": "dissipation", "order": 2}),
}
OF_BOTH_ORDERS = (*METHODS, *SECOND_ORDER)
IMPLICIT_OF_BOTH_ORDERS = (*IMPLICIT, *SECOND_ORDER)
BASES = ("free-flyer", "translation + spherical")
SLAB = (0.2, 0.2, 0.05)  # [m]; flat enough not to tip over at mu = 1, as a cube does
CUBE = (0.2, 0.2, 0.2)


def block(size: Sequence[float] = SLAB, mass: float = 1.0, base: str = BASES[0]) -> Robot:
    """A cuboid on one of BASES, its eight corners being contact points; it stands on z = 0."""
    signs = np.array(np.meshgrid([1, -1], [1, -1], [1, -1], indexing="ij")).reshape(3, -1).T
    corners = 0.5 * signs * np.array(size)
    inertia = pin.Inertia.FromBox(mass, *size)
    return _floating(inertia, corners, radius=0.0, height=size[2] / 2, base=base)


def ball(radius: float = 0.1, mass: float = 1.0, base: str = BASES[0]) -> Robot:
    """A solid ball on one of BASES; it stands on z = 0."""
    inertia = pin.Inertia.FromSphere(mass, radius)
    return _floating(inertia, np.zeros((1, 3)), radius=radius, height=radius, base=base)


def pendulum(length: float = 0.5, mass: float = 1.0, radius: float | None = None) -> Robot:
    """A point mass on a massless rod that turns about y; it hangs at q = 0.

    Args:
        length: of the rod [m].
        mass: [kg].
        radius: of the contact sphere around the mass [m]; None: it touches nothing.
    """
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "hinge")
    bob = np.array([0.0, 0.0, -length])
    model.appendBodyToJoint(joint, pin.Inertia(mass, bob, np.zeros((3, 3))), pin.SE3.Identity())
    centres = np.zeros((0, 3)) if radius is None else bob[None]
    points = _points(joint, centres, radius or 0.0)
    return Robot("pendulum", model, points, np.array([0]), np.zeros(1))


def _floating(
    inertia: pin.Inertia, centres: np.ndarray, *, radius: float, height: float, base: str = BASES[0]
) -> Robot:
    model = pin.Model()
    parent, root = 0, pin.JointModelFreeFlyer()
    if base != "free-flyer":
        parent = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), "translation")
        root = pin.JointModelSpherical()
    joint = model.addJoint(parent, root, pin.SE3.Identity(), "root_joint")
    model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    standing = pin.neutral(model)
    standing[2] = height
    return Robot("body", model, _points(joint, centres, radius), np.zeros(0, dtype=int), standing)


def _points(joint: int, centres: np.ndarray, radius: float) -> ContactPoints:
    n = len(centres)
    names = tuple(f"point{i}" for i in range(n))
    return ContactPoints(names, np.full(n, joint), centres, np.full(n, radius))


def weightless(robot: Robot) -> Robot:
    """The same robot without gravity."""
    model = pin.Model(robot.model)
    model.gravity = pin.Motion.Zero()
    return replace(robot, model=model)


def ground(friction: float = 0.5, angle: float = 0.0) -> Terrain:
    """A plane through the origin that descends along x at `angle` [rad]."""
    return Terrain([Plane(normal=(np.sin(angle), 0.0, np.cos(angle)), friction=friction)])


def far_ground() -> Terrain:
    """A plane that nothing reaches."""
    return Terrain([Plane(height=-100.0)])


def cone(robot: Robot, *, feet: int = 4, depth: float = DEPTH, **options: Any) -> FrictionCone:
    """The contact model with which `feet` points carry the robot at `depth` on level ground."""
    mass = pin.computeTotalMass(robot.model)
    k = stiffness_for_static_depth(mass, feet, depth, POWER, G)
    return FrictionCone(stiffness=k, power=POWER, **options)


def simulator(robot: Robot, terrain: Terrain, contact: FrictionCone, method: str) -> Simulator:
    """A simulator by one of METHODS or of SECOND_ORDER; the papers' objectives do not recover."""
    name, options = (EVERY | SECOND_ORDER)[method]
    minimised = options.get("objective", "dissipation") != "dissipation"
    law = replace(contact, recovery=0.0) if minimised else contact
    return Simulator(robot, terrain, law, name, **options)


def flying(robot: Robot, method: str) -> Simulator:
    """A simulator of a robot that touches nothing."""
    return simulator(robot, far_ground(), FrictionCone(stiffness=1.0), method)


def resting(robot: Robot, angle: float = 0.0, depth: float = DEPTH) -> np.ndarray:
    """Configuration at rest on `ground(..., angle)`, as deep as the normal load asks.

    Args:
        robot: on a floating base.
        angle: of the plane [rad].
        depth: at rest on level ground [m].
    """
    sink = depth * np.cos(angle) ** (1.0 / POWER)
    R = pin.utils.rotate("y", angle)
    return pin.SE3ToXYZQUAT(pin.SE3(R, R @ np.array([0.0, 0.0, robot.standing[2] - sink])))


def run(
    sim: Simulator, state: State, h: float, duration: float, controller: Controller | None = None
) -> list[StepResult]:
    """All results of a run, which must not fail."""
    control = controller or Passive()
    return list(sim.run(state, control, dt=h, duration=duration, on_failure="raise"))


def path(state: State, results: Sequence[StepResult]) -> np.ndarray:
    """Configurations from the start on, shape (n + 1, nq)."""
    return np.array([state.q] + [result.state.q for result in results])


def energies(results: Sequence[StepResult]) -> np.ndarray:
    """Kinetic and potential energy together [J], shape (n,)."""
    return np.array([result.kinetic_energy + result.potential_energy for result in results])


def stopping_way(speed: float, mu: float, h: float, order: int) -> float:
    """How far friction lets a body slide over level ground [m]: v^2 / (2 mu g).

    In first order its n steps of backward Euler, h (n v - mu g h n (n + 1) / 2): v h / 2 less.
    """
    if order > 1:
        return speed**2 / (2.0 * mu * G)
    n = int(speed / (mu * G * h))
    return h * (n * speed - 0.5 * mu * G * h * n * (n + 1))


def order(steps: Sequence[float], errors: Sequence[float]) -> float:
    """Slope of log |error| over log step: the order of convergence."""
    return float(np.polyfit(np.log(steps), np.log(np.abs(errors)), 1)[0])


def extruded(profile: np.ndarray, faces: Sequence[tuple[int, ...]], **options: Any) -> Mesh:
    """A mesh 0.6 m long in y whose cross section has these corners x and z, and triangles."""
    block = trimesh.creation.extrude_triangulation(profile, np.array(faces), 0.6)
    block.apply_transform([[1, 0, 0, 0], [0, 0, -1, 0.3], [0, 1, 0, 0], [0, 0, 0, 1]])
    return Mesh(vertices=block.vertices, faces=block.faces, **options)


def check_overlaps(simulator: Simulator, time: float, h: float) -> None:
    """Make steps, all of which report what coal finds to overlap, or more, within `IMPACT`."""
    system, state = simulator.system, simulator.state()
    overlaps = OverlapCheck(system.robot, system.terrain)
    for _ in range(round(time / h)):
        result = simulator.step(state, Command(), h)
        assert result.status.ok
        state = result.state
        found = overlaps.depths(state.q[None]).values()
        assert result.max_penetration > max((depth[0] for depth in found), default=0.0) - IMPACT
