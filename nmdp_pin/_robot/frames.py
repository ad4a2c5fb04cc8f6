"""Frames of robots by name: links, and other named frames."""

import pinocchio as pin

from nmdp_pin._options import check_part, unknown
from nmdp_pin.errors import NmdpError, RobotError


def base_frame(model: pin.Model) -> int:
    """Index of the frame of the base link: the first link that has a mass."""
    bodies = [i for i, frame in enumerate(model.frames) if frame.type == pin.FrameType.BODY]
    heavy = [i for i in bodies if model.inertias[model.frames[i].parentJoint].mass > 0.0]
    return (heavy or bodies or [0])[0]


def frame_named(model: pin.Model, name: str | None, error: type[NmdpError], what: str) -> int:
    """Index of a frame; of the link, where a joint has the name as well.

    Args:
        model: model of the robot.
        name: name of the link or frame; None: the base link.
        error: error for a name that the model lacks.
        what: what names the frame, in a message.
    """
    if name is None:
        return base_frame(model)
    check_part(f"{what}: a frame", name, str, error)
    if model.existFrame(name, pin.BODY):
        return int(model.getFrameId(name, pin.BODY))
    if not model.existFrame(name):
        known = [frame.name for frame in list(model.frames)[1:]]
        raise error(f"{what}: {unknown(name, 'a link or frame of the robot', known)}")
    return int(model.getFrameId(name))


def link_frame(model: pin.Model, name: str, file: str, element: str) -> pin.Frame:
    """Frame of a link, or another named frame."""
    if model.existFrame(name, pin.BODY):
        return model.frames[model.getFrameId(name, pin.BODY)]
    if model.existFrame(name):
        return model.frames[model.getFrameId(name)]
    links = ", ".join(frame.name for frame in model.frames if frame.type == pin.BODY)
    raise RobotError(f"link '{name}' does not exist; links: {links}", file=file, element=element)
