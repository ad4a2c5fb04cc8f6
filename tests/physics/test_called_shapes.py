"""Kernels of other shapes than planes, which are called through Python."""

import nmdp_pin._kernels.geometry.planes as planes
from nmdp_pin import FrictionCone, Simulator, Terrain, free_body
from nmdp_pin._terrain import Box


def test_all_are_called_in_a_step_that_touches_nothing(monkeypatch):
    """So a first step compiles them, and a run after it is timed without."""
    called, kernels = set(), planes._KERNELS

    def recorded(number):
        called.add(number)
        return kernels[number]

    monkeypatch.setattr(planes, "shape_kernel", recorded)
    body = free_body("body", Box(size=(0.1, 0.1, 0.1)), mass=1.0, position=(0.0, 0.0, 3.0))
    ground = Terrain(Box(size=(1.0, 1.0, 1.0)))
    simulator = Simulator(body, ground, FrictionCone(stiffness=1e5), "ne-nmdp")
    assert simulator.step(simulator.state(), None, 0.01).contact_depths.max() == 0.0
    assert called == {*range(len(kernels))}
