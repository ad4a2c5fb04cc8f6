"""States, warm starts, statuses."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from nmdp_pin._robot.gait import Gait
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin._state.status import Status
from nmdp_pin.errors import MissingExtra, NmdpError, RobotError, ScenarioError


def test_states_are_frozen():
    """A state cannot be changed, only replaced."""
    warm = WarmStart(np.zeros(1, dtype=int), np.zeros((1, 3)), np.zeros(0), np.zeros(2))
    state = State(0.0, np.zeros(2), np.zeros(2), warm)
    with pytest.raises(FrozenInstanceError):
        state.t = 1.0
    with pytest.raises(FrozenInstanceError):
        state.warm.gamma = 2.0


def test_states_compare_by_identity():
    """Two states are the same only if they are one: arrays have no single truth."""
    q = np.zeros(2)
    a, b = State(0.0, q, q), State(0.0, q, q)
    assert a == a
    assert a != b
    assert len({a, b}) == 2


def test_only_converged_is_ok():
    """Of all statuses one lets a step be used; codes count from 0, sentences differ."""
    assert [s for s in Status if s.ok] == [Status.CONVERGED]
    assert [s.code for s in Status] == list(range(len(Status)))
    assert Status.CONVERGED.code == 0
    assert len({s.value for s in Status}) == len(Status)


def test_errors_say_where():
    """File, element and key stand before the message and can be read."""
    error = RobotError("is bad", file="a.urdf", element="link 'x'")
    assert str(error) == "a.urdf: link 'x': is bad"
    assert (error.file, error.element) == ("a.urdf", "link 'x'")
    assert str(ScenarioError("is bad")) == "is bad"
    assert str(ScenarioError("is bad", key="a.b")) == "a.b: is bad"
    assert "pip install 'nmdp-pin[ompl]'" in str(MissingExtra("ompl", "ompl"))
    for kind in (RobotError, ScenarioError, MissingExtra):
        assert issubclass(kind, NmdpError)


GAIT = {
    "name": "nod",
    "joints": ("a", "b"),
    "times": [0.0, 1.0, 2.0],
    "positions": [[0, 0], [1, 2], [0, 0]],
}


def test_gaits_take_lists():
    """Numbers in lists become arrays."""
    gait = Gait(**GAIT, loop=(0.0, 2.0))
    assert gait.times.shape == (3,)
    assert gait.positions.dtype == float
