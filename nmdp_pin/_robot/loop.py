"""Closed loops: what holds two frames, or two joints, together besides the tree of joints."""

import abc
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._options import NonNegative, Number, Positive, Vector3, check_fields, readable
from nmdp_pin._robot.frames import link_frame
from nmdp_pin._robot.joint_limits import simple_joints
from nmdp_pin.errors import RobotError

WORLD = "world"
"""Name of the world in loops."""

Polynomial = Annotated[tuple[Number, ...], Field(min_length=1, max_length=5)]


@dataclass(frozen=True)
class Attached:
    """A frame on a body: index of its joint, 0 for the world, and its placement there."""

    joint: int
    place: pin.SE3


@readable
@dataclass(frozen=True, kw_only=True)
class Loop(abc.ABC):
    """What holds parts of a robot together besides its joints, and does no work.

    Args:
        compliance: motion of the loop by a unit of force, of a spring in it; 0 is rigid [m/N,
            rad/(N m)].
    """

    rows: ClassVar[int]  # number of its gaps

    compliance: NonNegative = 0.0

    def __post_init__(self) -> None:
        check_fields(self, RobotError)

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What it is, and between what, in messages."""

    @abc.abstractmethod
    def holds(self, model: pin.Model, file: str) -> bool:
        """Whether joints of the model move what it holds together; False where they are locked."""

    @abc.abstractmethod
    def standing(self, model: pin.Model, data: pin.Data, file: str) -> "Loop":
        """The loop with what it leaves open, as the robot stands, whose frames are placed."""

    @abc.abstractmethod
    def beside(self, prefix: str) -> "Loop":
        """The loop of a robot whose links and joints are called "prefix/..."."""

    @abc.abstractmethod
    def gaps(
        self, model: pin.Model, data: pin.Data, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gaps [m, rad], (rows,), and their gradients, (rows, nv), where joints are placed."""


@dataclass(frozen=True, kw_only=True)
class _Frames(Loop):
    """A loop between a frame and another one, or the world.

    Args:
        first: link or frame.
        second: link or frame, or "world".
    """

    first: str
    second: str = WORLD

    @property
    def name(self) -> str:
        """See `Loop.name`."""
        return f"{type(self).__name__} of '{self.first}' and '{self.second}'"

    def holds(self, model: pin.Model, file: str) -> bool:
        """See `Loop.holds`."""
        ends = [
            0 if name == WORLD else int(link_frame(model, name, file, self.name).parentJoint)
            for name in (self.first, self.second)
        ]
        return ends[0] != ends[1]

    def beside(self, prefix: str) -> Loop:
        """See `Loop.beside`."""
        first, second = (
            name if name in (prefix, WORLD) else f"{prefix}/{name}"
            for name in (self.first, self.second)
        )
        return replace(self, first=first, second=second)

    def attached(self, model: pin.Model, file: str = "") -> tuple[Attached, Attached]:
        """The two frames that the loop holds together."""
        first, second = (
            Attached(0, pin.SE3.Identity())
            if name == WORLD
            else _attached(model, name, file, self.name)
            for name in (self.first, self.second)
        )
        if first.joint == second.joint:
            raise RobotError("they move as one body", file=file, element=self.name)
        return first, second

    def _placed(self, model: pin.Model, data: pin.Data) -> tuple[pin.SE3, pin.SE3, np.ndarray]:
        """Placements of both frames, and the Jacobian of their relative motion at the origin."""
        first, second = self.attached(model)
        J = _jacobian(model, data, first.joint) - _jacobian(model, data, second.joint)
        return data.oMi[first.joint] * first.place, data.oMi[second.joint] * second.place, J


def _attached(model: pin.Model, name: str, file: str, element: str) -> Attached:
    frame = link_frame(model, name, file, element)
    return Attached(int(frame.parentJoint), pin.SE3(frame.placement))


def _jacobian(model: pin.Model, data: pin.Data, joint: int) -> np.ndarray:
    if joint == 0:
        return np.zeros((6, model.nv))
    return np.array(pin.getJointJacobian(model, data, joint, pin.WORLD)).reshape(6, model.nv)


def _shifted(place: pin.SE3, point: Vector3) -> pin.SE3:
    return place * pin.SE3(np.eye(3), np.array(point))


@dataclass(frozen=True, kw_only=True)
class _Points(_Frames):
    """A loop between points of two frames.

    Args:
        point: point of the first frame [m].
        other: point of the second frame [m]; None: where the point is as the robot stands.
    """

    point: Vector3 = (0.0, 0.0, 0.0)
    other: Vector3 | None = None

    def standing(self, model: pin.Model, data: pin.Data, file: str) -> Loop:
        """See `Loop.standing`."""
        first, second = self.attached(model, file)
        if self.other is not None:
            return self
        at = (data.oMi[first.joint] * first.place).translation
        other = (data.oMi[second.joint] * second.place).actInv(at)
        return replace(self, other=tuple(other.tolist()))

    def attached(self, model: pin.Model, file: str = "") -> tuple[Attached, Attached]:
        """See `_Frames.attached`."""
        first, second = super().attached(model, file)
        return (
            replace(first, place=_shifted(first.place, self.point)),
            second
            if self.other is None
            else replace(second, place=_shifted(second.place, self.other)),
        )


@dataclass(frozen=True, kw_only=True)
class Connect(_Points):
    """A point of one frame that stays at a point of another: a ball joint that closes a loop.

    Args:
        first: link or frame.
        second: link or frame, or "world".
        point: point of the first frame [m].
        other: point of the second frame [m]; None: where the point is as the robot stands.
        compliance: motion by a unit of force; 0 is rigid [m/N].

    Raises:
        RobotError: a value is of another type or out of its range.
    """

    rows = 3

    def gaps(
        self, model: pin.Model, data: pin.Data, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Loop.gaps`."""
        A, B, J = self._placed(model, data)
        return _of_points(A, B, J)


def _of_points(A: pin.SE3, B: pin.SE3, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position of A from B along the axes of B, and its gradients."""
    moved = J[:3] - pin.skew(A.translation) @ J[3:]
    return B.rotation.T @ (A.translation - B.translation), B.rotation.T @ moved


@dataclass(frozen=True, kw_only=True)
class Weld(_Frames):
    """Two frames that move as one.

    Args:
        first: link or frame.
        second: link or frame, or "world".
        position: position of the first frame in the second one [m]; None: as the robot stands.
        rpy: its roll, pitch and yaw there [rad]; None: as the robot stands.
        compliance: motion by a unit of force or moment; 0 is rigid [m/N, rad/(N m)].

    Raises:
        RobotError: a value is of another type or out of its range.
    """

    rows = 6

    position: Vector3 | None = None
    rpy: Vector3 | None = None

    def standing(self, model: pin.Model, data: pin.Data, file: str) -> Loop:
        """See `Loop.standing`."""
        first, second = super().attached(model, file)
        place = (data.oMi[second.joint] * second.place).actInv(data.oMi[first.joint] * first.place)
        position = tuple(place.translation.tolist()) if self.position is None else self.position
        rpy = tuple(pin.rpy.matrixToRpy(place.rotation).tolist()) if self.rpy is None else self.rpy
        return replace(self, position=position, rpy=rpy)

    def attached(self, model: pin.Model, file: str = "") -> tuple[Attached, Attached]:
        """See `_Frames.attached`."""
        first, second = super().attached(model, file)
        turn = pin.rpy.rpyToMatrix(np.array(self.rpy))
        place = second.place * pin.SE3(turn, np.array(self.position))
        return first, replace(second, place=place)

    def gaps(
        self, model: pin.Model, data: pin.Data, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Loop.gaps`; those of the rotation are its axis times the sine of its angle."""
        A, B, J = self._placed(model, data)
        g, of_g = _of_points(A, B, J)
        R = B.rotation.T @ A.rotation
        gradient = 0.5 * (np.trace(R) * np.eye(3) - R) @ B.rotation.T @ J[3:]
        return np.append(g, pin.unSkew(0.5 * (R - R.T))), np.vstack([of_g, gradient])


@dataclass(frozen=True, kw_only=True)
class Grip(Weld):
    """Two frames that move as one in steps whose command has them in `Command.attached`.

    They stay as they are to each other at the start of the step: a suction cup, a magnet, a hand.

    Args:
        first: link or frame.
        second: link or frame, or "world".

    Raises:
        RobotError: a value is of another type or out of its range.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compliance:
            raise RobotError("a grip is rigid: leave out its compliance", element=self.name)


@dataclass(frozen=True, kw_only=True)
class Distance(_Points):
    """Two points at a distance: a massless rod with a ball joint at each end.

    Args:
        first: link or frame.
        second: link or frame, or "world".
        point: point of the first frame [m].
        other: point of the second frame [m].
        length: distance [m]; None: as the robot stands.
        compliance: motion by a unit of force; 0 is rigid [m/N].

    Raises:
        RobotError: a value is of another type or out of its range.
    """

    rows = 1

    other: Vector3 | None = (0.0, 0.0, 0.0)
    length: Positive | None = None

    def standing(self, model: pin.Model, data: pin.Data, file: str) -> Loop:
        """See `Loop.standing`."""
        first, second = self.attached(model, file)
        if self.length is not None:
            return self
        ends = [data.oMi[f.joint] * f.place.translation for f in (first, second)]
        length = float(np.linalg.norm(ends[0] - ends[1]))
        if length == 0.0:
            raise RobotError("its points are at one place: use Connect", element=self.name)
        return replace(self, length=length)

    def gaps(
        self, model: pin.Model, data: pin.Data, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Loop.gaps`: (d^2 / length - length) / 2."""
        (A, B, J), length = self._placed(model, data), self.length or 1.0
        d = A.translation - B.translation
        moved = J[:3] - pin.skew(A.translation) @ J[3:]
        return np.array([0.5 * (d @ d / length - length)]), (d @ moved / length)[None]


@dataclass(frozen=True, kw_only=True)
class Coupling(Loop):
    """A hinge or slide at a polynomial of the position of another one.

    Args:
        joint: name of the joint.
        primary: name of the joint on whose position x it depends; None: it is held.
        polynomial: coefficients of 1, x, x^2, x^3 and x^4, the last of which may be left out.
        compliance: motion by a unit of force or moment; 0 is rigid [m/N, rad/(N m)].

    Raises:
        RobotError: a value is of another type or out of its range.
    """

    rows = 1

    joint: str
    primary: str | None = None
    polynomial: Polynomial = (0.0, 1.0)

    @property
    def name(self) -> str:
        """See `Loop.name`."""
        return f"Coupling of '{self.joint}'" + (f" and '{self.primary}'" if self.primary else "")

    def holds(self, model: pin.Model, file: str) -> bool:
        """See `Loop.holds`."""
        return {self.joint, self.primary or self.joint} <= {*simple_joints(model)}

    def standing(self, model: pin.Model, data: pin.Data, file: str) -> Loop:
        """See `Loop.standing`."""
        known = simple_joints(model)
        for name in (self.joint, self.primary or self.joint):
            if name not in known:
                raise RobotError(
                    f"'{name}' is no hinge or slide of it with one coordinate; these are "
                    f"{', '.join(known) or 'none'}",
                    file=file,
                    element=self.name,
                )
        if self.joint == self.primary:
            raise RobotError("it depends on itself", file=file, element=self.name)
        return self

    def beside(self, prefix: str) -> Loop:
        """See `Loop.beside`."""
        primary = f"{prefix}/{self.primary}" if self.primary else None
        return replace(self, joint=f"{prefix}/{self.joint}", primary=primary)

    def gaps(
        self, model: pin.Model, data: pin.Data, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Loop.gaps`."""
        J, x, slope = np.zeros((1, model.nv)), 0.0, 0.0
        joint = model.joints[model.getJointId(self.joint)]
        J[0, joint.idx_v] = 1.0
        if self.primary is not None:
            other = model.joints[model.getJointId(self.primary)]
            x = float(q[other.idx_q])
            slope = float(np.polyval(np.polyder(self.polynomial[::-1]), x))
            J[0, other.idx_v] = -slope
        return np.array([q[joint.idx_q] - np.polyval(self.polynomial[::-1], x)]), J


KINDS = {kind.__name__.lower(): kind for kind in (Connect, Weld, Distance, Coupling)}
"""Kinds of loops, by their names in files."""
