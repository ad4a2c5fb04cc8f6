"""What a step costs: ms a step, us an evaluation, evaluations a step, the share of each part.

    OMP_NUM_THREADS=1 python benchmarks/step.py [SCENARIO] [--dt H] [--set KEY=VALUE ...]

Times are the least of several runs: on a shared machine the least is the one that says something.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.dynamics.objective import Kinetic
from nmdp_pin.scenario import Scenario
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.solvers.simplex_vi import SimplexVI

REPEATS = 7
CALLS = 300


def least_time(function: Callable[[], Any]) -> float:
    """Least time of one call over the repeats [us]."""
    least = float("inf")
    for _ in range(5 * REPEATS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            function()
        least = min(least, time.perf_counter() - begin)
    return 1e6 * least / CALLS


def measure_step(scenario: Scenario) -> None:
    """Whole steps of a run: the loop that `nmdp-pin run` makes, without recording."""
    setup = scenario.build(visuals=False)
    dt, duration = scenario.integrator.dt, scenario.duration
    least = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        results = list(setup.simulator.run(setup.state, setup.controller, dt=dt, duration=duration))
        least = min(least, time.perf_counter() - begin)
    steps = len(results)
    evaluations = sum(result.evaluations for result in results)
    print(f"steps                 {steps} of {1e3 * dt:g} ms, {results[-1].status.value}")
    print(f"real time             {results[-1].state.t / least:.1f} x")
    print(f"a step                {1e3 * least / steps:.3f} ms")
    print(f"evaluations a step    {evaluations / steps:.1f}")
    print(f"outer iterations      {sum(r.iterations for r in results) / steps:.1f}")
    print(f"everything            {1e6 * least / evaluations:.1f} us an evaluation")


def measure_parts(scenario: Scenario) -> None:
    """One evaluation and the other parts of an outer iteration, at the state in mid-crouch."""
    setup = scenario.build(visuals=False)
    dt = scenario.integrator.dt
    state = setup.state
    for result in setup.simulator.run(setup.state, setup.controller, dt=dt, duration=0.5):
        state = result.state
    residual = setup.simulator._integrator.residual  # type: ignore[attr-defined]
    objective, principle = Kinetic(residual), Dissipation(residual)
    residual.begin(state, setup.controller.command(state, dt), dt)
    w = state.warm.w  # type: ignore[union-attr]

    def both() -> None:
        residual.evaluate(state.q, w)
        residual.linearise()

    both()
    V = residual.vertex_jacobian()
    H = V @ V.T
    H += 1e-4 * H.diagonal().max() * np.eye(len(H))
    g = 1e-3 * V @ objective.derivatives()[0]
    qp, vi = SimplexQP(*w.shape), SimplexVI(*w.shape)
    data, nothing = residual.data, np.zeros(residual.nv)
    parts = {
        "G": lambda: residual.evaluate(state.q, w),
        "G and dG/dq": both,
        "  RNEA derivatives": lambda: pin.computeRNEADerivatives(
            residual.model, data, state.q, nothing, nothing
        ),
        "vertices' response": residual.vertex_jacobian,
        "K": objective.value,
        "dK/dq and its Hessian": objective.derivatives,
        "work g": principle.work,
        "dg/dq": principle.derivative,
        "quadratic program": lambda: qp.solve(H, g, w.ravel()),
        "affine inequality": lambda: vi.solve(H, g, w.ravel()),
    }
    for name, function in parts.items():
        print(f"{name:22s}{least_time(function):.1f} us")


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", nargs="?", default="robosimian-jump")
    parser.add_argument("--dt", type=float, default=0.05)
    parser.add_argument("--set", nargs="*", default=[], dest="overrides")
    arguments = parser.parse_args()
    overrides = [f"integrator.dt={arguments.dt}", *arguments.overrides]
    scenario = Scenario.load(arguments.scenario, overrides=overrides)
    measure_step(scenario)
    measure_parts(scenario)


if __name__ == "__main__":
    main()
