"""How far the tables of feet in sand are from the integration that they stand for.

    python benchmarks/granular.py

Errors at 100 random poses, median and 95 %: of forces in % of the largest vertex, of moments as the
lever of that force. The last columns are the work of the polytope over that of the integration.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nmdp_pin.contact import Granular, Plate, Rod, Sphere

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from granular_accuracy import accuracy

FEET = (Rod(radius=0.0267, length=0.15), Sphere(radius=0.04), Plate(radius=0.06))
TILTS = ((0.0, 30.0), (30.0, 60.0), (60.0, 80.0))  # [deg]


def main() -> None:
    """Print the table."""
    print("| foot | tilt [deg] | force [%] | moment [mm] | work: 5 %, median, 95 % |")
    print("|---|---|---|---|---|")
    for foot in FEET:
        table = Granular(intruder=foot).table
        for low, high in TILTS if foot.tilts else TILTS[:1]:
            found = accuracy(table, tilts=(np.deg2rad(low), np.deg2rad(high)))
            force = ", ".join(f"{100 * error:.2f}" for error in found.force)
            moment = ", ".join(f"{1e3 * error:.2f}" for error in found.moment)
            work = ", ".join(f"{share:.2f}" for share in found.dissipation)
            print(f"| {foot} | {low:g} to {high:g} | {force} | {moment} | {work} |")


if __name__ == "__main__":
    main()
