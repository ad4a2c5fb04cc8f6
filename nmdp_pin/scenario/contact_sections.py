"""The [contact] table of a scenario file: one record a contact model.

A package may add models by an entry point of the group `nmdp_pin.contact_models`: it names a
`ContactLaw`, or a function that returns one; its keyword arguments are the keys of the table.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, create_model, model_validator

from nmdp_pin.contact import (
    AnisotropicCone,
    ContactLaw,
    DryFriction,
    FrictionCone,
    Penalty,
    stiffness_for_static_depth,
)
from nmdp_pin.contact.fitted import Fitted, fitted_model
from nmdp_pin.contact.granular import Granular, Plate, Rod, Sphere
from nmdp_pin.contact.planar_sliding import LimitSurface, PlanarSliding
from nmdp_pin.errors import ContactError
from nmdp_pin.robot import Robot
from nmdp_pin.scenario.robot_section import FilePath
from nmdp_pin.scenario.section import (
    Count,
    Flag,
    Number,
    OptionsSection,
    Vector3,
    chosen,
    options_section,
    worded,
)

ENTRY_POINTS = "nmdp_pin.contact_models"


class ContactSection(OptionsSection):
    """Keys common to all contact models; `target` is the class that they make."""

    model: str = Field("friction-cone", description="name of the contact model")

    def build(self, robot: Robot) -> ContactLaw:
        """Build the contact model; targets with an argument `robot` receive the robot.

        Raises:
            ContactError: keys that do not fit each other, or a target that makes something else.
        """
        options = self.options()
        if "robot" in inspect.signature(self.target).parameters:
            options["robot"] = robot
        return self._made(**options)

    def _made(self, **options: Any) -> ContactLaw:
        law = self.target(**options)
        if not isinstance(law, ContactLaw):
            raise ContactError(
                f"the contact model '{self.model}' must be a ContactLaw, "
                f"its target {self.target.__name__} made {law!r}"
            )
        return law


class StiffnessSection(ContactSection):
    """Keys of laws whose force grows with the penetration."""

    stiffness: Number | None = Field(None, gt=0, description="force over depth^power [N/m^power]")
    static_depth: Number | None = Field(
        None, gt=0, le=1, description="penetration of the standing robot [m]"
    )
    power: Count = Field(3, ge=1, le=6, description="exponent of the penetration")
    recovery: Number = Field(
        0.0, ge=0, le=100, description="rate at which contacts and stops push out [1/s]"
    )

    @model_validator(mode="after")
    def _one_stiffness(self) -> StiffnessSection:
        """The stiffness is given, or follows from the depth at rest."""
        if (self.stiffness is None) == (self.static_depth is None):
            raise worded("needs exactly one of the keys 'stiffness' and 'static_depth'")
        return self

    def build(self, robot: Robot) -> ContactLaw:
        """Build the model, with the stiffness of `static_depth`."""
        return self._made(**self._options(robot))

    def _options(self, robot: Robot) -> dict[str, Any]:
        """Keyword arguments of the target."""
        options = self.options()
        if self.static_depth is not None:
            # An arm without contact points may still move: then no stiffness is ever used.
            feet = robot.n_feet or (0 if robot.floating else 1)
            k = stiffness_for_static_depth(robot.mass, feet, self.static_depth, self.power)
            options["stiffness"] = k
        return options


class FrictionConeSection(StiffnessSection):
    """Keys of the friction cone."""

    target = FrictionCone

    model: Literal["friction-cone"] = "friction-cone"
    directions: Count = Field(6, ge=3, le=64, description="tangents of the friction polytope")
    zeta: Number = Field(0.0, ge=0, description="force without contact [m^power]; 0 is physical")
    angle: Number = Field(0.0, description="of the first tangent [rad]")
    circumscribed: Flag = Field(False, description="friction at least mu in every direction")


class AnisotropicConeSection(StiffnessSection):
    """Keys of the anisotropic friction cone."""

    target = AnisotropicCone

    model: Literal["anisotropic-cone"] = "anisotropic-cone"
    directions: Count = Field(8, ge=3, le=64, description="tangents of the friction polytope")
    axis: Vector3 = Field((1.0, 0.0, 0.0), description="in the frame of the joint; any length")
    along: Number = Field(ge=0, le=100, description="share of the terrain's friction along it [-]")
    across: Number = Field(1.0, ge=0, le=100, description="share of it across [-]")


class GranularSection(ContactSection):
    """A foot in sand, by resistive force theory."""

    target = Granular

    model: Literal["granular"] = "granular"
    intruder: Literal["rod", "sphere", "plate"] = Field("rod", description="shape of the foot")
    radius: Number | None = Field(None, gt=0, description="[m]; that of the contact spheres")
    length: Number | None = Field(None, gt=0, description="of a rod [m]")
    axis: Vector3 = Field((0.0, 0.0, -1.0), description="where the foot points; any length")
    medium: Literal["generic", "poppy-seeds-loose", "poppy-seeds-close"] = "generic"
    scale: Number = Field(1.0, gt=0, description="zeta, factor of all stresses [-]")
    azimuths: Count = Field(6, ge=4, le=16, description="level directions that are sampled; even")

    @model_validator(mode="after")
    def _shape_is_given(self) -> GranularSection:
        """Check the dimensions of the shape."""
        if (self.length is None) == (self.intruder == "rod"):
            raise worded(f"needs the key 'length' for a rod only, here is a {self.intruder}")
        if self.intruder != "sphere" and self.radius is None:
            raise worded(f"needs the key 'radius' for a {self.intruder}")
        return self

    def build(self, robot: Robot) -> ContactLaw:
        """Build the model; the default radius is that of the contact spheres."""
        radii = set(robot.contact_points.radii.tolist())
        if self.radius is None and len(radii) != 1:
            raise ContactError(
                f"give 'radius': the robot's contact spheres have different ones, {sorted(radii)} m"
            )
        radius = min(radii) if self.radius is None else self.radius
        foot = {
            "rod": lambda: Rod(radius=radius, length=self.length or 0.0),
            "sphere": lambda: Sphere(radius=radius),
            "plate": lambda: Plate(radius=radius),
        }
        return self._made(**{**self.options(), "intruder": foot[self.intruder]()})


class PlanarSlidingSection(StiffnessSection):
    """A patch that slides and turns within a limit surface."""

    target = PlanarSliding

    model: Literal["planar-sliding"] = "planar-sliding"
    path: FilePath | None = Field(None, description="of a limit surface that was fitted")
    ellipsoid: Vector3 | None = Field(
        None, description="largest Fx, Fy and torque / length per normal force [-]"
    )
    length: Number | None = Field(None, gt=0, description="that makes torques forces [m]")
    centre: Vector3 | None = Field(
        None, description="of the patch that all contact points share, joint's frame [m]"
    )
    refinement: Count = Field(2, ge=0, le=4, description="of the directions of sliding")
    axis: Vector3 = Field((1.0, 0.0, 0.0), description="along which the surface's x lies")
    frame: Literal["body", "world"] = Field("body", description="in which the axis is fixed")
    reference_friction: Number | None = Field(
        None, gt=0, description="terrain's friction for which the surface holds [-]"
    )

    @model_validator(mode="after")
    def _one_surface(self) -> PlanarSlidingSection:
        """Check that exactly one of `path` and `ellipsoid` is given."""
        if (self.path is None) == (self.ellipsoid is None):
            raise worded("needs exactly one of the keys 'path' and 'ellipsoid'")
        if (self.ellipsoid is None) != (self.length is None):
            raise worded("needs the key 'length' with 'ellipsoid', and only then")
        return self

    def _options(self, robot: Robot) -> dict[str, Any]:
        """Keyword arguments with the surface and with the arms from centre to contact points."""
        options = super()._options(robot)
        if self.centre is not None:
            options["arms"] = robot.contact_points.positions - np.array(self.centre)
        if self.path is not None:
            return options | {"surface": LimitSurface.load(self.path)}
        return options | {
            "surface": LimitSurface.ellipsoid(self.ellipsoid or (), length=self.length or 0.0)
        }


class FittedSection(ContactSection):
    """A model learned from measurements: samples, or a network."""

    target = Fitted

    model: Literal["fitted"] = "fitted"
    path: FilePath = Field(description="of the samples (.csv, .npz) or of the network (.onnx)")
    touch: Number | None = Field(None, gt=0, le=1, description="depth of full contact [m]")
    rpy: Vector3 = Field((0.0, 0.0, 0.0), description="of the frame that was measured in [rad]")
    directions: Count = Field(128, ge=12, le=4096, description="in which hulls are sampled")
    smoothing: Number = Field(0.0, ge=0, description="of the interpolation over poses [-]")
    difference_step: Number | None = Field(
        None, gt=0, lt=1, description="of derivatives by differences [m, rad]"
    )

    def build(self, robot: Robot) -> ContactLaw:
        """Build the model of the file."""
        known = inspect.signature(fitted_model).parameters
        return fitted_model(**{key: value for key, value in self if key in known})


def _named(name: str, target: Any) -> type[ContactSection]:
    """The record of a law with the keyword arguments of `target`."""
    section: Any = options_section(ContactSection, target, skip=frozenset({"robot"}))
    fields: dict[str, Any] = {"model": (Literal[name], name)}
    return create_model(f"ContactSection[{name}]", __base__=section, **fields)


CONTACTS: dict[str, type[ContactSection]] = {
    "anisotropic-cone": AnisotropicConeSection,
    "dry-friction": _named("dry-friction", DryFriction),
    "fitted": FittedSection,
    "friction-cone": FrictionConeSection,
    "granular": GranularSection,
    "penalty": _named("penalty", Penalty),
    "planar-sliding": PlanarSlidingSection,
}


class ContactModels(Mapping[str, type[ContactSection]]):
    """The sections by name: those of CONTACTS, then those of installed packages.

    A package is loaded when its model is asked for.
    """

    def __init__(self) -> None:
        self._others: dict[str, EntryPoint] = {}
        for entry in entry_points(group=ENTRY_POINTS):
            if entry.name not in CONTACTS:
                self._others.setdefault(entry.name, entry)

    def __getitem__(self, name: str) -> type[ContactSection]:
        return CONTACTS[name] if name in CONTACTS else _section_of(self._others[name])

    def __iter__(self) -> Iterator[str]:
        yield from (*CONTACTS, *self._others)

    def __len__(self) -> int:
        return len(CONTACTS) + len(self._others)

    def __contains__(self, name: object) -> bool:
        return name in CONTACTS or name in self._others


def _section_of(entry: EntryPoint) -> type[ContactSection]:
    """The record of a model that a package brings."""
    place = f"entry point '{entry.name}' of {ENTRY_POINTS} ({entry.value})"
    try:
        target = entry.load()
    except Exception as error:  # whatever the package's own import raises
        raise worded(f"the {place} cannot be loaded: {error}") from None
    if not callable(target):
        raise worded(f"the {place} must be a ContactLaw or a function that returns one")
    return _named(entry.name, target)


if TYPE_CHECKING:  # mypy sees the record, pydantic how it is chosen
    AnyContact = ContactSection
else:
    AnyContact = chosen(ContactSection, "model", ContactModels)
