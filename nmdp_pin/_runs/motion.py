"""Motion of joints and objects in a run."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from nmdp_pin._control import Controller
from nmdp_pin._options import check_part
from nmdp_pin._robot import Robot
from nmdp_pin._robot.frames import base_frame
from nmdp_pin._robot.model import base_velocities
from nmdp_pin._runs.recording import Recording
from nmdp_pin._scenario import Scenario
from nmdp_pin._state.state import State
from nmdp_pin.errors import NmdpError, RecordingError


@dataclass(frozen=True, eq=False)
class JointMotion:
    """A joint with one degree of freedom that is none of a base, in n rows of a recording."""

    name: str
    unit: str  # "rad" or "m"
    q: np.ndarray  # angle or displacement, (n,)
    target: np.ndarray  # of the controller, NaN without one or without a motor, (n,)
    torque: np.ndarray  # of the command [N m or N], (n,)
    limit: float  # of the effort, infinite if unknown [N m or N]
    driven: bool = True  # by a motor

    @property
    def travel(self) -> float:
        """Difference of the largest and the smallest q [rad or m]."""
        return float(np.ptp(self.q))

    @property
    def off_target(self) -> float:
        """Largest distance from the target [rad or m]; 0 without targets."""
        return float(np.nan_to_num(np.abs(self.target - self.q)).max())

    @property
    def effort(self) -> float:
        """Largest torque over the limit; 0 where there is none."""
        return float(np.abs(self.torque).max() / self.limit)


@dataclass(frozen=True, eq=False)
class ObjectMotion:
    """Object beside the robot."""

    name: str
    position: np.ndarray  # of its frame in the world [m], (n, 3)
    turned: np.ndarray  # angle from its first orientation [rad], (n,)


@dataclass(frozen=True)
class Motion:
    """Joints and objects of a run."""

    joints: tuple[JointMotion, ...] = ()
    objects: tuple[ObjectMotion, ...] = ()


def motion_of(recording: Recording, robot: Robot, controller: Controller | None = None) -> Motion:
    """Motion of joints and objects.

    Args:
        recording: the run.
        robot: recorded robot, with the objects.
        controller: controller of the run; None: targets are unknown.

    Raises:
        RecordingError: the recording is of another robot.
    """
    check_part("recording", recording, Recording, RecordingError)
    check_part("robot", robot, Robot, RecordingError)
    model = robot.model
    if recording.meta["joints"] != list(model.names)[1:]:
        raise RecordingError(
            f"the recording is of '{recording.meta['robot']}', which is not the robot "
            f"'{robot.name}' as it is loaded"
        )
    targets = _targets(recording, controller)
    driven = set(map(int, robot.driven))
    bases = {*base_velocities(model, robot.driven).tolist()}
    joints = [
        _joint(recording, model, j, targets, driven=model.idx_vs[j] in driven)
        for j in range(1, model.njoints)
        if model.nvs[j] == 1 and model.idx_vs[j] not in bases
    ]
    return Motion(tuple(joints), _objects(recording, model))


def motion_in(recording: Recording, scenario: Scenario | None = None) -> tuple[Motion, str]:
    """Motion in a recording, with the robot built again, or why it cannot be built.

    Without the scenario it is the robot that the recording holds, and targets are unknown.
    """
    try:
        if scenario is None:
            return motion_of(recording, recording.scene()[0]), ""
        robot = scenario.build_robot(visuals=False)
        return motion_of(recording, robot, scenario.controller.build(robot, recording.q[0])), ""
    except NmdpError as error:
        return Motion(), f"joints and objects are left out: {error}"


def _targets(recording: Recording, controller: Controller | None) -> np.ndarray:
    """Target configurations, shape (n, nq); NaN where there are none."""
    targets = np.full(recording.q.shape, np.nan)
    if controller is None:
        return targets
    for i in range(1, recording.n):
        h = float(recording.t[i] - recording.t[i - 1])
        if h <= 0.0:
            continue  # a step that failed
        state = State(float(recording.t[i - 1]), recording.q[i - 1], recording.v[i - 1])
        command = controller.command(state, h)
        if command.q_target is not None and command.kp is not None and command.kp.any():
            targets[i] = command.q_target
    return targets


def _joint(
    recording: Recording, model: pin.Model, j: int, targets: np.ndarray, *, driven: bool
) -> JointMotion:
    """Motion of a joint; a command's targets of joints without a motor are none."""
    targets = targets if driven else np.full_like(targets, np.nan)
    iq, iv = model.idx_qs[j], model.idx_vs[j]
    limit = float(model.upperEffortLimit[iv])
    return JointMotion(
        name=model.names[j],
        unit="m" if model.joints[j].shortname().startswith("JointModelP") else "rad",
        q=_coordinate(recording.q, iq, model.nqs[j]),
        target=_coordinate(targets, iq, model.nqs[j]),
        torque=recording.tau[:, iv],
        limit=limit if 0.0 < limit < 1e12 else np.inf,
        driven=driven,
    )


def _coordinate(q: np.ndarray, index: int, size: int) -> np.ndarray:
    """The coordinate of a joint; the angle, without jumps, of one that has cosine and sine."""
    if size == 1:
        return q[:, index]
    return np.unwrap(np.arctan2(q[:, index + 1], q[:, index]))


def _body_of(model: pin.Model, j: int) -> str:
    """Name of the link that a joint carries, or its own."""
    links = [f.name for f in model.frames if f.parentJoint == j and f.type == pin.BODY]
    return str((links or [model.names[j]])[0])


def _is_free(model: pin.Model, j: int) -> bool:
    """Whether a joint lets a body move freely in the world."""
    parent = model.parents[j]
    kinds = [model.joints[k].shortname() for k in (parent, j)]
    if kinds[1] == "JointModelFreeFlyer":
        return bool(parent == 0)
    moved = kinds == ["JointModelTranslation", "JointModelSpherical"]
    return bool(moved and model.parents[parent] == 0)


def _objects(recording: Recording, model: pin.Model) -> tuple[ObjectMotion, ...]:
    """The bodies whose joints are called "name/root_...", and others that are free."""
    last: dict[str, int] = {}
    base = model.frames[base_frame(model)].parentJoint
    for j in range(1, model.njoints):
        name, _, joint = model.names[j].rpartition("/")
        if name and joint.startswith("root_"):
            last[name] = j
        elif j != base and _is_free(model, j):
            last[_body_of(model, j)] = j
    if not last:
        return ()
    data = model.createData()
    places: dict[str, list[pin.SE3]] = {name: [] for name in last}
    for q in recording.q:
        pin.forwardKinematics(model, data, q)
        for name, j in last.items():
            places[name].append(data.oMi[j].copy())
    return tuple(
        ObjectMotion(
            name,
            np.array([place.translation for place in found]),
            np.array([np.linalg.norm(pin.log3(found[0].rotation.T @ p.rotation)) for p in found]),
        )
        for name, found in places.items()
    )
