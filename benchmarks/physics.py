"""The physics against closed forms, as Markdown tables; what docs/physics.md holds.

OMP_NUM_THREADS=1 python benchmarks/physics.py [SECTION ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

# The scenes are those of the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from physics_experiments import (
    SLOPE_FRICTION,
    chain_energy,
    chain_error,
    chain_exact,
    creep,
    critical_angle,
    disagreement,
    fast_landing,
    impact,
    momentum,
    rest,
    rolling_acceleration,
    rolling_speed,
    sliding_acceleration,
    spinning_flight,
    stopping_distance,
)
from physics_scenes import BASES, EVERY, SOFT, G, order


def milliseconds(steps: Iterable[float]) -> list[str]:
    """Headers of the columns, one a step."""
    return [f"{1e3 * h:g} ms" for h in steps]


def row(*cells: object) -> None:
    """Print one row of a table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def header(title: str, *cells: object) -> None:
    """Print a title and the head of a table."""
    print(f"\n### {title}\n")
    row(*cells)
    row(*["---"] * len(cells))


def errors(
    label: str, steps: Sequence[float], found: Sequence[float], exact: float, unit: float = 1.0
) -> None:
    """Print a row of errors at each step in `unit`, and their order."""
    off = np.array(found) - exact
    row(label, f"{exact / unit:.4g}", *(f"{e / unit:.2g}" for e in off), _order(steps, off))


def _order(steps: Sequence[float], off: np.ndarray) -> str:
    """The order, where there is an error that it could be of."""
    return f"{order(steps, off):.2f}" if np.abs(off).min() > 1e-10 else "-"


def sliding() -> None:
    """Stopping distance, and how it depends on the heading."""
    steps = (1e-3, 2e-3, 5e-3, 1e-2)
    header(
        "Sliding: stopping distance of a slab at 1 m/s, error in mm",
        *("method, mu", "v²/(2 mu g)", *milliseconds(steps), "order"),
    )
    for method in EVERY:
        for mu in (0.2, 0.5, 1.0):
            found = [stopping_distance(method, mu, h) for h in steps]
            errors(f"{method}, {mu}", steps, found, 1.0 / (2.0 * mu * G), 1e-3)
    header(
        "Sliding: distance over the middle of a face / along an edge of the polytope",
        *("method", "1 / cos(30°)", *milliseconds(steps)),
    )
    for method in EVERY:
        ratios = [
            (stopping_distance(method, 0.5, h, np.pi / 6) + 0.5 * h)
            / (stopping_distance(method, 0.5, h) + 0.5 * h)
            for h in steps
        ]
        row(method, f"{1.0 / np.cos(np.pi / 6):.4f}", *(f"{r:.4f}" for r in ratios))
    print("\n(v h / 2, the error of backward Euler above, is added to both distances.)")


def slope() -> None:
    """Critical angle, creep below it and acceleration above it."""
    steps = (2e-3, 5e-3, 1e-2)
    cones = {
        "edge downhill": (0.0, SLOPE_FRICTION),
        "face downhill": (np.pi / 6, SLOPE_FRICTION * np.cos(np.pi / 6)),
    }
    header(
        "Slope: critical angle, in units of arctan(effective mu)",
        *("method", "polytope", "effective mu", *milliseconds(steps)),
    )
    for method in EVERY:
        for name, (turn, mu) in cones.items():
            found = [critical_angle(method, h, turn, mu) / np.arctan(mu) for h in steps]
            row(method, name, f"{mu:.4f}", *(f"{angle:.3f}" for angle in found))
    steps = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2)
    header("Slope: creep at 0.9 of the critical angle, in um/s", "method", *milliseconds(steps))
    for method in EVERY:
        row(method, *(f"{1e6 * creep(method, h):.2g}" for h in steps))
    steps = (1e-3, 2e-3, 5e-3, 1e-2)
    header(
        "Slope: sliding acceleration, error in m/s²",
        *("method, angle / critical", "g (sin a - mu cos a)", *milliseconds(steps)),
    )
    for method in EVERY:
        for share in (1.02, 1.1, 1.5):
            angle = share * np.arctan(SLOPE_FRICTION)
            exact = G * (np.sin(angle) - SLOPE_FRICTION * np.cos(angle))
            found = [sliding_acceleration(method, angle, h) - exact for h in steps]
            row(f"{method}, {share}", f"{exact:.4f}", *(f"{e:.2g}" for e in found))


def resting() -> None:
    """A cube that lies on the ground."""
    steps = (1e-3, 5e-3, 1e-2, 2e-2, 5e-2)
    header("Rest: drift in 10 s, in m", "method, start", *milliseconds(steps))
    for method in EVERY:
        for name, drop in (("static depth", None), ("dropped 5 cm", 0.05)):
            row(f"{method}, {name}", *(f"{rest(method, h, 10.0, drop).drift:.2g}" for h in steps))


def falling() -> None:
    """Impacts: what a cube does that falls."""
    steps = (1e-3, 5e-3, 1e-2, 2e-2)
    header(
        "Impact: a cube falls by 0.4 m, static depth 1 mm",
        *("method, attitude", "step", "rise of energy in a step / m g z", "energy above start, J"),
        *("rebound, mm", "penetration, mm", "speed at end, m/s"),
    )
    for method in EVERY:
        for name, rpy in (("flat", (0.0, 0.0, 0.0)), ("tilted", (0.3, 0.4, 0.2))):
            for h in steps:
                found = impact(method, h, 0.5, rpy, SOFT)
                row(
                    f"{method}, {name}",
                    f"{1e3 * h:g} ms",
                    f"{found.energy_gain:.1g}",
                    f"{max(found.above_start, 0.0):.1g}",
                    f"{1e3 * max(found.rebound, 0.0):.2f}",
                    f"{1e3 * found.penetration:.2f}",
                    f"{found.speed:.1g}",
                )
    steps = (1e-2, 2e-2, 5e-2)
    header(
        "Impact: depth after one step of a cube 1 mm above the ground, in mm",
        *("method, speed", *milliseconds(steps)),
    )
    for method in EVERY:
        for speed in (2.0, 5.0, 20.0):
            depths = [1e3 * fast_landing(method, h, speed) for h in steps]
            row(f"{method}, {speed:g} m/s", *(f"{depth:.3g}" for depth in depths))
    steps = (2.5e-4, 5e-4, 1e-3, 2e-3)
    header("NE-NMDP (kinetic) and NE-MDP: apart, in mm", "quantity", *milliseconds(steps), "order")
    for quantity in ("drop", "slide"):
        apart = [disagreement(quantity, h) for h in steps]
        slope = f"{order(steps, apart):.2f}" if quantity == "drop" else "solver"
        row(quantity, *(f"{1e3 * x:.3g}" for x in apart), slope)


def chain() -> None:
    """Energy and angles of the fixed chain."""
    steps = (2.5e-4, 5e-4, 1e-3, 2e-3)
    header("Chain: error after 0.2 s", "method, of", "exact", *milliseconds(steps), "order")
    exact = chain_exact(0.2)
    for method in EVERY:
        drift = [chain_energy(method, h, 0.2)[-1] for h in steps]
        errors(f"{method}, energy, J", steps, drift, 0.0)
        off = [chain_error(method, h, 0.2, exact) for h in steps]
        errors(f"{method}, angles, rad", steps, off, 0.0)
    steps = (1e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 5e-2)
    header(
        "Chain: largest energy above its start, in J of 4.9 (negative: always below)",
        *("method, during", *milliseconds(steps)),
    )
    for method in [*EVERY][:4]:  # the implicit ones
        for duration in (1.3, 2.0):
            above = [chain_energy(method, h, duration).max() for h in steps]
            row(f"{method}, {duration} s", *(f"{x:.2g}" for x in above))


def momenta() -> None:
    """Momentum made by internal torques, and by spinning."""
    steps = (1e-3, 2e-3, 4e-3, 8e-3)
    header(
        "Momentum after 0.5 s of internal torques, in N s and N m s",
        *("method, robot", "exact", *milliseconds(steps), "order"),
    )
    for method in EVERY:
        for name in ("chain", "robosimian"):
            made = np.array([momentum(name, method, h) for h in steps])
            errors(f"{method}, {name}, linear", steps, made[:, 0], 0.0)
            errors(f"{method}, {name}, angular", steps, made[:, 1], 0.0)
    header(
        "Flight of a ball that spins at 10 rad/s about y: displacement in 1 s, in m",
        *("method, base", "exact", *milliseconds(steps)),
    )
    for method in EVERY:
        for base in BASES:
            ends = [spinning_flight(method, h, base) for h in steps]
            cells = [f"{end[0]:.3f}, {end[2]:.3f}" for end in ends]
            row(f"{method}, {base}: x, z", f"1.000, {-0.5 * G:.3f}", *cells)


def rolling() -> None:
    """A ball that rolls."""
    steps = (1e-3, 2e-3, 5e-3, 1e-2)
    header(
        "Rolling down 0.2 rad: acceleration, error in m/s²",
        *("method, base", "5/7 g sin a", *milliseconds(steps), "order"),
    )
    exact = 5.0 / 7.0 * G * np.sin(0.2)
    for method in EVERY:
        for base in BASES:
            found = [rolling_acceleration(method, 0.2, h, base) for h in steps]
            errors(f"{method}, {base}", steps, [a for a, _ in found], exact)
            slips = (f"{slip:.1g}" for _, slip in found)
            row(f"{method}, {base}: slip, m/s", "0", *slips, "")
    header(
        "Sliding, then rolling: speed of a ball sent at 1 m/s, error in m/s",
        *("method, base", "5/7", *milliseconds(steps), "order"),
    )
    for method in EVERY:
        for base in BASES:
            found = [rolling_speed(method, h, base) for h in steps]
            errors(f"{method}, {base}", steps, found, 5.0 / 7.0)


SECTIONS = {
    "sliding": sliding,
    "slope": slope,
    "rest": resting,
    "impact": falling,
    "chain": chain,
    "momentum": momenta,
    "rolling": rolling,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, "all"], default="all")
    chosen = parser.parse_args().sections
    for name in SECTIONS if "all" in chosen else chosen:
        SECTIONS[name]()


if __name__ == "__main__":
    main()
