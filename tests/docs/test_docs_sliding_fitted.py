"""The pages on planar sliding and on fitted models: their code runs and gives what they say."""

import re
import tomllib

import numpy as np
import pytest
from pages import code_on, page

from nmdp_pin._scenario import Scenario
from nmdp_pin._scenario.toml_source import find_scenario
from nmdp_pin.contact import Fitted, LimitSurface


def test_fit_of_a_surface(tmp_path, monkeypatch, capsys):
    """It finds the ellipsoid that it was made of, and leaves a file."""
    monkeypatch.chdir(tmp_path)
    (code,) = code_on(page("planar_sliding.md"))
    exec(code, {})
    load_error, twist_error, inscribed = map(float, capsys.readouterr().out.split())
    assert max(load_error, twist_error) < 1e-5
    assert inscribed > 0.9
    assert LimitSurface.load("surface.json").degree == 4


def test_fit_of_samples(capsys):
    """It prints what the remark says."""
    code, _ = code_on(page("fitted.md"))
    exec(code, {})
    found = list(map(float, capsys.readouterr().out.split()))
    said = [float(text) for text in re.search(r"# (8.*)\n", code)[1].split(",")]
    np.testing.assert_allclose(found, said, atol=1e-3)


def test_function():
    """The function and its slope fit together."""
    _, code = code_on(page("fitted.md"))
    made = {}
    exec(code, made)
    space = made["gripper_pad"]()
    assert isinstance(space, Fitted)
    poses = np.array([[0.004], [0.008]])
    difference = np.diff(made["forces"](poses), axis=0)[0] / 0.004
    np.testing.assert_allclose(made["slopes"](poses)[0, ..., 0], difference)


@pytest.mark.parametrize("name", ["planar_sliding.md", "fitted.md"])
def test_tables_of_scenarios(name):
    """The [contact] tables that the pages show can be built."""
    (block,) = code_on(page(name), "toml")
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
