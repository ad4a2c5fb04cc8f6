"""Tables that are older than the kernels which they measure still say what the kernels do."""

import functools
import subprocess

import numpy as np
import pytest
from paper_commands import RESULTS

from nmdp_pin import load_robot
from nmdp_pin.papers.campaign import Campaign
from nmdp_pin.papers.consistency import consistency
from nmdp_pin.papers.curve import Curve, time_grid
from nmdp_pin.papers.data_file import origin, read_data, value
from nmdp_pin.papers.nmdp import PRESETS, NmdpStudy
from nmdp_pin.papers.nmdp.paper import FOUR_TRAJECTORIES, JUMP, WALK, WALK_FAST
from nmdp_pin.papers.reference_error import rise
from tools.results.parts import ROOT

MEASURED = ("_kernels", "_integrators", "papers/methods", "_dynamics", "_contact")
"""Folders of nmdp_pin whose code makes the numbers."""

COUNT = 0.1  # relative, of mean iterations and evaluations
PLACE = 0.02  # [m] of runs that are not chaotic, which another version of a solver may move
EARLY = 2.0  # [s] of the curves that are made anew


@functools.cache
def is_older(commit: str) -> bool:
    """Whether the code that is measured differs from that of a commit, or it is not known."""
    folders = [f"nmdp_pin/{name}" for name in MEASURED]
    words = ["git", "diff", "--quiet", commit.rstrip("+"), "--", *folders]
    return subprocess.run(words, cwd=ROOT, capture_output=True).returncode != 0


def sampling(script, folder) -> list[tuple[float, float, float]]:
    """Random shooting on A1 in steps of 40 ms: the error, as it is kept and now."""
    module = script("sampling")
    module.LIMITS["ne-nmdp"] = 2e-3  # [s], where it hardly differs from that of the table
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


def curve(table: str, motion, preset: str):
    """Spot check of Fig. 3 to 5, whose runs Table I has as well: a run of 50 ms at two seconds."""

    def check(script, folder) -> list[tuple[float, float, float]]:
        spec = NmdpStudy(preset=PRESETS[preset], duration=EARLY).spec(motion, "ne-nmdp", 0.05)
        recording = Campaign(folder, workers=1, quiet=True).run([spec])[spec].recording()
        (row,) = (r for r in read_data(RESULTS / f"{table}.csv") if r["t [s]"] == f"{EARLY:g}")
        said = value(row, "ne-nmdp 50 ms")
        return [(said, float(motion.quantity.curve(recording).y[-1]), PLACE)]

    return check


def table1(script, folder) -> list[tuple[float, float, float]]:
    """How far the walks of Table I in steps of 30 to 50 ms are apart."""
    study = NmdpStudy(preset=PRESETS["recommended"])
    specs = [study.spec(WALK, "ne-nmdp", dt) for dt in study.steps_of("ne-nmdp")]
    runs = Campaign(folder, workers=1, quiet=True).run(specs)
    curves = [WALK.quantity.curve(runs[spec].recording()) for spec in specs]
    made = consistency(curves, time_grid(0.05, WALK.duration)).spread
    rows = read_data(RESULTS / "table1-recommended.csv")
    (row,) = (r for r in rows if r["motion"] == WALK.title and r["method"].startswith("ne-nmdp,"))
    return [(value(row, "mean std across dt [m]"), made, 0.25 * PLACE)]


def error(script, folder) -> list[tuple[float, float, float]]:
    """The first apex of the jump in steps of 50 ms of second order."""
    who = {"objective": "dissipation", "order": 2}
    study = NmdpStudy(preset=PRESETS["recommended"])
    spec = study.spec(JUMP, "ne-nmdp", 0.05, longest=EARLY, **who)
    recording = Campaign(folder, workers=1, quiet=True).run([spec])[spec].recording()
    key = {"motion": JUMP.title, "method": "ne-nmdp", "objective": "dissipation", "order": "2"}
    (row,) = (
        r
        for r in read_data(RESULTS / "error-recommended.csv")
        if r["dt [s]"] == "0.05" and all(r[name] == text for name, text in key.items())
    )
    return [(value(row, "value [m]"), rise(JUMP.quantity.curve(recording), 1.9), PLACE)]


def jump_period(script, folder) -> list[tuple[float, float, float]]:
    """The largest rise of the slow jump in steps of 50 ms."""
    module = script("jump_period")
    module.DURATION = module.PERIOD  # the first jump is the highest one
    (row,) = (
        r
        for r in read_data(RESULTS / "jump-period.csv")
        if (r["gait"], r["method"]) == ("stretched, 2 s", "ne-nmdp")
    )
    made = module.height(NmdpStudy(), "ne-nmdp", 0.05, "stretched, 2 s").y.max()
    return [(float(row["rise"].split(", ")[-1]), made, PLACE)]


def chaos(script, folder) -> list[tuple[float, float, float]]:
    """The order of the distance of walks in steps of 50 ms from starts a millimetre apart."""
    module = script("chaos")
    made = [
        Curve(run[:, 0], run[:, 1])
        for run in module.runs(WALK_FAST, "ne-nmdp", "recommended", 0.05, 1e-3, 3)
    ]
    (row,) = (
        r
        for r in read_data(RESULTS / "chaos.csv")
        if (r["step [ms]"], r["starts differ by"]) == ("50", "0.001")
    )
    spread = consistency(made, module.GRID).spread
    return [(np.log10(float(row["spread"].split()[0])), np.log10(spread), 0.5)]


def obstacles(script, folder) -> list[tuple[float, float, float]]:
    """Solo12 falls on a wall: no run fails, and none goes in deeper than the deepest one."""
    module = script("obstacles")
    why, deepest, _ = module.fails(
        load_robot("solo12", visuals=False), "wall", "ne-nmdp", 2, 0.02, 0
    )
    row = read_data(RESULTS / "obstacles.csv")[0]
    most = value(row, "deepest overlap [mm]")
    return [(value(row, "failed"), float(why != ""), 0.0), (0.5 * most, 1e3 * deepest, 0.6 * most)]


def falls(script, folder) -> list[tuple[float, float, float]]:
    """Of some falls none goes in unreported."""
    module = script("falls")
    made = [module.fall(number, module.KINDS) for number in range(8)]
    deep = sum(each.unreported > module.UNREPORTED for each in made)
    return [(value(read_data(RESULTS / "falls.csv")[0], "deep unreported"), float(deep), 0.0)]


SPOTS = {
    "sampling": sampling,
    "chaos": chaos,
    "error-recommended": error,
    "falls": falls,
    "jump-period": jump_period,
    "obstacles": obstacles,
    "table1-recommended": table1,
    **{
        f"fig5-{name}-{preset}": curve(f"fig5-{name}-{preset}", motion, preset)
        for name, motion in (("walk", WALK), ("walk-fast", WALK_FAST))
        for preset in ("recommended", "paper")
    },
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
