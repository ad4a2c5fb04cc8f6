"""A row of the NMDP paper's Table I with other settings.

    OMP_NUM_THREADS=1 python benchmarks/spread.py [MOTION ...] [--preset NAME] [--method NAME ...]
        [--set KEY=VALUE ...] [--scale X]

For each motion and method: the spread over steps of 5 to 50 ms [m], the runs that failed, the steps
that were halved, and where each run ends [m], from 5 to 50 ms. Settings are those of scenario files
and replace the preset's; --scale multiplies all lengths of step.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from nmdp_pin import run
from nmdp_pin.papers.consistency import consistency
from nmdp_pin.papers.curve import time_grid
from nmdp_pin.papers.nmdp.paper import NMDP_STEPS, TABLE, Motion
from nmdp_pin.papers.nmdp.preset import PRESETS
from nmdp_pin.papers.nmdp.study import NmdpStudy

MOTIONS = {motion.scenario: motion for motion in TABLE}
METHODS = ("ne-nmdp", "pbd-nmdp")


def row(motion: Motion, method: str, study: NmdpStudy, settings: list[str], scale: float) -> str:
    """One row of the table."""
    curves, halved = [], 0
    for dt in NMDP_STEPS:
        spec = study.spec(motion, method, scale * dt)
        spec = replace(spec, overrides=(*spec.overrides, *settings))
        recording = run(spec.load())
        curves.append(motion.quantity.curve(recording))
        halved += int((recording.halvings > 0).sum())
    found = consistency(curves, time_grid(NMDP_STEPS[-1], motion.duration))
    ends = " ".join(f"{curve.y[-1]:.2f}" for curve in curves)
    return f"| {motion.title} | {method} | {found.spread:.2f} | {found.cut} | {halved} | {ends} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("motion", nargs="*", default=list(MOTIONS), metavar="MOTION")
    parser.add_argument("--preset", default="recommended", choices=list(PRESETS))
    parser.add_argument("--method", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--scale", type=float, default=1.0)
    chosen = parser.parse_args()
    study = NmdpStudy(preset=PRESETS[chosen.preset])
    print("| motion | method | spread | failed | halved | ends |\n|---|---|---|---|---|---|")
    for name in chosen.motion:
        for method in chosen.method:
            print(row(MOTIONS[name], method, study, chosen.set, chosen.scale), flush=True)


if __name__ == "__main__":
    main()
