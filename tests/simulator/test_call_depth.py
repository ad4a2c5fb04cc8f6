"""The calls between a step and the compiled kernels are few."""

import sys

import pytest

from nmdp_pin._integrators import nmdp, pbfd
from nmdp_pin._scenario import Scenario

MOST = 6  # frames, with those of Simulator.step, of what controllers say and np.errstate
KERNELS = {
    "ne-nmdp": (nmdp, "make_step"),
    "pbd-nmdp": (nmdp, "make_step"),
    "pbfd": (pbfd, "minimise_step"),
}


@pytest.mark.parametrize("method", KERNELS)
def test_a_step_is_one_call_of_a_kernel(method, monkeypatch):
    """A few frames below the simulator's, where a step is not divided."""
    setup = Scenario.load(
        "robosimian-walk", overrides=["integrator.dt=0.01", f'integrator.name="{method}"']
    ).build(visuals=False)
    kernel, depths = getattr(*KERNELS[method]), []

    def counted(*arguments):
        frame, depth = sys._getframe(1), 1
        while frame.f_code.co_qualname != "Simulator.step":
            frame, depth = frame.f_back, depth + 1
        depths.append(depth)
        return kernel(*arguments)

    monkeypatch.setattr(*KERNELS[method], counted)
    command = setup.controller.command(setup.state, 0.01)
    assert setup.simulator.step(setup.state, command, 0.01).status.ok
    assert len(depths) == 1
    assert depths[0] <= MOST
