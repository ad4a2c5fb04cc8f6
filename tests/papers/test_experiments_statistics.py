"""The statistics of the evaluations on curves whose answer is known."""

import numpy as np
import pytest

from nmdp_pin.papers.consistency import consistency
from nmdp_pin.papers.curve import Curve, time_grid
from nmdp_pin.papers.reference_error import final, mean_difference, rise

# Sums and interpolation of numbers of order one.
ROUNDING = 1e-12


def line(slope: float, step: float, end: float = 1.0) -> Curve:
    """The line slope * t, at the given step."""
    t = time_grid(step, end)
    return Curve(t, slope * t)


def test_grid_holds_both_ends():
    """A duration that is a multiple of the step up to rounding is on the grid."""
    assert np.allclose(time_grid(0.1, 0.3), [0.0, 0.1, 0.2, 0.3])
    assert len(time_grid(0.05, 10.0)) == 201
    assert time_grid(0.05, 0.12)[-1] == pytest.approx(0.1)


def test_spread_of_lines():
    """Lines of slopes -1, 0 and 1 are sqrt(2/3) t apart: half of that in the mean."""
    curves = [line(-1.0, 0.1), line(0.0, 0.05), line(1.0, 0.02)]
    found = consistency(curves, time_grid(0.1, 1.0))
    assert found.spread == pytest.approx(0.5 * np.sqrt(2.0 / 3.0), abs=ROUNDING)
    assert (found.runs, found.cut) == (3, 0)


def test_equal_curves_have_no_spread():
    """Steps that do not meet the grid change nothing where the motion is linear."""
    curves = [line(2.0, 0.1), line(2.0, 0.03, 0.99)]
    assert consistency(curves, time_grid(0.1, 0.9)).spread == pytest.approx(0.0, abs=ROUNDING)


def test_a_run_that_ends_early_is_counted():
    """It takes part as long as it lasts, and the others go on; the result says that it is cut."""
    curves = [line(0.0, 0.1), line(1.0, 0.1, 0.5), line(0.0, 0.1)]
    found = consistency(curves, time_grid(0.1, 1.0))
    spreads = np.sqrt(2.0) / 3.0 * time_grid(0.1, 0.5)  # of 0, t, 0
    assert found.spread == pytest.approx(spreads.sum() / 11, abs=ROUNDING)
    assert found.cut == 1


def test_one_run_left_has_no_spread():
    """Times at which a single run is left are left out; with no pair at all there is no answer."""
    grid = time_grid(0.1, 1.0)
    found = consistency([line(0.0, 0.1), line(1.0, 0.1, 0.5)], grid)
    assert found.spread == pytest.approx(0.5 * time_grid(0.1, 0.5).mean(), abs=ROUNDING)
    alone = consistency([line(1.0, 0.1)], grid)
    assert np.isnan(alone.spread)
    assert (alone.runs, alone.cut) == (1, 0)


def test_a_curve_does_not_reach_beyond_its_ends():
    """Interpolation gives no values where nothing was simulated."""
    y = line(1.0, 0.1, 0.5).on(np.array([0.25, 0.5, 0.6]))
    assert y[:2] == pytest.approx([0.25, 0.5])
    assert np.isnan(y[2])


def test_overflowing_runs_spread_without_end():
    """A run that exploded gives an infinite spread and no warning."""
    t = time_grid(0.5, 1.0)
    curves = [Curve(t, 0.0 * t), Curve(t, 1e200 * t)]
    assert consistency(curves, t).spread == np.inf


def test_rise_is_that_of_the_first_jump():
    """The apex before the given time counts, above where the curve starts."""
    t = time_grid(0.01, 3.0)
    hops = Curve(t, 1.0 + np.where(t < 1.5, 0.4, 0.9) * np.abs(np.sin(np.pi * t / 1.5)))
    assert rise(hops, 1.5) == pytest.approx(0.4)
    assert rise(hops, 3.0) == pytest.approx(0.9)
    assert np.isnan(rise(hops, 3.5))


def test_rise_of_a_coarse_curve_reaches_the_time():
    """The value at the given time counts though no row is there."""
    assert rise(line(1.0, 0.4, 2.0), 1.9) == pytest.approx(1.9)


def test_difference_from_a_reference():
    """Mean distance of two lines is half their last one; NaN where one of them ends before."""
    grid = time_grid(0.1, 1.0)
    assert mean_difference(line(1.5, 0.1), line(1.0, 0.01), grid) == pytest.approx(0.25)
    assert np.isnan(mean_difference(line(1.5, 0.1, 0.5), line(1.0, 0.01), grid))
    assert final(line(1.5, 0.1), 1.0) == pytest.approx(1.5)
    assert np.isnan(final(line(1.5, 0.1, 0.5), 1.0))
