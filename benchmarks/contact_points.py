"""What an evaluation costs with many contact points: us, and times that of the fewest.

    OMP_NUM_THREADS=1 python benchmarks/contact_points.py [SCENARIO] [--points 4 16 64 256]

An evaluation is what a Newton step asks of the dynamics: G, dG/dq, the vertices' response, and the
work of each vertex with its derivative, in the middle of a run. All numbers of points take turns,
and the least of many repeats counts: on a shared machine it is the one that says something.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.scenario import Scenario

CALLS, REPEATS = 20, 30


def evaluation(name: str, points: int, seconds: float) -> tuple[Callable[[], None], int]:
    """An evaluation in the middle of a run, and how many points touch there."""
    settings = [f"robot.contact_points={points}", "integrator.name=ne-nmdp", "integrator.dt=0.01"]
    setup = Scenario.load(name, overrides=settings).build(visuals=False)
    state = setup.state
    for result in setup.simulator.run(state, setup.controller, dt=0.01, duration=seconds):
        state = result.state
    residual = setup.simulator._integrator.residual  # type: ignore[attr-defined]
    residual.begin(state, setup.controller.command(state, 0.01), 0.01)
    principle = Dissipation(residual)
    w = np.zeros(0) if state.warm is None else state.warm.w

    def evaluate() -> None:
        residual.evaluate(state.q, w)
        residual.linearise()
        residual.vertex_jacobian()
        principle.work()
        principle.derivative()

    evaluate()
    return evaluate, int(residual.contact.touching.sum())


def main() -> None:
    """Print a line for each number of points."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", nargs="?", default="chain-ground")
    parser.add_argument("--points", type=int, nargs="*", default=[4, 16, 64, 256])
    parser.add_argument("--seconds", type=float, default=0.5, help="when in the run")
    arguments = parser.parse_args()
    made = {n: evaluation(arguments.scenario, n, arguments.seconds) for n in arguments.points}
    least = dict.fromkeys(made, float("inf"))
    for _ in range(REPEATS):
        for n, (evaluate, _) in made.items():
            begin = time.perf_counter()
            for _ in range(CALLS):
                evaluate()
            least[n] = min(least[n], 1e6 * (time.perf_counter() - begin) / CALLS)
    fewest = least[min(least)]
    for n, (_, touching) in made.items():
        print(f"{n:4d} points, {touching:3d} touch: {least[n]:7.1f} us, {least[n] / fewest:.2f} x")


if __name__ == "__main__":
    main()
