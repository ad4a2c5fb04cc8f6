"""Report on a robot: facts, choices and problems."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pinocchio as pin

from nmdp_pin.errors import RobotError
from nmdp_pin.robot.catalog import RobotFiles, RobotSource, find_robot
from nmdp_pin.robot.contact_choice import Contacts
from nmdp_pin.robot.feasibility import efforts_beyond_limits, joints_beyond_range
from nmdp_pin.robot.loading import MJCF, Options, assemble, describe
from nmdp_pin.robot.mesh_files import locate_meshes
from nmdp_pin.robot.overlaps import OverlapCheck, overlap_sentences, transparency
from nmdp_pin.robot.robot import Robot
from nmdp_pin.robot.settings import Base
from nmdp_pin.robot.urdf import Urdf, read_urdf
from nmdp_pin.robot.urdf_problems import find_problems, link_mass
from nmdp_pin.terrain import Plane, Terrain


@dataclass(frozen=True)
class JointRow:
    """Moving joint of a URDF.

    Args:
        name: name of the joint.
        kind: type in the URDF.
        limits: lower, upper [rad or m], effort [N m or N], velocity [rad/s or m/s] as written;
            empty where not given.
        use: "driven", "free" (without motor), "locked", or "" if the robot cannot be loaded.
    """

    name: str
    kind: str
    limits: tuple[str, str, str, str]
    use: str = ""


@dataclass(frozen=True)
class ContactRow:
    """Contact point: name, joint, position in the frame of the joint [m] and radius [m]."""

    name: str
    joint: str
    position: tuple[float, float, float]
    radius: float


@dataclass(frozen=True)
class RobotReport:
    """Report of `nmdp-pin check`.

    Args:
        source: requested name or path.
        name: name of the robot.
        file: path of the URDF.
        mass: sum of the masses of the links [kg].
        nq: size of the configuration; None if the robot cannot be loaded.
        nv: size of the velocity; None if the robot cannot be loaded.
        joints: moving joints.
        contacts: contact points.
        massless: links without mass.
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
        head = [f"{self.name or self.source}: {'can' if self.ok else 'CANNOT'} be simulated"]
        if self.file:
            head.append(f"  file    {self.file}")
            head.append(f"  mass    {self.mass:.6g} kg")
        if self.nq is not None:
            head.append(f"  size    nq {self.nq}, nv {self.nv}, {len(self.driven)} driven joints")
        missing = [f"{kind} mesh of link '{link}': {mesh}" for kind, link, mesh in self.missing]
        massless = [", ".join(self.massless)] if self.massless else []
        parts = [
            *head,
            *_listed("errors", self.errors),
            *_listed("warnings", self.warnings),
            *_listed("missing meshes", missing),
            *_listed("links without mass (fine where links with mass hang on them)", massless),
            *_listed("notes", self.notes),
            *_table(
                "joints", JOINT_HEAD, [(j.name, j.kind, *j.limits, j.use) for j in self.joints]
            ),
            *_table("contact points", CONTACT_HEAD, [_contact_cells(row) for row in self.contacts]),
        ]
        return "\n".join(parts)


# Rows of a table that are printed; the report holds all.
_MOST_ROWS = 120
JOINT_HEAD = ("name", "type", "lower", "upper", "effort", "velocity", "use")
CONTACT_HEAD = ("name", "on joint", "x", "y", "z [m]", "radius [m]")


def check_robot(
    source: RobotSource,
    *,
    base: Base | None = None,
    joints: str | Sequence[str] | None = None,
    variant: str | None = None,
    contacts: Contacts | None = None,
    contact_points: int | None = None,
    decompose: bool = False,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
) -> RobotReport:
    """Check a robot; the options are those of `load_robot`. Mistakes are in the report."""
    report = RobotReport(os.fspath(source))
    try:
        files = find_robot(source, variant=variant, package_dirs=package_dirs)
        if files.urdf.suffix in MJCF:
            report = _mjcf_report(report, files)
        else:
            report = _read_report(report, files, read_urdf(files.urdf))
    except RobotError as error:
        return replace(report, errors=(str(error),))
    try:
        options = Options(base, joints, contacts, contact_points, decompose, visuals=False)
        robot = assemble(files, describe(files, visuals=False), options)
    except RobotError as error:
        known = any(error.element and error.element in text for text in report.errors)
        return report if known else replace(report, errors=(*report.errors, str(error)))
    model, points = robot.model, robot.contact_points
    names = list(model.names)
    driven = {names[k] for k in range(1, model.njoints) if model.joints[k].idx_v in robot.driven}
    return replace(
        report,
        nq=model.nq,
        nv=model.nv,
        joints=tuple(replace(row, use=_use(row.name, names, driven)) for row in report.joints),
        contacts=tuple(
            ContactRow(name, names[joint], tuple(position.tolist()), float(radius))
            for name, joint, position, radius in zip(
                points.names, points.joints, points.positions, points.radii, strict=True
            )
        ),
        warnings=(*report.warnings, *_odd_pose(robot)),
        notes=(*robot.notes, *transparency(robot), *_mimic_notes(robot)),
    )


def _odd_pose(robot: Robot) -> list[str]:
    """Warnings about the standing pose on level ground."""
    q = robot.standing[None]
    said = joints_beyond_range(robot, q)
    if robot.floating and len(robot.contact_points):
        ground = Terrain(Plane(height=robot.lowest_point))
        said += overlap_sentences(OverlapCheck(robot, ground).deepest(q), [0.0])
    if not robot.floating:
        weight = pin.computeGeneralizedGravity(robot.model, robot.model.createData(), q[0])
        said += [f"standing still, {text}" for text in efforts_beyond_limits(robot, weight[None])]
    return said


def _mimic_notes(robot: Robot) -> list[str]:
    return [
        f"joint '{m.joint}' = {m.multiplier:g} * '{m.primary}' + {m.offset:g}; it has no motor "
        "(a method that does not enforce it lets the joint move by itself, and a run says so)"
        for m in robot.limits.mimics
    ]


def _read_report(report: RobotReport, files: RobotFiles, urdf: Urdf) -> RobotReport:
    """Facts about a URDF that is not built."""
    problems = find_problems(urdf)
    errors = [str(problem) for problem in problems if problem.fatal]
    missing: list[tuple[str, str, str]] = []
    for kind in ("visual", "collision"):
        try:
            found = locate_meshes(urdf, kind, files.package_dirs)
            missing += [(kind, link, mesh) for link, mesh in found.missing]
        except RobotError as error:
            errors.append(str(error))
    moving = [joint for joint in urdf.joints if joint.get("type") != "fixed"]
    return replace(
        report,
        name=files.name or urdf.name,
        file=str(urdf.path),
        mass=sum(link_mass(link) for link in urdf.links),
        joints=tuple(_joint_row(joint) for joint in moving),
        massless=tuple(k.get("name", "") for k in urdf.links if link_mass(k) == 0.0),
        missing=tuple(missing),
        warnings=tuple(str(problem) for problem in problems if not problem.fatal),
        errors=tuple(errors),
    )


def _mjcf_report(report: RobotReport, files: RobotFiles) -> RobotReport:
    """Facts about an MJCF file that is not put on its base."""
    described = describe(files, visuals=True)
    model = described.model
    rows = []
    for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
        written = ("", "", "", "")
        if joint.nq == joint.nv == 1:
            bounds = (
                model.lowerPositionLimit[joint.idx_q],
                model.upperPositionLimit[joint.idx_q],
                model.upperEffortLimit[joint.idx_v],
                model.upperVelocityLimit[joint.idx_v],
            )
            a, b, c, d = (f"{x:.6g}" if abs(x) < 1e300 else "" for x in bounds)
            written = (a, b, c, d)
        kind = joint.shortname().removeprefix("JointModel")
        rows.append(JointRow(str(name), kind, written))
    return replace(
        report,
        name=files.name or described.name,
        file=str(described.path),
        mass=sum(inertia.mass for inertia in model.inertias),
        joints=tuple(rows),
        warnings=described.warnings,
    )


def _joint_row(joint: ET.Element) -> JointRow:
    limit = joint.find("limit")
    keys = ("lower", "upper", "effort", "velocity")
    written = ["" if limit is None else limit.get(key, "") for key in keys]
    limits = (written[0], written[1], written[2], written[3])
    return JointRow(joint.get("name", ""), joint.get("type", ""), limits)


def _use(name: str, moving: Sequence[str], driven: set[str]) -> str:
    if name in driven:
        return "driven"
    return "free" if name in moving else "locked"


def _contact_cells(row: ContactRow) -> tuple[str, ...]:
    return (row.name, row.joint, *(f"{x:.4f}" for x in row.position), f"{row.radius:.4f}")


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [f"  {title}", *(f"    {line}" for line in lines)] if lines else []


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows under their headings, each column as wide as its widest cell."""
    if not rows:
        return []
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    hidden = len(rows) - _MOST_ROWS
    rest = [f"... and {hidden} more"] if hidden > 0 else []
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in [head, *rows[:_MOST_ROWS]]
    ]
    return _listed(f"{title} ({len(rows)})", [*(line.rstrip() for line in lines), *rest])
