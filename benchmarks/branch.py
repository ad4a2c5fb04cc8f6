"""Why a step is hard: its solution followed from short steps to its own length.

    OMP_NUM_THREADS=1 python benchmarks/branch.py [SCENARIO] [--dt 0.05] [--method ne-nmdp]

Runs the scenario, takes the step that needed most evaluations, and solves it again from the same
state at lengths that grow to its own, each time from the solution before, drawn out. Columns:
evaluations of G; smallest singular value of dG/dq, which is zero where the solution has no
neighbour at greater lengths; eigenvalues of dG/dq with a negative real part, of which a motion
that stays close to its start has none.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from nmdp_pin.integrators.nmdp import Nmdp
from nmdp_pin.integrators.start import Start
from nmdp_pin.scenario import Scenario
from nmdp_pin.scenario.scenario import Setup
from nmdp_pin.state import State

SHARES = (*np.arange(0.4, 0.95, 0.1), *np.arange(0.95, 1.0, 0.01))  # of the step's length


def hardest(setup: Setup, dt: float, duration: float) -> tuple[State, State, int]:
    """Start and end of the step that needed most evaluations, and how many."""
    state, most = setup.state, (setup.state, setup.state, 0)
    for result in setup.simulator.run(state, setup.controller, dt=dt, duration=duration):
        if result.evaluations > most[2]:
            most = state, result.state, result.evaluations
        state = result.state
    return most


def row(method: Nmdp, label: str, evaluations: int) -> str:
    """One row of the table, of the last point."""
    A = method.residual.linearise()
    least, negative = np.linalg.svd(A)[1][-1], np.count_nonzero(np.linalg.eigvals(A).real < 0.0)
    return f"| {label} | {evaluations} | {least:.0f} | {negative} |"


def branch(setup: Setup, method: Nmdp, start: State, dt: float) -> Iterator[str]:
    """Rows of the table; they end where the branch does."""
    residual = method.residual
    q, w, before = start.q, method._touching if start.warm is None else start.warm.w, start.q
    last = 0.0
    for share in SHARES:
        h = share * dt
        command = setup.controller.command(start, h)
        options = replace(method._begin(start, command, h, None), max_iterations=20)
        drawn = residual.difference(before, q) * (share - last) / max(last, 0.1)
        place = Start(q if before is start.q else residual.retract(q, drawn), w)
        found = method.solver.solve(place, options.gamma_max, options)
        if not found.status.ok:
            yield f"| {1e3 * h:.1f} ms: {found.status.value} | {residual.evaluations} | | |"
            return
        residual.evaluate(found.q, found.w.reshape(w.shape))
        yield row(method, f"{1e3 * h:.1f} ms", residual.evaluations - 1)
        before, q, w, last = q, found.q, found.w.reshape(w.shape), share


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", nargs="?", default="robosimian-jump")
    parser.add_argument("--dt", type=float, default=0.05)
    parser.add_argument("--method", default="ne-nmdp")
    given = parser.parse_args()
    settings = [f"integrator.dt={given.dt}", f'integrator.name="{given.method}"']
    scenario = Scenario.load(given.scenario, overrides=settings)
    setup = scenario.build(visuals=False)
    method = setup.simulator.integrator
    if not isinstance(method, Nmdp):
        raise SystemExit(f"method '{method.name}' does not solve G(q, w) = 0")
    start, end, evaluations = hardest(setup, given.dt, scenario.duration)
    print(f"{given.scenario}, {given.method}, the step from t = {start.t:.2f} s\n")
    print("| length | evaluations | smallest singular value | negative |\n|---|---|---|---|")
    for line in branch(setup, method, start, given.dt):
        print(line)
    method._begin(start, setup.controller.command(start, given.dt), given.dt, None)
    method.residual.evaluate(end.q, end.warm.w)
    print(row(method, f"{1e3 * given.dt:.1f} ms, the run's solution", evaluations))


if __name__ == "__main__":
    main()
