"""Report on a robot: facts, choices and problems."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin._options import check_part
from nmdp_pin._robot.assembly import assemble
from nmdp_pin._robot.catalog import RobotFiles, RobotSource, find_robot
from nmdp_pin._robot.contact_points import ContactPoints
from nmdp_pin._robot.feasibility import efforts_beyond_limits, joints_beyond_range
from nmdp_pin._robot.joint_limits import named_joints
from nmdp_pin._robot.lift import LiftForces
from nmdp_pin._robot.loading import describe
from nmdp_pin._robot.model import Description
from nmdp_pin._robot.overlaps import OverlapCheck, overlap_sentences, transparency
from nmdp_pin._robot.robot import Robot
from nmdp_pin._robot.spring import spring_efforts
from nmdp_pin._robot.urdf_problems import THINNEST
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import RobotError

_MOST_ROWS = 120  # of a table that are printed; the report holds all


class JointRow(NamedTuple):
    """Joint that can move: its name, pinocchio's type, bounds in SI units, and use.

    A bound is "" where none is given; the use is "driven", "free" (without a motor), "locked", or
    "" if the robot cannot be loaded.
    """

    name: str
    type: str
    lower: str = ""
    upper: str = ""
    effort: str = ""
    velocity: str = ""
    use: str = ""


class ContactRow(NamedTuple):
    """Contact point: name, joint, form, place in the frame of the joint [m], size [m].

    The form is "point", "ball", "rim" (a disc) or "ellipsoid"; the size is the radius, of an
    ellipsoid its three semi-axes.
    """

    name: str
    joint: str
    form: str
    x: str
    y: str
    z: str
    size: str


class ActuatorRow(NamedTuple):
    """Actuator of the description: its name, form, what it moves, and the range of its control.

    The form is "motor", "servo" (whose force follows what it moves) or "thruster".
    """

    name: str
    form: str
    moves: str
    lower: str
    upper: str


@dataclass(frozen=True)
class RobotReport:
    """Report of `nmdp-pin check`.

    Args:
        source: requested name or path.
        name: name of the robot.
        file: path of the description, "" if it cannot be read.
        mass: sum of the masses of the links [kg].
        nq: size of the configuration; None if the robot cannot be loaded.
        nv: size of the velocity; None if the robot cannot be loaded.
        joints: moving joints.
        actuators: actuators of an MJCF file or a robot.toml, which `Actuators` controls.
        contacts: contact points.
        massless: links that move and have no mass.
        missing: kind, link and file of every mesh that was not found.
        warnings: oddities that stop no simulation, such as inertias that are not physical.
        errors: problems that stop a simulation.
        notes: choices made while loading, with their reasons.
    """

    source: str
    name: str = ""
    file: str = ""
    mass: float = 0.0
    nq: int | None = None
    nv: int | None = None
    joints: tuple[JointRow, ...] = ()
    actuators: tuple[ActuatorRow, ...] = ()
    contacts: tuple[ContactRow, ...] = ()
    massless: tuple[str, ...] = ()
    missing: tuple[tuple[str, str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the robot can be simulated."""
        return not self.errors

    @property
    def driven(self) -> tuple[str, ...]:
        """Names of the driven joints."""
        return tuple(row.name for row in self.joints if row.use == "driven")

    def __str__(self) -> str:
        lines = [f"{self.name or self.source}: {'can' if self.ok else 'CANNOT'} be simulated"]
        if self.file:
            lines += [f"  file    {self.file}", f"  mass    {self.mass:.6g} kg"]
        if self.nq is not None:
            lines.append(f"  size    nq {self.nq}, nv {self.nv}, driven joints {len(self.driven)}")
        massless = [", ".join(self.massless)] if self.massless else []
        for title, rows in (
            ("errors", self.errors),
            ("warnings", self.warnings),
            ("missing meshes", [f"{k} mesh of link '{link}': {m}" for k, link, m in self.missing]),
            ("links without mass (fine where links with mass hang on them)", massless),
            ("notes", self.notes),
            (f"joints ({len(self.joints)})", _table(self.joints)),
            (f"actuators ({len(self.actuators)})", _table(self.actuators)),
            (f"contact points ({len(self.contacts)}), in m", _table(self.contacts)),
        ):
            lines += [f"  {title}", *(f"    {row}" for row in rows)] if rows else []
        return "\n".join(lines)


def check_robot(
    source: RobotSource,
    *,
    variant: str | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    **options: Any,
) -> RobotReport:
    """Check a robot; the options are those of `load_robot`. Mistakes are in the report."""
    check_part("a robot", source, (str, os.PathLike), RobotError)
    report = RobotReport(os.fspath(source))
    try:
        files = find_robot(source, variant=variant, package_dirs=package_dirs)
        described = describe(files, visuals=False)
        report = _described(report, files, described)
        robot = assemble(files, described, **options)
    except RobotError as error:
        return replace(report, errors=(str(error),))
    model, points = robot.model, robot.contact_points
    names = list(model.names)
    use = dict.fromkeys(names, "free")
    use |= {names[k]: "driven" for k, j in enumerate(model.joints) if k and j.idx_v in robot.driven}
    copies = [
        f"joint '{m.joint}' = {m.multiplier:g} * '{m.primary}' + {m.offset:g}; it has no motor "
        "(a method that does not enforce it lets the joint move by itself, and a run says so)"
        for m in robot.limits.mimics
    ]
    return replace(
        report,
        nq=model.nq,
        nv=model.nv,
        joints=tuple(row._replace(use=use.get(row.name, "locked")) for row in report.joints),
        actuators=tuple(
            ActuatorRow(
                actuator.name,
                "thruster" if actuator.frame else "servo" if actuator.is_servo else "motor",
                actuator.frame or ", ".join(actuator.arms),
                *("" if np.isinf(end) else f"{end:.6g}" for end in actuator.control),
            )
            for actuator in robot.actuators
        ),
        contacts=tuple(
            ContactRow._make((name, names[joint], form, *(f"{x:.4f}" for x in place), size))
            for name, joint, place, (form, size) in zip(
                points.names, points.joints, points.positions, _forms(points), strict=True
            )
        ),
        warnings=(*robot.warnings, *_odd_pose(robot)),
        notes=(*robot.notes, *transparency(robot), *copies),
    )


def _described(report: RobotReport, files: RobotFiles, described: Description) -> RobotReport:
    """Facts about a robot that is not put on its base."""
    model, rows = described.model, []
    bounds = model.lowerPositionLimit, model.upperPositionLimit
    loads = model.upperEffortLimit, model.upperVelocityLimit
    for name, joint in named_joints(model):
        given = [x[joint.idx_q] for x in bounds] if joint.nq == 1 else [float("inf")] * 2
        given += [x[joint.idx_v] for x in loads] if joint.nv == 1 else []
        cells = [f"{x:.6g}" if abs(x) < 1e300 else "" for x in given]
        rows.append(JointRow(name, joint.shortname().removeprefix("JointModel"), *cells))
    light = {k for k, inertia in enumerate(model.inertias) if k and inertia.mass == 0.0}
    bodies = [f for f in model.frames if f.type == pin.BODY and f.parentJoint in light]
    missing = {"visual": described.missing_visuals, "collision": described.missing_collisions}
    return replace(
        report,
        name=files.name or described.name,
        file=str(described.path),
        mass=sum(inertia.mass for inertia in model.inertias),
        joints=tuple(rows),
        massless=tuple(str(frame.name) for frame in bodies),
        missing=tuple((kind, *each) for kind, found in missing.items() for each in found),
        warnings=described.warnings,
    )


def _forms(points: ContactPoints) -> Iterator[tuple[str, str]]:
    """Form and size of each contact point."""
    for radius, axes in zip(points.radii, np.linalg.norm(points.semi_axes, axis=2), strict=True):
        reach = radius + axes[axes > 0.0]
        if len(reach) == len(axes):
            yield "ellipsoid", " x ".join(f"{x:.4f}" for x in reach)
        elif len(reach):
            yield "rim", f"{reach.max():.4f}"
        else:
            yield ("ball" if radius > THINNEST else "point"), f"{radius:.4f}"


def _odd_pose(robot: Robot) -> list[str]:
    """Warnings about the standing pose on level ground."""
    q = robot.standing[None]
    said = joints_beyond_range(robot, q)
    if robot.floating and len(robot.contact_points):
        ground = Terrain(Plane(height=robot.lowest_point))
        said += overlap_sentences(OverlapCheck(robot, ground).deepest(q), [0.0])
    if not robot.floating and not robot.loops:
        weight = pin.computeGeneralizedGravity(robot.model, robot.model.createData(), q[0])
        held = LiftForces(robot.model, robot.lifts).efforts(q[0])
        load = (weight - held - spring_efforts(robot.springs, robot.model, q[0]))[None]
        said += [f"standing still, {text}" for text in efforts_beyond_limits(robot, load)]
    return said


def _table(rows: Sequence[NamedTuple]) -> list[str]:
    """Rows under their headings, each column as wide as its widest cell."""
    if not rows:
        return []
    cells = [rows[0]._fields, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells[: _MOST_ROWS + 1]
    ]
    hidden = len(rows) - _MOST_ROWS
    return [*lines, f"... and {hidden} more"] if hidden > 0 else lines
