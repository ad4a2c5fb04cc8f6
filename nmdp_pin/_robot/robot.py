"""Robots: models with contact points, driven joints, limits and gaits."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pinocchio as pin

from nmdp_pin._options import check_part, check_shape
from nmdp_pin._robot.actuator import Actuator
from nmdp_pin._robot.contact_points import ContactPoints
from nmdp_pin._robot.frames import frame_named
from nmdp_pin._robot.gait import Gait
from nmdp_pin._robot.joint_limits import JointLimits
from nmdp_pin._robot.lift import Lift
from nmdp_pin._robot.loop import Loop
from nmdp_pin._robot.meshes import Missing
from nmdp_pin._robot.model import FREE_JOINTS, PLANAR_JOINTS
from nmdp_pin._robot.spring import Spring
from nmdp_pin._robot.tendon import Tendon
from nmdp_pin._state.read_only_array import read_only
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Shape, Terrain
from nmdp_pin.errors import RobotError, StateError

# Contact points so little above the lowest one carry the robot as well [m].
_STANDING = 0.002


@dataclass(frozen=True, eq=False)
class Robot:
    """Robot that is ready for simulation; its arrays are read-only.

    A simulator owns a copy: what changes in `model` afterwards changes no step.

    Args:
        name: name in scenarios.
        model: kinematics and inertias.
        contact_points: spheres that may touch the terrain or the surfaces of bodies.
        driven: velocity indices of the driven joints, shape (n_driven,).
        standing: standing configuration, shape (nq,).
        gaits: reference motions by name.
        visual_model: visual geometry, None if its meshes are absent.
        collision_model: collision geometry, None if its meshes are absent.
        source: path of the URDF.
        limits: bounds of the joints; None: no bounds.
        springs: springs of joints.
        lifts: forces against gravity.
        tendons: sums of joint positions that are joints of their own, or are held at zero.
        loops: closed loops, which the standing pose closes; `with_loops` adds them.
        scripted: joints that are where commands put them, which `scripted` chooses.
        kp: position gains of the servos that the description has, by joint [N m/rad or N/m].
        kd: velocity gains of them, by joint [N m s/rad or N s/m].
        actuators: those of an MJCF file, which `Actuators` controls.
        surfaces: surfaces of the bodies that contact points may touch, in the frames of their
            joints, by the index of the joint.
        disabled: pairs of joints, the lower index first, whose bodies never touch, as the SRDF
            or MJCF file says.
        world: shapes that stand still in the file of a scene, by name, see `load_scene`.
        frictions: friction coefficients of pairs of joints, the lower index first and 0 for the
            terrain, in the place of those of their shapes.
        stiffnesses: contact stiffnesses, likewise [N/m^p].
        notes: choices made while loading, one sentence each.
        warnings: what is odd in the description, or not simulated of it, and changes the motion,
            one sentence each.
        missing_visuals: link and file of each visual mesh that was not found.
        missing_collisions: link and file of each collision mesh that was not found.

    Raises:
        RobotError: the joints of the model are not in depth-first order.
    """

    name: str
    model: pin.Model
    contact_points: ContactPoints
    driven: np.ndarray
    standing: np.ndarray
    gaits: Mapping[str, Gait] = field(default_factory=dict)
    visual_model: pin.GeometryModel | None = None
    collision_model: pin.GeometryModel | None = None
    source: str = ""
    limits: JointLimits = None  # type: ignore[assignment]  # filled in below
    springs: tuple[Spring, ...] = ()
    lifts: tuple[Lift, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    loops: tuple[Loop, ...] = ()
    scripted: frozenset[str] = frozenset()
    kp: Mapping[str, float] = field(default_factory=dict)
    kd: Mapping[str, float] = field(default_factory=dict)
    actuators: tuple[Actuator, ...] = ()
    surfaces: Mapping[int, Terrain] = field(default_factory=dict)
    world: Mapping[str, Shape] = field(default_factory=dict)
    disabled: frozenset[tuple[int, int]] = frozenset()
    frictions: Mapping[tuple[int, int], float] = field(default_factory=dict)
    stiffnesses: Mapping[tuple[int, int], float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    missing_visuals: Missing = ()
    missing_collisions: Missing = ()

    def __post_init__(self) -> None:
        # Pinocchio's mass matrix and derivatives are wrong otherwise.
        parents = self.model.parents.tolist()
        for joint, parent in enumerate(parents[2:], start=2):
            before = joint - 1
            while before > parent:
                before = parents[before]
            if before != parent:
                raise RobotError(
                    "the joints below it do not follow it in the model; add joints in depth-first "
                    "order",
                    element=f"joint '{self.model.names[parent]}'",
                )
        if self.limits is None:
            object.__setattr__(self, "limits", JointLimits.none(self.model.nv))
        object.__setattr__(self, "limits", self.limits.read_only())
        for name in ("driven", "standing"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def copy(self) -> "Robot":
        """Copy with models of its own; the shapes and meshes, which nobody changes, are shared."""
        geometry = self.collision_model
        return replace(
            self,
            model=pin.Model(self.model),
            collision_model=None if geometry is None else geometry.copy(),
            kp=dict(self.kp),
            kd=dict(self.kd),
            surfaces=dict(self.surfaces),
            frictions=dict(self.frictions),
            stiffnesses=dict(self.stiffnesses),
        )

    def for_worker(self) -> "Robot":
        """The robot without visual and collision geometry, which no step needs."""
        return replace(self, visual_model=None, collision_model=None)

    @property
    def mass(self) -> float:
        """Mass of all moving bodies [kg]."""
        return float(sum(inertia.mass for inertia in self.model.inertias[1:]))

    @property
    def floating(self) -> bool:
        """Whether the base moves, in space or in the plane."""
        return any(self.model.existJointName(base[-1]) for base in (FREE_JOINTS, PLANAR_JOINTS))

    @property
    def n_feet(self) -> int:
        """Number of contact points that carry the standing robot.

        Points at most 2 mm above the lowest one; all points where the base is fixed.
        """
        if not self.floating:
            return self.contact_points.n_terrain
        bottoms = self.contact_points.bottoms(self.model, self.standing)
        return int((bottoms < bottoms.min(initial=np.inf) + _STANDING).sum())

    @property
    def lowest_point(self) -> float:
        """Height of the lowest contact point in the standing pose [m]; infinite without any."""
        bottoms = self.contact_points.bottoms(self.model, self.standing)
        return float(bottoms.min(initial=np.inf))

    def pose(self, state: State, frame: str | None = None) -> pin.SE3:
        """Pose of a frame in the world.

        Args:
            state: state of the robot.
            frame: link or frame; None: the base link.

        Raises:
            RobotError: the robot lacks the frame.
            StateError: the state is not of this robot.
        """
        data = self._data_for(state)
        pin.forwardKinematics(self.model, data, state.q)
        return pin.SE3(pin.updateFramePlacement(self.model, data, self._frame(frame)))

    def velocity(self, state: State, frame: str | None = None) -> np.ndarray:
        """Velocity of a frame's origin, then its angular velocity [m/s, rad/s], shape (6,).

        Both are along the axes of the world. The arguments are those of `pose`.
        """
        data, index = self._data_for(state), self._frame(frame)
        pin.forwardKinematics(self.model, data, state.q, state.v)
        motion = pin.getFrameVelocity(self.model, data, index, pin.LOCAL_WORLD_ALIGNED)
        return np.array(motion.vector)

    def jacobian(self, state: State, frame: str | None = None) -> np.ndarray:
        """Jacobian J of `velocity`, which is J v, shape (6, nv); the arguments are as there."""
        data, index = self._data_for(state), self._frame(frame)
        J = pin.computeFrameJacobian(self.model, data, state.q, index, pin.LOCAL_WORLD_ALIGNED)
        return np.array(J).reshape(6, self.model.nv)

    def mass_matrix(self, state: State) -> np.ndarray:
        """Mass matrix with the armatures of the rotors [kg, kg m, kg m^2], shape (nv, nv)."""
        M = np.triu(pin.crba(self.model, self._data_for(state), state.q))
        return np.asarray(M + np.triu(M, 1).T)

    def _data_for(self, state: State) -> pin.Data:
        """Memory for what is computed at a state of the robot."""
        check_part("state", state, State, StateError)
        check_shape("q", np.asarray(state.q), StateError, self.model.nq)
        check_shape("v", np.asarray(state.v), StateError, self.model.nv)
        return self.model.createData()

    def _frame(self, name: str | None) -> int:
        return frame_named(self.model, name, RobotError, f"robot '{self.name}'")

    def require_visuals(self) -> pin.GeometryModel:
        """Visual geometry of the robot.

        Raises:
            RobotError: a mesh is missing, or the robot was loaded without visuals.
        """
        return self._required("visual", self.visual_model, self.missing_visuals)

    def require_collisions(self) -> pin.GeometryModel:
        """Collision geometry of the robot.

        Raises:
            RobotError: a mesh is missing.
        """
        return self._required("collision", self.collision_model, self.missing_collisions)

    def _required(
        self, kind: str, geometry: pin.GeometryModel | None, missing: Missing
    ) -> pin.GeometryModel:
        if geometry is None and not missing:
            raise RobotError(f"was loaded with {kind}s=False", file=self.source)
        if geometry is None:
            link, mesh = missing[0]
            more = f" ({len(missing) - 1} more are missing)" if len(missing) > 1 else ""
            what = f"{kind} mesh '{mesh}' was not found{more}; name the folder of its package in "
            raise RobotError(f"{what}package_dirs", file=self.source, element=f"link '{link}'")
        return geometry
