"""Cells of every page of results, made anew in seconds: they differ by no more than they may."""

import importlib

import numpy as np
import pytest
from pages import page
from paper_commands import RESULTS

from nmdp_pin.papers.campaign import Campaign
from nmdp_pin.papers.data_file import read_data, value
from nmdp_pin.papers.nmdp import NmdpStudy
from nmdp_pin.papers.nmdp.paper import JUMP
from nmdp_pin.papers.pbad import PbadStudy, cost_figure, friction_figure, optimiser_figure
from nmdp_pin.papers.pbad.paper import OPTIMISERS
from nmdp_pin.papers.sand import SandStudy
from nmdp_pin.papers.sand.calibration_figure import MEASURED, calibrated_scale, largest_lift
from tools.results.page_tables import printed_tables
from tools.results.parts import ROOT

MOTION = 0.02  # relative, of runs that are not chaotic: what another version of a solver may move
COUNT = 0.1  # relative, of iterations and evaluations
DIGITS = 1e-4  # relative, of what follows from formulas; data have six digits
EARLY = 2.0  # [s] of the curves of the NMDP paper that are made again

USUAL = OPTIMISERS[3]  # of the paper's section VI


def cell(name: str, column: str, **key: str) -> float:
    """A number of the data: of the row that has these texts."""
    rows = read_data(RESULTS / f"{name}.csv")
    (row,) = (r for r in rows if all(r[k] == text for k, text in key.items()))
    return value(row, column)


def recording_of(spec, folder):
    """The run of a spec."""
    return Campaign(folder, workers=1, quiet=True).run([spec])[spec].recording()


def test_nmdp(tmp_path):
    """Where the torso is after two seconds of the jump of Fig. 4."""
    said = cell("fig4-paper-wide", "ne-nmdp 50 ms", **{"t [s]": f"{EARLY:g}"})
    spec = NmdpStudy(duration=EARLY).spec(JUMP, "ne-nmdp", 0.05)
    curve = JUMP.quantity.curve(recording_of(spec, tmp_path))
    assert curve.y[-1] == pytest.approx(said, abs=MOTION)


def test_pbad_friction(tmp_path):
    """Fig. 5: how far the box slides in steps of 0.1 s."""
    said = cell("pbad-fig5", "distance [m]", method="pbfd", mu="0.5", **{"dt [s]": "0.1"})
    spec = friction_figure._spec(PbadStudy(folder=tmp_path), "pbfd", 0.5, 0.1)
    x = recording_of(spec, tmp_path).base_position[:, 0]
    assert x[-1] - x[0] == pytest.approx(said, rel=MOTION)


@pytest.mark.parametrize("chain", optimiser_figure.CHAINS, ids=lambda chain: chain.scenario)
def test_pbad_iterations(chain, tmp_path):
    """Fig. 4: iterations of the usual optimiser in steps of 20 ms."""
    key = {"chain": chain.title, "dt [s]": "0.02", "optimiser": USUAL.label}
    said = cell("pbad-fig4", "mean iterations", **key)
    spec = optimiser_figure._spec(PbadStudy(folder=tmp_path), chain, USUAL, 0.02)
    iterations = recording_of(spec, tmp_path).iterations[1:]
    assert iterations.mean() == pytest.approx(said, rel=COUNT)


def test_pbad_halvings(tmp_path):
    """Fig. 6: iterations, and halved steps of 0.1 s, of the fastest case."""
    case = cost_figure._Case("pbfd", 0.1)
    spec = cost_figure._spec(PbadStudy(folder=tmp_path), case)
    recording = recording_of(spec, tmp_path)
    key = {"method": "pbfd", "dt [s]": "0.1", "contact points": "64", "friction": "0.3"}
    key["control"] = "halving"
    halved = int((recording.halvings > 0).sum())
    assert halved == pytest.approx(cell("pbad-fig6", "halved steps", **key), abs=1)
    said = cell("pbad-fig6", "mean iterations", **key)
    assert recording.iterations[1:].mean() == pytest.approx(said, rel=COUNT)


def test_methods(script):
    """Outer iterations and evaluations of `ne-mdp` and PGM."""
    qp = "daqp"
    module = script("methods")
    for case in (("ne-mdp", "", 0, qp), ("ne-nmdp", "end_effector", 1, qp)):
        results, _ = module.run("robosimian-jump-paper", module.overrides(*case, 0.05), 3.0)
        key = {
            "method": case[0],
            "QP": qp,
            "objective": case[1] or "—",
            "order": f"{case[2] or '—'}",
        }
        for column, name in (("outer", "iterations"), ("evaluations", "evaluations")):
            made = np.mean([getattr(result, name) for result in results])
            assert made == pytest.approx(cell("qp-jump", column, **key), rel=COUNT)


def test_step(script, capsys, monkeypatch):
    """Evaluations of a step of Go2, and how many contacts touch."""
    module = script("step")
    monkeypatch.setattr(module, "REPEATS", 1)
    monkeypatch.setattr(module, "RUNS", 1)
    module.measure("go2", ["integrator.dt=0.01"], 0.3, 1)
    made = [text.strip() for text in capsys.readouterr().out.strip("| \n").split("|")]
    (said,) = (list(row.values()) for row in read_data(RESULTS / "step-alone.csv"))
    assert made[:3] == said[:3]
    assert float(made[5]) == pytest.approx(float(said[5]), rel=COUNT)


def test_sand(tmp_path):
    """The lift of the rod, and the foot that is dragged, at two times."""
    depth, _ = MEASURED[1]
    said = cell("sand-calibration", "calibrated [N]", **{"depth [m]": f"{depth:g}"})
    made = largest_lift(np.array([depth]), scale=calibrated_scale())[0]
    assert made == pytest.approx(said, rel=DIGITS)
    recording = recording_of(SandStudy(duration=3.0).drag(0.05), tmp_path)
    for t in (2.0, 3.0):
        said = cell("sand-modes", "foot x [m]", **{"dt [s]": "0.05", "t [s]": f"{t:g}"})
        x = np.interp(t, recording.t, recording.q[:, 0])
        assert x == pytest.approx(said, rel=MOTION)


@pytest.mark.parametrize("case", ["jump-kp1e3", "spider-walk", "go2-stand-up"])
def test_work_precision(case, script):
    """Evaluations of a simulated second, in second order and steps of 50 ms."""
    module = script("work_precision")
    said = cell(
        "work_precision", "evaluations", case=case, simulator="nmdp-pin order 2", step="0.05"
    )
    _, _, made = module.ours(module.cases()[case](), 0.05, 2)
    assert made == pytest.approx(said, rel=COUNT)


def test_planar_sliding(script, capsys, monkeypatch):
    """The friction of two polytopes, and a push in steps of 40 ms."""
    module = script("planar_sliding")
    monkeypatch.setattr(module, "REFINEMENTS", (0, 1))
    monkeypatch.setattr(module, "PUSHES", (("ne-nmdp", "dissipation", 1),))
    monkeypatch.setattr(module, "STEPS", (0.04,))
    module.main()
    lines = capsys.readouterr().out.splitlines()
    (exact,) = (line.partition(";")[0] for line in lines if line.startswith("the exact slab"))
    assert exact[1:] in page("planar_sliding.md")
    vertices = read_data(RESULTS / "planar-sliding-vertices.csv")
    for refinement in (0, 1):
        assert f"| {' | '.join(vertices[refinement].values())} |" in lines
    (push, *_) = read_data(RESULTS / "planar-sliding-push.csv")
    said, made = (cell.split(" rad, ") for cell in (push["40 ms"], lines[-1].split(" | ")[2]))
    assert float(made[0]) == pytest.approx(float(said[0]), abs=0.005)  # [rad]
    assert float(made[1].split()[0]) == pytest.approx(float(said[1].split()[0]), abs=0.5)  # [mm]


def test_granular(script, capsys, monkeypatch):
    """Errors of the table of a ball in sand, and the work of its polytope."""
    module = script("granular")
    monkeypatch.setattr(module, "FEET", (module.Sphere(radius=0.04),))
    module.main()
    ((_, made),) = printed_tables(capsys.readouterr().out)
    (said,) = (r for r in read_data(RESULTS / "granular.csv") if r["foot"] == made[0])
    for text, kept in zip(made[2:], [*said.values()][2:], strict=True):
        numbers = [[float(x) for x in cell.split(", ")] for cell in (text, kept)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.02)  # [%], [mm], [-]


def test_fitted(script, capsys, monkeypatch):
    """Friction cones of four depths are recovered with the errors that the page states."""
    module = script("fitted")
    monkeypatch.setattr(module, "CONES", (4,))
    monkeypatch.setattr(module, "GRIDS", ())
    module.main()
    rows = read_data(RESULTS / "fitted.csv")[:2]
    for row, line in zip(rows, capsys.readouterr().out.splitlines()[2:], strict=True):
        made = [float(cell) for cell in line.strip("| ").split(" | ")[1:]]
        assert made == pytest.approx([float(x) for x in [*row.values()][1:]], abs=2e-4)


def table(script, section, capsys):
    """Numbers of the first table that a section of a script prints, by the names of its rows."""
    capsys.readouterr()
    getattr(script, section)()
    _, *rows = printed_tables(capsys.readouterr().out)[0]
    return {row[0]: [float(text.split()[0]) for text in row[1:]] for row in rows}


@pytest.mark.parametrize(("section", "share"), [("spin", 0.1), ("roll", 0.01)])
def test_limits(section, share, script, capsys):
    """What is left of a spin, and what a ball gains that rolls."""
    made = table(script("limits"), section, capsys)
    for row in read_data(RESULTS / f"limits-{section}.csv"):
        name, *said = row.values()
        assert made[name] == pytest.approx([float(text) for text in said], abs=share)


def test_physics(script):
    """The stop of a slab, the acceleration of a ball that rolls, and the flight of one."""
    module = script("physics")
    name = "ne-nmdp dissipation"
    stop = module.stopping_distance(name, 0.2, 0.01) - 1.0 / (2.0 * 0.2 * module.G)
    key = {"method, mu": f"{name}, 0.2"}
    assert 1e3 * stop == pytest.approx(cell("physics-sliding", "10 ms", **key), abs=0.1)  # [mm]
    exact = 5.0 / 7.0 * module.G * np.sin(0.2)
    for method in (name, "pbd-nmdp dissipation"):
        made = module.rolling_acceleration(method, 0.2, 0.01, module.BASES[1])[0] - exact
        key = {"method, base": f"{method}, {module.BASES[1]}"}
        assert made == pytest.approx(cell("physics-rolling", "10 ms", **key), rel=MOTION)


def test_derivatives(script):
    """Errors of the derivatives of a box that slides are as small as the page says."""
    module = script("derivatives")
    scene = module.scenes.box("ne-nmdp", "sliding", 2)
    made = float(module.error_of(*scene, module.Command(), module.H))
    said = cell("derivatives-box", "sliding, order 2", method="`ne-nmdp`")
    assert said / 10.0 < made < 10.0 * said  # of rounding, and of differences


def test_a_policy(monkeypatch):
    """An episode of the policy of seed 0, with which it was trained and on hard contact."""
    monkeypatch.syspath_prepend(str(ROOT / "examples/locomotion"))
    name = "walker"
    policy = importlib.import_module("policy").Policy
    task, tried = (
        importlib.import_module("task").TASKS[name],
        importlib.import_module("trial").tried,
    )
    kept = policy.load(ROOT / f"examples/locomotion/policies/{name}.npz")
    for method in ("pbfd", "ne-ncp"):
        env = task.env(method=method, h=task.period)
        made = tried(kept, env, period=task.period, seeds=range(1000, 1001))
        key = {"method": method, "step": f"{task.period:g}", "seed": "1000"}
        said = cell(f"locomotion-{name}-0", "return", **key)
        assert made.returns[0] == pytest.approx(said, rel=MOTION)


def test_a_pushed_box(script):
    """The plan of a seed, and where the box ends in long and short steps."""
    pytest.importorskip("ompl")
    module = script("planning")
    rows = {row["seed"]: row for row in read_data(RESULTS / "planning-push.csv")}
    made = module.push(module.PUSHES["5"])
    for end, said in zip(made[1:], [*rows["5"].values()][2:], strict=True):
        numbers = [[float(x) for x in text.split(", ")] for text in (end, said)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.02)  # [m, rad]
