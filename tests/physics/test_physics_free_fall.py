"""Free fall, under any sequence of step lengths: Algorithm 2 in its consistent form."""

from dataclasses import replace

import numpy as np
import pytest
from physics_scenes import CUBE, METHODS, OF_BOTH_ORDERS, G, block, flying, order, run
from tight_solves import solve_tightly

from nmdp_pin._control import Command
from nmdp_pin._control.controller import CommandSource
from nmdp_pin._integrators import Integrator, StepResult
from nmdp_pin._simulator.step_control import Halving
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status

PASSIVE = Command()
ROUNDING = 1e-10  # of velocities and heights of the order of 10, over some hundred steps
STEPS = (2e-3, 5e-3, 1e-2, 2e-2)


@pytest.fixture
def tight(monkeypatch):
    """Steps solved to rounding; the guess of a warm start is within it, and would add up."""
    solve_tightly(monkeypatch, warm_start=False)


class Faulty(Integrator):
    """An integrator that fails on demand: answers a step only if `fails` says no."""

    name = "faulty"

    def __init__(self, inner: Integrator, fails):
        self.inner, self.fails, self.calls = inner, fails, 0

    def step(self, state: State, command: CommandSource, h: float) -> StepResult:
        """The inner step, or a failure."""
        self.calls += 1
        if self.fails(self.calls, h):
            failed = self.inner.step(state, command, h)
            return replace(failed, state=state, status=Status.PROJECTION_FAILED, step_sizes=(h,))
        return self.inner.step(state, command, h)


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("method", METHODS)
def test_speed_is_g_t_to_rounding_under_random_halvings(method):
    """And the height is backward Euler's: every length h takes h times the speed at its end."""
    rng = np.random.default_rng(1)
    lengths = 0.05 / 2.0 ** rng.integers(0, 8, 200)
    cube = block(CUBE)
    sim = flying(cube, method)
    state = start = sim.state()
    for h in lengths:
        state = sim.step(state, None, float(h)).state
    t = np.cumsum(lengths)
    assert state.v == pytest.approx([0.0, 0.0, -G * t[-1], 0.0, 0.0, 0.0], abs=ROUNDING)
    fall = G * float(lengths @ t)
    assert start.q[2] - state.q[2] == pytest.approx(fall, abs=ROUNDING)
    assert state.q[3:] == pytest.approx(start.q[3:], abs=ROUNDING)


@pytest.mark.parametrize("method", METHODS)
def test_height_converges_to_g_t_squared_half_to_first_order(method):
    """The error is g t h / 2."""
    sim = flying(block(), method)
    state = sim.state()
    fallen = np.array([state.q[2] - run(sim, state, h, 0.4)[-1].state.q[2] for h in STEPS])
    errors = fallen - 0.5 * G * 0.4**2
    assert order(STEPS, errors) == pytest.approx(1.0, abs=1e-6)
    assert errors == pytest.approx(0.5 * G * 0.4 * np.array(STEPS))


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("method", OF_BOTH_ORDERS)
def test_forced_failures_do_not_change_the_speed(method, seed):
    """Algorithm 2 makes halves of what fails, and free fall does not feel it."""
    rng = np.random.default_rng(seed)
    sim = flying(block(), method)
    inner = sim._integrator
    faulty = Faulty(inner, lambda call, h: h > 1e-3 and rng.random() < 0.6)
    state, halvings = sim.state(), 0
    for _ in range(20):
        result = Halving().step(faulty, state, PASSIVE, 0.05)
        assert result.status.ok
        assert sum(result.step_sizes) == pytest.approx(0.05)
        halvings += result.halvings
        state = result.state
    assert halvings > 20
    assert state.t == pytest.approx(1.0)
    assert state.v[2] == pytest.approx(-G, abs=ROUNDING)


def test_a_step_that_fails_at_every_length_leaves_the_state_as_it_was():
    """The very state that went in comes out, with the status of the failure."""
    sim = flying(block(), "ne-nmdp kinetic")
    faulty = Faulty(sim._integrator, lambda call, h: True)
    state = sim.state()
    result = Halving(min_step=1e-3).step(faulty, state, PASSIVE, 0.05)
    assert result.state is state
    assert result.status is Status.PROJECTION_FAILED
    assert faulty.calls == 1 + 5  # 50, 25, 12.5, 6.25, 3.125, 1.5625 ms


def test_a_failure_in_the_second_half_leaves_the_state_as_it_was():
    """No half of a step is ever left behind."""
    sim = flying(block(), "ne-nmdp kinetic")
    faulty = Faulty(sim._integrator, lambda call, h: call != 2)
    state = sim.state()
    result = Halving(min_step=0.02).step(faulty, state, PASSIVE, 0.05)
    assert result.state is state
    assert not result.status.ok
