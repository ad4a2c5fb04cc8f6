"""Cuts in programs, over which XLA's compiler for CPUs does not fuse loops.

Without them it evaluates the kinematics anew for most of what depends on them: a step of Go2 takes
ten times as long, and the program ten times as long to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from nmdp_pin._jax.scene import Structure

T = TypeVar("T")


def stage(structure: Structure, h: Array, function: Callable[..., T], *arguments: object) -> T:
    """function(*arguments), as a branch of a condition that is always met.

    Args:
        structure: what programs are compiled for; `staged` says whether to cut.
        h: length of the step [s], which is positive, what the compiler does not know.
        function: function of arrays.
        arguments: its arguments.
    """
    if not structure.staged:
        return function(*arguments)
    # Traced once: `lax.cond` would trace it anew, and each stage within it twice as often.
    traced, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
    leaves, tree = jax.tree.flatten(shapes)

    def same(*flat: Array) -> list[Array]:
        found: list[Array] = jax.core.eval_jaxpr(traced.jaxpr, traced.consts, *flat)
        return found

    def nothing(*_: Array) -> list[Array]:
        return [jnp.zeros(like.shape, like.dtype) for like in leaves]

    result: T = jax.tree.unflatten(
        tree, lax.cond(h > 0.0, same, nothing, *jax.tree.leaves(arguments))
    )
    return result
