"""Throughput of rollouts: serial, processes and Ray, with the efficiency of each.

    OMP_NUM_THREADS=1 python benchmarks/rollouts.py [--workers 2] [--batch 64] [--steps 50]
        [--rounds 9] [--ray]

The executors take turns, as machines are not equally fast all the time. Efficiency is the time of
`serial` over that of the workers together; "bare" is what the machine itself gives: as many
processes as there are workers, each with its share of the trajectories and nothing to say to
anybody until it is done.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection

import numpy as np

from nmdp_pin.executors import Executor, Processes, RayCluster, Serial
from nmdp_pin.rollout import Rollout, rollout
from nmdp_pin.scenario import Scenario

H = 0.02  # [s]


def case(nb: int, nt: int) -> Callable[[Executor, slice], Rollout]:
    """The planar Robosimian from its standing pose under random torques."""
    simulator = Scenario.load("robosimian-jump").build(visuals=False).simulator
    robot = simulator.robot
    x0 = np.concatenate([robot.standing, np.zeros(robot.model.nv)])
    u = 5.0 * np.random.default_rng(0).standard_normal((nb, nt, len(robot.driven)))  # [N m]
    return lambda executor, part=slice(None): rollout(
        simulator, x0, u[part], h=H, executor=executor
    )


def share(connection: Connection, nb: int, nt: int, part: slice) -> None:
    """A bare process: its part of the trajectories, whenever it is told to."""
    run = case(nb, nt)
    while connection.recv():
        run(Serial(), part)
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
    run, times = case(given.batch, given.steps), {}
    with ExitStack() as stack:
        bare = stack.enter_context(bare_processes(given.workers, given.batch, given.steps))
        executors: dict[str, Executor] = {
            "serial": Serial(),
            "processes": stack.enter_context(Processes(given.workers)),
        }
        if given.ray:
            executors["ray"] = stack.enter_context(RayCluster("local", workers=given.workers))
        turns = {
            name: lambda executor=executor: run(executor) for name, executor in executors.items()
        } | {"bare": bare}
        results = {name: turn() for name, turn in turns.items()}  # starts the workers
        times = {name: [] for name in turns}
        for _ in range(given.rounds):
            for name, turn in turns.items():
                begin = time.perf_counter()
                turn()
                times[name].append(time.perf_counter() - begin)
    serial = np.array(times["serial"])
    print("| executor | steps/s | efficiency, least times | median of rounds | same bits |")
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
