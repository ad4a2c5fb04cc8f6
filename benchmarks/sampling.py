"""Random shooting on A1: how many times real time a core simulates, beside MuJoCo.

    OMP_NUM_THREADS=1 python benchmarks/sampling.py [--trajectories 20] [--kp 100] [--kd 2]

A1 stands and gets new joint targets every 40 ms, standing pose plus normal noise of 0.3 rad, for
0.4 s. Both simulators have the same gains; MuJoCo's twin has no effort limits and no ranges. The
error is the root mean square distance of the base, at the ends, to the same simulator in short
steps: `ne-nmdp` at 1 ms (second order), `pbfd`, whose contacts are others, and MuJoCo at 0.1 ms
(`implicitfast`).
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable

import mujoco
import numpy as np
from mujoco_twin import Twin

from nmdp_pin import Command, FrictionCone, Plane, Simulator, Terrain, load_robot
from nmdp_pin._contact import Penalty
from nmdp_pin._robot import Robot
from nmdp_pin._state.status import Status

HOLD, DURATION, SIGMA = 0.04, 0.4, 0.3  # [s], [s], [rad]
FRICTION = 0.8
LIMITS = {"ne-nmdp": 1e-3, "pbfd": 1e-4}  # [s]


def ours(
    robot: Robot,
    targets: np.ndarray,
    gains: tuple[float, float],
    h: float,
    method: str,
    **options: int,
) -> tuple[float, np.ndarray, int]:
    """CPU time, places of the base at the ends, and trajectories that failed."""
    law = Penalty() if method == "pbfd" else FrictionCone.for_robot(robot, static_depth=1e-3)
    ground = Terrain(Plane(height=robot.lowest_point, friction=FRICTION))
    simulator = Simulator(robot, ground, law, method, **options)
    kp, kd = (np.zeros(robot.model.nv) for _ in range(2))
    kp[robot.driven], kd[robot.driven] = gains
    simulator.step(simulator.state(), Command(), h)
    ends, failed, begin = [], 0, time.process_time()
    for trajectory in targets:
        state = simulator.state()
        for target in trajectory:
            command = Command(kp=kp, kd=kd, q_target=target)
            for _ in range(round(HOLD / h)):
                result = simulator.step(state, command, h)
                state = result.state
            if result.status is not Status.CONVERGED:
                failed += 1
                break
        ends.append(state.q[:3])
    return time.process_time() - begin, np.array(ends), failed


def theirs(
    robot: Robot, targets: np.ndarray, gains: tuple[float, float], h: float, way: tuple[str, str]
) -> tuple[float, np.ndarray, int]:
    """The same of MuJoCo, whose steps between new targets are one call."""
    kp, kd = gains
    still: Callable[[float], tuple[np.ndarray, np.ndarray]] = lambda t: (  # noqa: E731
        robot.standing,
        np.zeros(robot.model.nv),
    )
    twin = Twin(robot, still, height=robot.lowest_point, friction=FRICTION, kp=kp, kd=kd)
    twin.model.opt.timestep = h
    integrator, cone = map(str.upper, way)
    twin.model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    twin.model.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone}")
    joints = [j for j in list(robot.model.joints)[1:] if j.nv == 1]
    served = [j.idx_q for j in joints if j.idx_v in set(robot.driven.tolist())]
    ends, failed, begin = [], 0, time.process_time()
    for trajectory in targets:
        data = twin.state(robot.standing)
        for target in trajectory:
            data.ctrl[:] = target[served]
            mujoco.mj_step(twin.model, data, nstep=round(HOLD / h))
        failed += bool(data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number)
        ends.append(data.qpos[:3].copy())
    return time.process_time() - begin, np.array(ends), failed


def targets_of(robot: Robot, trajectories: int) -> np.ndarray:
    """Random targets of each trajectory, shape (trajectories, knots, nq)."""
    rng = np.random.default_rng(0)
    targets = np.tile(robot.standing, (trajectories, round(DURATION / HOLD), 1))
    joints = [j.idx_q for j in list(robot.model.joints)[1:] if j.nv == 1]
    targets[:, :, joints] += SIGMA * rng.standard_normal((*targets.shape[:2], len(joints)))
    return targets


def error_of(ends: np.ndarray, exact: np.ndarray) -> float:
    """Root mean square distance of places, (n, 3) [m]."""
    return float(np.sqrt(np.mean(np.sum((ends - exact) ** 2, axis=1))))


def main() -> None:
    """Print a row for each simulator and step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=int, default=20)
    parser.add_argument("--kp", type=float, default=100.0)
    parser.add_argument("--kd", type=float, default=2.0)
    options = parser.parse_args()
    robot, gains = load_robot("a1", contacts="feet"), (options.kp, options.kd)
    targets = targets_of(robot, options.trajectories)
    simulated = DURATION * options.trajectories
    print("| simulator | step [ms] | times real time | ms a step | error [m] | failed |")
    print("|---|---|---|---|---|---|")
    limits = {m: ours(robot, targets, gains, h, m)[1] for m, h in LIMITS.items()}
    for name, method, more in (
        ("ne-nmdp, order 1", "ne-nmdp", {"order": 1}),
        ("ne-nmdp, order 2", "ne-nmdp", {"order": 2}),
        ("pbfd", "pbfd", {}),
    ):
        for h in (0.01, 0.02, 0.04):
            spent, ends, failed = ours(robot, targets, gains, h, method, **more)
            error = error_of(ends, limits[method])
            row = f"{simulated / spent:.1f} | {1e3 * spent * h / simulated:.2f} | {error:.3f}"
            print(f"| {name} | {1e3 * h:g} | {row} | {failed} |")
    for way in itertools.product(("implicitfast", "discrete"), ("elliptic", "pyramidal")):
        exact = theirs(robot, targets, gains, 1e-4, ("implicitfast", way[1]))[1]
        for h in (0.001, 0.002, 0.004, 0.005, 0.01, 0.02):
            spent, ends, failed = theirs(robot, targets, gains, h, way)
            error = error_of(ends, exact)
            row = f"{simulated / spent:.1f} | {1e3 * spent * h / simulated:.3f} | {error:.3f}"
            print(f"| MuJoCo {' '.join(way)} | {1e3 * h:g} | {row} | {failed} |")


if __name__ == "__main__":
    main()
