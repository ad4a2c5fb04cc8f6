"""Throughput of rollouts: serial, processes and Ray, with the efficiency of each.

OMP_NUM_THREADS=1 python benchmarks/rollouts.py [--workers 2] [--batch 64] [--steps 50] [--ray]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from nmdp_pin.executors import Executor, Processes, RayCluster, Serial
from nmdp_pin.rollout import Rollout, rollout
from nmdp_pin.scenario import Scenario

H = 0.02  # [s]


def case(nb: int, nt: int) -> Callable[[Executor], Rollout]:
    """The planar Robosimian from its standing pose under random torques."""
    simulator = Scenario.load("robosimian-jump").build(visuals=False).simulator
    robot = simulator.robot
    x0 = np.concatenate([robot.standing, np.zeros(robot.model.nv)])
    u = 5.0 * np.random.default_rng(0).standard_normal((nb, nt, len(robot.driven)))  # [N m]
    return lambda executor: rollout(simulator, x0, u, h=H, executor=executor)


def best_of(repeat: int, run: Callable[[], Rollout]) -> tuple[float, Rollout]:
    """Shortest time [s], and the result."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - begin)
    return min(times), result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ray", action="store_true")
    given = parser.parse_args()
    run = case(given.batch, given.steps)
    makers: dict[str, Callable[[], Executor]] = {
        "serial": Serial,
        "processes": lambda: Processes(given.workers),
    }
    if given.ray:
        makers["ray"] = lambda: RayCluster("local", workers=given.workers)
    print("| executor | workers | start [s] | time [s] | steps/s | efficiency | same bits |")
    print("|---|---|---|---|---|---|---|")
    alone, reference = 0.0, None
    for name, make in makers.items():
        begin = time.perf_counter()
        with make() as executor:
            run(executor)  # starts the workers, which read the simulator
            start = time.perf_counter() - begin
            took, result = best_of(given.repeat, lambda executor=executor: run(executor))
            workers = executor.workers
        alone, reference = alone or took, reference or result
        print(
            f"| {name} | {workers} | {start - took:.1f} | {took:.2f} "
            f"| {result.steps.sum() / took:.0f} | {alone / workers / took:.2f} "
            f"| {np.array_equal(result.x, reference.x)} |"
        )


if __name__ == "__main__":
    main()
