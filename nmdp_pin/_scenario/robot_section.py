"""The [robot] table of a scenario: which robot, how it is read, the state in which it starts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
import pinocchio as pin
from pydantic import Field, model_validator

from nmdp_pin._options import (
    FilePath,
    Flag,
    Number,
    PositiveOrInfinite,
    Vector3,
    phrased,
    refusal,
    unknown,
    worded,
)
from nmdp_pin._robot import Robot, load_robot
from nmdp_pin._robot.model import FREE_JOINTS, PLANAR_JOINTS
from nmdp_pin._scenario.section import OptionsSection, Section, options_section
from nmdp_pin._state.state import State
from nmdp_pin._terrain.shape import Friction
from nmdp_pin.errors import ScenarioError

# Keys that move a base, and their components that a planar base lacks.
_STILL = {"position": (1,), "rpy": (0, 2), "velocity": (1,), "angular_velocity": (0, 2)}


class MovingSection(Section):
    """Velocities of a base at the start."""

    velocity: Vector3 = Field((0.0, 0.0, 0.0), description="base, world frame [m/s]")
    angular_velocity: Vector3 = Field((0.0, 0.0, 0.0), description="base, world frame [rad/s]")


class InitialSection(MovingSection):
    """Initial state of the robot; the default is the standing pose at rest."""

    position: Vector3 | None = Field(None, description="base, world frame [m]")
    rpy: Vector3 | None = Field(None, description="base, roll-pitch-yaw [rad]")
    joints: dict[str, Number] = Field({}, description="joint = position [rad or m]")
    joint_velocities: dict[str, Number] = Field({}, description="joint = velocity [rad/s or m/s]")


class RobotKeys(OptionsSection):
    """Robot and where it starts; the other keys are the options of `load_robot`."""

    name: str | None = Field(None, description="bundled robot or one of example-robot-data")
    urdf: FilePath | None = Field(None, description="path of a URDF, MJCF or robot.toml file")
    self_collision: Annotated[
        Flag | tuple[tuple[str, str], ...], phrased("true, false or a list of pairs of names")
    ] = Field(
        False,
        description="true: all links may touch, except neighbours and links that overlap in the "
        "standing pose; or a list of pairs of links",
    )
    link_friction: Friction | None = Field(
        None,
        description="friction coefficient of the links that bodies may touch; the default is that "
        "of what they touch",
    )
    link_stiffness: PositiveOrInfinite | None = Field(
        None,
        description="contact stiffness of the links that bodies may touch, inf: rigid; the default "
        "is that of what they touch [N/m^p, p being the exponent of the contact law]",
    )
    scene: Flag = Field(
        False,
        description="true: what stands still in its file is terrain besides `terrain.shapes`; of "
        "an MJCF file friction, masks and contacts between bodies are the file's",
    )
    initial: InitialSection = Field(
        default_factory=lambda: InitialSection.model_validate({}), description="table"
    )

    @property
    def source(self) -> str | Path:
        """Name or path of the robot."""
        return self.name if self.name is not None else Path(self.urdf or "")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        """A robot comes from a name or from a file."""
        if (self.name is None) == (self.urdf is None):
            raise worded("needs exactly one of the keys 'name' and 'urdf'")
        if self.name is not None and Path(self.name).name != self.name:
            raise refusal(f"'{self.name}' is a path, not a name: use the key 'urdf'", ("name",))
        return self


if TYPE_CHECKING:
    RobotSection = RobotKeys
else:
    RobotSection = options_section(RobotKeys, load_robot, skip=("source", "visuals"))


def initial_state(robot: Robot, initial: InitialSection, *, file: str = "") -> State:
    """State at t = 0."""
    model, joints = robot.model, {**initial.joints, **initial.joint_velocities}
    axes = {n: joint for n, joint in zip(model.names, model.joints, strict=True) if joint.nv == 1}
    for name in joints.keys() - axes.keys():
        table = "joints" if name in initial.joints else "joint_velocities"
        sentence = unknown(name, "a joint of one axis of this robot", axes)
        raise ScenarioError(sentence, file=file, key=f"robot.initial.{table}.{name}")
    _check_base(model, initial, file)
    q, v = robot.standing.copy(), np.zeros(model.nv)
    neutral, step = pin.neutral(model), np.zeros(model.nv)
    for name, value in initial.joints.items():
        part = slice(axes[name].idx_q, axes[name].idx_q + axes[name].nq)
        q[part] = neutral[part]  # a continuous joint has two numbers for one angle
        step[axes[name].idx_v] = value
    if initial.joints:
        q = pin.integrate(model, q, step)
    for name, value in initial.joint_velocities.items():
        v[axes[name].idx_v] = value
    planar = _base_of(model) == PLANAR_JOINTS
    if initial.position is not None:
        position = np.array(initial.position)
        q[: 2 if planar else 3] = position[[0, 2]] if planar else position
    if initial.rpy is not None:
        R = pin.rpy.rpyToMatrix(np.array(initial.rpy))
        q[2 if planar else slice(3, 7)] = initial.rpy[1] if planar else pin.Quaternion(R).coeffs()
    if _base_of(model):
        add_base_velocity(model, q, v, initial)
    return State(0.0, q, v)


def add_base_velocity(
    model: pin.Model, q: np.ndarray, v: np.ndarray, moving: MovingSection, *, prefix: str = ""
) -> None:
    """Add the velocity of a floating or planar base to `v`, (nv,), at `q`, (nq,), in place.

    The names of the joints of an object's base have a prefix.
    """
    linear, angular = moving.velocity, moving.angular_velocity
    planar = model.existJointName(prefix + PLANAR_JOINTS[-1])
    first, *_ = PLANAR_JOINTS if planar else FREE_JOINTS
    start = model.joints[model.getJointId(prefix + first)]
    if planar:
        v[start.idx_v : start.idx_v + 3] += [linear[0], linear[2], angular[1]]
    else:
        R = pin.Quaternion(q[start.idx_q + 3 : start.idx_q + 7]).toRotationMatrix()
        v[start.idx_v : start.idx_v + 6] += [*linear, *R.T @ np.array(angular)]


def _base_of(model: pin.Model) -> tuple[str, ...]:
    """Names of the joints of the robot's base; none if it is fixed."""
    bases = (FREE_JOINTS, PLANAR_JOINTS)
    return next((base for base in bases if tuple(model.names)[1 : 1 + len(base)] == base), ())


def _check_base(model: pin.Model, initial: InitialSection, file: str) -> None:
    """Refuse motions that the base cannot make."""
    base = _base_of(model)
    for key, still in _STILL.items():
        vector, sentence = getattr(initial, key), ""
        if not base and vector is not None and (key in ("position", "rpy") or any(vector)):
            sentence = "this robot's base is fixed; set robot.base or leave it out"
        elif base == PLANAR_JOINTS and vector and any(vector[i] for i in still):
            sentence = f"a planar base moves in x, z and pitch only, got {list(vector)}"
        if sentence:
            raise ScenarioError(sentence, file=file, key=f"robot.initial.{key}")
