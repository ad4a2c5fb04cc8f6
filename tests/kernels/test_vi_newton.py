"""Newton's method for variational inequalities in steps of a robot, and its options."""

import numpy as np
import pytest
from pairwise import pairwise

from nmdp_pin._integrators import nmdp
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._kernels.step import outcomes, step_records
from nmdp_pin._kernels.step import tolerances as tolerances_module
from nmdp_pin._kernels.step.stage_records import GAP, RESIDUAL, SLIP
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import IntegratorError


@pytest.mark.parametrize("name", ["tolerance", "slip", "max_iterations"])
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf])
def test_bad_options(name, value):
    """An option out of its range is named, with what was given."""
    with pytest.raises(IntegratorError, match=f"{name} must be .*{value}"):
        ViNewton(**{name: value})


@pairwise({"method": ["ne-nmdp", "pbd-nmdp"], "dt": [0.005, 0.05], "order": [1, 2]})
def test_steps_of_a_robot(method, dt, order, monkeypatch):
    """Every solve of a jump ends with slip and G within their tolerances, in few iterations."""
    make_step, iterations, stages = nmdp.make_step, 0, 0

    def recorded(step):
        nonlocal iterations, stages
        make_step(step)
        system, options, memory, end = step.system, step.options, step.memory, step.end
        if end.counts[outcomes.OUTCOME]:
            return
        iterations += end.counts[outcomes.ITERATIONS]
        made = (
            step.scheme if end.counts[step_records.ORDER] == step.scheme.order else step.first_order
        )
        stages += len(made.a)
        at = next(at for at in memory.points if np.array_equal(at.q, end.q))
        share = tolerances_module.share_of_tolerance(options, memory.stage)
        residual = tolerances_module.attainable(system, memory.stage, share * options.tolerance)
        assert at.sums[RESIDUAL] <= residual
        assert at.sums[SLIP] <= share * options.slip * made.a[-1, -1] * step.start.h
        assert at.sums[GAP] >= -1e-12 * system.tree.weight

    monkeypatch.setattr(nmdp, "make_step", recorded)
    setup = Scenario.load(
        "robosimian-jump-paper",
        overrides=[
            f'integrator.name="{method}"',
            f"integrator.dt={dt}",
            f"integrator.order={order}",
        ],
    ).build(visuals=False)
    results = list(setup.simulator.run(setup.state, setup.controller, dt=dt, duration=1.0))
    assert len(results) == round(1.0 / dt)
    assert all(result.status.ok for result in results)
    assert stages >= len(results)
    assert iterations < 10 * stages
