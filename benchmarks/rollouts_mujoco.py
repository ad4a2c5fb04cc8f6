"""Rollouts of Go2 beside `mujoco.rollout`: CPU time for an error of the path of the base.

    OMP_NUM_THREADS=1 python benchmarks/rollouts_mujoco.py [--trajectories 6]

Go2 stands on four feet (kp = 60, kd = 3) for half a second; its targets are held, or have normal
noise of 0.15 rad that is new every 0.1 s. Each simulator is compared with its own limit at a short
step, at all trajectories and times together: the root mean square every 50 ms over how far the base
moves, of the path and of the height. The ratios are those of `work_precision.py`: the CPU time of
the best of our orders over that of the best integrator and cone of MuJoCo.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import mujoco
import mujoco.rollout
import numpy as np
from mujoco_twin import Twin
from work_precision import GRID, Row, ratios

from nmdp_pin import Command, FrictionCone, Halving, Plane, Simulator, Terrain, load_robot
from nmdp_pin._robot import Robot
from nmdp_pin.rollout import rollout

DURATION, PERIOD, REPEATS = 0.5, 0.1, 3  # [s], [s]
KP, KD, FRICTION, DEPTH = 60.0, 3.0, 0.8, 0.002  # [N m/rad], [N m s/rad], [-], [m]
NOISES = {"held": 0.0, "noisy": 0.15}  # [rad]
OURS, OUR_LIMIT = (0.05, 0.025, 0.0125, 0.01, 0.005, 0.0025), 2e-4  # [s]
THEIRS, THEIR_LIMIT = (0.025, 0.01, 0.005, 0.0025, 0.002, 0.001, 5e-4, 2.5e-4), 2e-5
INTEGRATORS, CONES = ("implicitfast", "discrete"), ("elliptic", "pyramidal")
_STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS

Made = tuple[np.ndarray, float]
"""Positions of the base, shape (nb, nt, 3), and CPU time of a simulated second."""


def least(action: Callable[[], np.ndarray], simulated: float, h: float) -> Made:
    """What an action makes every 50 ms, and the least time that it takes."""
    times, every = [], round(GRID / h)
    for _ in range(REPEATS):
        begin = time.process_time()
        x = action()
        times.append(time.process_time() - begin)
    return x[:, every - 1 :: every, :3], min(times) / simulated


def ours(robot: Robot, moves: np.ndarray, h: float, order: int) -> Made:
    """Trajectories by `rollout`; `moves` are those of the targets, shape (nb, periods, nu)."""
    law = FrictionCone.for_robot(robot, static_depth=DEPTH, power=2)
    control, ground = Halving(min_step=h / 16.0), Terrain(Plane(friction=FRICTION))
    simulator = Simulator(robot, ground, law, "ne-nmdp", control=control, order=order)
    kp, kd = np.zeros((2, robot.model.nv))
    kp[robot.driven], kd[robot.driven] = KP, KD
    held, u = Command(kp=kp, kd=kd, q_target=robot.standing), moves.repeat(round(PERIOD / h), 1)

    def made() -> np.ndarray:
        result = rollout(simulator, simulator.state(), u, h=h, command=held, targets=True, n_jobs=1)
        return np.where(result.ok[:, None, None], result.x, np.nan)

    return least(made, len(u) * DURATION, h)


def theirs(robot: Robot, moves: np.ndarray, h: float, integrator: str, cone: str) -> Made:
    """The same by `mujoco.rollout`."""
    still = robot.standing, np.zeros(robot.model.nv)
    twin = Twin(robot, lambda t: still, height=0.0, friction=FRICTION, kp=KP, kd=KD)
    option = twin.model.opt
    option.timestep = h
    option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    option.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
    places = [list(robot.driven).index(v) for v in twin.velocities]
    u = (twin.controls(h, 1) + moves[:, :, places]).repeat(round(PERIOD / h), 1)
    data = twin.state(robot.standing)
    start = np.zeros(mujoco.mj_stateSize(twin.model, _STATE))
    mujoco.mj_getState(twin.model, data, start, _STATE)
    starts = np.tile(start, (len(u), 1))

    def made() -> np.ndarray:  # a state begins with its time
        return np.asarray(mujoco.rollout.rollout(twin.model, data, starts, u)[0])[:, :, 1:]

    return least(made, len(u) * DURATION, h)


def rows_of(name: str, robot: Robot, moves: np.ndarray) -> list[Row]:
    """All settings of both simulators, each printed."""
    limit = ours(robot, moves, OUR_LIMIT, 2)[0]
    settings = [
        (f"nmdp-pin order {order}", h, ours(robot, moves, h, order), limit)
        for order in (1, 2)
        for h in OURS
    ]
    for cone in CONES:
        limit = theirs(robot, moves, THEIR_LIMIT, INTEGRATORS[0], cone)[0]
        settings += [
            (f"MuJoCo {way} {cone}", h, theirs(robot, moves, h, way, cone), limit)
            for way in INTEGRATORS
            for h in THEIRS
        ]
    rows = []
    for simulator, h, (x, cpu), end in settings:
        missed, moved = x - end, end - robot.standing[:3]
        errors = [
            float(np.sqrt(np.mean(np.sum(missed[..., part] ** 2, axis=-1))))
            / np.linalg.norm(moved[..., part], axis=-1).max()
            for part in (slice(None), slice(2, 3))
        ]
        rows.append(Row(name, simulator, h, *np.nan_to_num(errors, nan=np.inf), cpu, np.nan))
        print(
            f"{name:6s} {simulator:30s} {1e3 * h:6.3g} ms  errors {errors[0]:.2e} {errors[1]:.2e}"
            f"  {1e3 * cpu:8.2f} ms of CPU a second",
            flush=True,
        )
    return rows


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=int, default=6)
    given = parser.parse_args()
    robot = load_robot("go2", contacts="feet", limits=False, visuals=False)
    shape = given.trajectories, round(DURATION / PERIOD), len(robot.driven)
    draws = np.random.default_rng(0).standard_normal(shape)
    rows = [row for name, s in NOISES.items() for row in rows_of(name, robot, s * draws)]
    print("\n".join(ratios(rows)))


if __name__ == "__main__":
    main()
