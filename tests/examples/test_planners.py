"""The examples of planners reach their goals, and are short."""

import re

import numpy as np
import pytest
from example_programs import EXAMPLES, output

LINES = 60


def numbers(text):
    """All numbers of a text."""
    return np.array([float(number) for number in re.findall(r"-?\d+\.\d+", text)])


def test_they_are_short():
    """A page of code each."""
    for path in EXAMPLES.glob("*_by_*.py"):
        if path.stem not in ("push_box_by_ompl", "reach_by_sampling"):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES, path.stem


def test_hop(tmp_path):
    """The torso rises by 0.2 m, with torques within the limits, of which the ankle's is met."""
    rise, *torques = numbers(output("hop_by_ilqr", tmp_path))
    assert rise == pytest.approx(0.2, abs=0.01)
    assert (np.array(torques) <= [80.0, 100.0, 60.0]).all()


def test_push(tmp_path):
    """The box is where it shall be."""
    found = numbers(output("push_by_cem", tmp_path))
    assert (np.abs(found - [0.2, 0.06, 0.5]) < [0.01, 0.01, 0.05]).all()


def test_pick(tmp_path):
    """The cube is as high as it shall be."""
    assert numbers(output("pick_by_cem", tmp_path))[-1] == pytest.approx(0.15, abs=0.01)


def test_stairs(tmp_path):
    """The trunk is beyond the last edge, at 1.05 m, and over the third stair, 0.24 m high."""
    time, x, z = numbers(output("stairs_by_mppi", tmp_path))
    assert time < 4.0
    assert x > 1.25
    assert 0.24 + 0.2 < z < 0.24 + 0.4
