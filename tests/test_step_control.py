"""Algorithm 2 with a method that fails where it is told to."""

from dataclasses import replace

import core_samples as samples
import numpy as np
import pytest

from nmdp_pin.control import Command
from nmdp_pin.integrators import Integrator, StepResult, integrator_named
from nmdp_pin.state import State
from nmdp_pin.status import Status
from nmdp_pin.step_control import step_with_halving
from nmdp_pin.terrain import Plane, Terrain

MIN_STEP = 1e-3  # [s]
EMPTY = np.zeros(0)


class Fake(Integrator):
    """Moves q by h; fails where `fails(t, h)` says so; 1 iteration, 10 evaluations a try."""

    name = "fake"

    def __init__(self, fails):
        self.fails, self.tried = fails, []

    def step(self, state, command, h):
        self.tried.append((state.t, h))
        failed = self.fails(state.t, h)
        end = state if failed else State(state.t + h, state.q + h, state.v)
        return StepResult(
            state=end,
            status=Status.ITERATION_LIMIT if failed else Status.CONVERGED,
            tau=EMPTY,
            contact_forces=np.zeros((0, 3)),
            wrenches=np.zeros((0, 6)),
            contact_depths=EMPTY,
            iterations=1,
            evaluations=10,
            step_sizes=(h,),
            residual=0.0,
            objective=0.0,
            kinetic_energy=0.0,
            potential_energy=0.0,
        )


def run(fails, h=0.064, min_step=MIN_STEP):
    """One step from t = 2 s with a method that fails there."""
    fake, state = Fake(fails), State(2.0, np.zeros(1), np.zeros(1))
    return step_with_halving(fake, state, Command(), h, min_step), fake, state


def test_a_step_that_works_is_made_once():
    """Nothing is halved without need: the method's own result comes back."""
    result, fake, _ = run(lambda t, h: False)
    assert result.status is Status.CONVERGED
    assert fake.tried == [(2.0, 0.064)]
    assert result.step_sizes == (0.064,)
    assert (result.iterations, result.evaluations, result.halvings) == (1, 10, 0)


def test_halves_until_it_works():
    """A method that fails above 20 ms makes 64 ms in four steps of 16 ms."""
    result, fake, _ = run(lambda t, h: h > 0.02)
    assert result.status is Status.CONVERGED
    assert result.step_sizes == (0.016,) * 4
    assert result.halvings == 3
    assert result.state.t == pytest.approx(2.064)
    assert result.state.q[0] == pytest.approx(0.064)
    assert [h for _, h in fake.tried] == [0.064, 0.032, 0.016, 0.016, 0.032, 0.016, 0.016]


def test_counters_add_up():
    """Tries that failed count as well."""
    result, fake, _ = run(lambda t, h: h > 0.02)
    assert result.iterations == len(fake.tried) == 7
    assert result.evaluations == 70


def test_only_the_bad_half_is_halved():
    """Where the second half works at full length it is made at full length."""
    result, _, _ = run(lambda t, h: h > 0.032 or (t < 2.03 and h > 0.01))
    assert result.step_sizes == (0.008,) * 4 + (0.032,)


@pytest.mark.parametrize("seed", range(10))
def test_step_sizes_sum_to_the_length(seed):
    """Whatever fails, on success the parts sum to the whole."""
    rng = np.random.default_rng(seed)
    result, _, _ = run(lambda t, h: h > 2.5e-3 and rng.random() < 0.6, h=0.05)
    assert result.status is Status.CONVERGED
    assert sum(result.step_sizes) == pytest.approx(0.05, rel=1e-12)
    assert result.state.t == pytest.approx(2.05, rel=1e-12)


def test_gives_up_at_the_smallest_step():
    """No step is shorter than min_step, and the failure returns the given state."""
    result, fake, state = run(lambda t, h: True)
    assert result.status is Status.ITERATION_LIMIT
    assert result.state is state
    assert min(h for _, h in fake.tried) == 1e-3 == MIN_STEP
    assert len(fake.tried) == 7  # 64, 32, 16, 8, 4, 2, 1 ms
    assert result.evaluations == 70


def test_a_failure_in_the_second_half_returns_the_given_state():
    """What the first half achieved is thrown away: the state is as it was before the step."""
    result, fake, state = run(lambda t, h: t > 2.03 or h > 0.04)
    assert result.status is Status.ITERATION_LIMIT
    assert result.state is state
    assert result.iterations == len(fake.tried)
    assert state.q[0] == 0.0


def test_min_step_longer_than_the_step():
    """A step at or below min_step is tried once."""
    result, fake, _ = run(lambda t, h: True, min_step=0.064)
    assert len(fake.tried) == 1
    assert not result.status.ok


@pytest.mark.parametrize("method", ["ne-mdp", "ne-nmdp"])
@pytest.mark.parametrize("seed", range(3))
def test_free_fall_is_exact_under_any_halving(seed, method):
    """The speed is g t to rounding whatever is halved: sub-steps use their own length."""
    rng = np.random.default_rng(seed)
    robot = samples.robot("robosimian planar")
    inner = integrator_named(method)(robot, Terrain([Plane(height=-50.0)]), samples.CONE)

    class Flaky(Integrator):
        name = "flaky"

        def __init__(self):
            self.failures = 0

        def step(self, state, command, h):
            result = inner.step(state, command, h)
            if h < 4e-3 or rng.random() > 0.7:
                return result
            self.failures += 1
            return replace(result, state=state, status=Status.ITERATION_LIMIT)

    flaky = Flaky()
    state = State(0.0, robot.standing, np.zeros(15))
    for _ in range(4):
        result = step_with_halving(flaky, state, Command(), 0.05, MIN_STEP)
        assert result.status is Status.CONVERGED
        state = result.state
    assert state.t == pytest.approx(0.2)
    # [m/s] 1e-8 of the weight over 0.2 s, with a factor for the lever arms
    np.testing.assert_allclose(state.v[:2], [0.0, -9.81 * 0.2], atol=1e-7)
    assert flaky.failures > 3


class Failing(Integrator):
    """A method that fails where it is told to; its other steps are those of the method."""

    name = "failing"

    def __init__(self, inner, fails):
        self.inner, self.fails = inner, fails

    def step(self, state, command, h, *, dt=None):
        result = self.inner.step(state, command, h, dt=dt)
        if self.fails(state.t, h):
            return replace(result, state=state, status=Status.PROJECTION_FAILED)
        return result


def falling(method, fails):
    """A method that fails in free flight, and a state at rest there."""
    robot = samples.robot("robosimian planar")
    inner = integrator_named(method)(robot, Terrain([Plane(height=-50.0)]), samples.CONE)
    return Failing(inner, fails), State(0.0, robot.standing, np.zeros(15))


FALLING = ("ne-nmdp", "pbd-nmdp")
G = 9.81  # [m/s^2]
SPEED = 1e-6  # [m/s]; 1e-8 of the weight over 0.2 s, with a factor for the lever arms


@pytest.mark.parametrize("method", FALLING)
@pytest.mark.parametrize(("paper", "gained"), [(False, (1.0, 2.0)), (True, (1.5, 2.0))])
def test_two_halves_in_free_fall(method, paper, gained):
    """Two halves gain g dt, in the papers' form 1.5 g dt, whose next step gains 0.5 g dt then."""
    failing, state = falling(method, lambda t, h: t < 0.02 and h > 0.03)
    for share in gained:
        result = step_with_halving(failing, state, Command(), 0.05, MIN_STEP, paper=paper)
        assert result.status is Status.CONVERGED
        state = result.state
        assert state.v[1] == pytest.approx(-share * G * 0.05, abs=SPEED)
    assert result.halvings == 0


@pytest.mark.parametrize("method", FALLING)
@pytest.mark.parametrize("seed", range(3))
def test_papers_form_gains_by_the_length_of_the_step_before(method, seed):
    """Algorithm 2 as printed: each sub-step gains g times the length of the one before it."""
    rng = np.random.default_rng(seed)
    failing, state = falling(method, lambda t, h: h > 4e-3 and rng.random() < 0.6)
    lengths = [0.05]
    for _ in range(3):
        result = step_with_halving(failing, state, Command(), 0.05, MIN_STEP, paper=True)
        lengths += result.step_sizes
        state = result.state
        assert state.v[1] == pytest.approx(-G * sum(lengths[:-1]), abs=SPEED)
    assert len(set(lengths)) > 2


def test_papers_form_is_the_same_where_nothing_is_halved():
    """At alpha = 1 both forms give the same bits; a changed state forgets the length before."""
    failing, state = falling("ne-nmdp", lambda t, h: False)
    one = two = state
    for _ in range(3):
        one = step_with_halving(failing, one, Command(), 0.05, MIN_STEP).state
        two = step_with_halving(failing, two, Command(), 0.05, MIN_STEP, paper=True).state
        assert np.array_equal(one.q, two.q)
        assert np.array_equal(one.v, two.v)
    changed = replace(two, v=np.zeros(15))
    short = step_with_halving(failing, changed, Command(), 0.01, MIN_STEP, paper=True).state
    assert short.v[1] == pytest.approx(-G * 0.01, abs=SPEED)
    kept = step_with_halving(failing, two, Command(), 0.01, MIN_STEP, paper=True).state
    assert kept.v[1] - two.v[1] == pytest.approx(-G * 0.05, abs=SPEED)


def test_discarded_tries_are_counted():
    """Every try that was not kept counts once."""
    result, fake, _ = run(lambda t, h: h > 0.02)
    assert result.discarded == len(fake.tried) - len(result.step_sizes) == 3
