"""Kernels of other shapes than planes, which are called through Python."""

from nmdp_pin import FrictionCone, Simulator, Terrain, free_body
from nmdp_pin._kernels.geometry import shape_selection, shapes, shares
from nmdp_pin._terrain import Box

CALLED = (
    (shape_selection, "select_shapes"),
    (shapes, "place_shapes"),
    (shapes, "bend_shapes"),
    (shares, "share_depths"),
    (shares, "share_wrenches"),
)


def test_all_are_called_in_a_step_that_touches_nothing(monkeypatch):
    """So a first step compiles them, and a run after it is timed without."""
    called = set()

    def recorded(name, kernel):
        def call(*arguments):
            called.add(name)
            return kernel(*arguments)

        return call

    for module, name in CALLED:
        monkeypatch.setattr(module, name, recorded(name, getattr(module, name)))
    body = free_body("body", Box(size=(0.1, 0.1, 0.1)), mass=1.0, position=(0.0, 0.0, 3.0))
    ground = Terrain(Box(size=(1.0, 1.0, 1.0)))
    simulator = Simulator(body, ground, FrictionCone(stiffness=1e5), "ne-nmdp")
    assert simulator.step(simulator.state(), None, 0.01).contact_depths.max() == 0.0
    assert called == {name for _, name in CALLED}
