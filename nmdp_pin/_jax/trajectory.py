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
from nmdp_pin._jax.joints import Torque
from nmdp_pin._jax.manifold import difference, integrate
from nmdp_pin._jax.minimiser import CONVERGED, RUNNING, choose, iterate, newton, open_iterate
from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.schedule import Commands, group_of, torque_of
from nmdp_pin._jax.step import StepStart, Trial, begin, evaluate, linearise, reference


def _evaluated(
    scene: DeviceScene,
    q0: Array,
    v0: Array,
    torque: Torque,
    h: Array,
    q1: Array,
    contacts: Listed,
) -> tuple[StepStart, Trial]:
    """A step at a given end, with its contacts."""
    P0, target = reference(scene, q0, v0, h)
    none = jnp.zeros(0, q0.dtype)
    start = StepStart(q0, v0, P0, target, none, none, none, none, contacts)
    return start, evaluate(scene, start, torque, q1, h)


@jax.custom_jvp  # type: ignore[untyped-decorator]
def _end(
    scene: DeviceScene, q0: Array, v0: Array, torque: Torque, h: Array
) -> tuple[Array, Array, Listed]:
    """Configurations at the end, (nq, K), codes of the statuses, (K,), and contacts, as floats."""
    start = begin(scene, q0, v0, torque, h)

    def busy(state: tuple[Any, StepStart]) -> Array:
        return (state[0].account.outcome == RUNNING).any()

    def body(state: tuple[Any, StepStart]) -> tuple[Any, StepStart]:
        at, start = state
        return iterate(scene, start, torque, h, at, group_of(q0.shape[1]))

    at, start = lax.while_loop(busy, body, (open_iterate(start), start))
    found = jax.tree.map(lambda x: x.astype(q0.dtype), (at.account.outcome, start.contacts))
    return at.best, *found


@_end.defjvp  # type: ignore[untyped-decorator]
def _end_jvp(primals: Any, tangents: Any) -> Any:
    """The change of the end, NaN of steps that failed."""
    scene, q0, v0, torque, h = primals
    types = jax.eval_shape(lambda: begin(scene, q0, v0, torque, h).contacts)
    q1, code, floats = _end(scene, q0, v0, torque, h)
    contacts = jax.tree.map(lambda x, like: x.astype(like.dtype), floats, types)
    start, at = _evaluated(scene, q0, v0, torque, h, q1, contacts)
    A = linearise(scene, start, torque, at, h)

    def residual(scene: Any, q0: Array, v0: Array, torque: Torque, h: Array) -> Array:
        return _evaluated(scene, q0, v0, torque, h, q1, contacts)[1].r

    _, change = jax.jvp(residual, primals, tangents)
    known = jnp.where(code == CONVERGED, 1.0, jnp.nan)
    motion = newton(A, -change) * known
    retract = lambda d: integrate(scene.structure, q1, d)  # noqa: E731
    _, moved = jax.jvp(retract, (jnp.zeros_like(motion),), (motion,))
    return (q1, code, floats), (moved, *jax.tree.map(jnp.zeros_like, (code, floats)))


def step(
    scene: DeviceScene, q: Array, v: Array, torque: Torque, h: Array | float
) -> tuple[Array, Array, Array]:
    """Make a step of all lanes: [q1; v1] as two arrays, and codes of `Status`.

    Args:
        scene: what all steps share, on a device.
        q: configurations at the start, shape (nq, K).
        v: velocities there, shape (nv, K).
        torque: torques, as `torque_of` makes them.
        h: length of the step [s].
    """
    h = jnp.asarray(h, q.dtype)
    q1, code, _ = _end(scene, q, v, torque, h)
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
        torque = torque_of(scene, commands, jnp.full(code.shape, k))
        q1, v1, found = step(scene, q, v, torque, h)
        code = jnp.where(code == CONVERGED, found, code)
        q, v = choose(code == CONVERGED, (q1, v1), (q, v))
        return (q, v, code), jnp.concatenate([q, v])

    begun = q, v, jnp.zeros(q.shape[1], q.dtype)
    (_, _, code), x = lax.scan(body, begun, jnp.arange(steps))
    return x, code
