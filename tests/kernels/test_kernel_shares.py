"""Shares of contact points in forces, bounds of blocks, and smoothed complementarity."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import array_of, interpreted
from scipy.optimize import fsolve

from nmdp_pin._kernels.derivative.implicit_function import _solve_smoothed
from nmdp_pin._kernels.geometry.shape_selection import _are_apart
from nmdp_pin._kernels.geometry.shares import _least_weights

EDGE = 1e-6  # [m] to both sides of a bound
STEP = 1e-6  # of central differences
CORNERS = {
    "face": np.array([[0.3, 0.1, 0.0], [-0.2, 0.2, 0.0], [-0.1, -0.4, 0.0], [0.4, -0.2, 0.0]]),
    "edge": np.array([[0.3, 0.1, 0.2], [-0.2, 0.2, 0.1]]),
    "solid": np.random.default_rng(0).standard_normal((6, 3)),
    "point": np.array([[0.3, 0.1, 0.0]]),
}


@pytest.mark.parametrize("name", CORNERS)
def test_shares_are_the_smallest_with_the_force_and_its_moment(name):
    """The least-squares solution of the lever rule, with the sign of the other body's."""
    corners = CORNERS[name]
    mix = np.random.default_rng(1).dirichlet(np.ones(len(corners)))
    p, weights = mix @ corners, np.full(len(corners), np.nan)
    _least_weights(corners, tuple(p), weights)
    levers = np.vstack([corners.T, np.ones(len(corners))])
    expected = np.linalg.lstsq(levers, np.append(p, 1.0), rcond=1e-9)[0]
    # across a face it is regular by 1e-9 of its size
    assert weights == pytest.approx(-expected, abs=1e-7)


@pytest.mark.parametrize("touched", [0, 2])
def test_blocks_are_apart_beyond_their_boxes(touched):
    """By the distance of ball and box, how far both move and turn in the time, and a reach."""
    rng = np.random.default_rng(0)
    placements = [pin.SE3.Identity(), pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))]
    placements.append(pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3)))
    balls, half = np.array([[0.0, 0.0, 0.0, 0.3]]), np.array([0.5, 0.2, 0.7])
    boxes = np.array([[np.zeros(3), half]])
    candidates = SimpleNamespace(
        blocks=np.array([0, 1]), bodies=np.array([[1, touched]]), balls=balls, boxes=boxes
    )
    P, twists = np.array([array_of(M) for M in placements]), np.zeros((3, 6))
    twists[1:] = rng.standard_normal((2, 6))
    twists[0] = 0.0
    h, reach = 0.1, 0.02
    relative = placements[touched].actInv(placements[1])
    point = placements[1].translation
    velocity = [w[:3] + np.cross(w[3:], point) for w in (twists[1], twists[touched])]
    moved = np.linalg.norm(velocity[0] - velocity[1])
    moved += 0.3 * np.linalg.norm(twists[1, 3:] - twists[touched, 3:])
    bound = reach + h * moved + 0.3
    # off a corner, an edge and a face
    places = ((0.48, 0.6, -0.64), half), ((0.0, -0.6, 0.8), (0.3, -0.2, 0.7)), ((1, 0, 0), half / 2)
    for away, foot in places:
        foot = np.where(np.array(away) == 0.0, foot, np.copysign(half, away))
        for gap, apart in ((bound - EDGE, False), (bound + EDGE, True)):
            boxes[0, 0] = relative.translation - foot - gap * np.array(away)
            assert interpreted(_are_apart)(candidates, 0, P, twists, h, reach) == apart
    boxes[0, 0] = relative.translation
    assert not interpreted(_are_apart)(candidates, 0, P, np.zeros((3, 6)), h, 0.0)
    boxes[0] = [[0.0] * 3, [np.inf] * 3]
    assert not interpreted(_are_apart)(candidates, 0, P, twists, h, reach)


def test_smoothed_weights_follow_complementarity():
    """Central differences of w s = kappa scale and (1 - sum w) m = kappa scale, of two contacts."""
    rng, first, smoothing = np.random.default_rng(0), np.array([0, 2, 5]), 0.3
    scale, w = np.array([2.0, 2.0, 0.7, 0.7, 0.7]), np.array([0.1, 0.3, 0.2, 0.05, 0.4])
    rows = np.repeat([0, 1], [2, 3])
    H = rng.standard_normal((5, 5))
    H = H @ H.T + np.eye(5)
    turned = rng.standard_normal((5, 2))
    kappa, gaps = smoothing**2, 1.0 - np.add.reduceat(w, first[:-1])
    slack, multiplier = kappa * scale / w, kappa * scale[first[:-1]] / gaps
    constant = slack - H @ w - multiplier[rows]

    def violation(unknown, p):
        v, m = unknown[:5], unknown[5:]
        s = constant + H @ v + m[rows] + turned @ p
        gap = 1.0 - np.add.reduceat(v, first[:-1])
        return np.append(v * s / scale - kappa, gap * m / scale[first[:-1]] - kappa)

    start = np.append(w, multiplier)
    sides = [
        [fsolve(violation, start, (s * STEP * p,), xtol=1e-13)[:5] for s in (1.0, -1.0)]
        for p in np.eye(2)
    ]
    expected = np.transpose([(ahead - behind) / (2.0 * STEP) for ahead, behind in sides])
    rates = SimpleNamespace(first=first, w=w)
    face = SimpleNamespace(tight=np.zeros(2, bool), slack=slack, scale=scale, multiplier=multiplier)
    found = np.full((5, 2), np.nan)
    interpreted(_solve_smoothed)(rates, face, H, turned, smoothing, found)
    assert found == pytest.approx(expected, abs=1e-6)  # of the differences
