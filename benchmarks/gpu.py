"""Time of a step of pbfd by JAX on a device, against compiled steps by threads on the CPU.

    python benchmarks/gpu.py [--device cuda:0] [--size K ...] [--dtype float64|float32 ...]
        [--schedule own|steps ...] [--steps T] [--threads N] [--csv docs/results/gpu.csv]

Go2 on its feet, with PD gains of 60 N m/rad and random torques of 3 N m, at steps of 20 ms. Wall
and CPU time are the least of several runs, without the compilation, of trajectory-steps. A call of
the device is an iteration of all lanes; its operations and bytes are those that XLA counts in the
program for this device. At most five minutes where the machine is not shared.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from joblib import parallel_config

from nmdp_pin import Command, Fixed, Penalty, Plane, Simulator, Terrain, load_robot
from nmdp_pin._jax.roller import DeviceRoller, device_named
from nmdp_pin._jax.schedule import SCHEDULES, calls_of, roll
from nmdp_pin.papers.data_file import write_data
from nmdp_pin.rollout import Jax, Rollout, rollout

ROBOT = {"source": "go2", "contacts": "feet"}
H, GAIN, TORQUE = 0.02, 60.0, 3.0  # [s], [N m/rad], [N m]
SIZES = (256, 4096)
REPEATS = 3
COLUMNS = (
    *("by", "type", "schedule", "K", "us a step", "CPU us a step", "steps/s", "iterations a step"),
    *("calls a step", "operations a step", "bytes a step", "CPU s to compile"),
)


def least_times(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Least wall and CPU time of some calls [s], and what the last one gave."""
    wall = cpu = float("inf")
    value = None
    for _ in range(REPEATS):
        begin, own = time.perf_counter(), time.process_time()
        value = function()
        wall = min(wall, time.perf_counter() - begin)
        cpu = min(cpu, time.process_time() - own)
    return wall, cpu, value


def standing(robot: Any) -> Command:
    """Stable PD about the standing pose."""
    gains = np.zeros(robot.model.nv)
    gains[robot.driven] = GAIN
    return Command(kp=gains, kd=gains / 30.0, q_target=robot.standing)


def times(by: str, dtype: str, schedule: str, K: int, *values: float) -> list[str]:
    """A line of the table."""
    texts = [f"{value:.4g}" if np.isfinite(value) else "" for value in values]
    return [by, dtype, schedule, str(K), *texts]


def compiled(simulator: Simulator, u: np.ndarray, threads: int) -> list[str]:
    """Compiled steps, by threads."""
    start, command = simulator.state(), standing(simulator.robot)

    def run() -> Rollout:
        with parallel_config("threading", n_jobs=threads):
            return rollout(simulator, start, u, h=H, command=command)

    rollout(simulator, start, u[:1, :1], h=H, command=command)  # compiles
    wall, cpu, made = least_times(run)
    n, nan = made.steps.sum(), float("nan")
    return times(
        *(f"compiled, {threads} threads", "float64", "", len(u)),
        *(1e6 * wall / n, 1e6 * cpu / n, n / wall, nan, nan, nan, nan, nan),
    )


def on_device(
    simulator: Simulator, u: np.ndarray, device: Any, dtype: str, schedule: str
) -> list[str]:
    """Steps by JAX."""
    roller = DeviceRoller(simulator, standing(simulator.robot), Jax(device, dtype))
    begin = time.process_time()
    with jax.enable_x64(dtype == "float64"):
        arguments = roller.arguments([simulator.state()] * len(u), u, H)
        program = calls_of(*arguments, steps=u.shape[1], schedule=schedule)
        built = time.process_time() - begin
        steps = u.shape[1]
        wall, cpu, made = least_times(
            lambda: jax.block_until_ready(roll(*arguments, steps=steps, schedule=schedule))
        )
    n, calls = int(made.steps.sum()), float(made.calls.mean())
    cost, share = program.cost_analysis(), calls / n  # loops are counted once: one call
    return times(
        *(f"JAX, {device.device_kind}", dtype, schedule, len(u)),
        *(1e6 * wall / n, 1e6 * cpu / n, n / wall, int(made.iterations.sum()) / n),
        *(len(u) * share, cost["flops"] * share, cost["bytes accessed"] * share, built),
    )


def main() -> None:
    """Measure and print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device")
    parser.add_argument("--size", type=int, nargs="*", default=SIZES)
    parser.add_argument("--dtype", nargs="*", default=["float64", "float32"])
    parser.add_argument("--schedule", nargs="*", default=SCHEDULES, choices=SCHEDULES)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    device = device_named(options.device)
    print(f"# {device.device_kind}, JAX {jax.__version__}, load {os.getloadavg()[0]:.1f}")
    robot = load_robot(**ROBOT, visuals=False)
    ground = Terrain([Plane(friction=0.7)])
    simulator = Simulator(robot, ground, Penalty(), "pbfd", control=Fixed())
    shape = max(options.size), options.steps, len(robot.driven)
    u = TORQUE * np.random.default_rng(0).standard_normal(shape)
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    rows = []
    for K in options.size:
        runs = [lambda K=K: compiled(simulator, u[:K], options.threads)]
        for dtype in options.dtype:
            for schedule in options.schedule:
                runs.append(
                    lambda K=K, d=dtype, s=schedule: on_device(simulator, u[:K], device, d, s)
                )
        for run in runs:
            rows.append(run())
            print(f"| {' | '.join(rows[-1])} |", flush=True)
    if options.csv:
        write_data(options.csv, COLUMNS, rows)


if __name__ == "__main__":
    main()
