"""Exponentials, logarithms and their derivatives against pinocchio's, at angles up to a half turn.

The angles lie on both sides of those where series replace quotients.
"""

import math

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm

from nmdp_pin._kernels.algebra import lie

ROUNDING = 1e-14  # of quaternions and lengths of one metre
TURN = 1e-5  # [rad] of central differences
DIFFERENCE = 1e-8  # their error
ANGLES = [0.0, 1e-9, 1e-5, 1e-3, 0.05, 0.0999, 0.1001, 0.6, 1.5, 2.8]
NEAR = 1e-12  # near a half turn


def twists(angle):
    """Twists of size one that turn by that angle."""
    rng = np.random.default_rng(int(1e6 * angle))
    for _ in range(3):
        v, w = rng.standard_normal((2, 3))
        yield np.concatenate([v, angle * w / np.linalg.norm(w)])


def applied(function, *arguments, shape):
    """What a kernel writes into its last argument."""
    out = np.full(shape, np.nan)
    function(*arguments, out)
    return out


@pytest.mark.parametrize("angle", ANGLES)
def test_quaternions(angle):
    """Exponential, logarithm, also of the opposite quaternion, and product."""
    before = pin.Quaternion(pin.exp3(np.array([0.3, -1.0, 0.7])))
    for twist in twists(angle):
        w = twist[3:].copy()
        a = applied(lie.quaternion_exp, w, shape=4)
        expected = np.append(math.sin(0.5 * angle) * w / (angle or 1.0), math.cos(0.5 * angle))
        assert a == pytest.approx(expected, abs=ROUNDING)
        for sign in (1.0, -1.0):
            assert applied(lie.quaternion_log, sign * a, shape=3) == pytest.approx(
                w, rel=NEAR, abs=ROUNDING
            )
        product = applied(lie.quaternion_product, before.coeffs().copy(), a, shape=4)
        assert product == pytest.approx((before * pin.Quaternion(a)).coeffs(), abs=ROUNDING)


@pytest.mark.parametrize("angle", ANGLES)
def test_translations(angle):
    """Of the exponential of a twist, and the linear part of the logarithm that leads back."""
    for twist in twists(angle):
        v, w = twist[:3].copy(), twist[3:].copy()
        p = applied(lie.translation_exp, v, w, shape=3)
        assert p == pytest.approx(pin.exp6(twist).translation, abs=1e-13)
        assert applied(lie.translation_log, p, w, shape=3) == pytest.approx(v, abs=1e-13)


def test_small_turns_to_rounding():
    """A twist along x turns about z: its end on a circle, and the half angle, without cancellation.

    The last terms of the series of small angles are seen only here.
    """
    for angle in (0.02, 0.06, 0.0999):
        v, w = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, angle])
        half = 0.5 * angle
        circle = [math.sin(angle) / angle, 2.0 * math.sin(half) ** 2 / angle, 0.0]
        found = applied(lie.translation_exp, v, w, shape=3)
        assert found == pytest.approx(circle, rel=ROUNDING, abs=0.0)
        turn = applied(lie.quaternion_exp, w, shape=4)
        assert turn == pytest.approx([0.0, 0.0, math.sin(half), math.cos(half)], rel=5e-16, abs=0.0)


def test_series_of_the_cotangent():
    """c(x) = 1/x - cot(sqrt(x)/2) / (2 sqrt(x)) and its derivatives; 0 has Bernoulli's numbers."""
    assert lie.bernoulli(0.0) == pytest.approx((1.0 / 12.0, 1.0 / 720.0, 2.0 / 30240.0), rel=1e-14)
    for x in (0.5, 2.0, 7.0, math.pi**2):
        s = math.sqrt(x)
        cot, square = 1.0 / math.tan(0.5 * s), 1.0 / math.sin(0.5 * s) ** 2
        c = 1.0 / x - cot / (2.0 * s)
        c1 = -1.0 / x**2 + square / (8.0 * x) + cot / (4.0 * x * s)
        c2 = 2.0 / x**3 - square * cot / (16.0 * x * s) - square / (8.0 * x**2)
        c2 -= square / (16.0 * x**2) + 3.0 * cot / (8.0 * x**2 * s)
        assert lie.bernoulli(x) == pytest.approx((c, c1, c2), rel=1e-11)  # 1/x^3 cancels


@pytest.mark.parametrize("angle", ANGLES)
def test_derivative_of_the_logarithm(angle):
    """D is the inverse of the integral of exp(-s ad) over s from 0 to 1, ad being pinocchio's.

    That integral is a block of the exponential of [[-ad, 1], [0, 0]].
    """
    f = np.random.default_rng(0).standard_normal(6)
    for d in twists(angle):
        ad = pin.Motion(d).action
        assert applied(lie.coadjoint, d, f, shape=6) == pytest.approx(ad.T @ f, abs=ROUNDING)
        assert applied(lie.cross_motions, d, f, shape=6) == pytest.approx(ad @ f, abs=ROUNDING)
        blocks = np.zeros((12, 12))
        blocks[:6] = np.hstack([-ad, np.eye(6)])
        D = applied(lie.log_derivative, d, shape=(6, 6))
        assert pytest.approx(np.linalg.inv(expm(blocks)[:6, 6:]), abs=NEAR) == D


@pytest.mark.parametrize("angle", [0.0, 1e-3, 0.6, 1.5, 2.8])
def test_second_derivative_of_the_logarithm(angle):
    """Central differences of D' force."""
    force = np.random.default_rng(1).standard_normal(6)
    for d in twists(angle):
        H = applied(lie.log_second_derivative, d, force, shape=(6, 6))
        for k, change in enumerate(TURN * np.eye(6)):
            sides = [applied(lie.log_derivative, d + s * change, shape=(6, 6)) for s in (1, -1)]
            expected = (sides[0] - sides[1]).T @ force / (2.0 * TURN)
            assert H[:, k] == pytest.approx(expected, abs=DIFFERENCE)
