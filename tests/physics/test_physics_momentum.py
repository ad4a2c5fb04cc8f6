"""Momentum without gravity or contact, while the joints push and pull."""

import numpy as np
import pytest
from physics_experiments import momentum, spinning_flight
from physics_scenes import (
    BASES,
    METHODS,
    MINIMISING,
    OF_BOTH_ORDERS,
    SECOND_ORDER,
    G,
    ball,
    flying,
    order,
    run,
    weightless,
)
from tight_solves import solve_tightly

STEPS = (1e-3, 2e-3, 4e-3)
ORDER_TOLERANCE = 0.15
ROUNDING = 1e-10
TOLERANCE = 2e-6  # [kg m/s]; 1e-8 of the weight over 200 ms, and over each step that is added up


@pytest.fixture
def tight(monkeypatch):
    """Steps solved to rounding: what is left is the method's own error."""
    solve_tightly(monkeypatch)


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize(
    ("method", "name"),
    [
        *((method, "chain") for method in METHODS),
        ("ne-nmdp dissipation", "robosimian"),
    ],
)
def test_internal_torques_make_no_momentum_to_first_order(method, name):
    """Linear and angular momentum stay zero up to an error of first order in the step."""
    made = np.array([momentum(name, method, h) for h in STEPS])
    assert order(STEPS, made[:, 0]) == pytest.approx(1.0, abs=ORDER_TOLERANCE)
    assert order(STEPS, made[:, 1]) == pytest.approx(1.0, abs=ORDER_TOLERANCE)


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("method", SECOND_ORDER)
def test_internal_torques_make_momentum_of_second_order(method):
    """Where the motion is smooth in a step; the chain's is rounding of the solver's tolerance.

    So is the linear momentum of the position-based form, which adds up the momenta of points.
    """
    made = np.array([momentum("robosimian", method, h) for h in STEPS])
    if "pbd" in str(method):
        assert made[:, 0].max() < TOLERANCE
    else:
        assert order(STEPS, made[:, 0]) == pytest.approx(2.0, abs=ORDER_TOLERANCE)
    assert order(STEPS, made[:, 1]) == pytest.approx(2.0, abs=ORDER_TOLERANCE)


@pytest.mark.parametrize("h", [1e-2])
@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_a_body_that_does_not_spin_keeps_its_momentum_to_rounding(method, h):
    """Thrown without gravity, it flies straight on."""
    sim = flying(weightless(ball()), method)
    v = np.array([1.0, -2.0, 0.5, 0.0, 0.0, 0.0])
    end = run(sim, sim.state(v=v), h, 1.0)[-1].state.v
    assert end == pytest.approx(v, rel=ROUNDING, abs=ROUNDING)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("method", [name for name in METHODS if name not in MINIMISING])
def test_a_ball_that_spins_flies_as_one_that_does_not(method, base):
    """To first order on a free-flyer, whose velocity turns with it; exactly on two joints."""
    exact = [1.0, 0.0, -0.5 * G]
    steps = (1e-3, 2e-3, 4e-3)
    errors = [spinning_flight(method, h, base) - exact for h in steps]
    lengths = np.linalg.norm(errors, axis=1)
    assert order(steps, lengths) == pytest.approx(1.0, abs=ORDER_TOLERANCE)
    if base != "free-flyer":  # what is left is backward Euler's own g t h / 2
        assert np.array(errors)[:, 0] == pytest.approx(0.0, abs=ROUNDING)
        assert lengths == pytest.approx(0.5 * G * np.array(steps))
