"""Granular contact models keep the contract."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from nmdp_pin.contact import Granular, Plate, Rod, Sphere
from nmdp_pin.testing import WrenchSpaceContract

SHAPES: dict[str, dict[str, Any]] = {
    "rod": {"intruder": Rod(radius=0.02, length=0.15), "axis": (1.0, 0.2, -0.3)},
    "sphere": {"intruder": Sphere(radius=0.02), "medium": "poppy-seeds-loose", "azimuths": 4},
    "plate": {"intruder": Plate(radius=0.06), "medium": "poppy-seeds-close", "scale": 2.5},
}


@functools.cache
def granular(shape: str) -> Granular:
    """The model of a shape, whose table of wrenches takes half a second."""
    return Granular(**SHAPES[shape])


# Feet with an edge touch where their contact point is still above the ground; 2 mm below that touch
# central differences of 1e-6 m are off by 2.6e-6 (and by a quarter of it with half the step).
_TOUCH = 5e-6


class TestGranular(WrenchSpaceContract):
    """The whole suite, for every shape; tilts of up to 180 degrees occur in it."""

    tolerance = _TOUCH

    @pytest.fixture(params=SHAPES)
    def space(self, request):
        return granular(request.param)
