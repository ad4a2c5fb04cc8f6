"""Scripts that measure: every one starts, and those that can be short run to their end."""

import importlib.util
import sys
from pathlib import Path

import pytest

from nmdp_pin.experiments import nmdp, pbad, sand

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))
SHORT = {  # arguments, and constants of the script, that make a run short
    "ablation": (["sliding-box", "--dt", "0.02", "--duration", "0.02"], {}),
    "batch": (["--size", "1", "--links", "--steps", "1", "--threads", "1"], {}),
    "methods": (["sliding-box", "--dt", "0.02", "--duration", "0.02"], {"REPEATS": 1}),
    "pile": (["--parts", "2", "--time", "0.01"], {}),
    "step": (["sliding-box", "--duration", "0.02"], {"REPEATS": 1, "CALLS": 1}),
    "work_precision": (
        ["a1-trot", "arm-push-off"],
        {"REPEATS": 1, "OURS": (0.05, 0.025), "OUR_LIMIT": 0.0125}
        | {"THEIRS": (0.01, 0.005), "THEIR_LIMIT": 0.0025},
    ),
}
STUDIES = [
    *(
        pytest.param(nmdp, nmdp.NmdpStudy(preset=preset), id=f"nmdp-{name}")
        for name, preset in nmdp.PRESETS.items()
    ),
    pytest.param(pbad, pbad.PbadStudy(), id="pbad"),
    pytest.param(sand, sand.SandStudy(), id="sand"),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_benchmarks(script, monkeypatch, capsys, tmp_path):
    """What they import is there, and so are the settings of those that are run."""
    monkeypatch.chdir(tmp_path)  # some write tables
    monkeypatch.syspath_prepend(str(script.parent))
    spec = importlib.util.spec_from_file_location(f"benchmark_{script.stem}", script)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    spec.loader.exec_module(module)
    assert module.__doc__
    if script.stem not in SHORT:
        return
    arguments, constants = SHORT[script.stem]
    for name, value in constants.items():
        assert hasattr(module, name)
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(sys, "argv", [str(script), *arguments])
    module.main()
    assert capsys.readouterr().out


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
