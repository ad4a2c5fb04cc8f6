"""Microseconds of one Terrain.query at 1 to 64 points, on terrains of different kinds.

OMP_NUM_THREADS=1 python benchmarks/terrain.py
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from nmdp_pin._terrain import Box, HeightField, Mesh, Plane, Terrain

COUNTS = (1, 4, 16, 64)
REPEATS = 31  # the median of them is printed
SLICE = 0.02  # [s] of queries a repeat


def stairs() -> Terrain:
    """A plane and ten steps of 0.1 m by 0.3 m, each a box from the ground up."""
    steps = [
        Box(size=(0.35, 2.0, 0.1 * k), position=(0.3 * k, 0.0, 0.05 * k)) for k in range(1, 11)
    ]
    return Terrain([Plane(), *steps])


def boxes() -> Terrain:
    """A hundred boxes of all orientations and no plane."""
    rng = np.random.default_rng(0)
    return Terrain(
        [
            Box(
                size=tuple(rng.uniform(0.1, 0.4, 3)),
                position=tuple(rng.uniform(-2.0, 2.0, 3)),
                rpy=tuple(rng.uniform(-1.0, 1.0, 3)),
            )
            for _ in range(100)
        ]
    )


def rock() -> Terrain:
    """A bumpy ball of 5040 triangles, 1 m in radius."""
    n_rings, n = 36, 72
    polar = np.linspace(0.0, np.pi, n_rings + 1)[1:-1, None]
    around = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)[None, :]
    r = 1.0 + 0.05 * np.sin(5.0 * around) * np.sin(polar) * np.sin(4.0 * polar)
    x, y, z = (
        r * np.sin(polar) * np.cos(around),
        r * np.sin(polar) * np.sin(around),
        r * np.cos(polar),
    )
    rings = np.stack([x, y, z], axis=2).reshape(-1, 3)
    index = np.arange(len(rings)).reshape(n_rings - 1, n)
    following = np.roll(index, -1, axis=1)
    north, south = np.full(n, len(rings)), np.full(n, len(rings) + 1)
    faces = [
        (index[:-1].ravel(), index[1:].ravel(), following[1:].ravel()),
        (index[:-1].ravel(), following[1:].ravel(), following[:-1].ravel()),
        (north, index[0], following[0]),
        (south, following[-1], index[-1]),
    ]
    return Terrain(
        [
            Mesh(
                vertices=np.concatenate([rings, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]]),
                faces=np.concatenate([np.stack(part, axis=1) for part in faces]),
            )
        ]
    )


def hills() -> Terrain:
    """A height field of 64 by 64 samples over 4 m by 4 m."""
    x = np.linspace(-2.0, 2.0, 64)
    heights = 0.1 * np.sin(3.0 * x)[None, :] * np.cos(2.0 * x)[:, None]
    return Terrain([HeightField(heights=heights, size=(4.0, 4.0))])


def feet(terrain: Terrain, low: tuple[float, ...], high: tuple[float, ...], n: int) -> np.ndarray:
    """Points within 5 cm of the surface, half of them below it, as feet are."""
    rng = np.random.default_rng(1)
    found: list[np.ndarray] = []
    while len(found) < n:
        x = rng.uniform(low, high, (512, 3))
        surface = terrain.query(x)
        on = x - surface.distance[:, None] * surface.normal
        near = on + rng.uniform(-0.05, 0.05, (512, 1)) * surface.normal
        found.extend(near[(np.abs(surface.distance) < 0.3)])
    return np.array(found[:n])


def microseconds(terrain: Terrain, points: np.ndarray) -> float:
    """Median processor time of a query [us]: a busy machine disturbs it least."""
    terrain.query(points)
    start = time.process_time()
    terrain.query(points)
    calls = max(1, int(SLICE / max(time.process_time() - start, 1e-6)))
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(calls):
            terrain.query(points)
        times.append((time.process_time() - start) / calls)
    return 1e6 * statistics.median(times)


def main() -> None:
    """Print the table of times."""
    cases = (
        ("one plane", Terrain([Plane()]), (-1, -1, -0.1), (1, 1, 0.1)),
        ("plane + 10 boxes (stairs), feet on the steps", stairs(), (0.1, -0.9, 0), (3.2, 0.9, 1.1)),
        ("plane + 10 boxes (stairs), feet on the plane", stairs(), (-3, -0.9, 0), (-0.5, 0.9, 0.1)),
        ("100 boxes", boxes(), (-2, -2, -2), (2, 2, 2)),
        ("mesh of 5040 triangles", rock(), (-1.1, -1.1, -1.1), (1.1, 1.1, 1.1)),
        ("height field of 64 by 64", hills(), (-1.9, -1.9, -0.2), (1.9, 1.9, 0.2)),
    )
    print(f"| us a query | {' | '.join(f'{n} points' for n in COUNTS)} |")
    print(f"|---|{'---|' * len(COUNTS)}")
    for name, terrain, low, high in cases:
        row = [microseconds(terrain, feet(terrain, low, high, n)) for n in COUNTS]
        print(f"| {name} | {' | '.join(f'{value:.1f}' for value in row)} |")


if __name__ == "__main__":
    main()
