"""Work of every method, with each of its QP solvers: evaluations and time a step, in one table.

    OMP_NUM_THREADS=1 python benchmarks/methods.py [SCENARIO ...] [--dt H] [--duration T]

The runs of all methods take turns, so that what else the machine does slows them alike; a time is
the least of the repeats.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from nmdp_pin._integrators import INTEGRATORS, StepResult
from nmdp_pin._integrators.presets import PRESETS
from nmdp_pin._options import options_of
from nmdp_pin._scenario import Scenario

OBJECTIVES = ("dissipation", "end_effector", "kinetic")
REPEATS = 3
QP_SOLVERS = ("proxqp", "daqp")
BY_OBJECTIVE = [
    name for name in sorted(INTEGRATORS) if "objective" in options_of(INTEGRATORS[name])
]
CASES = [
    *(
        (name, "", 0, qp)
        for name in sorted(set(INTEGRATORS) - set(BY_OBJECTIVE))
        for qp in (QP_SOLVERS if "qp_solver" in options_of(INTEGRATORS[name]) else ("",))
    ),
    *(
        (name, objective, order, qp)
        for name in BY_OBJECTIVE
        for objective in OBJECTIVES
        for order in (1, 2)
        for qp in (("",) if objective == "dissipation" else QP_SOLVERS)
    ),
]


def overrides(method: str, objective: str, order: int, qp: str, dt: float) -> list[str]:
    """Settings of a run."""
    found = [f'integrator.name="{method}"', f"integrator.dt={dt!r}"]
    if objective:
        found += [f'integrator.objective="{objective}"', f"integrator.order={order}"]
        found += ["contact.recovery=0"] * (objective != "dissipation")
    if qp:
        table = "projected_gradient." if objective else ""
        found.append(f'integrator.{table}qp_solver="{qp}"')
    return found


def run(name: str, settings: list[str], duration: float | None) -> tuple[list[StepResult], float]:
    """All results and the time that computing them took [s]."""
    scenario = Scenario.load(name, overrides=settings)
    setup = scenario.build(visuals=False)
    length = scenario.duration if duration is None else duration
    begin = time.perf_counter()
    results = list(
        setup.simulator.run(
            setup.state, setup.controller, dt=scenario.integrator.dt, duration=length
        )
    )
    return results, time.perf_counter() - begin


def main() -> None:
    """Print a table a scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=["robosimian-jump-paper"])
    parser.add_argument("--dt", type=float, default=0.05)
    parser.add_argument("--duration", type=float)
    parser.add_argument("--preset", choices=sorted(PRESETS))
    parser.add_argument("--qp", action="store_true", help="only what solves quadratic programs")
    arguments = parser.parse_args()
    cases = [case for case in CASES if case[-1] or not arguments.qp]
    for name in arguments.scenarios:
        least = dict.fromkeys(cases, float("inf"))
        results = {}
        for _ in range(REPEATS):
            for case in cases:
                settings = overrides(*case, arguments.dt)
                if arguments.preset:
                    settings.append(f'integrator.preset="{arguments.preset}"')
                results[case], wall = run(name, settings, arguments.duration)
                least[case] = min(least[case], wall)
        print(f"{name}, {1e3 * arguments.dt:g} ms")
        print(
            "| method | objective | order | QP | outer | evaluations | halved | failed | ms "
            "| x real |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")
        for case in cases:
            rows, wall = results[case], least[case]
            print(
                f"| {case[0]} | {case[1] or '—'} | {case[2] or '—'} | {case[3] or '—'} "
                f"| {np.mean([r.iterations for r in rows]):.1f} "
                f"| {np.mean([r.evaluations for r in rows]):.1f} "
                f"| {sum(r.halvings > 0 for r in rows)} | {sum(not r.status.ok for r in rows)} "
                f"| {1e3 * wall / len(rows):.2f} | {rows[-1].state.t / wall:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
