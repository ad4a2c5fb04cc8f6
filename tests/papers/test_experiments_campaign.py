"""Runs of an evaluation: what they are, that each is made once, and what becomes of failures."""

import dataclasses
import os
import signal
import time

import numpy as np
import pytest
from programs import program

from nmdp_pin._files.journal import read_chunks
from nmdp_pin._runs import run_many as many
from nmdp_pin._runs import run_store
from nmdp_pin._runs.run_store import _bare, code_version
from nmdp_pin.errors import ExperimentError, IntegratorError, ScenarioError
from nmdp_pin.papers.campaign import Campaign
from nmdp_pin.papers.run_spec import RunSpec

PATIENCE = 60  # [s] for other processes on a machine that is busy

BOX = RunSpec(scenario="sliding-box", method="ne-nmdp", dt=0.01, duration=0.05, preset="test")
HOPELESS = dataclasses.replace(
    BOX,
    scenario="robosimian-jump-paper",
    preset="hopeless",
    dt=0.05,
    duration=0.3,
    overrides=("integrator.vi_newton.max_iterations=1", "integrator.control.min_step=0.05"),
)


@pytest.fixture
def counted(monkeypatch):
    """Names of the runs that are simulated."""
    made: list[str] = []
    make = many._make

    def count(shared, planned):
        made.append(planned.name)
        return make(shared, planned)

    monkeypatch.setattr(many, "_make", count)
    return made


def here(folder) -> Campaign:
    """A campaign in this process."""
    return Campaign(folder, workers=1, quiet=True)


def test_names_tell_runs_apart():
    """Every setting that is not in the preset changes the name, steps that look alike included."""
    changes = {
        "scenario": "chain-slope",
        "method": "ne-mdp",
        "dt": 0.010000001,
        "duration": 0.06,
        "preset": "other",
        "objective": "kinetic",
        "order": 2,
        "variant": "com",
        "base": "planar",
        "repeat": 1,
    }
    assert changes.keys() == {f.name for f in dataclasses.fields(RunSpec)} - {"overrides"}
    names = [dataclasses.replace(BOX, **{key: value}).name for key, value in changes.items()]
    assert len({BOX.name, *names}) == 1 + len(changes)
    assert all("/" not in name and " " not in name for name in names)


def test_settings_reach_the_scenario():
    """What a spec says is what is run."""
    spec = dataclasses.replace(
        BOX,
        scenario="robosimian-jump-paper",
        objective="kinetic",
        variant="com",
        base="free-flyer",
        overrides=("contact.zeta=1e-4",),
    )
    scenario = spec.load()
    assert (scenario.integrator.name, scenario.integrator.dt) == ("ne-nmdp", 0.01)
    assert scenario.integrator.objective == "kinetic"
    assert (scenario.robot.variant, scenario.robot.base) == ("com", "free-flyer")
    assert (scenario.duration, scenario.contact.zeta) == (0.05, 1e-4)


def test_what_a_method_has_not_is_refused():
    """An unknown method, an option that the method lacks and a wrong setting are named."""
    with pytest.raises(IntegratorError, match="no-such"):
        dataclasses.replace(BOX, method="no-such").load()
    with pytest.raises(ExperimentError, match=r"'ne-mdp' has no option 'objective'"):
        dataclasses.replace(BOX, method="ne-mdp", objective="kinetic").load()
    with pytest.raises(ExperimentError, match=r"'ne-mdp' has no option 'order'"):
        dataclasses.replace(BOX, method="ne-mdp", order=2).load()
    with pytest.raises(ScenarioError, match="dt"):
        dataclasses.replace(BOX, dt=50.0).load()


def test_finished_runs_are_not_made_again(tmp_path, counted):
    """A second campaign computes nothing and gives the same runs."""
    specs = [BOX, dataclasses.replace(BOX, method="ne-mdp"), BOX]
    first = here(tmp_path).run(specs)
    assert sorted(counted) == sorted({spec.name for spec in specs})
    again = here(tmp_path).run(specs)
    assert len(counted) == 2
    assert first == again
    recording = again[BOX].recording()
    assert again[BOX].end == pytest.approx(BOX.duration)
    assert again[BOX].failure == ""
    assert recording.t[-1] == again[BOX].end
    assert recording.meta["code"] == code_version()


@pytest.mark.parametrize("damage", ["half", "empty", "text"])
def test_damaged_files_are_made_again(tmp_path, counted, damage):
    """A file that is not a whole recording is replaced."""
    run = here(tmp_path).run([BOX])[BOX]
    whole = run.path.read_bytes()
    run.path.write_bytes({"half": whole[: len(whole) // 2], "empty": b"", "text": b"x"}[damage])
    assert here(tmp_path).run([BOX])[BOX].recording().n == 6
    assert len(counted) == 2


def test_other_settings_are_made_anew(tmp_path, counted):
    """A file of the same name with other settings is not taken for the run."""
    here(tmp_path).run([BOX])
    rough = dataclasses.replace(BOX, overrides=("terrain.shapes.0.friction=0.9",))
    assert rough.name == BOX.name
    assert here(tmp_path).run([rough])[rough].recording().meta["scenario"]["terrain"]["shapes"][0][
        "friction"
    ] == pytest.approx(0.9)
    assert len(counted) == 2
    with pytest.raises(ExperimentError, match="two runs with different settings"):
        here(tmp_path).run([BOX, rough])


def test_other_code_makes_runs_anew(tmp_path, counted, monkeypatch):
    """A run of an earlier state of the package is not taken for one of the present state."""
    here(tmp_path).run([BOX])
    for module in (many, run_store):
        monkeypatch.setattr(module, "code_version", lambda: "of another day")
    here(tmp_path).run([BOX])
    assert len(counted) == 2


def test_code_version_reads_the_code_alone():
    """Comments, docstrings and layout do not count; a number does."""
    code = 'def f(x):\n    """Say."""\n    return x + 1  # why\n'
    assert _bare(code) == _bare("def f(x):\n\n    return (x + 1)\n")
    assert _bare(code) != _bare(code.replace("1", "2"))
    assert len(code_version()) == 16


def test_a_failing_run_is_kept_and_reported(tmp_path, counted):
    """It ends early, says why, and is not tried again: the same inputs would fail the same way."""
    for _ in range(2):
        run = here(tmp_path).run([HOPELESS])[HOPELESS]
        assert run.failure != ""
        assert 0.0 <= run.end < HOPELESS.duration
        assert run.recording().status[-1] != 0
    assert len(counted) == 1


def test_processes_give_the_same_runs(tmp_path):
    """Runs made in other processes are those made in this one, to the bit."""
    specs = [BOX, dataclasses.replace(BOX, method="ne-mdp"), HOPELESS]
    apart = Campaign(tmp_path / "apart", workers=2, quiet=True).run(specs)
    alone = here(tmp_path / "here").run(specs)
    for spec in specs:
        assert np.array_equal(apart[spec].recording().q, alone[spec].recording().q)
        assert apart[spec].failure == alone[spec].failure


def test_mistakes_of_other_processes_are_raised(tmp_path):
    """A setting that only the start of the run refuses is the same error as in this process."""
    bad = dataclasses.replace(
        BOX, scenario="robosimian-jump-paper", overrides=("contact.angle=nan",)
    )
    worse = dataclasses.replace(BOX, preset="worse", overrides=("integrator.gamma=-1",))
    with pytest.raises(ScenarioError):
        here(tmp_path).run([bad])
    with pytest.raises(ScenarioError, match="gamma"):
        Campaign(tmp_path, workers=2, quiet=True).run([BOX, worse])


def test_interruption_keeps_what_is_finished(tmp_path):
    """SIGTERM ends the command soon, with its code; the short runs are there, the long one not."""
    words = ["paper", "nmdp", "fig3", "--method", "ne-mdp", "--dt", "0.05", "--dt", "0.0001"]
    with program(*words, "--out", tmp_path, "--workers", "2") as command:
        begin = time.monotonic()
        journal = tmp_path / "runs" / "runs.journal"
        while not (journal.exists() and read_chunks(journal, "journal")):
            assert time.monotonic() < begin + PATIENCE
            time.sleep(0.05)
        command.send_signal(signal.SIGTERM)
        _, said = command.communicate(timeout=PATIENCE)
    assert command.returncode == 130
    assert "kept in" in said
    (short,) = tmp_path.glob("runs/*_0.05s_of10.0.npz")
    assert sorted(os.listdir(tmp_path / "runs")) == sorted([short.name, "runs.journal"])


def test_bad_folders_and_workers(tmp_path):
    """Where nothing can be written, and a number of processes that is none, are errors."""
    with pytest.raises(ExperimentError, match="at least 1"):
        Campaign(tmp_path, workers=0)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ExperimentError, match="cannot make the folder"):
        here(tmp_path / "file").run([BOX])
