"""Environments on a device are those that are stepped alone."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("jax")

from nmdp_pin import Sensors
from nmdp_pin.adapters.device_env import DeviceEnv
from nmdp_pin.adapters.gymnasium import hopper
from nmdp_pin.errors import IntegratorError, StateError
from nmdp_pin.sensors import Gyroscope

DURATION, STEPS, TOLERANCE = 0.5, 30, 1e-8  # [s]


def test_environments_are_those_stepped_alone():
    """Observations, rewards and ends: by falls, by time, and the starts after them."""
    many = DeviceEnv(hopper(duration=DURATION), 3)
    alone = [hopper(duration=DURATION) for _ in range(3)]
    many.reset(seed=0)
    many.action_space.seed(0)
    fresh, ends = np.ones(3, bool), np.zeros(2, int)
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
            np.testing.assert_allclose(observed[i], o, rtol=TOLERANCE, atol=TOLERANCE)
            np.testing.assert_allclose(rewards[i], r, rtol=TOLERANCE, atol=TOLERANCE)
            assert (terminated[i], truncated[i]) == (over, cut)
        assert not told["status"].any()
        ends += terminated.sum(), truncated.sum()
        fresh = terminated | truncated | begun
    assert (ends > 0).all()


def test_what_devices_lack_is_refused():
    """Sensors, other methods, options and types."""
    sensors = Sensors(hopper().simulator.robot, [Gyroscope()])
    for env, words, error, message in (
        (hopper(sensors=sensors), {}, StateError, "no sensors"),
        (hopper(method="pbd-nmdp"), {}, IntegratorError, "'pbfd'"),
        (hopper(), {"dtype": "float16"}, IntegratorError, "dtype"),
    ):
        with pytest.raises(error, match=message):
            DeviceEnv(env, 2, **words)
    with pytest.raises(StateError, match="no options"):
        DeviceEnv(hopper(), 2).reset(options={"state": None})
