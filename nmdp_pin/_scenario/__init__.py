"""Scenario files: a typed record of everything that a run depends on."""

from nmdp_pin._scenario.scenario import Scenario, Setup
from nmdp_pin._scenario.toml_source import bundled_scenarios

__all__ = ["Scenario", "Setup", "bundled_scenarios"]
