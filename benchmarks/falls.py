"""Random falls of one shape on another: steps that fail, and overlaps that no contact reports.

    OMP_NUM_THREADS=1 python benchmarks/falls.py [--first 0] [--number 200] [--kinds box coin ...]

A box, sphere, capsule, cylinder, coin, cone or ellipsoid of a random size falls 2 cm on another one
that is fixed, level or turned at random, in steps of 5, 10 or 20 ms of either order. coal measures
how far they are apart after every step; what is deeper than the deepest contact by more than 3 mm
went in unreported, a force across more than 1 mm came from a contact that is none.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin import FrictionCone, Simulator, State, StepResult, Terrain
from nmdp_pin._robot import free_body
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from nmdp_pin._terrain.shape import Solid

KINDS = ("box", "sphere", "capsule", "cylinder", "coin", "cone", "egg")
STEPS, DURATION = (0.005, 0.01, 0.02), 0.5  # [s]
LAW, MASS = FrictionCone(stiffness=2e5, power=2), 0.2  # [kg]
ABOVE, ASIDE = 0.02, 0.03  # [m] where a body starts
UNREPORTED, APART, FORCE = 3e-3, 1e-3, 0.01  # [m], [m], [N]
LEVEL = 0.4  # of the falls


@dataclass
class Fall:
    """What happened in a fall: shapes above and below, status of a failed step, lengths [m]."""

    number: int
    shapes: tuple[str, str]
    words: str
    failed: str = ""
    unreported: float = 0.0
    across: float = 0.0
    evaluations: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        """A line, of what is wrong alone."""
        found = [f"step failed ({self.failed})"] if self.failed else []
        if self.unreported > UNREPORTED:
            found.append(f"{1e3 * self.unreported:.1f} mm deep unreported")
        if self.across > APART:
            found.append(f"force across {1e3 * self.across:.1f} mm")
        named = f"{self.number:5} {' on '.join(self.shapes)}, {self.words}"
        return f"{named}: {', '.join(found)}" if found else ""


def solid(rng: np.random.Generator, kind: str, **pose: Any) -> Solid:
    """A shape of a random size of 2 to 15 cm."""

    def size(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    if kind == "box":
        return Box(size=(size(0.04, 0.15), size(0.04, 0.15), size(0.02, 0.15)), **pose)
    if kind == "sphere":
        return Sphere(radius=size(0.02, 0.08), **pose)
    if kind == "capsule":
        return Capsule(radius=size(0.02, 0.05), length=size(0.03, 0.15), **pose)
    if kind == "cylinder":
        return Cylinder(radius=size(0.02, 0.08), length=size(0.03, 0.15), **pose)
    if kind == "coin":
        return Cylinder(radius=size(0.03, 0.08), length=size(0.004, 0.012), **pose)
    if kind == "cone":
        return Cone(radius=size(0.03, 0.08), length=size(0.05, 0.15), **pose)
    return Ellipsoid(radii=(size(0.02, 0.08), size(0.02, 0.08), size(0.02, 0.08)), **pose)


def pose(rng: np.random.Generator) -> tuple[float, ...]:
    """Angles about x, y and z; about z alone where the shape is level [rad]."""
    angles = rng.uniform(-np.pi, np.pi, 3)
    level = rng.random() < LEVEL
    return tuple(float(x) for x in angles * ((0.0, 0.0, 1.0) if level else (1.0, 1.0, 1.0)))


def distance(below: Solid, top: Solid, q: np.ndarray) -> float:
    """Distance of the shapes, negative where they overlap [m]."""
    placements = below.placement, pin.XYZQUATToSE3(q)
    one, other = (coal.Transform3s(M.rotation.copy(), M.translation.copy()) for M in placements)
    geometries = below.collision_geometry(), top.collision_geometry()
    request, result = coal.DistanceRequest(True, True), coal.DistanceResult()
    return float(coal.distance(geometries[0], one, geometries[1], other, request, result))


def come_near(below: Sequence[Solid], top: Solid, q: np.ndarray, gap: float) -> None:
    """Move a shape at q, which is written, along z until it is so far from the nearest one [m]."""
    for _ in range(60):
        q[2] -= 0.7 * (min(distance(shape, top, q) for shape in below) - gap)


def fall(number: int, kinds: tuple[str, ...]) -> Fall:
    """Make the fall of a number."""
    rng = np.random.default_rng([7, number])
    names = [str(kind) for kind in rng.choice(kinds, 2)]
    h, order = float(rng.choice(STEPS)), int(rng.integers(1, 3))
    below, top = solid(rng, names[0], rpy=pose(rng)), solid(rng, names[1])
    turned = pin.Quaternion(pin.rpy.rpyToMatrix(*pose(rng))).coeffs()
    q = np.array([*rng.uniform(-ASIDE, ASIDE, 2), 0.5, *turned])
    come_near([below], top, q, ABOVE)
    found = Fall(number, (names[1], names[0]), f"{1e3 * h:g} ms, order {order}")
    simulator = Simulator(free_body("body", top, mass=MASS), Terrain(below), LAW, order=order)
    state = State(0.0, q, np.zeros(6))
    for _ in range(round(DURATION / h)):
        result = simulator.step(state, None, h)
        found.evaluations.append(result.evaluations)
        if not result.status.ok:
            found.failed = result.status.name
            break
        judge(found, result, distance(below, top, result.state.q), order)
        state = result.state
    return found


def judge(found: Fall, result: StepResult, apart: float, order: int) -> None:
    """Compare the contacts of a step with the distance at its end [m]."""
    deepest = float(result.contact_depths.max(initial=0.0))
    found.unreported = max(found.unreported, -apart - deepest)
    if order == 1 and np.abs(result.contact_forces).max(initial=0.0) > FORCE:
        found.across = max(found.across, apart)


def main() -> None:
    """Print what is wrong in each fall, and a table of how many there are of each kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first fall")
    parser.add_argument("--number", type=int, default=200, help="number of falls")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    falls = []
    for number in range(options.first, options.first + options.number):
        falls.append(fall(number, tuple(options.kinds)))
        if str(falls[-1]):
            print(falls[-1], flush=True)
    print("\n| shapes | falls | deep unreported | step failed | force across a gap |")
    print("|---|---|---|---|---|")
    odd = [each for each in falls if {"cone", "coin"} & {*each.shapes}]
    for shapes, some in (("all", falls), ("cones and coins", odd)):
        unreported = sum(each.unreported > UNREPORTED for each in some)
        failed = sum(each.failed != "" for each in some)
        across = sum(each.across > APART for each in some)
        print(f"| {shapes} | {len(some)} | {unreported} | {failed} | {across} |")
    evaluations = np.concatenate([each.evaluations for each in falls])
    print(f"\n{evaluations.mean():.2f} evaluations a step")


if __name__ == "__main__":
    main()
