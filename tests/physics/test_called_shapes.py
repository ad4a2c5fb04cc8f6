"""Kernels of other shapes than planes, which are compiled when they are called."""

import numba
import pytest

from nmdp_pin import FrictionCone, Simulator, Terrain, free_body
from nmdp_pin._kernels.geometry.shape_selection import select_shapes
from nmdp_pin._kernels.geometry.shapes import bend_shapes, place_shapes
from nmdp_pin._kernels.geometry.shares import share_depths, share_wrenches
from nmdp_pin._terrain import Box

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are not compiled")
CALLED = (select_shapes, place_shapes, bend_shapes, share_depths, share_wrenches)


def test_all_are_called_in_a_step_that_touches_nothing():
    """So a first step compiles them, and a run after it is timed without most of compilation."""
    body = free_body("body", Box(size=(0.1, 0.1, 0.1)), mass=1.0, position=(0.0, 0.0, 3.0))
    ground = Terrain(Box(size=(1.0, 1.0, 1.0)))
    simulator = Simulator(body, ground, FrictionCone(stiffness=1e5), "ne-nmdp")
    assert simulator.step(simulator.state(), None, 0.01).contact_depths.max() == 0.0
    assert [kernel.__name__ for kernel in CALLED if not kernel.overloads] == []
