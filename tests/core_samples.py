"""Robots, grounds and states for the tests of the core."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import urdf_samples as urdf

from nmdp_pin._contact import FrictionCone, WrenchSpace
from nmdp_pin._control import Command
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators.scheme import SCHEMES
from nmdp_pin._kernels.step.stage import evaluate
from nmdp_pin._kernels.step.step_end import add_wrenches
from nmdp_pin._kernels.step.step_start import open_step, state_stage
from nmdp_pin._robot import ContactPoints, Robot, load_robot
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Terrain
from nmdp_pin.papers.methods.stage_equations import StageEquations, StagePoint
from nmdp_pin.testing import assert_same, central_differences, ground_through, weights
from nmdp_pin.testing.differences import DERIVATIVE, STEP
from nmdp_pin.testing.scenes import GROUNDS, PLANES

__all__ = [  # what the tests of the core take from here; the suites for users are built on it
    "DERIVATIVE",
    "GROUNDS",
    "PLANES",
    "STEP",
    "assert_same",
    "central_differences",
    "ground_through",
    "weights",
]

# All candidates are contacts, so that weights have the same rows at every start.
FORMS: dict[str, Callable[..., CompiledSystem]] = {
    "ne": functools.partial(CompiledSystem, weights=True, saturating=False, reach=np.inf),
    "pbd": functools.partial(
        CompiledSystem, material=True, weights=True, saturating=False, reach=np.inf
    ),
}

CONE = FrictionCone(stiffness=1e4, power=2, recovery=0.0)  # objectives have no other


@functools.cache
def robot(name: str) -> Robot:
    """A robot by what the tests call it; damping, armature and friction where the name says so."""
    if name.endswith("+damping"):
        plain = robot(name.removesuffix("+damping"))
        model = pin.Model(plain.model)
        model.damping = np.linspace(0.5, 3.0, model.nv)
        model.armature = np.linspace(0.1, 0.4, model.nv)
        friction = np.linspace(0.0, 2.0, model.nv) * np.isfinite(plain.limits.upper)
        return replace(plain, model=model, limits=replace(plain.limits, friction=friction))
    if name.endswith("+points"):
        plain = robot(name.removesuffix("+points"))
        points = plain.contact_points
        return replace(plain, contact_points=replace(points, radii=np.zeros(len(points))))
    if name == "wheels":
        return wheels()
    if name == "pendulum":
        return pendulum()
    if name == "no-contact":
        return load_robot("chain", contacts=[], visuals=False)
    if name == "go2":
        feet = [(f, f, (0.0, 0.0, 0.0), 0.02) for f in ("FL_foot", "FR_foot", "RL_foot", "RR_foot")]
        return load_robot("go2", contacts=feet, visuals=False)
    source, _, base = name.partition(" ")
    if base == "all":
        return load_robot(source, joints="all", visuals=False)
    return load_robot(source, base=base or None, visuals=False)


def wheels() -> Robot:
    """A free body with a continuous joint, a slider and an arm: nq - nv = 2, two kinds of it."""
    model = pin.buildModelFromXML(
        urdf.robot(
            *(urdf.link(name) for name in ("body", "wheel", "arm", "slide")),
            urdf.hinge("axle", "body", "wheel", kind="continuous", xyz="0.1 0.2 -0.1"),
            urdf.hinge("elbow", "wheel", "arm", xyz="0.2 0 0.1"),
            urdf.hinge("slider", "body", "slide", kind="prismatic", xyz="-0.2 0 0"),
        ),
        pin.JointModelFreeFlyer(),
    )
    names = ("wheel", "arm", "slide", "body")
    frames = [model.frames[model.getFrameId(name)] for name in names]
    centres = np.array([[0.1, 0.0, 0.2], [0.3, 0.0, 0.0], [0.0, -0.1, 0.1], [0.0, 0.1, 0.0]])
    points = ContactPoints(
        names, np.array([f.parentJoint for f in frames]), centres, np.array([0.1, 0.05, 0.0, 0.02])
    )
    return Robot("wheels", model, points, np.arange(6, model.nv), pin.neutral(model))


def pendulum() -> Robot:
    """One hinge: pinocchio gives the Jacobian of a single dof as a vector."""
    model = pin.buildModelFromXML(
        urdf.robot(urdf.link("stand"), urdf.link("bob"), urdf.hinge("pivot", "stand", "bob"))
    )
    points = ContactPoints(
        ("tip", "side"),
        np.array([1, 1]),
        np.array([[0, 0, -0.5], [0.2, 0.1, -0.2]]),
        np.full(2, 0.05),
    )
    return Robot("pendulum", model, points, np.arange(1), pin.neutral(model))


def configuration(model: pin.Model, rng: np.random.Generator, size: float = 0.7) -> np.ndarray:
    """A random configuration around the neutral one, shape (nq,)."""
    return pin.integrate(model, pin.neutral(model), size * rng.standard_normal(model.nv))


def random_start(robot: Robot, seed: int) -> State:
    """A random configuration with random velocities of 1 rad/s and m/s."""
    rng = np.random.default_rng(seed)
    q = configuration(robot.model, rng)
    return State(0.0, q, rng.standard_normal(robot.model.nv))


def centres(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Centres of the contact spheres in the world [m], shape (n, 3)."""
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    points = robot.contact_points
    return np.array(
        [data.oMi[int(j)].act(p) for j, p in zip(points.joints, points.positions, strict=True)]
    ).reshape(-1, 3)


def command(model: pin.Model, rng: np.random.Generator) -> Command:
    """Torque, gains on every dof (a floating base's too) and targets."""
    return Command(
        tau=rng.standard_normal(model.nv),
        kp=rng.uniform(0.0, 300.0, model.nv),
        kd=rng.uniform(0.0, 20.0, model.nv),
        q_target=configuration(model, rng),
        v_target=rng.standard_normal(model.nv),
        base_gains=True,
    )


def without_limits(robot: Robot) -> Robot:
    """The robot without stops, friction of joints and limits of motors."""
    return replace(robot, limits=None)


class Problem(StageEquations):
    """The equations of a stage, with the numbers that state them.

    Args:
        form: form of the dynamics.
        q0: configuration at the start of the step.
        v0: velocity there.
        command: command of all stages.
        h: length of the stage [s].
        order: order of the scheme; in second order the stage is the second one.
        rng: source of the end of the first stage.
    """

    def __init__(
        self,
        form: CompiledSystem,
        q0: np.ndarray,
        v0: np.ndarray,
        command: Command,
        h: float,
        order: int,
        rng: np.random.Generator | None = None,
    ) -> None:
        memory, system, scheme = form.new_memory(), form.record, SCHEMES[order]
        start = form.start(State(0.0, q0, v0), [command], h / scheme.a[-1][-1], None)
        first = memory.points[0]
        open_step(system, start, memory)
        state_stage(system, scheme.record, start, 0, memory, first)
        if order > 1:
            rng = rng or np.random.default_rng(0)
            first.q[:] = pin.integrate(
                form.model, q0, h * (v0 + rng.standard_normal(form.model.nv))
            )
            evaluate(system, memory.stage, first, True)
            state_stage(system, scheme.record, start, 1, memory, first)
        super().__init__(form, memory.stage, memory.origin, 1.0 / h, order)
        self.command = command
        self.q_ref, self.v_ref = memory.stage.q_ref, memory.stage.v_ref

    def velocity_derivative(self, q: np.ndarray) -> np.ndarray:
        """Derivative of v by q, tangent, shape (nv, nv)."""
        return self.rate * pin.dDifference(self.form.model, self.q_ref, q, pin.ARG1)


def problem_at(
    robot: Robot,
    kind: str,
    space: WrenchSpace,
    seed: int,
    h: float = 0.05,
    form: Callable[..., CompiledSystem] = FORMS["ne"],
    order: int = 1,
    terrain: Terrain | None = None,
    **options: Any,
) -> tuple[Problem, np.ndarray, np.ndarray]:
    """The equations of a stage, a random end of it in contact, and weights.

    The ground of that kind goes through the contact points, unless another terrain is given.
    """
    rng = np.random.default_rng(seed)
    model = robot.model
    q0 = configuration(model, rng)
    v0 = rng.standard_normal(model.nv)
    q = pin.integrate(model, q0, h * (v0 + rng.standard_normal(model.nv)))
    made = form(System(robot, terrain or ground_through(kind, centres(robot, q)), space), **options)
    problem = Problem(made, q0, v0, command(model, rng), h, order, rng)
    return problem, q, weights(*made.shape, rng)


def world_wrenches(problem: StageEquations, at: StagePoint) -> np.ndarray:
    """Wrenches about the centres of the contact points, in the world's axes, shape (n, 6)."""
    total = np.zeros((problem.form.n_points, 6))
    contacts = problem.stage.contacts
    reported = np.ones(contacts.n[0], bool)
    add_wrenches(problem.form.record, contacts, 1.0, at.record, reported, total)
    return total


def derivative_of(
    problem: StageEquations, q: np.ndarray, w: np.ndarray, value: Callable[[StagePoint], np.ndarray]
) -> np.ndarray:
    """Central differences of something of a point with respect to q, tangent."""

    def moved(dq: np.ndarray) -> np.ndarray:
        return value(problem.evaluate(problem.retract(q, dq), w))

    return central_differences(moved, problem.form.model.nv)
