"""What the pages say of errors and computing times is in docs/results/work_precision.csv."""

import importlib
import math
import re
from collections import defaultdict

import pytest
from pages import ROOT, page

from nmdp_pin.papers.data_file import read_data

LONG = (0.01, 0.05)  # [s], the steps of which docs/accuracy.md speaks


def rows(simulator: str) -> list[dict[str, str]]:
    """Those of a simulator."""
    path = ROOT / "docs/results/work_precision.csv"
    return [row for row in read_data(path) if row["simulator"] == simulator]


@pytest.fixture
def script(monkeypatch):
    """The module that makes the table."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("work_precision")


def test_cost_of_a_known_curve(script):
    """An error of 8 h^2 for 1/h of CPU time; a long step that is accurate by chance counts not."""
    steps = (0.1, 0.05, 0.025, 0.0125)
    curve = [script.Row("", "", h, 8.0 * h * h, math.nan, 1.0 / h, 0.0) for h in steps]
    assert script.cost(curve, "path", 0.01) == pytest.approx(math.sqrt(800.0))
    assert script.cost(curve, "path", 0.1) == 10.0
    assert script.cost(curve, "path", 0.001) == math.inf
    lucky = [curve[0]._replace(path=1e-3), *curve[1:]]
    assert script.cost(lucky, "path", 0.01) == script.cost(curve, "path", 0.01)
    failed = [curve[0], curve[1]._replace(path=math.inf), *curve[2:]]
    assert script.cost(failed, "path", 0.01) == 40.0
    flat = [row._replace(path=0.011 - 1e-5 / row.step) for row in curve]
    steeper = [script.Row("", "", 2.0, 1.0, math.nan, 0.1, 0.0), *curve]
    assert script.cost([*steeper[:1], *flat], "path", 0.0105) == math.inf
    assert script.cost(steeper, "path", 0.01) == script.cost(curve, "path", 0.01)


def test_table_of_ratios(script):
    """The page has the tables that the script makes of the data."""
    rows = script.merged(ROOT / "docs/results/work_precision.csv", [])
    for peer in ("MuJoCo", "Drake"):
        assert "\n".join(script.ratios(rows, peer)) in page("results/work_precision.md")


def test_errors_of_long_steps():
    """The largest error of second order, on Go2 and otherwise."""
    worst: dict[tuple[bool, str], float] = defaultdict(float)
    for row in rows("nmdp-pin order 2"):
        if LONG[0] <= float(row["step"]) <= LONG[1]:
            go2 = row["case"].startswith("go2")
            for metric in ("path", "height"):
                error = 100.0 * float(row[metric] or "nan")
                worst[go2, metric] = max(worst[go2, metric], error)
    text = page("accuracy.md")
    path, height = worst[False, "path"], worst[False, "height"]
    assert f"at most {path:.0f} %, its height by {height:.0f} % in the jumps" in text
    path, height = worst[True, "path"], worst[True, "height"]
    assert f"On Go2 it errs by up to {path:.0f} %, the height by {height:.0f} %" in text


@pytest.mark.parametrize(
    ("simulator", "least", "most"), [("nmdp-pin order 2", 1, 2), ("MuJoCo implicitfast", 3, 4)]
)
def test_times_of_a_step(simulator, least, most):
    """The README's CPU times: ours with steps of 50 ms, those of MuJoCo with any."""
    said = re.search(
        r"takes ([\d.]+) to ([\d.]+) ms of CPU time, "
        r"a step of MuJoCo \(`implicitfast`\) ([\d.]+) to ([\d.]+) ms",
        page("../README.md"),
    )
    found = [
        1e3 * float(row["cpu"]) * float(row["step"])
        for row in rows(simulator)
        if simulator.startswith("MuJoCo") or float(row["step"]) == LONG[1]
    ]
    digits = len(said[least].partition(".")[2])
    assert [round(f(found), digits) for f in (min, max)] == [float(said[least]), float(said[most])]
