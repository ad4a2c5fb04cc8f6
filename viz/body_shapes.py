"""The bodies of a robot in a meshcat scene: one node a joint, its shapes fixed below it."""

from __future__ import annotations

import itertools
from typing import Any

import meshcat
import meshcat.geometry as mg
import numpy as np
import pinocchio as pin
from pinocchio.visualize import MeshcatVisualizer

from nmdp_pin.robot import Robot

_STICK_COLOR = 0x5B7DB1


class ShapeDrawer(MeshcatVisualizer):
    """Pinocchio's drawing of geometry objects, placed below the node of their joint.

    Pinocchio's own display sends one transform a geometry object and frame; below a node a
    joint, one transform a joint is enough.

    Args:
        window: where meshcat's commands go.
        node: path of the node below which shapes are drawn.
    """

    def __init__(self, window: Any, node: str) -> None:
        super().__init__()
        self._node = node
        self.initViewer(viewer=meshcat.Visualizer(window=window))

    def getViewerNodeName(
        self, geometry_object: pin.GeometryObject, geometry_type: pin.GeometryType
    ) -> str:
        """Path of a geometry object."""
        del geometry_type
        return f"{self._node}/{geometry_object.name.replace('/', '_')}"

    def draw(self, shape: pin.GeometryObject) -> None:
        """Draw a shape at its placement in the frame of the node."""
        self.loadViewerGeometryObject(shape, pin.GeometryType.VISUAL)
        scale = np.diag([*shape.meshScale, 1.0])
        path = self.getViewerNodeName(shape, pin.GeometryType.VISUAL)
        self.viewer[path].set_transform(shape.placement.homogeneous @ scale)


class BodyShapes:
    """Draws the bodies of a robot.

    Args:
        window: where meshcat's commands go.
        robot: the robot; its looks, else its collision shapes, else sticks between its joints.
    """

    def __init__(self, window: Any, robot: Robot) -> None:
        model = robot.model
        self.paths: dict[int, str] = {}
        """Joint → path of its node; only joints that carry something have one."""
        shapes = robot.visual_model or robot.collision_model
        self._shapes = [] if shapes is None else list(shapes.geometryObjects)
        carried = [int(joint) for joint in robot.contact_points.joints]
        carried += [shape.parentJoint for shape in self._shapes] or range(1, model.njoints)
        for joint in sorted(set(carried)):
            self.paths[joint] = f"/meshcat/robot/{model.names[joint].replace('/', '_')}"
        if not self._shapes:
            self._draw_sticks(window, model)
        for shape in self._shapes:
            ShapeDrawer(window, self.paths[shape.parentJoint]).draw(shape)

    def corners(self, data: pin.Data) -> list[np.ndarray]:
        """Corners of the boxes around the shapes in the world, for placements in `data`."""
        corners = []
        for shape in self._shapes:
            shape.geometry.computeLocalAABB()
            box = np.array([shape.geometry.aabb_local.min_, shape.geometry.aabb_local.max_])
            place = data.oMi[shape.parentJoint] * shape.placement
            signs = itertools.product((0, 1), repeat=3)
            corners += [place.act(box[list(pick), range(3)] * shape.meshScale) for pick in signs]
        return corners

    def _draw_sticks(self, window: Any, model: pin.Model) -> None:
        """A stick from each joint to the next, for a robot of which no shape is known."""
        viewer = meshcat.Visualizer(window=window)
        material = mg.MeshPhongMaterial(color=_STICK_COLOR)
        for joint in range(2, model.njoints):
            parent, step = model.parents[joint], model.jointPlacements[joint].translation
            length = float(np.linalg.norm(step))
            if parent == 0 or length < 1e-6:
                continue
            # meshcat's cylinders lie along y.
            turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 1.0, 0.0]), step).matrix()
            stick = viewer[f"{self.paths[parent]}/stick_{joint}"]
            stick.set_object(mg.Cylinder(length, 0.06 * length), material)
            stick.set_transform(pin.SE3(turn, step / 2.0).homogeneous)
