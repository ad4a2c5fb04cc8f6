"""The figures and tables of the paper on PBD and PBFD, made of short runs, and their command."""

import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from paper_commands import CSV, LARGEST_PICTURE, RESULTS, check_page, command, rows
from PIL import Image

from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._robot import load_robot
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.campaign import Campaign
from nmdp_pin.papers.data_file import write_data
from nmdp_pin.papers.evaluation import evaluate, figures_named
from nmdp_pin.papers.page import parts_of
from nmdp_pin.papers.pbad import (
    FIGURES,
    PbadStudy,
    cost_figure,
    friction_figure,
    optimiser_figure,
    table1,
)
from nmdp_pin.papers.pbad.chain_urdf import chain_urdf, write_chain
from nmdp_pin.papers.pbad.friction_figure import FIG5, closed_form, friction_stiffness
from nmdp_pin.papers.pbad.optimiser_figure import CHAINS, FIG4
from nmdp_pin.papers.pbad.paper import BASELINE, METHODS, OPTIMISERS
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.papers.timing import timing

pytest.importorskip("matplotlib")

PAGE = RESULTS / "pbad.md"

# Few runs instead of the hundreds of the figures.
FEW = (
    (friction_figure, "STEPS", (0.01, 0.05)),
    (friction_figure, "FRICTIONS", (0.1, 0.5)),
    (optimiser_figure, "STEPS", (0.05,)),
    (cost_figure, "STEPS", {BASELINE: (0.001, 0.005), "pbfd": (0.05, 0.1)}),
    (cost_figure, "CONTACT_POINTS", (4, 64)),
    (cost_figure, "FRICTIONS", (0.1, 0.3)),
    (table1, "LINKS", (2, 4, 6)),
    (table1, "_LARGE", 4),
)
SECONDS = 0.1  # of each run


def few(patch: pytest.MonkeyPatch) -> None:
    """Make the figures of few runs."""
    for module, name, value in FEW:
        patch.setattr(module, name, value)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Every figure and table, of short runs: the folder, the study and the products."""
    folder = tmp_path_factory.mktemp("made")
    study = PbadStudy(repeats=2, duration=SECONDS, folder=folder)
    campaign = Campaign(folder / "runs", workers=1, quiet=True)
    with pytest.MonkeyPatch.context() as patch:
        few(patch)
        products, failed = evaluate(study, list(FIGURES.values()), campaign, folder)
    assert failed == []
    return folder, study, products


def test_settings_are_those_of_the_paper():
    """Methods, optimisers and refinements are there, and every run can be built."""
    assert {*METHODS, BASELINE} <= set(INTEGRATORS)
    assert len(OPTIMISERS) == 5
    assert (min(cost_figure.CONTACT_POINTS), max(cost_figure.CONTACT_POINTS)) == (4, 256)
    assert max(cost_figure.STEPS["pbfd"]) == 0.1
    assert {0.005, 0.1} <= set(friction_figure.STEPS)
    assert {5, 10, 20, 40} <= set(table1.LINKS)


def test_specs_of_all_figures_have_names_of_their_own(tmp_path):
    """No two runs of the whole evaluation share a file, and each has settings that are taken."""
    study = PbadStudy(folder=tmp_path)
    specs = {
        spec for figure in FIGURES.values() for spec in (*figure.specs(study), *figure.timed(study))
    }
    assert len({spec.name for spec in specs}) == len(specs)
    assert len(specs) > 250
    for spec in {replace(spec, dt=0.01, repeat=0) for spec in specs}:
        spec.load()


def test_figures_are_pictures_small_enough_to_keep(made):
    """Each figure leaves PNGs of the size that the page may hold, and CSVs."""
    folder, _, products = made
    assert set(products) == set(FIGURES) == {"fig4", "fig5", "fig6", "table1", "batch"}
    for name, product in products.items():
        assert bool(product.pictures) == (name != "batch")
        for path in product.pictures:
            assert path.parent == folder
            with Image.open(path) as image:
                assert image.width > 500
                assert image.height > 300
            assert path.stat().st_size < LARGEST_PICTURE
        for path in product.data:
            assert len(rows(path)) > 1


def test_distances_are_those_of_the_runs(made):
    """The CSV of Fig. 5 holds how far each box got, beside the closed form."""
    folder, study, _ = made
    found = rows(folder / "pbad-fig5.csv")
    assert len(found) == 4 * 2 * 2
    spec = friction_figure._spec(study, "pbfd", 0.5, 0.05)
    (run,) = Campaign(folder / "runs", workers=1, quiet=True).run([spec]).values()
    (row,) = (r for r in found if (r["method"], r["mu"], r["dt [s]"]) == ("pbfd", "0.5", "0.05"))
    x = run.recording().base_position[:, 0]
    assert float(row["distance [m]"]) == pytest.approx(x[-1] - x[0], rel=CSV)
    assert float(row["C_par [N/m^3]"]) == pytest.approx(friction_stiffness(0.5, 0.05), rel=CSV)
    assert float(row["closed form [m]"]) == pytest.approx(closed_form(0.5), rel=CSV)
    assert row["stopped"] == "0"


def test_times_are_medians_of_the_repeats(made):
    """A timing has the steps' iterations and the median of the repeats' computing times."""
    folder, study, products = made
    case = cost_figure._by_step()[0]
    specs = study.repeats_of(cost_figure._spec(study, case))
    assert len(specs) == 2
    runs = Campaign(folder / "runs", workers=1, quiet=True).run(specs)
    own = timing(runs, specs)
    walls = [runs[spec].recording().wall_time[1:].sum() for spec in specs]
    assert own.total == pytest.approx(np.median(walls))
    assert own.of(10.0) == pytest.approx(np.median(walls) * 10.0 / SECONDS)
    assert own.range_of(SECONDS) == pytest.approx((min(walls), max(walls)))
    assert own.iterations.shape == own.walls.shape == (100,)
    (row, *_) = rows(folder / "pbad-fig6.csv")
    assert (row["method"], float(row["dt [s]"])) == (case.method, case.dt)
    assert float(row["cost of 10 s [s]"]) == pytest.approx(own.of(10.0), rel=CSV)
    by_step, by_points = products["fig6"].tables
    assert {row[-1] for row in by_step.rows} <= {"stable", "not stable"}
    assert [row[0] for row in by_points.rows] == ["4", "64"]
    assert all(0.0 <= float(row[-2]) <= float(row[1]) for row in by_points.rows)
    for row in by_step.rows:  # of the baseline its solver, which has nothing to do in 0.1 s
        assert float(row[3]) == pytest.approx(float(row[2]) * (row[0] != BASELINE), abs=0.006)


def test_finished_runs_are_not_made_again(made, monkeypatch):
    """A second evaluation makes no run, timed ones included, and writes the same tables."""
    folder, study, products = made
    files = {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()}
    few(monkeypatch)
    campaign = Campaign(folder / "runs", workers=1, quiet=True)
    again, _ = evaluate(study, list(FIGURES.values()), campaign, folder)
    assert {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()} == files
    assert {n: p.tables for n, p in again.items()} == {n: p.tables for n, p in products.items()}


def test_runs_that_are_timed_are_made_in_turn(made):
    """One round after the other, so that what slows the machine slows all of them."""
    _, study, _ = made
    specs = FIGURES["fig6"].timed(replace(study, repeats=3))
    assert [spec.repeat for spec in specs] == sorted(spec.repeat for spec in specs)
    assert {spec.repeat for spec in specs} == {1, 2, 3}
    assert all("-fixed" in spec.preset for spec in FIGURES["fig6"].specs(study))


def test_a_robot_that_changed_makes_runs_anew(tmp_path):
    """The file of a robot that is not bundled counts among what a run was made with."""
    scenario = write_chain(tmp_path, 2)
    spec = RunSpec(scenario=str(scenario), method="ne-nmdp", dt=0.01, duration=0.02, preset="x")
    campaign = Campaign(tmp_path / "runs", workers=1, quiet=True)
    before = campaign.run([spec])[spec].recording().q
    urdf = tmp_path / "chain-2.urdf"
    heavier = urdf.read_text(encoding="utf-8").replace('mass value="0.1"', 'mass value="0.4"')
    urdf.write_text(heavier, encoding="utf-8")
    assert not np.array_equal(campaign.run([spec])[spec].recording().q, before)


def test_chains_of_any_length(tmp_path):
    """Ten links are the bundled chain; others have as many freedoms, and no link is refused."""
    chain = pin.buildModelFromXML(chain_urdf(10))
    assert chain == pin.buildModelFromUrdf(load_robot("chain").source)
    for links in (1, 5, 40):
        setup = Scenario.load(str(write_chain(tmp_path, links))).build(visuals=False)
        assert setup.robot.model.nv == links
    with pytest.raises(ExperimentError, match="at least 1 link"):
        chain_urdf(0)


def test_pbd_turns_up_and_pbfd_does_not(tmp_path, monkeypatch):
    """Fig. 5 b: past a threshold more friction takes PBD's box farther, and PBFD's never."""
    frictions = (0.05, 0.2, 1.0)
    monkeypatch.setattr(friction_figure, "STEPS", (0.01, 0.1))
    monkeypatch.setattr(friction_figure, "FRICTIONS", frictions)
    study = PbadStudy(duration=1.5, folder=tmp_path)
    product, _ = evaluate(
        study, [FIG5], Campaign(tmp_path / "runs", workers=1, quiet=True), tmp_path
    )
    found = {
        (r["method"], float(r["mu"])): float(r["distance [m]"])
        for r in rows(tmp_path / "pbad-fig5.csv")
        if r["dt [s]"] == "0.01"
    }
    pbd, pbfd = ([found[method, mu] for mu in frictions] for method in METHODS)
    assert pbd[2] > 1.05 * min(pbd)  # it still slides on
    assert pbfd == sorted(pbfd, reverse=True)
    assert pbfd[1] == pytest.approx(closed_form(0.2), rel=0.1)
    never = {row[0]: row[-1] for row in product["fig5"].aside[0].rows if row[1] == "10"}
    assert never["pbfd"] == never[BASELINE] == "never"
    assert never["pbd"] != "never"


def test_jtj_lm_takes_fewer_iterations_than_lbfgs(tmp_path, monkeypatch):
    """Fig. 4: on both chains, for both methods."""
    monkeypatch.setattr(optimiser_figure, "STEPS", (0.005,))
    study = PbadStudy(repeats=1, duration=0.3, folder=tmp_path)
    product, failed = evaluate(
        study, [FIG4], Campaign(tmp_path / "runs", workers=1, quiet=True), tmp_path
    )
    assert failed == []
    means = {(r[0], r[2]): float(r[3]) for r in product["fig4"].tables[0].rows}
    for chain in CHAINS:
        for method in METHODS:
            assert means[chain.title, f"{method} jtj-lm"] < means[chain.title, f"{method} lbfgs"]


def test_stability_of_a_run():
    """A run is stable if it reaches its end and its energy never climbs."""

    class Kept:
        kinetic_energy = np.array([0.0, 1.0, 1.0, 0.0])
        potential_energy = np.array([10.0, 8.0, 8.5, 0.0])

    assert cost_figure.energy_rise(Kept()) == pytest.approx(0.05)
    case = cost_figure._Case("pbfd", 0.01)
    for rise, failure, stable in ((0.09, "", True), (0.2, "", False), (0.0, "lost", False)):
        assert cost_figure._Cost(case, _Timed(failure), rise, 1.0, 0.01).stable is stable


class _Timed:
    """What stability needs of a timing."""

    def __init__(self, failure: str) -> None:
        self.failure = failure


def test_fit_of_an_exponent():
    """Costs that are a power give it back."""
    assert table1.exponent((5, 10, 40), [3.0 * n**1.5 for n in (5, 10, 40)]) == pytest.approx(1.5)


def test_batches_come_from_their_own_benchmark(tmp_path):
    """The part on batches shows what is in the file, or says how to write it."""
    study, (batch,) = PbadStudy(folder=tmp_path), figures_named("batch", FIGURES)
    assert "benchmarks/batch.py" in batch.make(study, {}, tmp_path).notes[0]
    assert batch.tables(study, tmp_path) == ()
    write_data(tmp_path / "batch.csv", ("K", "steps per s"), [(1, 10), (256, 999)])
    (table,) = batch.tables(study, tmp_path)
    assert table.columns == ("K", "steps per s")
    assert table.rows == (("1", "10"), ("256", "999"))


def test_command_writes_files_and_the_page(tmp_path, capsys, monkeypatch):
    """The command prints the table, writes PNG and CSV, and fills the markers of a page."""
    few(monkeypatch)
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n<!-- begin table1 -->\nold\n<!-- end table1 -->\n", encoding="utf-8"
    )
    words = ["table1", "--duration", "0.05", "--repeats", "1", "--out", tmp_path / "out"]
    assert command("pbad", *words, "--page", page) == 0
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert "(out/pbad-table1.png)" in text
    assert "`nmdp-pin paper pbad table1 --duration 0.05 --repeats 1`" in text
    said = capsys.readouterr().out
    assert "fitted exponent" in said
    assert "wrote " in said
    assert len(list((tmp_path / "out/runs").glob("*.npz"))) == 3 * len(OPTIMISERS)
    assert len(list((tmp_path / "out/chains").glob("*.urdf"))) == 3


def test_exit_codes(tmp_path, capsys):
    """Wrong input of any kind is one sentence and the exit code 2."""
    out = ["--out", tmp_path]
    for words, sentence in (
        (["fig7"], "'fig7' is no figure or table of the paper"),
        (["fig4", "--repeats", "0"], "repeats"),
        (["fig4", "--duration", "-1"], "duration must be > 0 s, got -1"),
        (["fig4", "--page", tmp_path / "none.md"], "cannot be read"),
    ):
        assert command("pbad", *words, *out) == 2
        assert sentence in capsys.readouterr().err
    with pytest.raises(ExperimentError, match="repeats must be at least 1"):
        PbadStudy(repeats=0).checked()


def test_results_page_is_whole():
    """Its pictures and data are there, small enough, and every generated part names its command."""
    check_page(PAGE, "pbad-*.png")
    found = parts_of(PAGE)
    assert set(found) == set(FIGURES)
    for name, part in found.items():
        assert re.search(rf"`nmdp-pin paper pbad {name}( --repeats \d+)?`", part), name
