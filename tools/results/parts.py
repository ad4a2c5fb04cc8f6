"""The parts of the results: which command makes which data, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

RESULTS = ROOT / "docs/results"
"""Folder of all data and pictures."""


@dataclass(frozen=True)
class Part:
    """What one command makes.

    Args:
        name: of the part.
        words: the command, after `python`; it runs in the checkout.
        minutes: processor time, roughly.
        tables: place of each table that is kept among those that the command prints in markdown,
            by the name of its data file and of its place on a page.
        copies: files that the command leaves in the checkout, by the names under which they are
            kept.
        codes: exit codes that are results.
    """

    name: str
    words: str
    minutes: float
    tables: Mapping[str, int] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[int, ...] = (0,)


PICTURES = {
    "theory-polytope.png": 0.1,
    "theory-stages.png": 0.1,
    "theory-islands.png": 0.1,
    "theory-orders.png": 0.2,
    "theory-convergence.png": 0.2,
    "robosimian.png": 0.3,
    "jump.webp": 0.5,
    "plan_jump.png": 0.5,
    "push-plan.png": 0.3,
    "spider-reach.png": 0.5,
    "locomotion.png": 0.1,
    "robots.png": 6.0,
}
"""Pictures of docs/images, and the minutes that they take; the last but one draws trainings."""


def _paper(paper: str, figure: str, minutes: float, *more: str, page: bool = True) -> Part:
    words = [f"-m nmdp_pin paper {paper} {figure}", *more]
    words += [f"--out docs/results --runs out/paper-{paper}/runs"]
    words += [f"--page docs/results/{paper}.md"] * page
    return Part(" ".join([paper, figure, *more]), " ".join(words), minutes)


def _script(name: str, minutes: float, *tables: str, words: str = "") -> Part:
    kept = {table: place for place, table in enumerate(tables)}
    return Part(name, f"benchmarks/{name}.py {words}".strip(), minutes, kept)


def _sections(script: str, minutes: float, *kept: Mapping[str, int]) -> list[Part]:
    """A part for each section of a script, named after the first of its tables."""
    parts = []
    for tables in kept:
        section = next(iter(tables)).split("-")[1]
        words = f"benchmarks/{script}.py {section}"
        parts.append(Part(f"{script} {section}", words, minutes, tables))
    return parts


def _training(robot: str, seed: int) -> Part:
    words = f"examples/locomotion/train.py {robot} --seed {seed} --out out/locomotion"
    kept = {f"locomotion-{robot}-{seed}.csv": f"out/locomotion/{robot}-{seed}-trials.csv"}
    return Part(f"locomotion {robot} {seed}", words, 8.0, copies=kept)


_RECOMMENDED = "--preset recommended"
_DEFAULT = f"{_RECOMMENDED} --order 2 --method ne-nmdp --method pbd-nmdp --span wide"
_BUT_ZEROTH = "--method ne-mdp --method ne-nmdp --method pbd-nmdp"
_KINETIC = "--objective kinetic --order 1 --span wide"
_JUMP = "benchmarks/trajectories.py robosimian-jump-paper"
_CHAOS = "--motion robosimian-walk-fast --preset recommended --ms 1 20 50"
_GO2 = "go2 --duration 0.3 --set integrator.dt=0.01"
_QP = "robosimian-jump-paper robosimian-walk --qp --duration 3"
_HARD = "--csv docs/results/hard-ground.csv"
_BATCH = "--size 16 256 --links 5 --csv docs/results/batch.csv"

PARTS = (
    Part("batch", f"benchmarks/batch.py {_BATCH}", 1.0),
    *(_paper("pbad", f, m) for f, m in (("fig4", 0.5), ("fig5", 1.0), ("fig6", 8.0))),
    *(_paper("pbad", f, m) for f, m in (("table1", 1.0), ("batch", 0.1))),
    *(_paper("sand", f, m) for f, m in (("calibration", 0.1), ("walk", 3.0), ("modes", 0.5))),
    _paper("nmdp", "fig3", 2.0, _DEFAULT),
    _paper("nmdp", "fig4", 2.0, _DEFAULT, page=False),
    _paper("nmdp", "fig5", 2.0, _RECOMMENDED, page=False),
    _paper("nmdp", "table1", 3.0, _RECOMMENDED, page=False),
    _paper("nmdp", "fig6", 2.0, _RECOMMENDED, page=False),
    _paper("nmdp", "error", 30.0, _RECOMMENDED),
    _paper("nmdp", "table1", 4.0, f"{_RECOMMENDED} --span wide", page=False),
    _paper("nmdp", "table1", 4.0, "--preset paper-contact --span wide", page=False),
    *(_paper("nmdp", f, m) for f, m in (("fig2", 1.0), ("table1", 8.0))),
    *(_paper("nmdp", f, m) for f, m in (("fig5", 33.0), ("fig6", 60.0))),
    _paper("nmdp", "fig3", 7.0, f"--span wide {_BUT_ZEROTH}"),
    _paper("nmdp", "fig3", 4.0, page=False),
    _paper("nmdp", "fig4", 40.0, "--span wide"),
    _paper("nmdp", "table1", 10.0, "--span wide", page=False),
    _paper("nmdp", "table1", 10.0, _KINETIC, page=False),
    _paper("nmdp", "fig4", 15.0, _KINETIC, page=False),
    Part(
        "work_precision",
        "benchmarks/work_precision.py",
        11.0,
        {"work-precision-drake": -2, "work-precision-ratios": -1},
    ),
    _script("planar_sliding", 0.5, "planar-sliding-vertices", "planar-sliding-push"),
    _script("fitted", 0.2, "fitted"),
    _script("planning", 1.5, "planning-jump", words="jump"),
    Part("planning reach", "benchmarks/planning.py reach", 4.0, {"planning-reach": 0}),
    Part("planning push", "benchmarks/planning.py push", 1.0, {"planning-push": 0}),
    _script("terrain", 0.3, "terrain"),
    _script("granular", 0.1, "granular"),
    Part("hard_ground", f"benchmarks/hard_ground.py {_HARD}", 2.0),
    Part("falls", "benchmarks/falls.py --number 500", 1.0, {"falls": 0}),
    _script("obstacles", 18.0, "obstacles"),
    _script("pile", 1.5, "pile"),
    _script("rollouts", 2.0, "rollouts"),
    _script("rollouts_mujoco", 2.0, "rollouts-mujoco"),
    _script("viewer_frame", 0.5, "viewer-frame"),
    Part("methods qp", f"benchmarks/methods.py {_QP}", 2.0, {"qp-jump": 0, "qp-walk": 1}),
    Part("step alone", f"benchmarks/step.py {_GO2}", 0.1, {"step-alone": 0}),
    Part(
        "step self-collision",
        f"benchmarks/step.py {_GO2} robot.self_collision=true",
        1.0,
        {"step-self-collision": 0},
    ),
    *(
        Part(f"trajectories {name}", f"{_JUMP} {words}".strip(), 0.3, {f"jump-{name}": 0})
        for name, words in (
            ("order2", ""),
            ("order1", "--set integrator.order=1"),
            ("plastic", "--set contact.recovery=0"),
        )
    ),
    *_sections(
        *("limits", 1.0, {"limits-cone": 0}, {"limits-spin": 0}, {"limits-roll": 0}),
        *({"limits-top": 0}, {"limits-pull": 0}, {"limits-drop": 0}, {"limits-motion": 0}),
        *({"limits-rest": 0, "limits-rest-steps": 1}, {"limits-land": 0}),
    ),
    *_sections(
        *("physics", 1.0, {"physics-sliding": 0}, {"physics-rolling": 0}),
        {"physics-slope": 0, "physics-slope-creep": 1, "physics-slope-acceleration": 2},
        *({"physics-impact": 1}, {"physics-chain": 0, "physics-chain-energy": 1}),
        {"physics-momentum": 1},
    ),
    Part(
        "derivatives",
        "benchmarks/derivatives.py --skip cost",
        1.0,
        {"derivatives-box": 0, "derivatives-robosimian": 1},
    ),
    Part(
        "derivatives cost",
        "benchmarks/derivatives.py --skip accuracy",
        1.0,
        {"derivatives-cost": 0},
    ),
    _script("sampling", 1.0, "sampling"),
    _script("jump_period", 2.0, "jump-period"),
    _script("chaos", 1.0, "chaos", words=_CHAOS),
    Part(
        "campaigns",
        "-m tools.campaigns --minutes 10 --out out/campaigns",
        10.0,
        {"campaigns-kinds": 0, "campaigns": -1},
        codes=(0, 1),  # outcomes that are not allowed are results
    ),
    *(_training(robot, seed) for robot in ("hopper", "walker") for seed in range(3)),
    *(Part(f"picture {name}", f"tools/pictures.py {name}", m) for name, m in PICTURES.items()),
)
"""All parts, what is short first."""
