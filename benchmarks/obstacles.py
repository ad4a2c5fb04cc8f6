"""Quadrupeds at walls, on stairs and on rough ground: runs that fail, and what overlaps.

    OMP_NUM_THREADS=1 python benchmarks/obstacles.py [--robots go2 ...] [--places stairs ...]

A robot holds its standing pose with PD gains and slides into a wall, falls on stairs with a speed
up or down them, or falls on rough ground. Every place has 48 runs a robot: two methods in both
orders, steps of 5, 10 and 20 ms, and four starts. A run fails where a step does, or where a speed
exceeds that of a fall from ten metres.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from nmdp_pin import Command, FrictionCone, Robot, Simulator, State, Terrain, load_robot
from nmdp_pin._robot.overlaps import GROUND, OverlapCheck
from nmdp_pin._terrain import Box, HeightField, Plane, Shape

ROBOTS = ("solo12", "anymal", "go2")
METHODS, ORDERS, STEPS, STARTS = ("ne-nmdp", "pbd-nmdp"), (1, 2), (0.005, 0.01, 0.02), 4  # [s]
DURATION, FASTEST = 0.8, 14.0  # [s], [m/s]
GAINS = {"solo12": (3.0, 0.1), "anymal": (60.0, 2.0), "go2": (40.0, 1.0)}  # [N m/rad], [N m s/rad]
FRICTION = 0.7


def place_of(name: str, seed: int) -> list[Shape]:
    """Shapes of a place; stairs rise along x by 0.1 m each 0.25 m."""
    if name == "wall":
        return [Plane(friction=FRICTION), Plane(normal=(-1.0, 0.0, 0.0), offset=-0.6)]
    if name.startswith("stairs"):
        steps = [
            Box(size=(4.0 - 0.25 * k, 3.0, 0.1), position=(2.0 + 0.125 * k, 0.0, 0.1 * k - 0.05))
            for k in range(10)
        ]
        return [Plane(height=-0.1, friction=FRICTION), *steps]
    cell, height = (0.25, 0.25) if name == "rough" else (0.05, 0.1)
    field = HeightField(roughness=height, seed=seed, size=(4.0, 4.0), spacing=(cell, cell))
    return [field]


PLACES = ("wall", "stairs up", "stairs down", "rough", "fine")


def start_of(robot: Robot, place: str, terrain: Terrain, seed: int) -> State:
    """A robot over the ground, askew, with a speed."""
    rng, q, v = np.random.default_rng(seed), robot.standing.copy(), np.zeros(robot.model.nv)
    low = robot.contact_points.bottoms(robot.model, q).min()
    q[2] -= low
    v[0] = {"wall": 1.0, "stairs up": 1.0, "stairs down": -1.0}.get(place, 0.0)
    x = np.linspace(-0.4, 0.4, 9)
    if "stairs" in place:
        q[0] = 0.3 if place == "stairs up" else 1.2
    grid = np.stack(np.meshgrid(q[0] + x, q[1] + x, [3.0]), axis=-1).reshape(-1, 3)
    ground = 3.0 - terrain.query(grid).distance.min() if place != "wall" else 0.0
    q[2] += ground + (0.0 if place == "wall" else 0.1)
    v[3:6] = rng.uniform(-0.5, 0.5, 3)
    return State(0.0, q, v)


def fails(
    robot: Robot, place: str, method: str, order: int, h: float, seed: int
) -> tuple[str, float, float]:
    """Why a run fails, "" if it does not, its deepest overlap with the ground and the last [m]."""
    terrain = Terrain(place_of(place, seed))
    kp, kd = GAINS[robot.name]
    law = FrictionCone.for_robot(robot, static_depth=0.001, power=2)
    simulator = Simulator(robot, terrain, law, method, order=order)
    state, passed = start_of(robot, place, terrain, seed), []
    motors = np.concatenate([np.zeros(6), np.ones(robot.model.nv - 6)])
    command = Command(kp=kp * motors, kd=kd * motors, q_target=robot.standing)
    for _ in range(round(DURATION / h)):
        result = simulator.step(state, command, h)
        state = result.state
        passed.append(state.q)
        if not result.status.ok:
            return f"{result.status.value} at {state.t:.3f} s", 0.0, 0.0
        if np.linalg.norm(state.v[:3]) > FASTEST:
            return f"{np.linalg.norm(state.v[:3]):.0f} m/s at {state.t:.3f} s", 0.0, 0.0
    found = OverlapCheck(robot, terrain).depths(np.array(passed))
    depths = [depth for (_, other), depth in found.items() if other == GROUND]
    deepest = np.max(depths, axis=0, initial=0.0) if depths else np.zeros(1)
    return "", float(deepest.max()), float(deepest[-1])


def main() -> None:
    """Print the table and the runs that fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="*", default=ROBOTS, choices=ROBOTS)
    parser.add_argument("--places", nargs="*", default=PLACES, choices=PLACES)
    parser.add_argument("--starts", type=int, default=STARTS, help="of each kind of run")
    options = parser.parse_args()
    print("| robot | place | runs | failed | deepest overlap [mm] | at the end [mm] |")
    print("|---|---|---|---|---|---|")
    for name, place in itertools.product(options.robots, options.places):
        robot, failed, depths = load_robot(name, visuals=False), [], []
        for case in itertools.product(METHODS, ORDERS, STEPS, range(options.starts)):
            why, *deep = fails(robot, place, *case)
            depths.append(deep)
            failed += [(case, why)] if why else []
        most, last = 1e3 * np.max(depths, axis=0)
        cells = (name, place, len(depths), len(failed), f"{most:.1f}", f"{last:.1f}")
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        for case, why in failed:
            print(f"  {case}: {why}", flush=True)


if __name__ == "__main__":
    main()
