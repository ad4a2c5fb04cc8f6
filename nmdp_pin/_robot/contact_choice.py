"""Choice of contact points: as requested, from robot.toml, or from the geometry."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import PlainValidator, TypeAdapter

from nmdp_pin._options import refusal, shown, unknown, worded
from nmdp_pin._robot.catalog import RobotFiles
from nmdp_pin._robot.contact_geometry import (
    MAX_POINTS,
    MOST_POINTS,
    LinkPoints,
    hold_out,
    moving_links,
    points_on_foot,
    touching_links,
)
from nmdp_pin._robot.contact_points import ContactPoints, place_points
from nmdp_pin._robot.frames import link_frame
from nmdp_pin._robot.meshes import Missing
from nmdp_pin._robot.model import RobotModel
from nmdp_pin._robot.settings import ContactPoint
from nmdp_pin._robot.surface_points import points_on_surfaces
from nmdp_pin.errors import RobotError

# A link or frame name, or (name, link, position, radius).
Contact = str | ContactPoint | tuple[str, str, Sequence[float], float]


def _contact(value: Any) -> str | ContactPoint:
    """Contact point: name of a link or frame, a tuple, or a table."""
    if isinstance(value, str | ContactPoint):
        return value
    if isinstance(value, tuple) and len(value) == len(_PARTS):
        value = {key: np.asarray(x).tolist() for key, x in zip(_PARTS, value, strict=True)}
    if not isinstance(value, dict):
        what = "the name of a link or frame, (name, link, position, radius), or a table"
        raise worded(f"must be {what}, got {shown(value)}")
    for key in value.keys() - ContactPoint.model_fields.keys():
        raise refusal(unknown(key, "a key of this table", ContactPoint.model_fields), (key,))
    return ContactPoint.model_validate(value)


def _contacts(value: Any) -> str | tuple[str | ContactPoint, ...]:
    """A word for all of them, or a list of contacts."""
    if not isinstance(value, str):
        result: str | tuple[str | ContactPoint, ...] = _CONTACTS.validate_python(value)
        return result
    if value not in _EXTENTS:
        raise worded(f"must be {' or '.join(map(repr, _EXTENTS))} or a list, got '{value}'")
    return value


_PARTS = ("name", "link", "position", "radius")
_EXTENTS = ("feet", "all")  # the feet alone, or every link that moves
_CONTACTS: TypeAdapter[Any] = TypeAdapter(tuple[Annotated[Any, PlainValidator(_contact)], ...])
if TYPE_CHECKING:
    Contacts = Sequence[Contact] | Literal["feet", "all"]
else:  # scenarios hold what the check leaves
    Contacts = Annotated[Any, PlainValidator(_contacts)]


def choose_contact_points(
    files: RobotFiles,
    contacts: Any,
    body: RobotModel,
    missing: Missing,
    *,
    fixed: bool,
    count: int | None = None,
) -> tuple[ContactPoints, str]:
    """Contact points of a robot, and a sentence on their source.

    The contacts are what is left of `Contacts` by its check: a word, or names and contact points.
    Those that are requested, else those of the robot.toml, else "all"; with `count`, so many that
    are spread over the collision geometry of all links, or of those in `contacts`.
    """
    model, file, on = body.model, str(files.urdf), LinkPoints(body)
    if count is not None:
        named = touching_links(on, fixed=fixed) if contacts == "feet" else contacts
        named = None if isinstance(named, str) else named
        return _spread_points(named, body, missing, file, count)
    if contacts is not None and not isinstance(contacts, str):
        points = list[ContactPoint]()
        for contact in contacts:
            if isinstance(contact, str):
                _refuse_missing(missing, {contact}, file)
                link_frame(model, contact, file, "contacts")
            points += points_on_foot(on, contact) if isinstance(contact, str) else [contact]
        return place_points(model, points, file), f"contact points ({len(points)}) as asked for"
    if files.settings.contact is not None:
        feet, source = list(files.settings.contact), files.settings_file
        why = f"contact points ({len(feet)}) from {source}"
        whole = contacts == "all"
    else:
        feet, why = _feet(on, missing, file, fixed=fixed)
        source, whole = file, contacts != "feet"
    bare = [link for link in moving_links(body) if link not in {point.link for point in feet}]
    left = max(MOST_POINTS - len(feet), 0)
    found = [group for link in bare if whole for group in on.of_shapes(link)]
    others = hold_out(found, left, left)
    if others:
        why += f"; further ones ({len(others)}) on all other links that move"
    if not feet and not others:
        why = "no contact points: it has no collision geometry; give contacts to let it touch"
    return place_points(model, feet + others, source), why


def _feet(
    on: LinkPoints, missing: Missing, file: str, *, fixed: bool
) -> tuple[list[ContactPoint], str]:
    """Contact points of the links by which a robot is expected to touch."""
    model = on.body.model
    ends = {frame.name for frame in model.frames if not list(model.children[frame.parentJoint])}
    _refuse_missing(missing, ends, file)
    links = touching_links(on, fixed=fixed)
    each = [points_on_foot(on, link) for link in links]
    points, found = hold_out(each, MAX_POINTS), sum(map(len, each))
    fewer = f", thinned from {found}" if len(points) < found else ""
    return points, (
        f"contact points ({len(points)}{fewer}) from the collision geometry of the links at the "
        f"ends of its branches{'' if fixed else ' or lowest'}: {', '.join(links)}"
    )


def _spread_points(
    contacts: Sequence[str | ContactPoint] | None,
    body: RobotModel,
    missing: Missing,
    file: str,
    count: int,
) -> tuple[ContactPoints, str]:
    """The requested number of points on the collision geometry of links."""
    shaped = moving_links(body)
    _refuse_missing(missing, {link for link, _ in missing} if contacts is None else set(), file)
    links = shaped if contacts is None else list(dict.fromkeys(map(str, contacts)))
    fault = "" if links else "there is no collision geometry that moves, to spread points over"
    for contact in contacts or ():
        _refuse_missing(missing, {str(contact)}, file)
        if not isinstance(contact, str):
            fault = f"spreads points over links, so contacts must name links, not {contact!r}"
        elif contact not in shaped:
            known = ", ".join(shaped) or "none"
            fault = f"link '{contact}' has no collision geometry that moves; those that have: "
            fault += known
    if fault:
        raise RobotError(fault, file=file, element="contact_points")
    points = points_on_surfaces(body, links, count)
    return place_points(body.model, points, file), (
        f"contact points ({len(points)}) spread over the collision geometry of {', '.join(links)}"
    )


def _refuse_missing(missing: Missing, links: set[str], file: str) -> None:
    for link, mesh in missing:
        if link in links:
            raise RobotError(
                f"collision mesh '{mesh}' was not found, and contact points are chosen from it; "
                "name the folder that holds its package in package_dirs, or give contacts",
                file=file,
                element=f"link '{link}'",
            )
