"""Robosimian's jump with the period of the paper: five jumps in ten seconds are one every 2 s.

    OMP_NUM_THREADS=1 python benchmarks/jump_period.py [--method ne-nmdp ...]

Each row is the jump over the published steps with preset "paper": with the gait of this package,
which repeats every 1.4 s; with its last knot held until 2 s; and stretched to 2 s. Columns: mean
over time of the standard deviation of the torso's height across the steps [m], the largest rise
at each step [m], and how often the torso rises above 0.1 m in 10 s.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from nmdp_pin._control import StablePD
from nmdp_pin._robot.gait import Gait
from nmdp_pin.papers.consistency import consistency
from nmdp_pin.papers.curve import Curve, time_grid
from nmdp_pin.papers.nmdp.paper import JUMP
from nmdp_pin.papers.nmdp.study import NmdpStudy

PERIOD = 2.0  # [s]
RISEN = 0.1  # [m]
DURATION = JUMP.duration  # [s]


def gaits(gait: Gait) -> Mapping[str, Gait]:
    """The jump, and two that take 2 s."""
    end = float(gait.times[-1])
    positions = np.vstack([gait.positions, gait.positions[-1]])
    held = replace(gait, times=np.append(gait.times, PERIOD), positions=positions, loop=(0, PERIOD))
    stretched = replace(gait, times=gait.times * PERIOD / end, loop=(0, PERIOD))
    return {f"as it is, {end:g} s": gait, "held, 2 s": held, "stretched, 2 s": stretched}


def height(study: NmdpStudy, method: str, dt: float, name: str) -> Curve:
    """Height of the torso above its start."""
    setup = study.spec(JUMP, method, dt).load().build(visuals=False)
    gait = gaits(setup.robot.gaits["jump"])[name]
    control = StablePD(setup.robot, kp=1000.0, kd=1.0, gait=gait)
    results = list(setup.simulator.run(setup.state, control, dt=dt, duration=DURATION))
    states = [setup.state, *(result.state for result in results if result.status.ok)]
    z = np.array([state.q[1] for state in states])
    return Curve(np.array([state.t for state in states]), z - z[0])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", action="append")
    methods = parser.parse_args().method or ["ne-nmdp", "pbd-nmdp"]
    study = NmdpStudy()
    print("| gait | method | spread | rise | jumps |\n|---|---|---|---|---|")
    for name in ("as it is, 1.4 s", "held, 2 s", "stretched, 2 s"):
        for method in methods:
            curves = [height(study, method, dt, name) for dt in study.steps_of(method)]
            spread = consistency(curves, time_grid(0.05, DURATION)).spread
            rises = ", ".join(f"{curve.y.max():.2f}" for curve in curves)
            ups = [np.count_nonzero(np.diff((c.y > RISEN).astype(int)) == 1) for c in curves]
            counts = ", ".join(map(str, ups))
            print(f"| {name} | {method} | {spread:.3f} | {rises} | {counts} |", flush=True)


if __name__ == "__main__":
    main()
