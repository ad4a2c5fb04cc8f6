"""Meshes beside the masses of their links: which way up they are, and which are far off."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin.terrain.shape import box_around

_Y_UP = "<up_axis>Y_UP</up_axis>"
_HEADER = 65_536  # [bytes] of a COLLADA file in which its <asset> is looked for
_TURN = pin.SE3(pin.rpy.rpyToMatrix(0.5 * np.pi, 0.0, 0.0), np.zeros(3))
_CLEARLY = 0.6  # of the distance as the files are, below which they are meant to be turned
_FAR = 0.5  # of the diagonal of a body's geometry


def turn_y_up(model: pin.Model, geometry: pin.GeometryModel) -> tuple[str, ...]:
    """Turn COLLADA meshes that say Y_UP where that brings them to their masses, in place.

    Programs differ: RViz reads the numbers of such a file as they are, Gazebo and OpenSceneGraph
    turn its y axis up. Descriptions are made with one of them in mind. All meshes of a robot are
    read in the same way, the one in which their centres are near the links' centres of mass.

    Args:
        model: inertias of the bodies, before joints are locked.
        geometry: visual or collision geometry, whose placements are changed.

    Returns:
        A sentence, if they were turned.
    """
    turned = [g for g in geometry.geometryObjects if _says_y_up(g.meshPath)]
    heavy = [g for g in turned if model.inertias[g.parentJoint].mass > 0.0]
    as_is, up = (
        sum(
            float(np.linalg.norm(_centre(g, M) - model.inertias[g.parentJoint].lever))
            for g in heavy
        )
        for M in (pin.SE3.Identity(), _TURN)
    )
    if not up < _CLEARLY * as_is:
        return ()
    for item in turned:
        item.placement = item.placement * _TURN
    after, before = up / len(heavy), as_is / len(heavy)
    return (
        f"{len(turned)} COLLADA meshes that say Y_UP are turned, so that z is up: their centres "
        f"are then {after:.3f} m from the centres of mass, not {before:.3f} m",
    )


def far_off(model: pin.Model, geometry: pin.GeometryModel) -> tuple[str, ...]:
    """A sentence on bodies with meshes whose centre of mass is far outside their geometry.

    Args:
        model: inertias of the bodies, before joints are locked.
        geometry: collision geometry.
    """
    found = []
    for joint in sorted({int(g.parentJoint) for g in geometry.geometryObjects}):
        inertia = model.inertias[joint]
        own = [g for g in geometry.geometryObjects if g.parentJoint == joint]
        if not any(isinstance(g.geometry, coal.BVHModelBase | coal.ConvexBase) for g in own):
            continue  # primitives may stand for feet alone
        boxes = np.array([box_around(g.geometry, g.placement) for g in own])
        low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        beyond = np.maximum(0.0, np.maximum(low - inertia.lever, inertia.lever - high))
        away = float(np.linalg.norm(beyond))
        if inertia.mass > 0.0 and away > _FAR * np.linalg.norm(high - low):
            name = model.frames[own[0].parentFrame].name
            found.append(f"{name} ({away:.2g} m)")
    if not found:
        return ()
    return (
        "centres of mass far outside the collision geometry of their links, one of which may be "
        f"misplaced: {', '.join(found)}",
    )


def _says_y_up(path: str) -> bool:
    if not path.lower().endswith(".dae"):
        return False
    with Path(path).open("rb") as file:
        return _Y_UP in "".join(file.read(_HEADER).decode(errors="replace").split())


def _centre(item: pin.GeometryObject, turn: pin.SE3) -> np.ndarray:
    """Centre of a shape, turned in its own frame, in the frame of its joint [m], shape (3,)."""
    low, high = box_around(item.geometry, item.placement * turn)
    return 0.5 * (low + high)
