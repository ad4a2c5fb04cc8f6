"""Visual shapes of a robot: meshes fixed to the frames of its joints."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from nmdp_pin._robot import Robot
from nmdp_pin.viz.colored_mesh import Color, ColoredMesh, mesh_of
from nmdp_pin.viz.mesh_file import read_mesh

_STICK_COLOR: Color = (0.36, 0.49, 0.69, 1.0)


@dataclass(frozen=True, eq=False)
class Piece:
    """A mesh fixed in a frame.

    Args:
        joint: index of the joint that carries it, 0 for the world.
        placement: placement of the mesh in the joint's frame, shape (4, 4).
        mesh: the triangles.
        name: name of the link or shape.
    """

    joint: int
    placement: np.ndarray
    mesh: ColoredMesh
    name: str


def body_pieces(robot: Robot) -> tuple[list[Piece], list[str]]:
    """The looks of a robot, else its collision shapes, else sticks between its joints.

    A mesh that cannot be read is drawn by the triangles that collide, or left out; it never stops
    the others.

    Args:
        robot: the robot.

    Returns:
        the pieces, and a sentence for each reason why meshes are not drawn as their files have it.
    """
    models = (robot.visual_model, robot.collision_model)
    shapes = next((model for model in models if model is not None and model.ngeoms), None)
    if shapes is None:
        return _sticks(robot.model), []
    files: dict[tuple[str, Color], list[ColoredMesh]] = {}
    pieces: list[Piece] = []
    reasons: dict[str, list[str]] = {}
    for shape in shapes.geometryObjects:
        try:
            meshes, reason = _meshes(shape, files)
        except ValueError as error:
            meshes, reason = [], f"not drawn: {error}"
        pieces += [
            Piece(shape.parentJoint, shape.placement.homogeneous, mesh, shape.name)
            for mesh in meshes
        ]
        if reason:
            reasons.setdefault(reason, []).append(shape.name)
    return pieces, [_note(names, reason) for reason, names in reasons.items()]


def _note(names: list[str], reason: str) -> str:
    more = f" and {len(names) - 1} more are" if len(names) > 1 else " is"
    return f"{names[0]}{more} {reason}"


def _meshes(
    shape: pin.GeometryObject, files: dict[tuple[str, Color], list[ColoredMesh]]
) -> tuple[list[ColoredMesh], str]:
    """Meshes of a geometry object, and how it is drawn where its file cannot be read.

    Raises:
        ValueError: it cannot be drawn at all.
    """
    red, green, blue, alpha = (float(part) for part in shape.meshColor)
    color: Color = (red, green, blue, alpha)
    path, reason = shape.meshPath, ""
    if not path or path.isupper():  # pinocchio calls primitives BOX, SPHERE, CYLINDER, ...
        return [replace(mesh_of(shape.geometry), color=color)], reason
    if (path, color) not in files:
        try:
            files[path, color] = read_mesh(path, color)
        except ValueError as error:
            files[path, color], reason = [], f"drawn in one colour: {error}"
    if not files[path, color]:
        return [replace(mesh_of(shape.geometry), color=color)], reason
    parts = [part.scaled(np.asarray(shape.meshScale)) for part in files[path, color]]
    # A description names one material, which is no better than the several of a file.
    if shape.overrideMaterial and len({(part.color, part.image) for part in parts}) == 1:
        parts = [replace(part, color=color, image=b"", uv=None) for part in parts]
    return parts, reason


def corners(pieces: Sequence[Piece], data: pin.Data) -> list[np.ndarray]:
    """Corners of the boxes around pieces in the world, for placements in `data`."""
    found = []
    for piece in pieces:
        low, high = piece.mesh.vertices.min(axis=0), piece.mesh.vertices.max(axis=0)
        place = data.oMi[piece.joint].homogeneous @ piece.placement
        for pick in itertools.product((False, True), repeat=3):
            found.append(place[:3, :3] @ np.where(pick, high, low) + place[:3, 3])
    return found


def _sticks(model: pin.Model) -> list[Piece]:
    """A stick from each joint to the next, for a robot of which no shape is known."""
    import coal

    pieces = []
    for joint in range(2, model.njoints):
        parent, step = model.parents[joint], model.jointPlacements[joint].translation
        length = float(np.linalg.norm(step))
        if parent == 0 or length < 1e-6:
            continue
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), step).matrix()
        mesh = replace(mesh_of(coal.Cylinder(0.06 * length, length)), color=_STICK_COLOR)
        place = pin.SE3(turn, step / 2.0).homogeneous
        pieces.append(Piece(parent, place, mesh, f"stick_{joint}"))
    return pieces
