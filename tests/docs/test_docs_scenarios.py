"""docs/reference lists the keys that scenario files may have; its examples are scenarios."""

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import ROOT, code_on

from nmdp_pin._contact import Mixed
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._options import Positive, check_options, options_of
from nmdp_pin._scenario import Scenario
from nmdp_pin._scenario.contact_sections import CONTACTS
from nmdp_pin._scenario.object_sections import OBJECTS
from nmdp_pin._scenario.sections import CONTROLLERS, CONTROLS
from nmdp_pin._terrain import SHAPES
from nmdp_pin.errors import ContactError, ScenarioError
from nmdp_pin.papers.methods.objectives import OBJECTIVES

PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
API = sorted((ROOT / "docs" / "api").glob("*.md"))
LIMIT = re.compile(r"^- `(\w+)` \([^;)]*; ([^)]*[<>][^)]*)\)", re.MULTILINE)


def module() -> Any:
    """tools/reference.py."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tools" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


REFERENCE = module()


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_pages_are_current(page: Path) -> None:
    """`python tools/reference.py` changes nothing; an option that is not described fails in it."""
    text = page.read_text(encoding="utf-8")
    assert REFERENCE.renewed(text) == text
    assert REFERENCE.renewed(LIMIT.sub("", text)) == text
    assert text.count("<!-- keys: ") == text.count("<!-- end -->") > 0


@pytest.mark.parametrize("page", API, ids=[page.stem for page in API])
def test_names_of_the_api_are_current(page: Path) -> None:
    """A page of docs/api can be read without the site: it lists each name with a sentence."""
    text = page.read_text(encoding="utf-8")
    assert REFERENCE.with_names(text) == text
    assert "\n- `" in text
    assert not re.search("^- `.*`: $", text, re.MULTILINE)


def test_every_table_is_on_a_page() -> None:
    """No table and no family of tables is left out."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    listed = re.findall("<!-- keys: (.+) -->", text)
    assert sorted(listed) == sorted([*REFERENCE.TABLES, *REFERENCE.FAMILIES])


def test_every_kind_is_listed() -> None:
    """Whatever is registered has its keys on a page."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for kinds in (SHAPES, CONTACTS, OBJECTS, INTEGRATORS, CONTROLS, CONTROLLERS):
        for kind in kinds:
            assert re.search(rf'^### \w+ = .*"{kind}"', text, re.MULTILINE), kind
    for objective in (*OBJECTIVES, ViNewton.objective):
        assert f'"{objective}"' in text


def test_the_list_says_what_an_option_says() -> None:
    """Default, range and description are those of the function."""

    def law(*, stiffness: Positive, share: float = 0.5) -> None:
        """A law.

        Args:
            stiffness: force over
                depth [N/m].
            share: None: no share.
        """

    record = REFERENCE.options_section(REFERENCE.OptionsSection, law)
    assert REFERENCE.keys_of(record) == [
        "- `stiffness` (required; > 0): force over depth [N/m]",
        "- `share` (0.5): absent: no share",
    ]
    assert set(options_of(law)) == {"stiffness", "share"}
    assert check_options(law, {"stiffness": np.float32(2.0)}, ContactError) == {"stiffness": 2.0}
    for bad in (0.0, np.nan, np.inf, "1", None, True):
        with pytest.raises(ContactError, match="stiffness must be "):
            check_options(law, {"stiffness": bad}, ContactError)


@pytest.mark.parametrize(
    "override",
    [
        "contact.power=7",
        "contact.directions=65",
        "contact.recovery=100.1",
        "robot.contact_points=1025",
        "integrator.vi_newton.tolerance=0.0",
        "integrator.control.min_step=1.1",
        "objects=[{kind='ball', name='b', radius=0.0, mass=1.0}]",
        "terrain.shapes=[{kind='capsule', radius=1.0, length=0.0}]",
        "controller={kind='hold', frequency=1001.0}",
    ],
)
def test_limits_hold(override: str) -> None:
    """What is beyond a limit is refused by an error that names the key and the limit."""
    with pytest.raises(ScenarioError, match=r"must be (>|<|>=|<=) ") as caught:
        Scenario.load("sliding-box", overrides=[override])
    assert caught.value.key.rpartition(".")[2] in override


def test_the_examples_are_scenarios() -> None:
    """The file that the page shows can be built, and so with the rules that it shows."""
    whole, rules = (
        tomllib.loads(block)
        for page in (ROOT / "docs" / "scenarios.md", *PAGES)
        for block in code_on(page.read_text(encoding="utf-8"), "toml")
    )
    assert Scenario.from_dict(whole).build(visuals=False).robot.name == "box"
    mixed = Scenario.from_dict(whole | rules).build(visuals=False).simulator.contact
    assert isinstance(mixed, Mixed)
    assert np.any(mixed.table)
