"""How well polytopes stand for limit surfaces: vertices, friction, twists, a pushed block.

python benchmarks/planar_sliding.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

from nmdp_pin import Plane, Simulator, Terrain
from nmdp_pin.contact import LimitSurface

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from sliding_scenes import Finger, patch, pushed_block, quasi_static_push
from wrench_data import contacts_at

AXES = (0.4, 0.4, 0.24)
SURFACE = LimitSurface.ellipsoid(AXES, length=0.05)
WAY, SPEED, LEVER = 0.04, 0.02, 0.02  # [m, m/s, m]
STEPS = (0.04, 0.02, 0.01)  # [s]
REFINEMENTS = range(4)
PUSHES = (
    *(("ne-nmdp", "dissipation", refinement) for refinement in (1, 2, 3)),
    *((method, "dissipation", 3) for method in ("pbd-nmdp", "ne-zonmdp", "pbd-zonmdp")),
    ("ne-nmdp", "kinetic", 1),
)


def twist_error(loads: np.ndarray) -> float:
    """Root mean square angle between the face that a load meets and grad H there [rad]."""
    random = np.random.default_rng(0).standard_normal((3000, 3)) * AXES
    faces = ConvexHull(loads).equations
    met = (random @ faces[:, :3].T / -faces[:, 3]).argmax(axis=1)
    slides = SURFACE.twist(random) * [1.0, 1.0, SURFACE.length]
    cosines = np.clip(np.vecdot(faces[met, :3], slides), -1.0, 1.0)
    return float(np.sqrt((np.arccos(cosines) ** 2).mean()))


def push(method: str, objective: str, refinement: int, h: float) -> tuple[float, float]:
    """Error of the angle [rad] and of the slip [m] at the end of the way."""
    robot = pushed_block(LEVER)
    space = patch(SURFACE, refinement=refinement, recovery=0.0)
    simulator = Simulator(robot, Terrain([Plane()]), space, method, objective=objective)
    run = simulator.run(
        simulator.state(), Finger(SPEED, 1e4), dt=h, duration=WAY / SPEED, on_failure="raise"
    )
    end = list(run)[-1].state.q
    slip, turn = quasi_static_push(SURFACE, LEVER, end[1])[-1]
    return end[3] - turn, end[2] - slip


def main() -> None:
    """Print both tables."""
    print(
        "| `refinement` | vertices | least, mean share of the friction | error of the twist, rms |"
    )
    print("|---|---|---|---|")
    for refinement in REFINEMENTS:
        space = patch(SURFACE, refinement=refinement)
        V = space.vertices(contacts_at(np.array([[0.01]])))[0]
        loads = (V[[0, 1, 5]] / V[2]).T / [1.0, 1.0, SURFACE.length]
        u = np.random.default_rng(1).standard_normal((3000, 3))
        share = (u @ loads.T).max(axis=1) / np.vecdot(u, SURFACE.furthest(u))
        print(
            f"| {refinement} | {space.n_vertices} | {space.inscribed:.3f}, {share.mean():.3f} | "
            f"{twist_error(loads):.2f} rad |"
        )
    slip, turn = quasi_static_push(SURFACE, LEVER, WAY)[-1]
    print(
        f"\nthe exact slab turns by {abs(turn):.3f} rad and slips by {1e3 * slip:.1f} mm; errors:"
    )
    print(f"\n| method | refinement | {' | '.join(f'{1e3 * h:g} ms' for h in STEPS)} |")
    print(f"|---|---|{'---|' * len(STEPS)}")
    for method, objective, refinement in PUSHES:
        ends = [push(method, objective, refinement, h) for h in STEPS]
        cells = [f"{angle:+.3f} rad, {1e3 * slip:.1f} mm" for angle, slip in ends]
        label = f"`{method}`" if objective == "dissipation" else f"`{method}`, `{objective}`"
        print(f"| {label} | {refinement} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
