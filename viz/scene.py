"""A robot on its terrain as a meshcat scene: built once, then moved by few transforms."""

from __future__ import annotations

from typing import Any, Protocol

import meshcat
import meshcat.geometry as mg
import numpy as np
import pinocchio as pin
from meshcat.commands import SetProperty
from meshcat.path import Path

from nmdp_pin.recorder import base_frame
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain
from nmdp_pin.viz.body_shapes import BodyShapes
from nmdp_pin.viz.terrain_mesh import draw_terrain

ROOT = "/meshcat"
"""Path of the world: robot, terrain and arrows; camera and lights stand beside it."""

WEIGHT_ARROW = 0.5
"""Length of the arrow of a force as large as the robot's weight, in units of its size."""

# In units of the robot's size, from its centre: x forward, y left, z up.
_CAMERA_PLACE = np.array([0.75, -1.75, 0.5])
_SUN_PLACE = np.array([0.5, -0.9, 2.0])
_FIELD_OF_VIEW = 35.0  # [°]
_SLENDER = 0.12  # arrows shorter than this times the size become thinner, too
_HIDDEN = 1e-6  # scale of what is not shown; zero has no rotation
_POINT_COLOR = 0xF2C14E
_TOUCH_COLOR = 0xE4572E
_FORCE_COLOR = 0x2BA84A


class Window(Protocol):
    """Where meshcat's commands go: a browser or a file."""

    def send(self, command: Any) -> None:
        """Take a command, an object with the method `lower()`."""


class Scene:
    """Draws a robot, its terrain, contact points and contact forces into a window.

    Only joints, arrows and marks of touching points move: `placements` says how, as few
    transforms, for a live viewer and for an animation alike.

    Args:
        window: where the commands that build the scene go.
        robot: the robot; one without looks is drawn by its collision shapes, and without
            those as sticks between its joints.
        terrain: the ground, None for none.
        follow: the camera keeps beside the robot.
    """

    def __init__(
        self, window: Window, robot: Robot, terrain: Terrain | None, *, follow: bool = True
    ) -> None:
        self._robot = robot
        self._data = robot.model.createData()
        self._base = robot.model.frames[base_frame(robot.model)]
        self._follow = follow
        self._joints = BodyShapes(window, robot)
        viewer = meshcat.Visualizer(window=window)
        center, self.size = self._extent()
        self._center = center
        weight = sum(inertia.mass for inertia in robot.model.inertias) * 9.81
        self._arrow_scale = WEIGHT_ARROW * self.size / weight if weight > 0.0 else 1.0
        self._draw_contacts(viewer)
        self._set_stage(viewer)
        if terrain is not None:
            draw_terrain(window, terrain, center)
        viewer[ROOT].set_transform(self._world())
        for path, matrix in self.placements(robot.standing, None).items():
            viewer[path].set_transform(matrix)

    def placements(self, q: np.ndarray, contact_force: np.ndarray | None) -> dict[str, np.ndarray]:
        """Transforms that show the robot at q, pushed by the given forces.

        Args:
            q: configuration, shape (nq,).
            contact_force: forces on the robot, world frame [N], shape (n_contacts, 3); None: none.

        Returns:
            path of the node → homogeneous transform to the world or the parent node, shape (4, 4).
        """
        pin.forwardKinematics(self._robot.model, self._data, q)
        moved = {path: self._data.oMi[j].homogeneous for j, path in self._joints.paths.items()}
        points = self._robot.contact_points
        if contact_force is None:
            contact_force = np.zeros((len(points), 3))
        for k, name in enumerate(points.names):
            start = self._data.oMi[int(points.joints[k])].act(points.positions[k])
            length = self._arrow_scale * float(np.linalg.norm(contact_force[k]))
            moved[f"{ROOT}/forces/{_node(name)}"] = self._arrow(start, contact_force[k], length)
            touch = np.eye(4)
            touch[:3, :3] *= 1.0 if length > 1e-3 * self.size else _HIDDEN
            moved[f"{self._point_path(k)}/touch"] = touch
        if self._follow:
            moved[ROOT] = self._world()
        return moved

    def _world(self) -> np.ndarray:
        """Transform that brings the robot before the camera.

        The camera of meshcat always looks at the origin of everything, so that it is the world
        that moves under it; the lights then stay with the robot, too.
        """
        base = (self._data.oMi[self._base.parentJoint] * self._base.placement).translation
        transform = np.eye(4)
        transform[:3, 3] = -base[0], -base[1], -self._center[2]
        return transform

    def _extent(self) -> tuple[np.ndarray, float]:
        """Centre of the standing robot, shape (3,), and the diagonal of its bounding box [m]."""
        model, data, points = self._robot.model, self._data, self._robot.contact_points
        pin.forwardKinematics(model, data, self._robot.standing)
        corners = [data.oMi[j].translation for j in range(1, model.njoints)] or [np.zeros(3)]
        corners += [
            data.oMi[int(j)].act(p) for j, p in zip(points.joints, points.positions, strict=True)
        ]
        corners += self._joints.corners(data)
        low, high = np.min(corners, axis=0), np.max(corners, axis=0)
        return (low + high) / 2.0, max(float(np.linalg.norm(high - low)), 0.2)

    def _point_path(self, k: int) -> str:
        points = self._robot.contact_points
        return f"{self._joints.paths[int(points.joints[k])]}/contact_{_node(points.names[k])}"

    def _draw_contacts(self, viewer: meshcat.Visualizer) -> None:
        """A mark at each contact point, a larger one where it touches, and the force's arrow."""
        points = self._robot.contact_points
        smallest = 0.008 * self.size
        idle = mg.MeshPhongMaterial(color=_POINT_COLOR)
        touching = mg.MeshPhongMaterial(color=_TOUCH_COLOR)
        force = mg.MeshPhongMaterial(color=_FORCE_COLOR, side=0, depthTest=False)
        thickness = 0.009 * self.size
        for k, name in enumerate(points.names):
            radius = max(float(points.radii[k]), smallest) * 1.05
            mark = viewer[self._point_path(k)]
            mark["mark"].set_object(mg.Sphere(radius), idle)
            mark["touch"].set_object(mg.Sphere(1.12 * radius), touching)
            mark.set_transform(pin.SE3(np.eye(3), points.positions[k]).homogeneous)
            arrow = viewer[f"{ROOT}/forces/{_node(name)}"]
            # Unit arrows along z, which a transform stretches; meshcat's cylinders lie along y.
            for part, low, high, shape in (
                ("shaft", 0.0, 0.8, mg.Cylinder(0.8, thickness)),
                ("head", 0.8, 1.0, mg.Cylinder(0.2, radiusTop=0.0, radiusBottom=2.4 * thickness)),
            ):
                arrow[part].set_object(OnTop(shape, force))
                viewer.window.send(NoShadow(arrow[part].path))
                upright = pin.SE3(pin.rpy.rpyToMatrix(np.pi / 2, 0, 0), np.zeros(3)).homogeneous
                upright[2, 3] = (low + high) / 2.0
                arrow[part].set_transform(upright)

    def _arrow(self, start: np.ndarray, force: np.ndarray, length: float) -> np.ndarray:
        """Transform of a unit arrow to one from `start` along the force."""
        matrix = np.eye(4)
        matrix[:3, 3] = start
        if not np.isfinite(length) or length < _HIDDEN:
            matrix[:3, :3] *= _HIDDEN
            return matrix
        rotation = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), force).matrix()
        width = min(1.0, length / (_SLENDER * self.size))
        matrix[:3, :3] = rotation * np.array([width, width, length])
        return matrix

    def _set_stage(self, viewer: meshcat.Visualizer) -> None:
        """Camera, light and background."""
        viewer["/Background"].set_property("top_color", [0.93, 0.95, 0.98])
        viewer["/Background"].set_property("bottom_color", [0.74, 0.79, 0.85])
        viewer["/Grid"].set_property("visible", False)
        viewer["/Axes"].set_property("visible", False)
        camera = viewer["/Cameras/default/rotated"]
        camera.set_object(mg.PerspectiveCamera(fov=_FIELD_OF_VIEW, near=0.02, far=300.0))
        x, y, z = _CAMERA_PLACE * self.size
        camera["<object>"].set_property("position", [x, z, -y])  # in its frame y is up
        for light in ("SpotLight", "PointLightNegativeX", "PointLightPositiveX", "FillLight"):
            viewer[f"/Lights/{light}"].set_property("visible", False)
        viewer["/Lights/AmbientLight/<object>"].set_property("intensity", 0.5)
        viewer["/Lights/Sun"].set_object(Sun(_SUN_PLACE * self.size, 1.5 * self.size))


class OnTop(mg.Mesh):
    """A body that is drawn over all others, for a force often lies inside of the leg it pushes.

    Its material must not test the depth.
    """

    def lower(self) -> dict[str, Any]:
        """The body in three.js's JSON."""
        data: dict[str, Any] = super().lower()
        data["object"]["renderOrder"] = 1  # after the others, which have 0
        return data


class NoShadow(SetProperty):
    """Makes the body at a path cast no shadow; meshcat's own command spells it in lower case."""

    def __init__(self, path: Path) -> None:
        super().__init__("castShadow", False, path.append("<object>"))

    def lower(self) -> dict[str, Any]:
        """The command."""
        return {**super().lower(), "property": self.key}


class Sun(mg.Object):
    """A directional light that casts sharp shadows around the origin.

    Args:
        place: where it shines from, shape (3,).
        reach: half the side of the square that has shadows [m].
    """

    def __init__(self, place: np.ndarray, reach: float) -> None:
        mg.SceneElement.__init__(self)
        self._place = place
        self._reach = reach

    def lower(self) -> dict[str, Any]:
        """The light in three.js's JSON."""
        reach = self._reach
        camera = {"type": "OrthographicCamera", "left": -reach, "right": reach, "top": reach}
        camera |= {"bottom": -reach, "near": 0.01 * reach, "far": 6.0 * reach}
        light = {"uuid": self.uuid, "type": "DirectionalLight", "color": 0xFFFFFF}
        light |= {
            "intensity": 0.55,
            "matrix": pin.SE3(np.eye(3), self._place).homogeneous.T.flatten().tolist(),
            "shadow": {"mapSize": [2048, 2048], "bias": -0.001, "radius": 2, "camera": camera},
        }
        return {"metadata": {"version": 4.5, "type": "Object"}, "object": light}


def _node(name: str) -> str:
    """A name as one node of a meshcat path."""
    return name.replace("/", "_")
