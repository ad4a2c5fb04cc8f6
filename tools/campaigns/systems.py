"""Random systems: a step ends within a second, with finite numbers or with a failed status."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._contact import DryFriction, FrictionCone, Penalty
from nmdp_pin._control import Command
from nmdp_pin._integrators import INTEGRATORS, StepResult
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Terrain

LONGEST = 1.0  # [s] of the processor for a step
_STEPS = 4  # of an attempt
_LARGEST = 30  # joints
_TREE = ("RX", "RY", "RZ", "RUBX", "RUBZ", "PX", "PY", "PZ", "Translation", "Spherical", "Planar")
_AXIS = ("RevoluteUnaligned", "PrismaticUnaligned")


def prepare(folder: Path) -> None:
    """Make the folder, and compile all methods: that may take longer than an attempt."""
    folder.mkdir(parents=True, exist_ok=True)
    for method in INTEGRATORS:
        _compiled(method)


def attempt(folder: Path, number: int) -> str:
    """Make steps of a random system; the same number makes the same ones."""
    method = kind_of(number)
    _compiled(method)
    rng = np.random.default_rng(number)
    simulator, state, command, h = system(rng, method)
    for _ in range(_STEPS):
        before = state.q.copy(), state.v.copy()
        begin = time.process_time()
        result = simulator.step(state, command, h)
        took = time.process_time() - begin
        check(state, before, result)
        if took > LONGEST:
            raise AssertionError(f"a step took over a second ({result.status.name})")
        if not result.status.ok:
            return "refused"
        state = result.state
    return "accepted"


def kind_of(number: int) -> str:
    """Name of the method of an attempt."""
    return list(INTEGRATORS)[number % len(INTEGRATORS)]


def check(state: State, before: tuple[np.ndarray, np.ndarray], result: StepResult) -> None:
    """Check what every step promises.

    Raises:
        AssertionError: a number that is not finite, or a start that changed.
    """
    if not (np.array_equal(state.q, before[0]) and np.array_equal(state.v, before[1])):
        raise AssertionError("the start of the step changed")
    if not result.status.ok:
        if result.state is not state:
            raise AssertionError("a step that failed did not keep its state")
        return
    numbers = (result.state.q, result.state.v, result.contact_forces, result.tau)
    if not all(np.isfinite(values).all() for values in numbers):
        raise AssertionError("a step left numbers that are not finite")


def system(rng: np.random.Generator, method: str) -> tuple[Simulator, State, Command, float]:
    """A random system, with a state, a command and a length of the step [s]."""
    robot = tree(rng)
    nv = robot.model.nv
    friction, stiffness = rng.uniform(0.0, 2.0), 10.0 ** rng.uniform(2.0, 8.0)
    laws: dict[str, Any] = {
        "pbd": Penalty(normal_stiffness=stiffness, friction_stiffness=stiffness),
        "ne-ncp": DryFriction(),
    }
    laws["pbfd"] = laws["pbd"]
    options: dict[str, Any] = {"order": int(rng.integers(1, 3))} if method.endswith("nmdp") else {}
    law = laws.get(method) or FrictionCone(stiffness=stiffness, power=2)
    q = pin.integrate(robot.model, pin.neutral(robot.model), rng.normal(0.0, 1.0, nv))
    deep = rng.choice([0.0, 10.0 ** rng.uniform(-4.0, 0.0)])
    bottom = robot.contact_points.bottoms(robot.model, q).min(initial=0.0)
    ground = Terrain(Plane(height=float(bottom + deep), friction=friction))
    simulator = Simulator(robot, ground, law, method, **options)
    state = simulator.state(q, 10.0 ** rng.uniform(-2.0, 2.0) * rng.standard_normal(nv))
    kp = np.where(rng.random(nv) < 0.5, 0.0, 10.0 ** rng.uniform(0.0, 6.0, nv))
    command = Command(kp=kp, kd=0.1 * np.sqrt(kp), q_target=robot.standing)
    return simulator, state, command, 10.0 ** rng.uniform(-3.0, -1.0)


def tree(rng: np.random.Generator) -> Robot:
    """A random tree of joints of every type, with one to three contact points a body."""
    model, n = pin.Model(), int(rng.integers(1, _LARGEST + 1))
    last = _joint(model, 0, pin.JointModelFreeFlyer(), rng) if rng.random() < 0.5 else 0
    while model.njoints <= n:
        name = str(rng.choice([*_TREE, *_AXIS]))
        axis = rng.standard_normal(3)
        words = (axis / np.linalg.norm(axis),) if name in _AXIS else ()
        # depth first, as pinocchio asks for: the parent is the last joint, or one that carries it
        parent = int(rng.choice([int(joint) for joint in model.supports[last]]))
        last = _joint(model, parent, getattr(pin, f"JointModel{name}")(*words), rng)
    joints = np.repeat(np.arange(1, model.njoints), rng.integers(1, 4))
    n = len(joints)
    names = tuple(f"point{i}" for i in range(n))
    radii = np.where(rng.random(n) < 0.5, 0.0, rng.uniform(0.0, 0.1, n))
    points = ContactPoints(names, joints, rng.normal(0.0, 0.1, (n, 3)), radii)
    return Robot("tree", model, points, np.arange(model.nv), pin.neutral(model))


def _joint(model: pin.Model, parent: int, kind: Any, rng: np.random.Generator) -> int:
    """Add a joint with a body of 1e-4 to 1e3 kg."""
    turned = pin.rpy.rpyToMatrix(*rng.uniform(-np.pi, np.pi, 3))
    placement = pin.SE3(turned, rng.normal(0.0, 0.2, 3))
    joint = model.addJoint(parent, kind, placement, f"joint{model.njoints}")
    mass = 10.0 ** rng.uniform(-4.0, 3.0)
    body = pin.Inertia.FromBox(mass, *rng.uniform(0.02, 0.4, 3))
    at = pin.SE3(np.eye(3), rng.normal(0.0, 0.1, 3))
    model.appendBodyToJoint(joint, body, at)
    return int(joint)


@functools.cache
def _compiled(method: str) -> None:
    """Make a step by a method first, so that none of those that count compiles anything."""
    for seed in range(4):
        simulator, state, command, h = system(np.random.default_rng(seed), method)
        simulator.step(state, command, h)
