"""Short runs of contact models through the NMDP methods: what holds at every step of any model."""

from __future__ import annotations

from collections.abc import Sequence

import core_samples as samples
import numpy as np
import pytest
from recorded_solves import recorded_solves

from nmdp_pin._contact import WrenchSpace
from nmdp_pin._control import Command, Passive
from nmdp_pin._control.controller import Controller
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import StepResult
from nmdp_pin._kernels.geometry.contacts import identity
from nmdp_pin._robot import Robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Terrain

FIRST_ORDER = ("ne-nmdp", "pbd-nmdp")
ZEROTH_ORDER = ("ne-zonmdp", "pbd-zonmdp")
METHODS = FIRST_ORDER + ZEROTH_ORDER
K_ROUNDING = 1e-11  # relative; K of an accepted iterate may exceed the one before by rounding
SIMPLEX = 1e-9  # on w >= 0 and sum(w) <= 1
FORCE = 1e-9  # relative; the same sums, made again


def checked_run(
    monkeypatch: pytest.MonkeyPatch,
    robot: Robot,
    terrain: Terrain,
    space: WrenchSpace,
    method: str,
    objective: str,
    state: State,
    *,
    dt: float,
    duration: float,
    controller: Controller | None = None,
) -> list[StepResult]:
    """Run, and check every step; some contact must be felt.

    All steps converge, K never rises along the iterates of a minimisation, and all wrenches are
    V w of the configuration at the end of the step with w in the simplex (in first order: in second
    the force is the mean over the step).
    """
    found = recorded_solves(monkeypatch)
    simulator = Simulator(robot, terrain, space, method, objective=objective, order=1)
    control = controller or Passive()
    results = list(simulator.run(state, control, dt=dt, duration=duration))
    assert len(results) == round(duration / dt)
    assert all(result.status.ok for result in results)
    if objective != "dissipation":
        assert found
    for solution in found:
        K = np.array(solution.values)
        assert (np.diff(K) <= K_ROUNDING * np.abs(K[:-1])).all()
    assert_in_the_wrench_space(robot, terrain, space, results)
    return results


def assert_in_the_wrench_space(
    robot: Robot, terrain: Terrain, space: WrenchSpace, results: Sequence[StepResult]
) -> None:
    """The wrenches of every step are V(q) w, with w in the simplex of each contact."""
    system = System(robot, terrain, space)
    form = CompiledSystem(system, zeroth_order=True, weights=True, reach=np.inf)
    largest = max(float(np.abs(result.wrenches).max()) for result in results)
    assert largest > 0.0
    for result in results:
        state = result.state
        if state.warm.forces is not None:  # whose sum is that of the points
            total, given = state.warm.forces.sum(axis=0), result.contact_forces.sum(axis=0)
            np.testing.assert_allclose(given, total, atol=FORCE * largest)
            continue
        assert state.warm.w.min(initial=0.0) >= -SIMPLEX
        assert state.warm.w.sum(axis=1).max(initial=0.0) <= 1.0 + SIMPLEX
        if result.halvings:
            continue
        problem = samples.Problem(form, state.q, state.v, Command(), 0.01, 1)
        w = form.no_forces()
        contacts = problem.stage.contacts
        numbers = [identity(form.candidates, contacts, c) for c in contacts.index[: contacts.n[0]]]
        w[[numbers.index(number) for number in state.warm.contacts.tolist()]] = state.warm.w
        expected = samples.world_wrenches(problem, problem.evaluate(state.q, w))
        np.testing.assert_allclose(result.wrenches, expected, atol=FORCE * largest)
