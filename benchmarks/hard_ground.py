"""Quadrupeds under noisy targets: what a step costs on soft, hard and rigid ground.

    OMP_NUM_THREADS=1 python benchmarks/hard_ground.py [--csv docs/results/hard-ground.csv]
    ... [--robots go2 --depths 1e-5 --steps 0.04 --noise 0.15 --orders 1 --methods ne-nmdp]

Robots fall 0.1 m onto their feet and hold the standing pose plus normal noise, drawn anew every
40 ms, for 0.8 s; a static depth of 0 is rigid ground. Evaluations are means over all steps of all
seeds, which are so many that a cell has 240 steps, of which a hundredth is two; a run ends where a
step fails. They do not depend on the machine. The last lines name the cells that miss a bar: more
evaluations than BARS, a failed step, or a hundredth of steps halved.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin import Command, FrictionCone, Plane, Robot, Simulator, Terrain, load_robot
from nmdp_pin.errors import ContactError
from nmdp_pin.papers.data_file import write_data

GAINS = {
    "go2": (75.0, 2.5),
    "a1": (75.0, 2.5),
    "hyq": (800.0, 20.0),
    "solo12": (12.0, 0.3),
    "anymal": (600.0, 15.0),
}  # [N m/rad], [N m s/rad]
METHODS, ORDERS = ("ne-nmdp", "pbd-nmdp"), (1, 2)
DEPTHS = (0.0, 1e-8, 1e-5, 1e-3)  # [m] at rest
STEPS = (0.005, 0.01, 0.02, 0.04)  # [s]
NOISE = (0.0, 0.15, 0.4)  # [rad], standard deviation of the targets
HOLD, DURATION, DROP, FRICTION = 0.04, 0.8, 0.1, 0.7  # [s], [s], [m], [-]
BARS = {0.0: (5, 10), 0.15: (5, 10), 0.4: (8, 16)}  # evaluations by noise, in each order
HALVED = 0.01  # share of steps
LEAST = 240  # steps of a cell


class Cell(NamedTuple):
    """Settings of one cell of the table."""

    robot: str
    method: str
    order: int
    noise: float
    depth: float
    step: float


class Found(NamedTuple):
    """What a cell took.

    Args:
        evaluations: mean of a step.
        most: evaluations of one step.
        steps: number of steps.
        failed: number of steps that failed, each of which ended a run.
        halved: number of steps that were halved.
        cpu: processor time of a simulated second [ms].
    """

    evaluations: float
    most: int
    steps: int
    failed: int
    halved: int
    cpu: float

    def text(self) -> str:
        """The evaluations, and what went wrong."""
        counts = {"failed": self.failed, "halved": self.halved}
        wrong = [f"{n} {what}" for what, n in counts.items() if n]
        return f"{self.evaluations:.1f}" + (f" ({', '.join(wrong)})" if wrong else "")

    def misses(self, cell: Cell) -> bool:
        """Whether it is beyond a bar."""
        bar = BARS.get(cell.noise, BARS[NOISE[-1]])[cell.order - 1]
        return self.evaluations > bar or self.failed > 0 or self.halved >= HALVED * self.steps


def commands(robot: Robot, noise: float, seed: int) -> Iterator[Command]:
    """Commands of 40 ms each, without end."""
    rng, nv, driven = np.random.default_rng(seed), robot.model.nv, list(robot.driven)
    kp, kd = np.zeros(nv), np.zeros(nv)
    kp[driven], kd[driven] = GAINS[robot.name]
    while True:
        turned = np.zeros(nv)
        turned[driven] = noise * rng.standard_normal(len(driven))
        target = pin.integrate(robot.model, robot.standing, turned)
        yield Command(kp=kp, kd=kd, q_target=target)


def measure(cell: Cell, robot: Robot, seeds: int) -> Found | None:
    """Runs of all seeds; None where no contact law is that hard."""
    try:
        law = FrictionCone.for_robot(robot, static_depth=cell.depth, power=2)
    except ContactError:
        return None
    ground = Terrain(Plane(friction=FRICTION))
    simulator = Simulator(robot, ground, law, cell.method, order=cell.order)
    start = robot.standing.copy()
    start[2] += DROP
    simulator.step(simulator.state(start), None, cell.step)  # compiles
    counts, failed, halved, cpu, simulated = [], 0, 0, 0.0, 0.0
    steps = round(DURATION / cell.step)
    for seed in range(max(seeds, math.ceil(LEAST / steps))):
        state, targets = simulator.state(start), commands(robot, cell.noise, seed)
        for k in range(steps):
            if k % max(round(HOLD / cell.step), 1) == 0:
                command = next(targets)
            begin = time.process_time()
            result = simulator.step(state, command, cell.step)
            cpu += time.process_time() - begin
            simulated += cell.step
            counts.append(result.evaluations)
            halved += result.halvings > 0
            if not result.status.ok:
                failed += 1
                break
            state = result.state
    mean = float(np.mean(counts))
    return Found(mean, max(counts), len(counts), failed, halved, 1e3 * cpu / simulated)


def row(cells: Sequence[Cell], found: Sequence[Found | None]) -> str:
    """A line of the table: evaluations at each step, then processor times."""
    first = cells[0]
    head = (first.robot, first.method, first.order, first.noise, f"{1e3 * first.depth:g}")
    counts = ["refused" if x is None else x.text() for x in found]
    times = ["" if x is None else f"{x.cpu:.1f}" for x in found]
    return f"| {' | '.join(map(str, (*head, *counts, *times)))} |"


def main() -> None:
    """Measure, print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--robots", nargs="*", default=list(GAINS), choices=list(GAINS))
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--orders", nargs="*", type=int, default=ORDERS)
    parser.add_argument("--noise", nargs="*", type=float, default=NOISE, help="[rad]")
    parser.add_argument("--depths", nargs="*", type=float, default=DEPTHS, help="[m]")
    parser.add_argument("--steps", nargs="*", type=float, default=STEPS, help="[s]")
    parser.add_argument("--seeds", type=int, default=3, help="least number of runs of each cell")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    steps = [f"{1e3 * h:g} ms" for h in options.steps]
    columns = ["robot", "method", "order", "noise [rad]", "static depth [mm]"]
    columns += [f"evaluations a step, {h}" for h in steps]
    columns += [f"CPU of a simulated second [ms], {h}" for h in steps]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|", flush=True)
    lines, missed, dearer = [], [], 0
    for name in options.robots:
        robot = load_robot(name, contacts="feet", visuals=False)
        kinds = (options.methods, options.orders, options.noise, options.depths)
        for kind in itertools.product(*kinds):
            cells = [Cell(name, *kind, h) for h in options.steps]
            found = [measure(cell, robot, options.seeds) for cell in cells]
            print(row(cells, found), flush=True)
            both = list(zip(cells, found, strict=True))
            lines += [(*cell, *(x or ["refused"] + [""] * 5)) for cell, x in both]
            missed += [cell for cell, x in both if x is None or x.misses(cell)]
            cpu = {cell.step: x.cpu for cell, x in both if x is not None}
            dearer += cpu.get(0.04, 0.0) > cpu.get(0.01, np.inf)
    print(f"\n{dearer} rows cost more at 40 ms than at 10 ms")
    print(f"{len(missed)} of {len(lines)} cells miss a bar")
    for cell in missed:
        print(f"  {' '.join(map(str, cell))}")
    if options.csv:
        write_data(options.csv, (*Cell._fields, *Found._fields), lines)


if __name__ == "__main__":
    main()
