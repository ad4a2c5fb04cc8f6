"""Free rigid bodies, as objects beside a robot, and robots and bodies in one model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pinocchio as pin

from nmdp_pin._options import Positive, Vector3, check_part, check_parts, checked
from nmdp_pin._robot.contact_geometry import LinkPoints
from nmdp_pin._robot.contact_points import ARRAYS, ContactPoints, place_points
from nmdp_pin._robot.model import RobotModel, append_model, base_model, standing_configuration
from nmdp_pin._robot.robot import Robot
from nmdp_pin._robot.surface_points import ContactCount, points_on_surfaces
from nmdp_pin._terrain import Terrain
from nmdp_pin._terrain.primitives import Primitive
from nmdp_pin.errors import RobotError

_COLOR = np.array([0.85, 0.55, 0.25, 1.0])  # of what has no other


@checked(RobotError)
def free_body(
    name: str,
    shape: Primitive,
    *,
    mass: Positive | None = None,
    density: Positive | None = None,
    position: Vector3 = (0.0, 0.0, 0.0),
    rpy: Vector3 = (0.0, 0.0, 0.0),
    base: Literal["free-flyer", "planar"] = "free-flyer",
    contact_points: ContactCount | None = None,
) -> Robot:
    """A solid body of uniform density as a robot without motors.

    Contact points are the corners of a box, the discs at the ends of a cylinder, the disc and the
    tip of a cone, and the balls or the ellipsoid of round shapes.

    Args:
        name: name of the body.
        shape: surface of the body with its friction; its pose is in the frame of the body.
        mass: mass [kg].
        density: density [kg/m^3], instead of `mass`.
        position: standing position of the frame of the body [m].
        rpy: standing orientation, roll-pitch-yaw [rad].
        base: "free-flyer" or "planar" (x, z, pitch about y).
        contact_points: number of bare points spread over the surface instead.

    Raises:
        RobotError: an argument is out of range.
    """
    if not isinstance(shape, Primitive):
        what = f"a Box, Sphere, Cylinder, Capsule, Cone or Ellipsoid is needed, got {shape!r}"
        raise RobotError(what, element=f"object '{name}'")
    if (mass is None) == (density is None):
        what = "give one of mass [kg] and density [kg/m^3]"
        raise RobotError(what, element=f"object '{name}'")
    solid = shape.collision_geometry()
    volume = solid.computeVolume()
    total = mass if mass is not None else (density or 0.0) * volume
    about_centre = solid.computeMomentofInertiaRelatedToCOM() / volume
    inertia = pin.Inertia(total, solid.computeCOM(), total * about_centre)
    pose = pin.SE3(pin.rpy.rpyToMatrix(np.array(rpy)), np.array(position))
    model, place = base_model(base, pose)
    model.name = name
    joint = model.njoints - 1
    placed = place * shape.placement
    model.appendBodyToJoint(joint, inertia, placed)
    link = model.addBodyFrame(name, joint, place, model.nframes - 1)
    geometries = [pin.GeometryModel(), pin.GeometryModel()]
    for geometry in geometries:
        item = pin.GeometryObject(name, joint, link, placed, shape.collision_geometry())
        item.meshColor = _COLOR
        geometry.addGeometryObject(item)
    body = RobotModel(model, standing_configuration(model, {}, pose), *geometries)
    if contact_points is None:
        points = LinkPoints(body).of(name)
    else:
        points = points_on_surfaces(body, [name], contact_points)
    return Robot(
        name=name,
        model=model,
        contact_points=place_points(model, points, ""),
        driven=np.zeros(0, dtype=int),
        standing=body.standing,
        visual_model=body.visual,
        collision_model=body.collision,
        surfaces={joint: Terrain([_placed(shape, placed)])},
    )


def _placed(shape: Primitive, place: pin.SE3) -> Primitive:
    """The shape at another place."""
    rpy = pin.rpy.matrixToRpy(place.rotation)
    return replace(shape, position=tuple(place.translation.tolist()), rpy=tuple(rpy.tolist()))


def together(robot: Robot, others: Sequence[Robot]) -> Robot:
    """Combine a robot and others beside it, such as free bodies, into one robot.

    Standing poses are kept. Joints, frames and contact points of the others are called "name/...",
    except the frame with the name of its robot. Driven joints and gaits are those of the first
    robot. Contacts between the bodies are added by `touching`.

    Args:
        robot: first robot.
        others: other robots and bodies, with distinct names.

    Raises:
        RobotError: two names are equal, or that of an object is one of a link or joint.
    """
    check_part("robot", robot, Robot, RobotError)
    others = check_parts("others", others, Robot, RobotError)
    names = [robot.name, *(other.name for other in others)]
    for name in names:
        if names.count(name) > 1:
            raise RobotError("two robots or objects have this name", element=f"'{name}'")
    for other in others:
        added = _prefixed(other)
        known = {frame.name for frame in robot.model.frames}
        if taken := [frame.name for frame in added.model.frames[1:] if frame.name in known]:
            what = f"'{robot.name}' has a link, joint or object '{taken[0]}': give another name"
            raise RobotError(what, element=f"'{other.name}'")
        robot = _beside(robot, added)
    return robot


def _prefixed(robot: Robot) -> Robot:
    """A copy whose joints, frames and contact points begin with its name."""
    model = pin.Model(robot.model)
    for joint in range(1, model.njoints):
        model.names[joint] = f"{robot.name}/{model.names[joint]}"
    for index, frame in enumerate(model.frames):
        if index and frame.name != robot.name:
            frame.name = f"{robot.name}/{frame.name}"
    points = robot.contact_points
    # those of a free body begin with its name as they are
    names = tuple(
        name if f"{name}_".startswith(f"{robot.name}_") else f"{robot.name}/{name}"
        for name in points.names
    )
    links = tuple(_behind(robot.name, link) for link in points.links)
    points = replace(points, names=names, links=links)
    loops = tuple(loop.beside(robot.name) for loop in robot.loops)
    actuators = tuple(actuator.beside(robot.name) for actuator in robot.actuators)
    return replace(
        robot,
        model=model,
        contact_points=points,
        tendons=tuple(tendon.beside(robot.name) for tendon in robot.tendons),
        loops=loops,
        actuators=actuators,
        scripted=frozenset(f"{robot.name}/{name}" for name in robot.scripted),
    )


def _behind(prefix: str, link: str) -> str:
    """Name of a link, behind that of its robot, in a robot that is beside another one."""
    return link if link in ("", prefix) else f"{prefix}/{link}"


def _beside(robot: Robot, other: Robot) -> Robot:
    """Both in one world; the joints of the first one come first."""
    a, b = robot, other
    looks, shapes = (a.visual_model, b.visual_model), (a.collision_model, b.collision_model)
    pairs = [(x or pin.GeometryModel(), y or pin.GeometryModel()) for x, y in (looks, shapes)]
    model, (visual, collision) = append_model(a.model, b.model, pairs, 0, pin.SE3.Identity())
    model.name, model.gravity = a.model.name, a.model.gravity
    shift = a.model.njoints - 1
    notes = [*a.notes, *(f"{b.name}: {note}" for note in b.notes)]
    if b.source and b.model.gravity != a.model.gravity:  # a free body has none of its own
        notes.append(f"{b.name}: its gravity is left out for that of {a.name}")
    return replace(
        a,
        model=model,
        contact_points=_both(a.contact_points, b.contact_points, shift),
        standing=np.concatenate([a.standing, b.standing]),
        visual_model=None if a.missing_visuals or b.missing_visuals else visual,
        collision_model=None if a.missing_collisions or b.missing_collisions else collision,
        limits=a.limits.beside(b.limits, f"{b.name}/"),
        springs=(*a.springs, *(replace(s, joint=f"{b.name}/{s.joint}") for s in b.springs)),
        lifts=(*a.lifts, *(replace(s, joint=f"{b.name}/{s.joint}") for s in b.lifts)),
        tendons=(*a.tendons, *b.tendons),
        loops=(*a.loops, *b.loops),
        scripted=a.scripted | b.scripted,
        actuators=(*a.actuators, *b.actuators),
        surfaces={**a.surfaces, **{joint + shift: s for joint, s in b.surfaces.items()}},
        frictions={**a.frictions, **_shifted(b.frictions, shift)},
        stiffnesses={**a.stiffnesses, **_shifted(b.stiffnesses, shift)},
        disabled=a.disabled | {(i + shift, j + shift) for i, j in b.disabled},
        notes=tuple(notes),
        warnings=(*a.warnings, *(f"{b.name}: {warning}" for warning in b.warnings)),
        missing_visuals=a.missing_visuals + b.missing_visuals,
        missing_collisions=a.missing_collisions + b.missing_collisions,
    )


def _shifted(table: Mapping[tuple[int, int], float], shift: int) -> dict[tuple[int, int], float]:
    """Values of pairs of joints that come behind others; 0 stays the terrain."""
    return {(i and i + shift, j and j + shift): value for (i, j), value in table.items()}


def _both(first: ContactPoints, second: ContactPoints, shift: int) -> ContactPoints:
    """The points of both, those with the terrain first; joints of the second are shifted."""
    rows = {n: np.concatenate([getattr(first, n), getattr(second, n)]) for n in ARRAYS}
    for name in ("joints", "touches"):
        later = rows[name][len(first) :]  # a view
        later[later > 0] += shift
    order = np.argsort(rows["touches"] > 0, kind="stable")
    names, links = (*first.names, *second.names), (*first.links, *second.links)
    return ContactPoints(
        tuple(names[k] for k in order),
        **{name: row[order] for name, row in rows.items()},
        links=tuple(links[k] for k in order),
    )
