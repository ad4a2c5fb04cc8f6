"""Planar sliding: the contact model, and how blocks slide, spin and are pushed by it."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from model_runs import METHODS, checked_run
from pairwise import spread
from sliding_scenes import (
    CORNERS,
    DEPTH,
    HEIGHT,
    MASS,
    Finger,
    G,
    corner_patch,
    free_block,
    patch,
    pushed_block,
    quasi_static_push,
)
from wrench_data import contacts_at

from nmdp_pin._contact.patch_frame import PatchFrame
from nmdp_pin._control import Passive
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.contact import LimitSurface, PlanarSliding
from nmdp_pin.errors import ContactError
from nmdp_pin.testing import WrenchSpaceContract

ELLIPSOID = LimitSurface.ellipsoid((0.5, 0.3, 0.2), length=0.1)
ROUND = LimitSurface.ellipsoid((0.4, 0.4, 0.24), length=0.05)
ARMS = tuple((0.1 * i, 0.02 - 0.03 * i, 0.01 * i) for i in range(8))
MODELS = (
    PlanarSliding(surface=ELLIPSOID, stiffness=1e4, power=2, refinement=1),
    PlanarSliding(surface=ELLIPSOID, stiffness=1e4, power=2, arms=ARMS, refinement=0),
    PlanarSliding(surface=ELLIPSOID, stiffness=1e5, frame="world", axis=(0.2, 1.0, 0.3)),
    PlanarSliding(surface=ELLIPSOID, stiffness=1e5, reference_friction=0.5, arms=ARMS),
)
FLOOR = Terrain([Plane()])
ROUNDING = 1e-12  # relative
INSCRIBED = {0: 0.57, 1: 0.79, 2: 0.92, 3: 0.97}  # least friction of any direction, measured
WAY, SPEED, LEVER = 0.04, 0.02, 0.02  # [m, m/s, m] of the push
# Twist of a polytope under a load: normal of a face. Measured at 66 and at 258 vertices.
TURN = {2: 0.02, 3: 0.02}  # [rad], of 0.64 rad
SLIP = {2: 1e-3, 3: 3e-4}  # [m], of 26 mm


class TestPlanarSliding(WrenchSpaceContract):
    @pytest.fixture(params=MODELS, ids=range(len(MODELS)))
    def space(self, request):
        return request.param


def planar(V):
    """Planar loads (fx, fy, tau / length) per normal force of vertices (6, m) on level ground."""
    return (V[[0, 1, 5]] / V[2]).T / [1.0, 1.0, ELLIPSOID.length]


def test_vertices_are_on_the_limit_surface():
    """Per normal force k d^p each planar load has H = 1; there are no tipping moments."""
    space = PlanarSliding(surface=ELLIPSOID, stiffness=2e4, power=2)
    V = space.vertices(contacts_at(np.array([[0.01], [-0.01]])))
    assert not V[1].any()
    np.testing.assert_allclose(V[0, 2], 2.0, rtol=ROUNDING)
    np.testing.assert_allclose(ELLIPSOID.value(planar(V[0])), 1.0, rtol=ROUNDING)
    assert not V[0, 3:5].any()


@pytest.mark.parametrize("refinement", INSCRIBED)
def test_share_of_the_surface(refinement):
    """`inscribed` is the least reach of the vertices, and grows with the refinement."""
    space = PlanarSliding(surface=ELLIPSOID, stiffness=1.0, refinement=refinement)
    loads = planar(space.vertices(contacts_at(np.array([[0.01]])))[0])
    u = np.random.default_rng(0).standard_normal((2000, 3))
    share = (u @ loads.T).max(axis=1) / np.vecdot(u, ELLIPSOID.furthest(u))
    assert INSCRIBED[refinement] < space.inscribed
    assert space.inscribed == pytest.approx(share.min(), abs=0.03)  # two sets of directions


@pytest.mark.parametrize("frame", ["body", "world"])
def test_yaw_turns_the_surface(frame):
    """With the body; not where the axis is fixed in the world."""
    space = PlanarSliding(surface=ELLIPSOID, stiffness=1e4, frame=frame)
    level = contacts_at(np.array([[0.01]]))
    turned = level._replace(rotation=pin.utils.rotate("z", 0.7)[None])
    E = pin.utils.rotate("z", 0.7) if frame == "body" else np.eye(3)
    V, W = space.vertices(level)[0], space.vertices(turned)[0]
    for rows in (slice(0, 3), slice(3, 6)):
        np.testing.assert_allclose(W[rows], E @ V[rows], atol=ROUNDING * np.abs(V).max())


def test_a_shared_patch_is_one_patch():
    """Corners with the same weights exert the wrench of a single contact in the middle."""
    shared = PlanarSliding(surface=ELLIPSOID, stiffness=1e4, arms=CORNERS)
    single = replace(shared, arms=((0.0, 0.0, 0.0),))
    R = pin.exp3(np.array([0.1, 0.2, 0.5]))
    four = contacts_at(np.full((4, 1), 0.01))
    four = four._replace(
        position=np.array(CORNERS) @ R.T, rotation=np.tile(R, (4, 1, 1)), contact=np.arange(4)
    )
    one = four.take(np.array([0]))._replace(position=np.zeros((1, 3)))
    V, W = shared.vertices(four), single.vertices(one)[0]
    forces = V[:, :3].sum(axis=0)
    lever = np.cross(four.position[:, None], V[:, :3].transpose(0, 2, 1)).transpose(0, 2, 1)
    moments = (V[:, 3:] + lever).sum(axis=0)
    scale = ROUNDING * np.abs(V).max()
    np.testing.assert_allclose(forces, 4.0 * W[:3], atol=scale)
    np.testing.assert_allclose(moments, 4.0 * W[3:], atol=scale)


def test_friction_of_the_terrain():
    """Counts where the surface is said to hold for one coefficient, and else not."""
    state = contacts_at(np.array([[0.01]]), friction=0.6)
    fixed = PlanarSliding(surface=ELLIPSOID, stiffness=1e4)
    scaled = replace(fixed, reference_friction=0.3)
    V, W = fixed.vertices(state)[0], scaled.vertices(state)[0]
    np.testing.assert_allclose(planar(W), 2.0 * planar(V), rtol=ROUNDING, atol=ROUNDING)


def test_a_sphere_is_dragged_at_its_lowest_point():
    """The force acts a radius below the centre: M = -r n x F beside the torque about n."""
    space = PlanarSliding(surface=ELLIPSOID, stiffness=1e4)
    V = space.vertices(contacts_at(np.array([[0.01]]), radius=0.03))[0]
    expected = np.cross([0.0, 0.0, -0.03], V[:3].T)
    np.testing.assert_allclose(V[3:5].T, expected[:, :2], atol=ROUNDING)


def tilted(angle, yaw):
    """The block flat on a plane that descends along x, as deep as it rests there."""
    R = pin.utils.rotate("y", angle)
    height = 0.5 * HEIGHT - DEPTH * np.sqrt(np.cos(angle))
    M = pin.SE3(R @ pin.utils.rotate("z", yaw), R @ np.array([0.0, 0.0, height]))
    return pin.SE3ToXYZQUAT(M), Terrain([Plane(normal=(np.sin(angle), 0.0, np.cos(angle)))])


@spread({"method": METHODS, "objective": ["dissipation", "kinetic"]})
def test_runs(monkeypatch, method, objective):
    """A block slides and spins down a slope: converged, K falls, forces in the wrench space."""
    q, slope = tilted(0.2, 0.4)
    robot = free_block()
    space = replace(corner_patch(ELLIPSOID, refinement=1), recovery=0.0)
    state = Simulator(robot, slope, space, method).state(q, np.array([0.5, 0.1, 0, 0, 0, 5.0]))
    results = checked_run(
        monkeypatch, robot, slope, space, method, objective, state, dt=0.005, duration=0.1
    )
    if (method, objective) != ("pbd-zonmdp", "kinetic"):  # which gives up a step or two
        assert not any(result.halvings for result in results)
    assert np.abs(results[-1].state.v[3:5]).max() < 0.05  # it does not tip [rad/s]


def test_rests_where_the_surface_holds():
    """On a slope below the friction along its short axis the block stays, above it runs."""
    for angle, runs in ((0.9 * np.arctan(0.3), False), (1.1 * np.arctan(0.3), True)):
        q, slope = tilted(angle, 0.5 * np.pi)  # its y axis points along x: friction 0.3
        simulator = Simulator(free_block(), slope, corner_patch(ELLIPSOID), "ne-nmdp")
        state = simulator.state(q, np.zeros(6))
        way = [
            result.state.q[:3] @ [np.cos(angle), 0.0, -np.sin(angle)]
            for result in simulator.run(state, Passive(), dt=0.01, duration=0.2)
        ]
        steps = np.diff(way)
        expected = G * (np.sin(angle) - 0.3 * np.cos(angle)) if runs else 0.0
        found = (steps[-1] - steps[4]) / 0.01 / (0.01 * (len(steps) - 5))
        assert found == pytest.approx(expected, abs=0.01 * G)  # first order, and the polytope


def test_friction_of_a_sliding_and_spinning_block():
    """The first step's change of momentum is the load that resists its twist, A u / |u|_A."""
    q, floor = tilted(0.0, 0.0)
    robot = free_block()
    u = np.array([0.3, -0.2, 0.3])  # (vx, vy, length omega)
    v = np.array([u[0], u[1], 0.0, 0.0, 0.0, u[2] / ELLIPSOID.length])
    expected = -ELLIPSOID.furthest(u[None])[0]
    simulator = Simulator(robot, floor, corner_patch(ELLIPSOID, refinement=3), "ne-nmdp")
    h = 1e-3
    state = next(iter(simulator.run(simulator.state(q, v), Passive(), dt=h, duration=h))).state
    R = pin.Quaternion(state.q[3:]).matrix()
    end = np.concatenate([R @ state.v[:3], R @ state.v[3:]])  # in the world, where nothing turns
    inertia = pin.Inertia.FromBox(MASS, 0.1, 0.1, HEIGHT).inertia[2, 2]
    change = (end - v)[[0, 1, 5]] * [MASS, MASS, inertia / ELLIPSOID.length] / (MASS * G * h)
    np.testing.assert_allclose(change, expected, atol=0.05 * np.linalg.norm(expected))


def test_sliding_and_spinning_end_together():
    """As of a disc on a table: at a tenth of its speed the block still spins, and the reverse."""
    simulator = Simulator(free_block(), FLOOR, corner_patch(ROUND), "ne-nmdp")
    start = np.array([0.4, 0.0, 0.0, 0.0, 0.0, 8.0])
    run = simulator.run(simulator.state(v=start), Passive(), dt=0.002, duration=0.3)
    speeds = np.array([np.abs(result.state.v[[0, 5]]) / start[[0, 5]] for result in run])
    assert speeds[-1].max() < 1e-6
    first = int((speeds > 1e-3).all(axis=1).sum())  # the first of the two to end
    last = int((speeds > 1e-3).any(axis=1).sum())
    assert last - first <= 0.1 * last


@spread({"refinement": TURN, "method": ["ne-nmdp", "pbd-nmdp"]})
def test_quasi_static_push(method, refinement):
    """A finger beside the middle turns the block as the ellipsoid says, at three step sizes."""
    robot = pushed_block(LEVER)
    space = patch(ROUND, refinement=refinement)
    simulator = Simulator(
        robot, FLOOR, space, method, vi_newton=ViNewton(tolerance=1e-8, slip=1e-6)
    )
    for h in (0.04, 0.02, 0.01):
        run = simulator.run(
            simulator.state(), Finger(SPEED, 1e4), dt=h, duration=WAY / SPEED, on_failure="raise"
        )
        end = list(run)[-1].state.q
        slip, turn = quasi_static_push(ROUND, LEVER, end[1])[-1]
        assert turn < -0.6  # it has turned by a good angle [rad], away from the finger
        assert abs(end[3] - turn) < TURN[refinement]
        assert abs(end[2] - slip) < SLIP[refinement]


def test_a_central_push_does_not_turn():
    """A finger on the middle line pushes straight on."""
    simulator = Simulator(pushed_block(0.0), FLOOR, patch(ROUND), "ne-nmdp")
    run = simulator.run(simulator.state(), Finger(SPEED, 1e4), dt=0.02, duration=WAY / SPEED)
    end = list(run)[-1].state.q
    assert end[1] == pytest.approx(WAY, abs=5e-4)  # the spring gives by mu m g / k
    assert np.abs(end[2:]).max() < 1e-6  # [m, rad]; what the steps leave undone adds up


def test_pushed_block():
    """The bundled block leaves the line of the push for that of the grain, turns, and rests."""
    scenario = Scenario.load("pushed-block", overrides=["integrator.vi_newton.tolerance=1e-8"])
    setup = scenario.build(visuals=False)
    dt, duration = scenario.integrator.dt, scenario.duration
    run = setup.simulator.run(setup.state, setup.controller, dt=dt, duration=duration)
    end = list(run)[-1].state
    assert end.q[1] > 0.3 * end.q[0] > 0.03
    assert pin.rpy.matrixToRpy(pin.Quaternion(end.q[3:]).matrix())[2] > 0.2
    assert np.abs(end.v).max() < 5e-4  # corners creep within the tolerance of the slip, 1e-4 m/s


BAD = {
    "surface": ({"surface": 1.0}, "LimitSurface"),
    "stiffness": ({"stiffness": 0.0}, "stiffness"),
    "power": ({"power": 1.5}, "power"),
    "refinement": ({"refinement": 5}, "refinement"),
    "arms": ({"arms": ((0.0, 0.0),)}, "arms"),
    "no arms": ({"arms": ()}, "arms"),
    "axis": ({"axis": (0.0, 0.0, 0.0)}, "axis"),
    "frame": ({"frame": "moon"}, "frame must be 'body' or 'world', got 'moon'"),
    "friction": ({"reference_friction": -1.0}, "reference_friction"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_bad_parameters(change, message):
    """A parameter out of its range is refused by an error that names it."""
    with pytest.raises(ContactError, match=message):
        PlanarSliding(**({"surface": ELLIPSOID, "stiffness": 1.0} | change))


def test_bad_frames():
    """Frames by themselves are checked as well."""
    for bad in ({"frame": "moon"}, {"axis": (0.0, np.nan, 1.0)}):
        with pytest.raises(ContactError, match=next(iter(bad))):
            PatchFrame(**bad)


def test_arms_for_fewer_contacts():
    """Arms for two of three contacts are a mistake that is named."""
    space = PlanarSliding(surface=ELLIPSOID, stiffness=1.0, arms=ARMS[:2])
    state = contacts_at(np.full((3, 1), 0.01))._replace(contact=np.arange(3))
    with pytest.raises(ContactError, match="2 contact points"):
        space.vertices(state)
