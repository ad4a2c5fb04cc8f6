"""The [contact] and [[contact_rules]] of a scenario file: one record a contact model.

A package may add models by an entry point of the group `nmdp_pin.contact_models`: it names a
`ContactLaw`, or a function that returns one; its keyword arguments are the keys of the table.
"""

import functools
import inspect
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, SerializeAsAny, create_model, model_validator

from nmdp_pin._contact import (
    AnisotropicCone,
    ContactLaw,
    DryFriction,
    FrictionCone,
    Mixed,
    Penalty,
    WrenchSpace,
    stiffness_for_static_depth,
)
from nmdp_pin._contact.fitted.fitted_model import fitted_model
from nmdp_pin._contact.friction_cone import Power
from nmdp_pin._contact.granular.granular import Granular
from nmdp_pin._contact.planar_sliding.planar_sliding import PlanarSliding
from nmdp_pin._options import Number, PositiveOrInfinite, unknown, worded
from nmdp_pin._robot import Robot
from nmdp_pin._scenario.section import OptionsSection, chosen, options_section
from nmdp_pin.errors import ContactError

ENTRY_POINTS = "nmdp_pin.contact_models"
_DEFAULT = "friction-cone"


class ContactSection(OptionsSection):
    """Keys common to all contact models; `target` makes one."""

    model: str = Field(_DEFAULT, description="contact law; determines the other keys")

    def build(self, robot: Robot) -> ContactLaw:
        """Build the contact model; targets with an argument `robot` receive the robot."""
        options = self.options()
        if "robot" in inspect.signature(self.target).parameters:
            options["robot"] = robot
        law = self.target(**options)
        if not isinstance(law, ContactLaw):
            raise ContactError(
                f"the contact model '{self.model}' must be a ContactLaw, "
                f"its target {self.target.__name__} made {law!r}"
            )
        return law


class StiffnessSection(ContactSection):
    """Keys of laws whose force grows with the penetration."""

    stiffness: PositiveOrInfinite | None = Field(
        None, description="stiffness k, inf: rigid [N/m^power]"
    )
    static_depth: Annotated[Number, Field(ge=0, le=1)] | None = Field(
        None, description="penetration under the weight of the robot, 0: rigid [m]"
    )
    power: Power = Field(3, description="exponent of the penetration")

    @model_validator(mode="after")
    def _one_stiffness(self) -> Self:
        """The stiffness is given, or follows from the depth at rest."""
        if (self.stiffness is None) == (self.static_depth is None):
            raise worded("needs exactly one of the keys 'stiffness' and 'static_depth'")
        return self

    def build(self, robot: Robot) -> ContactLaw:
        """Build the model, with the stiffness of `static_depth`."""
        if self.static_depth is None:
            return super().build(robot)
        # An arm without contact points may still move: then no stiffness is ever used.
        feet = robot.n_feet or (0 if robot.floating else 1)
        k = stiffness_for_static_depth(robot.mass, feet, self.static_depth, self.power)
        return self.model_copy(update={"stiffness": k, "static_depth": None}).build(robot)


CONTACTS: dict[str, type[ContactSection]] = {
    "friction-cone": options_section(StiffnessSection, FrictionCone),
    "anisotropic-cone": options_section(StiffnessSection, AnisotropicCone),
    "granular": options_section(ContactSection, Granular.for_robot, skip=("intruder",)),
    "planar-sliding": options_section(
        StiffnessSection, PlanarSliding.for_robot, skip=("surface", "arms")
    ),
    "fitted": options_section(ContactSection, fitted_model),
    "penalty": options_section(ContactSection, Penalty),
    "dry-friction": options_section(ContactSection, DryFriction),
}


def contact_models() -> dict[str, type[ContactSection] | EntryPoint]:
    """Models by name: those of CONTACTS, and those of installed packages, not loaded yet."""
    return {entry.name: entry for entry in _installed(tuple(sys.path))} | CONTACTS


@functools.cache
def _installed(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Models of the packages on a path, whose metadata take milliseconds to read."""
    return tuple(entry_points(group=ENTRY_POINTS))


def contact_section(name: str) -> type[ContactSection]:
    """Record of a model; a package is loaded when its model is asked for."""
    entry = contact_models()[name]
    if not isinstance(entry, EntryPoint):
        return entry
    place = f"entry point '{entry.name}' of {ENTRY_POINTS} ({entry.value})"
    try:
        target = entry.load()
    except Exception as error:  # whatever the package's own import raises
        raise worded(f"the {place} cannot be loaded: {error}") from None
    if not callable(target):
        raise worded(f"the {place} must be a ContactLaw or a function that returns one")
    return options_section(ContactSection, target)


Patterns = Annotated[tuple[str, ...], Field(min_length=1)]


def with_recovery(table: Any, rate: float) -> Any:
    """The table of a contact model, with a rate where the model has one and the table has none."""
    name = table.get("model", _DEFAULT) if isinstance(table, dict) else None
    section = CONTACTS.get(name) if isinstance(name, str) else None
    if section is None or "recovery" not in section.model_fields:
        return table
    return {"recovery": rate} | table


class ContactRule(ContactSection):
    """A contact model for the contact points and terrain shapes that it names."""

    points: Patterns | None = Field(None, description="names of contact points; absent: all")
    on: Patterns | None = Field(None, description="names of shapes, objects and links; absent: all")

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        """Refuse a rule without `points` and `on`."""
        if self.points is None and self.on is None:
            raise worded("needs 'points' or 'on': for every contact there is [contact]")
        return self


def _rule_section(name: str) -> type[ContactRule]:
    bases: Any = (contact_section(name), ContactRule)
    section: type[ContactRule] = create_model(f"Rule[{name}]", __base__=bases)
    return section


AnyContact = Annotated[
    ContactSection,
    SerializeAsAny(),
    chosen(ContactSection, "model", contact_models, contact_section),
]
AnyContactRule = Annotated[
    ContactRule, SerializeAsAny(), chosen(ContactRule, "model", contact_models, _rule_section)
]


def build_contact(
    default: ContactSection,
    rules: Sequence[ContactRule],
    robot: Robot,
    shapes: Sequence[str | None],
) -> ContactLaw:
    """The contact model of a scenario, whose terrain has shapes of these names.

    The first rule that fits a contact point on a shape counts, where none fits the default.
    """
    if not rules:
        return default.build(robot)
    models = [_wrench_space(section, robot) for section in (default, *rules)]
    table = np.zeros((len(robot.contact_points), len(shapes)), dtype=int)
    for index, rule in reversed([*enumerate(rules, 1)]):
        where = f"contact_rules.{index - 1}"
        points = _chosen_by(rule.points, robot.contact_points.names, f"{where}.points")
        on = _chosen_by(rule.on, shapes, f"{where}.on")
        table[np.ix_(points, on)] = index
    return Mixed(models=tuple(models), table=table.tolist())


def _wrench_space(section: ContactSection, robot: Robot) -> WrenchSpace:
    law = section.build(robot)
    if not isinstance(law, WrenchSpace):
        raise ContactError(f"contact_rules mix wrench spaces, and '{section.model}' is none")
    return law


def _chosen_by(
    patterns: Sequence[str] | None, names: Sequence[str | None], where: str
) -> np.ndarray:
    """Mask of the names that match one of the patterns, shape (len(names),)."""
    fits = np.full(len(names), patterns is None)
    for pattern in patterns or ():
        found = [name is not None and fnmatchcase(name, pattern) for name in names]
        if not any(found):
            what = "a contact point" if where.endswith("points") else "the name of a shape"
            known = {name for name in names if name is not None}
            raise ContactError(f"{where}: {unknown(pattern, what, known)}")
        fits |= np.array(found)
    return fits
