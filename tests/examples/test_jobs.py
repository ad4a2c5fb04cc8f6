"""The jobs of docs/index.md are short programs that reach their goals."""

import re

import numpy as np
import pytest
from example_programs import EXAMPLES, load, output
from pages import page

LINES = 60


def numbers(text):
    """All numbers of a text."""
    return np.array([float(number) for number in re.findall(r"-?\d+\.\d+", text)])


def test_they_are_short():
    """What docs/index.md lists is a page of code each."""
    jobs = re.findall(r"\.\./examples/(\w+\.py)", page("index.md"))
    assert len(jobs) == 7  # three of the ten are code on pages
    for name in jobs:
        assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= LINES, name


def test_kerb(tmp_path):
    """The rover is on the kerb, 3 cm higher less what the wheels sink in."""
    way, rise = numbers(output("drive_over_kerb", tmp_path))
    assert way > 1.5
    assert rise == pytest.approx(0.03, abs=2e-3)


def test_obstacle(tmp_path):
    """The box is pushed by the bar, which ends half a metre further, and touches it."""
    place, force = numbers(output("moving_obstacle", tmp_path))
    assert place == pytest.approx(0.5 + 0.025 + 0.1, abs=0.01)
    assert force > 0.5 * 2.0 * 9.81


def test_scene(tmp_path):
    """The can stands on the table, and the page and the recording are there."""
    (height,) = numbers(output("view_own_scene", tmp_path).split(":")[0])
    assert height == pytest.approx(0.52 + 0.05, abs=1e-3)
    assert (tmp_path / "scene.html").stat().st_size > 100_000
    assert (tmp_path / "scene.npz").is_file()


def test_learning(tmp_path):
    """Episodes are made and end; that they become longer takes minutes."""
    for package in ("gymnasium", "jax", "skrl"):
        pytest.importorskip(package)
    returns = load("balance_by_ppo").learn(1024)
    assert len(returns) > 2
    assert (returns > 0.0).all()


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
