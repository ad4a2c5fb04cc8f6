"""Sentences of the pages whose numbers follow from data in docs/results."""

import importlib
import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from pages import ROOT, page

from nmdp_pin._contact.friction_cone import RECOVERY
from nmdp_pin.experiments.data_file import read_data, value

WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven")


FEW, MORE = {"1": 5, "2": 10}, {"1": 8, "2": 16}
AIMS = {"0": FEW, "0.15": FEW, "0.4": MORE}  # evaluations a step on hard ground: noise, order


def rows(name: str, **key: str) -> list[dict[str, str]]:
    """Rows of a data file that have these texts."""
    found = read_data(ROOT / f"docs/results/{name}.csv")
    return [row for row in found if all(row[k] == text for k, text in key.items())]


def cell(name: str, row: str, column: str) -> float:
    """Number where the row that begins with a text meets a column; units are left out."""
    (text,) = (r[column] for r in rows(name) if next(iter(r.values())) == row)
    return float(text.split()[0])


def line(name: str, row: str) -> list[float]:
    """All numbers of the row that begins with a text."""
    (found,) = (r for r in rows(name) if next(iter(r.values())) == row)
    return [float(text.split()[0]) for text in [*found.values()][1:]]


def span(numbers: list[float], digits: int) -> str:
    """From the least to the most."""
    return f"{min(numbers):.{digits}f} to {max(numbers):.{digits}f}"


def tilts_of(name: str, method: str) -> dict[float, float]:
    """Largest tilt [degrees] of a method by the length of the step [ms]."""
    found = {}
    for title in rows(name)[0]:
        first, _, length = title.partition(" ")
        if first == method:
            found[float(length.removesuffix(" ms"))] = max(value(r, title) for r in rows(name))
    return found


def nmdp() -> list[str]:
    """Of the evaluation of the NMDP paper."""
    tilts = {
        title: max(value(row, title) for row in rows("fig3-paper"))
        for title in rows("fig3-paper")[0]
    }
    wide = tilts_of("fig3-paper-wide", "ne-nmdp")
    long = [tilt for ms, tilt in wide.items() if ms >= 15.0]
    default = tilts_of("fig3-recommended-dissipation-order2-wide", "ne-nmdp")
    of_mdp = [tilt for title, tilt in tilts.items() if title.startswith("ne-mdp")]
    turned = sum(tilt > 90.0 for tilt in of_mdp)

    def spread(motion: str, method: str, table: str = "paper", kind: str = "mean std") -> float:
        column = {"mean std": "mean std across dt [m]", "meaningful": "of meaningful runs [m]"}
        (row,) = (
            row
            for row in rows(f"table1-{table}", motion=motion)
            if row["method"].partition(",")[0] == method
        )
        return value(row, column.get(kind, kind))

    methods = "ne-mdp", "pbd-nmdp", "ne-nmdp"
    jump, walk, fast = (f"Robosimian {name}" for name in ("jump", "walk", "walk-fast"))
    less, *more = (
        spread(fast, method) - spread(walk, method, kind="paper [m]") for method in methods
    )
    height = max(abs(spread(jump, m) - spread(jump, m, kind="paper [m]")) for m in methods[1:])
    falls = spread(jump, "ne-mdp", kind="runs") - spread(jump, "ne-mdp", kind="meaningful runs")
    of_mdp_jump = spread(jump, "ne-mdp", kind="meaningful")
    spider = max(
        spread(motion, method, kind="paper [m]") - spread(motion, method)
        for motion in ("Spider walk", "Spider jump")
        for method in methods
    )
    motions = [row["motion"] for row in rows("table1-paper", method="ne-mdp")]
    apart = max(
        abs(spread(m, "pbd-nmdp", kind="meaningful") - spread(m, "ne-nmdp", kind="meaningful"))
        for m in motions
        if spread(m, "ne-nmdp", kind="meaningful runs")
    )
    cost = {row["method"]: row for row in rows("fig6-paper", **{"dt [s]": "0.05"})}
    zeroth = [row for method, row in cost.items() if "zonmdp" in method]
    over = [
        value(cost[f"{form}-zonmdp"], "mean wall time [s]")
        / value(cost[f"{form}-nmdp"], "mean wall time [s]")
        for form in ("ne", "pbd")
    ]
    halved = [value(row, "halved steps") for row in zeroth]
    jumps = {row["gait"]: row["jumps"].split(", ")[0] for row in rows("jump-period")}
    near, far = rows("chaos", **{"step [ms]": "1"})
    bursts = {
        table: next(
            row["failed at dt [ms]"]
            for row in rows(f"table1-{table}-wide", motion="Robosimian jump-high", method="ne-mdp")
        )
        for table in ("paper", "recommended")
    }
    assert not bursts["recommended"]
    lengths = " and ".join(text.split()[0] for text in bursts["paper"].split("), "))
    secants = [
        value(other, "mean evaluations") / value(row, "mean evaluations")
        for row in rows("fig6-recommended")
        for other in rows("fig6-recommended", **{"dt [s]": row["dt [s]"]})
        if other["method"] == row["method"].replace("-nmdp", "-zonmdp") != row["method"]
    ]
    principle, paper = (
        [
            spread(f"Robosimian {name}", "ne-nmdp", f"{table}-wide")
            for name in ("walk-fast", "jump-high")
        ]
        for table in ("paper-contact", "paper")
    )
    return [
        f"tilts by at most {max(long):.1f} degrees at 15 to 50 ms, as in the paper, but by "
        f"{wide[10.0]:.1f} at 10 ms and {wide[5.0]:.1f} at 5 ms",
        "over 5 to 50 ms NE-NMDP spreads by {:.2f} m in the walk and {:.2f} m in walk-fast".format(
            *(spread(motion, "ne-nmdp", "paper-wide") for motion in (walk, fast))
        ),
        f"the default tilts by {span([*default.values()], 0)} degrees",
        f"NE-MDP tilts by {span(of_mdp, 0)} degrees at 1 to 5 ms and turns over in "
        f"{WORDS[turned]} of {WORDS[len(of_mdp)]} runs",
        f"agrees to {height:.2f} m. In {WORDS[int(falls)]} runs of NE-MDP the torso falls",
        f"the other {WORDS[5 - int(falls)]} spread by {of_mdp_jump:.2f} m, "
        f"{spread(jump, 'ne-mdp', kind='paper [m]') - of_mdp_jump:.2f} m less than published",
        f"our spreads are {-less:.2f} m less with NE-MDP, {more[0]:.2f} m more with PBD-NMDP and "
        f"{more[1]:.2f} m more with NE-NMDP",
        f"Our slow walk spreads by {max(spread(walk, m) for m in methods):.2f} m at most",
        f"**Spider** spreads less than published, by up to {spider:.2f} m",
        "Beside its row ({:.2f}, {:.2f} and {:.2f} m)".format(
            *(spread(walk, method, kind="paper [m]") for method in methods)
        ),
        f"their rows differ by {apart:.2f} m. In the paper the walk of PBD-NMDP spreads by "
        f"{np.subtract(*(spread(walk, m, kind='paper [m]') for m in methods[1:])):.2f} m more",
        f"takes {math.floor(min(over))} to {math.ceil(max(over))} times the time of first order",
        f"halves {span(halved, 0)} of 1200 steps",
        f"explodes** in jump-high at {lengths} ms",
        f"takes at most {max(secants):.1f} times the evaluations of first order",
        f"our gait of 1.4 s {WORDS[int(jumps['as it is, 1.4 s'])]}. "
        f"With a period of 2 s it makes {WORDS[int(jumps['held, 2 s'])]}",
        f"{principle[0]:.2f} m in walk-fast and {principle[1]:.2f} m in jump-high with "
        f"`paper-contact`, {paper[0]:.2f} and {paper[1]:.2f} m with `paper`",
        f"differences grow by e in {value(near, 'e-fold'):g} s, and starts 1e-3 apart spread by "
        f"{float(far['spread'].split()[0]):.2f} m",
        f"μ cos 30° = {0.7 * np.cos(np.pi / 6):.2f} instead of 0.7",
    ]


def pbad() -> list[str]:
    """Of the evaluation of the PBAD paper."""
    own = rows("pbad-fig6", **{"contact points": "64", "friction": "0.3"})

    def first_failure(method: str) -> float:
        steps = [
            1e3 * value(row, "dt [s]")
            for row in own
            if (row["method"], row["control"], row["stable"]) == (method, "fixed", "0")
        ]
        return min(steps)

    (long,) = (
        row
        for row in own
        if (row["method"], row["dt [s]"], row["control"]) == ("pbfd", "0.1", "halving")
    )
    shares = [
        100.0 * value(row, "share that is counted")
        for row in rows("pbad-fig6", method="ne-ncp", control="halving")
        if row["dt [s]"] == "0.001"
    ]
    counted = {
        (row["method"], row["dt [s]"]): value(row, "share that is counted")
        * value(row, "cost of 10 s [s]")
        for row in own
        if row["control"] == "halving"
    }
    equal = [counted["pbfd", h] / counted["ne-ncp", h] for h in ("0.002", "0.005", "0.01")]
    lm, lbfgs = (
        [value(row, "mean iterations") for row in rows("pbad-fig4") if row["optimiser"] in own]
        for own in (("pbd jtj-lm", "pbfd jtj-lm"), ("pbd lbfgs", "pbfd lbfgs"))
    )
    slow = lm.index(max(lm))
    more, fewer = lm.pop(slow), lbfgs.pop(slow)
    assert all(a < b for a, b in zip(lm, lbfgs, strict=True))
    return [
        f"{span(lm, 1)} a step against {span(lbfgs, 1)}, in all cases but one: PBD on the "
        f"swinging chain at 20 ms, {more:.1f} against {fewer:.1f}",
        f"{long['halved steps']} of {long['steps']} steps are halved, down to "
        f"{1e3 * value(long, 'smallest step [s]'):.0f} ms. With fixed steps it fails from "
        f"{first_failure('pbfd'):g} ms on",
        f"With fixed steps `ne-ncp` fails from {first_failure('ne-ncp'):g} ms on",
        f"At 1 ms the ADMM takes {span(shares, 0)} % of the time",
        f"At equal steps of 2 to 10 ms PBFD takes {span(equal, 1)} times the time of the ADMM",
    ]


def sand() -> list[str]:
    """Of the results on sand."""
    steps = [title for title in rows("sand-walk")[0] if title.startswith("distance at")]
    ways = {
        ground: [value(row, step) for row in rows("sand-walk", ground=ground) for step in steps]
        for ground in ("sand", "rock")
    }
    spread = {
        (row["ground"], row["method"]): 1e3 * value(row, "std of distance [m]")
        for row in rows("sand-walk")
    }
    zeroth, first = (
        [value(row, step) for step in steps]
        for method in ("ne-zonmdp", "ne-nmdp")
        for row in rows("sand-walk", ground="sand", method=method)
    )
    sink = [1e3 * value(row, "std of depth [m]") for row in rows("sand-walk", ground="sand")]
    lift = [
        abs(value(row, "calibrated [N]") / value(row, "measured [N]") - 1.0)
        for row in rows("sand-calibration")
    ]
    apart = max(abs(a - b) for a, b in zip(zeroth, first, strict=True))
    return [
        *_modes(),
        f"lifts an upright rod as measured, within {100.0 * max(lift):.0f} %",
        f"walks {span(ways['sand'], 1)} m in 10 s on sand and {span(ways['rock'], 1)} m on rock",
        f"differs by {spread['sand', 'ne-nmdp']:.0f} mm (standard deviation, mean over 10 s), "
        f"less than on rock ({spread['rock', 'ne-nmdp']:.0f} mm), the sinkage by "
        f"{max(sink):.1f} mm",
        f"in zeroth order differs by up to {apart:.2f} m",
    ]


def _modes() -> list[str]:
    """Of the foot that is dragged: its last depth, and the forces at which its mode changes."""
    changes = [
        [
            abs(value(before, "force x [N]"))
            for before, now in pairwise(rows("sand-modes", **{"dt [s]": step}))
            if before["mode"] != now["mode"]
        ][:4]
        for step in ("0.005", "0.01", "0.02")
    ]
    depth = 1e3 * value(rows("sand-modes", **{"dt [s]": "0.005"})[-1], "depth [m]")
    return [
        f"until load and drag balance at {depth:.1f} mm",
        f"at the same force, to {np.ptp(changes, axis=0).max():.1f} N",
    ]


def granular() -> list[str]:
    """Of feet in sand: medians of errors, and the work of the polytope."""
    found = rows("granular")
    force = [float(row["force [%]"].split(", ")[0]) for row in found]
    works = {
        row["foot"].split("(")[0]: row["work: 5 %, median, 95 %"].split(", ")
        for row in reversed(found)  # the least tilt last
    }
    least = {foot: f"{work[0]} to {work[2]}" for foot, work in works.items()}
    return [
        f"Median errors are {span(force, 1)} % of the largest force",
        f"is {least['Rod']} in nine of ten random translations of a rod tilted by up to 30 degrees "
        f"(sphere {least['Sphere']}, plate {least['Plate']};",
    ]


def learning() -> list[str]:
    """Of the policies that were trained and tested."""
    found = {
        robot: [rows(f"locomotion-{robot}-{seed}") for seed in range(3)]
        for robot in ("hopper", "walker")
    }

    def mean(own: list[dict[str, str]], method: str, step: str) -> float:
        made = [value(r, "return") for r in own if (r["method"], r["step"]) == (method, step)]
        return float(np.mean(made))

    def fell(seeds: list[list[dict[str, str]]], method: str, step: str) -> list[int]:
        return [
            sum(r["fell"] == "1" for r in own if (r["method"], r["step"]) == (method, step))
            for own in seeds
        ]

    shares = [
        100.0
        * sum(mean(own, "ne-ncp", "0.02") for own in seeds)
        / sum(mean(own, "pbfd", "0.02") for own in seeds)
        for seeds in found.values()
    ]
    falls = sum(
        sum(fell(seeds, method, "0.005"))
        for seeds in found.values()
        for method in ("pbfd", "ne-ncp")
    )
    changes = [
        100.0 * (mean(own, "ne-ncp", "0.005") / mean(own, "pbfd", "0.005") - 1.0)
        for seeds in found.values()
        for own in seeds
    ]
    return [
        f"{shares[0]:.0f} % (hopper) and {shares[1]:.0f} % (walker)",
        f"At 5 ms {falls} of 120 episodes end in a fall",
        f"differs by {min(changes):.0f} to {max(changes):+.0f} %",
    ]


def work_precision() -> list[str]:
    """Of errors against computing times."""

    def error(case: str, simulator: str, step: str, of: str = "path") -> float:
        (row,) = rows("work_precision", case=case, simulator=simulator, step=step)
        return 100.0 * value(row, of)

    ours, theirs = "nmdp-pin order 2", "MuJoCo implicitfast"
    height = [
        error("jump-kp1e4", f"MuJoCo {m}", "0.0005", "height") for m in ("implicitfast", "Euler")
    ]
    push = [error("panda-push", ours, step) for step in ("0.01", "0.0125", "0.0025")]
    aside = rows("work_precision", case="panda-push-aside", simulator=ours)
    long = [
        100.0 * value(row, "path")
        for row in rows("work_precision", case="panda-push-aside", simulator=theirs)
        if 5e-5 <= float(row["step"]) <= 1e-3
    ]
    most = max(100.0 * value(row, "path") for row in aside)
    known = error("panda-push-aside", theirs, "1e-05")
    return [
        f"its runs with 5 and 10 µs differ by {error('jump-kp1e6', theirs, '1e-05'):.1f} %",
        f"the height errs by {height[0]:.1f} % with `implicitfast` and by {height[1]:.1f} % with",
        f"({push[0]:.2f} % at 10 ms, the side of the limit, {push[1]:.1f} % at 12.5 ms and "
        f"{push[2]:.1f} % at 2.5 ms)",
        f"are below {math.ceil(100.0 * most) / 100.0:.2f} % at all steps, those of MuJoCo "
        f"{span(long, 1)} % from 1 to 0.05 ms (`implicitfast`), although its limit is known to "
        f"{known:.1f} %",
    ]


def ratios(*cases: str, errors: tuple[str, ...] = ("3 %", "1 %", "0.3 %")) -> list[float]:
    """Our CPU time over MuJoCo's, where both reach the error."""
    cells = [
        row[e] for case in cases for row in rows("work-precision-ratios", case=case) for e in errors
    ]
    return [float(cell) for cell in cells if not cell.startswith("not")]


def accuracy() -> list[str]:
    """Of the limits."""
    soft = ratios("jump-kp1e3", "arm-push-off") + ratios("a1-trot", errors=("3 %", "1 %"))
    pushes = ratios("spider-walk", "panda-push", "panda-push-aside", errors=("1 %",))
    assert min(*soft, *pushes) > 1.0
    rise = {
        name: {row["dt ms"]: value(row, "first rise m") for row in rows(f"jump-{name}")}
        for name in ("order1", "order2", "plastic")
    }
    lost = [100.0 * (1.0 - rise["order1"][h] / rise["order2"]["5"]) for h in ("10", "20")]
    long = [f"{rise['order2'][h]:.3f}" for h in ("30", "40", "50")]
    fast = {
        name: [
            value(row, "times real time")
            for row in rows("sampling", simulator=name)
            if 0.0645 <= value(row, "error [m]") <= 0.0945
        ]
        for name in ("pbfd", "MuJoCo implicitfast")
    }
    ours, theirs = fast.values()
    times = WORDS[round(min(theirs) / max(ours))], WORDS[round(max(theirs) / min(ours))]
    left = line("limits-spin", "`pbd-nmdp`, first order")
    steps = {
        name: [float(row[name].split(", ")[1]) for row in rows("limits-rest-steps")]
        for name in ("box", "go2", "anymal")
    }
    way, bare = "distance [m]", "distance [m] without recovery"
    gait = {
        name: [
            cell("limits-motion", f"{name}, 6 s, {h} ms", c) for c in (way, bare) for h in (50, 10)
        ]
        for name in ("robosimian-walk", "spider-walk")
    }
    hard = rows("hard-ground")
    count = {key: sum(int(row[key]) for row in hard) for key in ("steps", "failed", "halved")}
    assert not count["failed"]
    dear = [row for row in hard if value(row, "evaluations") > AIMS[row["noise"]][row["order"]]]
    halved = [row for row in hard if value(row, "halved") >= value(row, "steps") / 100]
    assert {row["step"] for row in halved} == {"0.04"}
    assert not dear
    top = line("limits-top", "`ne-nmdp`, second order")
    assert top[2] == pytest.approx(top[0], abs=0.01)
    deep = line("limits-motion", "robosimian-jump-paper, 4 s, 50 ms")
    return [
        f"None of {count['steps']:,} steps failed, and {count['halved']} were halved",
        f"all {len(hard)} cells meet it. In {len(halved)} of them, all of steps of 40 ms, 1 % or "
        "more of the steps were halved",
        f"[down to {100.0 / max(soft):.0f} % of the CPU time]",
        f"rises {long[0]}, {long[1]} and {long[2]} m at 30, 40 and 50 ms, "
        f"{rise['order2']['5']:.3f} m in the limit",
        f"loses {lost[0]:.0f} % of its height at 10 ms and {lost[1]:.0f} % at 20 ms",
        f"[{times[0]} to {times[1]} times as fast](#random-shooting)",
        f"a ball keeps {left[0]:.0f}, {left[1]:.0f}, {left[2]:.0f} and {left[3]:.0f} %",
        f"({line('limits-spin', '`pbd-nmdp`, second order')[3]:g} % at 25 ms",
        f"take {steps['box'][2]:.1f} evaluations instead of {steps['box'][0]:.1f}",
        f"{steps['go2'][2]:.1f} and {steps['anymal'][2]:.1f} instead of "
        f"{steps['go2'][0]:.1f} and {steps['anymal'][0]:.1f}",
        f"rises {rise['order2']['5']:.2f} m instead of {rise['plastic']['5']:.2f} m in the limit",
        f"is {deep[1]:.0f} mm instead of {deep[3]:.0f}",
        f"should reach {top[0]:.2f} rad, and does with steps of 1 ms in second order; in first "
        f"order it reaches {cell('limits-top', '`ne-nmdp`, first order', '1 ms'):.1f} rad",
        "keeps {:.0f}, {:.0f} and {:.0f} % of its spin after a second with steps of 2, 5 and "
        "10 ms".format(*(100.0 / np.sqrt(1.0 + 2.0 / 3.0 * h * 100.0) for h in (2e-3, 5e-3, 0.01))),
        f"rises at up to σ d/p, {RECOVERY / 2 * 0.075:.2f} m/s from 75 mm",
        *(
            f"{a:.2f} and {b:.2f} m instead of {c:.2f} and {d:.2f} m"
            for a, b, c, d in gait.values()
        ),
    ]


def readme() -> list[str]:
    """Of the README."""
    stiff = [f"jump-kp1e{power}" for power in (4, 5, 6)]
    assert max(ratios(*stiff, "go2-stand-up")) <= 1.0
    rise = rows("jump-order2", **{"dt ms": "5"})[0]
    veers, further = (
        cell("limits-cone", row, "6")
        for row in ("veers by at most [deg]", "slides further by at most [%]")
    )
    return [
        f"the first jump rises {value(rise, 'first rise m'):.2f} m in the limit of short steps",
        f"veer by up to {veers:g} degrees and slide up to {further:g} % further",
    ]


def derivatives() -> list[str]:
    """Of derivatives and kinks."""
    kinds = [
        f"{kind}{order}"
        for kind in ("flight", "sticking", "sliding")
        for order in ("", ", order 2")
    ]
    box = [value(row, kind) for row in rows("derivatives-box") for kind in kinds]
    robot = [
        value(row, kind)
        for row in rows("derivatives-robosimian")
        for kind in ("standing", "pushed")
    ]
    return [
        f"are {min(box):.0e} to {max(box):.0e} of the largest entry",
        f"at most {max(robot):.0e} for Robosimian",
    ]


def physics() -> list[str]:
    """Of the comparison with closed forms."""
    creep = max(
        abs(cell("physics-slope-creep", f"ne-nmdp {objective}", "50 ms"))
        for objective in ("kinetic", "end_effector")
    )
    deep = cell("physics-impact", "ne-mdp, 20 m/s", "20 ms")
    gain = {
        row["method, during"]: value(row, "2 ms")
        for row in rows("physics-chain-energy")
        if row["method, during"].endswith("2.0 s")
    }
    ours = [x for name, x in gain.items() if name.startswith("ne-nmdp")]
    assert max(x for name, x in gain.items() if name.startswith("pbd-nmdp")) < 0.0
    (flight,) = (
        row
        for row in rows("physics-momentum")
        if row["method, base"].startswith("ne-nmdp dissipation, free-flyer")
    )
    x = [flight[h].split(", ")[0] for h in ("1 ms", "8 ms")]
    return [
        f"creep by up to {creep:.0f} µm/s at 50 ms",
        f"({deep:.0f} mm at 20 m/s and 20 ms;",
        f"`ne-nmdp` gains up to {max(ours):.3f} J of 4.9 J** (2 ms;",
        f"is at x = {x[0]} m with steps of 1 ms and at {x[1]} m with 8 ms",
    ]


def contacts() -> list[str]:
    """Of shapes that fall on each other, piles, obstacles, and links that touch."""
    number, deep, failed, _ = line("falls", "all")
    assert line("falls", "cones and coins")[1:3] == [deep, failed]
    found = rows("obstacles")
    assert {(row["runs"], row["failed"]) for row in found} == {("48", "0")}
    second, overlap = "CPU time a simulated second [s]", "deepest overlap [mm]"
    ours, theirs = rows("pile", simulator="nmdp-pin"), rows("pile", simulator="MuJoCo")
    (fine,) = (row for row in ours if row["step [ms]"] == "5")
    (other,) = (row for row in theirs if row["step [ms]"] == "5")
    deepest = [max(value(row, overlap) for row in some) for some in (ours, theirs)]
    ratio = round(value(fine, second) / value(other, second), -1)
    took = [
        1e-3 * value(rows(f"step-{name}")[0], "a step [us]") for name in ("self-collision", "alone")
    ]
    return [
        f"Of {number:.0f} random falls of one shape on another {WORDS[int(deep)]} goes in by more "
        f"than 3 mm that no contact reports; {WORDS[int(failed)]}, of a cone, has a step that "
        "fails",
        f"lie up to {max(value(row, overlap) for row in found):.1f} mm deep in impacts",
        f"a pile of 30 parts takes {value(fine, second):.1f} s of CPU time with steps of 5 ms, "
        f"{ratio:.0f} times as long as MuJoCo",
        f"parts overlap by up to {deepest[0]:.1f} mm,",
        f"MuJoCo's by {deepest[1]:.1f} mm",
        f"takes {took[0]:.1f} ms a step of 10 ms with it and {took[1]:.2f} ms without",
    ]


def viewer() -> list[str]:
    """Of frames."""
    sent, between = (
        line("viewer-frame", f"a {name}")[0] for name in ("frame that is sent", "step between")
    )
    return [
        f"A frame of Robosimian takes {sent:.1f} ms, a step between two frames {between:.3f} ms"
    ]


def choices() -> list[str]:
    """Of solvers of quadratic programs."""

    def less(name: str) -> list[float]:
        """Parts of the time that DAQP saves [%]."""
        times: dict[str, dict[tuple[str, ...], float]] = {"proxqp": {}, "daqp": {}}
        for row in rows(f"qp-{name}"):
            key = row["method"], row["objective"], row["order"]
            times[row["QP"]][key] = value(row, "ms")
        return [100.0 * (1.0 - times["daqp"][key] / ms) for key, ms in times["proxqp"].items()]

    shares = less("jump") + less("walk")
    most, least = round(max(shares), -1), round(min(shares), -1)
    return [f"with which steps take {most:.0f} % less to {-least:.0f} % more time"]


def reliability() -> list[str]:
    """Of the campaigns."""
    bad = {
        (row["campaign"], row["kind"]): int(row["not allowed"])
        for row in rows("campaigns-kinds")
        if row["not allowed"] != "0"
    }
    steps = {kind: n for (campaign, kind), n in bad.items() if campaign == "systems"}
    return [
        f"{sum(steps.values())} steps that took more than a second",
        ", ".join(f"{n} of `{kind}`" for kind, n in steps.items()),
        *(f"{n} damaged {kind}" for (name, kind), n in bad.items() if name == "inputs"),
    ]


def planning(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Of the plans: what their examples are told to do."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    jump, push, reach = (
        importlib.import_module(name)
        for name in ("plan_jump", "push_box_by_ompl", "reach_by_sampling")
    )
    task, search, short = reach.reach_over(reach.GAP), reach.Search(), reach.SHORT
    away = 100.0 * task.distance(task.simulator.robot.standing)
    steps = round(reach.DURATION / reach.LARGE)
    near, _, turned = push.TOLERANCE
    return {
        "planning_jump.md": [
            f"{100.0 * jump.RISE:.0f} cm above the standing pose",
            f"steps of at most {1e3 * jump.FINE:g} ms; after {jump.DURATION:g} s PD lands",
        ],
        "planning_sampling.md": [
            f"a gap of {100.0 * reach.GAP:.0f} cm whose far bank is {100.0 * reach.RISE:.0f} cm",
            f"its front left foot is {away:.0f} cm away",
            f"targets of the 12 motors at {reach.KNOTS[0]} s and {reach.KNOTS[1]} s",
            f"after {search.rounds} rounds of {search.samples} samples of {steps} steps",
            f"{short.rounds} rounds of {short.samples} samples over a gap of "
            f"{100.0 * reach.SMALL_GAP:.0f} cm",
            f"within {100.0 * near:.0f} cm and {np.degrees(turned):.0f} degrees, in steps of "
            f"{1e3 * push.LARGE:.0f} ms",
        ],
    }


PAGES: dict[str, Callable[[], list[str]]] = {
    "results/nmdp.md": nmdp,
    "results/pbad.md": pbad,
    "results/sand.md": sand,
    "results/work_precision.md": work_precision,
    "granular.md": granular,
    "reinforcement_learning.md": learning,
    "accuracy.md": accuracy,
    "choices.md": choices,
    "contacts_between_bodies.md": contacts,
    "derivatives.md": derivatives,
    "physics.md": physics,
    "reliability.md": reliability,
    "viewer.md": viewer,
    "../README.md": readme,
}


@pytest.mark.parametrize("name", PAGES)
def test_sentences(name):
    """A page has every sentence that its data make."""
    text = page(name)
    missing = [sentence for sentence in PAGES[name]() if sentence not in text]
    assert missing == []


def test_sentences_of_plans(monkeypatch):
    """The pages say what the examples do."""
    for name, sentences in planning(monkeypatch).items():
        text = page(name)
        assert [sentence for sentence in sentences if sentence not in text] == []
