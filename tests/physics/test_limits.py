"""The known limits of docs/accuracy.md are as large as it says."""

import re
from functools import partial

import numpy as np
import pytest
from pages import page
from physics_scenes import DEPTH, POWER, ball, block, far_ground

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain
from nmdp_pin._control import Passive

PAGE = page("accuracy.md")
DIGITS = 0.06  # half of the last digit of the page's table, and rounding
SPEED, MU, G = 1.0, 0.5, 9.81  # of the slab that slides on the page
WORST = 0.75  # heading at which a slab veers most, in units of the angle between two edges


def row(name: str) -> list[float]:
    """Numbers of a row of the table of polyhedral cones; round ones have inf directions."""
    line = next(x for x in PAGE.splitlines() if x.startswith(f"| {name}"))
    found = [re.search(r"[\d.]+", cell) for cell in line.split("|")[2:-1]]
    return [float(number[0]) if number else np.inf for number in found]


def slide(directions: int, heading: float) -> tuple[float, float]:
    """Way to rest [m] and its angle to the initial velocity [deg]."""
    robot = block()
    contact = FrictionCone.for_robot(robot, static_depth=DEPTH, power=POWER, directions=directions)
    simulator = Simulator(robot, Terrain(Plane(friction=MU)), contact, "ne-nmdp")
    v, q = np.zeros(6), robot.standing.copy()
    v[:2] = SPEED * np.cos(heading), SPEED * np.sin(heading)
    q[2] -= DEPTH * np.sqrt(2.0)
    *_, last = simulator.run(simulator.state(q, v), Passive(), dt=0.002, duration=0.3)
    way = last.state.q[:2] - q[:2]
    return float(np.hypot(*way)), float(np.degrees(abs(np.arctan2(way[1], way[0]) - heading)))


@pytest.mark.parametrize("directions", [6, 12])
def test_a_sliding_body_veers_as_the_page_says(directions):
    """The largest angle and the longest way, over the middle of a face."""
    edge, column = 2.0 * np.pi / directions, row("`directions`").index(directions)
    # Two headings, mirrored at the middle of a face, veer alike.
    angles = [slide(directions, share * edge)[1] for share in (WORST, 1.0 - WORST)]
    assert angles == pytest.approx([row("veers by")[column]] * 2, abs=DIGITS)
    way, angle = slide(directions, 0.5 * edge)
    exact = SPEED**2 / (2.0 * MU * G)
    assert 100.0 * (way / exact - 1.0) == pytest.approx(row("slides further")[column], abs=0.5)
    assert angle < DIGITS


def spun(method: str, order: int, h: float) -> float:
    """Share of a spin of 10 rad/s that a ball keeps for a second in the air."""
    contact = FrictionCone(stiffness=1e6)
    simulator = Simulator(ball(), far_ground(), contact, method, order=order)
    start = simulator.state(v=np.array([0.0, 0.0, 0.0, 0.0, 10.0, 0.0]))
    *_, last = simulator.run(start, Passive(), dt=h, duration=1.0)
    return float(np.linalg.norm(last.state.v[3:])) / 10.0


def test_spin_is_damped_as_the_page_says():
    """The position-based form in first order damps, as d omega / dt = -h omega^3; others do not."""
    steps, kept = (0.005, 0.01, 0.025), [71.0, 58.0, 41.0]
    assert "91, 71, 58 and 41 %" in PAGE
    found = [100.0 * spun("pbd-nmdp", 1, h) for h in steps]
    assert found == pytest.approx(kept, abs=0.5)
    for h, share in zip(steps, found, strict=True):
        law = 100.0 / np.sqrt(1.0 + 2.0 * h * 10.0**2)  # d omega / dt = -h omega^3
        assert share == pytest.approx(law, rel=0.06)  # the law is the limit of short steps
    spin = partial(spun, h=0.025)
    assert spin("ne-nmdp", 1) == pytest.approx(1.0, abs=1e-9)
    assert spin("ne-nmdp", 2) == pytest.approx(1.0, abs=1e-9)
    assert 99.7 < 100.0 * spin("pbd-nmdp", 2) < 99.9
