"""Derivatives of the end of a stage: the implicit function theorem, by NumPy."""

import numpy as np
import pytest
from matrices import regular

from nmdp_pin._kernels.derivative.implicit_function import respond
from nmdp_pin._kernels.derivative.stage_rates import StageRates
from nmdp_pin._kernels.derivative.weight_face import Face

ROUNDING = 1e-12  # of systems of five equations with conditions below 100
RESPONSE = 1e-10  # of systems of up to 15 equations with conditions below 1000


class Response:
    """A stage with three rows of weights, at its end.

    The first row has two weights inside and one that a multiplier holds at zero, the second has a
    full sum, and the third is a single weight inside.
    """

    first, free = np.array([0, 3, 6, 7]), np.array([1, 1, 0, 1, 1, 1, 1], dtype=bool)
    w = np.array([0.2, 0.3, 0.0, 0.5, 0.2, 0.3, 0.6])
    tight = np.array([False, True, False])
    nv, nz, n_p, n = 5, 3, 2, 4

    def __init__(self, **changes):
        rng = np.random.default_rng(0)
        nv, nz, nw = self.nv, self.nz, len(self.w)
        r = np.zeros(nw)
        r[2], r[3:6] = 0.7, -0.4  # multipliers of the zero weight and of the full sum
        self.rates = StageRates(
            **{
                "G_q": regular(rng, nv),
                "G_z": rng.standard_normal((nv, nz)),
                "v_q": np.eye(nv),
                "v_z": np.zeros((nv, nz)),
                "first": self.first,
                "w": self.w.copy(),
                "forces": rng.standard_normal((nw, nv)),
                "along": rng.standard_normal((nw, nv)),
                "r": r,
                "r_q": rng.standard_normal((nw, nv)),
                "r_w": rng.standard_normal((nw, nw)),
                "r_z": rng.standard_normal((nw, nz)),
                "bends": rng.standard_normal((nw, nv)),
            }
            | changes
        )
        self.G_p, self.r_p = (rng.standard_normal((size, self.n_p)) for size in (nv, nw))
        self.Z = rng.standard_normal((1, self.n))
        self.of_numbers = np.vstack([np.eye(nz - 1, self.n), self.Z])
        weights, rows = np.zeros((2, nw), dtype=bool), np.zeros((2, 3), dtype=bool)
        self.face = Face(
            *(weights[0], rows[0], weights[1], rows[1]), np.zeros(nw), np.zeros(3), np.zeros(nw)
        )

    def solve(self, known=1e-9, smoothing=0.0, forces=False):
        """Whether there are derivatives, and those of q."""
        dq = np.full((self.nv, self.n), np.nan)
        parts = self.G_p, self.r_p, self.Z, known, smoothing, forces, self.face, dq
        return respond(self.rates, *parts), dq

    @property
    def responses(self):
        """The motions dq/dw that follow the weights."""
        return np.linalg.solve(self.rates.G_q, self.rates.forces.T)


def padded(part, n):
    """A matrix behind columns of zeros, n columns in all."""
    return np.pad(part, ((0, 0), (n - part.shape[1], 0)))


@pytest.mark.parametrize("by_weight", [True, False])
def test_response_is_the_implicit_function_theorem(by_weight):
    """G and the conditions of free weights keep their values, and tight sums keep theirs."""
    at = Response(**({} if by_weight else {"r_w": np.zeros((0, 0))}))
    solved, dq = at.solve()
    assert solved
    assert np.array_equal(at.face.free, at.free)
    assert np.array_equal(at.face.tight, at.tight)
    rates, nv, nw, n = at.rates, at.nv, len(at.w), at.n
    r_w = rates.r_w if by_weight else np.zeros((nw, nw))
    in_row = np.repeat(np.eye(3), np.diff(at.first), axis=1)
    # unknowns dq, dw and the changes of the multipliers of the rows
    K, right = np.zeros((nv + nw + 3, nv + nw + 3)), np.zeros((nv + nw + 3, n))
    K[:nv, :nv], K[:nv, nv:-3] = rates.G_q, -rates.forces.T
    right[:nv] = -rates.G_z @ at.of_numbers - padded(at.G_p, n)
    along = np.hstack([rates.r_q, r_w, in_row.T])
    K[nv:-3] = np.where(at.free[:, None], along, np.eye(nw, nv + nw + 3, k=nv))
    right[nv:-3] = at.free[:, None] * -(rates.r_z @ at.of_numbers + padded(at.r_p, n))
    K[-3:, nv:-3], K[-3:, -3:] = at.tight[:, None] * in_row, np.diag(1.0 * ~at.tight)
    assert dq == pytest.approx(np.linalg.solve(K, right)[:nv], abs=RESPONSE)


def test_response_of_forces():
    """All that the natural map leaves stays zero, whatever weights would do at its zeros."""
    at = Response()
    for smoothing in (0.0, 0.1):  # which the map has in itself
        solved, dq = at.solve(smoothing=smoothing, forces=True)
        assert solved
        rates, nv = at.rates, at.nv
        K = np.block([[rates.G_q, -rates.forces.T], [rates.r_q, rates.r_w]])
        right = np.vstack([rates.G_z, rates.r_z]) @ at.of_numbers
        right += padded(np.vstack([at.G_p, at.r_p]), at.n)
        assert dq == pytest.approx(-np.linalg.solve(K, right)[:nv], abs=RESPONSE)


def test_response_without_weights_and_without_a_solution():
    """Dq = -G_q^-1 (G_z Z + G_p), G_p in the last columns; none where G_q is singular."""
    at, nothing = Response(), np.zeros((0, 5))
    at.rates = at.rates._replace(
        first=np.zeros(1, np.int64),
        w=np.zeros(0),
        forces=nothing,
        r=np.zeros(0),
        r_q=nothing.copy(),
        r_w=np.zeros((0, 0)),
        r_z=np.zeros((0, 3)),
        bends=nothing.copy(),
    )
    at.r_p = np.zeros((0, 2))
    solved, dq = at.solve()
    assert solved
    right = at.rates.G_z @ at.of_numbers + padded(at.G_p, at.n)
    assert dq == pytest.approx(-np.linalg.solve(at.rates.G_q, right), abs=ROUNDING)
    assert not Response(G_q=np.zeros((5, 5))).solve()[0]


@pytest.mark.parametrize(("share", "weak"), [(1.0 - 1e-6, False), (1.0 + 1e-6, True)])
def test_multipliers_are_motions_that_the_end_resolves(share, weak):
    """A weight is held where its multiplier, over the curvature, moves q by more than is known."""
    at = Response()
    P = at.responses
    curvature = np.abs((at.rates.bends @ P).diagonal())
    scale = np.repeat(np.maximum.reduceat(curvature, at.first[:-1]), np.diff(at.first))
    assert at.solve(share * 0.7 / scale[2] * np.abs(P[:, 2]).max())[0]
    assert at.face.scale == pytest.approx(scale)
    assert at.face.multiplier == pytest.approx([0.0, 0.4, 0.0])
    assert at.face.slack == pytest.approx([0.0, 0.0, 0.7, 0.0, 0.0, 0.0, 0.0])
    assert (at.face.kink[2] or at.face.free[2]) == weak
