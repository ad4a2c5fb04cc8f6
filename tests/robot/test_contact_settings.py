"""Semi-axes of contact points in a `robot.toml`, up to their bounds."""

import pytest
from pydantic import ValidationError

from nmdp_pin._robot.settings import ContactPoint

DISC = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def accepted(rows):
    """Whether semi-axes are taken, and why not."""
    try:
        ContactPoint(name="a", link="b", semi_axes=rows)
    except ValidationError as error:
        return str(error)
    return True


@pytest.mark.parametrize(
    "rows",
    [
        [],
        DISC,
        [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]],
        [[1.0, 0.0, 0.0], [0.9e-6, 1.0, 0.0]],
        [[2.0, 0.0, 0.0], [1.9e-6, 2.0, 0.0]],
        [[1.0, 0.0, 0.0], [0.0, 1.0 + 0.4e-6, 0.0]],
        [[0.0, 1.0 + 0.4e-6, 0.0], [1.0, 0.0, 0.0]],
    ],
)
def test_good_semi_axes(rows):
    """None, discs and ellipsoids, their lengths and angles up to 1e-6."""
    assert accepted(rows) is True


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (DISC[:1], "none, two or three vectors longer than 0"),
        ([[0.0] * 3, [0.0] * 3], "none, two or three vectors longer than 0"),
        ([*DISC, [0.0] * 3], "none, two or three vectors longer than 0"),
        ([[1.0, 0.0, 0.0], [1.1e-6, 1.0, 0.0]], "at right angles"),
        ([[1.0, 0.0, 0.0], [-1.1e-6, 1.0, 0.0]], "at right angles"),
        ([*DISC, [0.0, 1.1e-6, 1.0]], "at right angles"),
        ([[1.0, 0.0, 0.0], [0.0, 1.0 + 0.6e-6, 0.0]], "of the same length"),
        ([[0.0, 1.0 + 0.6e-6, 0.0], [1.0, 0.0, 0.0]], "of the same length"),
        ([*DISC, [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]], "at most 3 items"),
    ],
)
def test_bad_semi_axes(rows, why):
    """Others are refused with the reason."""
    assert why in accepted(rows)
