"""Many steps by one call: the end of each is the start of the next."""

from __future__ import annotations

from nmdp_pin._kernels.algebra.linear import copy_vector
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.step.outcomes import CONVERGED, OUTCOME
from nmdp_pin._kernels.step.step import make_step
from nmdp_pin._kernels.step.step_records import TOUCHING, End, Start, Step
from nmdp_pin._kernels.tree.joints import Commands, hold_command


@jit
def make_steps(step: Step, plan: Commands, first: int, x: Array) -> int:
    """Make steps, one after another, until one fails.

    Args:
        step: the first step; its start is overwritten, by that of the step that follows.
        plan: command of each step, in rows.
        first: number of the first step.
        x: output, [q; v] at the ends of the steps as far as they are made, shape (nt, nq + nv).

    Returns:
        Number of the step that failed, or nt.
    """
    start, nq, last = step.start, step.start.q.size, len(x)
    for k in range(first, last):
        hold_command(plan, k, start.q, start.commands)
        make_step(step)
        if step.end.counts[OUTCOME] != CONVERGED:
            return k
        _go_on(step.end, start)
        copy_vector(start.q, x[k, :nq])
        copy_vector(start.v, x[k, nq:])
    return last


@jit
def _go_on(end: End, start: Start) -> None:
    """Begin where a step ended, with its forces or weights."""
    copy_vector(end.q, start.q)
    copy_vector(end.v, start.v)
    copy_vector(end.a, start.a)
    copy_vector(end.tau, start.tau)
    copy_vector(end.joints, start.joints)
    start.touching = end.counts[TOUCHING]
    for i in range(start.touching):
        start.contacts[i] = end.contacts[i]
        for e in range(start.w.shape[1]):
            start.w[i, e] = end.w[i, e]
