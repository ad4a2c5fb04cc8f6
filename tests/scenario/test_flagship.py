"""The first scenario that a user runs: Robosimian jumps and lands on its feet."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import Scenario, run
from nmdp_pin._runs.run_warnings import recorded_warnings, start_warnings

JUMPS = 4
UPRIGHT = 2.0  # [degrees] of tilt at any time; measured: 0.4
RISE = 0.52, 0.66  # [m] of the first jump; README: 0.53 to 0.65
STANDS = 0.05  # [m] from the height of the start; measured: 0.02
STILL = 0.05  # [m/s, rad/s] of the base at the end


@pytest.mark.parametrize("ms", [5, 20, 50])
def test_it_jumps_and_stands(ms):
    """With any step it jumps four times, stays upright, stands still at the end, and none warns."""
    scenario = Scenario.load("robosimian-jump", overrides=[f"integrator.dt={ms / 1e3}"])
    setup = scenario.build(visuals=False)
    recording = run(scenario, setup=setup)
    assert recording.t[-1] == pytest.approx(10.0)
    assert not [*start_warnings(setup), *recorded_warnings(setup, recording)]
    turns = [pin.Quaternion(q[3:7]).toRotationMatrix() for q in recording.q]
    assert np.degrees(np.arccos(min(R[2, 2] for R in turns))) < UPRIGHT
    z = recording.base_position[:, 2] - recording.base_position[0, 2]
    assert RISE[0] < z[recording.t < 2.0].max() < RISE[1]
    high = z > RISE[0] / 2
    assert np.count_nonzero(high[1:] & ~high[:-1]) == JUMPS
    assert abs(z[-1]) < STANDS
    assert np.abs(recording.v[-1, :6]).max() < STILL
