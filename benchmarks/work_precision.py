"""Work against precision, beside MuJoCo: CPU time of a simulated second and error, step by step.

    OMP_NUM_THREADS=1 python benchmarks/work_precision.py [CASE ...] [--only SIMULATOR]
        [--out FOLDER]

The same robots, gains and motions in both, without bounds of the joints; each simulator is compared
with its own limit at a short step (contacts are different models). The error is a root mean square
every 50 ms, over how far it moves: of the path of the base or the pushed box, and of the height of
the base alone. The table printed last is the CPU time that nmdp-pin needs for an error, in the
best of its orders, over that of MuJoCo with the best of its integrators. Both are interpolated (log
error, log CPU time) where a curve gets below that error for good. The shortest steps are twice
those of the limits: an error that is not reached with them is one to which the limit is not known.
Nor is one that lies on a plateau, where the errors of a decade of steps are all about as large.
Times are the least of three runs, in turns. Where Drake is installed (`pip install drake`) it is
run too, with three of its discrete approximations and with CENIC, whose "steps" are accuracies;
they have a table of their own. Rows that are not measured stay as they are in the folder.
"""

from __future__ import annotations

import argparse
import copy
import functools
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import matplotlib
import mujoco
import numpy as np
import pinocchio as pin
from mujoco_twin import Twin
from PIL import Image

from nmdp_pin import FrictionCone, Plane, Simulator, StablePD, Terrain, load_robot
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._robot.gait import Gait
from nmdp_pin._scenario import Scenario
from nmdp_pin.papers.data_file import read_data, value, write_data

matplotlib.use("Agg")
import matplotlib.pyplot as plt

GRID = 0.05  # [s] between the samples that are compared
THRESHOLDS = (0.03, 0.01, 0.003)
TENTH, FALL = 10.0001, math.sqrt(10.0)  # a decade of steps; of errors, half an order
REPEATS = 3
OURS = (0.05, 0.025, 0.0125, 0.01, 0.005, 0.0025, 0.00125)
OUR_LIMIT = 1e-4
THEIRS = (0.025, 0.01, 5e-3, 2.5e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1e-4, 5e-5, 2.5e-5)
THEIR_LIMIT = 5e-6
WAYS = ("implicitfast", "discrete", "Euler", "RK4")  # with elliptic cones
WAYS += ("implicitfast pyramidal", "discrete pyramidal")
DRAKES = {  # steps [s], or accuracies [-]; the last one is that of the limit
    **dict.fromkeys(("Lagged", "Sap", "Similar"), (0.01, 5e-3, 2.5e-3, 1e-3, 5e-4, 1e-4)),
    "CENIC": (1e-1, 1e-2, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-7),
}
LONGEST = 2e-4  # step of the limit of CENIC [s]
CONE = FrictionCone(stiffness=1e6, power=2, recovery=0.0)  # [N/m^2]


@dataclass(frozen=True, eq=False)
class Case:
    """A robot that follows a motion on a plane, maybe with an object.

    Args:
        name: of the case.
        robot: what moves.
        pd: its controller.
        q0: where it begins, at rest.
        height: of the plane [m].
        kp: position gain [N m/rad].
        kd: velocity gain [N m s/rad].
        duration: [s].
        law: our contacts.
        friction: coefficient of the plane.
        position: of the base or the object in the configuration, its height last.
        metrics: names of those that are compared.
    """

    name: str
    robot: Robot
    pd: StablePD
    q0: np.ndarray
    height: float
    kp: float
    kd: float
    duration: float
    law: FrictionCone = CONE
    friction: float = 0.7
    position: range = range(3)
    metrics: tuple[str, ...] = ("path", "height")


METRICS: dict[str, Callable[[Case, np.ndarray], np.ndarray]] = {
    "path": lambda case, q: q[:, case.position],
    "height": lambda case, q: q[:, case.position[-1:]],
}


class Row(NamedTuple):
    """One setting of one simulator; the errors of metrics that are not compared are NaN."""

    case: str
    simulator: str
    step: float
    path: float
    height: float
    cpu: float
    evaluations: float


def cases() -> dict[str, Callable[[], Case]]:
    """All cases by name."""
    made: dict[str, Callable[[], Case]] = {}
    for power, kd in ((3, 1.0), (4, 100.0), (5, 100.0), (6, 1000.0)):
        name, kp = f"jump-kp1e{power}", 10.0**power
        made[name] = lambda name=name, kp=kp, kd=kd: _robosimian(name, kp, kd)
    made["spider-walk"] = _spider
    made["go2-stand-up"] = _go2
    made["a1-trot"] = _a1
    made["arm-push-off"] = _arm
    aside = ("objects.0.position=[0.47, 0.02, 0.0695]", "contact.directions=12")
    made["panda-push"] = lambda: _panda("panda-push")
    made["panda-push-aside"] = lambda: _panda("panda-push-aside", *aside)
    return made


def _robosimian(name: str, kp: float, kd: float) -> Case:
    robot = load_robot("robosimian", base="planar", variant="listed", limits=False)
    pd = StablePD(robot, kp=kp, kd=kd, gait="jump")
    start, plane = robot.standing, range(2)
    return Case(name, robot, pd, start, -0.8, kp, kd, 2.0, position=plane)


def _spider() -> Case:
    robot = load_robot("spider", base="free-flyer", limits=False)
    height = _lowest(robot, robot.standing)
    pd = StablePD(robot, kp=1e3, kd=10.0, gait="walk")
    return Case("spider-walk", robot, pd, robot.standing, height, 1e3, 10.0, 2.0)


def _go2() -> Case:
    robot = load_robot("go2", contacts="feet", limits=False)
    crouched = robot.standing.copy()
    for joint in list(robot.model.joints)[1:]:
        if joint.nv == 1:
            crouched[joint.idx_q] *= 1.2
    height = _lowest(robot, crouched)
    pd = StablePD(robot, kp=300.0, kd=5.0)
    return Case("go2-stand-up", robot, pd, crouched, height, 300.0, 5.0, 1.0)


def _a1() -> Case:
    """Diagonal legs together, 2.5 cycles a second; thighs swing, calves lift the feet."""
    robot = load_robot("a1", contacts="feet", limits=False)
    joints = robot.model.joints
    legs = [
        [joints[robot.model.getJointId(f"{leg}_{part}_joint")] for part in ("thigh", "calf")]
        for leg in ("FL", "RR", "FR", "RL")
    ]
    at = np.array([[joint.idx_q for joint in leg] for leg in legs])
    rates = np.array([[joint.idx_v for joint in leg] for leg in legs])
    rate, phase = 2.0 * math.pi * 2.5, np.array([0.0, 0.0, math.pi, math.pi])

    def trot(t: float) -> tuple[np.ndarray, np.ndarray]:
        s, c = np.sin(rate * t + phase), np.cos(rate * t + phase)
        up, grown = np.maximum(c, 0.0), 1.0 - math.exp(-10.0 * t)
        offset = np.stack([-0.15 * s, -0.4 * up**2], axis=1)  # [rad]
        slope = rate * np.stack([-0.15 * c, 0.8 * up * s], axis=1)
        q, v = robot.standing.copy(), np.zeros(robot.model.nv)
        q[at] += grown * offset
        v[rates] = 10.0 * (1.0 - grown) * offset + grown * slope
        return q, v

    pd = StablePD(robot, kp=100.0, kd=2.0, gait=trot)
    return Case("a1-trot", robot, pd, robot.standing, robot.lowest_point, 100.0, 2.0, 1.6)


def _arm() -> Case:
    """A Panda without a stand, in weightlessness; it reaches down, and the plane is its wall."""
    names = [f"panda_joint{k}" for k in range(1, 8)]
    tip = ("fingertip", "panda_hand_tcp", (0.0, 0.0, 0.0), 0.02)
    robot = load_robot("panda", base="free-flyer", joints=names, contacts=[tip], limits=False)
    robot.model.gravity = pin.Motion.Zero()
    bent, stretched = (
        (0.0, -0.54, 0.0, -2.96, 0.0, 3.5, 0.0),
        (0.0, 0.07, 0.0, -2.34, 0.0, 3.5, 0.0),
    )
    q = np.array([0.0, 0.0, 0.0, 0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5), *bent])
    gait = Gait("push", tuple(names), np.array([0.0, 0.5]), np.array([bent, stretched]))
    pd = StablePD(robot, kp=2000.0, kd=100.0, gait=gait)
    return Case("arm-push-off", robot, pd, q, _lowest(robot, q), 2000.0, 100.0, 1.5)


def _panda(name: str, *overrides: str) -> Case:
    """The bundled scenario; of the arm only the fingertip touches the box, in both simulators."""
    scenario = Scenario.load(
        "panda-push", overrides=["robot.limits=false", "contact.recovery=0", *overrides]
    )
    setup, gains = scenario.build(visuals=False), scenario.resolved()["controller"]
    robot, box = setup.robot, setup.robot.model.njoints - 1
    old = robot.contact_points
    keep = np.flatnonzero(np.isin(old.touches, (0, box)))  # not the box's corners on the hand
    names = tuple(old.names[k] for k in keep)
    points = ContactPoints(
        names, old.joints[keep], old.positions[keep], old.radii[keep], old.touches[keep]
    )
    robot = replace(robot, contact_points=points, surfaces={box: robot.surfaces[box]})
    return Case(
        name,
        robot,
        setup.controller,
        setup.state.q,
        0.0,
        gains["kp"],
        gains["kd"],
        scenario.duration,
        law=setup.simulator.contact,
        friction=setup.terrain.shapes[0].friction,
        position=range(7, 10),
        metrics=("path",),
    )


def _lowest(robot: Robot, q: np.ndarray) -> float:
    """Height of the lowest point of the contact spheres [m]."""
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    points = robot.contact_points
    return min(
        float(data.oMi[int(j)].act(np.array(p))[2] - r)
        for j, p, r in zip(points.joints, points.positions, points.radii, strict=True)
    )


def ours(case: Case, h: float, order: int) -> tuple[np.ndarray, float, float]:
    """Configurations every 50 ms, CPU time and evaluations of a simulated second.

    It runs twice: references are kept from the first run, as MuJoCo's controls are made before.
    """
    ground = Terrain([Plane(height=case.height, friction=case.friction)])
    simulator = Simulator(case.robot, ground, case.law, "ne-nmdp", order=order)
    every, out, evaluations, pd = round(GRID / h), [], 0, copy.copy(case.pd)
    pd.reference = functools.cache(case.pd.reference)
    state, times = simulator.state(case.q0), {"dt": h, "duration": case.duration}
    for _ in simulator.run(state, pd, **times):
        pass
    begin = time.process_time()
    run = simulator.run(state, pd, **times)
    for k, result in enumerate(run):
        evaluations += result.evaluations
        if not result.status.ok:
            break
        if (k + 1) % every == 0:
            out.append(result.state.q)
    cpu = time.process_time() - begin
    return np.array(out), cpu / case.duration, evaluations / case.duration


def theirs(case: Case, h: float, way: str) -> tuple[np.ndarray, float, float]:
    """The same of MuJoCo; its controls are made before the clock runs."""
    integrator, _, cone = way.partition(" ")
    twin = Twin(
        case.robot,
        case.pd.reference,
        height=case.height,
        friction=case.friction,
        kp=case.kp,
        kd=case.kd,
    )
    twin.model.opt.timestep = h
    twin.model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    twin.model.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{(cone or 'elliptic').upper()}")
    steps, every, out = round(case.duration / h), round(GRID / h), []
    controls, data = twin.controls(h, steps), twin.state(case.q0)
    samples = []
    begin = time.process_time()
    for k in range(steps):
        data.ctrl[:] = controls[k]
        mujoco.mj_step(twin.model, data)
        if (k + 1) % every == 0:
            samples.append(data.qpos.copy())
    cpu = time.process_time() - begin
    for sample in samples:
        data.qpos[:] = sample
        out.append(twin.configuration(data))
    if any(warning.number for warning in data.warning):
        out = out[:0]
    return np.array(out), cpu / case.duration, steps / case.duration


def drakes(case: Case, step: float, way: str, **options: float) -> tuple[np.ndarray, float, float]:
    """The same of Drake, of which the position alone is read."""
    from drake_twin import DrakeTwin  # optional

    twin = DrakeTwin(
        case.robot,
        case.pd.reference,
        q0=case.q0,
        position=case.position,
        duration=case.duration,
        height=case.height,
        friction=case.friction,
        kp=case.kp,
        kd=case.kd,
        way=way,
        step=step,
        **options,
    )
    out = np.tile(case.q0, (round(case.duration / GRID), 1))
    begin = time.process_time()
    try:
        for k, row in enumerate(out, 1):
            row[case.position] = twin.advance(k * GRID)
    except RuntimeError:  # its solver failed
        out = out[:0]
    cpu = time.process_time() - begin
    return out, cpu / case.duration, twin.steps / case.duration


def error(case: Case, found: np.ndarray, limit: np.ndarray, metric: str) -> float:
    """Root mean square of a metric over how far it moves; inf for a run that failed."""
    if metric not in case.metrics:
        return math.nan
    if found.shape != limit.shape or not np.isfinite(found).all():
        return math.inf
    start, is_, should = (METRICS[metric](case, q) for q in (case.q0[None], found, limit))
    return float(np.sqrt(np.mean((is_ - should) ** 2)) / np.abs(should - start).max())


Run = Callable[[], tuple[np.ndarray, float, float]]


class Setting(NamedTuple):
    """A setting of a simulator: its run, and that of the limit."""

    simulator: str
    step: float
    run: Run
    limit: Run


def settings_of(case: Case) -> list[Setting]:
    """All settings of the simulators that are installed."""
    limit: Run = functools.cache(lambda: ours(case, OUR_LIMIT, 2))
    settings = [
        Setting(f"nmdp-pin order {o}", h, lambda h=h, o=o: ours(case, h, o), limit)
        for h in (*OURS, 2.0 * OUR_LIMIT)
        for o in (1, 2)
    ]
    limits: dict[bool, Run] = {
        "pyramidal" in way: functools.cache(lambda way=way: theirs(case, THEIR_LIMIT, way))
        for way in (WAYS[0], WAYS[-2])
    }
    pairs = [(h, way) for h in THEIRS for way in WAYS]
    settings += [
        Setting(
            f"MuJoCo {way}",
            h,
            lambda h=h, way=way: theirs(case, h, way),
            limits["pyramidal" in way],
        )
        for h, way in [*pairs, (2.0 * THEIR_LIMIT, WAYS[0])]
    ]
    for way, (*steps, finest) in DRAKES.items() if importlib.util.find_spec("pydrake") else ():
        options = {"longest": LONGEST} if way == "CENIC" else {}
        limit = functools.cache(lambda w=way, h=finest, o=options: drakes(case, h, w, **o))
        settings += [
            Setting(f"Drake {way}", h, lambda h=h, way=way: drakes(case, h, way), limit)
            for h in steps
        ]
    return settings


def measure(case: Case, only: str = "") -> list[Row]:
    """Rows of the settings whose simulators are called so; references are known when it counts."""
    case.pd.reference = functools.cache(case.pd.reference)
    settings = [each for each in settings_of(case) if each.simulator.startswith(only)]
    limits = {each.simulator.split()[0]: each.limit for each in reversed(settings)}
    if {"nmdp-pin", "MuJoCo"} <= set(limits):
        our_limit, their_limit = limits["nmdp-pin"]()[0], limits["MuJoCo"]()[0]
        ends = [q[-1, case.position] for q in (our_limit, their_limit)]
        print(
            f"{case.name}: the limits differ by {error(case, our_limit, their_limit, 'path'):.1e}, "
            f"at the end by {1e3 * np.linalg.norm(ends[0] - ends[1]):.1f} mm"
        )
    best = [math.inf] * len(settings)
    found = []
    for _ in range(REPEATS):
        found = [each.run() for each in settings]
        best = [min(b, f[1]) for b, f in zip(best, found, strict=True)]
    rows = []
    for each, cpu, (q, _, evaluations) in zip(settings, best, found, strict=True):
        errors = (error(case, q, each.limit()[0], metric) for metric in METRICS)
        rows.append(Row(case.name, each.simulator, each.step, *errors, cpu, evaluations))
    return rows


def cost(curve: list[Row], metric: str, threshold: float) -> float:
    """CPU time at which a curve gets below a threshold for good; inf where it does not.

    Of a curve that is below with all steps it is the time of the longest. On a plateau, where the
    errors of a decade of steps are within a factor of `FALL` of the threshold, it is by chance.
    """
    worst, before = 0.0, None
    curve = sorted(curve, key=lambda row: row.step)
    for row in curve:
        finer, worst = worst, max(worst, getattr(row, metric))
        if worst > threshold:
            if before is None:
                return math.inf
            near = [r for r in curve if r.step < TENTH * before.step]
            most = max(getattr(r, metric) for r in near)
            if len(near) < len(curve) and most < FALL * threshold < FALL**2 * finer:
                return math.inf
            part = math.log(threshold / finer) / math.log(worst / finer)  # 0 where a run failed
            return before.cpu * (row.cpu / before.cpu) ** part
        before = row
    return before.cpu


def rounded(ratio: float) -> float:
    """To two digits."""
    return float(f"{ratio:.2g}")


def ratios(rows: list[Row], peer: str = "MuJoCo") -> list[str]:
    """Lines of a table, a row a case and metric: our CPU time over that of another simulator."""
    lines = [
        "| case | metric | " + " | ".join(f"{100 * t:g} %" for t in THRESHOLDS) + " |",
        "|---" * (2 + len(THRESHOLDS)) + "|",
    ]

    def cell(own: list[Row], metric: str, threshold: float) -> str:
        costs = {
            simulator: min(
                cost([row for row in own if row.simulator == name], metric, threshold)
                for name in dict.fromkeys(row.simulator for row in own)
                if name.startswith(simulator)
            )
            for simulator in ("nmdp-pin", peer)
        }
        missing = " and ".join(name for name, spent in costs.items() if math.isinf(spent))
        ratio = f"{rounded(costs['nmdp-pin'] / costs[peer]):g}"
        return f"not reached by {missing}" if missing else ratio

    for case in dict.fromkeys(row.case for row in rows if row.simulator.startswith(peer)):
        own = [row for row in rows if row.case == case]
        for metric in METRICS:
            if not math.isnan(getattr(own[0], metric)):
                cells = " | ".join(cell(own, metric, threshold) for threshold in THRESHOLDS)
                lines.append(f"| {case} | {metric} | {cells} |")
    return lines


def _look(simulator: str) -> dict[str, object]:
    """Of a curve: ours are thick, those with pyramidal cones dashed, Drake's dotted."""
    family, name, *cone = simulator.split(" ", 2)
    ours_too = family == "nmdp-pin"
    known = ("order", *(way for way in WAYS if " " not in way), *DRAKES)
    color = f"C{known.index(name) + 1 if simulator != 'nmdp-pin order 1' else 0}"
    style = "-" if ours_too else "--" if cone else ":" if family == "Drake" else "-"
    return {"color": color, "ls": style, "lw": 2.5 if ours_too else 1.0, "marker": "o", "ms": 3}


def draw(rows: list[Row], path: Path) -> None:
    """Error of the path against CPU time, a panel a case."""
    names = list(dict.fromkeys(row.case for row in rows))
    columns = min(3, len(names))
    lines = math.ceil(len(names) / columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(4.2 * columns, 3.4 * lines), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes.ravel(), names, strict=False):
        for simulator in dict.fromkeys(row.simulator for row in rows):
            own = [r for r in rows if r.case == name and r.simulator == simulator]
            own = sorted((r for r in own if r.path < 1.0), key=lambda r: -r.step)
            x, y = [1e3 * r.cpu for r in own], [r.path for r in own]
            axis.loglog(x, y, **_look(simulator), label=simulator)
            for r in own[:: max(1, len(own) - 1)]:
                axis.annotate(f"{1e3 * r.step:g}", (1e3 * r.cpu, r.path), fontsize=6)
        for threshold in THRESHOLDS:
            axis.axhline(threshold, color="0.7", lw=0.8)
        axis.set(title=name, xlabel="CPU time of a simulated second [ms]", ylabel="error [-]")
    for axis in axes.ravel()[len(names) :]:
        axis.axis("off")
    place = axes.ravel()[min(len(names), axes.size - 1)]
    place.legend(*axes[0, 0].get_legend_handles_labels(), fontsize=8, loc="center")
    figure.savefig(path, dpi=120)
    with Image.open(path) as picture:  # a palette takes a quarter of the bytes
        small = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def merged(table: Path, rows: list[Row]) -> list[Row]:
    """These rows and the others of an earlier table, in the order of its cases."""
    old: list[Row] = []
    if table.exists():
        for row in read_data(table):
            numbers = (value(row, column) for column in Row._fields[2:])
            old.append(Row(row["case"], row["simulator"], *numbers))
    names = [*dict.fromkeys(row.case for row in old + rows)]
    made = {(row.case, row.simulator) for row in rows}
    kept = [row for row in old if (row.case, row.simulator) not in made]
    return sorted(kept + rows, key=lambda row: names.index(row.case))


def main() -> None:
    """Measure, print, and write the table and the figure."""
    known = cases()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[*known], metavar="CASE")
    parser.add_argument("--only", default="", help="first letters of the simulators")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name in arguments.cases:
        own = measure(known[name](), arguments.only)
        rows += own
        for row in own:
            print(
                f"{row.case:16s} {row.simulator:20s} {1e3 * row.step:8.3g} ms  "
                f"errors {row.path:.2e} {row.height:.2e}  {1e3 * row.cpu:8.2f} ms of CPU a second  "
                f"{row.evaluations:.0f} evaluations",
                flush=True,
            )
    arguments.out.mkdir(parents=True, exist_ok=True)
    table = arguments.out / "work_precision.csv"
    rows = merged(table, rows)
    write_data(table, Row._fields, rows)
    draw(rows, arguments.out / "work_precision.png")
    if any(row.simulator.startswith("Drake") for row in rows):
        print("\n".join(ratios(rows, "Drake")), end="\n\n")
    print("\n".join(ratios(rows)))


if __name__ == "__main__":
    main()
