"""Go2 on its feet under noisy targets: what a step costs a sampling planner.

    OMP_NUM_THREADS=1 python benchmarks/noisy_targets.py [--steps 120] [--noise 0.15]

The targets of the joints are the standing pose plus normal noise, drawn anew for each step, of
20 ms. Evaluations and iterations do not depend on the machine.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np

from nmdp_pin._scenario import Scenario

DT = 0.02  # [s]
CASES = (("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 1), ("pbd-nmdp", 2), ("ne-zonmdp", 1))


def run(method: str, order: int, steps: int, noise: float) -> str:
    """A row of the table."""
    overrides = [f"integrator.name={method}", f"integrator.order={order}", f"integrator.dt={DT}"]
    setup = Scenario.load("go2-stand", overrides=overrides).build(visuals=False)
    simulator, state = setup.simulator, setup.state
    held: Any = setup.controller.command(state, DT)
    rng = np.random.default_rng(0)
    joints = [j.idx_q for j in list(setup.robot.model.joints)[1:] if j.nv == 1]
    simulator.step(state, held, DT)
    results, begin = [], time.process_time()
    for _ in range(steps):
        target = held.q_target.copy()
        target[joints] += noise * rng.standard_normal(len(joints))
        results.append(simulator.step(state, replace(held, q_target=target), DT))
        state = results[-1].state
    spent = 1e3 * (time.process_time() - begin) / steps
    evaluations = [result.evaluations for result in results]
    iterations = sum(result.iterations for result in results) / steps
    failed = sum(not result.status.ok for result in results)
    return (
        f"| {method}, order {order} | {np.mean(evaluations):.1f} | {max(evaluations)} | "
        f"{iterations:.1f} | {spent:.2f} | {failed} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--noise", type=float, default=0.15, help="[rad]")
    options = parser.parse_args()
    print("| method | evaluations a step | most | iterations | CPU time a step [ms] | failed |")
    print("|---|---|---|---|---|---|")
    for method, order in CASES:
        print(run(method, order, options.steps, options.noise))


if __name__ == "__main__":
    main()
