"""The lists of keys in docs/reference and of names in docs/api.

    python tools/reference.py

writes the text between `<!-- keys: NAME -->` and `<!-- end -->` anew: the keys of a table, or of
a family of tables, of which one key names the kind, as the records have them that read scenario
files. Above each `::: MODULE` of docs/api it writes the names of the module with the first
sentences of their docstrings, for those who read the page without the site.
"""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import griffe
from pydantic import BaseModel

from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._robot import ContactPoint
from nmdp_pin._robot.settings import GaitTable
from nmdp_pin._scenario import Scenario
from nmdp_pin._scenario.contact_sections import CONTACTS, ContactRule, ContactSection
from nmdp_pin._scenario.object_sections import OBJECTS, MotionSection
from nmdp_pin._scenario.robot_section import InitialSection, RobotSection
from nmdp_pin._scenario.section import OptionsSection, options_section
from nmdp_pin._scenario.sections import (
    CONTROLLERS,
    CONTROLS,
    DISTURBANCES,
    AttachmentSection,
    ControllerSection,
    ControlSection,
    FrictionSection,
    PairStiffnessSection,
    PushSection,
    ShapeSection,
    TerrainSection,
    integrator_section,
)
from nmdp_pin._terrain import SHAPES
from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient

PAGES = Path(__file__).parents[1] / "docs" / "reference"
API = PAGES.parent / "api"
OBJECT = re.compile(r"(?<=\n)\n(?:- `.*\n)*\n?::: (.+)$", re.MULTILINE)
BLOCK = re.compile(r"(<!-- keys: ([\w. ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SIGNS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
WORDS = {"None:": "absent:", "True": "true", "False": "false"}

Record = type[BaseModel]


class Family(NamedTuple):
    """Tables of which the key `tag` names the kind."""

    tag: str
    records: dict[str, Record]

    def lines(self) -> Iterator[str]:
        """Keys of all kinds, then the others under a heading for all kinds that have the same."""
        lists = {kind: keys_of(record) for kind, record in self.records.items()}
        first, *others = lists.values()
        shared = [line for line in first if all(line in other for other in others)]
        kinds = ", ".join(f'"{kind}"' for kind in self.records)
        for line in shared:
            yield re.sub(rf"^(- `{self.tag}` \([^)]*)\)", rf"\1; {kinds})", line)
        if not others:
            return
        groups: dict[tuple[str, ...], list[str]] = {}
        for kind, lines in lists.items():
            groups.setdefault(tuple(x for x in lines if x not in shared), []).append(kind)
        for own, names in groups.items():
            quoted = [f'"{name}"' for name in names]
            listed = " or ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
            yield from ("", f"### {self.tag} = {listed}", "", *(own or ["No further keys."]))


def _family(base: type[OptionsSection], registry: Mapping[str, Any]) -> Family:
    return Family("kind", {kind: options_section(base, of) for kind, of in registry.items()})


TABLES: dict[str, Record] = {
    "file": Scenario,
    "robot": RobotSection,
    "robot.initial": InitialSection,
    "robot.contacts": ContactPoint,
    "friction": FrictionSection,
    "stiffness": PairStiffnessSection,
    "terrain": TerrainSection,
    "contact_rules": ContactRule,
    "integrator.vi_newton": options_section(OptionsSection, ViNewton),
    "integrator.projected_gradient": options_section(OptionsSection, ProjectedGradient),
    "controller.motion": GaitTable,
    "objects.motion": MotionSection,
    "attachments": AttachmentSection,
}
FAMILIES = {
    "terrain.shapes": Family(
        "kind", {kind: options_section(ShapeSection, of) for kind, of in SHAPES.items()}
    ),
    "objects": Family("kind", dict(OBJECTS)),
    "contact": Family("model", dict(CONTACTS)),
    "integrator": Family("name", {name: integrator_section(name) for name in INTEGRATORS}),
    "integrator.control": Family(
        "kind", {kind: options_section(ControlSection, of) for kind, of in CONTROLS.items()}
    ),
    "controller": Family(
        "kind", {kind: options_section(ControllerSection, of) for kind, of in CONTROLLERS.items()}
    ),
    "disturbances": Family(
        "kind", {kind: options_section(PushSection, of) for kind, of in DISTURBANCES.items()}
    ),
}
ELSEWHERE = {"contact_rules": set(ContactSection.model_fields)}
"""Keys of a table that another list has."""


def keys_of(record: Record, elsewhere: Callable[[str], bool] = lambda key: False) -> list[str]:
    """A line for each key: default, range and description."""
    described = _described(record)
    schema = record.model_json_schema()["properties"]
    return [
        f"- `{key}` ({'; '.join(filter(None, (_default(field), _range(schema[key]))))}): "
        f"{field.description or described[key]}"
        for key, field in record.model_fields.items()
        if not elsewhere(key)
    ]


def _described(record: Record) -> dict[str, str]:
    """Descriptions of options in the docstring of what takes them."""
    target = getattr(record, "target", record)
    found = {}
    for source in filter(None, (getattr(target, "__self__", None), *_bases(target))):
        doc = griffe.Docstring(inspect.getdoc(source) or "")
        for section in doc.parse("google", warnings=False):
            if section.kind.value in ("parameters", "attributes"):
                for argument in section.value:
                    text = " ".join(argument.description.split()).removesuffix(".")
                    for python, toml in WORDS.items():
                        text = text.replace(python, toml)
                    found[argument.name] = text
    return found


def _bases(source: Any) -> list[Any]:
    """A class and its bases, the most general first; a function alone."""
    return [*reversed(source.__mro__)] if isinstance(source, type) else [source]


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    return "table" if field.default_factory else _shown(field.default)


def _shown(value: Any) -> str:
    """A default as a scenario file writes it."""
    if value is None:
        return "absent"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_shown, value))}]"
    return "{}" if value == {} else f"{value:g}"


def _range(schema: dict[str, Any]) -> str:
    """Choices or bounds of a type, or of its parts."""
    for part in (schema, *schema.get("anyOf", ()), *schema.get("prefixItems", ())):
        if "enum" in part:
            return ", ".join(map(_shown, part["enum"]))
        bounds = [f"{sign} {part[name]:g}" for name, sign in SIGNS.items() if name in part]
        if bounds:
            return ", ".join(bounds)
        if part is not schema and (inner := _range(part)):
            return inner
    return ""


def renewed(text: str) -> str:
    """A page with its lists made anew."""

    def made(match: re.Match[str]) -> str:
        name = match[2]
        if name in FAMILIES:
            lines = "\n".join(FAMILIES[name].lines())
        else:
            lines = "\n".join(keys_of(TABLES[name], ELSEWHERE.get(name, set()).__contains__))
        return f"{match[1]}\n{lines.strip()}\n\n{match[3]}"

    return BLOCK.sub(made, text)


def with_names(text: str) -> str:
    """A page of docs/api with the names of its modules and classes made anew."""

    def made(match: re.Match[str]) -> str:
        name = f"nmdp_pin.{match[1]}".replace("nmdp_pin.nmdp_pin", "nmdp_pin")
        try:  # before the function of that name, such as `rollout`
            found: Any = importlib.import_module(name)
        except ModuleNotFoundError:
            found = pydoc.locate(name)
        listed = "".join(f"- `{name}`: {_first_sentence(x)}\n" for name, x in _public(found))
        return f"\n{listed}\n::: {match[1]}"

    return OBJECT.sub(made, text)


def _public(found: Any) -> list[tuple[str, Any]]:
    """Names of a module, as it lists them or has them of its own; a class itself."""
    if isinstance(found, type):
        return [(found.__name__, found)]
    own = [
        name
        for name, x in vars(found).items()
        if not name.startswith("_") and getattr(x, "__module__", "") == found.__name__
    ]
    listed = [(name, getattr(found, name)) for name in getattr(found, "__all__", own)]
    return [(name, x) for name, x in listed if callable(x)]


def _first_sentence(found: Any) -> str:
    doc = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s+(?=[A-Z])", doc)[0]


if __name__ == "__main__":
    for page in sorted(API.glob("*.md")):
        page.write_text(with_names(page.read_text(encoding="utf-8")), encoding="utf-8")
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
