"""Sweeps: grids, keys, one tidy table, resuming after a kill."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from programs import program

from nmdp_pin._cli import main
from nmdp_pin._files.journal import Journal, read_chunks
from nmdp_pin._runs.run_store import PlannedRun, RunStore
from nmdp_pin._scenario import Scenario
from nmdp_pin._state.status import Status
from nmdp_pin._sweep import GridAxis, Sweep
from nmdp_pin.errors import MissingExtra, RecordingError, ScenarioError, SweepError

PATIENCE = 60.0  # [s] for another process on a machine that is busy
SHORT = ("duration=0.02",)
FRICTIONS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def table_of(path) -> list[dict]:
    """Rows of a Parquet file, read without our code."""
    return pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()


def journal_of(table: Path) -> Path:
    """File of the runs of a table."""
    return table.with_name(f"{table.name}.runs")


def finished_in(journal: Path) -> list[dict]:
    """Rows that a journal holds."""
    chunks = read_chunks(journal, "journal") if journal.exists() else []
    return [row for chunk in chunks for row in json.loads(chunk).values()]


def sweep(*grids, source="sliding-box", overrides=SHORT) -> Sweep:
    """A sweep of short runs."""
    return Sweep(source, [GridAxis.parse(grid) for grid in grids], overrides=overrides)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("integrator.dt=0.01,0.02", (0.01, 0.02)),
        ("contact.friction=0.4:1.0:7", FRICTIONS),
        ("contact.stiffness=1e4:1e6:3:log", (1e4, 1e5, 1e6)),
        ("integrator.vi_newton.max_iterations=10:50:5", (10, 20, 30, 40, 50)),
        ("integrator.vi_newton.max_iterations=1:2:3", (1.0, 1.5, 2.0)),
        ("integrator.name=ne-nmdp,pbd", ("ne-nmdp", "pbd")),
        ("integrator.name='ne-nmdp', 'a:b:c'", ("ne-nmdp", "a:b:c")),
        ("robot.initial.velocity=[1, 0, 0],[2.0, 0, 0]", ([1, 0, 0], [2.0, 0, 0])),
        ("contact.circumscribed=true,false", (True, False)),
    ],
)
def test_grids(text, values):
    """Lists and ranges are read as TOML would, whole numbers staying whole."""
    axis = GridAxis.parse(text)
    assert axis.key == text.partition("=")[0]
    assert axis.values == values
    assert [type(value) for value in axis.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("integrator.dt", "must look like KEY="),
        ("=1,2", "must look like KEY="),
        ("integrator.dt=0.1:0.2:x", "must look like KEY="),
        ("integrator.dt=0.1:0.2:1", "a count of 2 or more"),
        ("integrator.dt=0.1:0.2:3:cubic", "only 'log'"),
        ("integrator.dt=-0.1:0.2:3:log", "both ends > 0"),
        ("integrator.dt=0.1,0.1", "has the value 0.1 twice"),
        ("integrator.dt=0.1,nan", "allowed are finite numbers"),
        ("integrator.dt={a=1},2", "allowed are finite numbers"),
        ("integrator.dt=[1,2", "must look like KEY="),
        ("integrator.dt=0.1:0.2:1000000000000", "at most 100000"),
    ],
)
def test_wrong_grids(text, says):
    """A grid that cannot be read is refused, and the error says what can be."""
    with pytest.raises(SweepError, match=says):
        GridAxis.parse(text)


def test_runs_are_the_points_of_the_grid():
    """Every combination once, the last axis fastest, each a resolved scenario."""
    found = sweep("integrator.dt=0.01,0.02", "contact.friction=0.4:1.0:7").points
    points = [(at.values["integrator.dt"], at.values["contact.friction"]) for at in found]
    runs = [at.run for at in found]
    assert points == [(dt, mu) for dt in (0.01, 0.02) for mu in FRICTIONS]
    for (dt, mu), run in zip(points, runs, strict=True):
        scenario = Scenario.from_dict(run.scenario)
        assert (scenario.integrator.dt, scenario.duration) == (dt, 0.02)
        assert [section.shape.friction for section in scenario.terrain.shapes] == [mu]
    assert len({run.scenario_hash for run in runs}) == len(runs)


def test_a_star_stands_for_all_entries():
    """All shapes of a terrain get the value, as with the short form contact.friction."""
    for key in ("terrain.shapes.*.friction", "contact.friction"):
        run = sweep(f"{key}=0.3,0.4", source="falling-box-stairs").points[1].run
        frictions = [shape["friction"] for shape in run.scenario["terrain"]["shapes"]]
        assert len(frictions) > 1
        assert set(frictions) == {0.4}


@pytest.mark.parametrize(
    ("grids", "error", "says"),
    [
        (["contact.frction=1,2"], ScenarioError, "'frction' is not a key of this table"),
        (["terrain.friction=0.1,0.2"], ScenarioError, r"like 'terrain.friction': terrain\.shap"),
        (["integrator.stiffness=1,2"], ScenarioError, r"contact\.stiffness"),
        (["integrator.dt=0.1,-1.0"], ScenarioError, "grid point .*must be > 0"),
        (["integrator.*=1,2"], ScenarioError, "'integrator' is none"),
        (["disturbances.*.start=1,2"], ScenarioError, "'disturbances' is none"),
        (["integrator.dt=0.1,0.2", "integrator.dt=0.3"], SweepError, "'integrator.dt' twice"),
        (
            ["contact.friction=0.1,0.2", "terrain.shapes.0.friction=0.3"],
            SweepError,
            "are the same run",
        ),
        ([], SweepError, "needs a grid"),
        (
            ["integrator.dt=0.1:0.2:1001", "duration=1:2:1001"],
            SweepError,
            "1002001 points; at most 100000",
        ),
    ],
)
def test_wrong_keys(grids, error, says):
    """Keys and values are checked for all runs before the first, and errors say what exists."""
    with pytest.raises(error, match=says):
        sweep(*grids)


def test_one_tidy_table(tmp_path, capsys):
    """The command makes one row a run, in the order of the grid, and makes none of them again."""
    pytest.importorskip("pyarrow")
    out = tmp_path / "box.parquet"
    words = ["sweep", "sliding-box", "--grid", "integrator.dt=0.01,0.02", "--grid"]
    words += ["contact.friction=0.4,0.5", "--set", "duration=0.04", "--out", str(out)]
    assert command(*words) == 0
    said = capsys.readouterr().out
    assert "4 runs, 0 kept from before, 0 failed" in said
    printed = [line.split() for line in said.splitlines() if "converged" in line]
    rows = table_of(out)
    assert ["/".join(line[:2]) for line in printed] == (
        ["0.01/0.4", "0.01/0.5", "0.02/0.4", "0.02/0.5"]
    )
    assert [float(line[5]) for line in printed] == [round(row["distance"], 4) for row in rows]
    points = [(row["integrator.dt"], row["contact.friction"]) for row in rows]
    assert points == [(0.01, 0.4), (0.01, 0.5), (0.02, 0.4), (0.02, 0.5)]
    overrides = ["integrator.dt=0.02", "terrain.shapes.0.friction=0.4", "duration=0.04"]
    scenario = Scenario.load("sliding-box", overrides=overrides)
    setup = scenario.build(visuals=False)
    *_, last = setup.simulator.run(setup.state, setup.controller, dt=0.02, duration=0.04)
    row = rows[2]
    assert (row["q"], row["v"]) == (last.state.q.tolist(), last.state.v.tolist())
    assert row["kinetic_energy"] == last.kinetic_energy
    assert (row["status"], row["steps"], row["t"]) == ("converged", 2, 0.04)
    assert row["base_x"] == pytest.approx(row["distance"]) != 0.0
    assert row["evaluations"] > row["iterations"] > 0.0 < row["wall_time"]
    assert sorted(tmp_path.iterdir()) == [out, journal_of(out)]
    before = out.read_bytes()
    assert command(*words) == 0
    assert "4 runs, 4 kept from before" in capsys.readouterr().out
    assert out.read_bytes() == before


def test_a_grid_may_grow(tmp_path):
    """More values, more keys and fewer of them keep the runs that are there."""
    pytest.importorskip("pyarrow")
    out = tmp_path / "box.parquet"
    assert sweep("integrator.dt=0.01,0.02").run(out).kept == 0
    old = {row["scenario_hash"]: row["wall_time"] for row in table_of(out)}
    grown = sweep("integrator.dt=0.01,0.02", "contact.friction=0.5,0.6").run(out)
    assert (grown.runs, grown.kept) == (4, 2)
    new = {row["scenario_hash"]: row["wall_time"] for row in table_of(out)}
    assert old.items() <= new.items()
    assert sweep("integrator.dt=0.01").run(out).kept == 1
    assert len(table_of(out)) == 1
    assert sweep("integrator.dt=0.01,0.02", "contact.friction=0.5,0.6").run(out).kept == 4


def test_failed_runs_are_rows(tmp_path):
    """A run that fails numerically is a row with its status, and no reason to stop."""
    pytest.importorskip("pyarrow")
    out = tmp_path / "jump.parquet"
    hopeless = ("duration=0.1", "integrator.control.min_step=0.05", "integrator.dt=0.05")
    grid = "integrator.vi_newton.max_iterations=1,100"
    assert sweep(grid, source="robosimian-jump", overrides=hopeless).run(out).failed == 1
    failed, made = table_of(out)
    assert failed["status"] in {status.name.lower() for status in Status} - {"converged"}
    assert failed["steps"] < 2 == made["steps"]


def children(pid: int) -> list[str]:
    """Processes that a process has started; none where the system does not tell."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return listed.read_text().split() if listed.exists() else []


def test_a_killed_sweep_goes_on(tmp_path):
    """After kill -9 in the middle no finished run is lost or made again, and none is missing."""
    pytest.importorskip("pyarrow")
    out = tmp_path / "box.parquet"
    journal = journal_of(out)
    grid = ["contact.friction=0.4:1.0:7", "integrator.dt=0.001"]
    words = ["sweep", "sliding-box", "--workers", "2", "--set", "duration=0.2", "--out", out]
    words += [word for text in grid for word in ("--grid", text)]
    deadline = time.monotonic() + PATIENCE
    with program(*words, "--quiet") as process:
        while len(finished_in(journal)) < 2:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        workers = [Path("/proc") / number for number in children(process.pid)]
        process.send_signal(signal.SIGKILL)
    while any(worker.exists() for worker in workers):  # they end with it
        assert time.monotonic() < deadline
        time.sleep(0.02)
    finished = finished_in(journal)
    assert not out.exists()
    with journal.open("ab") as file:
        file.write(bytes(7))  # what a kill in the middle of a chunk leaves
    told = []
    outcome = sweep(*grid, overrides=["duration=0.2"]).run(
        out, progress=lambda done, total: told.append((done, total))
    )
    assert outcome.kept == len(finished) >= 2
    assert outcome.runs == 7
    assert told == [(k, 7) for k in range(outcome.kept, 8)]
    rows = table_of(out)
    assert len({row["scenario_hash"] for row in rows}) == len(rows) == 7
    for row in finished:  # wall_time tells a run from its repetition
        assert row["wall_time"] in [other["wall_time"] for other in rows]


def test_other_files_are_left_alone(tmp_path):
    """A file that is no sweep's table, a broken journal, a second writer: refused, kept."""
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    grid = sweep("integrator.dt=0.01,0.02")
    other, text = tmp_path / "other.parquet", tmp_path / "text.parquet"
    parquet.write_table(pyarrow.table({"a": [1]}), other)
    text.write_text("no table")
    for path in (other, text):
        with pytest.raises(SweepError, match="not the table of a sweep"):
            grid.run(path)
    assert text.read_text() == "no table"
    broken = journal_of(tmp_path / "a.parquet")
    broken.write_text("no row\n")
    with pytest.raises(RecordingError, match="not a journal"):
        grid.run(tmp_path / "a.parquet")
    assert broken.read_text() == "no row\n"
    with (
        RunStore(journal_of(tmp_path / "b.parquet")),
        pytest.raises(RecordingError, match="another process"),
    ):
        grid.run(tmp_path / "b.parquet")
    with pytest.raises(RecordingError, match="no folder"):
        grid.run(tmp_path / "nowhere" / "c.parquet")


def test_a_signal_behind_a_write_loses_no_run(tmp_path, monkeypatch):
    """A run that is on the disk stays there if the store is interrupted before it knows of it."""

    def append(journal: Journal, content: bytes) -> None:
        written(journal, content)
        raise KeyboardInterrupt

    written = Journal.append
    monkeypatch.setattr(Journal, "append", append)
    path = tmp_path / "runs.journal"
    run = PlannedRun("box", {})
    with pytest.raises(KeyboardInterrupt), RunStore(path) as store:
        store.keep(run, {"status": "done"})
    monkeypatch.undo()
    with RunStore(path) as store:
        assert store.find(run) == {"status": "done"}


@pytest.mark.parametrize("place", [0.3, 0.6, 0.9])
def test_a_corrupt_journal_enters_no_table(tmp_path, place):
    """A run whose row is damaged is made again: its row is that of the whole journal."""
    pytest.importorskip("pyarrow")
    out = tmp_path / "box.parquet"
    grid = sweep("contact.friction=0.4,0.5,0.6")
    grid.run(out)
    truth = [row["q"] for row in table_of(out)]
    content = bytearray(journal_of(out).read_bytes())
    content[int(place * len(content))] ^= 1
    journal_of(out).write_bytes(content)
    assert grid.run(out).kept == int(3 * place)
    assert [row["q"] for row in table_of(out)] == truth


def test_all_points_are_checked_before_the_first_run(tmp_path):
    """A part that does not fit the others is found, and its point named, before anything runs."""
    pytest.importorskip("pyarrow")
    grid = sweep("controller.gait=jump,hop", source="robosimian-jump", overrides=("duration=0.1",))
    done = []
    with pytest.raises(ScenarioError, match=r"grid point \{'controller.gait': 'hop'\}: .*hop"):
        grid.run(tmp_path / "a.parquet", progress=lambda made, total: done.append(made))
    assert done == []
    assert os.listdir(tmp_path) == []


def test_rows_of_other_code_are_not_taken(tmp_path, monkeypatch):
    """After a change of the package a table is not completed with runs of another."""
    pytest.importorskip("pyarrow")
    out = tmp_path / "box.parquet"
    sweep("integrator.dt=0.01").run(out)
    for module in ("run_many", "run_store"):
        monkeypatch.setattr(f"nmdp_pin._runs.{module}.code_version", lambda: "another")
    assert sweep("integrator.dt=0.01,0.02").run(out).kept == 0
    assert {row["code"] for row in table_of(out)} == {"another"}


def test_without_pyarrow(tmp_path, monkeypatch):
    """The error names the extra, before any run."""
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"nmdp-pin\[sweep\]"):
        sweep("integrator.dt=0.01").run(tmp_path / "a.parquet")


def test_wrong_input_of_the_command(tmp_path, capsys):
    """Mistakes give exit code 2 and one paragraph."""
    out = str(tmp_path / "a.csv")
    assert command("sweep", "sliding-box", "--grid", "integrator.dt=0.1", "--out", out) == 2
    assert "must end in .parquet" in capsys.readouterr().err
    out = str(tmp_path / "a.parquet")
    assert command("sweep", "sliding-box", "--grid", "contact.mu=0.1", "--out", out) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: grid point {'contact.mu': 0.1}")
    assert "Keys of this scenario like 'contact.mu': terrain.shapes.0.friction" in told
    assert os.listdir(tmp_path) == []


def command(*words) -> int:
    """Exit code of a command run in this process."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return int(end.value.code or 0)
