"""Robosimian's jump by FDDP: the short form jumps, and the replay in short steps agrees."""

import re
import sys
from functools import partial

import numpy as np
import pytest

pytest.importorskip("crocoddyl")

from example_programs import load, output

from nmdp_pin import Recording, Simulator
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin.errors import MissingExtra

RISE = 0.25  # [m] of the torso after 16 iterations from rest; 50 come to 0.40
ERROR = 0.02  # of the height, relative
OFF = 0.01  # [m] the lowest foot is above the ground after 16 iterations: a jump, not a stretch
PRINTED = 6e-5  # [m] half the last digit of what is printed
WEIGHT = 99.888 * 9.81  # [N]
SWING = 0.05  # of it, relative; half a second after landing
KNOTS_AT_5_MS = 120


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """What the short form prints, and its folder."""
    folder = tmp_path_factory.mktemp("jump")
    return output("plan_jump", folder, "--quick", "--out", "short").splitlines(), folder


def numbers(line):
    """All numbers of a line."""
    return [float(number) for number in re.findall(r"[-+]?\d+\.?\d*(?:e[-+]\d+)?", line)]


def test_it_jumps_from_rest(short):
    """The torso rises and all feet are in the air, in the plan's steps and in those of 2 ms."""
    (_, plan, replay, _), _ = short
    for line, step in ((plan, 50.0), (replay, 2.0)):
        h, rise, _, gap = numbers(line)
        assert h == step
        assert rise > RISE
        assert gap > OFF


def test_replay_keeps_the_height(short):
    """In steps of 2 ms the jump is as high as planned, and the printed error is that of both."""
    (_, plan, replay, error), _ = short
    planned, made = numbers(plan)[1], numbers(replay)[1]
    assert abs(made / planned - 1.0) < ERROR
    assert numbers(error)[0] == pytest.approx(100.0 * (made / planned - 1.0), abs=0.1)


def test_knots_are_few(short):
    """A tenth of those of 5 ms, or less, and a quarter of the steps."""
    (first, *_), _ = short
    knots, _, steps, *_ = numbers(first)
    assert knots * 10 <= KNOTS_AT_5_MS
    assert steps * 4 <= KNOTS_AT_5_MS


def test_files(short):
    """The recording is the replay, with its landing; picture and page are there."""
    (_, _, replay, _), folder = short
    recording = Recording.load(folder / "short.npz")
    z = recording.base_position[:, 2]
    assert z.max() - z[0] == pytest.approx(numbers(replay)[1], abs=PRINTED)
    load = recording.contact_forces[:, :, 2].sum(axis=1)
    assert load[z.argmax()] == 0.0
    assert load[-1] == pytest.approx(WEIGHT, rel=SWING)
    assert (folder / "short.png").stat().st_size > 10_000
    assert (folder / "short.html").stat().st_size > 100_000


def test_rest_is_an_optimum():
    """Where no height is asked for, FDDP leaves the robot standing."""
    example = load("plan_jump")
    example.RISE = 0.0
    example.DURATION = 0.15
    example.Simulator = partial(Simulator, vi_newton=ViNewton(tolerance=1e-10, slip=1e-8))
    jumper = example.scene()
    found = example.plan(jumper, 0.03, 2)
    np.testing.assert_allclose(found.u, 0.0, atol=1e-6)
    assert found.cost < 1e-9


def test_the_search_is_shown():
    """A viewer holds the motion of the last iteration, which is the plan."""
    shown = []

    class Window:
        def draw(self, t, q):
            shown.append((t, q))

        def finish(self):
            shown.append(None)

    example = load("plan_jump")
    example.DURATION = 0.15
    jumper = example.scene()
    found = example.plan(jumper, 0.05, 2, (0.1,), Window())
    nq = jumper.simulator.robot.model.nq
    assert shown.count(None) == found.iterations
    times, path = zip(*shown[-5:-1], strict=True)
    np.testing.assert_allclose(times, [0.0, 0.05, 0.1, 0.15])
    np.testing.assert_allclose(path, found.x[:, :nq])


def test_knots_must_fit(capsys):
    """Knots that do not divide the plan are refused."""
    example = load("plan_jump")
    for h in ("0.07", "0.011", "0", "-0.03", "nan"):
        with pytest.raises(SystemExit):
            example.main(["--h", h])
        assert "must divide 0.6 s" in capsys.readouterr().err


def test_missing_crocoddyl_is_named(monkeypatch):
    """Without crocoddyl the example says what to install."""
    monkeypatch.setitem(sys.modules, "crocoddyl", None)
    monkeypatch.delitem(sys.modules, "nmdp_pin.adapters.crocoddyl", raising=False)
    with pytest.raises(MissingExtra, match=r"nmdp-pin\[crocoddyl\]"):
        load("plan_jump")
