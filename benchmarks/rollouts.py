"""Throughput of rollouts of Go2 on four feet, and what two processes cost.

    OMP_NUM_THREADS=1 python benchmarks/rollouts.py [--trajectories 96] [--steps 50]
        [--rounds 3]

Targets of the joints are the standing pose, and the same with normal noise that is new every five
steps, of 20 ms. Rates are steps per second of CPU time, the best of several rounds; "one by one" is
that of `Simulator.step`, "callback" that of a rollout whose commands a function returns. The robot
is loaded with its meshes, and "two processes" is their CPU time with this one's over that of one
job, with workers that run already.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from nmdp_pin import Command, FrictionCone, Halving, Plane, Simulator, Terrain, load_robot
from nmdp_pin._contact import Penalty
from nmdp_pin.rollout import Rollout, rollout

H, NOISE, PERIOD = 0.02, 0.15, 5  # [s], [rad], steps
CASES = (
    ("ne-nmdp", {"order": 1}, (12_000, 6_000)),
    ("ne-nmdp", {"order": 2}, (8_000, 4_000)),
    ("pbfd", {}, (25_000, 25_000)),
)
COLUMNS = [
    "method",
    "noise [rad]",
    "steps/s",
    "wanted",
    "one by one",
    "callback",
    "two processes",
    "complete",
]


def of_all_processes() -> float:
    """CPU time of this process and of those that it started [s]."""
    total, ticks = time.process_time(), os.sysconf("SC_CLK_TCK")
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == os.getpid():
            total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def least(action: Callable[[], object], rounds: int, clock: Callable[[], float]) -> float:
    """The least time that an action takes, after a first time."""
    action()
    times = []
    for _ in range(rounds):
        begin = clock()
        action()
        times.append(clock() - begin)
    return min(times)


def one_by_one(simulator: Simulator, command: Command, targets: np.ndarray) -> np.ndarray:
    """Last states of the trajectories, [q; v]."""
    ends = []
    for trajectory in targets:
        state = simulator.state()
        for target in trajectory:
            state = simulator.step(state, replace(command, q_target=target), H).state
        ends.append(simulator.vector.pack(state))
    return np.array(ends)


def row(
    simulator: Simulator, noise: float, trajectories: int, steps: int, rounds: int
) -> tuple[object, ...]:
    """Rates, the cost of two processes, and the trajectories that are complete."""
    robot, nv = simulator.robot, simulator.vector.nv
    kp, kd = np.zeros(nv), np.zeros(nv)
    kp[robot.driven], kd[robot.driven] = 60.0, 3.0
    command = Command(kp=kp, kd=kd, q_target=robot.standing)
    shape = trajectories, -(-steps // PERIOD), len(robot.driven)
    u = noise * np.random.default_rng(0).standard_normal(shape).repeat(PERIOD, axis=1)[:, :steps]
    shifts = np.zeros((*u.shape[:2], nv))
    shifts[:, :, robot.driven] = u
    targets = np.apply_along_axis(
        lambda s: pin.integrate(robot.model, robot.standing, s), 2, shifts
    )

    def moved(n_jobs: int = 1) -> Rollout:
        return rollout(
            simulator, simulator.state(), u, h=H, command=command, targets=True, n_jobs=n_jobs
        )

    def called() -> Rollout:
        function = lambda state, u, h: replace(command, q_target=u)  # noqa: E731
        return rollout(simulator, simulator.state(), targets, h=H, command=function)

    made = moved()
    if not np.array_equal(made.x[:, -1], one_by_one(simulator, command, targets)):
        raise SystemExit("the rollout is not the steps one by one")
    clock, n = time.process_time, made.steps.sum()
    one = least(moved, rounds, clock)
    single = least(lambda: one_by_one(simulator, command, targets), rounds, clock)
    back = least(called, rounds, clock)
    two = least(lambda: moved(2), rounds, of_all_processes)
    rates = [f"{n / t:.0f}" for t in (one, single, back)]
    return rates[0], *rates[1:], f"{two / one:.2f}", f"{made.ok.sum()} of {trajectories}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=int, default=96)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    robot = load_robot("go2", contacts="feet")
    print("|", " | ".join(COLUMNS), "|\n" + "|---" * len(COLUMNS) + "|")
    for method, options, bars in CASES:
        law = Penalty()
        if method != "pbfd":
            law = FrictionCone.for_robot(robot, static_depth=0.002, power=2)
        simulator = Simulator(
            robot,
            Terrain(Plane(friction=0.8)),
            law,
            method,
            control=Halving(min_step=0.002),
            **options,
        )
        name = ", order ".join([method, *map(str, options.values())])
        for noise, bar in zip((0.0, NOISE), bars, strict=True):
            rate, *rest = row(simulator, noise, given.trajectories, given.steps, given.rounds)
            cells = map(str, (name, noise, rate, bar, *rest))
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
