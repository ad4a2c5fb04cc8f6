"""docs/reference says what the models of scenario files say: keys, defaults, choices, limits."""

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import code_on
from pydantic import BaseModel

from nmdp_pin.contact import Mixed
from nmdp_pin.errors import ScenarioError
from nmdp_pin.integrators import INTEGRATORS
from nmdp_pin.integrators.presets import PRESETS
from nmdp_pin.papers.objectives import OBJECTIVES
from nmdp_pin.papers.projected_gradient import ProjectedGradient
from nmdp_pin.robot import ContactPoint
from nmdp_pin.scenario import Scenario
from nmdp_pin.scenario.contact_rules import ContactRule
from nmdp_pin.scenario.contact_sections import CONTACTS, ContactSection
from nmdp_pin.scenario.controller_sections import CONTROLLERS, MotionSection
from nmdp_pin.scenario.object_sections import OBJECTS, ObjectSection
from nmdp_pin.scenario.robot_section import InitialSection, RobotSection
from nmdp_pin.scenario.section import OptionsSection, options_section
from nmdp_pin.scenario.sections import (
    CONTROLS,
    ControlSection,
    IntegratorSection,
    PushSection,
    ShapeSection,
    TerrainSection,
)
from nmdp_pin.scenario.sections import _controls as control_sections
from nmdp_pin.scenario.sections import _integrators as integrator_sections
from nmdp_pin.scenario.sections import _shapes as shape_sections
from nmdp_pin.scenario.toml_source import find_scenario
from nmdp_pin.solvers.vi_newton import ViNewton
from nmdp_pin.terrain import SHAPES

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = DOCS / "scenarios.md"
PAGES = [
    DOCS / "reference" / f"{name}.md" for name in ("scenario", "terrain", "contact", "integrator")
]
SMALLEST = 1e-3  # what is beyond a limit of a number that need not be whole
LIMIT = re.compile(r"(>=|<=|>|<) ([\d.e+-]+)")
WHOLE = {"contact_points", "power", "directions", "azimuths", "refinement"}
WHOLE |= {"max_iterations", "max_newton"}
# Of two keys only one may be given; points are spread over links, not over points.
REPLACES = {
    "stiffness": "static_depth",
    "spacing": "size",
    "contact_points": "contacts",
    "density": "mass",
}
REPLACES["roughness"] = "heights"

TETRAHEDRON = {
    "vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "faces": [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
}
SHAPE = {  # a valid table of each kind
    "plane": {},
    "box": {"size": [1.0, 1.0, 1.0]},
    "sphere": {"radius": 1.0},
    "cylinder": {"radius": 1.0, "length": 1.0},
    "capsule": {"radius": 1.0, "length": 1.0},
    "height-field": {"heights": [[0.0, 0.0], [0.0, 0.0]], "size": [1.0, 1.0]},
    "mesh": TETRAHEDRON,
}
METHOD_OF = {"penalty": "pbfd", "dry-friction": "ne-ncp"}  # a method that takes the law
LAW_OF = {"pbd": "penalty", "pbfd": "penalty", "ne-ncp": "dry-friction"}
CONTACT: dict[str, dict[str, Any]] = {  # likewise of each model
    "dry-friction": {},
    "penalty": {},
    "anisotropic-cone": {"static_depth": 0.001, "along": 0.1},
    "fitted": {"path": str(find_scenario("fitted-pads").parent / "rubber-pad.csv")},
    "friction-cone": {"static_depth": 0.001},
    "granular": {"radius": 0.02, "length": 0.1},
    "planar-sliding": {"static_depth": 0.001, "ellipsoid": [0.5, 0.5, 0.3], "length": 0.1},
}
OBJECT: dict[str, dict[str, Any]] = {  # likewise of each object
    "ball": {"radius": 0.1, "mass": 1.0},
    "box": {"size": [0.1, 0.1, 0.1], "mass": 1.0},
    "capsule": {"radius": 0.1, "length": 0.1, "mass": 1.0},
    "cylinder": {"radius": 0.1, "length": 0.1, "mass": 1.0},
    "urdf": {"path": str(Path(__file__).parents[1] / "robots" / "box" / "box.urdf")},
}
SOLVERS = {"vi_newton": ViNewton, "projected_gradient": ProjectedGradient}
OF_KIND = 'An object of kind "'
LISTS = {"size": 3, "spacing": 2}  # keys whose range holds for every entry


def base() -> dict[str, Any]:
    """A valid scenario in which every table is present."""
    return {
        "duration": 0.1,
        "robot": {
            "name": "box",
            "initial": {},
            "contacts": [{"name": "corner", "link": "box", "position": [0.1, 0.1, -0.1]}],
        },
        "terrain": {"shapes": [{"kind": "plane"}]},
        "objects": [{"kind": "box", "name": "object", **copy.deepcopy(OBJECT["box"])}],
        "contact": {"static_depth": 0.001},
        "integrator": {"name": "ne-nmdp", "dt": 1.0},
        "controller": {"kind": "stable-pd", "kp": 1.0, "kd": 1.0},
        "disturbances": [{"force": [0.0, 0.0, 0.0], "start": 0.0, "duration": 1.0}],
    }


Model = type[BaseModel]


def sections() -> dict[str, tuple[Model, frozenset[str], tuple[Any, ...]]]:
    """Heading -> its model, keys that are listed elsewhere, path in the file."""
    none = frozenset[str]()
    common = frozenset(IntegratorSection.model_fields)
    of_contact = frozenset(ContactSection.model_fields)
    found: dict[str, tuple[Model, frozenset[str], tuple[Any, ...]]] = {
        "The file": (Scenario, none, ()),
        "[robot]": (RobotSection, none, ("robot",)),
        "[robot.initial]": (InitialSection, none, ("robot", "initial")),
        "A table in robot.contacts": (ContactPoint, none, ("robot", "contacts", 0)),
        "[terrain]": (TerrainSection, none, ("terrain",)),
        "[contact]": (ContactSection, none, ("contact",)),
        "[[contact_rules]]": (ContactRule, of_contact, ("contact_rules", 0)),
        "[integrator]": (IntegratorSection, none, ("integrator",)),
        "[[disturbances]]": (PushSection, none, ("disturbances", 0)),
    }
    for name, model in integrator_sections().items():
        found[f'name = "{name}"'] = (model, common, ("integrator",))
    for name, model in control_sections().items():
        found[f'control = "{name}"'] = (model, frozenset({"kind"}), ("integrator", "control"))
    found["[integrator.control]"] = (ControlSection, none, ("integrator", "control"))
    for key, part in SOLVERS.items():
        found[f"[integrator.{key}]"] = (
            options_section(OptionsSection, part),
            none,
            ("integrator", key),
        )
    for name, model in CONTACTS.items():
        found[f'model = "{name}"'] = (model, of_contact, ("contact",))
    for name, model in CONTROLLERS.items():
        found[f'kind = "{name}"'] = (model, none, ("controller",))
    of_object = frozenset(ObjectSection.model_fields)
    found["[[objects]]"] = (ObjectSection, none, ("objects", 0))
    for kind, model in OBJECTS.items():
        found[f'{OF_KIND}{kind}"'] = (model, of_object, ("objects", 0))
    found["controller.motion"] = (MotionSection, none, ("controller", "motion"))
    everywhere = frozenset({*ShapeSection.model_fields, "position", "rpy"})
    for kind, model in shape_sections().items():
        found[f'kind = "{kind}"'] = (model, everywhere, ("terrain", "shapes", 0))
    found["[[terrain.shapes]]"] = (shape_sections()["sphere"], frozenset({"radius"}), SHAPE_PATH)
    return found


SHAPE_PATH = ("terrain", "shapes", 0)
NO_KEYS = "No keys."
KEY = re.compile(r"- `(\w+)` \(([^;)]+)(?:; ([^)]+))?\)")  # (default; range)


def headings(line: str) -> list[str]:
    """What stands in a line of the page as a title; one that lists names stands for each."""
    title = line.lstrip("#").strip()
    kind = title.partition('"')[0]
    names = re.findall(r'"([\w-]+)"', title)
    return [f'{kind}"{name}"' for name in names] or [title]


def lines() -> list[str]:
    """All lines of the pages."""
    return [line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines()]


def tables() -> dict[str, dict[str, tuple[str, str]]]:
    """Heading -> key -> (default, range), as the page has them."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    titles: list[str] = []
    for line in lines():
        if line.startswith("#"):
            titles = headings(line)
        elif line == NO_KEYS:
            found |= {title: {} for title in titles}
        elif match := KEY.match(line):
            key, default, where = match.groups(default="")
            for title in titles:
                of_title = found.setdefault(title, {})  # a kind may share keys with others
                assert key not in of_title, f"'{key}' is twice under '{title}'"
                of_title[key] = (default, where)
    return found


def shown(value: Any) -> str:
    """A default as the page writes it."""
    if value is None:
        return "absent"
    if isinstance(value, BaseModel):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(shown(entry) for entry in value)}]"
    return "{}" if value == {} else f"{value:g}"


def limits() -> list[tuple[str, str, str, str]]:
    """Every limit on the page: heading, key, relation, number."""
    return [
        (heading, key, relation, number)
        for heading, rows in tables().items()
        for key, (_, where) in rows.items()
        for relation, number in LIMIT.findall(where)
    ]


def table_with(heading: str, key: str, value: Any) -> dict[str, Any]:
    """The valid scenario with one key of one section set."""
    scenario = base()
    if heading.startswith('kind = "') and heading[8:-1] in SHAPES:
        kind = heading[8:-1]
        scenario["terrain"]["shapes"] = [{"kind": kind, **copy.deepcopy(SHAPE[kind])}]
    if heading.startswith(OF_KIND):
        kind = heading.removeprefix(OF_KIND)[:-1]
        scenario["objects"] = [{"kind": kind, "name": "object", **copy.deepcopy(OBJECT[kind])}]
    if heading == 'kind = "hold"':
        scenario["controller"] = {"kind": "hold"}
    if heading.startswith('model = "'):
        model = heading[9:-1]
        scenario["contact"] = {"model": model, **CONTACT[model]}
        if model in METHOD_OF:
            scenario["integrator"]["name"] = METHOD_OF[model]
    if heading.startswith('name = "'):
        method = heading[8:-1]
        scenario["integrator"]["name"] = method
        if method in LAW_OF:
            scenario["contact"] = {"model": LAW_OF[method]}
    if heading.startswith('control = "'):
        scenario["integrator"]["control"] = {"kind": heading[11:-1]}
        if "error" in heading:  # not both tolerances can be zero
            scenario["integrator"]["control"]["rtol" if key == "atol" else "atol"] = 1.0
    if heading == "[integrator.projected_gradient]":
        scenario["integrator"] |= {"objective": "kinetic", "projected_gradient": {}}
    if heading == "[integrator.vi_newton]":
        scenario["integrator"]["vi_newton"] = {}
    place: Any = scenario
    for part in sections()[heading][2]:
        place = place[part]
    place.pop(REPLACES.get(key, ""), None)
    if key == "roughness":
        place["spacing"] = [0.5, 0.5]
    if key in LISTS:
        length = len(place.get(key, ())) or LISTS[key]
        value = [*([1.0] * (length - 1)), value]
    place[key] = value
    return scenario


def test_there_are_limits():
    """The page states limits in a form that is understood here."""
    assert len(limits()) > 30


def test_every_section_has_a_table():
    """No section is missing, none is invented."""
    assert set(tables()) == set(sections())


@pytest.mark.parametrize("heading", sections())
def test_keys_and_defaults(heading):
    """A table has exactly the keys of its model, with their defaults."""
    model, elsewhere, _ = sections()[heading]
    rows = tables()[heading]
    fields = {key: f for key, f in model.model_fields.items() if key not in elsewhere}
    assert set(rows) == set(fields)
    for key, field in fields.items():
        if key in ("initial", "control"):
            continue  # a table of its own
        expected = "required" if field.is_required() else shown(field.get_default())
        assert rows[key][0] == expected, f"{heading}: {key}"


@pytest.mark.parametrize(("heading", "key", "relation", "number"), limits())
def test_limits(heading, key, relation, number):
    """What is beyond a limit is refused by an error that names the key; what is inside is taken."""
    value = int(number) if key in WHOLE else float(number)
    step = 1 if key in WHOLE else SMALLEST * max(abs(value), 1.0)
    outside = -step if relation.startswith(">") else step
    wrong, right = (value + outside, value) if "=" in relation else (value, value - outside)
    with pytest.raises(ScenarioError, match=re.escape(key)):
        Scenario.from_dict(table_with(heading, key, wrong)).build(visuals=False)
    Scenario.from_dict(table_with(heading, key, right)).build(visuals=False)


def test_choices():
    """The names that a key may have are all there."""
    page = tables()
    for names, cell in (
        (SHAPES, page["[[terrain.shapes]]"]["kind"][1]),
        (CONTACTS, page["[contact]"]["model"][1]),
        (OBJECTS, page["[[objects]]"]["kind"][1]),
        (INTEGRATORS, page["[integrator]"]["name"][1]),
        ((*OBJECTIVES, ViNewton.objective), page['name = "ne-nmdp"']["objective"][1]),
        (PRESETS, page["[integrator]"]["preset"][1]),
        (CONTROLS, page["[integrator.control]"]["kind"][1]),
    ):
        assert set(re.findall(r'"([\w-]+)"', cell)) == set(names)


def test_the_examples_are_scenarios():
    """The file that the page shows can be built, and so with the rules that it shows."""
    import tomllib

    whole, rules = (
        tomllib.loads(block)
        for page in (GUIDE, *PAGES)
        for block in code_on(page.read_text(encoding="utf-8"), "toml")
    )
    assert Scenario.from_dict(whole).build(visuals=False).robot.name == "box"
    mixed = Scenario.from_dict(whole | rules).build(visuals=False).simulator.contact
    assert isinstance(mixed, Mixed)
    assert np.any(mixed.table)
