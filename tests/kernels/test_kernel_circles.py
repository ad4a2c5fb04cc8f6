"""Circles against SciPy: where they are nearest to lines and to each other, and normals there."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from nmdp_pin._kernels.geometry.circles import (
    FIRST_CROSSING,
    NEAREST,
    PLACES,
    SECOND_CROSSING,
    arm_to_line,
    arms_between,
    crossing_arm,
    is_nearest,
    normal_of_circles,
    normal_to_line,
    sample,
    start_of,
)

ROUNDING = 1e-12  # of vectors of size one
RADIUS, OTHER = 0.3, 0.4  # [m]


def unit(rng):
    """A random direction."""
    n = rng.normal(size=3)
    return n / np.linalg.norm(n)


def circle(axis, radius):
    """A function of the angle, and two directions across the axis."""
    b = np.linalg.svd(axis[None])[2][1:]
    return lambda t: radius * (np.cos(t) * b[0] + np.sin(t) * b[1])


def to_line(x, y, f):
    """Distance of a point from a line."""
    off = x - y
    return float(np.linalg.norm(off - (off @ f) * f))


def to_circle(x, y, other, radius):
    """Distance of a point from a circle about y, in closed form."""
    off = x - y
    height = off @ other
    return float(np.hypot(height, np.linalg.norm(off - height * other) - radius))


def least(function, start, width=0.3):
    """The angle of the least value that is next to a start."""
    bounds = (start - width, start + width)
    return minimize_scalar(function, bounds=bounds, method="bounded", options={"xatol": 1e-10})


@pytest.mark.parametrize("tilt", [0.0, 0.1, 1.0, 1.5])
def test_arms_to_lines_are_nearest(tilt):
    """A local minimum of the distance, and the least one of a line outside that is not flat."""
    rng, seen, angles = np.random.default_rng(0), 0, np.linspace(0.0, 2.0 * np.pi, 300)
    for turn in range(30):
        axis = unit(rng)
        b = np.linalg.svd(axis[None])[2][1:]
        f = (np.cos(tilt) * axis + np.sin(tilt) * b[turn % 2]) * (-1.0) ** turn
        y = 0.3 * rng.normal(size=3)
        arm, found = map(np.array, arm_to_line(tuple(axis), RADIUS, tuple(y), tuple(f)))
        assert np.linalg.norm(arm) == pytest.approx(RADIUS)
        assert arm @ axis == pytest.approx(0.0, abs=ROUNDING)

        def gap(t, b=b, y=y, f=f):
            return to_line(RADIUS * (np.cos(t) * b[0] + np.sin(t) * b[1]), y, f)

        if found:
            best = least(gap, np.arctan2(b[1] @ arm, b[0] @ arm), 0.01).fun
            assert to_line(arm, y, f) == pytest.approx(best, abs=ROUNDING)
            outside = to_line(np.zeros(3), y, f) > RADIUS
            if outside and tilt <= 1.0:
                assert to_line(arm, y, f) < min(map(gap, angles)) + ROUNDING
            seen += 1
    assert seen > 20


def test_lines_along_the_flat_end_cross_the_rim_twice():
    """Seen along the axis, each crossing is on the line, and the first comes before the second."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        axis = unit(rng)
        place = circle(axis, RADIUS)
        f = place(rng.uniform(0.0, 6.0)) / RADIUS + 0.02 * axis
        f /= np.linalg.norm(f)
        for share, crosses in ((0.3, True), (0.99, True), (1.1, False)):
            across = np.cross(axis, f)
            y = share * RADIUS * across / np.linalg.norm(across) + 0.7 * f + 0.1 * axis
            arms = []
            for part in (FIRST_CROSSING, SECOND_CROSSING):
                arm, half = crossing_arm(tuple(axis), RADIUS, tuple(y), tuple(f), part)
                chord = np.sqrt(1.0 - share**2) * RADIUS if crosses else 0.0
                assert half == pytest.approx(chord)
                arms.append(np.array(arm))
                if crosses:
                    assert np.linalg.norm(arm) == pytest.approx(RADIUS)
                    assert axis @ arm == pytest.approx(0.0, abs=ROUNDING)
                    assert np.cross(axis, f) @ (arm - y) == pytest.approx(0.0, abs=ROUNDING)
            if crosses:
                assert f @ (arms[1] - arms[0]) > 0.0


def test_normals_across_edges_point_into_the_rim():
    """Across tangent and edge; against the arm, or at crossings against the axis."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        axis, f = unit(rng), unit(rng)
        arm = circle(axis, RADIUS)(rng.uniform(0.0, 6.0))
        for part, out in ((NEAREST, arm), (FIRST_CROSSING, axis), (SECOND_CROSSING, axis)):
            n = np.array(normal_to_line(tuple(axis), tuple(arm), tuple(f), part))
            assert np.linalg.norm(n) == pytest.approx(1.0)
            assert [n @ f, n @ np.cross(axis, arm)] == pytest.approx([0.0, 0.0], abs=ROUNDING)
            assert n @ out < 0.0
        along = np.cross(axis, arm) / RADIUS
        for angle, none in ((0.01, True), (0.03, False)):
            f = np.cos(angle) * along + np.sin(angle) * axis
            n = normal_to_line(tuple(axis), tuple(arm), tuple(f), NEAREST)
            assert (np.linalg.norm(n) == 0.0) == none


@pytest.mark.parametrize("cosine", [0.0, -0.3, -0.8])
def test_normals_of_rims_point_into_the_first(cosine):
    """Between its axis and its side, whose normal has a cosine with the axis."""
    rng = np.random.default_rng(3)
    for share in np.linspace(0.02, 0.98, 9):
        axis = unit(rng)
        arm = circle(axis, RADIUS)(rng.uniform(0.0, 6.0))
        side = cosine * axis + np.sqrt(1.0 - cosine**2) * arm / RADIUS
        out = (1.0 - share) * axis + share * side
        out /= np.linalg.norm(out)
        f = np.cross(out, unit(rng))  # a tangent of another circle
        other = np.cross(f, unit(rng))
        other /= np.linalg.norm(other)
        far = OTHER * np.cross(f, other) / np.linalg.norm(f)
        n = normal_of_circles(tuple(axis), tuple(arm), cosine, tuple(other), tuple(far))
        assert n == pytest.approx(-out, abs=1e-9)
        turned = axis * 0.01 + arm / RADIUS
        n = normal_of_circles(
            tuple(axis), tuple(arm), cosine, tuple(turned / np.linalg.norm(turned)), tuple(arm)
        )
        assert np.linalg.norm(n) == 0.0  # tangents are parallel


def test_circles_are_nearest_where_no_place_is_nearer():
    """From the places that are not farther than those beside them; one of them is the nearest."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        axis, other, y = unit(rng), unit(rng), 0.6 * unit(rng)
        args, found = (tuple(axis), RADIUS), []
        places = [np.array(sample(*args, j)) for j in range(PLACES)]
        assert np.linalg.norm(places, axis=1) == pytest.approx(RADIUS)
        assert np.array(places) @ axis == pytest.approx(0.0, abs=ROUNDING)
        chord = 2.0 * RADIUS * np.sin(np.pi / PLACES)
        gaps = np.linalg.norm(np.diff([*places, places[0]], axis=0), axis=1)
        assert gaps == pytest.approx(chord)
        apart = [to_circle(x, y, other, OTHER) for x in places]
        for j in range(PLACES):
            beside = min(apart[j - 1], apart[(j + 1) % PLACES])
            assert is_nearest(*args, j, tuple(y), tuple(other), OTHER) == (apart[j] <= beside)
            if apart[j] > beside:
                continue
            start = np.array(start_of(*args, j, tuple(y), tuple(other), OTHER))
            t = least(
                lambda t, x=places[j], axis=axis, y=y, other=other: to_circle(
                    np.cos(t) * x + np.sin(t) * np.cross(axis, x), y, other, OTHER
                ),
                0.0,
                2.0 * np.pi / PLACES,
            ).x
            expected = np.cos(t) * places[j] + np.sin(t) * np.cross(axis, places[j])
            assert start == pytest.approx(expected, abs=1e-3 * RADIUS)  # golden sections
            arm, far, known = arms_between(tuple(axis), tuple(start), tuple(y), tuple(other), OTHER)
            arm, far = np.array(arm), np.array(far)
            assert known
            assert arm == pytest.approx(expected, abs=1e-6)
            assert np.linalg.norm(far) == pytest.approx(OTHER)
            gap = np.linalg.norm(arm - y - far)
            assert gap == pytest.approx(to_circle(arm, y, other, OTHER))
            off = arm - y - far
            assert off @ np.cross(axis, arm) == pytest.approx(0.0, abs=1e-9)
            found.append(gap)
        assert min(found) <= min(apart)


def test_circles_about_one_axis_have_no_nearest_place():
    """Whatever the place is, the distance is the same; numbers without rounding."""
    up, down = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
    assert not arms_between(up, (0.5, 0.0, 0.0), (0.0, 0.0, 0.125), down, 0.25)[2]


def test_circles_that_overlap_are_least_far_across():
    """The direction in which two rims are farthest apart, by SciPy: Newton's method ends in it."""
    rng, seen = np.random.default_rng(5), 0
    for _ in range(20):
        axis = unit(rng)
        other = 0.5 * unit(rng) - axis
        other /= np.linalg.norm(other)
        y = 0.3 * unit(rng)
        y -= (y @ axis + 0.02) * axis

        def apart(n, axis=axis, other=other, y=y):
            n = n / np.linalg.norm(n)
            sizes = (
                RADIUS * np.linalg.norm(np.cross(axis, n)),
                OTHER * np.linalg.norm(np.cross(other, n)),
            )
            return -(n @ -y - sum(sizes))

        ends = [minimize(apart, other - axis + 0.3 * unit(rng), tol=1e-12) for _ in range(2)]
        best = min(ends, key=lambda end: end.fun)
        n = best.x / np.linalg.norm(best.x)
        arm = np.array(start_of(tuple(axis), RADIUS, PLACES, tuple(y), tuple(other), OTHER))
        assert np.linalg.norm(arm) == pytest.approx(RADIUS)
        across = -n + (n @ axis) * axis
        expected = RADIUS * across / np.linalg.norm(across)
        seen += np.linalg.norm(arm - expected) < 0.05 * RADIUS
    assert seen >= 12  # of 20; its steps are few where the circles are nearly parallel
