"""What the pages say of errors and computing times is in docs/results/work_precision.csv."""

import csv
import re
from collections import defaultdict

import pytest
from pages import ROOT, page

LONG = (0.01, 0.05)  # [s], the steps of which docs/accuracy.md speaks


def rows(simulator: str) -> list[dict[str, str]]:
    """Those of a simulator, first words of its name."""
    path = ROOT / "docs/results/work_precision.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["simulator"].startswith(simulator)]


def test_errors_of_long_steps():
    """The largest error of second order, on Go2 and otherwise."""
    worst: dict[bool, float] = defaultdict(float)
    for row in rows("nmdp-pin order 2"):
        if LONG[0] <= float(row["step"]) <= LONG[1]:
            go2 = row["case"].startswith("go2")
            worst[go2] = max(worst[go2], 100.0 * float(row["error"]))
    text = page("accuracy.md")
    assert f"at most {worst[False]:.0f} % in the jumps" in text
    assert f"up to {worst[True]:.0f} % on Go2" in text


@pytest.mark.parametrize(
    ("simulator", "least", "most"), [("nmdp-pin order 2", 1, 2), ("MuJoCo", 3, 4)]
)
def test_times_of_a_step(simulator, least, most):
    """The README's CPU times: ours with steps of 50 ms, those of MuJoCo with any."""
    said = re.search(
        r"takes ([\d.]+) to ([\d.]+) ms of CPU time, a step of MuJoCo ([\d.]+) to ([\d.]+) ms",
        page("../README.md"),
    )
    found = [
        1e3 * float(row["cpu"]) * float(row["step"])
        for row in rows(simulator)
        if simulator == "MuJoCo" or float(row["step"]) == LONG[1]
    ]
    digits = len(said[least].partition(".")[2])
    assert [round(f(found), digits) for f in (min, max)] == [float(said[least]), float(said[most])]
