"""Proximal policy optimisation of a task by skrl, on JAX."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import flax.linen as nn
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from policy import Policy
from skrl.agents.jax.ppo import PPO
from skrl.envs.wrappers.jax import wrap_env
from skrl.memories.jax import RandomMemory
from skrl.models.jax import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.jax import RunningStandardScaler
from skrl.trainers.jax import StepTrainer
from skrl.utils import set_seed

WIDTHS = (64, 64)  # of the hidden layers, of policy and value alike
logging.getLogger("skrl").setLevel(logging.ERROR)  # it warns that there is no GPU


def _layers(x: jax.Array, outputs: int, scale: float) -> jax.Array:
    for width in WIDTHS:
        x = jnp.tanh(nn.Dense(width, kernel_init=nn.initializers.orthogonal(2**0.5))(x))
    return nn.Dense(outputs, kernel_init=nn.initializers.orthogonal(scale))(x)


class Actor(GaussianMixin, Model):
    """Mean and spread of the actions; the spread is learned, and begins with `spread`."""

    spread: float = 0.5

    def __init__(self, spread: float, **spaces: Any) -> None:
        self.spread = spread
        Model.__init__(self, **spaces)
        GaussianMixin.__init__(self, clip_actions=False)

    @nn.compact
    def __call__(self, inputs: dict[str, Any], role: str) -> tuple[jax.Array, dict[str, Any]]:
        """What skrl asks for."""
        log_std = self.param(
            "log_std", nn.initializers.constant(np.log(self.spread)), self.num_actions
        )
        return _layers(inputs["observations"], self.num_actions, 0.01), {"log_std": log_std}


class Critic(DeterministicMixin, Model):
    """What an observation is worth."""

    def __init__(self, **spaces: Any) -> None:
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)

    @nn.compact
    def __call__(self, inputs: dict[str, Any], role: str) -> tuple[jax.Array, dict[str, Any]]:
        """What skrl asks for."""
        return _layers(inputs["observations"], 1, 1.0), {}


@dataclass
class Learning:
    """What training leaves.

    Args:
        untrained: the policy at the start.
        policy: the policy at the last update.
        made: steps of all environments together.
        ends: what was made of `made` at the end of each episode.
        returns: of each episode, with the spread of the actions that explores.
        lengths: of each episode, in steps.
    """

    untrained: Policy
    policy: Policy
    made: int = 0
    ends: list[int] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


def learn(
    env: gymnasium.vector.VectorEnv,
    *,
    steps: int,
    seed: int = 0,
    rollouts: int = 32,
    epochs: int = 10,
    mini_batches: int = 16,
    rate: float = 3e-4,
    discount: float = 0.99,
    spread: float = 0.5,
) -> Iterator[Learning]:
    """Train a policy; yields what there is after each update, the same object each time.

    Args:
        env: many environments; ended episodes begin anew with the next step.
        steps: of all environments together; whole updates of them are made, at least one.
        seed: of everything that is drawn.
        rollouts: steps of each environment between two updates.
        epochs: over what was collected, in each update.
        mini_batches: of each epoch.
        rate: of Adam.
        discount: of a step.
        spread: standard deviation of the untrained policy's actions.
    """
    set_seed(seed)
    envs, many = env.num_envs, wrap_env(env, verbose=False)
    spaces = {"observation_space": many.observation_space, "action_space": many.action_space}
    models = {"policy": Actor(spread, **spaces), "value": Critic(**spaces)}
    for role, model in models.items():
        model.init_state_dict(role=role)
    options = {
        "rollouts": rollouts,
        "learning_epochs": epochs,
        "mini_batches": mini_batches,
        "learning_rate": rate,
        "discount_factor": discount,
        "time_limit_bootstrap": True,
        "observation_preprocessor": RunningStandardScaler,
        "observation_preprocessor_kwargs": {"size": many.observation_space},
        "value_preprocessor": RunningStandardScaler,
        "value_preprocessor_kwargs": {"size": 1},
        "experiment": {"write_interval": 0, "checkpoint_interval": 0},
    }
    memory = RandomMemory(memory_size=rollouts, num_envs=envs)
    agent = PPO(models=models, memory=memory, cfg=options, **spaces)
    updates = max(1, steps // (envs * rollouts))
    settings = {"timesteps": updates * rollouts, "disable_progressbar": True, "headless": True}
    trainer = StepTrainer(env=many, agents=agent, cfg=settings)
    learning = Learning(policy_of(agent), policy_of(agent))
    returns, lengths = np.zeros(envs), np.zeros(envs, dtype=int)
    for _ in range(updates):
        for _ in range(rollouts):
            _, rewards, terminated, truncated, _ = trainer.train()
            learning.made += envs
            returns += np.asarray(rewards)[:, 0]
            lengths += 1
            for i in np.flatnonzero(np.asarray(terminated | truncated)[:, 0]):
                learning.ends.append(learning.made)
                learning.returns.append(float(returns[i]))
                learning.lengths.append(int(lengths[i]))
                returns[i], lengths[i] = 0.0, -1  # the next step only resets
        learning.policy = policy_of(agent)
        yield learning
    many.close()


def policy_of(agent: PPO) -> Policy:
    """The mean actions of an agent, as arrays."""
    parameters = agent.policy.state_dict.params["params"]
    scaler = agent._observation_preprocessor
    layers = [parameters[f"Dense_{i}"] for i in range(len(WIDTHS) + 1)]
    return Policy(
        np.array(scaler.running_mean),
        np.sqrt(np.array(scaler.running_variance)) + scaler.epsilon,
        scaler.clip_threshold,
        tuple(np.array(layer["kernel"]) for layer in layers),
        tuple(np.array(layer["bias"]) for layer in layers),
    )
