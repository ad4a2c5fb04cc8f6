"""Train a hopper or a walker in PBFD at large steps, then test it on hard contact at small ones.

python examples/locomotion/train.py hopper
python examples/locomotion/train.py walker --steps 200000 --seed 1 --out out/locomotion

The paper on position-based frictional dynamics does so in its Fig. 7. The policy of seed 0 is left
in `OUT/hopper-0.npz`, the returns of the training in `OUT/hopper-0-learning.csv`, those of the
tests in `OUT/hopper-0-trials.csv`; `--policy FILE` tests one that is there. Needs the extra `rl`.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from policy import Policy
from task import TASKS, Task
from trial import tried

from nmdp_pin.adapters.vector_env import SimulatorVectorEnv

if TYPE_CHECKING:
    from learning import Learning

METHODS = ("pbfd", "ne-ncp")
SHORT = (0.005, 0.002)  # [s] steps of the tests, besides the one of the training
EPISODES, SEED = 10, 1000  # of the tests; seeds that no training had
LATE = 50  # episodes whose mean the progress shows


def main() -> None:
    """Train, save, test."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robot", choices=TASKS)
    parser.add_argument("--steps", type=int, help="of all environments together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/locomotion"))
    parser.add_argument("--policy", type=Path, help="test this one instead of training")
    parser.add_argument(
        "--quick", action="store_true", help="a short training, one episode of each"
    )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    task, path = TASKS[given.robot], given.policy
    name = f"{given.robot}-{given.seed}"
    if given.quick:
        task = task.short()
    if path is None:
        path = train(task, name, steps=given.steps or task.steps, seed=given.seed, out=given.out)
    short = SHORT[:1] if given.quick else SHORT
    test(task, name, path, steps=short, episodes=1 if given.quick else EPISODES, out=given.out)


def train(task: Task, name: str, *, steps: int, seed: int, out: Path) -> Path:
    """Train a policy; returns the file that it is in."""
    from learning import learn  # with JAX and skrl: a test needs neither

    began = time.process_time()
    env = SimulatorVectorEnv(task.coarse_env(), task.copies)
    for update, learning in enumerate(learn(env, steps=steps, seed=seed, **task.options), start=1):
        if update % 10 == 0 and learning.returns:
            returns, lengths = (x[-LATE:] for x in (learning.returns, learning.lengths))
            print(
                f"{learning.made:7d} steps, {time.process_time() - began:4.0f} s: "
                f"return {np.mean(returns):6.1f}, {np.mean(lengths):5.1f} steps an episode",
                flush=True,
            )
            save(learning, name, out)  # a training that is ended early is not lost
    save(learning, name, out)
    return out / f"{name}.npz"


def save(learning: Learning, name: str, out: Path) -> None:
    """Write the policies of the start and of now, and the returns on the way."""
    learning.untrained.save(out / f"{name}-untrained.npz")
    learning.policy.save(out / f"{name}.npz")
    with open(out / f"{name}-learning.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["steps", "return", "length"])
        rows.writerows(zip(learning.ends, learning.returns, learning.lengths, strict=True))


def test(
    task: Task, name: str, path: Path, *, steps: tuple[float, ...], episodes: int, out: Path
) -> None:
    """Try a policy with both methods, at the steps of the training and at small ones."""
    policy = Policy.load(path)
    with open(out / f"{name}-trials.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["method", "step", "seed", "return", "distance", "time", "fell"])
        for method, h in ((m, h) for h in (task.period, *steps) for m in METHODS):
            env = task.env(method=method, h=h)
            trial = tried(policy, env, period=task.period, seeds=range(SEED, SEED + episodes))
            print(f"{method:7s} {1e3 * h:4.0f} ms: {trial}", flush=True)
            rows.writerows((method, h, *row) for row in trial.rows())


if __name__ == "__main__":
    main()
