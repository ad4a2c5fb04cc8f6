"""Throughput, compile time and memory of batches, against the sequential code.

    OMP_NUM_THREADS=1 python benchmarks/batch.py [--method pbfd|pbd] [--precision double|single]
        [--size K ...] [--links N ...] [--steps T] [--csv docs/results/batch.csv]

Chains of rods fall onto the ground, each bent in another way, at steps of 5 ms. The number
of trajectories is varied for a chain of ten links, the number of links at 256 trajectories. The
same command runs on a GPU where JAX finds one. Times are the least of several runs, both codes'
in one process; a rate is trajectory-steps a second.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pinocchio as pin

from nmdp_pin import Penalty, Plane, Robot, Simulator, Terrain, load_robot
from nmdp_pin.batch import Batch
from nmdp_pin.batch.inputs import Inputs
from nmdp_pin.experiments.pbad.chain_urdf import chain_urdf

SIZES = (1, 4, 16, 64, 256, 1024, 4096)
LINKS = (5, 10, 20, 30, 40)
SIZE, LENGTH = 256, 10  # what stays while the other is varied
H = 0.005  # [s]
REPEATS = 10
COLUMNS = (
    "links",
    "DoF",
    "K",
    "steps/s",
    "sequential steps/s",
    "ratio",
    "iterations a step",
    "utilisation",
    "in lock-step",
    "compile [s]",
    "kB a trajectory",
)


def chain(links: int) -> Robot:
    """A floating chain."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"chain-{links}.urdf"
        path.write_text(chain_urdf(links), encoding="utf-8")
        contacts = [("ball", "ball", (0.0, 0.0, 0.0), 0.015)]
        contacts += [(f"end{k}", f"link{k}", (0.1, 0.0, 0.0), 0.01) for k in range(1, links + 1)]
        return load_robot(path, base="free-flyer", contacts=contacts, visuals=False)


def starts(robot: Robot, K: int) -> np.ndarray:
    """Bent chains, whose lowest point is on the ground; they fall over from rest."""
    rng, model, data = np.random.default_rng(0), robot.model, robot.model.createData()
    points, configurations = robot.contact_points, []
    for _ in range(K):
        q = pin.integrate(model, robot.standing, 0.02 * rng.normal(size=model.nv))
        pin.forwardKinematics(model, data, q)
        centres = [
            data.oMi[int(joint)].act(position)[2]
            for joint, position in zip(points.joints, points.positions, strict=True)
        ]
        q[2] -= (np.array(centres) - points.radii).min()
        configurations.append(q)
    return np.array(configurations)


def least_time(function: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Least time of some calls [s], and what the last one gave."""
    least, value = float("inf"), None
    for _ in range(repeats):
        begin = time.perf_counter()
        value = function()
        least = min(least, time.perf_counter() - begin)
    return least, value


def sequential_rate(simulator: Simulator, q: np.ndarray, steps: int) -> float:
    """Steps a second of a Simulator, over the first trajectories; like a batch it halves none."""
    count = min(len(q), 4)
    made = 0

    def run() -> None:
        nonlocal made
        made = 0
        for q0 in q[:count]:
            state = simulator.state(q0)
            for _ in range(steps):
                result = simulator.step(state, None, H)
                if not result.status.ok:
                    break
                made += 1
                state = result.state

    seconds, _ = least_time(run, 2 * REPEATS)
    return made / seconds


def compiled(batch: Batch, q: np.ndarray, steps: int) -> tuple[float, float]:
    """Seconds to compile for one chunk, and bytes a trajectory that XLA then says it takes."""
    others = dict.fromkeys(("v0", "tau", "kp", "kd", "q_target", "v_target"))
    inputs = Inputs.checked(batch.robot.model, H, steps, {"q0": q, **others})
    begin = time.perf_counter()
    analysis = batch.compiled(inputs).memory_analysis()
    seconds = time.perf_counter() - begin
    size = analysis.temp_size_in_bytes + analysis.output_size_in_bytes
    return seconds, size / batch.chunk_of(len(q))


def row(links: int, K: int, options: argparse.Namespace) -> list[str]:
    """One line of the table."""
    robot, terrain = chain(links), Terrain([Plane(friction=0.5)])
    q = starts(robot, K)
    batch = Batch(robot, terrain, options.method, precision=options.precision)
    compiling, size = compiled(batch, q, options.steps)
    simulator = Simulator(robot, terrain, Penalty(), options.method, min_step=H)
    slow = [sequential_rate(simulator, q, options.steps)]
    seconds, found = least_time(lambda: batch.rollout(q, h=H, steps=options.steps))
    slow.append(sequential_rate(simulator, q, options.steps))  # others may have been at work
    fast = found.steps.sum() / seconds
    values = [links, robot.model.nv, K, round(fast), round(max(slow)), f"{fast / max(slow):.1f}"]
    values += [f"{found.iterations.sum() / found.steps.sum():.1f}", f"{found.utilisation:.2f}"]
    values += [f"{found.lock_step_utilisation:.2f}", f"{compiling:.1f}", f"{size / 1e3:.0f}"]
    if not found.ok.all():
        print(f"# {np.sum(~found.ok)} of {K} trajectories failed")
    return [str(value) for value in values]


def main() -> None:
    """Measure and print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--method", default="pbfd", choices=["pbfd", "pbd"])
    parser.add_argument("--precision", default="double", choices=["double", "single"])
    parser.add_argument("--size", type=int, nargs="*", default=SIZES)
    parser.add_argument("--links", type=int, nargs="*", default=LINKS)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"# {jax.devices()[0].device_kind}, {cores} cores, load {os.getloadavg()[0]:.1f}")
    runs = [(LENGTH, K) for K in options.size]
    runs += [(links, SIZE) for links in options.links if (links, SIZE) not in runs]
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    rows = []
    for links, K in runs:
        rows.append(row(links, K, options))
        print(f"| {' | '.join(rows[-1])} |", flush=True)
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main()
