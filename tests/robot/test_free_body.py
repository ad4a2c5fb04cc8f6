"""Free bodies: their mass and where it is."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import free_body, load_robot, together
from nmdp_pin.errors import RobotError
from nmdp_pin.terrain import Box


@pytest.mark.parametrize("given", [{"mass": 2.5}, {"density": 2.5 / 0.006}])
def test_a_box_has_the_inertia_of_its_mass(given):
    """That of pinocchio's box, at the place of the shape."""
    shape = Box(size=(0.1, 0.2, 0.3), position=(0.5, 0.0, 0.0), rpy=(0.0, 0.0, 0.5 * np.pi))
    place = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.5 * np.pi), np.array([0.5, 0.0, 0.0]))
    expected = place.act(pin.Inertia.FromBox(2.5, 0.1, 0.2, 0.3)).matrix()
    found = free_body("body", shape, **given).model.inertias[-1]
    np.testing.assert_allclose(found.matrix(), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["torso", "hip", "universe", "root_x"])
def test_a_name_of_the_robot_is_taken(name):
    """A frame of two bodies would be that of the first one, or an error of pinocchio."""
    robot, box = load_robot("hopper", visuals=False), Box(size=(0.1, 0.1, 0.1))
    with pytest.raises(
        RobotError, match=f"'{name}': 'hopper' has a link, joint or object '{name}'"
    ):
        together(robot, [free_body(name, box, mass=1.0)])


def test_a_name_of_another_body_is_taken():
    """Also where they are put beside the robot one after the other."""
    crate = free_body("crate", Box(size=(0.1, 0.1, 0.1)), mass=1.0)
    both = together(load_robot("hopper", visuals=False), [crate])
    with pytest.raises(RobotError, match="'crate': 'hopper' has a link, joint or object 'crate"):
        together(both, [crate])
