"""The evaluation on sand, made of short runs, its page, and the command that shows tables."""

import re

import numpy as np
import pytest
from paper_commands import RESULTS, command, rows

from nmdp_pin._runs.recording import Recording
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.campaign import Campaign
from nmdp_pin.papers.evaluation import evaluate
from nmdp_pin.papers.sand import FIGURES, SandStudy, modes_figure
from nmdp_pin.papers.sand.calibration_figure import (
    MEASURED,
    ROD,
    calibrated_scale,
    largest_lift,
)
from nmdp_pin.papers.sand.walk_figure import ORDERS, ROWS

pytest.importorskip("matplotlib")

PAGE = RESULTS / "sand.md"
SCALE = 1.9  # of the sand in which the rod was measured
LIFT = 0.13  # relative: what one scale leaves at three depths
SHORT = SandStudy(steps=(0.05,), duration=0.2)


def test_every_figure_is_made(tmp_path, monkeypatch):
    """Pictures and data of short runs; the tables name every method and ground."""
    monkeypatch.setattr(modes_figure, "STEPS", (0.05,))
    campaign = Campaign(tmp_path / "runs", workers=1, quiet=True)
    products, failed = evaluate(SHORT, list(FIGURES.values()), campaign, tmp_path)
    assert failed == []
    assert set(products) == {"calibration", "walk", "modes"}
    for product in products.values():
        assert all(path.stat().st_size > 1000 for path in product.pictures)
    (consistency,), (cost,) = products["walk"].tables, products["walk"].aside
    assert [row[:2] for row in consistency.rows] == list(ROWS)
    assert [row[0] for row in cost.rows] == [name for pair in ORDERS for name in pair]
    (row,) = (r for r in rows(tmp_path / "sand-walk.csv") if r["method"] == "ne-zonmdp")
    assert float(row["mean depth [m]"]) > 0.02
    modes = rows(tmp_path / "sand-modes.csv")
    assert {row["mode"] for row in modes} == {"sticks"}


def test_rock_and_sand_differ_in_the_ground_alone():
    """The same robot, gait and steps; only the contact and the friction are others."""
    grounds = {g: SHORT.walk(g, "ne-nmdp", 0.05).load().resolved() for g in ("sand", "rock")}
    assert grounds["rock"].pop("contact")["model"] == "friction-cone"
    assert grounds["sand"].pop("contact")["model"] == "granular"
    for table in grounds.values():
        table["terrain"]["shapes"][0].pop("friction", None)
    assert grounds["rock"] == grounds["sand"]


def test_mistakes_are_named():
    """No step, or no time."""
    with pytest.raises(ExperimentError, match="no step"):
        SandStudy(steps=()).checked()
    with pytest.raises(ExperimentError, match="duration must be > 0"):
        SandStudy(duration=0.0).checked()


def test_the_page_says_what_the_data_say():
    """Distances and spreads in the page's text are those of its data."""
    text = PAGE.read_text(encoding="utf-8")
    found = {(r["ground"], r["method"]): r for r in rows(PAGE.parent / "sand-walk.csv")}
    sand, rock = found["sand", "ne-nmdp"], found["rock", "ne-nmdp"]
    ways = [float(v) for k, v in sand.items() if k.startswith("distance at")]
    assert f"walks {min(ways):.1f} to {max(ways):.1f} m in 10 s on sand" in text
    assert max(ways) < min(float(v) for k, v in rock.items() if k.startswith("distance at"))
    assert f"differs by {1e3 * float(sand['std of distance [m]']):.0f} mm" in text
    assert f"less than on rock ({1e3 * float(rock['std of distance [m]']):.0f} mm)" in text
    assert f"the sinkage by {1e3 * float(sand['std of depth [m]']):.1f} mm" in text
    assert re.search(r"^`nmdp-pin paper sand walk`; data:", text, re.MULTILINE)


def test_the_lift_of_a_rod_is_the_measured_one():
    """One scale fits all depths, it is the documented one, and the walk has three times it."""
    depths, lifts = np.array(MEASURED).T
    np.testing.assert_allclose(largest_lift(depths, scale=SCALE), lifts, rtol=LIFT)
    assert calibrated_scale() == pytest.approx(SCALE, abs=0.05)
    data = rows(PAGE.parent / "sand-calibration.csv")
    assert [(float(r["depth [m]"]), float(r["measured [N]"])) for r in data] == [*MEASURED]
    computed = [float(r["calibrated [N]"]) for r in data]
    np.testing.assert_allclose(computed, largest_lift(depths, scale=calibrated_scale()), rtol=1e-4)
    walk = Scenario.load("robosimian-walk-sand").resolved()["contact"]
    assert walk["scale"] == pytest.approx(3.0 * SCALE)
    assert (walk["radius"], walk["length"]) == (ROD.radius, ROD.length)


def test_half_of_spider_is_on_sand():
    """The left feet carry on rock, the right ones sink into the sand."""
    setup = Scenario.load("spider-half-sand", overrides=["duration=0.4"]).build(visuals=False)
    results = list(setup.simulator.run(setup.state, setup.controller, dt=0.02, duration=0.4))
    assert all(result.status.name == "CONVERGED" for result in results)
    depth = dict(zip(setup.robot.contact_points.names, results[-1].contact_depths, strict=True))
    assert min(depth["rear_right"], depth["front_right"]) > 0.03
    assert depth["front_left"] < 0.03


def test_the_command_makes_figures(tmp_path):
    """`paper sand modes` writes a picture; an unknown figure is refused."""
    out = ["--out", tmp_path, "--workers", 1, "--duration", 0.1]
    assert command("sand", "modes", *out) == 0
    assert (tmp_path / "sand-modes.png").is_file()
    assert Recording.load(next((tmp_path / "runs").glob("*.npz"))).n > 1
    assert command("sand", "fig1", *out) == 2
