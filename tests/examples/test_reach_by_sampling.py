"""Spider's reach, found by sampling: its short form, and what holds of any search."""

import sys
from dataclasses import replace

import cloudpickle
import numpy as np
import pytest
from example_programs import EXAMPLES, output
from pages import page, run_code

from nmdp_pin import Recording
from nmdp_pin._state.status import Status
from nmdp_pin.rollout import rollout

REACHED = 0.08  # [m] after 64 samples, from 0.44 m; the long search comes to 1 cm
LOADED = 20.0  # [N] of the robot's 981 N: the foot stands, and does not pass by
PRINTED = 5e-4  # [m] half the last digit of what is printed


@pytest.fixture(scope="module")
def example():
    """The example as a module; its functions are sent to workers, which do not know its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        import reach_by_sampling

        cloudpickle.register_pickle_by_value(reach_by_sampling)
        yield reach_by_sampling
        cloudpickle.unregister_pickle_by_value(reach_by_sampling)
        sys.modules.pop("reach_by_sampling")


@pytest.fixture(scope="module")
def reach(example):
    """The task of the short form."""
    return example.reach_over(example.SMALL_GAP)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """What the short form prints, and its folder."""
    folder = tmp_path_factory.mktemp("reach")
    return output("reach_by_sampling", folder, "--quick").splitlines(), folder


def test_the_cost_falls(short):
    """The best sample of each round is no worse than before, and the last one far better."""
    best = [float(line.split("best ")[1].split(",")[0]) for line in short[0] if "best" in line]
    assert len(best) == 4
    assert best == sorted(best, reverse=True)
    assert best[-1] < 0.3 * best[0]


def test_the_foot_stands_at_the_target(short, reach):
    """It comes there from afar in large steps, and in small ones too, and bears load."""
    words = [line.split() for line in short[0] if "of" in line and "cm" in line]
    near = [float(line[line.index("cm") - 1]) / 100.0 for line in words]
    standing = next(line for line in short[0] if line.startswith("standing"))
    assert float(standing.split()[1]) / 100.0 > 5.0 * REACHED
    assert len(near) == 2
    assert max(near) < REACHED
    recording = Recording.load(short[1] / "reach.npz")
    assert reach.distance(recording.q[-1]) == pytest.approx(near[-1], abs=PRINTED)
    assert (recording.status == Status.CONVERGED.code).all()
    assert recording.contact_forces[-1, 0, 2] > LOADED
    assert recording.duration == pytest.approx(2.0)
    assert recording.dt == pytest.approx(0.005)
    assert (short[1] / "reach.html").stat().st_size > 1e5


def test_workers_find_the_same_bits(example, reach):
    """Costs and motion are the same with one process and with two, and others with a new seed."""
    search = example.Search(samples=4, kept=2, rounds=2, seed=5)
    here = example.plan(reach, search)
    there = example.plan(reach, search, 2)
    assert np.array_equal(here.costs, there.costs)
    assert np.array_equal(here.best, there.best)
    other = example.plan(reach, replace(search, rounds=1, seed=6))
    assert not np.array_equal(other.costs[0], here.costs[0])


def test_the_replay_is_the_rollout(example, reach):
    """A motion replayed in the steps of the search is what was searched with, to the bit."""
    simulator = reach.simulator
    knots = np.random.default_rng(3).uniform(-0.2, 0.2, (1, 24))
    u = example.targets(knots, example.LARGE)
    made = rollout(simulator, simulator.state(), u, h=example.LARGE, command=reach.track)
    recording = example.replay(reach, knots[0], example.LARGE)
    q, v = np.split(made.x[0], [simulator.vector.nq], axis=1)
    assert np.array_equal(recording.q[1:], q)
    assert np.array_equal(recording.v[1:], v)


def test_what_fails_costs_most(example, reach):
    """A trajectory that failed is worse than any other, wherever it was held."""
    simulator = reach.simulator
    u = example.targets(np.zeros((2, 24)), example.LARGE)
    made = rollout(simulator, simulator.state(), u, h=example.LARGE, command=reach.track)
    assert made.ok.all()
    fails = replace(made, status=np.array([0, Status.ITERATION_LIMIT.code]))
    costs = reach.costs(fails)
    assert np.isfinite(costs[0])
    assert costs[1] == np.inf


def test_the_code_of_the_page_runs():
    """The short search on the page raises the robot, round by round."""
    names = run_code(page("planning_sampling.md"))
    cost, made = names["cost"], names["made"]
    assert made.ok.all()
    assert cost.min() < -0.05  # [m] above the standing pose
    assert np.median(cost) < 0.0


def test_the_search_is_shown(example, reach):
    """A viewer holds the best motion of the last round, which is the best of all."""
    shown = []

    class Window:
        def draw(self, t, q):
            shown.append((t, q))

        def finish(self):
            shown.append(None)

    found = example.plan(reach, replace(example.SHORT, rounds=2), viewer=Window())
    steps = round(example.DURATION / example.LARGE)
    assert [k for k, entry in enumerate(shown) if entry is None] == [steps, 2 * steps + 1]
    times, path = zip(*shown[-1 - steps : -1], strict=True)
    np.testing.assert_allclose(times, example.LARGE * np.arange(1, steps + 1))
    best = example.replay(reach, found.best, example.LARGE)
    np.testing.assert_array_equal(np.array(path), best.q[1:])
