"""Contacts of rims: wheels that roll, cylinders that stand and lie, against closed forms."""

import itertools
from functools import partial

import numpy as np
import pinocchio as pin
import pytest
from derivative_scenes import TIGHT, check
from pairwise import pairwise, spread
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from nmdp_pin import (
    Command,
    DryFriction,
    FrictionCone,
    Penalty,
    Plane,
    Scenario,
    Simulator,
    State,
    Terrain,
)
from nmdp_pin import run as simulate
from nmdp_pin._kernels.geometry.planes import place_contacts
from nmdp_pin._kernels.step.step_start import open_step
from nmdp_pin._robot.free_body import free_body
from nmdp_pin._terrain import Box, Capsule, Cylinder, Shape, Sphere

RADIUS, WIDTH = 0.1, 0.05  # [m]
DEEP = 5e-4  # [m] about the static depth of 1 kg on two or four contacts
ROLLED = 1e-3  # [-] of a distance or an acceleration, as asked for
BUMP = 1e-4  # [m] as asked for
AIMED = 1e-7  # [m] to which SciPy finds a point where the distance is least
CONE = FrictionCone(stiffness=1e6, power=2, recovery=0.0)  # what rests is still
LAWS = {"pbd": Penalty(), "pbfd": Penalty(), "ne-ncp": DryFriction()}
CREEP = 5e-3  # [-] of the spin, by which friction of a finite stiffness lets wheels slip
DAMPED = ["pbd-nmdp", "pbd", "pbfd"]  # in first order
ROLLING = ["ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp", "ne-mdp", "ne-ncp"]
LYING = pin.rpy.rpyToMatrix(np.pi / 2.0, 0.0, 0.0)  # the axis along y
GRAVITY = 9.81  # [m/s^2]


def cylinder(ground: Shape, **options) -> Simulator:
    """A cylinder of 1 kg on a ground."""
    body = free_body("wheel", Cylinder(radius=RADIUS, length=WIDTH, friction=0.8), mass=1.0)
    law = LAWS.get(options["method"], CONE)
    return Simulator(body, Terrain(ground), law, **options)


def state_of(position: np.ndarray, R: np.ndarray, v: np.ndarray, w: np.ndarray) -> State:
    """A state, by velocities in the world's axes."""
    q = np.concatenate([position, pin.Quaternion(R).coeffs()])
    return State(0.0, q, np.concatenate([R.T @ v, R.T @ w]))


def run(simulator: Simulator, state: State, h: float, n: int) -> list[State]:
    """The states of n steps."""
    states = []
    for _ in range(n):
        state = simulator.step(state, Command(), h).state
        states.append(state)
    return states


@spread({"h": [0.002, 0.01], "method": ROLLING})
def test_a_wheel_does_not_bump(method: str, h: float) -> None:
    """It rolls on as fast as it was, and its axle stays level."""
    start = state_of([0.0, 0.0, RADIUS - DEEP], LYING, [1.0, 0.0, 0.0], [0.0, 1.0 / RADIUS, 0.0])
    states = run(cylinder(Plane(), method=method), start, h, round(1.0 / h))
    heights = np.array([state.q[2] for state in states[len(states) // 4 :]])
    assert np.ptp(heights) < BUMP
    assert states[-1].q[0] == pytest.approx(1.0, rel=ROLLED)
    assert abs(states[-1].q[1]) < AIMED


@pytest.mark.parametrize("method", DAMPED)
@pytest.mark.parametrize("h", [0.002, 0.005, 0.01])
def test_a_wheel_is_slowed_as_its_spin_is_damped(method: str, h: float) -> None:
    """Backward Euler on material points takes h I w^3 off the momentum I w, and so off the wheel's.

    With I = m r^2 / 2 the spin of what rolls falls as dw/dt = -h w^3 / 3. Its axle stays level.
    """
    spin, order = 1.0 / RADIUS, {"order": 1} if method == "pbd-nmdp" else {}
    start = state_of([0.0, 0.0, RADIUS - DEEP], LYING, [1.0, 0.0, 0.0], [0.0, spin, 0.0])
    states = run(cylinder(Plane(), method=method, **order), start, h, round(1.0 / h))
    kept = (1.0 + 2.0 / 3.0 * h * spin**2) ** -0.5
    within = ROLLED if method == "pbd-nmdp" else CREEP
    assert np.linalg.norm(states[-1].v[3:]) == pytest.approx(kept * spin, rel=within)
    assert np.ptp([state.q[2] for state in states[len(states) // 4 :]]) < BUMP


@pytest.mark.parametrize("h", [0.002, 0.005, 0.01])
def test_a_cylinder_rolls_down_a_slope_damped(h: float) -> None:
    """In first order `pbd-nmdp` accelerates it by 2/3 g sin(a) - h r w^3 / 3."""
    a, n = 0.2, round(0.9 / h)
    normal = np.array([np.sin(a), 0.0, np.cos(a)])
    start = state_of((RADIUS - DEEP) * normal, LYING, np.zeros(3), np.zeros(3))
    simulator = cylinder(Plane(normal=tuple(normal)), method="pbd-nmdp", order=1)
    end = run(simulator, start, h, n)[-1]
    downhill = 2.0 / 3.0 * GRAVITY * np.sin(a) / RADIUS
    path = solve_ivp(lambda t, w: downhill - h * w**3 / 3.0, (0.0, n * h), [0.0], rtol=1e-8)
    assert np.linalg.norm(end.v[:3]) == pytest.approx(RADIUS * path.y[0, -1], rel=2.0 * ROLLED)


@pytest.mark.parametrize(
    ("method", "h"),
    [*itertools.product(ROLLING, [0.002, 0.01]), ("ne-nmdp", 0.03), ("ne-ncp", 0.03)],
)
def test_a_cylinder_rolls_down_a_slope(h: float, method: str) -> None:
    """It is accelerated by 2/3 g sin(a)."""
    a, n = 0.2, round(0.9 / h)
    normal = np.array([np.sin(a), 0.0, np.cos(a)])
    start = state_of((RADIUS - DEEP) * normal, LYING, np.zeros(3), np.zeros(3))
    simulator = cylinder(Plane(normal=tuple(normal)), method=method)
    end = run(simulator, start, h, n)[-1]
    expected = 2.0 / 3.0 * GRAVITY * np.sin(a) * n * h
    assert np.linalg.norm(end.v[:3]) == pytest.approx(expected, rel=ROLLED)


@pairwise({"h": [0.002, 0.01, 0.03], "lying": [False, True], "order": [1, 2]})
def test_a_cylinder_rests(h: float, lying: bool, order: int) -> None:
    """It stands on its rim and lies on its side, level, where it was put down."""
    R = LYING if lying else np.eye(3)
    height = (RADIUS if lying else 0.5 * WIDTH) - DEEP
    simulator = cylinder(Plane(), method="ne-nmdp", order=order)
    start = state_of([0.0, 0.0, height], R, np.zeros(3), np.zeros(3))
    end = run(simulator, start, h, 30)[-1]
    # n contacts bear the weight: n k d^2 = m g
    static = np.sqrt(GRAVITY / ((2 if lying else 4) * CONE.stiffness))
    assert end.q[2] - height == pytest.approx(DEEP - static, abs=static)
    assert pin.log3(R.T @ pin.Quaternion(end.q[3:]).matrix()) == pytest.approx(0.0, abs=AIMED)
    assert np.abs(end.v).max() < 1e-4


def test_a_coin_rolls_on_its_edge() -> None:
    """Thin, upright and fast, it keeps its lean, and its path is straight."""
    coin = free_body("coin", Cylinder(radius=0.012, length=0.002), mass=0.008)
    simulator = Simulator(coin, Terrain(Plane()), FrictionCone(stiffness=1e5, power=2), "ne-nmdp")
    start = state_of([0.0, 0.0, 0.0118], LYING, [0.5, 0.0, 0.0], [0.0, 0.5 / 0.012, 0.0])
    end = run(simulator, start, 0.005, 100)[-1]
    assert end.q[0] == pytest.approx(0.25, rel=0.01)
    assert abs(pin.Quaternion(end.q[3:]).matrix()[2, 2]) < 1e-3


GROUNDS: dict[str, Shape] = {
    "plane": Plane(normal=(0.1, 0.2, 1.0)),
    "box": Box(size=(1.0, 1.0, 0.4), position=(0.0, 0.0, -0.2), rpy=(0.1, 0.2, 0.3)),
    "sphere": Sphere(radius=0.6, position=(0.0, 0.0, -0.6)),
    "capsule": Capsule(radius=0.3, length=1.0, position=(0.0, 0.0, -0.3), rpy=(1.4, 0.1, 0.0)),
    "cylinder": Cylinder(radius=0.3, length=2.0, position=(0.0, 0.0, -0.3), rpy=(1.4, 0.1, 0.0)),
}


def distance_along(ground: Terrain, centre: np.ndarray, e: np.ndarray, angle: float) -> float:
    """Distance of a ground from the point at an angle of a circle with radii e, shape (2, 3)."""
    x = centre + np.array([np.cos(angle), np.sin(angle)]) @ e
    return float(ground.query(x[None]).distance[0])


@pytest.mark.parametrize("name", GROUNDS)
def test_the_contact_is_where_the_distance_is_least(name: str) -> None:
    """SciPy finds the same point along the rim, on planes, edges and round shapes."""
    rng, ground = np.random.default_rng(2), Terrain(GROUNDS[name])
    simulator = cylinder(GROUNDS[name], method="ne-nmdp")
    form = simulator.integrator.form
    memory, seen = form.new_memory(), 0
    for _ in range(20):
        R = pin.rpy.rpyToMatrix(*rng.uniform(-1.0, 1.0, 3)) @ LYING
        state = state_of(
            np.add(rng.uniform(-0.03, 0.03, 3), (0.0, 0.0, 0.12)), R, *np.zeros((2, 3))
        )
        open_step(form.record, form.start(state, [Command()], 0.01, None), memory)
        contacts, places = memory.stage.contacts, memory.origin.places
        place_contacts(form.candidates, contacts, memory.origin.P, places)
        for i in range(int(contacts.n[0])):
            c = contacts.index[i]
            if not contacts.rolls[c]:
                continue
            a = R @ np.cross(*form.candidates.semi_axes[c, :2]) / RADIUS**2
            e = np.linalg.svd(a[None])[2][1:]

            centre = state.q[:3] + R @ form.candidates.local[c]
            distance = partial(distance_along, ground, centre, RADIUS * e)
            angles = np.linspace(0.0, 2.0 * np.pi, 73)
            heights = np.array([distance(angle) for angle in angles[:-1]])
            least = (heights < np.roll(heights, 1)) & (heights < np.roll(heights, -1))
            found = [
                minimize_scalar(distance, bounds=(t - 0.1, t + 0.1), method="bounded").fun
                for t in angles[:-1][least]
            ]
            if places.on_internal_edge[i]:  # the second of a rim that has one
                assert form.candidates.slots[c] == 1
                assert len(found) == 1
                continue
            assert min(np.abs(np.add(found, places.depth[i]))) < AIMED
            seen += 1
    assert seen > 10


@pairwise(
    {"method": ["ne-nmdp", "pbd-nmdp"], "name": ["plane", "sphere", "capsule"], "order": [1, 2]}
)
def test_derivatives_of_a_rolling_wheel(method: str, name: str, order: int) -> None:
    """Those of a step are those of its differences: the contact moves, and its normal turns."""
    ground = {"plane": Plane(), "sphere": Sphere(radius=0.6, position=(0, 0, -0.6))}.get(name)
    ground = ground or Capsule(radius=0.3, length=2.0, position=(0, 0, -0.3), rpy=(1.57, 0, 0.4))
    R = pin.rpy.rpyToMatrix(0.0, 0.02, 0.1) @ LYING
    # it slides, far from rolling, where another direction of friction would begin to act
    start = state_of([0.0, 0.0, RADIUS - 2.0 * DEEP], R, [0.5, 0.7, -0.05], [0.3, -3.0, 0.2])
    wheel = cylinder(ground, method=method, order=order, vi_newton=TIGHT)
    check(wheel, start, Command(), 0.005)


def on_rails(kind: type[Capsule | Cylinder], **options) -> Simulator:
    """A standing cylinder of 1 kg on two parallel rails along x, 7 cm apart."""
    rails = [
        kind(radius=0.02, length=2.0, position=(0, y, -0.02), rpy=(0, np.pi / 2, 0), friction=0.4)
        for y in (-0.035, 0.035)
    ]
    body = free_body("foot", Cylinder(radius=0.05, length=0.08), mass=1.0)
    return Simulator(body, Terrain(rails), FrictionCone(stiffness=1e7, power=2), **options)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", [Capsule, Cylinder])
def test_a_flat_end_slides_along_rails(kind: type[Capsule | Cylinder], order: int) -> None:
    """Its rim touches each rail at two places; it goes v^2 / (2 mu g), and stays upright."""
    simulator, evaluations, v = on_rails(kind, method="ne-nmdp", order=order), [], 0.5
    state = state_of([0.0, 0.0, 0.04], np.eye(3), np.array([v, 0.0, 0.0]), np.zeros(3))
    for _ in range(40):
        result = simulator.step(state, None, 0.01)
        assert result.status.ok
        state = result.state
        evaluations.append(result.evaluations)
    far = v * v / (2.0 * 0.4 * GRAVITY)  # less half the way of a step in first order
    assert state.q[0] == pytest.approx(far if order == 2 else far - 0.5 * 0.01 * v, rel=0.02)
    assert state.q[1] == pytest.approx(0.0, abs=BUMP)
    assert np.abs(state.q[3:5]).max() < 1e-4
    assert result.max_penetration < 2.0 * DEEP
    assert np.mean(evaluations) < 2.5 * order


@pytest.mark.parametrize("kind", [Capsule, Cylinder])
def test_derivatives_on_rails(kind: type[Capsule | Cylinder]) -> None:
    """Both places of a rim move along it, as the differences of steps say."""
    simulator = on_rails(kind, method="ne-nmdp", order=1, vi_newton=TIGHT)
    start = state_of([0.0, 0.0, 0.0395], np.eye(3), [0.5, 0.1, -0.05], [0.05, 0.08, 0.3])
    check(simulator, start, Command(), 0.005)


def test_rims_are_of_the_geometry_of_a_link() -> None:
    """A cylinder has two, whose ends are as high as the cylinder in any pose."""
    body = free_body("wheel", Cylinder(radius=RADIUS, length=WIDTH), mass=1.0)
    points = body.contact_points
    assert len(points) == 2
    for tilt in (0.0, 0.4, np.pi / 2.0):
        R = pin.rpy.rpyToMatrix(tilt, 0.0, 0.3)
        q = np.concatenate([np.zeros(3), pin.Quaternion(R).coeffs()])
        low = -0.5 * WIDTH * np.cos(tilt) - RADIUS * np.sin(tilt)
        assert points.bottoms(body.model, q).min() == pytest.approx(low)


def test_a_rover_climbs_a_ramp() -> None:
    """Its wheels roll 3 m up a ramp and over hills."""
    recording = simulate(Scenario.load("rover-hills"))
    assert recording.q[:, 2].max() > 0.25
    assert recording.q[-1, 0] == pytest.approx(3.0, rel=0.02)
