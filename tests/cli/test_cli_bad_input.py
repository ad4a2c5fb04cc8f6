"""Every mistake that a user can make ends in one paragraph and the right exit code."""

import re
import socket

import pytest

from nmdp_pin._cli import main
from nmdp_pin._runs.recording import Recording

INERTIAL = """<inertial><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
BODY = '<link name="body">' + INERTIAL + "{more}</link>"
LINK = """<link name="arm">{inertial}</link><joint name="hinge" type="revolute">
<parent link="body"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
MESH = '<collision><geometry><mesh filename="package://nowhere/a.stl"/></geometry></collision>'
BOMB = """<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><robot name="&c;"><link name="body"/></robot>"""
SETTINGS = """urdf = "own.urdf"
[[contact]]
name = "a"
link = "body"
"""
GAIT = """urdf = "own.urdf"
[gaits.bend]
joints = ["hinge"]
times = [0.0, 2.0, 1.0]
positions = [[0.0], [0.1], [0.2]]
"""


def exit_code(*words) -> int:
    """Exit code of a command."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return int(end.value.code or 0)


def assert_refused(capsys, *words, says=()):
    """The command ends with exit code 2 and one paragraph that holds the given parts."""
    assert exit_code(*words) == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err + said.out
    counted = re.sub(r"^compiling.*\n", "", said.err, flags=re.M)  # by the first test of a process
    assert counted.startswith("error: ")
    assert "\n\n" not in said.err.strip()
    for part in says:
        assert part in said.err


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def recorded(place):
    """A short recording."""
    words = ["run", "sliding-box", "--duration", "0.01", "--dt", "0.01", "--quiet"]
    assert exit_code(*words, "--out", "box.npz") == 0
    return place / "box.npz"


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("robot.name=robosimiam", ("robosimiam", "robosimian")),
        ("integrator.nme=3", ("integrator.nme", "Did you mean 'name'?")),
        ("integrator.dt=-0.01", ("integrator.dt", "-0.01")),
        ("integrator.dt=0", ("integrator.dt", "> 0")),
        ("integrator.dt=10", ("integrator.dt", "did you mean 0.01 s?")),
        ("terrain.shapes.0.friction=-1", ("terrain.shapes.0.friction", ">= 0")),
        ("contact.stiffness=0", ("contact.stiffness", "> 0")),
        ("controller.kp=nan", ("controller.kp", "nan")),
        ("controller.gait=hop", ("controller", "hop", "jump")),
        ("integrator.objective=speed", ("integrator", "speed", "kinetic")),
        ("robot.contacts=['tail']", ("tail",)),
        ("robot.contacts=[{name='a', link='tail'}]", ("tail",)),
        ("robot.contacts=[{name='a', link='torso'}, {name='a', link='torso'}]", ("'a'",)),
        ("robot.initial.joints={tail=1.0}", ("robot.initial.joints.tail",)),
    ],
)
def test_bad_setting(capsys, setting, says):
    """A value that cannot be used is named with what is allowed."""
    assert_refused(capsys, "run", "robosimian-jump", "--set", setting, says=says)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--dt", "50", "did you mean 0.05 s?"),
        ("--dt", "nan", "nan"),
        ("--duration", "-1", "duration"),
        ("--integrator", "euler", "ne-nmdp"),
        ("--out", "run.txt", ".npz"),
        ("--plot", "run.npz", ".png"),
        ("--html", "run", ".html"),
        ("--set", "dt", "key.path=value"),
    ],
)
def test_bad_option(capsys, option, value, says):
    """An option that cannot be used is refused before anything runs."""
    assert_refused(capsys, "run", "sliding-box", option, value, says=(says,))


@pytest.mark.parametrize("words", [("run",), ("frobnicate",), ("run", "sliding-box", "--dt", "x")])
def test_bad_usage(capsys, words):
    """A command line that is none says how to use it."""
    assert exit_code(*words) == 2
    said = capsys.readouterr().err
    assert "Usage" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<robot name='own'><link", ("own.urdf",)),
        ("", ("own.urdf",)),
        ("<robot name='own'/>", ("own.urdf", "link")),
        ("<robot name='own'><link name='body'/></robot>", ("own.urdf", "mass")),
        (BOMB, ("own.urdf",)),
        (
            f"<robot name='own'>{BODY.format(more=MESH)}</robot>",
            ("own.urdf", "package://nowhere/a.stl"),
        ),
    ],
    ids=[
        "broken XML",
        "empty file",
        "empty robot",
        "no mass",
        "entity bomb",
        "missing mesh",
    ],
)
def test_bad_urdf(capsys, place, text, says):
    """A URDF that cannot be used is named with the element at fault, by run and by check."""
    (place / "own.urdf").write_text(text)
    robot = "robot={urdf='own.urdf'}"
    assert_refused(capsys, "run", "sliding-box", "--set", robot, says=says)
    assert exit_code("check", "own.urdf") == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err + said.out
    for part in says:
        assert part in said.err + said.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GAIT, ("bend", "knot")),
        (SETTINGS + SETTINGS.partition("\n")[2], ("'a'",)),
        (SETTINGS.replace('"body"', '"tail"'), ("tail",)),
        (SETTINGS + "radus = 0.1", ("contact.0.radus",)),
        ('urdf = "../../own.urdf"', ("own.urdf",)),
    ],
    ids=["unsorted knots", "contact named twice", "unknown link", "typo", "climbs out"],
)
def test_bad_robot_settings(capsys, place, text, says):
    """A robot.toml that cannot be used is named with the key at fault."""
    (place / "own.urdf").write_text(
        f"<robot name='own'>{BODY.format(more='')}{LINK.format(inertial=INERTIAL)}</robot>"
    )
    (place / "robot.toml").write_text(text)
    robot = "robot={urdf='robot.toml'}"
    assert_refused(capsys, "run", "sliding-box", "--set", robot, says=("robot.toml", *says))


@pytest.mark.parametrize("out", ["folder.npz", "file.txt/run.npz", "nowhere/run.npz"])
def test_output_that_cannot_be_written(capsys, place, out):
    """A place that cannot be written to is found before the run, and nothing is left."""
    (place / "folder.npz").mkdir()
    (place / "file.txt").write_text("x")
    before = sorted(place.rglob("*"))
    assert_refused(capsys, "run", "robosimian-jump", "--out", out, says=("cannot write", out))
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("verb", ["view", "plot", "compare"])
def test_truncated_recording(capsys, recorded, share, verb):
    """Half a recording is refused by every command that reads one."""
    content = recorded.read_bytes()
    recorded.write_bytes(content[: int(share * len(content))])
    assert_refused(capsys, verb, recorded, says=("box.npz",))


def test_recording_that_is_not_there(capsys, place):
    """A file that does not exist is named."""
    assert_refused(capsys, "plot", "no.npz", says=("no.npz",))


def test_recording_without_scenario(capsys, recorded):
    """A recording of before robots were kept in them has none to draw; the message says so."""
    loaded = Recording.load(recorded)
    del loaded.meta["scenario"]
    loaded.save(recorded)
    assert_refused(capsys, "view", recorded, says=("does not hold its robot",))


def test_port_in_use(capsys, recorded):
    """A port that another program has is an error for the live view."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        run = ["run", "sliding-box", "--view", "--port", port]
        assert_refused(capsys, *run, says=(f"port {port}",))


def test_plots_without_matplotlib(capsys, monkeypatch):
    """Without matplotlib a plot is refused before the run, with the extra to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert_refused(
        capsys, "run", "sliding-box", "--plot", "a.png", says=("matplotlib", "nmdp-pin[plots]")
    )


LONG = "m" * 5000
DEEP = ".".join(["a"] * 3000)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "sliding-box", "--set", "robot={urdf='loop.urdf'}"], "loop.urdf"),
        (["check", "loop.urdf"], "loop.urdf"),
        (["run", "sliding-box", "--set", f"{DEEP}=1"], "at most 32 parts"),
        (["run", "sliding-box", "--set", f"x={{{DEEP}=1}}"], "nested more deeply than 32"),
        (["run", "deep.toml"], "nested more deeply than 32"),
        (["run", "tables.toml"], "and 19994 more"),
        (["run", "sliding-box", "--set", f"duration={[1] * 100_000}"], "a number of seconds"),
        (["run", "sliding-box", "--set", f"integrator.name={[1] * 100_000}"], "integrator.name"),
        (["run", "sliding-box", "--set", f"robot={{urdf='{LONG}'}}"], "characters"),
        (["run", LONG], "not a bundled scenario"),
        (["run", f"{LONG}.toml"], "no such file"),
        (["run", f"~{LONG}/leg.urdf"], "leg.urdf"),
        (["check", f"{LONG}.urdf"], "characters"),
    ],
)
def test_what_is_long_or_leads_nowhere(capsys, place, words, says):
    """The message is short, however long the input is."""
    (place / "loop.urdf").symlink_to("loop.urdf")
    (place / "deep.toml").write_text(f"{DEEP} = 1\n")
    (place / "tables.toml").write_text("".join(f"[t{k}]\n" for k in range(20_000)))
    assert exit_code(*words) == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said) < 4500
    assert said.count("\n") <= 12


def test_a_bug_keeps_its_traceback(monkeypatch):
    """An error that is not the user's is not hidden."""
    monkeypatch.setattr("nmdp_pin._scenario.Scenario.load", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["run", "sliding-box"])
