"""Draw what `train.py` left of all seeds: learning curves, and the tests as bars beside them.

python examples/locomotion/draw.py out/locomotion docs/images/locomotion.png
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from task import TASKS

WINDOW = 50  # episodes of a running mean
COLOURS = {"pbfd": "tab:blue", "ne-ncp": "tab:red"}
Rows = list[dict[str, str]]


def draw(folder: Path, picture: Path) -> None:
    """Read the tables of a folder, write the picture."""
    robots = [name for name in TASKS if list(folder.glob(f"{name}-*-trials.csv"))]
    figure, axes = plt.subplots(
        len(robots), 2, figsize=(9, 3.2 * len(robots)), squeeze=False, width_ratios=(3, 2)
    )
    for (left, right), name in zip(axes, robots, strict=True):
        trials = tables(folder, f"{name}-*-trials.csv")
        curve(left, tables(folder, f"{name}-*-learning.csv"))
        bars(left, right, trials)
        left.set_title(f"{name}: training in pbfd, steps of {1e3 * TASKS[name].period:.0f} ms")
        right.set_title("policies in")
        right.sharey(left)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


def tables(folder: Path, pattern: str) -> list[Rows]:
    """The rows of the tables of each seed."""
    found = []
    for path in sorted(folder.glob(pattern)):
        with open(path, newline="", encoding="utf-8") as file:
            found.append(list(csv.DictReader(file)))
    return found


def curve(axes: Axes, seeds: list[Rows]) -> None:
    """Running means of the returns: the mean of the seeds, and the band in which they are."""
    curves = []
    for rows in seeds:
        steps, returns = (np.array([float(row[k]) for row in rows]) for k in ("steps", "return"))
        mean = np.convolve(returns, np.full(WINDOW, 1.0 / WINDOW), mode="valid")
        curves.append((steps[WINDOW - 1 :], mean))
    grid = np.linspace(max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves), 300)
    values = np.array([np.interp(grid, x, y) for x, y in curves])
    label = f"mean of {WINDOW} episodes and {len(values)} seeds"
    axes.fill_between(
        grid / 1e3, values.min(axis=0), values.max(axis=0), color="tab:blue", alpha=0.25, lw=0
    )
    axes.plot(grid / 1e3, values.mean(axis=0), color="tab:blue", label=label)
    axes.set(xlabel="thousands of steps", ylabel="return")


def bars(left: Axes, right: Axes, seeds: list[Rows]) -> None:
    """Mean returns of each method and step, a dot for each seed; the last one over the curve."""
    found = defaultdict(list)
    for rows in seeds:
        returns = defaultdict(list)
        for row in rows:
            returns[row["method"], float(row["step"])].append(float(row["return"]))
        for key, values in returns.items():
            found[key].append(np.mean(values))
    for place, ((method, h), means) in enumerate(found.items()):
        right.bar(place, np.mean(means), color=COLOURS[method], alpha=0.6)
        right.plot(np.full(len(means), place), means, ".", color="black", markersize=4)
        label = f" {method}, {1e3 * h:.0f} ms"
        right.text(place, 0.0, label, rotation=90, ha="center", va="bottom")
    right.set_xticks([])
    label = f"tests in {method}, steps of {1e3 * h:.0f} ms"
    left.axhline(np.mean(means), color=COLOURS[method], lw=2, label=label)
    left.legend(loc="lower right")


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
