"""Throughput of rollouts: alone, in processes and on Ray, with the efficiency of each.

    OMP_NUM_THREADS=1 python benchmarks/rollouts.py [--workers 2] [--batch 64] [--steps 50]
        [--rounds 9] [--ray]

The backends take turns, as machines are not equally fast all the time. Efficiency is the time of
`serial` over that of the workers together; "bare" is what the machine itself gives: as many
processes as there are workers, each with its share of the trajectories and nothing to say to
anybody until it is done.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from joblib import parallel_config

from nmdp_pin._parallel.ray_cluster import ray_cluster
from nmdp_pin._scenario import Scenario
from nmdp_pin.rollout import Rollout, rollout

H = 0.02  # [s]


def case(nb: int, nt: int) -> Callable[[slice], Rollout]:
    """The planar Robosimian from its standing pose under random torques."""
    simulator = Scenario.load("robosimian-jump-paper").build(visuals=False).simulator
    robot = simulator.robot
    x0 = np.concatenate([robot.standing, np.zeros(robot.model.nv)])
    u = 5.0 * np.random.default_rng(0).standard_normal((nb, nt, len(robot.driven)))  # [N m]
    return lambda part=slice(None): rollout(simulator, x0, u[part], h=H)


def share(connection: Connection, nb: int, nt: int, part: slice) -> None:
    """A bare process: its part of the trajectories, whenever it is told to."""
    run = case(nb, nt)
    while connection.recv():
        run(part)
        connection.send(True)


@contextmanager
def bare_processes(workers: int, nb: int, nt: int) -> Iterator[Callable[[], None]]:
    """Processes that know their parts already; what it yields runs all of them once."""
    context = multiprocessing.get_context("spawn")
    connections = []
    for k in range(workers):
        ours, theirs = context.Pipe()
        arguments = (theirs, nb, nt, slice(k, None, workers))
        context.Process(target=share, args=arguments, daemon=True).start()
        connections.append(ours)

    def run() -> None:
        for connection in connections:
            connection.send(True)
        for connection in connections:
            connection.recv()

    yield run
    for connection in connections:
        connection.send(False)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ray", action="store_true")
    given = parser.parse_args()
    run, n = case(given.batch, given.steps), given.workers
    with bare_processes(n, given.batch, given.steps) as bare:
        turns: dict[str, tuple[Callable[[], AbstractContextManager[Any]], Callable[[], Any]]] = {
            "serial": (nullcontext, run),
            "processes": (lambda: parallel_config("loky", n_jobs=n), run),
            "bare": (nullcontext, bare),
        }
        if given.ray:
            import ray

            ray.init("local", num_cpus=n, include_dashboard=False)
            turns["ray"] = (lambda: ray_cluster(n_jobs=n), run)
        results, times = {}, {name: [] for name in turns}
        for round_ in range(given.rounds + 1):
            for name, (context, turn) in turns.items():
                with context():
                    begin = time.perf_counter()
                    results[name] = turn()
                if round_:  # the first one starts the workers
                    times[name].append(time.perf_counter() - begin)
    serial = np.array(times["serial"])
    print("| backend | steps/s | efficiency, least times | median of rounds | same bits |")
    print("|---|---|---|---|---|")
    for name, took in times.items():
        workers = 1 if name == "serial" else given.workers
        efficiency = serial / workers / took
        same = "" if name == "bare" else np.array_equal(results[name].x, results["serial"].x)
        print(
            f"| {name} | {results['serial'].steps.sum() / min(took):.0f} "
            f"| {serial.min() / workers / min(took):.2f} | {np.median(efficiency):.2f} | {same} |"
        )


if __name__ == "__main__":
    main()
