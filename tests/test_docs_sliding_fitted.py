"""The pages on planar sliding and on fitted models: their code runs and gives what they say."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from nmdp_pin.contact.fitted import Fitted
from nmdp_pin.contact.planar_sliding import LimitSurface
from nmdp_pin.scenario import Scenario
from nmdp_pin.scenario.toml_source import find_scenario

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page, language):
    """The code of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_fit_of_a_surface(tmp_path, monkeypatch, capsys):
    """It finds the ellipsoid that it was made of, and leaves a file."""
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("planar_sliding.md", "python")
    exec(code, {})
    load_error, twist_error, inscribed = map(float, capsys.readouterr().out.split())
    assert max(load_error, twist_error) < 1e-5
    assert inscribed > 0.9
    assert LimitSurface.load("surface.json").degree == 4


def test_fit_of_samples(capsys):
    """It prints what the remark says."""
    code, _ = blocks("fitted.md", "python")
    exec(code, {})
    found = list(map(float, capsys.readouterr().out.split()))
    said = [float(text) for text in re.search(r"# (8.*)\n", code)[1].split(",")]
    np.testing.assert_allclose(found, said, atol=1e-3)


def test_function():
    """The function and its slope fit together."""
    _, code = blocks("fitted.md", "python")
    made = {}
    exec(code, made)
    space = made["gripper_pad"]()
    assert isinstance(space, Fitted)
    poses = np.array([[0.004], [0.008]])
    difference = np.diff(made["forces"](poses), axis=0)[0] / 0.004
    np.testing.assert_allclose(made["slopes"](poses)[0, ..., 0], difference)


@pytest.mark.parametrize("page", ["planar_sliding.md", "fitted.md"])
def test_tables_of_scenarios(page):
    """The [contact] tables that the pages show can be built."""
    (block,) = blocks(page, "toml")
    folder = find_scenario("fitted-pads").parent
    scenario = {
        "duration": 1.0,
        "robot": {"name": "box"},
        "terrain": {"shapes": [{"kind": "plane"}]},
        "integrator": {"name": "ne-nmdp"},
        **tomllib.loads(block),
    }
    setup = Scenario.from_dict(scenario, folder=folder).build(visuals=False)
    assert setup.simulator.step(setup.state, setup.controller.command(setup.state, 0.01), 0.01)
