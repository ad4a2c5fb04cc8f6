"""What a step costs, and an evaluation of the dynamics in units of pinocchio's derivatives.

    OMP_NUM_THREADS=1 python benchmarks/step.py [SCENARIO ...] [--set KEY=VALUE ...]
    OMP_NUM_THREADS=1 python benchmarks/step.py go2-stand --patch 4 --duration 0.5

`--patch N` puts N x N contact points, 5 mm apart, in place of each that touches in the first step.

The unit is one `computeRNEADerivatives` on the same machine at the same time. Times are the least
of several runs: on a shared machine the least is the one that says something.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin import Simulator
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._scenario import Scenario

REPEATS = 10
RUNS = 3  # one after another: the first one finds the caches of the processor cold
CALLS = 300
SPACING = 0.005  # of the points of a patch [m]
COLUMNS = (
    *("scenario", "contacts that touch", "steps", "times real time", "a step [us]"),
    *("evaluations a step", "units an evaluation", "the unit [us]"),
)


def least_time(function: Callable[[], Any]) -> float:
    """Least mean time of one call over the repeats [us]."""
    least = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        for _ in range(CALLS):
            function()
        least = min(least, time.process_time() - begin)
    return 1e6 * least / CALLS


def unit(model: pin.Model, q: np.ndarray) -> float:
    """One call of pinocchio's derivatives of the inverse dynamics [us]."""
    data, v = model.createData(), np.zeros(model.nv)
    return least_time(lambda: pin.computeRNEADerivatives(model, data, q, v, v))


def with_patches(robot: Robot, touching: np.ndarray, n: int) -> Robot:
    """The robot on n x n points in place of some, level in its standing pose.

    Args:
        robot: the robot.
        touching: indices of those in whose place they are, shape (k,).
        n: number of points along each side of a square.
    """
    data, points = robot.model.createData(), robot.contact_points
    pin.forwardKinematics(robot.model, data, robot.standing)
    places = SPACING * (np.arange(n) - 0.5 * (n - 1))
    names, positions = [], []
    for k in touching:
        frame = data.oMi[int(points.joints[k])]
        for x in places:
            for y in places:
                place = frame.act(points.positions[k]) + np.array([x, y, 0.0])
                names.append(f"{points.names[k]} {len(names)}")
                positions.append(frame.actInv(place))
    each = np.repeat(touching, n * n)
    patches = ContactPoints(
        tuple(names), points.joints[each], np.array(positions), points.radii[each]
    )
    return dataclasses.replace(robot, contact_points=patches, surfaces={})


def measure(name: str, overrides: list[str], duration: float, patch: int) -> None:
    """Print the line of a scenario: whole steps, in the same loop that `nmdp-pin run` makes."""
    scenario = Scenario.load(name, overrides=overrides)
    setup = scenario.build(visuals=False)
    simulator, dt = setup.simulator, scenario.integrator.dt
    if patch > 1:
        first = simulator.step(setup.state, setup.controller.command(setup.state, dt), dt)
        robot = with_patches(setup.robot, np.flatnonzero(first.contact_depths), patch)
        simulator = Simulator(
            robot, setup.terrain, simulator.contact, simulator.method, **simulator.options
        )
    least, ratio, results = float("inf"), float("inf"), []
    for _ in range(REPEATS):
        before = unit(setup.robot.model, setup.state.q)
        took = float("inf")
        for _ in range(RUNS):
            begin = time.process_time()
            results = list(simulator.run(setup.state, setup.controller, dt=dt, duration=duration))
            took = min(took, 1e6 * (time.process_time() - begin))
        after = unit(setup.robot.model, setup.state.q)
        evaluations = sum(result.evaluations for result in results)
        least = min(least, took)
        ratio = min(ratio, took / evaluations / (0.5 * (before + after)))
    steps = len(results)
    cells = (
        name,
        f"{np.count_nonzero(results[-1].contact_depths)}",
        f"{steps} of {1e3 * dt:g} ms, {results[-1].status.value}",
        f"{1e6 * results[-1].state.t / least:.3g}",
        f"{least / steps:.0f}",
        f"{evaluations / steps:.2f}",
        f"{ratio:.2f}",
        f"{unit(setup.robot.model, setup.state.q):.1f}",
    )
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print a table, a line for each scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=["robosimian-jump-paper"])
    parser.add_argument("--set", nargs="*", action="extend", default=[], dest="overrides")
    parser.add_argument("--patch", type=int, default=1, help="points along a side of a patch")
    parser.add_argument("--duration", type=float, default=2.0)
    arguments = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for name in arguments.scenarios:
        measure(name, arguments.overrides, arguments.duration, arguments.patch)


if __name__ == "__main__":
    main()
