"""Tables that are older than the kernels which they measure still say what the kernels do."""

import functools
import subprocess

import numpy as np
import pytest
from paper_commands import RESULTS

from nmdp_pin import load_robot
from nmdp_pin.papers.campaign import Campaign
from nmdp_pin.papers.data_file import origin, read_data, value
from nmdp_pin.papers.nmdp import PRESETS, NmdpStudy
from nmdp_pin.papers.nmdp.paper import FOUR_TRAJECTORIES
from tools.results.parts import ROOT

MEASURED = ("_kernels", "_integrators", "papers/methods", "_dynamics", "_contact")
"""Folders of nmdp_pin whose code makes the numbers."""

COUNT = 0.1  # relative, of mean iterations and evaluations


@functools.cache
def is_older(commit: str) -> bool:
    """Whether the code that is measured differs from that of a commit, or it is not known."""
    folders = [f"nmdp_pin/{name}" for name in MEASURED]
    words = ["git", "diff", "--quiet", commit.rstrip("+"), "--", *folders]
    return subprocess.run(words, cwd=ROOT, capture_output=True).returncode != 0


def sampling(script, folder) -> list[tuple[float, float, float]]:
    """Random shooting on A1 in steps of 40 ms: the error, as it is kept and now."""
    module = script("sampling")
    robot, gains = load_robot("a1", contacts="feet"), (100.0, 2.0)
    targets = module.targets_of(robot, 20)
    found = []
    for name, method, more in (
        ("ne-nmdp, order 2", "ne-nmdp", {"order": 2}),
        ("pbfd", "pbfd", {}),
    ):
        _, ends, _ = module.ours(robot, targets, gains, 0.04, method, **more)
        (row,) = (
            r
            for r in read_data(RESULTS / "sampling.csv")
            if (r["simulator"], r["step [ms]"]) == (name, "40")
        )
        exact = module.ours(robot, targets, gains, module.LIMITS[method], method)[1]
        found.append((value(row, "error [m]"), module.error_of(ends, exact), 0.002))
    return found


def cost(preset: str, method: str):
    """Spot check of Fig. 6: evaluations of the four trajectories in steps of 50 ms."""

    def check(script, folder) -> list[tuple[float, float, float]]:
        study = NmdpStudy(preset=PRESETS[preset])
        specs = [study.spec(motion, method, 0.05) for motion in FOUR_TRAJECTORIES]
        runs = Campaign(folder, workers=1, quiet=True).run(specs)
        made = np.concatenate([runs[spec].recording().evaluations[1:] for spec in specs])
        (row,) = (
            r
            for r in read_data(RESULTS / f"fig6-{preset}.csv")
            if (r["method"], r["dt [s]"]) == (method, "0.05")
        )
        said = value(row, "mean evaluations")
        return [
            (value(row, "steps"), float(len(made)), 0.0),
            (said, float(made.mean()), COUNT * said),
        ]

    return check


SPOTS = {
    "sampling": sampling,
    "fig6-recommended": cost("recommended", "ne-nmdp"),
    "fig6-paper": cost("paper", "ne-mdp"),
}
"""What makes a few numbers of a table anew, in seconds; those of others are in results_anew."""


@pytest.mark.parametrize("name", SPOTS)
def test_an_old_table_still_holds(name, script, tmp_path):
    """The numbers that are made anew are those that are kept, unless the code is the same."""
    path = RESULTS / f"{name}.csv"
    commit, day = origin(path)
    if not is_older(commit):
        return
    for said, made, tolerance in SPOTS[name](script, tmp_path):
        told = f"{name} of {day} says {said:g}, now {made:g}: make it again (make results)"
        assert made == pytest.approx(said, abs=tolerance), told


def test_other_code_is_noticed():
    """A table of the first commit is older than the kernels, one of the present commit is not."""
    words = ["git", "rev-list", "--max-parents=0", "HEAD"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a clone")
    assert is_older(done.stdout.split()[0])
    assert is_older("unknown")
