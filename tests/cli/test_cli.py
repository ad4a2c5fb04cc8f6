"""The commands do what they say."""

import asyncio
import importlib
import logging
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import urllib.parse
import urllib.request
from inspect import getdoc
from pathlib import Path

import numpy as np
import pytest
import trimesh
import umsgpack
from programs import program
from tornado.websocket import websocket_connect

from nmdp_pin._cli import COMMANDS, main
from nmdp_pin._cli.terminal import Compilation
from nmdp_pin._control import Command, Passive
from nmdp_pin._robot import load_robot
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._runs.recording import Recording
from nmdp_pin._scenario import Scenario
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import RecordingError

SHORT = ["--duration", "0.02", "--dt", "0.01"]
PATIENCE = 60  # [s] for another process on a machine that is busy


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A short recording of the sliding box."""
    path = tmp_path_factory.mktemp("recorded") / "box.npz"
    assert command("run", "sliding-box", *SHORT, "--out", path, "--quiet") == 0
    return path


def wait_for(lines, text) -> None:
    """Read lines up to the one that holds a text; a compilation may have said something before."""
    assert any(text in line for line in lines)


def command(*words) -> int:
    """Exit code of a command run in this process."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return int(end.value.code or 0)


def test_run_writes_what_it_was_asked_for(tmp_path, capsys):
    """Recording, figure and page are written; the summary tells how it went."""
    out, plot, html = (tmp_path / f"box.{ending}" for ending in ("npz", "png", "html"))
    words = ["run", "sliding-box", *SHORT, "--out", out, "--plot", plot, "--html", html]
    assert command(*words) == 0
    said = capsys.readouterr()
    assert "steps: 2, 0 failed" in said.out
    assert f"wrote {html}" in said.out
    assert "steps of 10 ms with ne-nmdp" in said.err
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "<script>" in html.read_text(encoding="utf-8")
    recording = Recording.load(out)
    assert np.allclose(recording.t, [0.0, 0.01, 0.02])
    assert recording.meta["scenario"]["integrator"]["dt"] == 0.01


def test_a_compilation_is_counted(capsys):
    """One line says what is compiled, one how long it took; none with --quiet, or without one."""
    logger = logging.getLogger("nmdp_pin")
    with Compilation(quiet=False):
        logger.warning("compiles")
        logger.warning("compiles")
    said = r"compiling the kernels [^.]*\ncompiling, once: \d:\d\d:\d\d\s*\n"
    assert re.fullmatch(said, capsys.readouterr().err)
    with Compilation(quiet=True):
        logger.warning("compiles")
    with Compilation(quiet=False):
        pass
    assert not logger.handlers
    assert capsys.readouterr().err == ""


def test_options_are_overrides(tmp_path, capsys):
    """--set, --dt, --integrator and --duration reach the recorded scenario; --quiet is silent."""
    out = tmp_path / "a.npz"
    words = ["--set", "terrain.shapes.0.friction=0.2", "--integrator", "ne-mdp", *SHORT]
    assert command("run", "sliding-box", *words, "--out", out, "--quiet") == 0
    said = capsys.readouterr()
    assert said.out + said.err == ""
    scenario = Scenario.from_dict(Recording.load(out).meta["scenario"])
    assert scenario.integrator.name == "ne-mdp"
    assert scenario.duration == 0.02
    assert scenario.terrain.shapes[0].shape.friction == 0.2


def test_replay_of_a_recording_is_exact(recorded):
    """The scenario in a recording repeats the run to the bit."""
    recording = Recording.load(recorded)
    scenario = Scenario.from_dict(recording.meta["scenario"])
    setup = scenario.build(visuals=False)
    run = setup.simulator.run(
        setup.state, setup.controller, dt=scenario.integrator.dt, duration=scenario.duration
    )
    assert np.array_equal(recording.q[1:], [result.state.q for result in run])


def test_failed_simulation_is_recorded(tmp_path, capsys):
    """A step that fails gives exit code 1, a reason, and a recording that holds it."""
    out = tmp_path / "failed.npz"
    hopeless = [
        "--set",
        "integrator.vi_newton.max_iterations=1",
        "--set",
        "integrator.control.min_step=0.05",
    ]
    assert command("run", "robosimian-jump", *hopeless, "--out", out) == 1
    said = capsys.readouterr()
    assert "the simulation failed at t = " in said.err
    assert "1 failed" in said.out
    recording = Recording.load(out)
    assert recording.status[-1] != 0
    assert np.all(recording.status[:-1] == 0)


def test_compare_runs_of_a_fixed_base(tmp_path, capsys):
    """Joints are compared, and nothing is said of a base that stays."""
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file, dt in zip(files, ("0.01", "0.02"), strict=True):
        assert command("run", "chain-swing", "--duration", "0.2", "--dt", dt, "--out", file) == 0
    capsys.readouterr()
    assert command("compare", *files) == 0
    names, _, other = capsys.readouterr().out.splitlines()
    assert "q off first [rad, m]" in names
    assert "height" not in names
    assert 0.0 < float(other.split()[5]) < 0.1


def test_plot_compare_and_page(recorded, tmp_path, capsys):
    """The commands on recordings write their files."""
    other = tmp_path / "box.npz"  # the same name: the table must tell them apart
    assert command("run", "sliding-box", *SHORT, "--integrator", "ne-mdp", "--out", other) == 0
    figure, both, page = (tmp_path / name for name in ("a.png", "b.png", "c.html"))
    assert command("plot", recorded, "--out", figure) == 0
    assert command("plot", other) == 0
    assert command("compare", recorded, other, "--out", both) == 0
    assert command("view", recorded, "--html", page) == 0
    for path in (figure, both, page, tmp_path / "box.png"):
        assert path.stat().st_size > 1000
    said = capsys.readouterr().out
    assert str(recorded) in said
    assert "height gain" in said


def test_view_of_a_recording_from_python(tmp_path, capsys):
    """It holds its robot and terrain; those of a scenario are shown in their place."""
    robot = load_robot("box")
    plain, page = tmp_path / "box.npz", tmp_path / "box.html"
    state = State(0.0, robot.standing, np.zeros(6))
    Recorder(robot, state, terrain=Terrain(Plane())).recording().save(plain)
    assert command("view", plain, "--html", page) == 0
    assert command("view", plain, "--html", page, "--force", "--scenario", "sliding-box") == 0
    assert page.stat().st_size > 1000
    assert command("plot", plain) == 0
    assert "left out" not in capsys.readouterr().err


def test_lists(capsys):
    """Robots and scenarios are listed, the latter with what they show."""
    assert command("robots") == 0
    assert command("scenarios") == 0
    said = capsys.readouterr().out
    assert "robosimian" in said
    assert "go2" in said
    assert "Robosimian jumps" in said


def test_check_reports(capsys):
    """The report on a robot names its mass and contact points."""
    assert command("check", "spider", "--base", "planar") == 0
    said = capsys.readouterr().out
    assert "100 kg" in said
    assert "contact points (4)" in said


def test_live_view_becomes_the_replay(tmp_path):
    """--view waits for the page, draws the run and replays it in meshcat, until Ctrl-C."""
    out = tmp_path / "box.npz"
    with program("run", "sliding-box", *SHORT, "--view", "--out", out) as process:
        url = said_of(process, "live at")
        with urllib.request.urlopen(url, timeout=PATIENCE) as page:
            assert b"MeshCat" in page.read()
        drawn = asyncio.run(drawings(url, until="set_animation"))
        assert {"set_object", "set_transform", "set_animation"} <= set(drawn)
        said_of(process, "replaying at")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "0 failed" in out
    assert "Traceback" not in err


def test_a_viewed_sweep_has_one_worker(tmp_path, capsys):
    """Runs that are shown one after another are not made by several workers."""
    words = ["sweep", "sliding-box", "--grid", "integrator.dt=0.01,0.02", "--view"]
    assert command(*words, "--workers", "2", "--out", tmp_path / "box.parquet") == 2
    assert "leave --workers and --ray out" in capsys.readouterr().err


def said_of(process, what) -> str:
    """What the first line on standard error that begins so says further."""
    for line in process.stderr:
        if line.startswith(what):
            return line.removeprefix(what).strip().partition(";")[0]
    raise AssertionError(f"nothing was said of {what}")


async def drawings(url, *, until):
    """Kinds of the commands that meshcat's page at `url` receives, as far as the kind `until`."""
    socket = urllib.parse.urlsplit(url)
    page = await websocket_connect(f"ws://{socket.netloc}/", max_message_size=2**28)
    kinds = []
    while until not in kinds:
        kinds.append(umsgpack.unpackb(await page.read_message())["type"])
    page.close()
    await page.read_message()  # None: it is closed, and needs the loop for it
    return kinds


def test_view_writes_the_page_beside_the_recording(recorded):
    """`view` writes a page that needs no server, and ends."""
    path = recorded.with_name(f"{recorded.name}.html")
    with program("view", recorded) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert str(path) in out
    assert "MeshCat" in path.read_text(encoding="utf-8")
    assert "Traceback" not in err


INTERRUPTED_IMPORT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *rest):
        if name == "nmdp_pin._simulator":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["nmdp-pin", "run", "sliding-box"]
from nmdp_pin_command import main
main()
"""


def test_an_interrupted_start_prints_one_line(monkeypatch, capsys):
    """Ctrl-C during the imports, and before a run, ends the command without a traceback."""
    made = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True
    )
    assert (made.returncode, made.stdout, made.stderr) == (130, "", "stopped\n")

    def interrupted(*words, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(Scenario, "load", interrupted)
    assert command("run", "sliding-box") == 130
    assert capsys.readouterr().err == "stopped\n"


@pytest.mark.parametrize("number", [signal.SIGTERM])
def test_interrupted_run_keeps_what_it_computed(tmp_path, number):
    """Ctrl-C in the middle of a run saves the steps that were made, with the shell's exit code."""
    out = tmp_path / "stopped.npz"
    words = ["run", "sliding-box", "--duration", "3600", "--dt", "0.001", "--out", out]
    with program(*words) as process:
        wait_for(process.stderr, "steps of 1 ms")  # it runs from here on
        process.send_signal(number)
        said, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert "stopped at t = " in err
    assert "Traceback" not in err
    assert "0 failed" in said
    recording = Recording.load(out)
    assert 0.0 < recording.t[-1] < 3600.0
    assert np.all(recording.status == 0)


@pytest.mark.parametrize("finished", [False, True])
def test_an_interrupted_sweep_names_what_there_is(tmp_path, monkeypatch, capsys, finished):
    """The runs that it kept; none where none was finished."""

    def interrupted(self, out, **options):
        if finished:
            out.with_name(f"{out.name}.runs").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("nmdp_pin._sweep.Sweep.run", interrupted)
    words = ["sweep", "sliding-box", "--grid", "integrator.dt=0.01,0.02", "--quiet"]
    assert command(*words, "--out", tmp_path / "box.parquet") == 130
    kept = f"the finished runs are kept in {tmp_path}/box.parquet.runs: the same command goes on"
    said = capsys.readouterr().err
    assert said.startswith(f"stopped; {kept}" if finished else "stopped; no run was finished\n")
    assert said.count("\n") == 1


def test_help_names_every_command(capsys):
    """`nmdp-pin --help` lists the commands, with what their own help begins with."""
    assert command("--help") == 0
    said = capsys.readouterr().out
    assert {"run", "view", "plot", "compare", "robots", "scenarios", "check"} < COMMANDS.keys()
    for name, (module, summary) in COMMANDS.items():
        assert f" {name} " in said
        text = getdoc(getattr(importlib.import_module(f"nmdp_pin._cli.{module}"), name))
        assert " ".join(text.partition("\n\n")[0].split()) == summary


def test_version_is_that_of_the_package(capsys):
    """`nmdp-pin --version` prints what pyproject.toml says and runs nothing."""
    assert command("--version") == 0
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert capsys.readouterr().out == f"nmdp-pin {project['version']}\n"


def test_bundled_files_are_found_where_the_package_is():
    """Robots and scenarios come from the installed package, not from the working directory."""
    assert Path(Scenario.load("spider-walk").build_robot().source).is_absolute()


def rows_in(journal: Path) -> int:
    """Rows that can be read of a run that goes on; 0 before it begins."""
    try:
        return Recording.load(journal).n
    except RecordingError:
        return 0


def test_a_killed_run_is_recovered(tmp_path, capsys):
    """After kill -9 what the journal holds is read by plot and view, and recovered."""
    out, page = tmp_path / "killed.npz", tmp_path / "page.html"
    left = tmp_path / "killed.npz.unfinished"
    words = ["run", "sliding-box", "--duration", "3600", "--dt", "0.001", "--out", out]
    with program(*words) as process:
        wait_for(process.stderr, "steps of 1 ms")  # it runs from here on
        deadline = time.monotonic() + PATIENCE
        while rows_in(left) < 10:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert os.listdir(tmp_path) == [left.name]
    found = Recording.load(left)
    assert command("plot", left, "--out", tmp_path / "a.png") == 0
    assert command("view", left, "--html", page) == 0
    assert command("run", "sliding-box", *SHORT, "--out", out) == 2
    assert "recover" in capsys.readouterr().err
    assert command("recover", left) == 0
    assert np.array_equal(Recording.load(out).q, found.q)
    assert not left.exists()
    assert "0 failed" in capsys.readouterr().out


def test_a_controller_that_fails_loses_nothing(tmp_path, monkeypatch, capsys):
    """The steps before a command that is not finite are in the recording."""
    out = tmp_path / "run.npz"
    usual = Passive.command

    def command_of(self, state, h):
        if state.t > 0.035:
            return Command(tau=np.full(6, np.nan))
        return usual(self, state, h)

    monkeypatch.setattr(Passive, "command", command_of)
    assert command("run", "sliding-box", "--dt", "0.01", "--duration", "0.1", "--out", out) == 2
    assert "finite" in capsys.readouterr().err
    assert np.allclose(Recording.load(out).t, [0.0, 0.01, 0.02, 0.03, 0.04])
    assert os.listdir(tmp_path) == ["run.npz"]


def test_nothing_is_replaced_without_force(tmp_path, recorded, capsys):
    """Files that are there stay, unless --force is given; two outputs are not one file."""
    out = tmp_path / "a.npz"
    words = ["run", "sliding-box", *SHORT, "--out", out]
    out.write_text("mine")
    assert command(*words) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert command(*words, "--force") == 0
    assert Recording.load(out).n == 3
    for verb, option, name in (("plot", "--out", "b.png"), ("view", "--html", "c.html")):
        (tmp_path / name).write_text("mine")
        assert command(verb, recorded, option, tmp_path / name) == 2
        assert (tmp_path / name).read_text() == "mine"
    (tmp_path / "link.npz").symlink_to(tmp_path / "new.npz")
    both = ["--out", tmp_path / "new.npz", "--dump", tmp_path / "link.npz"]
    assert command("run", "sliding-box", *SHORT, *both) == 2
    assert "two outputs" in capsys.readouterr().err


def test_names_cannot_steer_the_terminal(tmp_path, recorded, capsys):
    """Escapes and markup in a file's names are written out."""
    loaded = Recording.load(recorded)
    loaded.meta["robot"] = "\x1b[2J[red]box"
    loaded.save(tmp_path / "a.npz")
    Path(tmp_path / "a.npz").rename(tmp_path / "a.npz.unfinished")
    assert command("recover", tmp_path / "a.npz.unfinished", "--out", tmp_path / "b.npz") == 2
    assert command("plot", "\x1b[2J.npz") == 2
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\\x1b[2J" in said.err


def test_a_recording_of_another_robot_is_not_shown(tmp_path, recorded, capsys):
    """Rows that the robot of the scenario has not are refused."""
    loaded = Recording.load(recorded)
    loaded.meta["scenario"]["robot"] = {"name": "finger"}
    loaded.save(tmp_path / "a.npz")
    assert command("view", tmp_path / "a.npz", "--html", tmp_path / "a.html") == 2
    assert "coordinates" in capsys.readouterr().err


def test_run_looks_for_packages_where_it_is_told(tmp_path, capsys):
    """A mesh of a package is found in a folder that --package-dir names, and not without it."""
    (tmp_path / "packages/things").mkdir(parents=True)
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "packages/things/box.stl")
    (tmp_path / "robot").mkdir()
    file = tmp_path / "robot/r.urdf"
    file.write_text(
        '<robot name="r"><link name="l"><inertial><mass value="1"/><inertia ixx="1e-3" iyy="1e-3" '
        'izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
        '<mesh filename="package://things/box.stl"/></geometry></collision></link></robot>'
    )
    words = ["run", str(file), "--duration", "0.02"]
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert "package_dirs" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main([*words, "--package-dir", str(tmp_path / "packages")])
    assert not end.value.code
