"""Feet in sand: sinkage and drag in closed form, and the principle that decides their wrenches."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from granular_series import alpha
from recorded_solves import recorded_solves

from nmdp_pin._contact.wrench_space import ContactState
from nmdp_pin._control.controller import Command
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._robot import Robot, load_robot
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.contact import MEDIA, Granular, Plate, Sphere

METHODS = ("ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp")
WEIGHT = 4.0 * 9.81  # [N] of the probe's slide
ROUNDING = 1e-9  # of weights and of wrenches, relative
TIGHT = ViNewton(tolerance=1e-8, slip=1e-6)  # of the weight, [m/s]
# The principle is solved to this work a step and contact [J]; the feet do joules.
WORK = 1e-4
# The table of a flat plate lags behind by up to 1.5 % of its radius.
LAG = 0.015
DRAG = 1e-2  # relative error of the table where a plate is on edge
# Methods agree as far as they are solved: a tolerance of 1e-5 m a step, here over twenty of them.
OF_HALVES = 1e-3  # [m, rad] where one of the methods has halved a step: another error of time
AGREEMENT = 1e-5  # [m]


def probe(radius: float, *, joints: tuple[str, ...] = ("drag", "sink"), z: float = 0.0) -> Robot:
    """The probe with its contact point at height z in the foot's frame."""
    return load_robot(
        "probe", joints=joints, contacts=[("foot", "foot", (0.0, 0.0, z), radius)], visuals=False
    )


def at(robot: Robot, q: list[float]) -> State:
    """At rest."""
    return State(0.0, np.array(q), np.zeros(len(q)))


def bearing(plate: Plate) -> float:
    """Force over depth of a flat plate that is pressed down, closed form [N/m]."""
    return float(alpha(MEDIA["generic"], 0.0, np.pi / 2)[1] * np.pi * plate.radius**2)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-zonmdp"])
def test_a_plate_that_is_let_down_sinks_until_it_is_carried(method):
    """Against a strong damper a flat plate stops at W / k, whatever the step."""
    plate = Plate(radius=0.03)
    sim = Simulator(probe(0.0), Terrain([Plane()]), Granular(intruder=plate), method)
    damped = Command(kd=np.array([0.0, 500.0]))
    for h in (0.01, 0.02, 0.05):
        state = at(sim.robot, [0.0, 0.0])
        for _ in range(round(1.5 / h)):
            state = sim.step(state, damped, h).state
        assert -state.q[1] == pytest.approx(WEIGHT / bearing(plate), abs=LAG * plate.radius)


def test_a_plate_that_is_let_go_sinks_twice_as_deep():
    """Let go, a flat plate stops at 2 W / k: half as deep it has its largest speed."""
    plate = Plate(radius=0.03)
    sim = Simulator(probe(0.0), Terrain([Plane()]), Granular(intruder=plate), "ne-nmdp")
    depth = {}
    for h in (0.002, 0.001):
        state = at(sim.robot, [0.0, 0.0])
        for _ in range(round(0.3 / h)):
            state = sim.step(state, None, h).state
        depth[h] = -state.q[1]
    exact = 2.0 * WEIGHT / bearing(plate)
    assert depth[0.002] < depth[0.001]
    assert 2.0 * depth[0.001] - depth[0.002] == pytest.approx(exact, abs=2 * LAG * plate.radius)


@pytest.mark.parametrize("method", METHODS)
def test_a_plate_on_edge_is_dragged_against_the_closed_form(method):
    """At constant depth: alpha_x(pi/2, 0) zeta pi R^2 z, at every step and speed."""
    plate, z = Plate(radius=0.03), 0.08
    robot = probe(0.0, joints=("drag",), z=-z - 0.04)
    space = Granular(intruder=plate, axis=(1.0, 0.0, 0.0), scale=0.5)
    sim = Simulator(robot, Terrain([Plane()]), space, method)
    exact = 0.5 * alpha(MEDIA["generic"], np.pi / 2, 0.0)[0] * np.pi * plate.radius**2 * z
    for h, speed in ((0.005, 0.5), (0.05, 0.05)):
        state = at(robot, [0.0])
        for _ in range(round(1.0 / h)):
            pulled = Command(kd=np.array([1e4]), v_target=np.array([speed + exact / 1e4]))
            result = sim.step(state, pulled, h)
            state = result.state
        assert state.v[0] == pytest.approx(speed, abs=DRAG * exact / 1e4)
        assert -result.contact_forces[0, 0] == pytest.approx(exact, rel=DRAG)


def test_the_foot_sticks_until_the_sand_gives_way():
    """Pulled with less than it can hold the foot does not creep, pulled with more it slides."""
    robot = probe(0.04)
    space = Granular(intruder=Sphere(radius=0.04))
    for method in METHODS:
        sim = Simulator(robot, Terrain([Plane()]), space, method, vi_newton=TIGHT)
        for pull, slides in ((6.0, False), (9.0, True)):
            state = at(robot, [0.0, 0.0165])
            for _ in range(40):
                state = sim.step(state, Command(tau=np.array([pull, 0.0])), 0.02).state
            assert (state.q[0] > 0.02) == slides
            if not slides:
                assert abs(state.v[0]) < 1e-7


def short_walk(method: str, h: float, **options) -> tuple[Simulator, list]:
    """Robosimian's first half second on sand: its start and results."""
    setup = Scenario.load("robosimian-walk-sand").build(visuals=False)
    sim = Simulator(setup.robot, setup.terrain, setup.simulator.contact, method, **options)
    results = list(sim.run(setup.state, setup.controller, dt=h, duration=0.5))
    assert all(result.status.name == "CONVERGED" for result in results)
    return sim, [replace(results[0], state=setup.state), *results]


def contacts_of(sim: Simulator, q: np.ndarray) -> ContactState:
    """Where the feet are."""
    robot, data = sim.robot, sim.robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    points = robot.contact_points
    places = [data.oMi[int(j)] for j in points.joints]
    centre = np.array([m.act(p) for m, p in zip(places, points.positions, strict=True)])
    surface = sim.terrain.query(centre)
    n = len(points)
    return ContactState(
        position=centre,
        rotation=np.array([m.rotation for m in places]),
        depth=points.radii - surface.distance,
        normal=surface.normal,
        curvature=surface.curvature,
        friction=surface.friction,
        radius=points.radii,
        surface=np.zeros(n, dtype=int),
        contact=np.arange(n),
    )


@pytest.mark.parametrize("method", METHODS)
def test_wrenches_are_in_the_space_and_resist_motion(method):
    """Every foot in every step: V w with w in the simplex, and no work done by the sand."""
    for h in (0.02, 0.05):
        sim, results = short_walk(method, h, order=1, vi_newton=TIGHT)  # order 2 gives means
        done = []
        before = contacts_of(sim, results[0].state.q)
        for result in results[1:]:
            now = contacts_of(sim, result.state.q)
            w = np.zeros((len(now.depth), sim.contact.n_vertices))
            w[result.state.warm.contacts] = result.state.warm.w
            assert w.min() >= 0.0
            assert w.sum(axis=1).max() <= 1.0 + ROUNDING
            wrench = (sim.contact.vertices(now) @ w[:, :, None])[:, :, 0]
            scale = np.abs(wrench).max()
            np.testing.assert_allclose(result.wrenches, wrench, atol=1e-6 * scale)
            turn = np.array(
                [pin.log3(b @ a.T) for a, b in zip(before.rotation, now.rotation, strict=True)]
            )
            move = np.concatenate([now.position - before.position, turn], axis=1)
            done.append((result.wrenches * move).sum(axis=1))
            before = now
        assert np.max(done) < WORK
        assert np.min(done) < -0.1  # it is not that nothing moves


def test_the_methods_agree():
    """First and zeroth order, Newton-Euler and position-based: the same motion."""
    made = {m: short_walk(m, 0.02, vi_newton=TIGHT)[1] for m in METHODS}
    last = {m: results[-1].state.q for m, results in made.items()}
    for form in ("ne", "pbd"):
        apart = np.abs(last[f"{form}-nmdp"] - last[f"{form}-zonmdp"]).max()
        halved = [[r.halvings for r in made[f"{form}-{name}"]] for name in ("nmdp", "zonmdp")]
        assert apart < (AGREEMENT if halved[0] == halved[1] else OF_HALVES)
    assert np.abs(last["ne-nmdp"] - last["pbd-nmdp"]).max() < 0.01


@pytest.mark.parametrize(
    ("method", "objective"), [("ne-nmdp", "kinetic"), ("ne-zonmdp", "end_effector")]
)
def test_objective_never_rises(method, objective, monkeypatch):
    """K falls along PGM's accepted iterates, first order and zeroth."""
    found = recorded_solves(monkeypatch)
    short_walk(method, 0.05, objective=objective)
    values = [np.array(result.values) for result in found if len(result.values) > 1]
    assert len(values) > 10
    for K in values:
        assert (np.diff(K) <= ROUNDING * K[:-1]).all()
