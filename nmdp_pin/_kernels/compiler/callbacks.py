"""Calls from kernels back to Python, for what Python owns: pinocchio, coal, and users' laws.

A kernel knows a number, under which the object that answers is registered. Exceptions of the callee
reach the caller of the kernel.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np
import scipy  # whose parts are imported when they are used
from numba import objmode

from nmdp_pin._kernels.compiler.jit import Array, calling_jit

_HANDLES = itertools.count(1)
_CALLEES: dict[int, Any] = {}


def register(answering: Any, owner: object) -> int:
    """The number of an object that answers calls as long as its owner lives."""
    handle = next(_HANDLES)
    _CALLEES[handle] = answering
    weakref.finalize(owner, _CALLEES.pop, handle)
    return handle


def callee(handle: int) -> Any:
    """The object of a number. Cached kernels refer to this function, and not to the objects."""
    return _CALLEES[handle]


def factor_in(A: Array, pivots: Array) -> bool:
    """See `call_factor`."""
    _, pivots[:], info = scipy.linalg.lapack.dgetrf(A.T, overwrite_a=True)
    return bool(info == 0 and np.isfinite(A).all())


def solve_in(LU: Array, pivots: Array, X: Array) -> None:
    """See `call_solve`."""
    X[:], _ = scipy.linalg.lapack.dgetrs(LU.T, pivots, X, trans=True)


@calling_jit
def call_factor(A: Array, pivots: Array) -> bool:
    """Overwrite A by LAPACK's factors of its transpose; False where it is singular."""
    with objmode(factored="boolean"):
        factored = factor_in(A, pivots)
    return factored


@calling_jit
def call_solve(LU: Array, pivots: Array, X: Array) -> None:
    """Solve A X = B by LAPACK, with B in X, from the factors of `call_factor`."""
    with objmode():
        solve_in(LU, pivots, X)


@calling_jit
def call_inverse_dynamics(handle: int, derived: bool) -> None:
    """See `PinocchioCalls.inverse_dynamics`."""
    with objmode():
        callee(handle).inverse_dynamics(derived)


@calling_jit
def call_kinematics(handle: int) -> None:
    """Placements and motions at the shared q."""
    with objmode():
        callee(handle).kinematics()


@calling_jit
def call_momentum(handle: int, derived: bool) -> None:
    """See `PinocchioCalls.momentum`."""
    with objmode():
        callee(handle).momentum(derived)


@calling_jit
def call_vertices(handle: int, index: Array, places: Any, V: Array) -> None:
    """Vertices of a contact model in Python; see `LawCalls.vertices`."""
    with objmode():
        callee(handle).vertices(index, places, V)


@calling_jit
def call_vertex_derivative(
    handle: int, index: Array, places: Any, w: Array, wrench: Array, rows: Array, D: Array
) -> None:
    """Derivative of V w of a contact model in Python; see `LawCalls.vertex_derivative`."""
    with objmode():
        callee(handle).vertex_derivative(index, places, w, wrench, rows, D)


@calling_jit
def call_overlaps(handle: int, contacts: Any, P: Array) -> None:
    """See `SolidCalls.find`."""
    with objmode():
        callee(handle).find(contacts, P)


@calling_jit
def call_missed_overlaps(handle: int, contacts: Any, places: Any, P: Array, P0: Array) -> bool:
    """See `SolidCalls.list_missed`."""
    with objmode(found="boolean"):
        found = callee(handle).list_missed(contacts, places, P, P0)
    holds: bool = found
    return holds


@calling_jit
def call_minimise(
    handle: int, point: int, rate: float, order: int, budget: int, counts: Array
) -> None:
    """Solution of the shared stage by a solver in Python, from and in one of the shared points."""
    with objmode():
        callee(handle).minimise(point, rate, order, budget, counts)


@calling_jit
def call_complete(
    handle: int,
    i: int,
    index: int,
    settled: bool,
    known: float,
    smoothing: float,
    rates: Any,
    G_p: Array,
    r_p: Array,
) -> float:
    """What Python knows of the derivatives of a stage; see `nmdp_response`."""
    with objmode(known="float64"):
        known = callee(handle).complete(i, index, settled, known, smoothing, rates, G_p, r_p)
    return known
