"""Faces of redundant weights: those that are zero by chance are free, as a linear program tells."""

import numpy as np
import pytest
from scipy.optimize import linprog

from nmdp_pin._kernels.derivative.implicit_function import respond
from nmdp_pin._kernels.derivative.stage_rates import StageRates
from nmdp_pin._kernels.derivative.weight_face import Face

CASES, CHUNK = 150, 15  # chunks cost less than half a second each
M = 4  # vertices of a contact
POSITIVE = 1e-9  # share of a contact's weights above which a weight is no zero


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights, some of them zero, some sums full, and forces that make them redundant."""
    rng = np.random.default_rng(seed)
    n, nv = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    w = rng.dirichlet(np.ones(M), size=n) * (rng.random((n, M)) < 0.6)
    full = (rng.random(n) < 0.4) & w.any(axis=1)
    w[full] /= w[full].sum(axis=1, keepdims=True)
    forces = rng.standard_normal((n * M, nv))
    forces[:, 0:1] = np.abs(forces[:, 0:1])  # normal forces do not cancel
    return w, forces


def found_face(w: np.ndarray, forces: np.ndarray) -> Face:
    """The face of weights none of which has a multiplier."""
    (n, m), nv, nw = w.shape, forces.shape[1], w.size
    nothing = np.zeros((nv, 0)), np.zeros((nw, 0))
    rates = StageRates(
        G_q=np.eye(nv),
        G_z=nothing[0],
        v_q=np.eye(nv),
        v_z=nothing[0],
        first=m * np.arange(n + 1),
        w=w.ravel(),
        forces=forces,
        along=forces,
        r=np.zeros(nw),
        r_q=forces.copy(),
        r_w=np.zeros((0, 0)),
        r_z=nothing[1],
        bends=forces.copy(),
    )
    weights, rows = np.zeros((2, nw), dtype=bool), np.zeros((2, n), dtype=bool)
    face = Face(
        free=weights[0],
        tight=rows[0],
        kink=weights[1],
        kink_sum=rows[1],
        slack=np.zeros(nw),
        multiplier=np.zeros(n),
        scale=np.zeros(nw),
    )
    assert respond(rates, *nothing, np.zeros((0, 0)), 1e-9, 0.0, False, face, np.zeros((nv, 0)))
    return face


def can_grow(w: np.ndarray, forces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights, and what sums lack of one, that can be above zero at the same forces.

    For each of them a linear program seeks a change d that leaves the forces and the sums with what
    they lack, with no entry below zero where there is nothing to take from, and raises it to one.
    """
    (n, m), nw = w.shape, w.size
    equal = np.zeros((forces.shape[1] + n, nw + n))
    equal[: forces.shape[1], :nw] = forces.T
    equal[forces.shape[1] :, :nw] = np.repeat(np.eye(n), m, axis=1)
    equal[forces.shape[1] :, nw:] = np.eye(n)
    entries = np.append(w, 1.0 - w.sum(axis=1))
    bounds = np.array([(0.0 if x <= POSITIVE else -np.inf, np.inf) for x in entries])
    grows = entries > POSITIVE
    for i in np.flatnonzero(~grows):
        own = bounds.copy()
        own[i, 1] = 1.0
        cost = np.zeros(nw + n)
        cost[i] = -1.0
        zero = np.zeros(len(equal))
        found = linprog(cost, A_eq=equal, b_eq=zero, bounds=own, method="highs-ds")
        assert found.status == 0
        grows[i] = found.x[i] > 0.5
    return grows[:nw], grows[nw:]


@pytest.mark.parametrize("begin", range(0, CASES, CHUNK))
def test_weights_that_are_zero_by_chance_are_free_as_a_linear_program_tells(begin):
    """The same weights are free and the same sums full; the others that may change are kinks."""
    opened = kept = sums = 0
    for seed in range(begin, begin + CHUNK):
        w, forces = random_case(seed)
        face = found_face(w, forces)
        free, loose = can_grow(w, forces)
        np.testing.assert_array_equal(face.free, free)
        np.testing.assert_array_equal(face.tight, ~loose)
        np.testing.assert_array_equal(face.kink, ~free)
        np.testing.assert_array_equal(face.kink_sum, ~loose)
        opened += int((free & (w.ravel() == 0.0)).sum())
        kept += int((~free).sum())
        sums += int((loose & (w.sum(axis=1) >= 1.0 - POSITIVE)).sum())
    assert min(opened, kept, sums) > 0
