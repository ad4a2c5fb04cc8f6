"""What each change to the papers' solver brings: from preset "paper" to this package's, one by one.

    OMP_NUM_THREADS=1 python benchmarks/ablation.py [SCENARIO ...] [--dt H] [--method NAME]

Each row keeps the changes of those above it. Counts do not depend on the machine.
"""

from __future__ import annotations

import argparse

import numpy as np

from nmdp_pin._scenario import Scenario

PGM = "projected_gradient"
CHANGES: tuple[tuple[str, list[str]], ...] = (
    (
        "as printed, but that halves are divided by their own length",
        ['control={kind="halving",max_work=20000}'],
    ),
    ("a smaller gamma where a projection fails", [f"{PGM}.retreat=true"]),
    ("projections from the prediction", [f"{PGM}.predict=true"]),
    ("Newton steps with line search", [f"{PGM}.line_search=true"]),
    ("gamma by the gain ratio", [f"{PGM}.gain_ratio=true", f"{PGM}.grow=4.0", f"{PGM}.shrink=0.1"]),
    ("proximal term by contact", [f"{PGM}.contact_scale=true"]),
    ("stop where K has nothing left", [f"{PGM}.early_stop=true"]),
    ("weights of the last step", ["warm_start=true"]),
    ("gamma of the last step", [f"{PGM}.carry_gamma=true"]),
    (
        "other starts where one fails",
        ["restarts=true", f"{PGM}.max_iterations=50", f"{PGM}.max_newton=10"],
    ),
    ("secants (zeroth order)", ["secants=true"]),
    ("dissipation instead", ['objective="dissipation"']),
    ("second order in time", ["order=2"]),
)


def main() -> None:
    """Print a table a scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = ["robosimian-jump-paper", "robosimian-walk-fast", "spider-walk"]
    parser.add_argument("scenarios", nargs="*", default=default)
    parser.add_argument("--dt", type=float, default=0.05)
    parser.add_argument("--method", default="ne-nmdp")
    parser.add_argument("--duration", type=float, default=10.0)
    arguments = parser.parse_args()
    for name in arguments.scenarios:
        print(f"{name}, {arguments.method}, {1e3 * arguments.dt:g} ms, {arguments.duration:g} s")
        print("| change | outer | rejected | evaluations | halved | failed |")
        print("|---|---|---|---|---|---|")
        settings = [
            f'integrator.name="{arguments.method}"',
            f"integrator.dt={arguments.dt!r}",
            'integrator.preset="paper"',
            'integrator.objective="end_effector"',
        ]
        for change, options in CHANGES:
            settings += [f"integrator.{option}" for option in options]
            if 'integrator.objective="dissipation"' in settings:  # which another solver solves
                settings = [setting for setting in settings if PGM not in setting]
            setup = Scenario.load(name, overrides=settings).build(visuals=False)
            run = setup.simulator.run(
                setup.state, setup.controller, dt=arguments.dt, duration=arguments.duration
            )
            rows = list(run)
            print(
                f"| {change} | {np.mean([r.iterations for r in rows]):.1f} "
                f"| {np.mean([r.rejected for r in rows]):.1f} "
                f"| {np.mean([r.evaluations for r in rows]):.1f} "
                f"| {sum(r.halvings > 0 for r in rows)} | {sum(not r.status.ok for r in rows)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
