"""Free bodies: their mass and where it is."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import free_body
from nmdp_pin.terrain import Box


@pytest.mark.parametrize("given", [{"mass": 2.5}, {"density": 2.5 / 0.006}])
def test_a_box_has_the_inertia_of_its_mass(given):
    """That of pinocchio's box, at the place of the shape."""
    shape = Box(size=(0.1, 0.2, 0.3), position=(0.5, 0.0, 0.0), rpy=(0.0, 0.0, 0.5 * np.pi))
    place = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.5 * np.pi), np.array([0.5, 0.0, 0.0]))
    expected = place.act(pin.Inertia.FromBox(2.5, 0.1, 0.2, 0.3)).matrix()
    found = free_body("body", shape, **given).model.inertias[-1]
    np.testing.assert_allclose(found.matrix(), expected, atol=1e-12)
