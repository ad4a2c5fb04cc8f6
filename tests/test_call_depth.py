"""The calls between a step and the compiled kernels are few."""

import sys

import pytest

from nmdp_pin.dynamics import newton_euler, step_problem
from nmdp_pin.integrators import plastic
from nmdp_pin.scenario import Scenario
from nmdp_pin.solvers import vi_newton

MOST = 8  # frames, with that of Simulator.step
KERNELS = [
    (newton_euler, "newton_euler_inertia"),
    (step_problem, "subtract_cone_forces"),
    (step_problem, "linearise_cones"),
    (vi_newton, "josephy_newton"),
    (plastic, "step_ends"),
]


@pytest.mark.parametrize(("module", "name"), KERNELS)
def test_frames_from_a_step_to_a_kernel(module, name, monkeypatch):
    """Where a step needs neither another guess nor a division, whose calls lie deeper."""
    setup = Scenario.load("robosimian-walk", overrides=["integrator.dt=0.01"]).build(visuals=False)
    kernel, depths = getattr(module, name), []

    def counted(*arguments):
        frame, depth = sys._getframe(1), 1
        while frame.f_code.co_qualname != "Simulator.step":
            frame, depth = frame.f_back, depth + 1
        depths.append(depth)
        return kernel(*arguments)

    monkeypatch.setattr(module, name, counted)
    command = setup.controller.command(setup.state, 0.01)
    assert setup.simulator.step(setup.state, command, 0.01).status.ok
    assert depths
    assert max(depths) <= MOST
