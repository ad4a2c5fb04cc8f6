"""What each start of a step is worth: how many steps it solves, for how many evaluations.

    OMP_NUM_THREADS=1 python benchmarks/starts.py [SCENARIO ...] [--method ne-nmdp] [--order 1]
        [--dt 0.05] [--runs 10] [--size 1e-3]

Runs whose starts differ in every coordinate by a normal deviate of the given size [m, rad], since a
single run has too few hard steps. Columns: place in the order of `integrators/start.py`, from 0,
those beyond its end from shorter steps; steps that came to it; steps it solved; evaluations of G
for each of those. Below the table evaluations and halved steps of the runs.
"""

from __future__ import annotations

import argparse

import numpy as np
import pinocchio as pin

from nmdp_pin.integrators.nmdp import Nmdp
from nmdp_pin.integrators.start import Start
from nmdp_pin.scenario import Scenario
from nmdp_pin.solvers.pgm import PGMOptions
from nmdp_pin.solvers.solver_result import SolverResult


class Tally:
    """Counts of each place: steps that came to it, that it solved, evaluations."""

    def __init__(self, method: Nmdp) -> None:
        self.counts: list[list[int]] = []
        self._method, self._solve, self._place = method, method.solver.solve, 0
        method.solver.solve = self.solve  # type: ignore[method-assign]

    def solve(self, start: Start, gamma: float, options: PGMOptions) -> SolverResult:
        """Solve from the next place, and count."""
        residual = self._method.residual
        before = residual.evaluations
        found = self._solve(start, gamma, options)
        if self._place == len(self.counts):
            self.counts.append([0, 0, 0])
        count = self.counts[self._place]
        count[0] += 1
        count[1] += found.status.ok and not self._method._refuses(*residual.energy_gain(found.q))
        count[2] += residual.evaluations - before
        self._place += 1
        return found

    def end_step(self) -> None:
        """The next solve is from the first place."""
        self._place = 0


def table(name: str, settings: list[str], dt: float, runs: int, size: float) -> None:
    """Print the table of a scenario."""
    scenario = Scenario.load(name, overrides=settings)
    setup = scenario.build(visuals=False)
    model, rng = setup.robot.model, np.random.default_rng(0)
    tally, means, halved, steps = Tally(setup.simulator.integrator), [], 0, 0
    for _ in range(runs):
        nudge = size * rng.standard_normal(model.nv)
        start = setup.simulator.state(q=pin.integrate(model, setup.state.q, nudge))
        evaluations = []
        for result in setup.simulator.run(
            start, setup.controller, dt=dt, duration=scenario.duration
        ):
            evaluations.append(result.evaluations)
            halved += result.halvings > 0
            tally.end_step()
        means.append(np.mean(evaluations))
        steps += len(evaluations)
    print("| start | came to it | solved | evaluations for each |\n|---|---|---|---|")
    for place, (came, solved, spent) in enumerate(tally.counts):
        print(f"| {place} | {came} | {solved} | {spent / solved if solved else np.inf:.0f} |")
    print(
        f"\n{np.mean(means):.1f} evaluations a step (standard deviation over runs "
        f"{np.std(means):.1f}), {halved} of {steps} steps halved"
    )


def main() -> None:
    """Print a table a scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", nargs="*", default=["robosimian-jump", "robosimian-walk-fast"])
    parser.add_argument("--method", default="ne-nmdp")
    parser.add_argument("--order", type=int, default=1)
    parser.add_argument("--dt", type=float, default=0.05)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--size", type=float, default=1e-3)
    given = parser.parse_args()
    settings = [
        f"integrator.dt={given.dt}",
        f'integrator.name="{given.method}"',
        f"integrator.order={given.order}",
    ]
    for name in given.scenario:
        print(f"\n{name}, {given.method}, order {given.order}, {1e3 * given.dt:g} ms\n")
        table(name, settings, given.dt, given.runs, given.size)


if __name__ == "__main__":
    main()
