"""Rollouts on Ray: the same bits, lost workers, errors. Skipped where Ray is not installed."""

import sys

import numpy as np
import pytest
import rollout_commands

from nmdp_pin.errors import ExecutorError, MissingExtra, StateError
from nmdp_pin.executors import RayCluster
from nmdp_pin.rollout import rollout
from nmdp_pin.scenario import Scenario

H = 0.02  # [s]
NB, NT = 5, 4

# Ray leaves pipes and files to the collector when it ends.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::FutureWarning:ray",
)


@pytest.fixture(scope="module")
def cluster():
    """Ray on this machine with two workers."""
    ray = pytest.importorskip("ray")
    ray.cloudpickle.register_pickle_by_value(rollout_commands)  # workers know not this folder
    with RayCluster("local", workers=2, retries=1) as executor:
        yield executor


@pytest.fixture(scope="module")
def case():
    """A simulator, a start and torques."""
    simulator = Scenario.load("robosimian-jump").build(visuals=False).simulator
    robot = simulator.robot
    x0 = np.concatenate([robot.standing, np.zeros(robot.model.nv)])
    u = np.random.default_rng(0).standard_normal((NB, NT, len(robot.driven)))
    return simulator, x0, u


def test_ray_gives_the_same_bits(cluster, case):
    """Tasks on two Ray workers give what one process gives, in chunks of any size."""
    here = rollout(*case, h=H)
    assert cluster.workers == 2
    for chunk in (1, 3):
        there = rollout(*case, h=H, executor=cluster, chunk=chunk)
        assert np.array_equal(here.x, there.x)
        assert np.array_equal(here.steps, there.steps)


def test_errors_of_workers_are_typed(cluster, case):
    """What a worker raises is raised here."""
    with pytest.raises(StateError, match="milliseconds"):
        rollout(*case, h=20.0, executor=cluster)


def test_memory_is_bounded(cluster):
    """Tasks are taken as there is room for them: two a worker are under way."""
    taken = []

    def tasks():
        for k in range(20):
            taken.append(k)
            yield k

    results = cluster.map(pow, 2, tasks())
    first = next(results)
    assert len(taken) <= 2 * cluster.workers + 1
    assert sorted([first, *results]) == [(k, 2**k) for k in range(20)]


def test_a_running_ray_is_used_and_left_running(cluster):
    """A second executor joins; when it is closed the first still works."""
    with RayCluster() as second:
        assert dict(second.map(pow, 2, [3])) == {0: 8}
    assert dict(cluster.map(pow, 2, [4])) == {0: 16}


def test_a_lost_worker_costs_nothing_but_time(cluster, case, tmp_path):
    """A worker that is killed in the middle: the rollout is complete, the same to the bit."""
    marker = tmp_path / "killed"
    command = rollout_commands.KillsOnce(marker, at=2 * H)
    there = rollout(*case, h=H, executor=cluster, chunk=1, command=command)
    assert marker.exists()
    assert there.ok.all()
    assert np.array_equal(rollout(*case, h=H).x, there.x)


def test_a_task_that_always_kills_is_given_up(cluster, case):
    """Ray's retries are counted, and the error is typed."""
    with pytest.raises(ExecutorError, match="Ray gave up on a task"):
        rollout(*case, h=H, executor=cluster, chunk=NB, command=rollout_commands.kills)


def test_no_cluster_there(monkeypatch):
    """An address where nothing runs is refused in seconds."""
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ExecutorError, match=r"no Ray cluster at '127\.0\.0\.1:1'"):
        RayCluster("127.0.0.1:1")


def test_without_ray(monkeypatch):
    """The error names the extra."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"nmdp-pin\[ray\]"):
        RayCluster()
