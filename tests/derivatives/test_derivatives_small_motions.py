"""Derivatives where a robot hardly moves: which contact creeps is a matter of nanometres."""

from dataclasses import replace

import adapter_scenes as robots
import derivative_scenes as scenes
import numpy as np
import pytest

from nmdp_pin.derivatives import StepDifferentiator
from nmdp_pin.papers.methods.pgm_stages import PgmStages

RELATIVE = 2e-6  # error; steps are solved to 1e-13, so their differences are good to 1e-6
SIZES = 10.0 ** np.arange(-6, 0)  # of the random change of a standing robot [rad, m, rad/s, m/s]
STEPS = (1e-6, 1e-7, 1e-8)  # of the differences; one that crosses a switch says nothing
H = 0.02
METHODS = (("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 2), ("pbd-zonmdp", 1))


def slopes(sim, x, u, warm, direction, step):
    """Forward and backward differences of the step along a direction; None where one is halved."""
    state, sides = sim.vector.unpack(x), []
    for s in (step, 0.0, -step):
        moved = sim.vector.unpack(sim.vector.integrate(x, s * direction))
        result = sim.step(replace(state, q=moved.q, v=moved.v, warm=warm), u, H)
        if not result.status.ok or len(result.step_sizes) > 1:
            return None
        sides.append(sim.vector.pack(result.state))
    ahead, here, behind = sides
    return (sim.vector.difference(here, ahead) / step, sim.vector.difference(behind, here) / step)


def errors(sim, x, u, found, direction):
    """Errors relative to the largest entry, at each step: of the central difference, of a side."""
    slope = found.dx_dx @ direction
    for step in STEPS:
        sides = slopes(sim, x, u, found.result.state.warm, direction, step)
        if sides is not None:
            central = 0.5 * (sides[0] + sides[1])
            largest = np.abs(central).max()
            yield (
                np.abs(central - slope).max() / largest,
                min(np.abs(side - slope).max() for side in sides) / largest,
            )


@pytest.mark.parametrize(("method", "order"), METHODS)
@pytest.mark.parametrize("base", ["fixed", "planar", "free-flyer"])
def test_small_motions_of_a_standing_hopper(base, method, order):
    """At usual tolerances, from 1e-6 to 1e-1: 2e-6 from central differences, or one-sided."""
    name, tight = scenes.METHODS[method]
    if order == 2:  # a stage is shorter: 2e-13 m, the rounding of its motions, is a larger speed
        tight = {"vi_newton": replace(tight["vi_newton"], slip=3e-11)}
    usual = robots.simulator("hopper", name, base, order=order)
    sim = robots.simulator("hopper", name, base, order=order, **tight)
    differentiate, rng = StepDifferentiator(usual), np.random.default_rng(1)
    touching = 0
    for size in SIZES:
        x = robots.near(usual, 0, size)
        u = rng.uniform(-5.0, 5.0, len(usual.robot.driven))
        found = differentiate(usual.vector.unpack(x), u, H)
        assert found.status.ok
        if len(found.result.step_sizes) > 1:
            continue
        assert found.settled
        touching += bool((found.result.contact_depths > 0.0).any())
        direction = rng.standard_normal(sim.vector.ndx)
        seen = errors(sim, x, u, found, direction)
        assert any(
            central <= RELATIVE or (found.one_sided and side <= RELATIVE) for central, side in seen
        )
    assert touching >= len(SIZES) - 1


def test_a_foot_that_creeps():
    """Slower than the solver's epsilon, at the edge of its friction: it does not count as held."""
    sim = robots.simulator("hopper", "ne-nmdp", "free-flyer", order=1)
    name, settings = scenes.METHODS["ne-nmdp"]
    tight = robots.simulator("hopper", name, "free-flyer", order=1, **settings)
    x = robots.near(sim, 0, 1e-3)
    u = np.random.default_rng(1).uniform(-5.0, 5.0, 3)
    found = StepDifferentiator(sim)(sim.vector.unpack(x), u, H)
    assert not found.one_sided
    e = np.zeros(sim.vector.ndx)
    e[2] = 1.0
    for step in STEPS[:2]:
        for slope in slopes(tight, x, u, None, e, step):
            assert found.dx_dx[16, 2] == pytest.approx(slope[16], rel=1e-3)


def test_where_the_last_digits_cannot_be_had(monkeypatch):
    """PGM in a long valley of its objective: the derivatives say so, and ask what it resolves."""
    asked, resolution = [], PgmStages.resolution
    spy = lambda self, rate: asked.append(rate) or resolution(self, rate)  # noqa: E731
    monkeypatch.setattr(PgmStages, "resolution", spy)
    sim = robots.simulator("hopper", "ne-nmdp", "planar", objective="end_effector", order=1)
    x = robots.near(sim, 3, 1e-3)
    u = np.random.default_rng(3).uniform(-5.0, 5.0, 3)
    found = StepDifferentiator(sim)(sim.vector.unpack(x), u, H)
    assert found.status.ok
    assert not found.settled
    assert asked
    asked.clear()
    sim = robots.simulator("hopper", "ne-nmdp", "planar", objective="kinetic", order=1)
    settled = StepDifferentiator(sim)(sim.vector.unpack(robots.near(sim, 3, 1e-3)), u, H)
    assert (settled.settled, asked) == (True, [])
