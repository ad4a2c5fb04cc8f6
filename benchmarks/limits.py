"""The known limits of docs/accuracy.md as Markdown tables.

OMP_NUM_THREADS=1 python benchmarks/limits.py          # all parts
OMP_NUM_THREADS=1 python benchmarks/limits.py cone spin roll top pull drop rest motion land
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "examples")]

from physics_scenes import DEPTH, POWER, ball, block  # noqa: E402

from nmdp_pin import (  # noqa: E402
    FrictionCone,
    Plane,
    Robot,
    Scenario,
    Simulator,
    State,
    Terrain,
    load_robot,
)
from nmdp_pin._contact.friction_cone import RECOVERY  # noqa: E402
from nmdp_pin._control import Passive, hold  # noqa: E402
from nmdp_pin._robot import ContactPoints, free_body  # noqa: E402
from nmdp_pin._terrain import Box, Sphere  # noqa: E402
from nmdp_pin.papers.table import Table  # noqa: E402

MU, SPEED, GRAVITY = 0.5, 1.0, 9.81
DIRECTIONS = (None, 4, 6, 8, 12, 16, 24)  # None: round
HEADINGS = 25  # directions of sliding between two edges, or of all
STEP = 0.001  # [s]
ORDERS = {2: "second order", 1: "first order"}


def show(title: str, first: str, columns: Sequence[str], rows: dict[str, Sequence[str]]) -> None:
    """Print a table whose rows have names."""
    cells = tuple((name, *row) for name, row in rows.items())
    print(Table(title, (first, *columns), cells).markdown(), end="\n\n", flush=True)


def milliseconds(steps: Sequence[float]) -> list[str]:
    """Headings of columns, one a step."""
    return [f"{1e3 * h:g} ms" for h in steps]


def of_order(method: str, order: int) -> str:
    """Name of a row."""
    return f"`{method}`, {ORDERS[order]}"


def slide(directions: int | None, heading: float) -> tuple[float, float]:
    """Distance and angle from the heading at which a slab comes to rest [m, deg]."""
    robot = block()
    contact = FrictionCone.for_robot(robot, static_depth=DEPTH, power=POWER, directions=directions)
    simulator = Simulator(robot, Terrain(Plane(friction=MU)), contact, "ne-nmdp")
    v = np.zeros(6)
    v[:2] = SPEED * np.cos(heading), SPEED * np.sin(heading)
    q = robot.standing.copy()
    q[2] -= DEPTH * np.sqrt(2.0)  # four of the eight corners carry
    state = simulator.state(q, v)
    *_, last = simulator.run(state, Passive(), dt=STEP, duration=0.3)
    way = last.state.q[:2] - q[:2]
    turned = np.degrees(np.arctan2(way[1], way[0]) - heading)
    return float(np.hypot(*way)), float(abs((turned + 180.0) % 360.0 - 180.0))


def cone() -> None:
    """How far a slab veers and slides with a round cone, and with one of that many edges."""
    exact = SPEED**2 / (2.0 * MU * GRAVITY)
    veers, further = [], []
    for m in DIRECTIONS:
        ends = [slide(m, x) for x in np.linspace(0.0, 2.0 * np.pi / (m or 1), HEADINGS)]
        way, angle = (max(column) for column in zip(*ends, strict=True))
        veers.append(f"{angle:.1f}")
        further.append(f"{max(100.0 * (way / exact - 1.0), 0.0):.1f}")
    rows = {"veers by at most [deg]": veers, "slides further by at most [%]": further}
    columns = [str(m) if m else "round (default)" for m in DIRECTIONS]
    show("A slab of mu = 0.5 sent at 1 m/s", "`directions`", columns, rows)


def spin() -> None:
    """Spin that is left of 10 rad/s after 1 s in the air [%]."""
    steps, rows = (0.001, 0.005, 0.01, 0.025), {}
    for method in ("ne-nmdp", "pbd-nmdp"):
        for order in ORDERS:
            left = []
            for h in steps:
                contact = FrictionCone(stiffness=1e6)
                ground = Terrain(Plane(height=-100.0))
                simulator = Simulator(ball(), ground, contact, method, order=order)
                start = simulator.state(v=np.array([0.0, 0.0, 0.0, 0.0, 10.0, 0.0]))
                *_, last = simulator.run(start, Passive(), dt=h, duration=1.0)
                left.append(f"{10.0 * np.linalg.norm(last.state.v[3:]):.1f}")
            rows[of_order(method, order)] = left
    show("A ball in the air at 10 rad/s", "spin left after 1 s [%]", milliseconds(steps), rows)


def heavy_top() -> Robot:
    """A disc of 1 kg on a massless axle of 0.1 m whose tip is held."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "tip")
    inertia = pin.Inertia.FromCylinder(1.0, 0.05, 0.02)
    model.appendBodyToJoint(joint, inertia, pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.1])))
    none = ContactPoints((), np.zeros(0, dtype=int), np.zeros((0, 3)), np.zeros(0))
    return Robot("top", model, none, np.zeros(0, dtype=int), pin.neutral(model))


def top() -> None:
    """Largest tilt of a top in 1 s; it starts at 0.1 rad, and an exact one never falls."""
    robot, steps, rows = heavy_top(), (0.0005, 0.001, 0.002, 0.005), {}
    q = np.array([np.sin(0.05), 0.0, 0.0, np.cos(0.05)])
    v = np.array([0.0, 0.0, 200.0])
    exact = f"{tilts(robot, 'ne-nmdp', 2, 1e-4, q, v):.3f}"
    for method in ("ne-nmdp", "pbd-nmdp"):
        for order in ORDERS:
            found = [f"{tilts(robot, method, order, h, q, v):.3f}" for h in steps]
            rows[of_order(method, order)] = [exact, *found]
    columns = ["second order, 0.1 ms", *milliseconds(steps)]
    show("A top of 200 rad/s that leans by 0.1 rad", "largest tilt in 1 s [rad]", columns, rows)


def tilts(robot: Robot, method: str, order: int, h: float, q: np.ndarray, v: np.ndarray) -> float:
    """Largest angle of the axle from the vertical [rad]."""
    ground = Terrain(Plane(height=-100.0))
    simulator = Simulator(robot, ground, FrictionCone(stiffness=1e6), method, order=order)
    steps = simulator.run(simulator.state(q, v), Passive(), dt=h, duration=1.0)
    axes = [pin.Quaternion(step.state.q).toRotationMatrix()[2, 2] for step in steps]
    return float(np.arccos(np.clip(axes, -1.0, 1.0)).max())


def pull() -> None:
    """Speed at which a box with magnetic feet slides down a wall after 0.3 s [m/s]."""
    from magnetic_foot import Magnet

    robot, share, duration = load_robot("box"), 0.5, 0.3
    force = share * GRAVITY / (4.0 * MU)
    eight = FrictionCone(stiffness=2.0 * force / 0.001**2, power=2, directions=8)
    magnet = Magnet(cone=eight, pull=force, reach=0.002)
    wall = Terrain(Plane(normal=(1.0, 0.0, 0.0), friction=MU))
    q = robot.standing.copy()
    q[:3] = 0.1 - 0.0007, 0.0, 1.0
    held = f"{GRAVITY * (1.0 - share) * duration:.3f}"
    steps, rows = (5e-5, 0.001, 0.005), {}
    for order, name in ORDERS.items():
        speeds = []
        for h in steps:
            simulator = Simulator(robot, wall, magnet, "ne-nmdp", order=order)
            start = simulator.state(q)
            *_, last = simulator.run(start, Passive(), dt=h, duration=duration)
            speeds.append(f"{abs(last.state.v[2]):.3f}")
        rows[name] = [held, *speeds]
    title = "A box with magnetic feet slides down a wall for 0.3 s"
    show(title, "speed [m/s]", ["held by the wall", *milliseconds(steps)], rows)


def drop() -> None:
    """Depth at which a cube of 1 kg rests after a fall without recovery, in both orders [mm]."""
    steps, rows = (0.002, 0.01, 0.05), {}
    robot = block((0.1, 0.1, 0.1))
    for height, stiffness in itertools.product((0.05, 0.5), (1e4, 1e6, 1e8)):
        weight, k = GRAVITY * robot.mass, 4.0 * stiffness  # four corners
        static = np.sqrt(weight / k)
        # k d^3 / 3 = m g (height + d): the ground takes up the energy of the fall
        cubic = (1.0, 0.0, -3.0 * weight / k, -3.0 * weight / k * height)
        depths = [static, np.roots(cubic).real.max()]
        law = FrictionCone(stiffness=stiffness, power=2, recovery=0.0)
        ground = Terrain(Plane(height=robot.lowest_point - height, friction=MU))
        for order, h in itertools.product((1, 2), steps):
            simulator = Simulator(robot, ground, law, "ne-nmdp", order=order)
            *_, last = simulator.run(simulator.state(), Passive(), dt=h, duration=1.0)
            depths.append(last.max_penetration)
        rows[f"{height:g}, {stiffness:.0e}".replace("e+0", "e")] = [
            f"{1e3 * depth:.1f}" for depth in depths
        ]
    columns = ["static", "energy"]
    columns += [f"order {order}: {1e3 * h:g} ms" for order in (1, 2) for h in steps]
    show("Depth of a cube of 1 kg at rest [mm]", "fall [m], k [N/m²]", columns, rows)


def rest() -> None:
    """How far depths are from bearing the weight a second after a fall, by the recovery rate."""
    feet = {name: load_robot(name, contacts="feet", visuals=False) for name in ("go2", "anymal")}
    robots = {"box": load_robot("box"), "ball": free_body("ball", Sphere(radius=0.1), mass=1.0)}
    cases = {name: (robot, 2) for name, robot in (robots | feet).items()}
    cases |= {f"box, p = {p}": (robots["box"], p) for p in (1, 3)}
    falls = list(itertools.product((0.1, 0.5), (0.002, 0.01, 0.05), (1, 2)))
    off: dict[str, list[str]] = {}
    work: dict[str, list[str]] = {}
    for rate in (0.0, 4.0, 10.0, 20.0):
        name = f"{rate:g} (default)" if rate == RECOVERY else f"{rate:g}"
        off[name], work[name] = [], []
        for robot, power in cases.values():
            errors, bounces, evaluations = zip(
                *(landing(robot, power, rate, *fall) for fall in falls), strict=True
            )
            error = 100.0 * max(errors)
            off[name].append(f"{error:.0f} %" if error > 10.0 else f"{error:.2g} %")
            work[name].append(f"{sum(bounces)}, {np.mean(evaluations):.1f}")
    title = f"A second after {len(falls)} falls of 0.1 and 0.5 m in steps of 2, 10 and 50 ms"
    show(f"{title}: largest error of the load", "rate [1/s]", list(cases), off)
    show("Falls that bounced, evaluations a step", "rate [1/s]", list(cases), work)


def motion() -> None:
    """What recovery does to gaits: how far they get, and how deep feet go."""
    rows = {}
    cases = (("robosimian-walk", 6.0), ("spider-walk", 6.0), ("robosimian-jump-paper", 4.0))
    for (name, duration), h in itertools.product(cases, (0.05, 0.01)):
        cells = []
        for words in ([], ["contact.recovery=0"]):
            words = [*words, f"integrator.dt={h}", f"duration={duration}"]
            setup = Scenario.load(name, overrides=words).build(visuals=False)
            ends = list(setup.simulator.run(setup.state, setup.controller, dt=h, duration=duration))
            way = ends[-1].state.q[0] - setup.state.q[0]
            deepest = np.median([max(result.max_penetration, 0.0) for result in ends])
            cells += [f"{way:.2f}", f"{1e3 * deepest:.0f}"]
        rows[f"{name}, {duration:g} s, {1e3 * h:g} ms"] = cells
    columns = ["distance [m]", "median of the deepest contact [mm]"]
    columns += [f"{column} without recovery" for column in columns]
    show("Gaits with and without recovery", "scenario", columns, rows)


def landing(
    robot: Robot, power: int, rate: float, height: float, h: float, order: int
) -> tuple[float, bool, float]:
    """Relative error of the load at rest, whether it left the ground again, evaluations a step.

    A robot holds its pose by motors of 5 Hz, which do not throw it. Normal forces at rest are the
    largest ones, k d^p, and bear the weight.
    """
    law = FrictionCone.for_robot(robot, static_depth=0.002, power=power, recovery=rate)
    ground = Terrain(Plane(height=robot.lowest_point - height, friction=0.7))
    simulator = Simulator(robot, ground, law, order=order)
    controller = hold(robot, frequency=5.0) if len(robot.driven) else Passive()
    duration = np.sqrt(2.0 * height / GRAVITY) + 1.0
    results = list(simulator.run(simulator.state(), controller, dt=h, duration=duration))
    touching = np.array([result.max_penetration > 0.0 for result in results])
    depths = np.maximum(results[-1].contact_depths, 0.0)
    error = law.stiffness * (depths**power).sum() / (GRAVITY * robot.mass) - 1.0
    bounced = not touching[touching.argmax() :].all()
    return abs(float(error)), bounced, float(np.mean([result.evaluations for result in results]))


def roll() -> None:
    """Share of its acceleration that a ball keeps that rolls down 20 degrees at 30 rad/s."""
    steps, radius, speed, duration = (0.005, 0.01, 0.02, 0.05), 0.1, 30.0, 0.5
    slope, stiffness = np.radians(20.0), 1e6
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    exact = 5.0 / 7.0 * GRAVITY * np.sin(slope)
    robot, rows = free_body("ball", Sphere(radius=radius), mass=1.0), {}
    ground = Terrain(Plane(normal=tuple(up.tolist()), friction=0.6))
    q, v = robot.standing.copy(), np.zeros(6)
    q[:3] = up * (radius - np.sqrt(GRAVITY * np.cos(slope) / stiffness))
    v[:3], v[4] = speed * radius * down, speed
    law = FrictionCone(stiffness=stiffness, power=2)
    for method in ("ne-nmdp", "pbd-nmdp"):
        for order in ORDERS:
            found = []
            for h in steps:
                simulator = Simulator(robot, ground, law, method, order=order)
                *_, last = simulator.run(simulator.state(q, v), Passive(), dt=h, duration=duration)
                gained = (last.state.v[:3] @ down - speed * radius) / duration
                found.append(f"{gained / exact:.2f}")
            rows[of_order(method, order)] = found
    title = f"A ball that rolls down a slope, share of {exact:.2f} m/s² gained in {duration} s"
    show(title, "share gained", milliseconds(steps), rows)


def land() -> None:
    """Largest change of a step's end by 0.1 mm of the height from which a body lands."""
    ball = free_body("ball", Sphere(radius=0.1), mass=1.0)
    box = free_body("box", Box(size=(0.2, 0.2, 0.2)), mass=1.0)
    level, tilted = (0.0, 0.0, 0.0, 1.0), (0.0, np.sin(0.1), 0.0, np.cos(0.1))
    scenes = {
        "ball, 1 m/s aside": (ball, level, 1.0, 0.1),
        "ball": (ball, level, 0.0, 0.1),
        "level box": (box, level, 0.0, 0.1),
        "box tilted by 0.2 rad": (box, tilted, 0.0, 0.1 * (np.cos(0.2) + np.sin(0.2))),
    }
    lengths, rows = (0.01, 0.02, 0.05), {}
    for name, (robot, turn, aside, touching) in scenes.items():
        for order in (1, 2):
            law = FrictionCone(stiffness=1e6, power=2)
            simulator = Simulator(robot, Terrain(Plane(friction=0.6)), law, order=order)
            v = np.array([aside, 0.0, -3.0, 0.0, 0.0, 0.0])
            starts = [
                simulator.state(np.array([0.0, 0.0, height, *turn]), v)
                for height in touching + np.arange(0.0, 0.1, 1e-4)
            ]
            jumps = [largest_jump(simulator, starts, h) for h in lengths]
            rows[f"{name}, {ORDERS[order]}"] = [f"{jump:.2f}" for jump in jumps]
    title = "Landing at 3 m/s, largest change of velocity by 0.1 mm of height"
    show(title, "change [m/s, rad/s]", milliseconds(lengths), rows)


def largest_jump(simulator: Simulator, starts: Sequence[State], h: float) -> float:
    """Largest difference of the velocities to which steps from neighbouring starts lead."""
    ends = [simulator.step(state, None, h).state.v for state in starts]
    return float(np.abs(np.diff(ends, axis=0)).max())


PARTS = {
    "cone": cone,
    "spin": spin,
    "roll": roll,
    "top": top,
    "pull": pull,
    "drop": drop,
    "rest": rest,
    "motion": motion,
    "land": land,
}


def main() -> None:
    """Measure the parts that are named, or all."""
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
