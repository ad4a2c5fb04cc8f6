"""Fitted contact models: the contract."""

import numpy as np
import pytest
from wrench_data import Slanted, grid, measured

from nmdp_pin.contact import FrictionCone
from nmdp_pin.contact.fitted import fit_hulls
from nmdp_pin.testing import WrenchSpaceContract

DEPTHS = np.linspace(0.01, 0.2, 6)
TILTS = np.linspace(-0.8, 0.8, 5)


def models():
    """One of forces and depth alone, one of wrenches, depth and tilt."""
    cone = FrictionCone(stiffness=1e4, power=2)
    forces = fit_hulls(measured(cone, DEPTHS[:, None], inner=10))
    wrenches = fit_hulls(measured(Slanted(), grid(DEPTHS, TILTS, TILTS), inner=4))
    return (forces.model, wrenches.model)


class TestFitted(WrenchSpaceContract):
    @pytest.fixture(params=models(), ids=["forces", "wrenches"])
    def space(self, request):
        return request.param
