"""A pendulum: one hinge, so nothing but backward Euler is at work."""

import functools

import numpy as np
import pytest
from pairwise import spread
from physics_scenes import (
    IMPLICIT,
    IMPLICIT_OF_BOTH_ORDERS,
    METHODS,
    SECOND_ORDER,
    G,
    cone,
    energies,
    flying,
    ground,
    order,
    pendulum,
    run,
    simulator,
)
from tight_solves import solve_tightly

LENGTH = 0.5  # [m]
RATE = np.sqrt(G / LENGTH)  # [rad/s]
SWING = 1e-3  # [rad]; the period of a finite swing is longer by a sixteenth of its square
STEPS = (2e-3, 5e-3, 1e-2)
# [m]; in second order a body that is stopped still coasts on for a third of the step before:
# 13.8 mm at 50 ms, 3.8 mm at 10 ms, and less at 2 ms.
SINKS = {False: 2e-3, True: 1.5e-2}


@pytest.fixture
def tight(monkeypatch):
    """Steps solved to rounding: what is left is the method's own error."""
    solve_tightly(monkeypatch)


@functools.cache
def swing(method: str, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles from the start on [rad], and energies above the lowest point [J], over 2 s."""
    sim = flying(pendulum(LENGTH), method)
    results = run(sim, sim.state(np.array([SWING])), h, 2.0)
    angles = np.array([SWING] + [result.state.q[0] for result in results])
    return angles, energies(results) + G * LENGTH


def period(angles: np.ndarray, h: float) -> float:
    """Mean time between zero crossings, twice [s]."""
    before = np.flatnonzero(angles[:-1] * angles[1:] < 0.0)
    share = angles[before] / (angles[before] - angles[before + 1])
    return float(2.0 * np.diff(h * (before + share)).mean())


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("method", METHODS)
def test_period_of_small_swings_is_that_of_the_closed_form(method):
    """Backward Euler's is longer by (h w)^2 / 3 of it; a tenth of (h w) bounds both methods."""
    for h in STEPS:
        exact = 2.0 * np.pi / RATE
        assert period(swing(method, h)[0], h) == pytest.approx(exact, rel=0.1 * h * RATE)


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("method", IMPLICIT)
def test_energy_decays_at_backward_eulers_rate_and_never_rises(method):
    """At h w^2, which is first order."""
    rates = []
    for h in STEPS:
        energy = swing(method, h)[1]
        assert np.diff(energy).max() < 0.0
        rates.append(-np.log(energy[-1] / energy[0]) / (h * (len(energy) - 1)))
    assert rates == pytest.approx(RATE**2 * np.array(STEPS), rel=0.02)
    assert order(STEPS, rates) == pytest.approx(1.0, abs=0.01)


@spread({"method": IMPLICIT_OF_BOTH_ORDERS, "h": [5e-3, 5e-2]})
def test_pendulum_lands_on_the_ground(method, h):
    """A robot of one velocity touches ground too: let go from level, it comes to rest on it."""
    robot = pendulum(LENGTH, radius=0.05)
    height = 0.2  # of the ground under the hinge's level: at z = 0, so the hinge is moved up
    robot.model.jointPlacements[1].translation[2] = height
    sim = simulator(robot, ground(), cone(robot, feet=1), method)
    results = run(sim, sim.state(np.array([-0.5 * np.pi])), h, 1.5)
    last = results[-1]
    centre = height - LENGTH * np.cos(last.state.q[0])
    assert centre == pytest.approx(0.05, abs=SINKS[method in SECOND_ORDER])
    assert np.abs(last.state.v).max() < 1e-3
    assert last.contact_forces[0, 2] > 0.0
