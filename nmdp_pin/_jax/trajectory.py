"""Steps and trajectories that JAX differentiates, by the implicit function theorem.

The end q1 of a step solves r(q1; start, command, parameters) = 0, so its change is -A^-1 dr with
A = dr/dq: no iteration is differentiated. Forward and reverse mode may be by any argument.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from nmdp_pin._jax.contacts import Listed
from nmdp_pin._jax.joints import Commands, commands_at
from nmdp_pin._jax.manifold import difference, integrate
from nmdp_pin._jax.minimiser import CONVERGED, RUNNING, Iterate, choose, iterate, open_iterate
from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.schedule import group_of
from nmdp_pin._jax.step import StepStart, begin, evaluate, reference


def _solved(
    scene: DeviceScene, q0: Array, v0: Array, command: Commands, h: Array
) -> tuple[Iterate, StepStart]:
    """The minimisations of a step when all have ended, and their starts."""
    start = begin(scene, q0, v0, command, h)

    def busy(state: tuple[Iterate, StepStart]) -> Array:
        return (state[0].account.outcome == RUNNING).any()

    def body(state: tuple[Iterate, StepStart]) -> tuple[Iterate, StepStart]:
        at, start = state
        return iterate(scene, start, command, h, at, group_of(q0.shape[1]))

    ended: tuple[Iterate, StepStart] = lax.while_loop(busy, body, (open_iterate(start), start))
    return ended


@jax.custom_jvp  # type: ignore[untyped-decorator]
def _end(given: Any, q1: Array, contacts: Listed, made: Array) -> Array:
    """Configurations at the end, (nq, K), as functions of the arguments of `step`."""
    return q1


@_end.defjvp  # type: ignore[untyped-decorator]
def _end_jvp(primals: Any, tangents: Any) -> Any:
    """The change of the end, NaN of steps that failed."""
    given, q1, contacts, made = primals

    def residual(
        scene: Any, q0: Array, v0: Array, command: Commands, h: Array
    ) -> tuple[Array, Array]:
        P0, target = reference(scene, q0, v0, h)
        none = jnp.zeros(0, q0.dtype)
        start = StepStart(q0, v0, P0, target, none, none, none, contacts)
        trial = evaluate(scene, start, command, q1, h)
        return trial.r, trial.A

    _, change, A = jax.jvp(residual, given, tangents[0], has_aux=True)
    known = jnp.where(made, 1.0, jnp.nan)
    motion = -jnp.linalg.solve(jnp.moveaxis(A, -1, 0), change.T[..., None])[..., 0].T * known
    retract = lambda d: integrate(given[0].structure, q1, d)  # noqa: E731
    return q1, jax.jvp(retract, (jnp.zeros_like(motion),), (motion,))[1]


def step(
    scene: DeviceScene, q: Array, v: Array, command: Commands, h: Array | float
) -> tuple[Array, Array, Array]:
    """Make a step of all lanes: [q1; v1] as two arrays, and codes of `Status`.

    Args:
        scene: what all steps share, on a device.
        q: configurations at the start, shape (nq, K).
        v: velocities there, shape (nv, K).
        command: commands of the step, as `commands_at` makes them.
        h: length of the step [s].
    """
    given = scene, q, v, command, jnp.asarray(h, q.dtype)
    at, start = _solved(*lax.stop_gradient(given))
    code = at.account.outcome
    q1 = _end(given, at.best, start.contacts, code == CONVERGED)
    return q1, difference(scene.structure, q, q1) / h, code


def trajectory(
    scene: DeviceScene,
    q: Array,
    v: Array,
    commands: Commands,
    h: Array | float,
    *,
    steps: int,
) -> tuple[Array, Array]:
    """[q; v] at the ends of the steps, shape (nt, nq + nv, K), and codes of `Status`, (K,).

    A lane whose step fails stays where it was. The arguments are those of `roll`.
    """

    def body(state: tuple[Array, Array, Array], k: Array) -> tuple[Any, Array]:
        q, v, code = state
        command = commands_at(commands, jnp.full(code.shape, k))
        q1, v1, found = step(scene, q, v, command, h)
        code = jnp.where(code == CONVERGED, found, code)
        q, v = choose(code == CONVERGED, (q1, v1), (q, v))
        return (q, v, code), jnp.concatenate([q, v])

    begun = q, v, jnp.zeros(q.shape[1], jnp.int32)
    (_, _, code), x = lax.scan(body, begun, jnp.arange(steps))
    return x, code
