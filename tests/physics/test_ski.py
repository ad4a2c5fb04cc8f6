"""A ski on a slope against the closed form of its polytope, and a scenario of several models."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._contact import Mixed
from nmdp_pin._scenario import Scenario

G = 9.81  # [m/s^2]
SLOPE, HEADING = np.deg2rad(15.0), np.deg2rad(30.0)
ALONG, ACROSS = 0.05, 0.5  # friction coefficients
METHODS = ("ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp")
SPEED = 1e-4  # relative; what the start, not quite at rest in depth, leaves over
MOMENTUM = 1e-6  # relative; the direction of the slope is given to seven digits
BOB = 0.01  # [m/s]; less than 1 % of the load's impulse
BOBBING = 2e-3  # relative; BOB times the friction across, over the speed
SECONDS, H = 0.5, 0.01  # [s]
NORMAL = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])
AXES = np.array([[np.cos(SLOPE), 0.0, -np.sin(SLOPE)], [0.0, 1.0, 0.0], NORMAL])
STILL = 1e-6  # [m]


def speed(method="ne-nmdp", *settings):
    """Velocity of the ski at the end: down the slope, across it, and off it [m/s]."""
    overrides = [f'integrator.name="{method}"', f"integrator.dt={H}", *settings]
    setup = Scenario.load("ski-slope", overrides=overrides).build(visuals=False)
    run = setup.simulator.run(
        setup.state, setup.controller, dt=H, duration=SECONDS, on_failure="raise"
    )
    end = [*run][-1].state
    data = setup.robot.model.createData()
    pin.forwardKinematics(setup.robot.model, data, end.q, end.v)
    joint = setup.robot.model.njoints - 1
    v = pin.getVelocity(setup.robot.model, data, joint, pin.LOCAL_WORLD_ALIGNED).linear
    return AXES @ v


def expected():
    """Constant acceleration a with f on the polytope's edge that the motion is normal to.

    In the frame of the ski the edge from (-along, 0) to (-along cos 45, across sin 45) belongs to
    motions with the direction of its normal; how much of each end acts makes a point that way.
    """
    c = np.sqrt(0.5)
    ends = G * np.cos(SLOPE) * np.array([[-ALONG, 0.0], [-ALONG * c, ACROSS * c]])
    pull = G * np.sin(SLOPE) * np.array([np.cos(HEADING), -np.sin(HEADING)])
    edge = ends[1] - ends[0]
    # pull + ends[0] + s edge is normal to the edge
    s = -edge @ (pull + ends[0]) / (edge @ edge)
    assert 0.0 < s < 1.0
    a = pull + ends[0] + s * edge
    turn = np.array([[np.cos(HEADING), -np.sin(HEADING)], [np.sin(HEADING), np.cos(HEADING)]])
    return turn @ a * SECONDS, np.rad2deg(np.arctan2(-a[1], a[0]))


@pytest.mark.parametrize("method", METHODS)
def test_a_ski_runs_where_it_points(method):
    """Speed along and across as the polytope says, 2.4 degrees off the axis."""
    velocity, off = expected()
    assert off == pytest.approx(2.37, abs=0.01)
    assert speed(method, "integrator.order=1")[:2] == pytest.approx(velocity, rel=SPEED)
    # In second order nothing damps how it bobs on its contacts, and friction follows their load.
    assert speed(method)[:2] == pytest.approx(velocity, rel=BOBBING)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_straight_down(method, order):
    """Down the fall line friction is mu times the load's impulse, m (g cos a t + v_normal)."""
    down, _, normal = speed(
        method, "robot.initial.rpy=[0, 0.2617993878, 0]", f"integrator.order={order}"
    )
    load = G * np.cos(SLOPE) * SECONDS + normal
    assert down == pytest.approx(G * np.sin(SLOPE) * SECONDS - ALONG * load, rel=MOMENTUM)
    assert abs(normal) < BOB


def test_across_the_slope_it_holds():
    """Turned by 90 degrees the ski stays, as 0.5 > tan 15; with 0.2 across it slips down."""
    across = ["robot.initial.rpy=[0.2617993878, 0, 1.5707963268]", "contact.recovery=0"]
    assert np.abs(speed("ne-nmdp", *across)).max() <= STILL
    tight = "integrator.vi_newton={tolerance=1e-10, slip=1e-8}"
    down, aside, normal = speed("ne-nmdp", *across, "contact.across=0.4", tight)
    load = G * np.cos(SLOPE) * SECONDS + normal
    assert down == pytest.approx(G * np.sin(SLOPE) * SECONDS - 0.2 * load, rel=MOMENTUM)
    assert abs(aside) <= STILL


def test_with_the_mean_friction_it_stays():
    """Friction of the mean coefficient in all directions, 0.275 > tan 15, holds it."""
    settings = [
        'contact={model="friction-cone", static_depth=0.001, power=2, circumscribed=true}',
        "contact.recovery=0",
        "terrain.shapes.0.friction=0.275",
    ]
    assert np.abs(speed("ne-nmdp", *settings)).max() <= STILL


@pytest.mark.parametrize("method", METHODS)
def test_a_walk_with_three_kinds_of_feet(method):
    """Left on rock, right on ice, spikes on one: no step fails, and friction is what each has."""
    overrides = [f'integrator.name="{method}"']
    setup = Scenario.load("robosimian-walk-ice", overrides=overrides).build(visuals=False)
    assert isinstance(setup.simulator.contact, Mixed)
    run = setup.simulator.run(setup.state, setup.controller, dt=0.02, duration=2.0)
    results = list(run)
    assert all(result.status.ok for result in results)
    forces = np.array([result.contact_forces for result in results])
    level = np.linalg.norm(forces[:, :, :2], axis=2)
    share = np.divide(level, forces[:, :, 2], out=np.zeros_like(level), where=level > 1.0)
    most = dict(zip(setup.robot.contact_points.names, share.max(axis=0), strict=True))
    assert most["rear_right"] <= 0.05 * (1.0 + SPEED)
    assert 0.05 < most["front_right"] <= 0.6 * (1.0 + SPEED)
    assert 0.05 < min(most["front_left"], most["rear_left"])
    assert max(most["front_left"], most["rear_left"]) <= 0.7 * (1.0 + SPEED)
