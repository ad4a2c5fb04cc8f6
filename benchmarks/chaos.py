"""How much of Table I's spread is chaos: runs that differ by next to nothing, in one step.

    OMP_NUM_THREADS=1 python benchmarks/chaos.py [--motion ...] [--preset ...] [--ms ...]
        [--method ne-nmdp]

First table: every row is ten runs of a method, 10 s each, in steps of one length. Their starts
differ in every coordinate by a normal deviate of the given size [m, rad]. Columns:

- spread: the statistic of Table I over these ten runs instead of over ten lengths of step [m]; in
  brackets what ten other draws would give, 5th to 95th percentile of a bootstrap;
- end: standard deviation at 10 s [m];
- together: until when the deviation is below 1 cm [s];
- e-fold: time in which the deviation grows by e [s], where it does, from 1 s until it is 1 cm.

Second table: one run a length of step; its way in 10 s, and how far the torso rises above its
start after the first two seconds; last the spread over the steps of 5 to 50 ms, with the same
bootstrap, as if these had been drawn by chance. Where these change smoothly with the step, its
error is what makes the spread, and not chaos.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pinocchio as pin

from nmdp_pin.papers.consistency import consistency
from nmdp_pin.papers.curve import Curve, time_grid
from nmdp_pin.papers.nmdp.paper import JUMP, NMDP_STEPS, WALK_FAST, Motion
from nmdp_pin.papers.nmdp.preset import PRESETS
from nmdp_pin.papers.nmdp.study import NmdpStudy

RUNS = 10
SIZES = (1e-6, 1e-3)  # [m, rad]
STEPS = (1.0, 5.0, 10.0, 20.0, 50.0)  # [ms]
GRID = time_grid(0.05, 10.0)
APART = 0.01  # [m]
SETTLED = 1.0  # [s]; until then the robot lands
LANDED = 2.0  # [s]; until then the gait begins
DRAWS = 2000
# Motions, and the coordinate of the planar base that each is judged by.
MOTIONS = {motion.scenario: (motion, axis) for motion, axis in ((WALK_FAST, 0), (JUMP, 1))}


def runs(
    motion: Motion, method: str, preset: str, h: float, size: float, number: int
) -> list[np.ndarray]:
    """Runs from starts of their own, as rows (t, x, z), shape (n_steps + 1, 3) each."""
    spec = NmdpStudy(preset=PRESETS[preset]).spec(motion, method, h)
    setup = spec.load().build(visuals=False)
    model, rng, found = setup.robot.model, np.random.default_rng(0), []
    for _ in range(number):
        nudge = size * rng.standard_normal(model.nv)
        start = setup.simulator.state(q=pin.integrate(model, setup.state.q, nudge))
        steps = setup.simulator.run(start, setup.controller, dt=h, duration=spec.duration)
        states = [start, *(result.state for result in steps if result.status.ok)]
        found.append(np.array([(state.t, *state.q[:2]) for state in states]))
    return found


def interval(curves: list[Curve]) -> tuple[float, float]:
    """What ten draws like these give as their spread, 5th to 95th percentile [m]."""
    values = np.array([curve.on(GRID) for curve in curves])
    picks = np.random.default_rng(0).integers(RUNS, size=(DRAWS, RUNS))
    spreads = [np.nanmean(np.nanstd(values[pick], axis=0)) for pick in picks]
    # Ten drawn out of ten deviate less than ten of all there are.
    low, high = np.percentile(spreads, [5, 95]) * np.sqrt(RUNS / (RUNS - 1))
    return float(low), float(high)


def chaos_row(name: str, method: str, preset: str, h: float, size: float) -> str:
    """One row of the first table."""
    motion, axis = MOTIONS[name]
    curves = [
        Curve(run[:, 0], run[:, 1 + axis]) for run in runs(motion, method, preset, h, size, RUNS)
    ]
    found, (low, high) = consistency(curves, GRID), interval(curves)
    deviation = np.nanstd([curve.on(GRID) for curve in curves], axis=0)
    apart = np.flatnonzero(deviation > APART)
    last = apart[0] if len(apart) else len(GRID)
    growing, fold = np.arange(np.searchsorted(GRID, SETTLED), last), "—"
    growing = growing[deviation[growing] > 0.0]  # small runs may agree to the bit
    if len(growing) > 2:
        rate = np.polyfit(GRID[growing], np.log(deviation[growing]), 1)[0]
        fold = f"{1 / rate:.1f}" if rate * GRID[-1] > 1.0 else "—"
    together = f"{GRID[last]:.1f}" if len(apart) else f"{GRID[-1]:g}"
    cut = f" ({found.cut} failed)" if found.cut else ""
    return (
        f"| {name} | {preset} | {1e3 * h:g} | {size:g} | {found.spread:.2g}{cut} "
        f"({low:.2g} to {high:.2g}) | {deviation[-1]:.2g} | {together} | {fold} |"
    )


def step_rows(name: str, method: str, preset: str, steps: list[float]) -> Iterator[str]:
    """The rows of the second table; in the last the spread over the steps of Table I."""
    (motion, axis), curves = MOTIONS[name], []
    for h in sorted({*NMDP_STEPS, *steps}):
        t, x, z = runs(motion, method, preset, h, 0.0, 1)[0].T
        if h in NMDP_STEPS:
            curves.append(Curve(t, (x, z)[axis]))
        rise = z[t >= LANDED].max() - z[0]
        yield f"| {name} | {preset} | {1e3 * h:g} | {x[-1]:.2f} | {rise:.2f} | |"
    found, (low, high) = consistency(curves, GRID), interval(curves)
    yield f"| {name} | {preset} | 5 to 50 | | | {found.spread:.2f} ({low:.2f} to {high:.2f}) |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--motion", nargs="*", default=list(MOTIONS), choices=list(MOTIONS))
    parser.add_argument("--preset", nargs="*", default=list(PRESETS), choices=list(PRESETS))
    parser.add_argument("--ms", nargs="*", type=float, default=list(STEPS), help="lengths of step")
    parser.add_argument("--method", default="ne-nmdp")
    chosen = parser.parse_args()
    chosen_runs = [(name, preset) for name in chosen.motion for preset in chosen.preset]
    print("| motion | preset | step [ms] | starts differ by | spread | end | together | e-fold |")
    print("|---|---|---|---|---|---|---|---|")
    for name, preset in chosen_runs:
        for ms in chosen.ms:
            for size in SIZES:
                print(chaos_row(name, chosen.method, preset, ms / 1e3, size), flush=True)
    print("\n| motion | preset | step [ms] | way [m] | rise [m] | spread [m] |")
    print("|---|---|---|---|---|---|")
    for name, preset in chosen_runs:
        for row in step_rows(name, chosen.method, preset, [ms / 1e3 for ms in chosen.ms]):
            print(row, flush=True)


if __name__ == "__main__":
    main()
