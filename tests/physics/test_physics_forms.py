"""The Newton-Euler and the position-based form agree as the step goes to zero."""

import numpy as np
import pinocchio as pin
import pytest
from physics_scenes import CUBE, SOFT, block, cone, far_ground, ground, order, run
from tight_solves import TIGHT

from nmdp_pin._contact import FrictionCone
from nmdp_pin._robot import load_robot
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator

FORMS = ("ne-nmdp", "pbd-nmdp")
STEPS = (2.5e-4, 5e-4, 1e-3, 2e-3)
ORDER_TOLERANCE = 0.2
COARSE = 0.05  # [m, rad] of motions of the order of 1, at 2 ms


def swing(method: str, h: float, **options) -> np.ndarray:
    """Angles of the chain that swings from level for 0.2 s, before its end whips."""
    chain = load_robot("chain", visuals=False)
    contact = FrictionCone(stiffness=1.0)
    sim = Simulator(chain, far_ground(), contact, method, vi_newton=TIGHT, **options)
    return np.array([result.state.q for result in run(sim, sim.state(), h, 0.2)])


def drop(method: str, h: float, **options) -> np.ndarray:
    """Poses of a cube that falls on a corner, slides and falls over, for 0.4 s."""
    cube = block(CUBE)
    sim = Simulator(cube, ground(), cone(cube, depth=SOFT), method, **options)
    R = pin.rpy.rpyToMatrix(0.3, 0.4, 0.2)
    q = pin.SE3ToXYZQUAT(pin.SE3(R, np.array([0.0, 0.0, 0.25])))
    state = sim.state(q, np.array([0.5, 0.2, 0.0, 0.0, 2.0, 1.0]))
    results = run(sim, state, h, 0.4)
    assert any(result.contact_forces.any() for result in results)
    return np.array([result.state.q for result in results])


def jump(method: str, h: float, **options) -> np.ndarray:
    """Configurations of the first 0.4 s of Robosimian's jump."""
    overrides = [f'integrator.name="{method}"', 'integrator.objective="dissipation"']
    overrides += [f"integrator.{name}={value}" for name, value in options.items()]
    scenario = Scenario.load("robosimian-jump-paper", overrides=[*overrides, f"integrator.dt={h}"])
    setup = scenario.build(visuals=False)
    results = setup.simulator.run(
        setup.state, setup.controller, dt=h, duration=0.4, on_failure="raise"
    )
    return np.array([result.state.q for result in results])


@pytest.mark.parametrize("motion", [swing, drop, jump])
def test_the_forms_agree_to_first_order(motion):
    """The largest difference on the way is in proportion to the step."""
    apart = []
    for h in STEPS:
        ne, pbd = (motion(method, h, order=1) for method in FORMS)
        apart.append(np.abs(ne - pbd).max())
    assert order(STEPS, apart) == pytest.approx(1.0, abs=ORDER_TOLERANCE)
    assert apart[-1] < COARSE


@pytest.mark.parametrize("motion", [swing, jump])
def test_the_forms_of_second_order_agree_to_second_order(motion):
    """Where nothing hits the ground."""
    apart = []
    for h in STEPS[1:]:
        ne, pbd = (motion(method, h, order=2) for method in FORMS)
        apart.append(np.abs(ne - pbd).max())
    assert order(STEPS[1:], apart) == pytest.approx(2.0, abs=ORDER_TOLERANCE)
