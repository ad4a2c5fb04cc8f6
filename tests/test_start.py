"""The starts of a step: what they are, and that one follows where another fails."""

import numpy as np
import pytest

from nmdp_pin.integrators.start import Origin, starts_of_minimum, starts_of_principle
from nmdp_pin.scenario import Scenario

N_CONTACTS, N_VERTICES = 3, 6
Q, V = np.zeros(2), np.ones(2)
LAST = np.random.default_rng(0).dirichlet(np.ones(N_VERTICES), N_CONTACTS)  # sums of one
OFTEN = 0.7  # share of the steps that the first start solves; measured: 0.9
TOUCHING = np.full((N_CONTACTS, N_VERTICES), 1.0 / N_VERTICES)
ORIGIN = Origin(Q, LAST, TOUCHING, lambda share: share * V)
PRINCIPLE = list(starts_of_principle(ORIGIN))


@pytest.mark.parametrize(
    "starts",
    [PRINCIPLE, list(starts_of_minimum(ORIGIN))],
    ids=["principle", "minimum"],
)
def test_starts_are_feasible_and_differ(starts):
    """Weights are in the simplices; the first are the last step's, and w = 0 is among them."""
    for start in starts:
        assert start.w.shape == LAST.shape
        assert (start.w >= 0.0).all()
        assert (start.w.sum(axis=1) <= 1.0 + 1e-12).all()
        assert start.near > 0.0
        assert start.patience is None or start.patience > 0
    assert starts[0].q is Q
    assert starts[0].w is LAST
    assert any(start.q is Q and not start.w.any() for start in starts)
    keys = {(start.q.tobytes(), start.w.tobytes(), start.near) for start in starts}
    assert len(keys) == len(starts)


def test_brief_starts_come_first():
    """Nothing is tried with patience that something brief may solve; the last is patient."""
    brief = [start.patience is not None for start in PRINCIPLE]
    assert brief == sorted(brief, reverse=True)
    assert brief[0]
    assert not brief[-1]


def test_starts_lie_along_the_motion():
    """At the start of the step, where the motion leads without forces, and between them."""
    assert {start.q.tolist()[0] for start in PRINCIPLE} == {0.0, 0.5, 1.0}


def test_a_brief_start_gives_up_soon_and_another_one_solves():
    """Steps of 50 ms of a hard gait: no more starts than needed, the work of all is counted."""
    settings = ["integrator.dt=0.05"]
    setup = Scenario.load("robosimian-walk-fast", overrides=settings).build(visuals=False)
    method, tried, numbers = setup.simulator._integrator, [], []
    solve = method.solver.solve

    def solved(start, gamma, options):
        found = solve(start, gamma, options)
        tried.append((start, found))
        return found

    method.solver.solve = solved
    for result in setup.simulator.run(setup.state, setup.controller, dt=0.05, duration=3.0):
        assert result.status.ok
        assert result.halvings == 0
        assert tried[-1][1].status.ok
        for start, found in tried[:-1]:
            assert not found.status.ok
            patience = start.patience or method.options.max_iterations
            assert found.iterations - found.rejected <= patience
        assert result.iterations == sum(found.iterations for _, found in tried)
        numbers.append(len(tried))
        tried.clear()
    assert numbers.count(1) > OFTEN * len(numbers)
    assert max(numbers) > 1
