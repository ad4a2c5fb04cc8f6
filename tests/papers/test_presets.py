"""Presets: what "paper" means, in the simulator and in scenarios."""

import pickle
from dataclasses import asdict, replace

import core_samples as samples
import numpy as np
import pytest

from nmdp_pin._contact import FrictionCone
from nmdp_pin._contact.friction_cone import RECOVERY
from nmdp_pin._control import StablePD
from nmdp_pin._integrators import INTEGRATORS, integrator_named
from nmdp_pin._integrators.presets import PRESETS, preset_options
from nmdp_pin._options import options_of
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import Fixed, Halving
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import IntegratorError, ScenarioError
from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient

IMPLICIT = ("ne-nmdp", "ne-zonmdp", "pbd-nmdp", "pbd-zonmdp")
# Algorithm 1 as printed ([N] section IV) and what its authors ran: their epsilon, eta = 1.5, the
# objective of the feet, a start at w = 0, no estimate of the contact model's derivative.
CONTROL = Halving(max_work=20000)
PAPER = {
    "objective": "end_effector",
    "order": 1,
    "warm_start": False,
    "restarts": False,
    "secants": False,
    "pd": "explicit",
    "max_work": 2000,
    "control": CONTROL,
    "recovery": 0.0,
}
OTHERS = {"pd", "control", "recovery"}  # of the baseline, of the simulator, of the contact law
SOLVER = {
    "carry_gamma": False,
    "gamma": 1.0,
    "epsilon": 1e-6,
    "grow": 1.5,
    "shrink": pytest.approx(1.0 / 1.5),
    "line_search": False,
    "gain_ratio": False,
    "contact_scale": False,
    "early_stop": False,
    "predict": False,
    "retreat": False,
}


def simulator(method="ne-nmdp", **options) -> Simulator:
    """Robosimian on flat ground."""
    cone = FrictionCone(stiffness=1e6, power=2, recovery=0.0)
    return Simulator(
        samples.robot("robosimian planar"), Terrain([Plane(height=-0.8)]), cone, method, **options
    )


def scenario(*overrides, name="robosimian-jump-paper") -> Scenario:
    """A bundled scenario with keys of [integrator]."""
    return Scenario.load(name, overrides=[f"integrator.{key}" for key in overrides])


def motion(sim: Simulator) -> np.ndarray:
    """Configurations of the first 0.1 s of a jump at 10 ms."""
    control = StablePD(sim.robot, kp=1000.0, kd=1.0, gait="jump")
    return np.array([r.state.q for r in sim.run(sim.state(), control, dt=0.01, duration=0.1)])


def test_the_papers_options():
    """They are those of the papers, and nothing else is set but limits on iterations."""
    preset = PRESETS["paper"]
    assert {key: preset[key] for key in PAPER} == PAPER
    assert set(preset) - set(PAPER) == {"projected_gradient"}
    solver = asdict(preset["projected_gradient"])
    assert {key: solver[key] for key in SOLVER} == SOLVER
    default = asdict(ProjectedGradient())
    others = {key for key in solver if solver[key] != default[key]} - set(SOLVER)
    assert others == {"max_iterations", "max_newton"}


@pytest.mark.parametrize("method", IMPLICIT)
def test_every_option_reaches_the_method(method):
    """The simulator's options are the preset's, all of which the method knows."""
    sim = simulator(method, preset="paper")
    assert sim.control == CONTROL
    expected = {key: PRESETS["paper"][key] for key in PRESETS["paper"].keys() - OTHERS}
    assert sim.options == expected
    assert set(expected) <= set(options_of(integrator_named(method)))


@pytest.mark.parametrize("method", IMPLICIT)
def test_it_is_the_same_as_its_options_by_hand(method):
    """A preset is its options and no more; and it is not the default."""
    by_hand = {key: value for key, value in PRESETS["paper"].items() if key not in OTHERS}
    by_hand["control"] = CONTROL
    found = motion(simulator(method, preset="paper"))
    assert np.array_equal(found, motion(simulator(method, **by_hand)))
    assert not np.array_equal(found, motion(simulator(method)))


def test_contacts_of_the_papers_do_not_recover():
    """Scenarios with the preset have no recovery unless they give it; other laws are refused."""
    chosen = scenario('preset="paper"', name="finger-block")
    assert [law.recovery for law in (chosen.contact, *chosen.contact_rules)] == [0.0, 0.0]
    assert scenario('preset="paper"', 'name="ne-ncp"').contact.model == "dry-friction"
    given = ['integrator.preset="paper"', 'integrator.name="ne-mdp"', "contact.recovery=3.0"]
    built = Scenario.load("robosimian-jump-paper", overrides=given).build(visuals=False)
    assert built.simulator.contact.recovery == 3.0
    assert scenario().contact.recovery == RECOVERY > 0.0
    with pytest.raises(IntegratorError, match=r"recovery = 0 1/s, got 10: give recovery=0"):
        Simulator(
            samples.robot("box"), Terrain(Plane()), FrictionCone(stiffness=1e6), preset="paper"
        )


def test_options_given_win():
    """What is said by keyword overrules the preset, step control included."""
    sim = simulator(preset="paper", objective="kinetic", control=Fixed())
    assert sim.options["objective"] == "kinetic"
    assert sim.control == Fixed()
    assert sim.options["projected_gradient"] == PRESETS["paper"]["projected_gradient"]
    chosen = scenario('preset="paper"', 'objective="kinetic"', 'control.kind="fixed"').integrator
    assert (chosen.objective, chosen.step_control()) == ("kinetic", Fixed())


@pytest.mark.parametrize("method", IMPLICIT)
def test_a_key_of_a_table_leaves_the_others_to_the_preset(method):
    """One key of [integrator.projected_gradient] or [integrator.control] replaces no other."""
    keys = ("projected_gradient.grow=3.0", "control.min_step=1e-4")
    chosen = scenario(f'name="{method}"', 'preset="paper"', *keys).integrator
    assert chosen.projected_gradient == replace(PRESETS["paper"]["projected_gradient"], grow=3.0)
    assert chosen.step_control() == replace(CONTROL, min_step=1e-4)


def test_the_principle_itself_needs_no_projected_gradient():
    """With the objective "dissipation" the preset leaves the solver of the others out."""
    sim = simulator(preset="paper", objective="dissipation")
    assert sim.options == {
        "objective": "dissipation",
        "order": 1,
        "warm_start": False,
        "restarts": False,
        "secants": False,
        "max_work": 2000,
    }
    built = scenario('preset="paper"', 'objective="dissipation"').build(visuals=False).simulator
    assert built.control == sim.control == CONTROL
    assert built.options["projected_gradient"] is None
    assert sim.options.items() <= built.options.items()


def test_a_method_takes_the_options_that_it_has():
    """The baseline has its PD and none of the solver's; Algorithm 2 is everyone's."""
    sim = simulator("ne-mdp", preset="paper")
    assert sim.options == {"pd": "explicit"}
    assert sim.control == CONTROL
    assert preset_options("paper", ["order", "other"], {}) == {"order": 1}


def test_the_preset_cannot_be_changed_through_its_options():
    """Each call makes its own table."""
    preset_options("paper", ["order"], {})["order"] = 7
    assert preset_options("paper", ["order"], {}) == {"order": 1}


def test_unknown_presets():
    """A name that is not known is an error that lists the known ones."""
    message = r"preset 'papers' is not known; choose from \['paper'\]"
    with pytest.raises(IntegratorError, match=message):
        simulator(preset="papers")
    with pytest.raises(ScenarioError, match=message):
        scenario('preset="papers"')


@pytest.mark.parametrize("value", ["3", "true", '["paper"]'])
def test_a_preset_is_a_name(value):
    """Anything else is a mistake in the scenario."""
    with pytest.raises(ScenarioError, match="preset"):
        scenario(f"preset={value}")


@pytest.mark.parametrize("method", sorted(INTEGRATORS))
@pytest.mark.parametrize("name", ["robosimian-jump-paper", "spider-walk", "sliding-box"])
def test_scenarios(name, method):
    """In a bundled scenario the preset sets every option that the method has."""
    overrides = [f'name="{method}"', 'preset="paper"']
    if method in ("pbd", "pbfd", "ne-ncp"):
        pytest.skip("it takes another contact law")
    section = scenario(*overrides, name=name)
    built = section.build(visuals=False).simulator
    assert built.control == CONTROL
    known = options_of(integrator_named(method))
    for key, value in PRESETS["paper"].items():
        if key in known:
            assert built.options[key] == value
    assert section.integrator.preset == "paper"


@pytest.mark.parametrize("method", [*IMPLICIT, "ne-mdp"])
def test_a_resolved_scenario_reloads_to_the_same(method):
    """With the preset's options written out, and those that overrule it."""
    extra = ["order=2", "projected_gradient.grow=2.5"] if method in IMPLICIT else []
    first = scenario(f'name="{method}"', 'preset="paper"', *extra)
    again = Scenario.from_dict(first.resolved())
    assert again.resolved() == first.resolved()
    if extra:
        assert again.integrator.order == 2
        assert again.integrator.projected_gradient.grow == 2.5
    a, b = (s.build(visuals=False).simulator for s in (first, again))
    assert (a.options, a.control) == (b.options, b.control)


def test_a_scenario_and_a_simulator_are_the_same():
    """The scenario's simulator has the options of one built by hand."""
    built = scenario('preset="paper"', "dt=0.05").build(visuals=False).simulator
    expected = simulator(preset="paper")
    assert built.control == expected.control
    assert expected.options.items() <= built.options.items()


def test_a_pickled_simulator_has_them_still():
    """A process that gets the simulator runs the same method."""
    sim = simulator(preset="paper", objective="kinetic")
    copy = pickle.loads(pickle.dumps(sim))
    assert copy.options == sim.options
    assert copy.control == CONTROL
    assert np.array_equal(motion(copy), motion(sim))
