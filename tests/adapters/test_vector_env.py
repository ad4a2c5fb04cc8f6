"""Environments that are stepped by one call are those that are stepped alone."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from adapter_scenes import unsolved_hopper

from nmdp_pin import Sensors
from nmdp_pin.adapters.bundled_tasks import hopper, push
from nmdp_pin.adapters.gymnasium import Forward
from nmdp_pin.adapters.vector_env import SimulatorVectorEnv
from nmdp_pin.errors import ControlError, IntegratorError, StateError
from nmdp_pin.rollout import Jax
from nmdp_pin.sensors import Gyroscope

DURATION, STEPS = 0.5, 30  # [s]
LANES = 4  # as on docs/gpu.md: JAX's cache then has the program
# JAX rounds otherwise; without its warm starts, compiled steps are those of `step` to the bit.
TOLERANCE = {None: 0.0, Jax(): 1e-8}


@pytest.mark.parametrize("backend", TOLERANCE, ids=["compiled", "jax"])
def test_environments_are_those_stepped_alone(backend):
    """Observations, rewards and ends: by falls, by time, and the starts after them."""
    if backend:
        pytest.importorskip("jax")
    many = SimulatorVectorEnv(hopper(duration=DURATION), LANES, backend=backend)
    alone = [hopper(duration=DURATION) for _ in range(LANES)]
    close = {"rtol": TOLERANCE[backend], "atol": TOLERANCE[backend]}
    many.reset(seed=0)
    many.action_space.seed(0)
    fresh, ends = np.ones(LANES, bool), np.zeros(2, int)
    for _ in range(STEPS):
        actions = many.action_space.sample()
        actions[0] = 1.0  # this one falls
        for i in np.flatnonzero(fresh):
            state = alone[i].simulator.state(many.state.q[i], many.state.v[i])
            alone[i].reset(options={"state": state})
        observed, rewards, terminated, truncated, told = many.step(actions)
        begun = fresh & (many.state.t == 0.0)
        for i, env in enumerate(alone):
            if begun[i]:
                assert rewards[i] == 0.0
                assert not (terminated | truncated)[i]
                continue
            o, r, over, cut, _ = env.step(actions[i])
            np.testing.assert_allclose(observed[i], o, **close)
            np.testing.assert_allclose(rewards[i], r, rtol=1e-8, atol=1e-8)
            assert (terminated[i], truncated[i]) == (over, cut)
        assert not told["status"].any()
        ends += terminated.sum(), truncated.sum()
        fresh = terminated | truncated | begun
    many.close()
    assert (ends > 0).all()


def test_a_failed_step_rewards_nothing():
    """It keeps its state, is cut and says why; the next step begins an episode."""
    many = SimulatorVectorEnv(unsolved_hopper(), 2)
    many.reset(seed=0)
    before = many.state.q
    _, rewards, terminated, truncated, told = many.step(np.ones((2, 3)))
    np.testing.assert_array_equal(many.state.q, before)
    assert told["status"].all()
    assert truncated.all()
    assert not terminated.any()
    assert not rewards.any()
    *_, truncated, told = many.step(np.ones((2, 3)))
    assert not truncated.any()
    assert not told["status"].any()
    assert (many.state.q != before).any(axis=1).all()
    many.close()


def test_falls_end_nothing_where_they_may_not():
    """A task that no state satisfies, with and without its ends."""
    for ends in (True, False):
        task = Forward(healthy_height=(9.0, np.inf), healthy_tilt=0.2)
        many = SimulatorVectorEnv(hopper(task=task, terminate=ends), 2)
        many.reset(seed=0)
        assert many.step(np.zeros((2, 3)))[2].tolist() == [ends, ends]
        many.close()


def test_goals_and_parameters_are_drawn():
    """Each episode has a goal, and where it is asked for a mass, of the seed alone."""

    def heavier(random):
        return {"mass": {"block": random.uniform(1.0, 5.0)}}

    runs = []
    for draw in (None, heavier, heavier):
        many = SimulatorVectorEnv(push(), 3, parameters=draw, threads=2)
        many.reset(seed=1)
        for _ in range(10):
            many.step(np.ones((3, 1)))
        runs.append(many.state)
        many.close()
    same, drawn, again = runs
    np.testing.assert_array_equal(drawn.q, again.q)
    assert len(np.unique(drawn.goal)) == 3
    place = 1  # of the block along x
    assert np.ptp(same.q[:, place]) == 0.0
    assert len(np.unique(drawn.q[:, place])) == 3


def test_what_is_lacking_is_refused():
    """Sensors, other backends, methods, options and types."""
    pytest.importorskip("jax")
    sensors = Sensors(hopper().simulator.robot, [Gyroscope()])
    for env, words, error, message in (
        (hopper(sensors=sensors), {}, StateError, "no sensors"),
        (hopper(), {"backend": "cuda"}, IntegratorError, "backend"),
        (hopper(method="pbd-nmdp"), {"backend": Jax()}, IntegratorError, "'pbfd'"),
        (hopper(), {"backend": Jax(dtype="float16")}, IntegratorError, "dtype"),
        (hopper(), {"backend": Jax(), "parameters": dict}, IntegratorError, "parameters"),
    ):
        with pytest.raises(error, match=message):
            SimulatorVectorEnv(env, 2, **words)
    for n in (0, 2.5, "two"):
        with pytest.raises(StateError, match="n must be a whole number >= 1"):
            SimulatorVectorEnv(hopper(), n)
    many = SimulatorVectorEnv(hopper(), 2)
    for actions in (0.5, np.zeros(3), np.zeros((2, 1)), np.zeros((3, 3))):  # which would broadcast
        with pytest.raises(ControlError, match=r"actions have shape .*, expected \(2, 3\)"):
            many.step(actions)
    with pytest.raises(StateError, match="no options"):
        SimulatorVectorEnv(hopper(), 2).reset(options={"state": None})
