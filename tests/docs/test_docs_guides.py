"""The guides of the documentation: their code runs, and prints what they say."""

import re

import pytest
from pages import page, run_code

from nmdp_pin._cli import main

TUTORIAL = page("tutorial.md")
HEIGHT = 0.005  # [m]; the last digit of a search may change with the solver


@pytest.mark.parametrize(
    "name",
    [
        "control_and_sensing.md",
        "getting_started.md",
        "planning.md",
        "scenarios.md",
        "scenes.md",
        "terrain.md",
    ],
)
def test_the_code_runs(name, tmp_path, monkeypatch):
    """A reader who pastes it into a file gets no error."""
    monkeypatch.chdir(tmp_path)
    run_code(page(name))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_tutorial(folder, capsys):
    """Rollouts and gradients find the heights that it prints, and its commands run."""
    names = run_code(TUTORIAL)
    printed = capsys.readouterr().out.splitlines()
    claims = re.findall(r"^    (.*): ([\d.]+) m$", TUTORIAL, re.MULTILINE)
    assert len(claims) == 3
    for (label, said), line in zip(claims, printed[-3:], strict=True):
        found = re.fullmatch(rf"{label}: ([\d.]+) m", line)
        assert found, line
        assert float(found[1]) == pytest.approx(float(said), abs=HEIGHT)
    assert names["found"].ok.all()
    assert names["jump"].x[0, :, 3].max() < 0.15  # [m], within the range of the leg
    for command in (["check", "monopod.urdf"], ["run", "drop.toml", "--out", "drop.npz"]):
        assert f"nmdp-pin {' '.join(command)}" in TUTORIAL
        with pytest.raises(SystemExit) as end:
            main(command)
        assert not end.value.code
    assert (folder / "drop.npz").is_file()
