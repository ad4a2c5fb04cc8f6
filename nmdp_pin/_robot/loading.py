"""The steps from the files of a robot to the robot, each checked before the next."""

import warnings
from collections.abc import Sequence

from nmdp_pin._options import FilePath, readable
from nmdp_pin._robot.assembly import Joints, assemble
from nmdp_pin._robot.catalog import MJCF, RobotFiles, RobotSource, find_robot
from nmdp_pin._robot.contact_choice import Contacts
from nmdp_pin._robot.mjcf import describe_mjcf
from nmdp_pin._robot.model import (
    Description,
)
from nmdp_pin._robot.robot import Robot
from nmdp_pin._robot.settings import Base
from nmdp_pin._robot.surface_points import ContactCount
from nmdp_pin._robot.urdf import describe_urdf
from nmdp_pin.errors import RobotError, RobotWarning


@readable
def load_robot(
    source: RobotSource,
    *,
    base: Base | None = None,
    joints: Joints | None = None,
    variant: str | None = None,
    contacts: Contacts | None = None,
    contact_points: ContactCount | None = None,
    decompose: bool = False,
    package_dirs: Sequence[FilePath] = (),
    keyframe: str | None = None,
    limits: bool = True,
    visuals: bool = True,
) -> Robot:
    """Load a robot and make it ready for simulation.

    Args:
        source: a bundled name, a name of example-robot-data, or the path of a .urdf, an MJCF file
            (.xml, .mjcf; extra `mjcf`) or a robot.toml.
        base: "free-flyer", "planar" (x, z, pitch about y) or "fixed"; None: what the robot.toml or
            the table of example-robot-data says, else "fixed" for a URDF whose root link is
            `world`, or has no mass and joints that would move in its place, else "free-flyer".
        joints: the joints that move, the others being locked at the standing pose: "driven" (those
            of the robot.toml; the default), "all", or a list of names.
        variant: another URDF of the same robot, as its robot.toml names it.
        contacts: names of links or frames, (name, link, position [m], radius [m]) or
            `ContactPoint` (a table in scenarios) each;
            "feet": those of the robot.toml, else chosen from the collision geometry of the ends
            of the branches and of what lies lowest; "all": some on every other link that moves as
            well. None: "feet" of a robot.toml that has contact points, else "all".
        contact_points: spread so many over the collision geometry of all links, or of those that
            `contacts` names.
        decompose: divide collision meshes that are not convex into convex parts, by CoACD (extra
            `decomposition`), so that what is flat reaches into them; the parts are kept on disk.
        package_dirs: folders in which `package://` is looked up first.
        keyframe: name of the keyframe of an MJCF file that is the standing pose; None: the first.
        limits: False leaves out the bounds of the joints: `Robot.limits` then holds none.
        visuals: False leaves out what the robot looks like, which saves reading its meshes.

    Warns:
        RobotWarning: each of `Robot.warnings`, which change the motion.

    Raises:
        RobotError: names the file and the element that cannot be used, and what is allowed.
        MissingExtra: a package that the file or an option needs is not installed.
    """
    files = find_robot(source, variant=variant, package_dirs=package_dirs)
    robot = assemble(
        files,
        describe(files, visuals=visuals, keyframe=keyframe),
        base=base,
        joints=joints,
        contacts=contacts,
        contact_points=contact_points,
        decompose=decompose,
        limits=limits,
    )
    for sentence in robot.warnings:
        warnings.warn(f"{robot.name}: {sentence}", RobotWarning, stacklevel=2)
    return robot


def describe(
    files: RobotFiles, *, visuals: bool, keyframe: str | None = None, scene: bool = False
) -> Description:
    """Read the description of a robot, of a scene with what stands still in it."""
    if files.urdf.suffix in MJCF:
        return describe_mjcf(files.urdf, visuals=visuals, keyframe=keyframe, scene=scene)
    if keyframe is not None:
        what = f"has no keyframe '{keyframe}', which MJCF files have"
        raise RobotError(what, file=str(files.urdf), element="keyframe")
    return describe_urdf(files.urdf, files.package_dirs, visuals=visuals)
