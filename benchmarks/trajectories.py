"""What the bundled gaits do at each step size: height, distance, tilt, work, failures.

OMP_NUM_THREADS=1 python benchmarks/trajectories.py [SCENARIO ...] [--mdp] [--set KEY=VALUE ...]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pinocchio as pin

from nmdp_pin._scenario import Scenario

SCENARIOS = ("robosimian-jump-paper", "robosimian-walk-fast", "spider-jump", "spider-walk")
NMDP_STEPS = (0.005, 0.01, 0.02, 0.03, 0.04, 0.05)
MDP_STEPS = (0.001, 0.002, 0.005, 0.007, 0.01)


def run(name: str, dt: float, overrides: list[str]) -> str:
    """One row of the table."""
    scenario = Scenario.load(name, overrides=[f"integrator.dt={dt}", *overrides])
    setup = scenario.build(visuals=False)
    base = next(f for f in setup.robot.model.frames if f.type == pin.FrameType.BODY)
    data = setup.robot.model.createData()
    begin = time.perf_counter()
    results = list(
        setup.simulator.run(setup.state, setup.controller, dt=dt, duration=scenario.duration)
    )
    wall = time.perf_counter() - begin
    poses = []
    for result in results:
        pin.forwardKinematics(setup.robot.model, data, result.state.q)
        poses.append(data.oMi[base.parentJoint] * base.placement)
    start = setup.state.q
    pin.forwardKinematics(setup.robot.model, data, start)
    origin = (data.oMi[base.parentJoint] * base.placement).translation
    shift = np.array([pose.translation - origin for pose in poses])
    tilt = np.array([np.arccos(np.clip(pose.rotation[2, 2], -1, 1)) for pose in poses])
    # the first jump alone: the apex before the first landing
    first = [k for k, r in enumerate(results) if r.state.t <= 1.9]
    failed = sum(not r.status.ok for r in results)
    return (
        f"| {name} | {1e3 * dt:.0f} | {shift[:, 2].max():.3f} | {shift[first, 2].max():.3f} "
        f"| {shift[-1, 0]:.2f} | {tilt.max():.4f} | {tilt.mean():.4f} "
        f"| {sum(r.halvings > 0 for r in results)} | {failed} "
        f"| {np.mean([r.iterations for r in results]):.1f} "
        f"| {np.mean([r.evaluations for r in results]):.1f} "
        f"| {1e3 * wall / len(results):.2f} | {results[-1].state.t / wall:.1f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--mdp", action="store_true", help="NE-MDP at 1-10 ms instead")
    parser.add_argument("--set", nargs="*", action="extend", default=[], dest="overrides")
    arguments = parser.parse_args()
    overrides = list(arguments.overrides)
    if arguments.mdp:
        overrides.insert(0, 'integrator.name="ne-mdp"')
    print(
        "| scenario | dt ms | rise m | first rise m | distance m | max tilt rad | mean tilt rad "
        "| halved | failed | outer | evaluations | ms a step | real time |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in arguments.scenarios:
        for dt in MDP_STEPS if arguments.mdp else NMDP_STEPS:
            print(run(name, dt, overrides), flush=True)


if __name__ == "__main__":
    main()
