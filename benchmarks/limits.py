"""The known limits of docs/accuracy.md, measured.

OMP_NUM_THREADS=1 python benchmarks/limits.py          # all parts
OMP_NUM_THREADS=1 python benchmarks/limits.py cone spin roll top pull drop rest land cost
"""

from __future__ import annotations

import itertools
import sys
import time
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
from nmdp_pin._control import Passive, hold  # noqa: E402
from nmdp_pin._robot import ContactPoints, free_body  # noqa: E402
from nmdp_pin._terrain import Box, Sphere  # noqa: E402

MU, SPEED, GRAVITY = 0.5, 1.0, 9.81
DIRECTIONS = (4, 6, 8, 12, 16, 24)
HEADINGS = 25  # directions of sliding between two edges
STEP = 0.001  # [s]


def slide(directions: int, heading: float) -> tuple[float, float]:
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
    """How far a slab veers and slides under a polytope of that many edges."""
    exact = SPEED**2 / (2.0 * MU * GRAVITY)
    print("directions  veers by at most [deg]  slides further by at most [%]  1/cos(pi/m) - 1 [%]")
    for m in DIRECTIONS:
        ends = [slide(m, x) for x in np.linspace(0.0, 2.0 * np.pi / m, HEADINGS)]
        way, angle = (max(column) for column in zip(*ends, strict=True))
        bound = 1.0 / np.cos(np.pi / m) - 1.0
        print(f"{m:10d}  {angle:22.2f}  {100.0 * (way / exact - 1.0):29.1f}  {100.0 * bound:.1f}")


def cost() -> None:
    """Processor time of a step of three scenarios against the number of edges."""
    print("ms a step, least of 3 runs:", *DIRECTIONS)
    for name, dt in (("robosimian-walk", 0.05), ("robosimian-jump", 0.05), ("spider-walk", 0.02)):
        times = []
        for m in DIRECTIONS:
            words = [f"contact.directions={m}", f"integrator.dt={dt}", "duration=2.0"]
            setup = Scenario.load(name, overrides=words).build(visuals=False)
            best = np.inf
            for _ in range(4):  # the first one compiles
                begin = time.process_time()
                results = list(
                    setup.simulator.run(setup.state, setup.controller, dt=dt, duration=2.0)
                )
                best = min(best, (time.process_time() - begin) / len(results))
            times.append(f"{1e3 * best:.2f}")
        print(f"  {name}, {1e3 * dt:g} ms:", *times)


def spin() -> None:
    """Spin that is left of 10 rad/s after 1 s in the air [%]."""
    print("spin of a ball left after 1 s at 10 rad/s [%]: 1, 5, 10, 25 ms")
    for method in ("ne-nmdp", "pbd-nmdp"):
        for order in (1, 2):
            left = []
            for h in (0.001, 0.005, 0.01, 0.025):
                contact = FrictionCone(stiffness=1e6)
                ground = Terrain(Plane(height=-100.0))
                simulator = Simulator(ball(), ground, contact, method, order=order)
                start = simulator.state(v=np.array([0.0, 0.0, 0.0, 0.0, 10.0, 0.0]))
                *_, last = simulator.run(start, Passive(), dt=h, duration=1.0)
                left.append(f"{10.0 * np.linalg.norm(last.state.v[3:]):.1f}")
            print(f"  {method}, order {order}:", *left)


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
    robot = heavy_top()
    print("top spinning at 200 rad/s, largest tilt in 1 s [rad]: exact, 0.5, 1, 2, 5 ms")
    q = np.array([np.sin(0.05), 0.0, 0.0, np.cos(0.05)])
    v = np.array([0.0, 0.0, 200.0])
    exact = tilts(robot, "ne-nmdp", 2, 1e-4, q, v)
    for method in ("ne-nmdp", "pbd-nmdp"):
        for order in (1, 2):
            found = [tilts(robot, method, order, h, q, v) for h in (0.0005, 0.001, 0.002, 0.005)]
            print(f"  {method}, order {order}: {exact:.3f};", *(f"{x:.3f}" for x in found))


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
    edges = FrictionCone(stiffness=2.0 * force / 0.001**2, power=2, directions=8)
    magnet = Magnet(cone=edges, pull=force, reach=0.002)
    wall = Terrain(Plane(normal=(1.0, 0.0, 0.0), friction=MU))
    q = robot.standing.copy()
    q[:3] = 0.1 - 0.0007, 0.0, 1.0
    held = GRAVITY * (1.0 - share) * duration
    print(f"magnetic feet, {held:.3f} m/s if it stayed on the wall: 0.05, 1, 5 ms")
    for order in (1, 2):
        speeds = []
        for h in (5e-5, 0.001, 0.005):
            simulator = Simulator(robot, wall, magnet, "ne-nmdp", order=order)
            start = simulator.state(q)
            *_, last = simulator.run(start, Passive(), dt=h, duration=duration)
            speeds.append(f"{abs(last.state.v[2]):.3f}")
        print(f"  order {order}:", *speeds)


def drop() -> None:
    """Depth at which a cube of 1 kg rests after a fall without recovery, in both orders [mm]."""
    steps = (0.002, 0.01, 0.05)
    robot = block((0.1, 0.1, 0.1))
    print("height [m]  k [N/m^2]  static [mm]  energy [mm]  orders 1 and 2:", *steps)
    for height in (0.05, 0.5):
        for stiffness in (1e4, 1e6, 1e8):
            weight, k = GRAVITY * robot.mass, 4.0 * stiffness  # four corners
            static = np.sqrt(weight / k)
            # k d^3 / 3 = m g (height + d): the ground takes up the energy of the fall
            cubic = (1.0, 0.0, -3.0 * weight / k, -3.0 * weight / k * height)
            deepest = np.roots(cubic).real.max()
            law = FrictionCone(stiffness=stiffness, power=2, recovery=0.0)
            ground = Terrain(Plane(height=robot.lowest_point - height, friction=MU))
            found = []
            for order in (1, 2):
                simulator = Simulator(robot, ground, law, "ne-nmdp", order=order)
                for h in steps:
                    run = simulator.run(simulator.state(), Passive(), dt=h, duration=1.0)
                    *_, last = run
                    found.append(f"{1e3 * last.max_penetration:.2f}")
            print(
                f"{height:10g}  {stiffness:9g}  {1e3 * static:11.2f}  {1e3 * deepest:11.2f} ",
                *found,
            )


def rest() -> None:
    """How far depths are from the static one a second after a fall, by the recovery rate."""
    feet = {name: load_robot(name, contacts="feet", visuals=False) for name in ("go2", "anymal")}
    robots = {"box": load_robot("box"), "ball": free_body("ball", Sphere(radius=0.1), mass=1.0)}
    falls = list(itertools.product((0.1, 0.5), (0.002, 0.01, 0.05), (1, 2)))
    print("a second after falls of 0.1 and 0.5 m in steps of 2, 10, 50 ms, both orders:")
    print("rate [1/s], body: largest error of the depth [%], bounces, evaluations a step")
    for rate in (0.0, 2.0, 5.0, 10.0):
        for name, robot in (robots | feet).items():
            errors, bounces, evaluations = zip(
                *(landing(robot, rate, *fall) for fall in falls), strict=True
            )
            print(
                f"  {rate:g}, {name}: {100.0 * max(errors):.2f}, {sum(bounces)} of {len(falls)}, "
                f"{np.mean(evaluations):.1f}"
            )


def landing(
    robot: Robot, rate: float, height: float, h: float, order: int
) -> tuple[float, bool, float]:
    """Relative error of the depth, whether it left the ground again, evaluations a step.

    A robot holds its pose by motors of 5 Hz, which do not throw it. Normal forces at rest are the
    largest ones, k d^p, and bear the weight.
    """
    law = FrictionCone.for_robot(robot, static_depth=0.002, power=2, recovery=rate)
    ground = Terrain(Plane(height=robot.lowest_point - height, friction=0.7))
    simulator = Simulator(robot, ground, law, order=order)
    controller = hold(robot, frequency=5.0) if len(robot.driven) else Passive()
    duration = np.sqrt(2.0 * height / GRAVITY) + 1.0
    results = list(simulator.run(simulator.state(), controller, dt=h, duration=duration))
    touching = np.array([result.max_penetration > 0.0 for result in results])
    depths = np.maximum(results[-1].contact_depths, 0.0)
    error = np.sqrt(law.stiffness * (depths**2).sum() / (GRAVITY * robot.mass)) - 1.0
    bounced = not touching[touching.argmax() :].all()
    return abs(float(error)), bounced, float(np.mean([result.evaluations for result in results]))


def roll() -> None:
    """Share of its acceleration that a ball keeps that rolls down 20 degrees at 30 rad/s."""
    steps, radius, speed, duration = (0.005, 0.01, 0.02, 0.05), 0.1, 30.0, 0.5
    slope, stiffness = np.radians(20.0), 1e6
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    exact = 5.0 / 7.0 * GRAVITY * np.sin(slope)
    robot = free_body("ball", Sphere(radius=radius), mass=1.0)
    print(f"rolling ball, share of {exact:.2f} m/s^2 gained in {duration} s:", *steps)
    ground = Terrain(Plane(normal=tuple(up.tolist()), friction=0.6))
    q, v = robot.standing.copy(), np.zeros(6)
    q[:3] = up * (radius - np.sqrt(GRAVITY * np.cos(slope) / stiffness))
    v[:3], v[4] = speed * radius * down, speed
    law = FrictionCone(stiffness=stiffness, power=2)
    for method in ("ne-nmdp", "pbd-nmdp"):
        for order in (1, 2):
            found = []
            for h in steps:
                simulator = Simulator(robot, ground, law, method, order=order)
                *_, last = simulator.run(simulator.state(q, v), Passive(), dt=h, duration=duration)
                gained = (last.state.v[:3] @ down - speed * radius) / duration
                found.append(f"{gained / exact:.2f}")
            print(f"  {method}, order {order}:", *found)


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
    print("landing at 3 m/s, largest change of velocity by 0.1 mm [m/s, rad/s]: 10, 20, 50 ms")
    for name, (robot, turn, aside, touching) in scenes.items():
        for order in (1, 2):
            law = FrictionCone(stiffness=1e6, power=2)
            simulator = Simulator(robot, Terrain(Plane(friction=0.6)), law, order=order)
            v = np.array([aside, 0.0, -3.0, 0.0, 0.0, 0.0])
            starts = [
                simulator.state(np.array([0.0, 0.0, height, *turn]), v)
                for height in touching + np.arange(0.0, 0.1, 1e-4)
            ]
            jumps = [largest_jump(simulator, starts, h) for h in (0.01, 0.02, 0.05)]
            print(f"  {name}, order {order}:", *(f"{jump:.2f}" for jump in jumps))


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
    "land": land,
    "cost": cost,
}


def main() -> None:
    """Measure the parts that are named, or all."""
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
