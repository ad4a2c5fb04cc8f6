"""A robot of ours as a plant of Drake: the MJCF of `mujoco_twin`, with PD gains in the joints.

Drake (`pip install drake`) is needed here only.
"""

from __future__ import annotations

import itertools
import logging
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np
from mujoco_twin import Reference, mjcf
from pydrake import all as drake

from nmdp_pin._robot import Robot

CORNER = 1e-4  # radius of the balls at the corners of a box, which alone meet the plane [m]
_TABLE = 1e-3  # [s] between the times of the reference
_NO_BODY = '<inertial pos="0 0 0" mass="1e-6" diaginertia="1e-6 1e-6 1e-6"/>'
logging.getLogger("drake").setLevel(logging.ERROR)  # of words of MJCF that it leaves out


class DrakeTwin:
    """A Drake simulation of a robot that follows a reference.

    Args:
        robot: see `mujoco_twin.mjcf`.
        reference: targets (nq,) and rates (nv,) at a time.
        q0: where it begins, at rest, shape (nq,).
        position: of the base or the object in the configuration.
        duration: of the reference [s].
        height: of the plane [m].
        friction: coefficient of its contacts.
        kp: position gain [N m/rad].
        kd: velocity gain [N m s/rad].
        way: name of a `DiscreteContactApproximation`, without its k; or "CENIC", by error control.
        step: length of its steps [s]; of "CENIC" its accuracy.
        longest: longest step of "CENIC" [s].
    """

    def __init__(
        self,
        robot: Robot,
        reference: Reference,
        *,
        q0: np.ndarray,
        position: range,
        duration: float,
        height: float,
        friction: float,
        kp: float,
        kd: float,
        way: str,
        step: float,
        longest: float = 0.05,
    ) -> None:
        builder, discrete = drake.DiagramBuilder(), way != "CENIC"
        plant, graph = drake.AddMultibodyPlantSceneGraph(builder, step if discrete else 0.0)
        if discrete:
            kind = getattr(drake.DiscreteContactApproximation, f"k{way}")
            plant.set_discrete_contact_approximation(kind)
        text = _for_drake(mjcf(robot, height, friction, kp, kd), friction)
        (self._model,) = drake.Parser(plant).AddModelsFromString(text, "mujoco.xml")
        plant.mutable_gravity_field().set_gravity_vector(robot.model.gravity.linear)
        self._plant, self._joints = plant, list(robot.model.joints)[1:]
        self._names = [robot.model.names[joint.id] for joint in self._joints]
        driven = self._add_servos(robot, kp, kd)
        corners = self._add_corners(robot, graph, friction)
        plant.Finalize()
        self._filter(graph, corners)
        t = _TABLE * np.arange(round((duration + 0.1) / _TABLE) + 1)
        targets = [reference(time) for time in t]
        q = np.array([target[[joint.idx_q for joint in driven]] for target, _ in targets]).T
        v = np.array([rate[[joint.idx_v for joint in driven]] for _, rate in targets]).T
        track = drake.PiecewisePolynomial.CubicHermite(t, q, v)
        source = builder.AddSystem(drake.TrajectorySource(track, 1))
        port = plant.get_desired_state_input_port(self._model)
        builder.Connect(source.get_output_port(), port)
        self._simulator = drake.Simulator(builder.Build())
        context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        self._read = self._place(context, q0, position)
        if not discrete:
            config = drake.SimulatorConfig()
            config.integration_scheme, config.use_error_control = "cenic", True
            config.accuracy, config.max_step_size = step, longest
            drake.ApplySimulatorConfig(config, self._simulator)
        self._simulator.Initialize()

    def advance(self, t: float) -> np.ndarray:
        """The position of the base or the object at a later time; a RuntimeError where it fails."""
        self._simulator.AdvanceTo(t)
        return self._read()

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self._simulator.get_num_steps_taken())

    def _joint(self, joint: Any) -> Any:
        name = self._names[self._joints.index(joint)]
        return self._plant.GetJointByName(name, self._model)

    def _add_servos(self, robot: Robot, kp: float, kd: float) -> list[Any]:
        """Gains of the driven joints, and these in Drake's order."""
        driven = set(np.asarray(robot.driven).tolist())
        served = {
            name: joint
            for name, joint in zip(self._names, self._joints, strict=True)
            if joint.nv == 1 and joint.idx_v in driven
        }
        order = []
        for index in self._plant.GetJointIndices(self._model):
            name = self._plant.get_joint(index).name()
            if name not in served:
                continue
            joint = served[name]
            actuator = self._plant.AddJointActuator(
                f"servo of {name}", self._plant.get_joint(index), 1e12
            )
            actuator.set_controller_gains(drake.PdControllerGains(p=kp, d=kd))
            actuator.set_default_gear_ratio(1.0)
            actuator.set_default_rotor_inertia(float(robot.model.armature[joint.idx_v]))
            order.append(joint)
        return order

    def _geometries(self, graph: Any) -> list[tuple[Any, str, Any]]:
        """Geometries that collide, the kinds of their shapes, and their bodies."""
        inspector = graph.model_inspector()
        bodies = [self._plant.get_body(i) for i in self._plant.GetBodyIndices(self._model)]
        return [
            (geometry, type(inspector.GetShape(geometry)).__name__, body)
            for body in (self._plant.world_body(), *bodies)
            for geometry in self._plant.GetCollisionGeometriesForBody(body)
        ]

    def _add_corners(self, robot: Robot, graph: Any, friction: float) -> list[Any]:
        """Balls at the corners of a free box: the box itself meets the robot alone."""
        if not robot.surfaces:
            return []
        (surface,) = robot.surfaces.values()
        (shape,) = surface.shapes
        world = self._plant.world_body().index()
        (body,) = (
            body
            for _, kind, body in self._geometries(graph)
            if kind == "Box" and body.index() != world
        )
        half, law = np.array(shape.size) / 2.0 - CORNER, drake.CoulombFriction(friction, friction)
        return [
            self._plant.RegisterCollisionGeometry(
                body,
                drake.RigidTransform(np.array(signs) * half + np.array(shape.position)),
                drake.Sphere(CORNER),
                f"corner {k}",
                law,
            )
            for k, signs in enumerate(itertools.product((-1.0, 1.0), repeat=3))
        ]

    def _filter(self, graph: Any, corners: list[Any]) -> None:
        """Leave the pairs that the other simulators have."""
        world = self._plant.world_body().index()
        found = self._geometries(graph)
        balls = [g for g, kind, _ in found if kind == "Sphere" and g not in corners]
        ground = [g for g, _, body in found if body.index() == world]
        boxes = [g for g, kind, body in found if kind == "Box" and body.index() != world]
        group, rule = drake.GeometrySet, drake.CollisionFilterDeclaration()
        rule.ExcludeWithin(group(balls))
        if boxes:
            rule.ExcludeBetween(group(boxes), group(ground))
            rule.ExcludeBetween(group(corners), group(balls + boxes))
            rule.ExcludeWithin(group(corners))
        graph.collision_filter_manager().Apply(rule)

    def _place(self, context: Any, q0: np.ndarray, position: range) -> Callable[[], np.ndarray]:
        """Put the plant where it begins; returns what reads the position."""
        free = [
            joint
            for index in self._plant.GetJointIndices(self._model)
            if isinstance(joint := self._plant.get_joint(index), drake.QuaternionFloatingJoint)
        ]
        turns = [joint for joint in self._joints if joint.nq == 4]  # each behind a translation
        for floating, joint in zip(free, turns, strict=True):
            i = joint.idx_q
            turn = drake.Quaternion(np.roll(q0[i : i + 4], 1) / np.linalg.norm(q0[i : i + 4]))
            floating.SetPose(context, drake.RigidTransform(turn, q0[i - 3 : i]))
        single = [joint for joint in self._joints if joint.nv == 1]
        for joint in single:
            own = self._joint(joint)
            slides = isinstance(own, drake.PrismaticJoint)
            (own.set_translation if slides else own.set_angle)(context, q0[joint.idx_q])
        for floating, joint in zip(free, turns, strict=True):
            if joint.idx_q - 3 == position.start:
                return lambda: floating.GetPose(context).translation().copy()
        slides = [self._joint(joint) for joint in single if joint.idx_q in position]
        return lambda: np.array([joint.get_translation(context) for joint in slides])


def _for_drake(text: str, friction: float) -> str:
    """MJCF as Drake reads it.

    Its coefficient of a pair is the harmonic mean, not that of the touched surface: balls have what
    gives the same coefficient with it.
    """
    text = re.sub(r"<actuator>.*</actuator>", "", text)
    text = re.sub(r' priority="\d"', "", text)
    box, of_ball = re.search(r'type="box"[^>]*friction="([\d.]+)', text), friction
    if box:
        touched = float(box[1])
        of_ball = touched * friction / (2.0 * friction - touched)
        text = text.replace(f'friction="{touched} ', f'friction="{friction} ')
    text = re.sub(
        r'(<geom type="sphere"[^>]*)contype', rf'\1friction="{of_ball} 0 0" contype', text
    )
    root = ET.fromstring(text)
    root.set("model", "robot")
    for body in root.iter("body"):
        if body.find("inertial") is None:
            body.append(ET.fromstring(_NO_BODY))
    return ET.tostring(root, encoding="unicode").replace('size="0 0 1" pos', 'size="10 10 1" pos')
