"""`make run`: the first thing that a user sees."""

import re
import shlex
import subprocess
import sys

import numpy as np
import pinocchio as pin
import pytest
from pages import ROOT

from nmdp_pin import Recording, Scenario
from nmdp_pin.viz.scene import Scene

GROUND = -0.8  # [m]
PRESSED = 0.1  # [m] by which a landing from a metre may press what touches into the ground


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of the command that the Makefile has, and what it prints on both streams."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^\t\$\(BIN\)/nmdp-pin (run (?:.*\\\n)*.*)$", text, re.MULTILINE)
    folder = tmp_path_factory.mktemp("out")
    words = shlex.split(recipe.replace("\\\n", "").replace("$(OUT)", str(folder)))
    done = subprocess.run(
        [sys.executable, "-m", "nmdp_pin", *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout, done.stderr


def test_six_lines_say_what_happened(made):
    """Jumps, base, joints, contacts, steps and speed, and where the files are; no warning."""
    folder, said, noted = made
    lines = said.splitlines()
    files = [f"robosimian-jump.{ending}" for ending in ("npz", "png", "html")]
    assert lines[6:] == [f"wrote {folder / name}" for name in files]
    assert all((folder / name).stat().st_size > 1e5 for name in files)
    assert re.fullmatch(
        r"robosimian: jumped 4 times, highest 0\.6\d m above the start; landed",
        lines[0],
    )
    starts = ["base: rose", "joints: ", "contacts: ", "steps: 200, 0 failed", "speed: 10 s"]
    assert [line[: len(start)] for line, start in zip(lines[1:6], starts, strict=True)] == starts
    speed = re.search(r"([\d.]+) x real time", lines[5])
    assert float(speed[1]) > 1.0
    assert "warning" not in said + noted


def test_the_robot_is_on_the_ground(made):
    """All that can touch it does: no part is deeper in it than a landing presses it."""
    recording = Recording.load(made[0] / "robosimian-jump.npz")
    robot = Scenario.from_dict(recording.meta["scenario"]).build().robot
    data, lowest = robot.model.createData(), []
    pieces = Scene(robot, None).bodies
    for q in recording.q:
        pin.forwardKinematics(robot.model, data, q)
        places = [data.oMi[piece.joint].homogeneous @ piece.placement for piece in pieces]
        lowest += [
            (piece.mesh.vertices @ place[2, :3] + place[2, 3]).min()
            for piece, place in zip(pieces, places, strict=True)
        ]
    assert -PRESSED < np.min(lowest) - GROUND < 0.0
