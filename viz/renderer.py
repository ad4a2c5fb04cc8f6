"""Offscreen pictures of scenes by VTK."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._options import check_part, shown
from nmdp_pin._robot import Robot
from nmdp_pin._simulator.argument_check import is_real
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import ViewerError
from nmdp_pin.viz.camera import DISTANCE, FIELD_OF_VIEW, free_direction
from nmdp_pin.viz.colored_mesh import ColoredMesh, arrow
from nmdp_pin.viz.scene import ARROW_RADII, ARROW_TAPER, LONGEST_ARROW, TOUCHING, Scene
from nmdp_pin.viz.vtk_mesh import poly_data, texture
from nmdp_pin.viz.vtk_window import offscreen_window, vtk_parts

_SKY = ((0.74, 0.79, 0.85), (0.93, 0.95, 0.98))
_FORCE, _CUT = (0.17, 0.66, 0.29), (0.94, 0.49, 0.07)
_SUN = np.array([0.5, -0.9, 2.0])  # from the target, in units of the robot's size
NEAREST, FARTHEST = 0.02, 100.0
"""Range of the cameras that are given by a pose [m]."""
WIDEST = 170.0
"""Bound of the field of view [deg]."""
_POINT, _TOUCH = (0.95, 0.76, 0.31), (0.89, 0.34, 0.18)


class Renderer:
    """Renderer of a robot on its terrain.

    Args:
        robot: the robot.
        terrain: the terrain; None: no terrain.
        kinds: look of terrain shapes, as in `Scene`.
        size: width and height of a picture [pixels].
        follow: whether the camera follows the robot.
        marks: whether contact points and forces are drawn.

    Attributes:
        scene: the scene.

    Raises:
        MissingExtra: VTK is not installed.
        ViewerError: the size is invalid, or no renderer works on this machine.
    """

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain | None,
        *,
        kinds: Mapping[int, str] | None = None,
        size: tuple[int, int] = (960, 540),
        follow: bool = True,
        marks: bool = True,
    ) -> None:
        whole = [isinstance(length, int | np.integer) and 16 <= length <= 8192 for length in size]
        if whole != [True, True]:
            raise ViewerError(f"a picture is 16 to 8192 pixels wide and high; {size} was given")
        self._vtk = vtk = vtk_parts()
        self.scene = Scene(robot, terrain, kinds=kinds)
        self._follow = follow
        self._base: np.ndarray | None = None
        self._window = offscreen_window(size)
        self._world, self._front = vtk.vtkRenderer(), vtk.vtkRenderer()
        self._moving: list[tuple[Any, int, np.ndarray]] = []  # actor, node, placement in it
        for piece in self.scene.bodies:
            self._moving.append(
                (self._add(piece.mesh), self.scene.rows[piece.joint], piece.placement)
            )
        for piece in self.scene.terrain:
            _place(self._add(piece.mesh), piece.placement)
        marked = range(len(robot.contact_points) if marks else 0)
        self._contacts = [self._add_contact(k) for k in marked]
        self._set_stage()

    def picture(
        self,
        frame: np.ndarray,
        *,
        lift: float = 0.0,
        caption: str = "",
        camera: pin.SE3 | None = None,
        field_of_view: float = FIELD_OF_VIEW,
    ) -> np.ndarray:
        """Draw a frame.

        Args:
            frame: result of `Scene.frame`, shape (frame_size,).
            lift: height of the view above the base [m].
            caption: text in the lower left corner.
            camera: pose of a camera in the world, which looks along its x axis with z upwards;
                None: beside the robot.
            field_of_view: angle between the upper and the lower edge [deg].

        Returns:
            Red, green and blue, shape (height, width, 3), 0 to 255.
        """
        self._draw(frame, lift, caption, camera, field_of_view)
        return self._grabbed()[:, :, :3]

    def depth(
        self, frame: np.ndarray, camera: pin.SE3, *, field_of_view: float = FIELD_OF_VIEW
    ) -> np.ndarray:
        """Depths of what a camera sees, along its axis, at most `FARTHEST` [m], (height, width).

        Args:
            frame: result of `Scene.frame`, shape (frame_size,).
            camera: as in `picture`.
            field_of_view: angle between the upper and the lower edge [deg].
        """
        self._world.UseFXAAOff()  # which writes depths of its own
        self._front.DrawOff()  # and this layer clears them
        self._draw(frame, 0.0, "", camera, field_of_view)
        share = self._grabbed(depth=True)[:, :, 0].astype(float)
        self._world.UseFXAAOn()
        self._front.DrawOn()
        return np.asarray(NEAREST * FARTHEST / (FARTHEST - share * (FARTHEST - NEAREST)))

    def _draw(
        self,
        frame: np.ndarray,
        lift: float,
        caption: str,
        camera: pin.SE3 | None,
        field_of_view: float,
    ) -> None:
        if np.shape(frame) != (self.scene.frame_size,):
            raise ViewerError(
                f"a frame is a result of Scene.frame, of shape ({self.scene.frame_size},); got "
                f"{shown(frame)}"
            )
        check_part("camera", camera, (pin.SE3, NoneType), ViewerError)
        if not (is_real(field_of_view) and 0.0 < field_of_view < WIDEST):
            raise ViewerError(
                f"field_of_view must be > 0 and < {WIDEST:g} degrees, got {field_of_view!r}"
            )
        places = self._places(frame)
        for actor, node, placement in self._moving:
            _place(actor, places[node] @ placement)
        forces = frame[1 + 7 * self.scene.n_nodes :].reshape(-1, 3).astype(float)
        for k, (touch, arrow_parts) in enumerate(self._contacts):
            self._show_contact(k, places, forces[k], touch, arrow_parts)
        if camera is None:
            self._look(places, lift, field_of_view)
        else:
            self._look_from(camera, field_of_view)
        self._caption.SetInput(caption)
        self._window.Render()

    def _grabbed(self, *, depth: bool = False) -> np.ndarray:
        """What was drawn, or its depths as shares of the range of the camera, (h, w, ...)."""
        grab = self._vtk.vtkWindowToImageFilter()
        grab.SetInput(self._window)
        grab.ReadFrontBufferOff()
        grab.ShouldRerenderOff()  # which would draw it twice
        if depth:
            grab.SetInputBufferTypeToZBuffer()
        grab.Update()
        image = grab.GetOutput()
        width, rows, _ = image.GetDimensions()
        pixels = self._vtk.vtk_to_numpy(image.GetPointData().GetScalars())
        found: np.ndarray = pixels.reshape(rows, width, -1)[::-1].copy()
        return found

    def close(self) -> None:
        """Release the window."""
        self._window.Finalize()

    def _places(self, frame: np.ndarray) -> list[np.ndarray]:
        """Placements of the nodes, and of the world, shape (4, 4) each."""
        poses = frame[1 : 1 + 7 * self.scene.n_nodes].reshape(-1, 7).astype(float)
        poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
        return [*(pin.XYZQUATToSE3(pose).homogeneous for pose in poses), np.eye(4)]

    def _add(self, mesh: ColoredMesh, layer: Any = None) -> Any:
        """An actor that shows a mesh."""
        mapper = self._vtk.vtkPolyDataMapper()
        mapper.SetInputData(poly_data(self._vtk, mesh))
        mapper.ScalarVisibilityOff()
        actor = self._vtk.vtkActor()
        actor.SetMapper(mapper)
        looks = actor.GetProperty()
        looks.SetColor(*mesh.color[:3])
        looks.SetOpacity(mesh.color[3])
        looks.SetAmbient(0.35)
        looks.SetDiffuse(0.75)
        looks.SetSpecular(0.5 * mesh.gloss)
        looks.SetSpecularPower(5.0 + 60.0 * mesh.gloss)
        if mesh.image:
            actor.SetTexture(texture(self._vtk, mesh.image))
        (layer or self._world).AddActor(actor)
        return actor

    def _add_contact(self, k: int) -> tuple[Any, tuple[Any, ...]]:
        """A mark at a contact point, a larger one where it touches, and the force's arrow."""
        place = np.eye(4)
        place[:3, 3] = self.scene.positions[k]
        radius = float(self.scene.mark_radii[k])
        marks = []
        for factor, color in ((1.05, _POINT), (1.18, _TOUCH)):
            ball = self._vtk.vtkSphereSource()
            ball.SetRadius(factor * radius)
            ball.SetThetaResolution(16)
            ball.SetPhiResolution(12)
            mapper = self._vtk.vtkPolyDataMapper()
            mapper.SetInputConnection(ball.GetOutputPort())
            actor = self._vtk.vtkActor()
            actor.SetMapper(mapper)
            actor.GetProperty().SetColor(*color)
            self._world.AddActor(actor)
            self._moving.append((actor, int(self.scene.carriers[k]), place))
            marks.append(actor)
        shaft, head = (length * self.scene.size for length in ARROW_RADII)
        return marks[1], tuple(self._add(part, self._front) for part in arrow(shaft, head))

    def _show_contact(
        self,
        k: int,
        places: list[np.ndarray],
        force: np.ndarray,
        touch: Any,
        parts: tuple[Any, ...],
    ) -> None:
        size = self.scene.size
        whole = self.scene.arrow_scale * float(np.linalg.norm(force))
        length = min(whole, LONGEST_ARROW * size)
        touch.SetVisibility(whole > TOUCHING * size)
        matrix = places[int(self.scene.carriers[k])].copy()
        matrix[:3, 3] += matrix[:3, :3] @ self.scene.positions[k]
        if length > 1e-6:
            upright = np.array([0.0, 0.0, 1.0])
            width = min(1.0, length / (ARROW_TAPER * size))
            turn = pin.Quaternion.FromTwoVectors(upright, force).matrix()
            matrix[:3, :3] = turn * np.array([width, width, length])
        for part in parts:
            part.SetVisibility(length > 1e-6)
            part.GetProperty().SetColor(*(_CUT if whole > length else _FORCE))
            _place(part, matrix)

    def _set_stage(self) -> None:
        """Layers, sky, lights and caption."""
        vtk, world, front = self._vtk, self._world, self._front
        world.UseFXAAOn()
        world.GradientBackgroundOn()
        world.SetBackground(*_SKY[0])
        world.SetBackground2(*_SKY[1])
        front.SetLayer(1)
        front.InteractiveOff()
        self._window.SetNumberOfLayers(2)
        for layer in (world, front):
            layer.AutomaticLightCreationOff()
            self._window.AddRenderer(layer)
        front.SetActiveCamera(world.GetActiveCamera())
        self._sun = vtk.vtkLight()
        self._sun.SetIntensity(0.9)
        self._sun.SetPositional(False)
        self._fill = vtk.vtkLight()
        self._fill.SetLightTypeToHeadlight()
        self._fill.SetIntensity(0.35)
        for layer in (world, front):
            layer.AddLight(self._sun)
            layer.AddLight(self._fill)
        self._caption = vtk.vtkTextActor()
        self._caption.SetPosition(16, 12)
        self._caption.GetTextProperty().SetFontSize(max(self._window.GetSize()[1] // 26, 10))
        self._caption.GetTextProperty().SetColor(0.12, 0.14, 0.17)
        front.AddViewProp(self._caption)

    def _look_from(self, pose: pin.SE3, field_of_view: float) -> None:
        """Put the camera at a pose."""
        camera, scene = self._world.GetActiveCamera(), self.scene
        camera.SetViewAngle(field_of_view)
        camera.SetViewUp(*pose.rotation[:, 2])
        camera.SetPosition(*pose.translation)
        camera.SetFocalPoint(*(pose.translation + pose.rotation[:, 0]))
        camera.SetClippingRange(NEAREST, FARTHEST)
        self._sun.SetFocalPoint(*pose.translation)
        self._sun.SetPosition(*(pose.translation + scene.size * _SUN))

    def _look(self, places: list[np.ndarray], lift: float, field_of_view: float) -> None:
        """Put the camera beside the robot, higher where the ground would hide it."""
        scene, target = self.scene, np.array(self.scene.center)
        if scene.base is not None:
            base = places[scene.base][:3, 3].copy()
            base[2] += lift
            self._base = base if self._follow or self._base is None else self._base
            target = target + self._base
        distance = DISTANCE * scene.size
        direction = free_direction(scene.ground, target, distance)
        camera = self._world.GetActiveCamera()
        camera.SetViewAngle(field_of_view)
        camera.SetViewUp(0.0, 0.0, 1.0)
        camera.SetFocalPoint(*target)
        camera.SetPosition(*(target + distance * direction))
        camera.SetClippingRange(0.02 * scene.size, 400.0)
        self._sun.SetFocalPoint(*target)
        self._sun.SetPosition(*(target + scene.size * _SUN))


def _place(actor: Any, matrix: np.ndarray) -> None:
    placed = vtk_parts().vtkMatrix4x4()
    placed.DeepCopy(matrix.ravel())
    actor.SetUserMatrix(placed)
