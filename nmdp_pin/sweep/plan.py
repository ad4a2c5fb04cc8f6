"""The runs of a sweep: one for each point of the grid, checked before any is made."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmdp_pin.errors import ScenarioError, SweepError
from nmdp_pin.experiments.code_version import file_version
from nmdp_pin.scenario import Scenario
from nmdp_pin.scenario.scenario import FRICTION
from nmdp_pin.sweep.grid import GridAxis, as_toml

_WORDS = {"mu": "friction"}  # what others call it: what it is called here
_ALIKE = 0.75  # of two keys, as difflib measures it


@dataclass(frozen=True)
class PlannedRun:
    """One point of the grid.

    Args:
        values: of the grid's keys.
        scenario: with every default, as JSON data.
        scenario_hash: of it and of the files that it names.
    """

    values: dict[str, Any]
    scenario: dict[str, Any]
    scenario_hash: str


def plan(source: str, axes: Sequence[GridAxis], overrides: Sequence[str]) -> list[PlannedRun]:
    """All runs of a sweep, the last axis varying fastest.

    Args:
        source: a bundled scenario or the path of a TOML file.
        axes: the grid.
        overrides: what is the same for all runs, such as "duration=1.0".

    Raises:
        ScenarioError: a key or a value that the scenario does not take.
        SweepError: a key that is given twice, or two points that are the same run.
    """
    keys = [axis.key for axis in axes]
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise SweepError(f"the grid has '{twice[0]}' twice: give all its values at once")
    base = Scenario.load(source, overrides=overrides)
    runs: dict[str, PlannedRun] = {}
    for point in itertools.product(*(axis.values for axis in axes)):
        values = dict(zip(keys, point, strict=True))
        texts = [as_toml(key, value) for key, value in values.items()]
        given = [f"{key}={text}" for key, text in zip(keys, texts, strict=True)]
        run = _planned(source, [*overrides, *given], values, base)
        if run.scenario_hash in runs:
            raise SweepError(
                f"{values} and {runs[run.scenario_hash].values} are the same run: two keys of "
                "the grid set the same thing"
            )
        runs[run.scenario_hash] = run
    return list(runs.values())


def _planned(
    source: str, overrides: list[str], values: dict[str, Any], base: Scenario
) -> PlannedRun:
    try:
        scenario = Scenario.load(source, overrides=overrides).resolved()
    except ScenarioError as error:
        hints = [hint for key in values if (hint := _alike(key, base.resolved()))]
        told = ". ".join([str(error).rstrip("."), *hints])
        raise ScenarioError(f"grid point {values}: {told}") from error
    files = {text: file_version(Path(text)) for text in _files(scenario)}
    content = json.dumps([scenario, files], sort_keys=True)
    return PlannedRun(values, scenario, hashlib.sha256(content.encode()).hexdigest()[:16])


def _alike(key: str, scenario: dict[str, Any]) -> str:
    """Which keys of the scenario may have been meant; nothing where this one is there."""
    names = [name for name, _ in _leaves("", scenario)]
    if key in names or "*" in key or key == FRICTION:
        return ""
    last = _WORDS.get(key.rpartition(".")[2], key.rpartition(".")[2])
    same = [name for name in names if name.rpartition(".")[2] == last]
    close = same or difflib.get_close_matches(key, names, cutoff=_ALIKE)
    return f"Keys of this scenario like '{key}': {', '.join(close)}" if close else ""


def _files(scenario: dict[str, Any]) -> list[str]:
    """The files that a scenario names, whose paths are absolute once it is resolved."""
    texts = {value for _, value in _leaves("", scenario) if isinstance(value, str)}
    return sorted(text for text in texts if Path(text).is_absolute() and Path(text).is_file())


def _leaves(where: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The dotted keys below a value, with what they hold."""
    if not isinstance(value, dict | list):
        yield where, value
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        yield from _leaves(f"{where}.{key}".lstrip("."), inner)
