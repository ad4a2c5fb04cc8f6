"""Planar sliding: the contact model."""

import pytest

from nmdp_pin.contact.planar_sliding import LimitSurface, PlanarSliding
from nmdp_pin.testing import WrenchSpaceContract

ELLIPSOID = LimitSurface.ellipsoid((0.5, 0.3, 0.2), length=0.1)
ARMS = tuple((0.1 * i, 0.02 - 0.03 * i, 0.01 * i) for i in range(8))
MODELS = (
    PlanarSliding(surface=ELLIPSOID, stiffness=1e4, power=2),
    PlanarSliding(surface=ELLIPSOID, stiffness=1e4, power=2, arms=ARMS, refinement=0),
    PlanarSliding(surface=ELLIPSOID, stiffness=1e5, frame="world", axis=(0.2, 1.0, 0.3)),
    PlanarSliding(surface=ELLIPSOID, stiffness=1e5, reference_friction=0.5, arms=ARMS),
)


class TestPlanarSliding(WrenchSpaceContract):
    @pytest.fixture(params=MODELS, ids=range(len(MODELS)))
    def space(self, request):
        return request.param
