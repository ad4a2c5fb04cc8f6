"""Plans of the examples in long steps, and their replays in short ones: tables of the pages.

    OMP_NUM_THREADS=1 python benchmarks/planning.py jump    # Robosimian's jump by FDDP
    OMP_NUM_THREADS=1 python benchmarks/planning.py reach   # Spider's reach by sampling
    OMP_NUM_THREADS=1 python benchmarks/planning.py push    # a pushed box by OMPL

Each row is one call of the example, whose arguments are in the constants below.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
JUMPS: dict[str, tuple[str, ...]] = {
    **{f"{h} ms": ("--h", f"{h / 1000}") for h in (50, 40, 30, 25, 20)},
    "5 ms": ("--h", "0.005", "--iterations", "60"),
    "50 ms, one step a knot": ("--rtol", "100"),
    "50 ms, exact derivatives alone": ("--smoothing", "0", "--iterations", "50"),
    "50 ms, springs of 1000 N m/rad": ("--kp", "1000"),
    "50 ms, these with a tolerance of 0.1": ("--kp", "1000", "--rtol", "0.1"),
}
REACHES: dict[str, tuple[str, ...]] = {
    **{f"{seed}": ("--seed", f"{seed}") for seed in range(1, 6)},
    "3, `--quick`": ("--quick",),
}
PUSHES = {f"{seed}": ("--seed", f"{seed}") for seed in range(1, 6)}


def printed(example: str, *words: str) -> list[list[str]]:
    """Numbers of each line that an example prints; nothing where it found no plan."""
    said, before = io.StringIO(), os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
        os.chdir(folder)  # it leaves files
        try:
            importlib.import_module(example).main(words)
        except SystemExit:
            return []
        finally:
            os.chdir(before)
    number = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]\d+)?")
    return [number.findall(line) for line in said.getvalue().splitlines()]


def jump(words: tuple[str, ...]) -> list[str]:
    """Knots, steps, cost, promise, and the rise of the torso in the plan and its replay."""
    first, plan, replay, error = printed("plan_jump", *words)
    knots, _, steps, _, _, cost, promised = first
    share = f"{float(promised) / float(cost):.0e}"
    return [knots, steps, cost, share, plan[1], replay[1], f"{error[0]} %"]


def reach(words: tuple[str, ...]) -> list[str]:
    """Distance of the foot from its target in long and short steps, and the force on it."""
    long, short = printed("reach_by_sampling", *words)[-2:]
    return [long[1], short[1], long[2], short[2]]


def push(words: tuple[str, ...]) -> list[str]:
    """Steps of the search, and where the box ends in long and short steps."""
    lines = printed("push_box_by_ompl", *words)
    if not lines:
        return ["no plan", "", ""]
    (first, _, *ends) = lines
    return [first[3], *(", ".join(end[1:]) for end in ends)]


PLANS = {
    "jump": (
        jump,
        JUMPS,
        (
            *("knots of", "knots", "steps", "cost", "promised, of the cost", "rise, plan [m]"),
            *("rise, replay [m]", "error"),
        ),
    ),
    "reach": (
        reach,
        REACHES,
        (
            *("seed", "distance, 50 ms [cm]", "distance, 5 ms [cm]", "force, 50 ms [N]"),
            "force, 5 ms [N]",
        ),
    ),
    "push": (push, PUSHES, ("seed", "steps tried", "x, y, angle, 50 ms", "x, y, angle, 5 ms")),
}


def main() -> None:
    """Print the tables that are named, or all."""
    for name in sys.argv[1:] or PLANS:
        measure, rows, columns = PLANS[name]
        print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
        for label, words in rows.items():
            print(f"| {' | '.join([label, *measure(words)])} |", flush=True)


if __name__ == "__main__":
    main()
