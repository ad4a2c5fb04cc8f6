"""Sets of parameters by which a system differs from another one."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._dynamics.parameters import set_mass, shapes_of, with_friction
from nmdp_pin._dynamics.system import Law, System
from nmdp_pin._options import check_part, numbers
from nmdp_pin._robot import Robot
from nmdp_pin._robot.joint_limits import JointLimits, named_joints
from nmdp_pin.errors import ParameterError

ByName = Mapping[str, float] | Sequence[float] | np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterSet:
    """Parameters of a system that differ; None: as they are.

    Args:
        mass: masses of the bodies [kg], each of a link with all that is fixed to it, by the name of
            the link that a joint carries or of the joint; or one a joint, shape (njoints - 1,).
            Centres and radii of gyration stay; a body without mass becomes a point at the joint.
        payload: masses [kg] and places [m] of points that are fixed to links or frames, by their
            names, in their axes.
        placement: placements of joints in the frames of those before them, by name.
        friction: friction coefficients of the shapes [-], those of the terrain, then those of the
            bodies in the order of `robot.surfaces`, shape (n,); NaN: as it is. A number: of the
            only shape.
        armature: inertia of the rotors [kg m^2 or kg], by joint, or shape (nv,).
        limits: bounds of the joints.
        gravity: acceleration of gravity [m/s^2], shape (3,).
        stiffness: k of a friction cone [N/m^power], or C_perp of a penalty law [N/m^alpha], of
            pairs of bodies that state none.

    Raises:
        ParameterError: a parameter does not fit the system.
    """

    mass: ByName | None = None
    payload: Mapping[str, tuple[float, Sequence[float]]] | None = None
    placement: Mapping[str, pin.SE3] | None = None
    friction: float | Sequence[float] | np.ndarray | None = None
    armature: ByName | None = None
    limits: JointLimits | None = None
    gravity: Sequence[float] | np.ndarray | None = None
    stiffness: float | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "ParameterSet":
        """The set of parameters by their names."""
        names = list(cls.__dataclass_fields__)
        for name in values:
            if name not in names:
                raise ParameterError(f"'{name}' is no parameter; choose from {names}")
        return cls(**values)

    def changed(self, system: System[Law]) -> System[Law]:
        """The system with these parameters."""
        result = system.varied(self._robot(system.robot), self._law(system.law))
        if self.friction is not None:
            for index, friction in self._frictions(system):
                result = with_friction(result, index, friction)
        return result

    def _robot(self, robot: Robot) -> Robot:
        """The robot with these parameters; itself where none is of the robot."""
        of_model = self.mass, self.payload, self.placement, self.armature, self.gravity
        if all(value is None for value in of_model):
            return robot if self.limits is None else self._limited(robot)
        model = pin.Model(robot.model)
        for joint, mass in self._masses(robot.model):
            set_mass(model, joint, mass)
        for joint, point in self._payloads(robot.model):
            model.inertias[joint] += point
        for name, place in _by_name("placement", self.placement):
            model.jointPlacements[_joint("placement", model, name)] = _pose(name, place)
        if self.gravity is not None:
            gravity = _numbers("gravity", self.gravity, 3, signed=True)
            model.gravity = pin.Motion(gravity, np.zeros(3))
        for dofs, value in self._armatures(robot.model):
            model.armature[dofs] = value
        return self._limited(replace(robot, model=model))

    def _limited(self, robot: Robot) -> Robot:
        """The robot with these limits."""
        if self.limits is None:
            return robot
        if not isinstance(self.limits, JointLimits):
            what = type(self.limits).__name__
            raise ParameterError(
                f"limits must be JointLimits, such as replace(robot.limits, effort=...); got {what}"
            )
        for name in ("lower", "upper", "effort", "friction"):
            _of_size(name, getattr(self.limits, name), robot.model.nv)
        return replace(robot, limits=self.limits)

    def _masses(self, model: pin.Model) -> Iterable[tuple[int, float]]:
        """Joints and the masses of their bodies."""
        if self.mass is None:
            return
        if not isinstance(self.mass, Mapping):
            yield from enumerate(_numbers("mass", self.mass, model.njoints - 1).tolist(), 1)
            return
        named: dict[int, str] = {}
        for name, value in self.mass.items():
            joint = _carrier(model, name)
            if joint in named:
                what = f"'{named[joint]}' and '{name}' are of one body: give one of them"
                raise ParameterError(f"mass: {what}")
            named[joint] = name
            yield joint, _at_least_0(f"mass of '{name}'", value)

    def _payloads(self, model: pin.Model) -> Iterable[tuple[int, pin.Inertia]]:
        """Joints and the points that they carry besides."""
        for name, given in _by_name("payload", self.payload):
            frame = _frame("payload", model, name)
            try:
                mass, place = given
            except (TypeError, ValueError):
                what = f"payload of '{name}' must be a mass and a place, got {given!r}"
                raise ParameterError(what) from None
            centre = frame.placement.act(_numbers("place of a payload", place, 3, signed=True))
            value = _at_least_0(f"payload of '{name}'", mass)
            yield frame.parentJoint, pin.Inertia(value, centre, np.zeros((3, 3)))

    def _armatures(self, model: pin.Model) -> Iterable[tuple[slice, Any]]:
        """Velocities and the inertias of their rotors."""
        if self.armature is None:
            return
        if not isinstance(self.armature, Mapping):
            yield slice(None), _numbers("armature", self.armature, model.nv)
            return
        for name, value in self.armature.items():
            joint = model.joints[_joint("armature", model, name)]
            number = _at_least_0(f"armature of '{name}'", value)
            yield slice(joint.idx_v, joint.idx_v + joint.nv), number

    def _frictions(self, system: System[Law]) -> Iterable[tuple[int, float]]:
        """Indices of shapes and their friction coefficients."""
        given = np.atleast_1d(numbers("friction", self.friction, ParameterError))
        n = len(shapes_of(system))
        _of_size("friction", given, n, "one a shape: of the terrain, then of the bodies")
        for index, value in enumerate(given.tolist()):
            if not math.isnan(value):
                yield index, _at_least_0(f"friction[{index}]", value)

    def _law(self, law: Any) -> Any:
        """The contact law with this stiffness."""
        if self.stiffness is None:
            return law
        fields = [name for name in ("stiffness", "normal_stiffness") if hasattr(law, name)]
        if not fields:
            raise ParameterError(f"stiffness: {type(law).__name__} has none")
        return replace(law, **{fields[0]: self.stiffness})


def _frame(what: str, model: pin.Model, name: str) -> pin.Frame:
    """A frame of a body that moves."""
    frame = model.frames[model.getFrameId(name)] if model.existFrame(name) else None
    if frame is None or not frame.parentJoint:
        bodies = ", ".join(name for name, _ in named_joints(model))
        raise ParameterError(
            f"{what}: there is no moving body '{name}'; name a link, or a joint: {bodies}"
        )
    return frame


def _carrier(model: pin.Model, name: str) -> int:
    """Index of the joint that is called so, or whose body has the link of this name.

    Of the links of a body its first one and its heaviest one may stand for all.
    """
    named = _frame("mass", model, name)
    joint = int(named.parentJoint)
    first = named.type == pin.BODY and model.frames[named.parentFrame].type == pin.JOINT
    if first or name == model.names[joint]:
        return joint
    masses = dict[str, float]()
    for frame in model.frames:
        if frame.parentJoint == joint and frame.type == pin.BODY:
            fixed = model.frames[frame.parentFrame]  # which pinocchio gives the link's inertia
            given = fixed.inertia.mass if fixed.type == pin.FIXED_JOINT else 0.0
            masses[frame.name] = frame.inertia.mass + given
    own = next(iter(masses))
    masses[own] += model.inertias[joint].mass - sum(masses.values())
    if name not in (own, max(masses, key=masses.__getitem__)):
        raise ParameterError(
            f"mass: '{name}' is fixed to '{own}', and a mass is that of a link with all that is "
            f"fixed to it: name '{own}', or give a payload"
        )
    return joint


def _by_name(what: str, values: Any) -> Iterable[tuple[str, Any]]:
    """Names and values of a table, which may be missing."""
    if values is not None:
        check_part(what, values, Mapping, ParameterError)
    return values.items() if values else ()


def _joint(what: str, model: pin.Model, name: str) -> int:
    """Index of a joint."""
    names = [known for known, _ in named_joints(model)]
    if name not in names:
        raise ParameterError(f"{what}: there is no joint '{name}'; choose from {', '.join(names)}")
    return int(model.getJointId(name))


def _pose(name: str, place: Any) -> pin.SE3:
    """Check a placement."""
    if not isinstance(place, pin.SE3) or not np.isfinite(place.homogeneous).all():
        raise ParameterError(f"placement of '{name}' must be a finite pin.SE3, got {place!r}")
    return place


def _numbers(name: str, values: Any, size: int, *, signed: bool = False) -> np.ndarray:
    """Numbers of a parameter, which are no less than 0 unless they have a sign."""
    array = numbers(name, values, ParameterError, size)
    if not np.isfinite(array).all() or (not signed and (array < 0.0).any()):
        least = "" if signed else " >= 0"
        raise ParameterError(f"{name} must hold finite numbers{least}, got {array}")
    return array


def _of_size(name: str, values: np.ndarray, size: int, what: str = "") -> None:
    """Check the shape of an array."""
    if np.shape(values) != (size,):
        more = f", {what}" if what else ""
        raise ParameterError(f"{name} has shape {np.shape(values)}, expected ({size},){more}")


def _at_least_0(name: str, value: Any) -> float:
    """Check a number."""
    if not isinstance(value, float | int | np.number) or not 0.0 <= value < math.inf:
        raise ParameterError(f"{name} must be a finite number >= 0, got {value!r}")
    return float(value)
