"""Recovery of contacts: what an impact pressed in rises to its static depth."""

import functools
import itertools

import derivative_scenes as scenes
import numpy as np
import pinocchio as pin
import pytest
from derivative_scenes import check
from joint_scenes import LENGTH, MASS, pendulum
from pairwise import pairwise

from nmdp_pin import Command, FrictionCone, Plane, Scenario, Simulator, State, Terrain, load_robot
from nmdp_pin._contact import AnisotropicCone, FiniteDifferences, Mixed
from nmdp_pin._control import hold
from nmdp_pin._dynamics.joint_bounds import joints_of
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._robot import free_body, together, touching
from nmdp_pin._terrain import Box, Cylinder, Sphere
from nmdp_pin.derivatives import StepDifferentiator
from nmdp_pin.errors import ContactError

STIFFNESS, RATE = 1e4, 10.0  # [N/m^2], [1/s]
STATIC = np.sqrt(9.81 / (4.0 * STIFFNESS))  # [m] depth at which four corners bear 1 kg
NEAR = 0.01  # [-] of the static depth, a second after landing
CALM = 1.4  # [-] of (rho / p) d of the deepest contact; 1.3 in one step of order 2
# Differences over 3e-7 m are good to EXACT where steps are solved to a motion of 6e-13 m.
TIGHT = {"vi_newton": ViNewton(tolerance=1e-13, slip=1e-13)}
COMMAND = Command()
EXACT = 2e-6  # [-] of derivatives, whose differences are good to 1e-7


def cone(recovery=RATE, power=2, points=4):
    """The law of all these tests: so many points bear 1 kg at the same depth with any power."""
    stiffness = 9.81 / (points * STATIC**power)
    return FrictionCone(stiffness=stiffness, power=power, recovery=recovery)


def simulator(method="ne-nmdp", robot=None, law=None, shapes=None, **options):
    """A box on a plane, or others."""
    terrain = Terrain(shapes or Plane())
    return Simulator(robot or load_robot("box"), terrain, law or cone(), method, **options)


def raised(sim, height):
    """The state at a height above that of standing."""
    state = sim.state()
    q = state.q.copy()
    q[2] += height
    return State(0.0, q, state.v)


def run(sim, state, h, duration, command=COMMAND):
    """The results of steps, none of which fails."""
    for _ in range(round(duration / h)):
        result = sim.step(state, command, h)
        assert result.status.ok
        state = result.state
        yield result


def landed(sim, height, h, controller=None):
    """Depth over the static one, and the fastest rise [m/s], a second after a fall.

    Once it has landed it never leaves the ground, and no step fails or is halved. The normal forces
    at rest are the largest ones, k d^p, and bear the weight.
    """
    state, fastest, touched = raised(sim, height), 0.0, False
    for _ in range(round((1.0 + np.sqrt(2.0 * height / 9.81)) / h) + 1):
        command = controller.command(state, h) if controller else COMMAND
        result = sim.step(state, command, h)
        assert result.status.ok
        assert len(result.step_sizes) == 1
        state, fastest = result.state, max(fastest, result.state.v[2])
        touched |= result.contact_depths.max() > 0.0
        assert result.contact_depths.max() > 0.0 or not touched
    law, depths = sim.contact, np.maximum(result.contact_depths, 0.0)
    load = law.stiffness * (depths**law.power).sum()
    return (load / (9.81 * sim.robot.mass)) ** (1.0 / law.power), fastest


FALLS = [(0.1, 0.05), (0.4, 0.005), (0.5, 0.002), (0.5, 0.02), (0.5, 0.05)]  # height [m], step [s]


@pairwise(
    {
        "name": ["box", "ball"],
        ("height", "h"): FALLS,
        "order": [1, 2],
        ("method", "power"): [
            ("pbd-nmdp", 2),
            ("ne-zonmdp", 2),
            ("pbd-zonmdp", 2),
            *(("ne-nmdp", p) for p in (1, 2, 3)),
        ],
    }
)
def test_a_body_rests_at_its_static_depth(name, method, power, order, height, h):
    """A second after a fall, without a bounce; without recovery it stays up to 5 times as deep."""
    ball = free_body("ball", Sphere(radius=0.1), mass=1.0, position=(0.0, 0.0, 0.1))
    robot, points = (ball, 1) if name == "ball" else (None, 4)
    sim = simulator(method, robot, cone(power=power, points=points), order=order)
    depth, fastest = landed(sim, height, h)
    assert depth == pytest.approx(1.0, rel=NEAR)
    # its energy is taken up at d: d^(p+1) / ((p+1) static^p) = height + d
    taken_up = [1.0 / ((power + 1) * STATIC**power), *(power - 1) * [0.0], -1.0, -height]
    deepest = np.roots(taken_up).real.max()
    assert 0.0 < fastest < CALM * RATE / power * deepest


@pairwise({"name": ["go2", "anymal"], ("height", "h"): FALLS[:1] + FALLS[2:], "order": [1, 2]})
def test_a_robot_rests_at_its_static_depth(name, order, height, h):
    """Likewise on motors that do not throw it (5 Hz), with the recovery that laws have."""
    robot = feet_of(name)
    law = FrictionCone.for_robot(robot, static_depth=0.002, power=2)
    assert law.recovery == RATE
    ground = Terrain(Plane(height=robot.lowest_point, friction=0.7))
    sim = Simulator(robot, ground, law, order=order)
    depth, _ = landed(sim, height, h, hold(robot, frequency=5.0))
    assert depth == pytest.approx(1.0, rel=NEAR)


@functools.cache
def feet_of(name):
    """A robot of example-robot-data that touches by its feet."""
    return load_robot(name, contacts="feet", visuals=False)


def test_the_quadratic_program_recovers():
    """`ne-mdp` rests at the static depth, where it would stay three times as deep."""
    sim = simulator("ne-mdp")
    result = list(run(sim, raised(sim, 0.1), 0.005, 1.2))[-1]
    assert result.contact_depths.max() == pytest.approx(STATIC, rel=NEAR)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("h", [0.005, 0.05])
def test_a_ball_in_a_corner_rests_at_its_static_depth(order, h):
    """On a floor beside a wall that it falls along."""
    ball = free_body("ball", Sphere(radius=0.1), density=240.0, position=(0.0, 0.0, 0.1))
    wall = Box(size=(0.1, 2.0, 2.0), position=(0.149, 0.0, 0.5), friction=0.0)
    sim = simulator(robot=ball, shapes=[Plane(friction=0.5), wall], order=order)
    result = list(run(sim, raised(sim, 0.3), h, 1.3))[-1]
    static = np.sqrt(9.81 * pin.computeTotalMass(ball.model) / STIFFNESS)
    assert result.contact_depths.max() == pytest.approx(static, rel=NEAR)


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 2])
def test_depths_follow_the_closed_form(power, order):
    """Without inertia d^p decays to its static value at the rate rho; errors fall with h^order.

    d' = (rho / p) d (1 - s), s = (d_s / d)^p being the share of the largest force that carries it.
    """
    static, deep, time = 1e-4, 5e-4, 0.2  # so stiff that inertia counts for 1e-5
    law = FrictionCone(stiffness=9.81 / (4.0 * static**power), power=power, recovery=RATE)
    decay = np.exp(-RATE * time)
    expected = (static**power + (deep**power - static**power) * decay) ** (1.0 / power)
    errors = []
    for h in (0.04, 0.02, 0.01):
        sim = simulator(law=law, order=order, **TIGHT)
        result = list(run(sim, raised(sim, -deep), h, time))[-1]
        errors.append(abs(result.contact_depths.max() / expected - 1.0))
    assert errors[2] < 0.05 / 5 ** (order - 1)
    for coarse, fine in itertools.pairwise(errors):
        assert fine < coarse * 0.7**order


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("stiffness", [1e5, 1e7, np.inf])
def test_what_starts_deep_leaves_slowly(stiffness, order):
    """14 cm deep in a thin box, it gains no more energy than at rho d, 1.4 m/s, in any step."""
    radius, deep = 0.1, 0.14
    lying = {"position": (0.0, 0.0, radius - deep), "rpy": (np.pi / 2.0, 0.0, 0.0)}
    body = free_body("roll", Cylinder(radius=radius, length=0.2), mass=8.7, **lying)
    plate = Box(size=(1.0, 1.0, 0.05), position=(0.0, 0.0, -0.025))
    law = FrictionCone(stiffness=stiffness, recovery=RATE)
    sim = simulator(robot=body, law=law, shapes=plate, order=order)
    most = 0.5 * 8.7 * (RATE * deep) ** 2
    for h in (0.01, 0.03):
        for result in run(sim, sim.state(), h, 0.12):
            fallen = (radius - deep) - result.state.q[2]
            assert result.kinetic_energy < most + 8.7 * 9.81 * max(fallen, 0.0)


@pytest.mark.parametrize("order", [1, 2])
def test_a_stop_recovers(tmp_path, order):
    """A motor presses a pendulum against its stop: it rests where the stop bears it, in full."""
    robot = pendulum(tmp_path, limit=(-0.1, 10.0))
    command = Command(kp=np.array([100.0]), kd=np.zeros(1), q_target=np.array([-1.0]))
    sim = simulator(robot=robot, order=order)
    stiffness = joints_of(robot).stiffness[0]
    state = State(0.0, np.array([-0.12]), np.zeros(1))
    result = list(run(sim, state, 0.01, 2.0, command))[-1]
    q = result.state.q[0]
    torque = 100.0 * (q + 1.0) + 9.81 * MASS * LENGTH * np.sin(q)
    assert stiffness * (-0.1 - q) == pytest.approx(torque, rel=NEAR)


@pytest.mark.parametrize("h", [0.005, 0.02])
def test_energy_with_the_potential_of_the_contacts_falls(h):
    """What rises takes no more than k d^(p+1) / (p + 1) of each contact has stored."""
    sim = simulator(order=1)
    state, before = raised(sim, 0.4), np.inf
    for result in run(sim, state, h, 1.0):
        stored = STIFFNESS * (result.contact_depths**3).sum() / 3.0
        total = result.kinetic_energy + result.potential_energy + stored
        assert total <= before + 1e-9
        before = total


TILTS = [(0.0, 0.02), (0.0, 0.1), (0.6, 0.02)]  # speed [m/s], tilt [rad]


@pairwise(
    {("speed", "tilt"): TILTS, "method": ["ne-nmdp", "pbd-nmdp", "ne-zonmdp"], "order": [1, 2]}
)
def test_derivatives(method, order, speed, tilt):
    """They are those of differences of steps, on tilted corners that rise, and slide."""
    sim = simulator(method, order=order, **TIGHT)
    check(sim, pressed(sim, 0.03, tilt, speed), Command(), 0.01, step=1e-7, tolerance=EXACT)


def pressed(sim, depth, tilt, speed=0.0):
    """A state that much deeper than that of standing, turned, and in motion."""
    state = sim.state()
    turned = pin.Quaternion(pin.rpy.rpyToMatrix(tilt, 1.5 * tilt, 0.2))
    q = np.concatenate([state.q[:2], [state.q[2] - depth], turned.coeffs()])
    return State(0.0, q, np.array([speed, 0.3 * speed, -0.02, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ["rim", "boxes", "sloped", "mixed"])
def test_derivatives_of_other_contacts(name, order):
    """On a rim, an edge between two boxes, a cone of unequal axes, and a model in differences."""
    if name == "rim":
        wheel = free_body("wheel", Cylinder(radius=0.1, length=0.04, friction=0.8), mass=1.0)
        sim = simulator(robot=wheel, order=order, **TIGHT)
    elif name == "boxes":
        bodies = [
            free_body(f"b{k}", Box(size=(0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.1 + 0.18 * k))
            for k in range(2)
        ]
        sim = simulator(robot=touching(together(bodies[0], bodies[1:])), order=order, **TIGHT)
    else:
        law = AnisotropicCone(stiffness=STIFFNESS, along=0.5, power=2, recovery=RATE)
        if name == "mixed":
            law = Mixed(models=(FiniteDifferences(model=law), cone()), by_surface=[0])
        sim = simulator(law=law, order=order, **TIGHT)
    state = sim.state()
    rng = np.random.default_rng(0)
    turn = np.zeros(len(state.v))
    turn[2:6] = -0.02, 1.2 if name == "rim" else 0.2, 0.3, 0.1
    q = pin.integrate(sim.robot.model, state.q, turn)
    v = 0.1 * rng.standard_normal(len(state.v))
    tolerance = 100.0 * EXACT if name == "mixed" else EXACT  # its own derivative is in differences
    check(sim, State(0.0, q, v), Command(), 0.01, step=3e-7, tolerance=tolerance)


ROD = [0.43232, 0.15479, 0.0481, 0.88703]  # so tilted that three points of a rim bear it


@pytest.mark.parametrize("order", [1, 2])
def test_points_of_a_rim_are_named(order):
    """The derivative leaves out that others are chosen for another start: it is `one_sided`."""
    rod = free_body("rod", Cylinder(radius=0.02, length=0.3, friction=0.8), mass=1.0)
    sim = simulator(robot=rod, order=order, **TIGHT)
    v = np.array([0.16, 1.62, -1.08, -0.91, -1.09, -0.42])
    state = State(0.0, np.array([0.0, 0.0, 0.079, *ROD / np.linalg.norm(ROD)]), v)
    result = sim.step(state, COMMAND, 0.005)
    found = StepDifferentiator(sim)(state, COMMAND, 0.005, result=result)
    of_x, _ = scenes.differences(sim, state, COMMAND, 0.005, result=result, step=3e-7)
    assert scenes.error(found.dx_dx, of_x, 0.005) > 100.0 * EXACT
    landed = {"impact"} if order > 1 else set()
    assert {switch.kind for switch in found.one_sided} == {"rim"} | landed


def test_mixed_models_recover_each_at_its_rate():
    """Of two equal boxes on two floors the one on the floor that recovers rises."""
    bodies = [
        free_body(f"b{k}", Box(size=(0.2, 0.2, 0.2)), mass=1.0, position=(k, 0.0, 0.1))
        for k in range(2)
    ]
    floors = [Box(size=(0.8, 2.0, 1.0), position=(k, 0.0, -0.5)) for k in range(2)]
    law = Mixed(models=(cone(), cone(0.0)), by_surface=[0, 1])
    sim = simulator(robot=together(bodies[0], bodies[1:]), shapes=floors, law=law)
    state, depth = sim.state(), 2.0 * STATIC
    q = state.q.copy()
    q[[2, 9]] -= depth
    result = list(run(sim, State(0.0, q, state.v), 0.01, 1.0))[-1]
    assert result.state.q[2] == pytest.approx(0.1 - STATIC, abs=NEAR * STATIC)
    assert result.state.q[9] == pytest.approx(0.1 - depth, abs=NEAR * STATIC)


def test_a_scenario_recovers():
    """The key of the table is the option of the law."""
    for model in ("friction-cone", "anisotropic-cone"):
        overrides = ["contact.recovery=3", f"contact.model={model}", "contact.along=0.5"]
        scenario = Scenario.load("sliding-box", overrides=overrides[: 2 if model[0] == "f" else 3])
        assert scenario.build(visuals=False).simulator.contact.recovery == 3.0


def test_refused():
    """A rate below 0."""
    with pytest.raises(ContactError, match="recovery must be >= 0"):
        cone(-1.0)
    with pytest.raises(ContactError, match="recovery must be >= 0"):
        AnisotropicCone(stiffness=1.0, along=0.5, recovery=-1.0)
