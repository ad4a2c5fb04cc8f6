"""The bundled scenarios: each loads, builds, runs as before, and is rebuilt from a recording."""

import json

import numpy as np
import pytest
from kept_values import RUNS, differences, of_run, runs

from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._scenario import Scenario, bundled_scenarios
from nmdp_pin._scenario.toml_source import find_scenario

NAMES = sorted(bundled_scenarios())
EXPECTED = {
    "robosimian-jump",
    "robosimian-jump-paper",
    "robosimian-jump-high",
    "robosimian-walk",
    "robosimian-walk-fast",
    "spider-jump",
    "spider-walk",
    "sliding-box",
    "pushed-block",
    "panda-push",
    "finger-block",
    "finger-ball",
    "robosimian-walk-rough",
    "fitted-pads",
    "sliding-box-planar",
    "falling-box-slope",
    "falling-box-stairs",
    "go2-stand",
    "go2-stairs",
    "bin-of-parts",
    "conveyor",
    "door",
    "cassie-stand",
    "drone-land",
    "robotiq-cup",
    "suction-pick",
    "gripper-pick",
    "rover-hills",
    "chain-slope",
    "chain-slide",
    "chain-swing",
    "chain-ground",
}
KEPT = json.loads(RUNS.read_text(encoding="utf-8"))
# A velocity that is 1e-11 m/s off at the start changes motions by less than 1e-6 of themselves, and
# derivatives, which switches of contacts change, by 2e-4.
RUN_TOL = {"dx_dx": 1e-3, "dx_du": 1e-3, "": 1e-5}
STEPS = 4  # enough for every part of a step to be called; the physics has its own tests


def test_all_are_there():
    """The scenarios that the product promises are bundled."""
    assert set(NAMES) >= EXPECTED


@pytest.mark.parametrize("name", NAMES)
def test_first_line_says_what_it_shows(name):
    """`nmdp-pin scenarios` has a sentence for each."""
    assert find_scenario(name).read_text(encoding="utf-8").startswith("# ")
    assert bundled_scenarios()[name].endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_resolved_scenario_makes_itself_again(name):
    """What a recording holds is JSON, and reading it gives the very same scenario."""
    resolved = Scenario.load(name).resolved()
    assert Scenario.from_dict(json.loads(json.dumps(resolved))).resolved() == resolved


@pytest.mark.parametrize("run", runs())
def test_runs_as_before(run):
    """The first steps converge, and their figures and those of derivatives are what was kept."""
    name, settings = runs()[run]
    assert not differences(KEPT[run], of_run(name, settings), RUN_TOL)


def test_differences_are_seen():
    """A figure that moves by more than the tolerance is named, and so is one that is missing."""
    kept = KEPT["sliding-box"]
    moved = {**kept, "v": [kept["v"][0], *(1.0001 * x for x in kept["v"][1:])]}
    assert [said.split(":")[0] for said in differences(kept, moved, RUN_TOL)] == ["v"]
    assert differences(kept, {"v": kept["v"]}, RUN_TOL)


@pytest.mark.parametrize(
    "name", ["sliding-box-planar", "chain-swing", "chain-ground", "chain-slide"]
)
@pytest.mark.parametrize("method", INTEGRATORS)
def test_runs_with_any_method(name, method):
    """The scenarios of the position-based paper are for every method, refined contact or not."""
    settings = [f'integrator.name="{method}"', "integrator.dt=0.001"]
    if name == "chain-slide":
        settings.append("robot.contact_points=32")
    setup = Scenario.load(name, overrides=settings).build(visuals=False)
    results = list(setup.simulator.run(setup.state, setup.controller, dt=0.001, duration=0.004))
    assert len(results) == STEPS
    assert all(result.status.ok for result in results)


def test_stairs_have_no_internal_faces():
    """Each step of the stairs reaches under all higher ones, and is wider than these."""
    boxes = [s.shape for s in Scenario.load("falling-box-stairs").terrain.shapes if s.kind == "box"]
    right = [b.position[0] + b.size[0] / 2 for b in boxes]
    left = [b.position[0] - b.size[0] / 2 for b in boxes]
    top = [b.position[2] + b.size[2] / 2 for b in boxes]
    assert np.allclose(np.diff(right), 0.3)
    assert np.allclose(np.diff(left), 0.0)
    assert np.allclose(np.diff(top), -0.15)
