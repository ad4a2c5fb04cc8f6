"""The NMDP paper's figures and tables, made of short runs, and the command that makes them."""

from dataclasses import replace

import numpy as np
import pytest
from paper_commands import CSV, LARGEST_PICTURE, RESULTS, check_page, command, rows
from PIL import Image

from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import ExperimentError, IntegratorError
from nmdp_pin.papers.campaign import Campaign
from nmdp_pin.papers.evaluation import evaluate, figures_named
from nmdp_pin.papers.nmdp import FIGURES, PRESETS, NmdpStudy, error_figure, table1
from nmdp_pin.papers.nmdp.error_figure import ERROR, REFERENCE_STEPS, TABLE_STEPS
from nmdp_pin.papers.nmdp.paper import (
    JUMP,
    METHODS,
    SLIDING_BOX,
    SPIDER_JUMP,
    TABLE,
    TABLE_METHODS,
)
from nmdp_pin.papers.nmdp.preset import Preset
from nmdp_pin.papers.nmdp.table1 import TABLE1
from nmdp_pin.papers.page import parts_of, update_page

pytest.importorskip("matplotlib")

PAGE = RESULTS / "nmdp.md"

METHODS_HERE = ("ne-mdp", "ne-nmdp")
CASES = (error_figure.CASES[0], error_figure.CASES[-1])  # a rise and a distance
FEW = {motion: TABLE[motion] for motion in (JUMP, SPIDER_JUMP)}  # of the table's motions
SHORT = NmdpStudy(methods=METHODS_HERE, steps=(0.02, 0.05), duration=0.1)
WORDS = [
    *("--method", "ne-mdp", "--method", "ne-nmdp", "--workers", "1"),
    *("--dt", "0.02", "--dt", "0.05", "--duration", "0.1"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Every figure and table of two methods, two steps and 0.1 s: the folder and the products."""
    folder = tmp_path_factory.mktemp("made")
    campaign = Campaign(folder / "runs", workers=1, quiet=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_figure, "REFERENCE_STEPS", (0.0025, 0.005))  # for the test's time
        patch.setattr(error_figure, "CASES", CASES)
        patch.setattr(table1, "TABLE", FEW)
        products, failed = evaluate(SHORT, list(FIGURES.values()), campaign, folder)
    assert failed == []
    return folder, products


def test_settings_are_those_of_the_paper():
    """Steps, methods and rows are the published ones; each preset builds every motion."""
    assert np.allclose(NmdpStudy().steps_of("ne-mdp"), np.arange(1, 6) * 1e-3)
    assert np.allclose(NmdpStudy().steps_of("ne-nmdp"), np.arange(30, 51, 5) * 1e-3)
    wide = NmdpStudy(span="wide")
    assert wide.name == "paper-wide"
    assert "--span wide" in wide.command("fig4")
    assert set(NmdpStudy().steps_of("ne-mdp")) < set(wide.steps_of("ne-mdp"))
    assert np.allclose(wide.steps_of("pbd-nmdp"), np.arange(5, 51, 5) * 1e-3)
    assert set(METHODS) <= set(INTEGRATORS)
    assert [row[-1] for row in TABLE.values() if row] == [0.10, 0.02, 0.10, 0.05]
    assert {len(row) for row in TABLE.values()} == {0, len(TABLE_METHODS)}
    paper = NmdpStudy(preset=PRESETS["paper"])
    jump = paper.spec(JUMP, "ne-nmdp", 0.05).load()
    assert jump.integrator.objective == "end_effector"
    assert (jump.contact.zeta, jump.contact.power, jump.contact.directions) == (1e-4, 2, 6)
    assert np.isclose(jump.contact.angle, np.pi / 2)
    assert (jump.robot.variant, jump.robot.base, jump.duration) == ("listed", "planar", 10.0)
    assert paper.spec(JUMP, "ne-mdp", 0.01).load().contact.zeta == 0.0
    spider = paper.spec(SPIDER_JUMP, "pbd-nmdp", 0.05).load()
    assert (spider.contact.zeta, spider.duration) == (0.0, 20.0)
    ours = NmdpStudy(preset=PRESETS["paper-contact"]).spec(JUMP, "ne-nmdp", 0.05).load()
    assert ours.contact == jump.contact
    recommended = NmdpStudy(preset=PRESETS["recommended"]).spec(JUMP, "ne-nmdp", 0.05).load()
    assert ours.integrator == recommended.integrator
    assert recommended.contact == plastic(Scenario.load("robosimian-jump-paper")).contact
    assert jump.contact.recovery == 0.0


def plastic(scenario):
    """The same scenario without recovery, which the paper lacks."""
    contact = scenario.contact.model_copy(update={"recovery": 0.0})
    return scenario.model_copy(update={"contact": contact})


def test_other_robots_are_asked_of_those_that_have_them():
    """The free-flyer with true inertias, and the box as it is."""
    study = NmdpStudy(variant="com", base="free-flyer")
    assert study.name == "paper-com-free-flyer"
    jump = study.spec(JUMP, "ne-nmdp", 0.05).load()
    assert (jump.robot.variant, jump.robot.base) == ("com", "free-flyer")
    spider = study.spec(SPIDER_JUMP, "ne-nmdp", 0.05).load()
    assert (spider.robot.variant, spider.robot.base) == (None, "free-flyer")
    box = study.spec(SLIDING_BOX, "ne-nmdp", 0.05, longest=0.5).load()
    bundled = plastic(Scenario.load("sliding-box"))
    robot = bundled.robot.model_copy(update={"limits": False})  # the paper's joints have none
    assert (box.robot, box.contact, box.duration) == (robot, bundled.contact, 0.5)


def test_specs_of_all_figures_have_names_of_their_own():
    """No two runs of the whole evaluation, over all presets, share a file."""
    studies = [
        NmdpStudy(preset=preset, objective="kinetic", variant=variant)
        for preset in PRESETS.values()
        for variant in ("listed", "com")
    ]
    specs = {s for study in studies for figure in FIGURES.values() for s in figure.specs(study)}
    assert len({spec.name for spec in specs}) == len(specs)
    assert len(specs) > 500


def test_figures_are_pictures_small_enough_to_keep(made):
    """Each figure leaves PNGs of the size that the page may hold."""
    folder, products = made
    assert {name for name, product in products.items() if product.pictures} == set(FIGURES) - {
        "table1"
    }
    for product in products.values():
        for path in product.pictures:
            assert path.parent == folder
            with Image.open(path) as image:
                assert image.width > 800
                assert image.height > 300
            assert path.stat().st_size < LARGEST_PICTURE


def test_curves_are_those_of_the_runs(made):
    """The CSV of the torso's height holds what was simulated, at the times of its grid."""
    folder, _ = made
    found = rows(folder / "fig4-paper.csv")
    assert list(found[0]) == ["t [s]", *(f"{m} {dt} ms" for m in METHODS_HERE for dt in (20, 50))]
    assert [float(row["t [s]"]) for row in found] == pytest.approx([0.0, 0.05, 0.1])
    run = Campaign(folder / "runs", workers=1).run([SHORT.spec(JUMP, "ne-nmdp", 0.05)])
    (recording,) = (kept.recording() for kept in run.values())
    heights = [float(row["ne-nmdp 50 ms"]) for row in found]
    assert heights == pytest.approx(recording.base_position[:, 2], rel=CSV, abs=1e-6)


def test_table_one_is_the_spread_of_its_runs(made):
    """Two runs h1 and h2 have the standard deviation |h1 - h2| / 2 at each time of the grid."""
    folder, products = made
    specs = [SHORT.spec(JUMP, "ne-nmdp", dt) for dt in SHORT.steps]
    runs = Campaign(folder / "runs", workers=1).run(specs)
    grid = np.array([0.0, 0.05, 0.1])
    fine, coarse = (
        np.interp(grid, r.t, r.base_position[:, 2])
        for r in (runs[spec].recording() for spec in specs)
    )
    (row,) = (
        row
        for row in rows(folder / "table1-paper.csv")
        if row["motion"] == JUMP.title and row["method"].startswith("ne-nmdp")
    )
    spread = float(row["mean std across dt [m]"])
    assert spread == pytest.approx(0.5 * np.abs(fine - coarse).mean(), rel=CSV)
    assert spread > 0.0
    assert (row["runs"], row["cut short"], row["paper [m]"]) == ("2", "0", "0.02")
    (table,) = products["table1"].tables
    assert [line[0] for line in table.rows] == [motion.title for motion in FEW]
    assert "pbd-nmdp" not in " ".join(table.columns)


def test_costs_count_every_step(made):
    """The histograms of Fig. 6 hold all steps of the four trajectories."""
    folder, products = made
    (table,) = products["fig6"].tables
    assert [row[1] for row in table.rows] == ["8", "8"]  # 4 trajectories of 2 steps
    for stem in ("a-frame-rate", "b-iterations"):
        counts = rows(folder / f"fig6-{stem}-paper.csv")
        for method in METHODS_HERE:
            assert sum(int(row[f"steps, {method}"]) for row in counts) == 8
    sizes = rows(folder / "fig6-d-step-size-paper.csv")
    assert [float(row["step [s], ne-nmdp"]) for row in sizes] == [0.05, 0.05]


def test_errors_of_every_objective_and_order(made):
    """The table of errors names each method, objective and order; the reference is close."""
    folder, products = made
    found = rows(folder / "error-paper.csv")
    combinations = {(row["method"], row["objective"], row["order"]) for row in found}
    assert ("ne-mdp", "", "") in combinations
    for objective in ("kinetic", "end_effector"):
        for order in ("1", "2"):
            assert ("ne-nmdp", objective, order) in combinations
    assert len(found) == len(CASES) * len(combinations) * len(SHORT.steps)
    box = [row for row in found if row["motion"] == SLIDING_BOX.title]
    # Free sliding at constant deceleration: x = t - mu g t^2 / 2, friction between directions too.
    assert float(box[0]["reference [m]"]) == pytest.approx(0.1 - 0.5 * 0.5 * 9.81 * 0.01, rel=0.02)
    for row in found:
        error = abs(float(row["value [m]"]) - float(row["reference [m]"]))
        assert float(row["error [m]"]) == pytest.approx(error, rel=0.01, abs=1e-5)
    assert len(products["error"].aside) == len(CASES)
    assert "at 2.5 ms" in products["error"].aside[0].notes[0]


def test_reference_and_tables_are_at_the_steps_asked_for():
    """The reference is at 0.25 and 0.5 ms, the table at 5, 10, 20 and 50 ms."""
    assert max(REFERENCE_STEPS) <= 0.0005
    assert TABLE_STEPS == (0.005, 0.01, 0.02, 0.05)
    steps = {spec.dt for spec in ERROR.specs(NmdpStudy(methods=("ne-nmdp",)))}
    assert {*REFERENCE_STEPS, *TABLE_STEPS} <= steps


def test_a_failing_run_is_in_the_table(tmp_path):
    """A run that ends early is counted in its cell, in the CSV and among the failed ones."""
    broken = Preset("broken", "end_effector", 1)
    study = replace(SHORT, preset=broken, methods=("ne-nmdp",), duration=0.3)
    specs = TABLE1.specs(study)
    campaign = Campaign(tmp_path / "runs", workers=1, quiet=True)
    runs = dict(campaign.run(specs))
    jumps = [spec for spec in specs if spec.scenario == JUMP.scenario]
    hopeless = (
        "contact.recovery=0",
        "integrator.projected_gradient.max_iterations=1",
        "integrator.control.min_step=0.02",
    )
    failing = replace(jumps[0], overrides=hopeless, preset="hopeless")
    runs[jumps[0]] = campaign.run([failing])[failing]
    assert runs[jumps[0]].failure
    product = TABLE1.make(study, runs, tmp_path)
    (table,) = TABLE1.tables(study, tmp_path)
    (cell,) = (row[2] for row in table.rows if row[0] == JUMP.title)
    assert cell.endswith("of the 1 meaningful)")
    assert product.aside[0].rows[0][0] == JUMP.title
    assert product.aside[0].rows[0][2].startswith("20 (at ")
    (line,) = (r for r in rows(tmp_path / "table1-broken.csv") if r["motion"] == JUMP.title)
    assert line["cut short"] == "1"


def test_mistakes_are_named():
    """What there is not is refused before anything is run, with what there is."""
    with pytest.raises(ExperimentError, match=r"'fig7' is no figure.*fig3, .*all"):
        figures_named("fig7", FIGURES)
    with pytest.raises(IntegratorError, match="no-such"):
        replace(SHORT, methods=("no-such",)).checked()
    with pytest.raises(ExperimentError, match=r"objective 'no-such'.*kinetic"):
        replace(SHORT, objective="no-such").checked()
    with pytest.raises(ExperimentError, match=r"variant 'mine'.*com"):
        replace(SHORT, variant="mine").checked()
    with pytest.raises(ExperimentError, match=r"span 'all'.*published, wide"):
        replace(SHORT, span="all").checked()
    with pytest.raises(ExperimentError, match=r"base 'fixed'.*planar"):
        replace(SHORT, base="fixed").checked()
    assert figures_named("all", FIGURES) == list(FIGURES.values())


def test_command_writes_files_and_the_page(tmp_path, capsys):
    """The command prints the table, writes PNG and CSV, and fills the markers of a page."""
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n<!-- begin fig4-paper -->\n\nold\n\n<!-- end fig4-paper -->\n\nProse.\n",
        encoding="utf-8",
    )
    assert command("nmdp", "fig4", *WORDS, "--out", tmp_path / "out", "--page", page) == 0
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.startswith("# Title\n\n<!-- begin fig4-paper -->\n\n![Torso height")
    assert text.endswith("<!-- end fig4-paper -->\n\nProse.\n")
    assert "(out/fig4-paper.png)" in text
    assert "`nmdp-pin paper nmdp fig4 --duration 0.1 --method ne-mdp --method ne-nmdp" in text
    assert (tmp_path / "out/fig4-paper.csv").exists()
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").glob("*.npz")}
    assert len(files) == 4
    assert command("nmdp", "table1", *WORDS, "--out", tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "Robosimian walk-fast" in said
    assert "distance [m]" in said
    assert all(path.stat().st_mtime_ns == files[path] for path in files)


def test_exit_codes(tmp_path, capsys):
    """Wrong input of any kind is one sentence and the exit code 2."""
    out = ["--out", tmp_path, *WORDS]
    for words, sentence in (
        (["fig7"], "'fig7' is no figure or table of the paper"),
        (["fig3", "--preset", "ours"], "preset 'ours' is not known"),
        (["fig3", "--objective", "none"], "objective 'none' is not known"),
        (["fig3", "--method", "no-such"], "'no-such' is not known"),
        (["fig3", "--page", tmp_path / "none.md"], "cannot be read"),
    ):
        assert command("nmdp", *words, *out) == 2
        assert sentence in capsys.readouterr().err
    page = tmp_path / "page.md"
    page.write_text("# Title\n", encoding="utf-8")
    assert command("nmdp", "fig3", *out, "--page", page) == 2
    assert "has no place for fig3-paper" in capsys.readouterr().err
    with pytest.raises(ExperimentError, match="no place for"):
        update_page(page, {"fig3": "text"})


def test_results_page_is_whole():
    """Its pictures and data are there, small enough, and every figure's part names its command."""
    check_page(PAGE, "*.png")
    found = parts_of(PAGE)
    for figure in FIGURES:
        parts = [text for name, text in found.items() if name.partition("-")[0] == figure]
        assert any(f"`nmdp-pin paper nmdp {figure}" in text for text in parts), figure
