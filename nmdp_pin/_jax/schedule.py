"""Rollouts of many lanes: when each of them iterates ([P] section V-A, Fig. 3).

"own": a call of the device makes one iteration of every lane, wherever each of them is, and one
that has converged begins its next step at once. "steps": all lanes wait until the last one has
made the step. The results are the same.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from nmdp_pin._jax.joints import Commands, commands_at
from nmdp_pin._jax.minimiser import (
    CONVERGED,
    RUNNING,
    Iterate,
    in_groups,
    iterate,
    open_iterate,
)
from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.step import StepStart, begin

SCHEDULES = ("own", "steps")
LANES = 32  # of a program for CPUs, so that what it works on stays in the caches


class Lanes(NamedTuple):
    """All lanes between two iterations.

    Attributes:
        step: index of the step of each lane, shape (K,).
        fresh: whether the step is still to be begun, shape (K,).
        status: RUNNING, or the code with which the lane ended, shape (K,).
        work: iterations of the lane so far, shape (K,).
        start: starts of the steps.
        iterate: minimisations, which end where the next steps start.
        x: [q; v] at the ends of the steps, shape (nt, nq + nv, K).
    """

    step: Array
    fresh: Array
    status: Array
    work: Array
    start: StepStart
    iterate: Iterate
    x: Array


class Rolled(NamedTuple):
    """A rollout of all lanes.

    Attributes:
        x: [q; v] at the ends of the steps, from one that failed on the last good one,
            shape (nt, nq + nv, K).
        status: codes of `Status`, shape (K,).
        steps: number of steps made, shape (K,).
        iterations: number of iterations made, shape (K,).
        calls: number of iterations of the device that made the lane, shape (K,).
    """

    x: Array
    status: Array
    steps: Array
    iterations: Array
    calls: Array


def roll(
    scene: DeviceScene,
    q: Any,
    v: Any,
    commands: Commands,
    h: Any,
    *,
    steps: int,
    schedule: str = "own",
) -> Rolled:
    """Make steps of all lanes on the device where the arrays are.

    CPUs make them for some lanes at a time, so that many lanes have one program.

    Args:
        scene: what all steps share.
        q: configurations at the start, shape (nq, K).
        v: velocities at the start, shape (nv, K).
        commands: commands of the steps.
        h: length of a step, a number or an array [s].
        steps: number of steps.
        schedule: "own" or "steps".
    """
    h, K = jnp.asarray(h, jnp.result_type(q)), q.shape[1]
    if not scene.structure.staged or K <= LANES or isinstance(q, jax.core.Tracer):
        made: Rolled = _roll(scene, q, v, commands, h, steps, schedule)
        return made
    whole, parts = jax.tree.map(np.asarray, (q, v, commands)), []
    for first in range(0, K, LANES):  # not by threads: batched LAPACK of JAX would block its own
        some = np.minimum(np.arange(first, first + LANES), K - 1)
        few = jax.tree.map(lambda x: x[..., some] if x.shape[-1] > 1 else x, whole)  # noqa: B023
        parts.append(jax.device_get(_roll(scene, *few, h, steps, schedule)))
    return Rolled(*(jnp.asarray(np.concatenate(x, -1)[..., :K]) for x in zip(*parts, strict=True)))


def calls_of(*arguments: Any, steps: int, schedule: str) -> jax.stages.Compiled:
    """The compiled program of `roll` for arguments, of which the last one is an array."""
    return _roll.lower(*arguments, steps=steps, schedule=schedule).compile()


def _open(
    scene: DeviceScene, q: Array, v: Array, commands: Commands, h: Array, steps: int
) -> Lanes:
    """All lanes before their first step, which is not begun."""
    count = jnp.zeros(q.shape[1], jnp.int32)

    def begun(q: Array, v: Array) -> tuple[StepStart, Iterate]:
        start = begin(scene, q, v, commands_at(commands, count), h)
        return start, open_iterate(start)

    shapes = jax.eval_shape(begun, q, v)
    start, at = jax.tree.map(lambda like: jnp.zeros(like.shape, like.dtype), shapes)
    x = jnp.zeros((steps, len(q) + len(v), q.shape[1]), q.dtype)
    at = at._replace(best=q, v=v)
    return Lanes(count, count == 0, count + RUNNING, count, start, at, x)


def _iterate(scene: DeviceScene, commands: Commands, h: Array, lanes: Lanes, group: int) -> Lanes:
    """Make one iteration of every lane, and end the steps that have converged or failed."""
    command = commands_at(commands, lanes.step)
    at, start = iterate(scene, lanes.start, command, h, lanes.iterate, group)
    active = lanes.status == RUNNING
    outcome, nt = at.account.outcome, len(lanes.x)
    made = active & (outcome == CONVERGED) & ~lanes.fresh
    failed = active & (outcome != CONVERGED) & (outcome != RUNNING)
    ended = made | failed
    rows = jnp.where(made, lanes.step, nt)
    K = len(rows)
    x = lanes.x.at[rows, :, jnp.arange(K)].set(jnp.concatenate([at.best, at.v]).T, mode="drop")
    step = lanes.step + made
    status = jnp.where(failed, outcome, jnp.where(made & (step == nt), CONVERGED, lanes.status))
    return Lanes(
        step=step,
        fresh=lanes.fresh | (made & (step < nt)),
        status=status,
        work=lanes.work + jnp.where(ended, at.account.iterations, 0),
        start=start,
        iterate=at,
        x=x,
    )


def _begin_fresh(
    scene: DeviceScene, commands: Commands, h: Array, lanes: Lanes, begins: Array, group: int
) -> Lanes:
    """Begin the steps of some lanes that have ended one."""

    def function(state: Any, q: Array, v: Array, command: Commands) -> tuple[Array, Any]:
        start = begin(scene, q, v, command, h)
        at = open_iterate(start)
        return jnp.zeros(q.shape[1], bool), (start, (at.q, at.signs, at.account))

    at = lanes.iterate
    given = at.best, at.v, commands_at(commands, lanes.step)
    opened = lanes.start, (at.q, at.signs, at.account)
    start, (q, signs, account) = in_groups(begins, group, function, opened, *given)
    at = at._replace(q=q, signs=signs, account=account)
    return lanes._replace(start=start, iterate=at, fresh=lanes.fresh & ~begins)


def group_of(K: int) -> int:
    """Number of lanes that do together what not all do in an iteration."""
    return min(K, max(8, K // 8))


@functools.partial(jax.jit, static_argnames=("steps", "schedule"))
def _roll(
    scene: DeviceScene, q: Array, v: Array, commands: Commands, h: Array, steps: int, schedule: str
) -> Rolled:
    """A call of the device begins steps where others have ended, and iterates in every lane."""
    group = group_of(q.shape[1])

    def body(state: tuple[Lanes, Array]) -> tuple[Lanes, Array]:
        lanes, calls = state
        busy = (lanes.status == RUNNING) & ~lanes.fresh
        begins = lanes.fresh if schedule == "own" else lanes.fresh & ~busy.any()
        lanes = _begin_fresh(scene, commands, h, lanes, begins, group)
        return _iterate(scene, commands, h, lanes, group), calls + 1

    begun = _open(scene, q, v, commands, h, steps), jnp.zeros((), jnp.int32)
    lanes, calls = lax.while_loop(lambda state: (state[0].status == RUNNING).any(), body, begun)
    return _finished(lanes, calls)


def _finished(lanes: Lanes, calls: Array) -> Rolled:
    """The results; a lane that failed stays where it was."""
    rows = jnp.arange(len(lanes.x))[:, None, None]
    last = jnp.concatenate([lanes.start.q0, lanes.start.v0])
    x = jnp.where(rows < lanes.step, lanes.x, last)
    return Rolled(x, lanes.status, lanes.step, lanes.work, calls + 0 * lanes.step)
