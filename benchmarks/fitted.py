"""How well contact models are recovered from samples of their wrenches.

python benchmarks/fitted.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from nmdp_pin.contact import FrictionCone, WrenchSpace
from nmdp_pin.contact.fitted import fit_hulls
from nmdp_pin.contact.granular import Granular, Rod

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from wrench_data import Slanted, contacts_at, grid, measured

RANDOM = 300  # poses between those that were measured, and directions


def reach(V: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Largest component of each hull along each direction."""
    return np.maximum((along @ V).max(axis=2), 0.0)


def report(name: str, truth: WrenchSpace, poses: np.ndarray, directions: int) -> None:
    """Fit, and compare the reach of the hulls at random poses in the range."""
    samples = measured(truth, poses, inner=4)
    start = time.process_time()
    fit = fit_hulls(samples, directions=directions)
    spent = time.process_time() - start
    rng = np.random.default_rng(0)
    between = rng.uniform(poses.min(axis=0), poses.max(axis=0), (RANDOM, poses.shape[1]))
    V, W = fit.model.vertices(contacts_at(between)), truth.vertices(contacts_at(between))
    halves = [W[:, i : i + 3] for i in range(0, W.shape[1], 3)]
    scale = np.repeat([np.sqrt((half**2).sum(axis=1).mean()) for half in halves], 3)
    along = rng.standard_normal((RANDOM, W.shape[1])) / scale
    expected = reach(W, along)
    error = np.abs(reach(V, along) - expected) / expected.max()
    print(
        f"{name}: {len(poses)} poses, {directions} directions -> {fit.model.n_vertices} vertices "
        f"of {truth.n_vertices}, coverage {fit.coverage:.3f}, left-out error "
        f"{fit.left_out_error:.4f}; error between poses: rms {np.sqrt((error**2).mean()):.4f}, "
        f"largest {error.max():.4f}; {spent:.2f} s"
    )


def main() -> None:
    """Print a line for each model and number of samples."""
    for n in (4, 6, 10):
        for power in (2, 3):
            cone = FrictionCone(stiffness=1e4, power=power)
            report(f"friction cone, d^{power}", cone, np.linspace(0.002, 0.02, n)[:, None], 128)
    rod = Granular(intruder=Rod(radius=0.0267, length=0.15))
    for n, m in ((4, 3), (6, 5), (8, 7)):
        tilts = np.linspace(-0.6, 0.6, m)
        for directions in (128, 400):
            report(
                "closed form", Slanted(), grid(np.linspace(0.01, 0.1, n), tilts, tilts), directions
            )
            report("rod in sand", rod, grid(np.linspace(0.02, 0.15, n), tilts, tilts), directions)


if __name__ == "__main__":
    main()
