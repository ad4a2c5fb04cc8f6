"""Throughput of many trajectories of pbd or pbfd at a time, by threads over compiled steps.

    OMP_NUM_THREADS=1 python benchmarks/batch.py [--method pbfd|pbd] [--size K ...]
        [--links N ...] [--steps T] [--threads N] [--csv docs/results/batch.csv]

Chains of rods fall onto the ground, each bent in another way, at steps of 5 ms. The number
of trajectories is varied for a chain of ten links, the number of links at 256 trajectories. Times
are the least of several runs; a rate is trajectory-steps a second.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from joblib import parallel_config

from nmdp_pin import Penalty, Plane, Robot, Simulator, Terrain, load_robot
from nmdp_pin._simulator.step_control import Halving
from nmdp_pin.papers.data_file import write_data
from nmdp_pin.papers.pbad.chain_urdf import chain_urdf
from nmdp_pin.rollout import Rollout, rollout

SIZES = (1, 4, 16, 64, 256, 1024, 4096)
LINKS = (5, 10, 20, 30, 40)
SIZE, LENGTH = 256, 10  # what stays while the other is varied
H = 0.005  # [s]
REPEATS = 10
COLUMNS = ("links", "DoF", "K", "steps/s", "one thread", "one step at a time", "iterations a step")


def chain(links: int) -> Robot:
    """A floating chain."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"chain-{links}.urdf"
        path.write_text(chain_urdf(links), encoding="utf-8")
        contacts = [("ball", "ball", (0.0, 0.0, 0.0), 0.015)]
        contacts += [(f"end{k}", f"link{k}", (0.1, 0.0, 0.0), 0.01) for k in range(1, links + 1)]
        return load_robot(path, base="free-flyer", contacts=contacts, visuals=False)


def starts(robot: Robot, K: int) -> np.ndarray:
    """Bent chains at rest, whose lowest point is on the ground, shape (K, nx); they fall over."""
    rng, model, data = np.random.default_rng(0), robot.model, robot.model.createData()
    points, found = robot.contact_points, []
    for _ in range(K):
        q = pin.integrate(model, robot.standing, 0.02 * rng.normal(size=model.nv))
        pin.forwardKinematics(model, data, q)
        centres = [
            data.oMi[int(joint)].act(position)[2]
            for joint, position in zip(points.joints, points.positions, strict=True)
        ]
        q[2] -= (np.array(centres) - points.radii).min()
        found.append(np.concatenate([q, np.zeros(model.nv)]))
    return np.array(found)


def least_time(function: Callable[[], Any]) -> tuple[float, Any]:
    """Least time of some calls [s], and what the last one gave."""
    least, value = float("inf"), None
    for _ in range(REPEATS):
        begin = time.perf_counter()
        value = function()
        least = min(least, time.perf_counter() - begin)
    return least, value


def single_steps(simulator: Simulator, x: np.ndarray, steps: int) -> tuple[int, int]:
    """Steps and iterations of `Simulator.step` over some trajectories."""
    made = iterations = 0
    for row in x:
        state = simulator.state(row[: simulator.vector.nq])
        for _ in range(steps):
            result = simulator.step(state, None, H)
            if not result.status.ok:
                break
            made, iterations, state = made + 1, iterations + result.iterations, result.state
    return made, iterations


def row(links: int, K: int, options: argparse.Namespace) -> list[str]:
    """One line of the table."""
    robot = chain(links)
    simulator = Simulator(
        robot,
        Terrain([Plane(friction=0.5)]),
        Penalty(),
        options.method,
        control=Halving(min_step=H),
    )
    x = starts(robot, K)

    def run() -> Rollout:
        return rollout(simulator, x, h=H, steps=options.steps)

    with parallel_config("threading", n_jobs=options.threads):
        run()  # compiles
        fast, found = least_time(run)
    one, _ = least_time(run)
    some = x[: min(K, 8)]
    slow, (made, iterations) = least_time(lambda: single_steps(simulator, some, options.steps))
    total = found.steps.sum()
    rates = (round(total / fast), round(total / one), round(made / slow))
    return [str(v) for v in (links, robot.model.nv, K, *rates, f"{iterations / made:.1f}")]


def main() -> None:
    """Measure and print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--method", default="pbfd", choices=["pbfd", "pbd"])
    parser.add_argument("--size", type=int, nargs="*", default=SIZES)
    parser.add_argument("--links", type=int, nargs="*", default=LINKS)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    print(f"# {options.threads} threads, load {os.getloadavg()[0]:.1f}")
    runs = [(LENGTH, K) for K in options.size]
    runs += [(links, SIZE) for links in options.links if (links, SIZE) not in runs]
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    rows = []
    for links, K in runs:
        rows.append(row(links, K, options))
        print(f"| {' | '.join(rows[-1])} |", flush=True)
    if options.csv:
        write_data(options.csv, COLUMNS, rows)


if __name__ == "__main__":
    main()
