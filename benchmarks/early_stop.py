"""What becomes of the jump when the papers' solver stops before it has converged.

    OMP_NUM_THREADS=1 python benchmarks/early_stop.py

The paper does not say how many outer iterations its runs were allowed. Each row takes what the
projected gradient method has reached after so many as the solution of the step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nmdp_pin.integrators import INTEGRATORS
from nmdp_pin.integrators.nmdp import NeNmdp
from nmdp_pin.scenario import Scenario
from nmdp_pin.solvers.solver_result import SolverResult
from nmdp_pin.status import Status

LIMITS = (1, 2, 3, 5, 8, 500)
STEPS = (0.005, 0.01, 0.02, 0.05)
FIRST_JUMP = 1.9  # [s]


class Truncated(NeNmdp):
    """NE-NMDP that takes the iterate at its limit for the solution."""

    name = "ne-nmdp-truncated"

    def _attempt(self, *arguments: Any) -> SolverResult:
        found = super()._attempt(*arguments)
        if found.status is Status.ITERATION_LIMIT:
            return replace(found, status=Status.CONVERGED)
        return found


def main() -> None:
    """Print the table."""
    INTEGRATORS[Truncated.name] = Truncated
    print("first apex of Robosimian's jump [m], preset paper, zeta = 0")
    print("| outer iterations at most | " + " | ".join(f"{1e3 * h:g} ms" for h in STEPS) + " |")
    print("|---" * (1 + len(STEPS)) + "|")
    for limit in LIMITS:
        cells = []
        for h in STEPS:
            settings = [
                f'integrator.name="{Truncated.name}"',
                'integrator.preset="paper"',
                'integrator.objective="end_effector"',
                f"integrator.max_iterations={limit}",
                f"integrator.dt={h}",
            ]
            setup = Scenario.load("robosimian-jump", overrides=settings).build(visuals=False)
            run = setup.simulator.run(setup.state, setup.controller, dt=h, duration=FIRST_JUMP)
            height = np.array([result.state.q[1] for result in run])
            cells.append(f"{height.max() - setup.state.q[1]:.2f}")
        print(f"| {limit} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
