"""How well contact models are recovered from samples of their wrenches.

    python benchmarks/fitted.py

The last columns are errors of the reach of the hull between the poses, over the largest reach.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nmdp_pin._contact import FrictionCone, WrenchSpace
from nmdp_pin.contact import Granular, Rod, fit_hulls

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from wrench_data import Slanted, contacts_at, grid, measured

CONES = (4, 6, 10)  # depths
GRIDS = ((4, 3), (8, 7))  # depths, and tilts about each axis
DIRECTIONS = (128, 400)
RANDOM = 300  # poses between those that were measured, and directions


def reach(V: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Largest component of each hull along each direction."""
    return np.maximum((along @ V).max(axis=2), 0.0)


def report(name: str, truth: WrenchSpace, poses: np.ndarray, directions: int) -> None:
    """Fit, and compare the reach of the hulls at random poses in the range."""
    samples = measured(truth, poses, inner=4)
    fit = fit_hulls(samples, directions=directions)
    rng = np.random.default_rng(0)
    between = rng.uniform(poses.min(axis=0), poses.max(axis=0), (RANDOM, poses.shape[1]))
    V, W = fit.model.vertices(contacts_at(between)), truth.vertices(contacts_at(between))
    halves = [W[:, i : i + 3] for i in range(0, W.shape[1], 3)]
    scale = np.repeat([np.sqrt((half**2).sum(axis=1).mean()) for half in halves], 3)
    along = rng.standard_normal((RANDOM, W.shape[1])) / scale
    expected = reach(W, along)
    error = np.abs(reach(V, along) - expected) / expected.max()
    print(
        f"| {name} | {len(poses)} | {directions} | {fit.model.n_vertices} | {fit.coverage:.3f} "
        f"| {fit.left_out_error:.4f} | {np.sqrt((error**2).mean()):.4f} | {error.max():.4f} |",
        flush=True,
    )


def main() -> None:
    """Print a line for each model and number of samples."""
    print(
        "| model | poses | directions | vertices | coverage | left-out error | rms | largest |\n"
        f"{'|---' * 8}|"
    )
    for n in CONES:
        for power in (2, 3):
            cone = FrictionCone(stiffness=1e4, power=power)
            poses = np.linspace(0.002, 0.02, n)[:, None]
            report(f"friction cone, d^{power}", cone, poses, DIRECTIONS[0])
    rod = Granular(intruder=Rod(radius=0.0267, length=0.15))
    for n, m in GRIDS:
        tilts = np.linspace(-0.6, 0.6, m)
        poses = grid(np.linspace(0.01, 0.1, n), tilts, tilts)
        report("closed form", Slanted(), poses, DIRECTIONS[0])
        for directions in DIRECTIONS:
            report("rod in sand", rod, grid(np.linspace(0.02, 0.15, n), tilts, tilts), directions)


if __name__ == "__main__":
    main()
