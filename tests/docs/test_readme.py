"""The README's snippets run as they stand."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from pages import ROOT, code_on, page

from nmdp_pin import Scenario, run

SNIPPETS = code_on(page("../README.md"))


def test_there_is_a_snippet():
    """The README shows at least one piece of Python."""
    assert SNIPPETS


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_snippet_runs(number, tmp_path, monkeypatch):
    """A reader who pastes a snippet into a file gets no error."""
    monkeypatch.chdir(tmp_path)
    code = compile(SNIPPETS[number], f"README.md, snippet {number + 1}", "exec")
    exec(code, {"__name__": "__main__"})


RISE = 0.01  # [m], of the figures in the table
STEPS = (20, 30, 40, 50)  # [ms]; the shorter ones cost more


@pytest.mark.parametrize(("order", "title"), [(1, "first order"), (2, "second order")])
def test_rises_of_the_table(order, title):
    """Robosimian's first jump rises as high as the README says."""
    lines = page("../README.md").splitlines()
    head = next(line for line in lines if line.startswith("| rise [m]"))
    line = next(line for line in lines if line.startswith(f"| {title}"))
    said = dict(zip(head.split("|")[2:-1], line.split("|")[2:-1], strict=True))
    for step in STEPS:
        words = [f"integrator.order={order}", f"integrator.dt={step / 1e3}", "duration=1.9"]
        height = run(Scenario.load("robosimian-jump-paper", overrides=words)).base_position[:, 2]
        found = height.max() - height[0]
        assert found == pytest.approx(float(said[f" {step} ms "]), abs=RISE)


COMMANDS = code_on(page("../README.md"), "sh")


@pytest.fixture
def bare(tmp_path):
    """A copy of the tracked files and an environment with an empty home, without a network.

    What pip would fetch is lent by the present environment, except for this package.
    """
    checkout, lent, home = (tmp_path / name for name in ("checkout", "lent", "home"))
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a clone")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name, follow_symlinks=False)
    home.mkdir()
    lent.mkdir()
    for path in Path(np.__file__).parents[1].iterdir():
        if "nmdp_pin" not in path.name and path.suffix != ".pth":
            (lent / path.name).symlink_to(path)
    return checkout, {
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(map(str, (lent, Path(pin.__file__).parents[1]))),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"],  # kernels of the same sources
        "OMP_NUM_THREADS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # of a flag that switches off: pip reads it as given
    }


def test_commands_run_as_pasted(bare):
    """The first block of commands, in a fresh checkout and an empty home, shows the jump."""
    checkout, environment = bare
    done = subprocess.run(
        ["sh", "-ec", COMMANDS[0]], cwd=checkout, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "robosimian: jumped 4 times" in done.stdout
    assert "warning" not in done.stdout + done.stderr
    assert (checkout / "jump.html").stat().st_size > 1e5


def test_commands_of_make_are_there():
    """The README names those that run and test a checkout."""
    goals = re.findall(r"`make (\w+)`", page("../README.md"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"run", "test"} <= set(goals)
    assert all(f"\n{goal}:" in makefile for goal in goals)
