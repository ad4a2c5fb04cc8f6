"""What the conventional simulator `ne-ncp` costs, and how long its steps may be.

    OMP_NUM_THREADS=1 python benchmarks/ncp.py            # every table below
    OMP_NUM_THREADS=1 python benchmarks/ncp.py cost stable # some of them

Times are medians over the steps of one run; the two solvers take turns in one process.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from nmdp_pin._scenario import Scenario
from nmdp_pin.papers.methods.friction_ncp import NCP_SOLVERS

STEPS = (0.5, 1, 2, 5, 10, 20, 50, 100)  # [ms]
POINTS = (4, 16, 64, 128, 256)
SIDES = (2, 4, 8, 12, 16)  # of the slab, in points
NUDGE = 1e-6  # [m/s, rad/s] of every dof at the start: a motion must not hang on a symmetry
GAIN = 0.01  # of the energy that gravity has given: more than this above the start is not stable


@dataclass(frozen=True)
class Run:
    """What a run came to.

    Args:
        status: of its last step.
        gain: largest energy above that at the start [J].
        fall: potential energy lost [J].
        depth: largest penetration [m].
        touching: mean number of contacts with a force.
        iterations: of the solver, mean of a step.
        ms: time of a step, median.
    """

    status: str
    gain: float
    fall: float
    depth: float
    touching: float
    iterations: float
    ms: float

    @property
    def stable(self) -> bool:
        """No step failed, and energy stayed below that of the start."""
        return self.status == "CONVERGED" and self.gain <= GAIN * abs(self.fall)


def run(name: str, solver: str, ms: float, *overrides: str, duration: float | None = None) -> Run:
    """Run a scenario by `ne-ncp` with steps of `ms`, none of them halved."""
    h = 1e-3 * ms
    options = [
        f"integrator.dt={h}",
        f"integrator.control.min_step={h}",
        f'integrator.solver="{solver}"',
    ]
    scenario = Scenario.load(name, overrides=['integrator.name="ne-ncp"', *options, *overrides])
    setup = scenario.build(visuals=False)
    simulator, state = setup.simulator, setup.state
    nudge = NUDGE * np.random.default_rng(0).standard_normal(state.v.size)
    state = simulator.state(state.q, state.v + nudge)
    results, times, start = [], [], time.perf_counter()
    for result in simulator.run(
        state, setup.controller, dt=h, duration=duration or scenario.duration
    ):
        times.append(time.perf_counter() - start)
        results.append(result)
        start = time.perf_counter()
    made = [result for result in results if result.status.ok]
    energy = np.array([r.kinetic_energy + r.potential_energy for r in made] or [0.0])
    forces = [np.count_nonzero(r.contact_forces.any(axis=1)) for r in made]
    return Run(
        results[-1].status.name,
        float((energy - energy[0]).max()),
        made[0].potential_energy - made[-1].potential_energy if made else 0.0,
        max((r.max_penetration for r in made), default=0.0),
        float(np.mean(forces or [0])),
        float(np.mean([r.iterations for r in results])),
        1e3 * float(np.median(times)),
    )


def cost() -> None:
    """A step of 1 and 5 ms on bundled scenarios."""
    print("| scenario, h | " + " | ".join(f"{s}: ms, iterations" for s in NCP_SOLVERS) + " |")
    for name in ("sliding-box", "chain-slope", "robosimian-walk"):
        for ms in (1, 5):
            runs = [run(name, solver, ms, duration=1.0) for solver in NCP_SOLVERS]
            cells = " | ".join(f"{r.ms:.2f}, {r.iterations:.0f}" for r in runs)
            print(f"| {name}, {ms} ms | {cells} |", flush=True)


def contacts() -> None:
    """A step of 1 ms of the sliding chain against the number of its contact points."""
    print("| points | " + " | ".join(f"{s}: ms, iterations, touching" for s in NCP_SOLVERS) + " |")
    for n in POINTS:
        runs = [
            run("chain-slide", solver, 1, f"robot.contact_points={n}", duration=0.4)
            for solver in NCP_SOLVERS
        ]
        cells = " | ".join(f"{r.ms:.2f}, {r.iterations:.0f}, {r.touching:.0f}" for r in runs)
        print(f"| {n} | {cells} |", flush=True)


def touching() -> None:
    """A step of 1 ms of a slab that slides on n points, all of which touch."""
    print("| points | " + " | ".join(f"{s}: ms, iterations" for s in NCP_SOLVERS) + " |")
    for side in SIDES:
        at = np.linspace(-0.1, 0.1, side)
        points = [(f"p{i}-{j}", x, y) for i, x in enumerate(at) for j, y in enumerate(at)]
        contacts = [
            f'{{name="{name}", link="box", position=[{x}, {y}, -0.1]}}' for name, x, y in points
        ]
        runs = [
            run(
                "sliding-box",
                solver,
                1,
                f"robot.contacts=[{', '.join(contacts)}]",
                "robot.initial.position=[0.0, 0.0, 0.1]",
                duration=0.05,
            )
            for solver in NCP_SOLVERS
        ]
        cells = " | ".join(f"{r.ms:.2f}, {r.iterations:.0f}" for r in runs)
        print(f"| {side**2} | {cells} |", flush=True)


def stable() -> None:
    """Whether the chain on a slope stays stable, against the step."""
    print("| scenario, solver, h | stable | status | energy above the start, J | depth, mm |")
    for name, base in (
        ("chain-slope", "free-flyer"),
        ("chain-slope", "planar"),
        ("chain-slide", "free-flyer"),
    ):
        for solver in NCP_SOLVERS:
            for ms in STEPS:
                r = run(name, solver, ms, f'robot.base="{base}"')
                print(
                    f"| {name} {base}, {solver}, {ms} ms | {r.stable} | {r.status} | {r.gain:.2g} "
                    f"| {1e3 * r.depth:.2g} |",
                    flush=True,
                )


TABLES = {"cost": cost, "contacts": contacts, "touching": touching, "stable": stable}


def main() -> None:
    """Print the tables that are named, or all."""
    for table in sys.argv[1:] or TABLES:
        TABLES[table]()
        print()


if __name__ == "__main__":
    main()
