"""The runs of a sweep: one for each point of the grid, checked before any is made."""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nmdp_pin.errors import ScenarioError, SweepError
from nmdp_pin.runs.planned_run import PlannedRun, leaves
from nmdp_pin.scenario import Scenario
from nmdp_pin.scenario.scenario import FRICTION
from nmdp_pin.sweep.grid import MOST_POINTS, GridAxis, as_toml

_WORDS = {"mu": "friction"}  # what others call it: what it is called here
_ALIKE = 0.75  # of two keys, as difflib measures it


@dataclass(frozen=True, eq=False)
class GridPoint:
    """One point of the grid.

    Args:
        values: values of the grid's keys.
        run: what is run there.
    """

    values: dict[str, Any]
    run: PlannedRun


def plan(source: str, axes: Sequence[GridAxis], overrides: Sequence[str]) -> list[GridPoint]:
    """All runs of a sweep, the last axis varying fastest.

    Args:
        source: a bundled scenario or the path of a TOML file.
        axes: the grid.
        overrides: overrides of all runs, such as "duration=1.0".

    Raises:
        ScenarioError: a key or a value that the scenario does not take.
        SweepError: a key that is given twice, or two points that are the same run.
    """
    keys = [axis.key for axis in axes]
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise SweepError(f"the grid has '{twice[0]}' twice: give all its values at once")
    count = math.prod(len(axis.values) for axis in axes)
    if count > MOST_POINTS:
        raise SweepError(f"the grid has {count} points; at most {MOST_POINTS} are run")
    base = Scenario.load(source, overrides=overrides)
    points: dict[str, GridPoint] = {}
    for point in itertools.product(*(axis.values for axis in axes)):
        values = dict(zip(keys, point, strict=True))
        texts = [as_toml(key, value) for key, value in values.items()]
        given = [f"{key}={text}" for key, text in zip(keys, texts, strict=True)]
        run = _planned(source, [*overrides, *given], values, base)
        if run.scenario_hash in points:
            raise SweepError(
                f"{values} and {points[run.scenario_hash].values} are the same run: two keys of "
                "the grid set the same thing"
            )
        points[run.scenario_hash] = GridPoint(values, run)
    return list(points.values())


def _planned(
    source: str, overrides: list[str], values: dict[str, Any], base: Scenario
) -> PlannedRun:
    try:
        scenario = Scenario.load(source, overrides=overrides).resolved()
    except ScenarioError as error:
        hints = [hint for key in values if (hint := _alike(key, base.resolved()))]
        told = ". ".join([str(error).rstrip("."), *hints])
        raise ScenarioError(f"grid point {values}: {told}") from error
    return PlannedRun(f"grid point {values}", scenario)


def _alike(key: str, scenario: dict[str, Any]) -> str:
    """Similar keys of the scenario; empty where the key exists."""
    names = [name for name, _ in leaves("", scenario)]
    if key in names or "*" in key or key == FRICTION:
        return ""
    last = _WORDS.get(key.rpartition(".")[2], key.rpartition(".")[2])
    same = [name for name in names if name.rpartition(".")[2] == last]
    close = same or difflib.get_close_matches(key, names, cutoff=_ALIKE)
    return f"Keys of this scenario like '{key}': {', '.join(close)}" if close else ""
