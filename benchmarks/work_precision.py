"""Work against precision, beside MuJoCo: CPU time of a simulated second and error, step by step.

    OMP_NUM_THREADS=1 python benchmarks/work_precision.py [CASE ...] [--out FOLDER]

The same robots, gains and motions in both, without bounds of the joints; each simulator is compared
with its own limit at a short step (contacts are different models). The error is the root mean
square of the position of the base, or of the pushed box, every 50 ms, over how far it moves. The
last column of the summary is the cheapest setting from which on all finer ones are below 1 %, as
the ratio to MuJoCo's. Times are the least of three runs, in turns. Rows of cases that are not run
stay as they are in the folder.
"""

from __future__ import annotations

import argparse
import csv
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
from nmdp_pin.robot import ContactPoints, Robot
from nmdp_pin.scenario import Scenario

matplotlib.use("Agg")
import matplotlib.pyplot as plt

GRID = 0.05  # [s] between the samples that are compared
ACCURATE = 0.01
REPEATS = 3
OURS = (0.05, 0.025, 0.0125, 0.01, 0.005, 0.0025)
OUR_LIMIT = 0.00025
THEIRS = (0.025, 0.01, 0.005, 0.0025, 0.002, 0.001, 0.0005, 0.00025, 0.0001)
THEIR_LIMIT = 0.00002
CONE = FrictionCone(stiffness=1e6, power=2)  # [N/m^2]


@dataclass(frozen=True, eq=False)
class Case:
    """A robot that follows a motion on flat ground, maybe with an object.

    Args:
        name: of the case.
        robot: what moves.
        pd: its controller.
        q0: where it begins, at rest.
        height: of the ground [m].
        kp: position gain [N m/rad].
        kd: velocity gain [N m s/rad].
        duration: [s].
        law: our contacts.
        friction: coefficient of the ground.
        position: of the base or the object in the configuration.
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


class Row(NamedTuple):
    """One setting of one simulator."""

    case: str
    simulator: str
    step: float
    error: float
    cpu: float
    evaluations: float


def cases() -> dict[str, Callable[[], Case]]:
    """All cases by name."""
    made: dict[str, Callable[[], Case]] = {}
    for kp, kd in ((1e3, 1.0), (1e4, 100.0), (1e5, 100.0), (1e6, 1000.0)):
        made[f"jump-kp{kp:.0e}".replace("e+0", "e")] = lambda kp=kp, kd=kd: _robosimian(kp, kd)
    made["spider-walk"] = _spider
    made["go2-stand-up"] = _go2
    aside = ("objects.0.position=[0.47, 0.02, 0.0695]", "contact.directions=12")
    made["panda-push"] = lambda: _panda("panda-push")
    made["panda-push-aside"] = lambda: _panda("panda-push-aside", *aside)
    return made


def _robosimian(kp: float, kd: float) -> Case:
    robot = load_robot("robosimian", base="planar", variant="listed", limits=False)
    pd = StablePD(robot, kp=kp, kd=kd, gait="jump")
    start, plane = robot.standing, range(2)
    return Case(f"jump-kp{kp:.0e}", robot, pd, start, -0.8, kp, kd, 2.0, position=plane)


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


def _panda(name: str, *overrides: str) -> Case:
    """The bundled scenario; of the arm only the fingertip touches the box, in both simulators."""
    scenario = Scenario.load("panda-push", overrides=["robot.limits=false", *overrides])
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
    """Configurations every 50 ms, CPU time and evaluations of a simulated second."""
    ground = Terrain([Plane(height=case.height, friction=case.friction)])
    simulator = Simulator(case.robot, ground, case.law, "ne-nmdp", order=order)
    every, out, evaluations = round(GRID / h), [], 0
    begin = time.process_time()
    run = simulator.run(simulator.state(case.q0), case.pd, dt=h, duration=case.duration)
    for k, result in enumerate(run):
        evaluations += result.evaluations
        if not result.status.ok:
            break
        if (k + 1) % every == 0:
            out.append(result.state.q)
    cpu = time.process_time() - begin
    return np.array(out), cpu / case.duration, evaluations / case.duration


def theirs(case: Case, h: float) -> tuple[np.ndarray, float, float]:
    """The same of MuJoCo; the controls are made before its clock runs."""
    twin = Twin(
        case.robot,
        case.pd.reference,
        height=case.height,
        friction=case.friction,
        kp=case.kp,
        kd=case.kd,
    )
    twin.model.opt.timestep = h
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


def error(case: Case, found: np.ndarray, limit: np.ndarray) -> float:
    """Root mean square of the position over how far it moves; inf for a run that failed."""
    if found.shape != limit.shape or not np.isfinite(found).all():
        return math.inf
    at = case.position
    moved = np.abs(limit[:, at] - case.q0[at]).max()
    return float(np.sqrt(np.mean((found[:, at] - limit[:, at]) ** 2)) / moved)


def measure(case: Case) -> list[Row]:
    """All settings of both simulators."""
    our_limit, their_limit = ours(case, OUR_LIMIT, 2)[0], theirs(case, THEIR_LIMIT)[0]
    ends = [q[-1, case.position] for q in (our_limit, their_limit)]
    print(
        f"{case.name}: the limits differ by {error(case, our_limit, their_limit):.1e}, at the end "
        f"by {1e3 * np.linalg.norm(ends[0] - ends[1]):.1f} mm"
    )
    rows = []
    settings: list[tuple[str, float, Callable[[], tuple[np.ndarray, float, float]], np.ndarray]]
    settings = []
    for h in OURS:
        for order in (1, 2):
            name = f"nmdp-pin order {order}"
            settings.append((name, h, lambda h=h, o=order: ours(case, h, o), our_limit))
    for h in THEIRS:
        settings.append(("MuJoCo implicitfast", h, lambda h=h: theirs(case, h), their_limit))
    best = [math.inf] * len(settings)
    found = []
    for _ in range(REPEATS):
        found = [run() for _, _, run, _ in settings]
        best = [min(b, f[1]) for b, f in zip(best, found, strict=True)]
    for (name, h, _, limit), cpu, (q, _, evaluations) in zip(settings, best, found, strict=True):
        rows.append(Row(case.name, name, h, error(case, q, limit), cpu, evaluations))
    return rows


def cheapest(rows: list[Row], simulator: str) -> Row | None:
    """The cheapest setting from which on all finer ones are accurate."""
    own = sorted((r for r in rows if r.simulator == simulator), key=lambda r: r.step)
    good = None
    for row in own:
        if row.error > ACCURATE:
            break
        good = row if good is None or row.cpu < good.cpu else good
    return good


def draw(rows: list[Row], path: Path) -> None:
    """Error against CPU time, a panel a case."""
    names = list(dict.fromkeys(row.case for row in rows))
    columns = min(3, len(names))
    lines = math.ceil(len(names) / columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(4.2 * columns, 3.4 * lines), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes.ravel(), names, strict=False):
        for simulator in dict.fromkeys(row.simulator for row in rows):
            own = [r for r in rows if r.case == name and r.simulator == simulator]
            own = [r for r in own if r.error < 1.0]
            axis.loglog([1e3 * r.cpu for r in own], [r.error for r in own], "o-", label=simulator)
            for r in own:
                axis.annotate(f"{1e3 * r.step:g}", (1e3 * r.cpu, r.error), fontsize=6)
        axis.axhline(ACCURATE, color="0.7", lw=0.8)
        axis.set(title=name, xlabel="CPU time of a simulated second [ms]", ylabel="error [-]")
    axes[0, 0].legend(fontsize=7)
    for axis in axes.ravel()[len(names) :]:
        axis.axis("off")
    figure.savefig(path, dpi=120)
    with Image.open(path) as picture:  # a palette takes a quarter of the bytes
        small = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def merged(table: Path, rows: list[Row]) -> list[Row]:
    """These rows and those of other cases in an earlier table, in the order of the table."""
    old: list[Row] = []
    if table.exists():
        with open(table, newline="", encoding="utf-8") as file:
            old = [Row(*row[:2], *map(float, row[2:])) for row in [*csv.reader(file)][1:]]
    names = [*dict.fromkeys(row.case for row in old + rows)]
    made = {row.case for row in rows}
    kept = [row for row in old if row.case not in made]
    return sorted(kept + rows, key=lambda row: names.index(row.case))


def main() -> None:
    """Measure, print, and write the table and the figure."""
    known = cases()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[*known], metavar="CASE")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name in arguments.cases:
        own = measure(known[name]())
        rows += own
        for row in own:
            print(
                f"{row.case:16s} {row.simulator:20s} {1e3 * row.step:8.3g} ms  "
                f"error {row.error:.2e}  {1e3 * row.cpu:8.2f} ms of CPU a second  "
                f"{row.evaluations:.0f} evaluations",
                flush=True,
            )
        mine, other = (cheapest(own, s) for s in ("nmdp-pin order 2", "MuJoCo implicitfast"))
        if mine and other:
            print(
                f"{name}: below 1 % at {1e3 * mine.step:g} ms for {1e3 * mine.cpu:.1f} ms, "
                f"MuJoCo at {1e3 * other.step:g} ms for {1e3 * other.cpu:.1f} ms: "
                f"{mine.cpu / other.cpu:.2f}",
                flush=True,
            )
        else:
            print(f"{name}: not below 1 %: {'ours ' * (not mine)}{'MuJoCo' * (not other)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    table = arguments.out / "work_precision.csv"
    rows = merged(table, rows)
    with open(table, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(rows)
    draw(rows, arguments.out / "work_precision.png")


if __name__ == "__main__":
    main()
