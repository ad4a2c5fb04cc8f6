"""Quadrupeds at walls, on stairs and on rough ground: the runs of `benchmarks/obstacles.py`."""

from types import ModuleType

import pytest
from benchmark_modules import benchmark

from nmdp_pin import load_robot

DEEP = 0.012  # [m] of impacts at 1.4 m/s, and of hulls of meshes beyond those of their points
AT_END = 0.005  # [m]; the static depth is 1 mm, on all four feet; Solo 12 lies on a link, 4.5 mm


@pytest.fixture(scope="module")
def obstacles() -> ModuleType:
    """The benchmark."""
    return benchmark("obstacles")


@pytest.mark.parametrize(
    ("name", "place"),
    [("solo12", "wall"), ("solo12", "stairs down"), ("anymal", "rough"), ("go2", "stairs up")],
)
def test_a_quadruped_meets_an_obstacle(
    obstacles: ModuleType, name: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 20 ms no step fails, and links lie in the ground no deeper than their contacts."""
    monkeypatch.setattr(obstacles, "DURATION", 0.6)
    robot = load_robot(name, visuals=False)
    why, deepest, at_end = obstacles.fails(robot, place, "ne-nmdp", 1, 0.02, 1)
    assert why == ""
    assert deepest < DEEP
    assert at_end < AT_END


def test_a_ridge_beside_a_link_is_not_crossed(obstacles: ModuleType) -> None:
    """A shank beside a ridge once felt it 77 mm deep, by the edge of its end, and no step was."""
    robot = load_robot("anymal", visuals=False)
    why, deepest, _ = obstacles.fails(robot, "fine", "pbd-nmdp", 2, 0.02, 1)
    assert why == ""
    assert deepest < DEEP
