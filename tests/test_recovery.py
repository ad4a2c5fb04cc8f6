"""Recovery of contacts: what an impact pressed in rises to its static depth."""

import numpy as np
import pinocchio as pin
import pytest
from test_derivatives_step import check

from nmdp_pin import Command, FrictionCone, Plane, Scenario, Simulator, State, Terrain, load_robot
from nmdp_pin.errors import ContactError, IntegratorError

STIFFNESS, RATE = 1e4, 2.0  # [N/m^2], [1/s]
STATIC = np.sqrt(9.81 / (4.0 * STIFFNESS))  # [m] depth at which four corners bear 1 kg
NEAR = 0.03  # [-] of the static depth after a second; it bobs by 2 % in second order
CALM = 0.3  # [m/s] at which it may rise: twice rho d of the deepest contact, 7 cm


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("h", [0.005, 0.02, 0.05])
def test_a_box_rests_at_its_static_depth(method: str, order: int, h: float) -> None:
    """A second after a fall of 0.4 m; without recovery it stays 2 to 4 times as deep."""
    law = FrictionCone(stiffness=STIFFNESS, power=2, recovery=RATE)
    simulator = Simulator(load_robot("box"), Terrain(Plane()), law, method, order=order)
    state, fastest = simulator.state(), 0.0
    state = State(0.0, state.q + np.eye(7)[2] * 0.4, state.v)
    for _ in range(round(1.6 / h)):
        result = simulator.step(state, Command(), h)
        assert result.status.ok
        state, fastest = result.state, max(fastest, result.state.v[2])
    assert result.contact_depths.max() == pytest.approx(STATIC, rel=NEAR)
    assert 0.0 < fastest < CALM


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
@pytest.mark.parametrize(("speed", "tilt"), [(0.0, 0.0), (0.6, 0.02)])
def test_derivatives(method: str, order: int, speed: float, tilt: float) -> None:
    """Those of a step are those of its differences, rising on four corners and sliding."""
    law = FrictionCone(stiffness=STIFFNESS, power=2, recovery=20.0)
    simulator = Simulator(load_robot("box"), Terrain(Plane()), law, method, order=order)
    state = simulator.state()
    turned = pin.rpy.rpyToMatrix(tilt, 1.5 * tilt, 0.2)
    q = np.concatenate([state.q[:2], [state.q[2] - 0.03], pin.Quaternion(turned).coeffs()])
    v = np.array([speed, 0.3 * speed, -0.02, 0.0, 0.0, 0.0])
    check(simulator, State(0.0, q, v), Command(), 0.01)


def test_a_scenario_recovers() -> None:
    """The key of the table is the option of the law."""
    scenario = Scenario.load("sliding-box", overrides=["contact.recovery=3"])
    assert scenario.build(visuals=False).simulator.contact.recovery == 3.0


def test_refused() -> None:
    """A rate below 0, and methods without the principle."""
    with pytest.raises(ContactError, match="recovery must be >= 0"):
        FrictionCone(stiffness=1.0, recovery=-1.0)
    law = FrictionCone(stiffness=STIFFNESS, recovery=RATE)
    with pytest.raises(IntegratorError, match="no recovery"):
        Simulator(load_robot("box"), Terrain(Plane()), law, "ne-mdp")
    with pytest.raises(IntegratorError, match="no recovery"):
        Simulator(load_robot("box"), Terrain(Plane()), law, "ne-nmdp", objective="kinetic")
