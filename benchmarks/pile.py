"""A pile of parts in a bin beside MuJoCo: what a simulated second costs, and what overlaps at rest.

    OMP_NUM_THREADS=1 python benchmarks/pile.py [--parts 30] [--time 2] [--bins 24]

Boxes, balls, capsules and cylinders of 6 to 10 cm, 500 kg/m^3, fall into a bin of 44 cm. Overlaps
are those of all pairs of parts and of parts with the bin, found by coal at the end, beside the
depth at which a part of mean mass rests on one contact. With `--bins`, five parts fall into each of
so many narrow bins, and what 60 steps of 10 ms take is counted.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import time

import coal
import mujoco
import numpy as np
import pinocchio as pin

from nmdp_pin import Command, FrictionCone, Simulator, Terrain
from nmdp_pin._robot import free_body, together, touching
from nmdp_pin._terrain import Box, Capsule, Cylinder, Sphere

STIFFNESS, DENSITY, FRICTION = 1e6, 500.0, 0.5  # [N/m^2], [kg/m^3], [-]
REPEATS = 3  # of which the least time counts
OURS, THEIRS = (0.005, 0.01), (0.002, 0.005)  # [s]
WAYS = tuple(itertools.product(("Euler", "discrete"), ("elliptic", "pyramidal")))
HALF, SPACING = 0.22, 0.13  # half the bin, between parts at the start [m]
NARROW, BIN_STEPS = 0.09, 60  # half a narrow bin [m], steps of each
KINDS = {Box: "box", Sphere: "sphere", Capsule: "capsule", Cylinder: "cylinder"}
Part = tuple[Box | Sphere | Capsule | Cylinder, np.ndarray, np.ndarray]


def parts(count: int) -> list[Part]:
    """Shapes, positions and orientations."""
    rng, found = np.random.default_rng(0), []
    for k in range(count):
        s = rng.uniform(0.03, 0.05)
        shape = (
            Box(size=(2.0 * s, 1.6 * s, 1.2 * s), friction=FRICTION),
            Sphere(radius=s, friction=FRICTION),
            Capsule(radius=0.6 * s, length=2.0 * s, friction=FRICTION),
            Cylinder(radius=0.8 * s, length=1.6 * s, friction=FRICTION),
        )[k % 4]
        cell = np.array([k % 3 - 1, k // 3 % 3 - 1, k // 9]) * SPACING
        at = cell + np.append(rng.uniform(-0.01, 0.01, 2), 0.08)
        found.append((shape, at, rng.uniform(-1.0, 1.0, 3)))
    return found


def walls(half: float = HALF) -> list[Box]:
    """Floor and walls, 2 cm thick, of a bin of half a width [m]."""
    out, long = half + 0.01, 2.0 * half + 0.04
    return [
        Box(size=(long, long, 0.02), position=(0.0, 0.0, -0.01), friction=FRICTION),
        *(Box(size=(0.02, long, 0.6), position=(s * out, 0.0, 0.3)) for s in (-1.0, 1.0)),
        *(Box(size=(2 * half, 0.02, 0.6), position=(0.0, s * out, 0.3)) for s in (-1.0, 1.0)),
    ]


def scene(shapes: list[Part], half: float = HALF) -> Simulator:
    """Parts that fall into a bin of half a width [m]."""
    bodies = [
        free_body(f"p{k}", s, density=DENSITY, position=tuple(x), rpy=tuple(r))
        for k, (s, x, r) in enumerate(shapes)
    ]
    robot = touching(together(bodies[0], bodies[1:]))
    law = FrictionCone(stiffness=STIFFNESS, power=2)
    return Simulator(robot, Terrain(walls(half)), law, "ne-nmdp", order=1)


def narrow_bin(seed: int) -> Simulator:
    """Five of eight parts that fall onto each other in a narrow bin."""
    rng = np.random.default_rng(seed)
    shapes = [shape for shape, _, _ in parts(2 * len(KINDS))]
    chosen, found = rng.permutation(len(shapes))[:5], []
    for k, x in enumerate(chosen.tolist()):
        at = np.array([*rng.uniform(-0.02, 0.02, 2), 0.06 + 0.09 * k])
        found.append((shapes[x], at, rng.uniform(-1.0, 1.0, 3)))
    return scene(found, NARROW)


def count(simulator: Simulator, steps: int) -> tuple[int, int, int]:
    """Steps made, evaluations and halved steps of as many steps of 10 ms, as far as they go."""
    state, evaluations, halved = simulator.state(), 0, 0
    for k in range(steps):
        result = simulator.step(state, Command(), 0.01)
        evaluations, halved = evaluations + result.evaluations, halved + (result.discarded > 0)
        if not result.status.ok:
            return k, evaluations, halved
        state = result.state
    return steps, evaluations, halved


def ours(
    shapes: list[Part], h: float, duration: float
) -> tuple[float, list[pin.SE3], float, float]:
    """CPU time [s], poses at the end, mass of the parts [kg], and CPU time to make all [s]."""
    begin = time.process_time()
    simulator = scene(shapes)
    state = simulator.state()
    made = time.process_time() - begin
    simulator.step(state, Command(), h)  # compiles
    begin = time.process_time()
    for _ in range(round(duration / h)):
        result = simulator.step(state, Command(), h)
        if not result.status.ok:
            raise SystemExit(f"a step of {h} s failed: {result.status.value}")
        state = result.state
    spent = time.process_time() - begin
    poses = [pin.XYZQUATToSE3(q) for q in state.q.reshape(-1, 7)]
    return spent, poses, float(pin.computeTotalMass(simulator.robot.model)), made


def theirs(
    shapes: list[Part], h: float, duration: float, integrator: str, cone: str
) -> tuple[float, list[pin.SE3]]:
    """CPU time [s] and poses at the end, of MuJoCo."""
    tree = mujoco.MjSpec()
    tree.option.timestep = h
    tree.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    tree.option.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
    for shape, x, r in [*shapes, *((w, np.array(w.position), np.zeros(3)) for w in walls())]:
        fixed = isinstance(shape, Box) and shape.size[2] in (0.02, 0.6)
        R = pin.Quaternion(pin.rpy.rpyToMatrix(*r)).coeffs()
        body = tree.worldbody.add_body(pos=x, quat=np.roll(R, 1))
        if not fixed:
            body.add_freejoint()
        half = shape.half_extents
        sizes = {
            Box: list(half), Sphere: [half[0], 0.0, 0.0], Cylinder: [half[0], half[2], 0.0],
            Capsule: [half[0], half[2] - half[0], 0.0],
        }  # fmt: skip
        body.add_geom(
            type=getattr(mujoco.mjtGeom, f"mjGEOM_{KINDS[type(shape)].upper()}"),
            size=sizes[type(shape)],
            density=DENSITY,
            friction=[shape.coefficient, 0.0, 0.0],
        )
    model = tree.compile()
    data = mujoco.MjData(model)
    begin = time.process_time()
    for _ in range(round(duration / h)):
        mujoco.mj_step(model, data)
    spent = time.process_time() - begin
    quaternions = data.xquat[1 : len(shapes) + 1]
    return spent, [
        pin.SE3(pin.Quaternion(*q).matrix(), x)
        for q, x in zip(quaternions, data.xpos[1 : len(shapes) + 1], strict=True)
    ]


def memory(value: object) -> int:
    """Bytes of the arrays in records."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if dataclasses.is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    return sum(map(memory, value)) if isinstance(value, tuple) else 0


def overlap(shapes: list[Part], poses: list[pin.SE3]) -> float:
    """The deepest overlap of two parts or a part and the bin [m]."""
    solids = [(s.collision_geometry(), M) for (s, _, _), M in zip(shapes, poses, strict=True)]
    solids += [(wall.collision_geometry(), wall.placement) for wall in walls()]
    deepest = 0.0
    for (i, (a, A)), (b, B) in itertools.product(enumerate(solids[: len(shapes)]), solids):
        if b is solids[i][0]:
            continue
        result, request = coal.CollisionResult(), coal.CollisionRequest()
        poses_of = [coal.Transform3s(M.rotation, M.translation) for M in (A, B)]
        coal.collide(a, poses_of[0], b, poses_of[1], request, result)
        for contact in result.getContacts():
            deepest = max(deepest, -contact.penetration_depth)
    return deepest


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, default=30)
    parser.add_argument("--time", type=float, default=2.0, help="[s]")
    parser.add_argument("--bins", type=int, default=0, help="narrow bins, instead of one pile")
    options = parser.parse_args()
    if options.bins:
        counts = np.array([count(narrow_bin(seed), BIN_STEPS) for seed in range(options.bins)])
        failed, (made, evaluations, halved) = np.sum(counts[:, 0] < BIN_STEPS), counts.sum(axis=0)
        print(f"{made} steps: {evaluations} evaluations, {halved} halved, {failed} runs failed")
        return
    shapes, making = parts(options.parts), float("inf")
    print("| simulator | step [ms] | CPU time a simulated second [s] | deepest overlap [mm] |")
    print("|---|---|---|---|")
    settings = [("nmdp-pin", h, ()) for h in OURS]
    settings += [(f"MuJoCo {' '.join(way)}", h, way) for way in WAYS for h in THEIRS]
    for name, h, way in settings:
        least = float("inf")
        for _ in range(REPEATS):
            if way:
                spent, poses = theirs(shapes, h, options.time, *way)
            else:
                spent, poses, mass, made = ours(shapes, h, options.time)
                making = min(making, made)
            least = min(least, spent)
        deep = 1e3 * overlap(shapes, poses)
        print(f"| {name} | {1e3 * h:g} | {least / options.time:.3g} | {deep:.2f} |", flush=True)
    static = np.sqrt(mass / options.parts * 9.81 / STIFFNESS)
    print(f"\na part of mean mass rests {1e3 * static:.2f} mm deep on one contact")
    print(f"robot and simulator are made in {making:.2f} s of CPU time")
    integrator = scene(shapes).integrator
    rows, size = integrator.form.shape[0], memory(integrator._memory)
    print(f"tables of {rows} rows have {1e-6 * size:.0f} MB")


if __name__ == "__main__":
    main()
