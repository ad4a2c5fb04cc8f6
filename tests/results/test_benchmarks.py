"""Scripts that measure: every one runs to its end on a small setting."""

import importlib.util
import sys
from pathlib import Path

import pytest

from nmdp_pin.contact import Sphere
from nmdp_pin.papers import nmdp, pbad, sand

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))


# Arguments, and constants of the script, that make a run short.
SHORT: dict[str, tuple[list[str], dict[str, object]]] = {
    "ablation": (["sliding-box", "--dt", "0.02", "--duration", "0.02"], {}),
    "batch": (
        ["--size", "1", "--links", "--steps", "1", "--threads", "1"],
        {"REPEATS": 1, "LENGTH": 2},
    ),
    "gpu": (  # the program of docs/gpu.md, which JAX's cache has
        ["--size", "16", "--dtype", "float64", "--schedule", "own", "--steps", "10"],
        {"ROBOT": {"source": "gym-hopper"}},
    ),
    "chaos": (
        ["--motion", "robosimian-jump-paper", "--preset", "recommended", "--ms", "50"],
        {"RUNS": 2, "SIZES": (1e-6,), "NMDP_STEPS": (0.04, 0.05), "DRAWS": 2},
    ),
    "derivatives": (["--skip", "accuracy", "--steps", "1"], {"COSTS": (("ne-nmdp", {}),)}),
    "falls": (["--number", "2"], {"DURATION": 0.1}),
    "fitted": ([], {"CONES": (4,), "GRIDS": ((4, 3),), "DIRECTIONS": (128,), "RANDOM": 10}),
    "granular": ([], {"FEET": (Sphere(radius=0.04),), "TILTS": ((0.0, 30.0),)}),
    "hard_ground": (
        ["--robots", "solo12", "--depths", "1e-3", "--steps", "0.04", "--seeds", "1"],
        {"DURATION": 0.04, "NOISE": (0.0,), "METHODS": ("ne-nmdp",), "ORDERS": (1,)},
    ),
    "jump_period": (["--method", "ne-nmdp"], {"DURATION": 0.1}),
    "limits": (["cone"], {"DIRECTIONS": (6,), "HEADINGS": 2, "STEP": 0.01}),
    "methods": (["sliding-box", "--dt", "0.02", "--duration", "0.02"], {"REPEATS": 1}),
    "ncp": (["touching"], {"SIDES": (2,)}),
    "ncp_loops": ([], {"STEPS": 2, "MOST": 10}),
    "noisy_targets": ([], {}),
    "obstacles": (["--robots", "solo12", "--places", "wall", "--starts", "1"], {"DURATION": 0.02}),
    "overlaps": (["1", "cone", "box"], {}),
    "physics": (["sliding"], {"EVERY": ("ne-nmdp dissipation",)}),
    "pile": (["--parts", "2", "--time", "0.01"], {"REPEATS": 1}),
    "planar_sliding": (
        [],
        {"REFINEMENTS": (0,), "STEPS": (0.2,), "PUSHES": (("ne-nmdp", "dissipation", 0),)},
    ),
    "planning": (["push"], {"PLANS": {"push": (lambda words: ["8"], {"2": ()}, ("", ""))}}),
    "rollouts": (
        ["--trajectories", "1", "--steps", "1", "--rounds", "1"],
        {"least": lambda action, rounds, clock: 1.0, "CASES": (("pbfd", {}, (1, 1)),)},
    ),
    "rollouts_mujoco": (
        ["--trajectories", "1"],
        {"DURATION": 0.1, "REPEATS": 1, "NOISES": {"noisy": 0.15}, "OURS": (0.05, 0.025)}
        | {"OUR_LIMIT": 0.0125, "THEIRS": (0.01, 0.005), "THEIR_LIMIT": 0.0025},
    ),
    "sampling": (["--trajectories", "1"], {"DURATION": 0.04}),
    "spread": (["robosimian-jump-paper", "--method", "ne-nmdp"], {"NMDP_STEPS": (0.05,)}),
    "start": ([], {"REPEATS": 1, "CODES": {"pass": "pass"}, "COMMANDS": (("--version",),)}),
    "step": (["sliding-box", "--duration", "0.02", "--patch", "2"], {"REPEATS": 1, "CALLS": 1}),
    "terrain": ([], {"COUNTS": (1,), "REPEATS": 1, "SLICE": 1e-4}),
    "trajectories": (["robosimian-jump-paper", "--set", "duration=0.1"], {"NMDP_STEPS": (0.05,)}),
    "viewer_frame": (["box"], {"FRAMES": 2}),
    "work_precision": (
        ["arm-push-off"],
        {"REPEATS": 1, "OURS": (0.05, 0.025), "OUR_LIMIT": 0.0125}
        | {"THEIRS": (0.01, 0.005), "THEIR_LIMIT": 0.0025},
    ),
}
MODULES = {"drake_twin", "mujoco_twin"}  # what other scripts import
CALLED_WITH = {"viewer_frame"}  # those whose `main` takes the words
STUDIES = [
    *(
        pytest.param(nmdp, nmdp.NmdpStudy(preset=preset), id=f"nmdp-{name}")
        for name, preset in nmdp.PRESETS.items()
    ),
    pytest.param(pbad, pbad.PbadStudy(), id="pbad"),
    pytest.param(sand, sand.SandStudy(), id="sand"),
]


def test_every_benchmark_is_run():
    """None is left out, none is gone."""
    assert {script.stem for script in SCRIPTS} == {*SHORT, *MODULES}


@pytest.mark.parametrize("name", SHORT)
def test_benchmarks(name, monkeypatch, capfd, tmp_path):
    """Each runs to its end on a small setting, and prints what it measured."""
    script = ROOT / "benchmarks" / f"{name}.py"
    monkeypatch.chdir(tmp_path)  # some write tables
    monkeypatch.syspath_prepend(str(script.parent))
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", script)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    spec.loader.exec_module(module)
    assert module.__doc__
    arguments, constants = SHORT[name]
    for constant, value in constants.items():
        assert hasattr(module, constant)
        monkeypatch.setattr(module, constant, value)
    monkeypatch.setattr(sys, "argv", [str(script), *arguments])
    module.main(*(arguments if name in CALLED_WITH else ()))
    assert any(character.isdigit() for character in capfd.readouterr().out)


@pytest.mark.parametrize(("paper", "study"), STUDIES)
def test_runs_of_the_papers(paper, study):
    """The scenarios of their figures take the settings of every kind of run."""
    runs = {}
    for figure in paper.FIGURES.values():
        for spec in (*figure.specs(study), *figure.timed(study)):
            keys = tuple(override.partition("=")[0] for override in spec.overrides)
            runs[spec.scenario, spec.method, spec.objective, spec.order, keys] = spec
    assert runs
    for spec in runs.values():
        assert spec.load().duration == spec.duration
