"""The [[contact_rules]] of a scenario file: other contact models in some places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field, create_model, model_validator

from nmdp_pin.contact import ContactLaw, Mixed, WrenchSpace
from nmdp_pin.errors import ContactError
from nmdp_pin.robot import Robot
from nmdp_pin.scenario.contact_sections import ContactModels, ContactSection
from nmdp_pin.scenario.section import chosen, unknown, worded

Patterns = Annotated[tuple[str, ...], Field(min_length=1)]


class ContactRule(ContactSection):
    """A contact model for the contact points and terrain shapes that it names."""

    points: Patterns | None = Field(None, description="names of contact points, * is any text")
    on: Patterns | None = Field(None, description="names of terrain shapes, * is any text")

    @model_validator(mode="after")
    def _names_something(self) -> ContactRule:
        """Refuse a rule without `points` and `on`."""
        if self.points is None and self.on is None:
            raise worded("needs 'points' or 'on': for every contact there is [contact]")
        return self


class _Rules(Mapping[str, type[ContactRule]]):
    """The records of rules, by the name of the contact model."""

    def __init__(self) -> None:
        self._models = ContactModels()

    def __getitem__(self, name: str) -> type[ContactRule]:
        section: Any = self._models[name]
        return create_model(f"Rule[{section.__name__}]", __base__=(section, ContactRule))

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)


if TYPE_CHECKING:  # mypy sees the record, pydantic how it is chosen
    AnyContactRule = ContactRule
else:
    AnyContactRule = chosen(ContactRule, "model", _Rules)


def build_contact(
    default: ContactSection,
    rules: Sequence[ContactRule],
    robot: Robot,
    shapes: Sequence[str | None],
) -> ContactLaw:
    """The contact model of a scenario.

    Args:
        default: where no rule fits.
        rules: the first that fits a contact point on a shape counts.
        robot: has the contact points.
        shapes: names of the terrain's shapes.

    Raises:
        ContactError: a rule that names no contact point or no shape, or a law that is no wrench
            space.
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
