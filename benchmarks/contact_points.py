"""What an evaluation costs with many contact points: us, and times that of the fewest.

    OMP_NUM_THREADS=1 python benchmarks/contact_points.py [SCENARIO] [--points 4 16 64 256]
        [--integrator ne-zonmdp] [--seconds 0.5] [--set terrain.shapes.0.spacing=[0.05,0.05]]

An evaluation is what a Newton step asks of the dynamics: G, dG/dq, the vertices' response, and the
work of each vertex with its derivative, in the middle of a run. All numbers of points take turns,
in processor time, and medians count: of the times, and of the ratios within each round, so that
other work on the machine disturbs both alike.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.scenario import Scenario

CALLS, ROUNDS = 4, 400


def evaluation(
    name: str, points: int, seconds: float, settings: list[str]
) -> tuple[Callable[[], None], int]:
    """An evaluation in the middle of a run, and how many points touch there."""
    settings = [f"robot.contact_points={points}", "integrator.dt=0.01", *settings]
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
    parser.add_argument("--integrator", default="ne-nmdp")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    settings = [f"integrator.name={arguments.integrator}", *arguments.set]
    made = {
        n: evaluation(arguments.scenario, n, arguments.seconds, settings) for n in arguments.points
    }
    times: dict[int, list[float]] = {n: [] for n in made}
    for _ in range(ROUNDS):
        for n, (evaluate, _) in made.items():
            evaluate()  # what the others have pushed out of the caches comes back
            begin = time.process_time()
            for _ in range(CALLS):
                evaluate()
            times[n].append(1e6 * (time.process_time() - begin) / CALLS)
    fewest = times[min(times)]
    for n, (_, touching) in made.items():
        ratio = statistics.median(a / b for a, b in zip(times[n], fewest, strict=True))
        median = statistics.median(times[n])
        print(f"{n:4d} points, {touching:3d} touch: {median:7.1f} us, {ratio:.2f} x")


if __name__ == "__main__":
    main()
