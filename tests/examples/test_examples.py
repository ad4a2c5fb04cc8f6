"""The examples run as they stand and do what they say."""

import re
from pathlib import Path

import pytest
from contracts import WrenchSpaceContract
from example_programs import EXAMPLES, load, output

from nmdp_pin import Recording, WrenchSpace

_FIRST_ORDER = 0.02  # relative; the stopping distance at 2 ms is 1 % short
_SPEED = 4e-3  # [m/s] of 0.6 and 1.5: 0.3 times the speed at which it bobs on the wall
_BOBBING = 0.04  # relative; in the limit of short steps pads that bob stop 0.6 and 3 % later
_WEIGHT = 0.02  # relative; the mean over two periods of a load that swings


def test_every_example_is_tested():
    """An example without a test, here or in a file of its own, would rot."""
    files = Path(__file__).parents[1].rglob("test_*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    for path in EXAMPLES.glob("*.py"):
        assert re.search(rf'(output|load)\("{path.stem}"', text), path.stem


def test_first_steps(tmp_path):
    """It prints a line for each floor, and leaves a recording of the last run."""
    lines = output("first_steps", tmp_path).splitlines()
    assert len(lines) == 2
    rises = [float(line.split(" rose ")[1].split()[0]) for line in lines]
    assert rises[0] < rises[1]  # who slips does not jump
    recording = Recording.load(tmp_path / "first_steps.npz")
    assert recording.duration == pytest.approx(2.0)


def test_own_contact_model(tmp_path):
    """The box stops where the friction of its direction says."""
    lines = output("own_contact_model", tmp_path).splitlines()
    assert [line.split(":")[0] for line in lines] == ["along", "across"]
    for line in lines:
        found, expected = (float(part.split()[-2]) for part in line.split(","))
        assert found == pytest.approx(expected, rel=_FIRST_ORDER)


def test_magnetic_foot(tmp_path):
    """The box slides down as fast as the pull says, or not at all."""
    lines = output("magnetic_foot", tmp_path).splitlines()
    assert len(lines) == 3
    for line in lines:
        found, expected = (float(part.split()[-2]) for part in line.split(","))
        assert found == pytest.approx(expected, abs=_SPEED)
    assert expected == 0.0


def test_fitted_contact(tmp_path):
    """The box stops where the measured friction says; the bundled samples are these."""
    fit, *lines = output("fitted_contact", tmp_path).splitlines()
    assert fit.startswith("12 vertices, coverage 1.000")
    assert [line.split(":")[0] for line in lines] == ["along", "across"]
    for line in lines:
        found, expected = (float(part.split()[-2]) for part in line.split(","))
        assert found == pytest.approx(expected, rel=_BOBBING)
    bundled = (EXAMPLES.parent / "scenarios/rubber-pad.csv").read_text().split("\n", 1)
    assert bundled[0].startswith("# ")
    assert bundled[1] == (tmp_path / "rubber_pad.csv").read_text()


def test_own_robot(tmp_path):
    """The report finds two feet, and they carry the weight."""
    text = output("own_robot", tmp_path)
    assert "rocker: can be simulated" in text
    assert "contact points (2)" in text
    load_line = text.splitlines()[-1]
    found, expected = (float(part.split()[-2]) for part in load_line.split(","))
    assert found == pytest.approx(expected, rel=_WEIGHT)


class TestGrooves(WrenchSpaceContract):
    """The example's contact model keeps the contract of all contact models."""

    @pytest.fixture
    def space(self) -> WrenchSpace:
        """The example's model."""
        return load("own_contact_model").Grooves(stiffness=2.5e6, along=0.5)
