"""Scenarios with planar sliding and fitted models: keys, files, mixtures."""

from pathlib import Path

import numpy as np
import pytest

from nmdp_pin._contact import FiniteDifferences, Mixed
from nmdp_pin._scenario import Scenario
from nmdp_pin.contact import Fitted, LimitSurface
from nmdp_pin.errors import ScenarioError

PADS = str(Path(__file__).parents[2] / "scenarios" / "rubber-pad.csv")
SLIDING = {
    "model": "planar-sliding",
    "static_depth": 0.001,
    "power": 2,
    "ellipsoid": [0.4, 0.3, 0.2],
    "length": 0.1,
}
FITTED = {"model": "fitted", "path": PADS}


def scenario(contact, folder=".", **tables):
    """The box on the floor with a [contact] table; keys of None are left out."""
    contact = {key: value for key, value in contact.items() if value is not None}
    table = {
        "duration": 0.05,
        "robot": {"name": "box"},
        "terrain": {"shapes": [{"kind": "plane"}]},
        "contact": contact,
        "integrator": {"name": "ne-nmdp", "dt": 0.01},
        **tables,
    }
    return Scenario.from_dict(table, folder=folder)


def model(contact, folder=".", **tables):
    """The contact model that a scenario builds."""
    return scenario(contact, folder, **tables).build(visuals=False).simulator.contact


def test_centre_gives_the_arms():
    """Each contact's arm goes from the centre of the patch to its place on the body."""
    space = model(SLIDING | {"centre": [0.01, 0.0, -0.1]})
    assert np.shape(space.arms) == (8, 3)
    corners = np.array([0.01, 0.0, -0.1]) + space.arms
    np.testing.assert_allclose(np.abs(corners), 0.1)
    assert model(SLIDING).arms == ((0.0, 0.0, 0.0),)


def test_surface_from_a_file(tmp_path):
    """A path is found beside the scenario."""
    surface = LimitSurface.ellipsoid((0.5, 0.4, 0.3), length=0.2)
    surface.save(tmp_path / "surface.json")
    found = model(SLIDING | {"path": "surface.json", "ellipsoid": None, "length": None}, tmp_path)
    assert found.surface == surface


BAD_SLIDING = {
    "no surface": ({"ellipsoid": None, "length": None}, "'path' and 'ellipsoid'"),
    "two surfaces": ({"path": "a.json"}, "'path' and 'ellipsoid'"),
    "no length": ({"length": None}, "'length'"),
    "flat": ({"ellipsoid": [0.4, 0.3, 0.0]}, "three finite numbers > 0"),
    "no file": ({"path": "a.json", "ellipsoid": None, "length": None}, "there is no"),
    "frame": ({"frame": "moon"}, "frame"),
    "axis": ({"axis": [0.0, 0.0, 0.0]}, "axis"),
}


@pytest.mark.parametrize(("change", "message"), BAD_SLIDING.values(), ids=BAD_SLIDING)
def test_bad_sliding(change, message):
    """The error says which key, and what is allowed."""
    with pytest.raises(ScenarioError, match=message):
        model(SLIDING | change)


BAD_FITTED = {
    "no path": ({"path": None}, "missing"),
    "no file": ({"path": "none.csv"}, "there is no"),
    "another kind": ({"path": "a.txt"}, r"\.onnx"),
    "touch": ({"touch": 0.0}, "touch"),
}


@pytest.mark.parametrize(("change", "message"), BAD_FITTED.values(), ids=BAD_FITTED)
def test_bad_fitted(change, message):
    """Likewise."""
    with pytest.raises(ScenarioError, match=message):
        model(FITTED | change)


def test_options_of_fitted():
    """They reach the model."""
    space = model(FITTED | {"touch": 0.002, "rpy": [0.0, 0.1, 0.0]})
    assert isinstance(space, Fitted)
    assert (space.touch, space.rpy) == (0.002, (0.0, 0.1, 0.0))
    assert isinstance(model(FITTED | {"difference_step": 1e-5}), FiniteDifferences)


def test_both_under_one_box():
    """Two pads that were measured, two corners that slide on a patch; every step converges."""
    mixed = scenario(
        SLIDING,
        contact_rules=[{"points": ["front_*"], **FITTED}],
        robot={"name": "box", "initial": {"velocity": [0.5, 0.1, 0.0]}},
    )
    setup = mixed.build(visuals=False)
    assert isinstance(setup.simulator.contact, Mixed)
    run = setup.simulator.run(setup.state, setup.controller, dt=0.01, duration=0.05)
    assert all(result.status.ok for result in run)
