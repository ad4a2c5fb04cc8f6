"""Draw what `train.py` left: learning curves, and the returns of the tests as bars beside them.

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


def main() -> None:
    """Read the tables of a folder, write the picture."""
    folder, picture = Path(sys.argv[1]), Path(sys.argv[2])
    robots = [name for name in TASKS if (folder / f"{name}-trials.csv").exists()]
    figure, axes = plt.subplots(
        len(robots), 2, figsize=(9, 3.2 * len(robots)), squeeze=False, width_ratios=(3, 2)
    )
    for (left, right), name in zip(axes, robots, strict=True):
        curve(left, table(folder / f"{name}-learning.csv"))
        bars(right, table(folder / f"{name}-trials.csv"))
        left.set_title(f"{name}: training in pbfd, steps of {1e3 * TASKS[name].period:.0f} ms")
        right.set_title("its policy in")
        right.sharey(left)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def curve(axes: Axes, rows: list[dict[str, str]]) -> None:
    """Returns of the episodes, with their running mean."""
    steps, returns = (np.array([float(row[k]) for row in rows]) for k in ("steps", "return"))
    axes.plot(steps / 1e3, returns, ".", color="0.6", markersize=2, label="an episode")
    mean = np.convolve(returns, np.full(WINDOW, 1.0 / WINDOW), mode="valid")
    axes.plot(steps[WINDOW - 1 :] / 1e3, mean, color="tab:blue", label=f"mean of {WINDOW}")
    axes.set(xlabel="thousands of steps", ylabel="return")
    axes.legend(loc="upper left")


def bars(axes: Axes, rows: list[dict[str, str]]) -> None:
    """Mean and standard deviation of the returns of each method and step."""
    found = defaultdict(list)
    for row in rows:
        found[row["method"], float(row["step"])].append(float(row["return"]))
    for place, ((method, h), returns) in enumerate(found.items()):
        axes.bar(place, np.mean(returns), yerr=np.std(returns), color=COLOURS[method], capsize=3)
        axes.text(place, 0.0, f" {method}, {1e3 * h:.0f} ms", rotation=90, ha="center", va="bottom")
    axes.set_xticks([])


if __name__ == "__main__":
    main()
