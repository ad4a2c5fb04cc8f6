"""How often the steps of a run asked coal, and about which pairs of solids."""

from collections.abc import Iterator

import numpy as np

from nmdp_pin._dynamics.geometry.solid_pairs import SolidCalls
from nmdp_pin._kernels.compiler.callbacks import callee
from nmdp_pin._robot import Robot
from nmdp_pin._robot.body_surfaces import body_name
from nmdp_pin._scenario.scenario import Setup

_NAMED = 3  # pairs, those most asked about


def coal_calls(setup: Setup) -> Iterator[str]:
    """A line of the account of a run made in this process; none where coal was not asked."""
    handle = setup.simulator.integrator.candidates.solids
    calls: SolidCalls | None = callee(handle) if handle else None
    if calls is None or not calls.asked.any():
        return
    most = np.argsort(-calls.asked, kind="stable")[:_NAMED]
    named = [f"{_named(setup.robot, calls, k)} {calls.asked[k]}" for k in most if calls.asked[k]]
    pairs = np.count_nonzero(calls.asked)
    rest = ", ..." if pairs > len(named) else ""
    yield (
        f"coal: asked {calls.asked.sum()} times about {pairs} of {len(calls.pairs)} pairs of "
        f"solids: {', '.join(named)}{rest}"
    )


def _named(robot: Robot, calls: SolidCalls, k: int) -> str:
    """Names of the bodies of a pair."""
    link, touched = calls.pairs[k].bodies
    return f"{body_name(robot, link)} on {body_name(robot, touched) if touched else 'the ground'}"
