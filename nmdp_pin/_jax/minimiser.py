"""One iteration of Levenberg-Marquardt of each lane ([P] eq. 14), as in `levenberg_marquardt`.

Every lane is at its own iteration, of its own step. A lane whose matrix is damped solves another
system than Newton's; such lanes are few, and are gathered in groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from nmdp_pin._jax.box_pairs import Held, add_missed
from nmdp_pin._jax.contacts import Listed
from nmdp_pin._jax.joints import Commands, add_diagonal
from nmdp_pin._jax.manifold import integrate
from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.stages import stage
from nmdp_pin._jax.step import StepStart, Trial, evaluate, gains_energy

LEAST, GROW, SHRINK = 0.1, 10.0, 0.1  # of lam, as in the kernel
LARGEST, EXACT = 1e10, 100.0
SMALL, CANCELLED = 1e-12, 1e-11  # relative changes of f, in float64
MOST_MISSED = 4  # lists of contacts that a step tries

# Codes of `Status`, and those of lanes that go on.
CONVERGED, ITERATION_LIMIT, STALLED, SINGULAR, NOT_FINITE, ENERGY_GAINED = 0, 1, 3, 4, 5, 7
BUDGET_SPENT, RUNNING = 8, -1


class Account(NamedTuple):
    """Account of the minimisation of each lane, shapes (K,).

    Attributes:
        value: f at the point accepted last.
        error: |r| there [N, N m].
        first: |f| at the first point.
        stored: energy stored at the first point [J].
        lam: factor of the metric.
        iterations: linear solves.
        evaluations: evaluations with this list of contacts.
        lists: lists of contacts tried before.
        outcome: code of the status, or RUNNING.
    """

    value: Array
    error: Array
    first: Array
    stored: Array
    lam: Array
    iterations: Array
    evaluations: Array
    lists: Array
    outcome: Array


class Iterate(NamedTuple):
    """A minimisation between two iterations.

    Attributes:
        q: configuration to be evaluated, shape (nq, K).
        v: velocity at the point accepted last, shape (nv, K).
        best: this point, shape (nq, K).
        r: residual there, shape (nv, K).
        A: its derivative, with `freed`, shape (nv, nv, K).
        freed: stiffness of motors that is in A beside the derivative, shape (nv, K).
        signs: limits that act on the motors there, shape (nv, K).
        account: account.
    """

    q: Array
    v: Array
    best: Array
    r: Array
    A: Array
    freed: Array
    signs: Array
    account: Account


def choose(mask: Array, yes: Any, no: Any) -> Any:
    """Values of `yes` in the lanes of a mask, else of `no`; trees of arrays (..., K)."""
    return jax.tree.map(lambda a, b: jnp.where(mask, a, b), yes, no)


def open_account(like: Array) -> Account:
    """The account of a minimisation that begins, of the shape and type of an array."""
    zero, count = jnp.zeros_like(like), jnp.zeros(like.shape, jnp.int32)
    return Account(zero, zero, zero, zero, zero, count, count, count, count + RUNNING)


def open_iterate(start: StepStart) -> Iterate:
    """A minimisation that begins at the start of the step."""
    none, account = jnp.zeros_like(start.v0), open_account(start.q0[0])
    singular = ~jnp.isfinite(start.scale[-1]).all(0)
    account = account._replace(outcome=jnp.where(singular, SINGULAR, account.outcome))
    A = jnp.zeros_like(start.scale)
    return Iterate(start.q0, none, start.q0, none, A, none, none, account)


def accept(account: Account, f: Array, error: Array, stored: Array) -> tuple[Account, Array]:
    """Judge a trial, and enter it into the account; whether it is accepted."""
    unit = jnp.finfo(f.dtype).eps / jnp.finfo(jnp.float64).eps
    first = account.evaluations == 0
    change = f - account.value
    small = jnp.maximum(SMALL * unit * jnp.abs(account.value), CANCELLED * unit * account.first)
    better = (change < -small) | ((change <= small) & (error < account.error))
    accepted = first | better
    lam = SHRINK * account.lam
    lower = jnp.where(first, account.lam, jnp.where(lam >= LEAST, lam, 0.0))
    return account._replace(
        value=jnp.where(accepted, f, account.value),
        error=jnp.where(accepted, error, account.error),
        first=jnp.where(first, jnp.abs(f), account.first),
        stored=jnp.where(first, stored, account.stored),
        lam=jnp.where(accepted, lower, GROW * jnp.maximum(account.lam, LEAST)),
        evaluations=account.evaluations + 1,
    ), accepted


def count(scene: DeviceScene, bound: Array, account: Account) -> Account:
    """Count an iteration of each running lane, or enter its outcome."""
    most = scene.options[1].astype(jnp.int32)
    outcome = jnp.where(account.iterations >= most, ITERATION_LIMIT, RUNNING)
    outcome = jnp.where(account.lam > LARGEST, STALLED, outcome)
    outcome = jnp.where(account.error <= bound, CONVERGED, outcome)
    finite = jnp.isfinite(account.value + account.error)
    outcome = jnp.where(finite, outcome, NOT_FINITE)
    goes = outcome == RUNNING
    return account._replace(outcome=outcome, iterations=account.iterations + goes)


def iterate(
    scene: DeviceScene,
    start: StepStart,
    command: Commands,
    h: Array,
    at: Iterate,
    group: int,
) -> tuple[Iterate, StepStart]:
    """Make an iteration of each running lane: one evaluation and one linear solve.

    A lane that ends on contacts that are not listed begins again with them.

    Args:
        scene: what all steps share.
        start: starts of the steps.
        command: commands of the steps.
        h: length of the steps [s].
        at: where the lanes are.
        group: number of lanes whose damped systems are solved together.
    """
    running, structure = at.account.outcome == RUNNING, scene.structure
    trial = evaluate(scene, start, command, at.q, h)
    scaled = (start.scale * trial.r).sum(1)
    f, error = 0.5 * (scaled * scaled).sum(0), jnp.sqrt((trial.r * trial.r).sum(0))
    f = jnp.where(trial.overflow, jnp.inf, f)
    account, accepted = accept(at.account, f, error, trial.stored)
    account = count(scene, start.bound, account)
    spent = trial.overflow & (account.evaluations == 1)
    account = account._replace(outcome=jnp.where(spent, BUDGET_SPENT, account.outcome))
    goes, taken = running & (account.outcome == RUNNING), running & accepted
    account, start, again = _close(scene, start, trial, account, running, h, group)
    A, freed, signs = _linearised(command, h, at, trial, accepted, account.lam)
    found = Iterate(
        q=at.q,
        v=choose(taken, trial.joints.v, at.v),
        best=choose(taken, at.q, at.best),
        r=choose(taken, trial.r, at.r),
        A=A,
        freed=freed,
        signs=choose(taken & goes, signs, at.signs),
        account=account,
    )
    account, dx = solve(scene, start, found, goes, group)
    moved = stage(structure, h, lambda q, dx: integrate(structure, q, dx), found.best, dx)
    found = found._replace(q=choose(again, start.q0, moved), account=account)
    return choose(running, found, at._replace(A=A, freed=freed)), start


def _close(
    scene: DeviceScene,
    start: StepStart,
    trial: Trial,
    account: Account,
    running: Array,
    h: Array,
    group: int,
) -> tuple[Account, StepStart, Array]:
    """Check lanes that have converged: their energy, and what touches and is not listed.

    Returns the accounts, the starts with longer lists, and the lanes that begin again.
    """
    ends = account.outcome == CONVERGED

    def gains(start: StepStart, trial: Trial, stored: Array) -> Array:
        return gains_energy(scene, start, trial, stored, h)

    gained = stage(scene.structure, h, gains, start, trial, account.stored)
    outcome = jnp.where(ends & gained, ENERGY_GAINED, account.outcome)
    listed, again = _missed(scene, start, trial, running & (outcome == CONVERGED), group)
    start = start._replace(contacts=listed)
    lists = account.lists + again
    # beyond the most lists the outcome is the limit, as of the kernel
    limit = jnp.where(lists >= MOST_MISSED, ITERATION_LIMIT, account.outcome * 0 + RUNNING)
    fresh = open_account(account.value)._replace(
        iterations=account.iterations, lists=lists, outcome=limit
    )
    return choose(again, fresh, account._replace(outcome=outcome)), start, again


def _missed(
    scene: DeviceScene, start: StepStart, trial: Trial, ends: Array, group: int
) -> tuple[Listed, Array]:
    """The contacts with those that touch at the ends of steps besides, and lanes with some."""
    listed = start.contacts
    missed = (trial.depths > 0.0) & ~listed.listed & ends
    listed, added = listed._replace(listed=listed.listed | missed), missed.any(0)
    if listed.held is None:
        return listed, added

    def look(state: tuple[Held, Array], P: Array) -> tuple[Array, tuple[Held, Array]]:
        held, more = add_missed(scene, state[0], P)
        return jnp.zeros_like(more), (held, more)

    begun = listed.held, jnp.zeros_like(added)
    held, more = in_groups(ends, group, look, begun, trial.P)
    return listed._replace(held=held), added | more


def _linearised(
    command: Commands,
    h: Array,
    at: Iterate,
    trial: Trial,
    accepted: Array,
    lam: Array,
) -> tuple[Array, Array, Array]:
    """The derivative at points accepted now, else as it was; with it `freed` and `signs`.

    Motors whose limits act at this point but not at the last keep their stiffness, until a large
    lam wants the derivative itself.
    """
    sign = jnp.sign(trial.joints.excess)
    stiffness = command.kp + command.kd / h  # of the motors alone
    freed = jnp.where((sign != at.signs) & (sign != 0.0), stiffness, 0.0)
    exact = ~accepted & (lam > EXACT)
    kept = jnp.where(exact, 0.0, at.freed)
    more = jnp.where(accepted, freed, kept - at.freed)
    A = add_diagonal(choose(accepted, trial.A, at.A), more)
    return A, choose(accepted, freed, kept), sign


def solve(
    scene: DeviceScene, start: StepStart, at: Iterate, goes: Array, group: int
) -> tuple[Account, Array]:
    """The next motions of lanes that go on, (nv, K); lam grows where a matrix is not regular."""
    dx, account = newton(at.A, -at.r), at.account
    newtons = goes & (account.lam == 0.0)
    failed = newtons & ~jnp.isfinite(dx).all(0)
    account = choose(failed, _rejected(scene, start.bound, account), account)
    dx = choose(newtons & ~failed, dx, 0.0)
    pending = goes & (account.outcome == RUNNING) & (account.lam > 0.0)
    damp = lambda state, *given: _damped(scene, state[0], *given)  # noqa: E731
    given = start.scale, start.bound, at.A, at.r
    result: tuple[Account, Array] = in_groups(pending, group, damp, (account, dx), *given)
    return result


def _rejected(scene: DeviceScene, bound: Array, account: Account) -> Account:
    """The account after a linear solve that failed."""
    lam = GROW * jnp.maximum(account.lam, LEAST)
    return count(scene, bound, account._replace(lam=lam))


def in_groups(
    mask: Array, group: int, function: Callable[..., tuple[Array, Any]], state: Any, *given: Any
) -> Any:
    """Apply a function to the lanes of a mask, `group` at a time; indices beyond K are none.

    Args:
        mask: lanes, shape (K,).
        group: number of lanes in a group.
        function: function of the state and what is given, of some lanes, that returns which of
            them it is to be applied to again, and their new state.
        state: initial state.
        given: what the function is given besides, of all lanes or for all of them.
    """

    def body(carry: tuple[Array, Any]) -> tuple[Array, Any]:
        (some,) = jnp.nonzero(carry[0], size=group, fill_value=len(mask))
        of = lambda x: x[..., some] if x.shape[-1] > 1 else x  # noqa: E731
        part, *parts = jax.tree.map(of, (carry[1], *given))
        put = lambda x, y: x.at[..., some].set(y, mode="drop")  # noqa: E731
        result: tuple[Array, Any] = jax.tree.map(put, carry, function(part, *parts))
        return result

    return lax.while_loop(lambda carry: carry[0].any(), body, (mask, state))[1]


def _damped(
    scene: DeviceScene, account: Account, scale: Array, bound: Array, A: Array, r: Array
) -> tuple[Array, tuple[Account, Array]]:
    """Solve (X'X + lam) y = -X'U'^-1 r with X = U'^-1 A U^-1 and dx = U^-1 y.

    Returns the lanes in which it fails, which are to try a larger lam, and accounts and dx.
    """
    U, residual = jnp.moveaxis(scale, -1, 0), (scale * r).sum(1)
    X = U @ jnp.moveaxis(A, -1, 0) @ jnp.swapaxes(U, 1, 2)
    gram = jnp.moveaxis(jnp.swapaxes(X, 1, 2) @ X, 0, -1)
    X = jnp.moveaxis(X, 0, -1)
    y = newton(add_diagonal(gram, account.lam[None]), -(X * residual[:, None]).sum(0))
    dx = (scale * y[:, None]).sum(0)
    good = jnp.isfinite(dx).all(0)
    account = choose(good, account, _rejected(scene, bound, account))
    return ~good & (account.outcome == RUNNING), (account, choose(good, dx, 0.0))


def newton(A: Array, b: Array) -> Array:
    """Solutions of A x = b, shapes (nv, nv, K) and (nv, K); not finite where A is singular."""
    both = jnp.moveaxis(jnp.concatenate([A, b[:, None]], axis=1), -1, 0)
    U = lax.linalg.lu(both)[0]  # its last column is L^-1 b, whose rows are those of U
    return lax.linalg.triangular_solve(U[:, :, :-1], U[:, :, -1:], left_side=True)[..., 0].T
