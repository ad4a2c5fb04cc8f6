"""Scenario files with several contact models, and with models of installed packages."""

import importlib
import json

import numpy as np
import pytest

from nmdp_pin._contact import AnisotropicCone, FrictionCone, Mixed
from nmdp_pin._scenario import Scenario
from nmdp_pin._scenario.contact_sections import contact_models
from nmdp_pin.errors import ScenarioError

ICE = {"kind": "box", "name": "ice", "size": [1.0, 1.0, 1.0], "friction": 0.1}
ICE_TOO = {"kind": "sphere", "name": "ice", "radius": 1.0}
SPIKES = {"model": "anisotropic-cone", "static_depth": 0.002, "along": 0.5}
PACKAGE = """
import pinocchio as pin
from nmdp_pin._contact import FrictionCone
from nmdp_pin._robot import Robot

def soft(*, robot: Robot, depth: float, directions: int = 4) -> FrictionCone:
    k = 9.81 * pin.computeTotalMass(robot.model) / depth
    return FrictionCone(stiffness=k, power=1, directions=directions)

def wrong() -> float:
    return 1.0

text = "no model"
"""
ENTRY_POINTS = """
[nmdp_pin.contact_models]
soft = soft_ground:soft
cone = nmdp_pin._contact:FrictionCone
wrong = soft_ground:wrong
text = soft_ground:text
missing = not_there:Model
friction-cone = soft_ground:soft
"""


def scenario(*rules, contact=None):
    """A box over a plane and two shapes of ice."""
    return Scenario.from_dict(
        {
            "duration": 0.1,
            "robot": {"name": "box"},
            "terrain": {"shapes": [{"kind": "plane"}, ICE, ICE_TOO]},
            "contact": contact or {"static_depth": 0.001},
            "contact_rules": list(rules),
            "integrator": {"dt": 0.005},
        },
        file="mine.toml",
    )


def contact_of(*rules, **options):
    return scenario(*rules, **options).build(visuals=False).simulator.contact


def test_no_rule_is_the_model_itself():
    """Without rules nothing is mixed."""
    assert isinstance(contact_of(), FrictionCone)


def test_rules_say_which_contact_feels_what():
    """Points and shapes go by patterns; a rule without one of the two takes all."""
    front = {"points": ["front*"], **SPIKES}
    mixed = contact_of(front, {"on": ["ice"], "stiffness": 1e5})
    assert isinstance(mixed, Mixed)
    assert [type(model) for model in mixed.models] == [FrictionCone, AnisotropicCone, FrictionCone]
    # front_* come first among the corners
    assert mixed.table == [[1, 1, 1]] * 4 + [[0, 2, 2]] * 4


def test_the_first_rule_that_fits_counts():
    """Where two rules fit, their order decides."""
    front, ice = {"points": ["front*"], **SPIKES}, {"on": ["ice"], "stiffness": 1e5}
    assert contact_of(front, ice).table[0] == [1, 1, 1]
    assert contact_of(ice, front).table[0] == [2, 1, 1]


def test_a_rule_for_some_points_on_some_shapes():
    """Both patterns together mean both."""
    rule = {"points": ["*_bottom", "front*"], "on": ["i?e"], **SPIKES}
    table = np.array(contact_of(rule).table)
    assert not table[:, 0].any()
    assert table[:, 1].tolist() == table[:, 2].tolist() == [1, 1, 1, 1, 1, 0, 1, 0]


def test_resolved_rules_make_themselves_again():
    """What a recording holds is JSON, and reading it gives the same scenario."""
    found = scenario({"points": ["front*"], **SPIKES}).resolved()
    assert found["contact_rules"][0]["along"] == 0.5
    assert Scenario.from_dict(json.loads(json.dumps(found))).resolved() == found


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (SPIKES, "contact_rules.0: needs 'points' or 'on'"),
        ({"points": [], **SPIKES}, "contact_rules.0.points"),
        ({"points": "front", **SPIKES}, "contact_rules.0.points: must be a list"),
        ({"points": ["forn*"], **SPIKES}, "contact_rules.0.points: 'forn\\*' is not a contact"),
        ({"on": ["icy"], **SPIKES}, "contact_rules.0.on: 'icy' .* Did you mean 'ice'"),
        ({"on": ["ice"], "model": "sands"}, "contact_rules.0.model: 'sands' is not a known"),
        ({"on": ["ice"]}, "contact_rules.0: needs exactly one of the keys 'stiffness'"),
        ({"on": ["ice"], "stiffness": 1.0, "along": 0.1}, "contact_rules.0.along"),
        ({"on": ["ice"], "shape": ["ice"], "stiffness": 1.0}, "contact_rules.0.shape"),
    ],
)
def test_mistakes_in_rules(rule, message):
    """Each names the file, the rule and its key."""
    with pytest.raises(ScenarioError, match=message) as caught:
        contact_of(rule)
    assert "mine.toml" in str(caught.value)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package that brings contact models."""
    (tmp_path / "soft_ground.py").write_text(PACKAGE)
    info = tmp_path / "soft_ground-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: soft-ground\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    assert "soft" in contact_models()


@pytest.mark.usefixtures("package")
def test_a_package_brings_a_function():
    """Its keywords are keys of the table, and it is given the robot if it asks for it."""
    cone = contact_of(contact={"model": "soft", "depth": 0.01})
    assert (cone.power, cone.directions) == (1, 4)
    assert cone.stiffness == pytest.approx(9.81 / 0.01)
    found = scenario(contact={"model": "soft", "depth": 0.01}).resolved()
    assert found["contact"] == {"model": "soft", "depth": 0.01, "directions": 4}
    assert Scenario.from_dict(found).resolved() == found


@pytest.mark.usefixtures("package")
def test_a_package_brings_a_class():
    """A class does as well, also in a rule."""
    mixed = contact_of({"model": "cone", "on": ["ice"], "stiffness": 7.0, "power": 2})
    assert mixed.models[1] == FrictionCone(stiffness=7.0, power=2)


@pytest.mark.usefixtures("package")
def test_a_package_does_not_replace_our_models():
    """A name that we use stays ours."""
    assert contact_of(contact={"model": "friction-cone", "stiffness": 2.0}).stiffness == 2.0


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("contact", "message"),
    [
        ({"model": "soft"}, "contact.depth: is missing"),
        ({"model": "soft", "depth": "deep"}, "contact.depth: must be a number"),
        ({"model": "soft", "depth": 0.1, "robot": "box"}, "contact.robot"),
        ({"model": "soft", "depth": -0.1}, "contact: stiffness must be > 0"),
        ({"model": "wrong"}, "must be a ContactLaw, its target wrong made 1.0"),
        ({"model": "text"}, "must be a ContactLaw or a function"),
        ({"model": "missing"}, "cannot be loaded: No module named 'not_there'"),
        ({"model": "sofd"}, "Did you mean 'soft'"),
    ],
)
def test_mistakes_with_a_package(contact, message):
    """Each names the key, or the entry point at fault."""
    with pytest.raises(ScenarioError, match=message):
        contact_of(contact=contact)
