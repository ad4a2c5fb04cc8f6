"""Step control with a method that fails where it is told to."""

from dataclasses import replace

import core_samples as samples
import numpy as np
import pytest

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Command
from nmdp_pin._control.controller import CommandSource
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import Integrator, StepResult, integrator_named
from nmdp_pin._integrators.nmdp import Nmdp
from nmdp_pin._robot import load_robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import ErrorControl, Fixed, Halving
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import IntegratorError

MIN_STEP = 1e-3  # [s]
EMPTY = np.zeros(0)
PASSIVE = Command()


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
            work=10,
            step_sizes=(h,),
            residual=0.0,
            objective=0.0,
            kinetic_energy=0.0,
            potential_energy=0.0,
        )


def run(fails, h=0.064, min_step=MIN_STEP):
    """One step from t = 2 s with a method that fails there."""
    fake, state = Fake(fails), State(2.0, np.zeros(1), np.zeros(1))
    return Halving(min_step=min_step).step(fake, state, PASSIVE, h), fake, state


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


class Rough(Fake):
    """Also makes rough steps, which move q by twice as much, where `rough` says so."""

    def __init__(self, fails, rough):
        super().__init__(fails)
        self.rough = rough

    def rough_step(self, state, command, h):
        made = Fake(lambda t, h: not self.rough).step(state, command, h)
        end = made.state if made.state is state else replace(made.state, q=state.q + 2.0 * h)
        return replace(made, state=end)


@pytest.mark.parametrize("max_work", [30, 2000])
def test_a_rough_step_is_the_last_resort(max_work):
    """Of the whole length, from the start, where halves fail too; what it costs is counted."""
    state = State(2.0, np.zeros(1), np.zeros(1))
    control = Halving(min_step=MIN_STEP, max_work=max_work)
    fake = Rough(lambda t, h: t > 2.03 or h > 0.04, rough=True)
    result = control.step(fake, state, PASSIVE, 0.064)
    assert result.status is Status.CONVERGED
    assert result.step_sizes == (0.064,)
    assert result.state.q[0] == pytest.approx(0.128)
    assert result.iterations == len(fake.tried) + 1
    assert (result.halvings, result.discarded) == (0, len(fake.tried))
    bad = Rough(lambda t, h: t > 2.03 or h > 0.04, rough=False)
    failed = control.step(bad, state, PASSIVE, 0.064)
    assert failed.status is (Status.BUDGET_SPENT if max_work == 30 else Status.ITERATION_LIMIT)
    assert failed.state is state
    works = Rough(lambda t, h: h > 0.04, rough=True)
    assert control.step(works, state, PASSIVE, 0.064).step_sizes == (0.032, 0.032)


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


def made(method):
    """A method of first order for Robosimian in the air."""
    robot = samples.robot("robosimian planar")
    options = {} if method == "ne-mdp" else {"order": 1}
    return integrator_named(method)(
        System(robot, Terrain([Plane(height=-50.0)]), samples.CONE), **options
    )


@pytest.mark.parametrize("method", ["ne-mdp", "ne-nmdp"])
@pytest.mark.parametrize("seed", range(3))
def test_free_fall_is_exact_under_any_halving(seed, method):
    """The speed is g t to rounding whatever is halved: sub-steps use their own length."""
    rng = np.random.default_rng(seed)
    robot, inner = samples.robot("robosimian planar"), made(method)

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
        result = Halving(min_step=MIN_STEP).step(flaky, state, PASSIVE, 0.05)
        assert result.status is Status.CONVERGED
        state = result.state
    assert state.t == pytest.approx(0.2)
    # [m/s] 1e-8 of the weight over 0.2 s, with a factor for the lever arms
    np.testing.assert_allclose(state.v[:2], [0.0, -9.81 * 0.2], atol=1e-7)
    assert flaky.failures > 3


class Failing(Nmdp):
    """A method that fails where it is told to; its other steps are those of the method."""

    def __init__(self, inner, fails):
        self.inner, self.fails = inner, fails

    order = property(lambda self: self.inner.order)

    def step(self, state, command, h, **options):
        result = self.inner.step(state, command, h, **options)
        if self.fails(state.t, h):
            return replace(result, state=state, status=Status.PROJECTION_FAILED)
        return result


def falling(method, fails):
    """A method that fails in free flight, and a state at rest there."""
    robot = samples.robot("robosimian planar")
    return Failing(made(method), fails), State(0.0, robot.standing, np.zeros(15))


FALLING = ("ne-nmdp", "pbd-nmdp")
G = 9.81  # [m/s^2]
SPEED = 1e-6  # [m/s]; 1e-8 of the weight over 0.2 s, with a factor for the lever arms
HALVING = Halving(min_step=MIN_STEP)


@pytest.mark.parametrize("method", FALLING)
def test_two_halves_in_free_fall(method):
    """Two halves gain g dt, as the next step does."""
    failing, state = falling(method, lambda t, h: t < 0.02 and h > 0.03)
    for share in (1.0, 2.0):
        result = HALVING.step(failing, state, PASSIVE, 0.05)
        assert result.status is Status.CONVERGED
        state = result.state
        assert state.v[1] == pytest.approx(-share * G * 0.05, abs=SPEED)
    assert result.halvings == 0


def test_fixed_steps_are_the_methods_own():
    """A step that fails has failed, and is tried once."""
    fake, state = Fake(lambda t, h: h > 0.02), State(2.0, np.zeros(1), np.zeros(1))
    result = Fixed().step(fake, state, PASSIVE, 0.064)
    assert result.status is Status.ITERATION_LIMIT
    assert fake.tried == [(2.0, 0.064)]
    assert Fixed().step(fake, state, PASSIVE, 0.01).status.ok


def test_discarded_tries_are_counted():
    """Every try that was not kept counts once."""
    result, fake, _ = run(lambda t, h: h > 0.02)
    assert result.discarded == len(fake.tried) - len(result.step_sizes) == 3


def test_the_budget_ends_a_step_that_fails_for_ever():
    """No more sub-steps are tried than evaluations are allowed; the status says so."""
    fake, state = Fake(lambda t, h: True), State(2.0, np.zeros(1), np.zeros(1))
    result = Halving(min_step=1e-300, max_work=100).step(fake, state, PASSIVE, 0.064)
    assert result.status is Status.BUDGET_SPENT
    assert result.state is state
    assert result.evaluations == 10 * len(fake.tried) <= 120
    # one that fails at its shortest steps alone is long as well: 2^40 sub-steps
    fake.fails = lambda t, h: h > 1e-12
    result = Halving(min_step=1e-13, max_work=1000).step(fake, state, PASSIVE, 0.064)
    assert result.status is Status.BUDGET_SPENT
    assert result.evaluations <= 1020


def test_work_beside_evaluations_spends_the_budget():
    """A method that evaluates once and works long ends as well."""

    class Iterating(Fake):
        def step(self, state, command, h):
            return replace(super().step(state, command, h), work=100)

    fake, state = Iterating(lambda t, h: h > 1e-12), State(2.0, np.zeros(1), np.zeros(1))
    result = Halving(min_step=1e-13, max_work=1000).step(fake, state, PASSIVE, 0.064)
    assert result.status is Status.BUDGET_SPENT
    assert len(fake.tried) == 11


def test_the_work_of_a_step_is_bounded():
    """An iteration with hundreds of contacts counts as several evaluations, or as thousands."""
    robot = load_robot("solo12", visuals=False)
    law = FrictionCone.for_robot(robot, static_depth=0.002, power=2)
    q = robot.standing.copy()
    q[2] -= 1.1
    state = State(0.0, q, np.zeros(robot.model.nv))
    result = Simulator(robot, Terrain(Plane()), law, max_work=50).step(state, Command(), 0.01)
    assert not result.status.ok or result.discarded
    assert result.work <= Halving().max_work + 50
    assert result.work > 6 * result.evaluations
    result = Simulator(robot, Terrain(Plane()), law, "ne-mdp").step(state, Command(), 0.01)
    assert result.status in (Status.BUDGET_SPENT, Status.QP_FAILED)
    assert result.work > 1000 * result.evaluations
    assert result.evaluations <= 40


def test_work_with_few_contacts_is_evaluations():
    """Those of guesses that are refused count as well: a robot lands."""
    robot = load_robot("solo12", contacts="feet", visuals=False)
    law = FrictionCone.for_robot(robot, static_depth=0.002, power=2)
    sim = Simulator(robot, Terrain(Plane()), law)
    q, results = robot.standing.copy(), []
    q[2] += 0.03
    state = State(0.0, q, np.zeros(robot.model.nv))
    for _ in range(10):
        results.append(sim.step(state, Command(), 0.02))
        state = results[-1].state
    assert all(result.status.ok for result in results)
    assert any(result.contact_depths.any() for result in results)
    assert [r.work for r in results] == [r.evaluations for r in results]


def test_forces_are_the_mean_over_the_sub_steps():
    """Each counts by its length, so that force times length is the impulse."""

    class Pushing(Fake):
        def step(self, state, command, h):
            wrenches = np.array([[state.t, 1.0, h, 0.0, 0.0, 0.0]])
            return replace(
                super().step(state, command, h), wrenches=wrenches, contact_forces=wrenches[:, :3]
            )

    fake = Pushing(lambda t, h: h > 0.032 or (t < 2.03 and h > 0.01))
    state = State(2.0, np.zeros(1), np.zeros(1))
    result = HALVING.step(fake, state, PASSIVE, 0.064)
    sizes = np.array(result.step_sizes)
    assert sizes.tolist() == [0.008] * 4 + [0.032]
    starts = 2.0 + np.r_[0.0, np.cumsum(sizes)[:-1]]
    expected = [sizes @ starts / 0.064, 1.0, sizes @ sizes / 0.064]
    assert result.contact_forces[0] == pytest.approx(expected)
    assert np.array_equal(result.contact_forces, result.wrenches[:, :3])


def test_sub_steps_ask_for_the_command_at_their_ends():
    """The times that a command is asked for are those of the sub-steps' stages."""

    class Recorded(CommandSource):
        def __init__(self):
            self.times = []

        def at(self, t):
            self.times.append(round(t, 9))
            return Command()

    failing, state = falling("ne-nmdp", lambda t, h: h > 0.03)
    source = Recorded()
    HALVING.step(failing, state, source, 0.05)
    assert source.times == [0.05, 0.025, 0.05]


BAD = (0.0, -1.0, np.nan, np.inf, 2.0, "a", None, True)


@pytest.mark.parametrize("min_step", BAD)
def test_bad_lengths(min_step):
    """The shortest step is a number in (0, 1] s."""
    with pytest.raises(IntegratorError, match=r"min_step must be .*, got"):
        Halving(min_step=min_step)


def test_a_length_that_is_far_too_long_is_left_in_few_tries():
    """With an error of s / 1 ms a second, allowed up to 1 where v = 0."""

    class Estimating(Fake):
        order = 1

        def step(self, state, command, h, accuracy):
            made = super().step(state, command, h)
            return replace(made, local_error=np.array([h * h / MIN_STEP]))

    fake = Estimating(lambda t, h: False)
    start = State(0.0, np.zeros(1), np.zeros(1))
    control = ErrorControl(rtol=1.0, atol=1.0, min_step=1e-5)
    result = control.step(fake, start, PASSIVE, 0.064)
    assert result.status is Status.CONVERGED
    lengths = [h for _, h in fake.tried]
    first = next(k for k, (t, _) in enumerate(fake.tried) if t > 0.0)
    assert 1 < first < 6
    assert max(lengths[first:]) < 2.0 * MIN_STEP
    assert sum(result.step_sizes) == pytest.approx(0.064)
