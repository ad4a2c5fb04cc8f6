"""Rollouts on Ray: the same bits, lost workers, errors. Skipped where Ray is not installed."""

import sys
import threading

import cloudpickle
import numpy as np
import pytest
import rollout_commands

from nmdp_pin._parallel.ray_cluster import ray_cluster
from nmdp_pin._parallel.tasks import side_by_side, workers
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import MissingExtra, StateError, WorkerError
from nmdp_pin.rollout import rollout

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
    pytest.importorskip("ray")
    cloudpickle.register_pickle_by_value(rollout_commands)  # workers know not this folder
    with ray_cluster("local", n_jobs=2):
        yield
    cloudpickle.unregister_pickle_by_value(rollout_commands)


@pytest.fixture(scope="module")
def case():
    """A simulator, a start and torques."""
    simulator = Scenario.load("robosimian-jump-paper").build(visuals=False).simulator
    robot = simulator.robot
    x0 = np.concatenate([robot.standing, np.zeros(robot.model.nv)])
    u = np.random.default_rng(0).standard_normal((NB, NT, len(robot.driven)))
    return simulator, x0, u


def test_a_running_ray_is_used_and_left_running(cluster, case):
    """A second context joins, where results stream; the first then gives what one process gives."""
    with ray_cluster():
        taken = []
        results = side_by_side(pow, 2, (taken.append(k) or k for k in range(50)))
        first = next(results)
        assert len(taken) < 20
        assert sorted([first, *results]) == [(k, 2**k) for k in range(50)]
    assert workers() == 2
    there = rollout(*case, h=H, chunk=3)
    here = rollout(*case, h=H, n_jobs=1)
    assert np.array_equal(here.x, there.x)
    assert np.array_equal(here.steps, there.steps)


def test_errors_of_workers_are_typed(cluster, case):
    """What a worker raises is raised here; one that is killed is an error."""
    with pytest.raises(StateError, match="milliseconds"):
        rollout(*case, h=20.0)
    with pytest.raises(WorkerError, match="a worker died"):
        rollout(*case, h=H, command=rollout_commands.kills)


def test_no_cluster_there(monkeypatch):
    """An address where nothing runs is refused in seconds."""
    ray = pytest.importorskip("ray")
    for thread in threading.enumerate():  # of other tests, which would start Ray once more
        if type(thread).__name__ == "ResultThread":
            thread.join()
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(WorkerError, match=r"no Ray cluster at '127\.0\.0\.1:1'"):
        ray_cluster("127.0.0.1:1").__enter__()


def test_without_ray(monkeypatch):
    """The error names the extra."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"nmdp-pin\[ray\]"):
        ray_cluster().__enter__()
