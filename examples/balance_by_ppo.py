"""A hopper learns to stay upright by PPO of skrl, on 32 environments stepped by one call.

python examples/balance_by_ppo.py 60000     # steps of all environments (extra `rl`)
"""

import logging
import sys

import numpy as np
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from skrl.envs.wrappers.jax import wrap_env
from skrl.utils.runner.jax import Runner

from nmdp_pin.adapters.bundled_tasks import balance
from nmdp_pin.adapters.vector_env import SimulatorVectorEnv

COPIES, ROLLOUTS = 32, 32
logging.getLogger("skrl").setLevel(logging.ERROR)  # it warns that there is no GPU


def randomised(random: np.random.Generator) -> dict:
    """Friction of the ground, drawn for each episode."""
    return {"friction": random.uniform(0.6, 1.0)}


def network(kind: str, output: str, **options: float) -> dict:
    """Two layers, as the configuration of skrl has them."""
    layers = {"name": "net", "input": "OBSERVATIONS", "layers": [64, 64], "activations": "tanh"}
    return {"class": kind, "network": [layers], "output": output, **options}


def learn(steps: int) -> np.ndarray:
    """Returns of the episodes of a training, in the order in which they ended."""
    many = SimulatorVectorEnv(balance(), COPIES, parameters=randomised)
    counted = RecordEpisodeStatistics(many, buffer_length=100_000)
    updates = max(1, steps // (COPIES * ROLLOUTS))
    policy = network("GaussianMixin", "ACTIONS", initial_log_std=-1.0, clip_actions=False)
    value = network("DeterministicMixin", "ONE")
    agent = {"class": "PPO", "rollouts": ROLLOUTS, "learning_epochs": 8, "mini_batches": 8}
    agent |= {"learning_rate": 1e-3, "observation_preprocessor": "RunningStandardScaler"}
    agent |= {"experiment": {"write_interval": 0, "checkpoint_interval": 0}}
    trainer = {"class": "SequentialTrainer", "timesteps": updates * ROLLOUTS, "headless": True}
    settings = {
        "seed": 0,
        "models": {"separate": True, "policy": policy, "value": value},
        "memory": {"class": "RandomMemory", "memory_size": -1},
        "agent": agent,
        "trainer": {**trainer, "disable_progressbar": True},
    }
    Runner(wrap_env(counted, verbose=False), settings).run("train")
    return np.array(counted.return_queue)


if __name__ == "__main__":
    returns = learn(int(sys.argv[1]) if len(sys.argv) > 1 else 60_000)
    first, last = returns[:20].mean(), returns[-20:].mean()
    print(f"{len(returns)} episodes: return {first:.0f} at first, {last:.0f} at the end")
