"""Bodies that meet: momentum, impacts without bounce, pushing, sliding, rest on each other."""

from dataclasses import replace
from functools import partial

import numpy as np
import pinocchio as pin
import pytest
from body_scenes import FAR
from contact_laws import law_for
from physics_scenes import G, ground, weightless
from recorded_solves import recorded_solves
from urdf_samples import hinge, link, shape, write
from urdf_samples import robot as urdf

from nmdp_pin._contact import FrictionCone, stiffness_for_static_depth
from nmdp_pin._control import Command, Controller
from nmdp_pin._control.stable_pd import Passive
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._robot import (
    ContactPoints,
    Robot,
    free_body,
    load_robot,
    together,
    touching,
    with_frictions,
)
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Box, Capsule, Cylinder, Ellipsoid, Sphere

SOLVED = 1e-7  # [kg m/s] that residuals of 1e-8 of the weight of 3 kg add up to over 80 steps
# [kg m/s]; momentum of 2 kg m/s over 80 steps of two stages: a step of the impact leaves up to
# 5e-12, a force of 1e-9 N of 400, one in contact 2e-13, evaluated or predicted
ROUNDING = 1e-11
STEPS = (0.01, 0.005, 0.0025)
MDP = ("ne-nmdp", "ne-zonmdp", "pbd-nmdp", "pbd-zonmdp", "ne-mdp")
IMPLICIT = MDP[:4]
HARD = FrictionCone(stiffness=1e6, power=2, recovery=0.0)  # so that impacts are plastic


def momentum(robot, state):
    """Linear and angular momentum of everything about the world's origin, shape (6,)."""
    data = robot.model.createData()
    pin.computeCentroidalMomentum(robot.model, data, state.q, state.v)
    turned = data.hg.angular + np.cross(data.com[0], data.hg.linear)
    return np.r_[data.hg.linear, turned]


def collide(robot, method, h, velocity):
    """States from a start in which the first body moves, without gravity and ground."""
    robot = weightless(robot)
    sim = Simulator(robot, FAR, law_for(method, HARD), method)
    v = np.zeros(robot.model.nv)
    v[:6] = velocity
    state = sim.state(v=v)
    results = sim.run(state, Passive(), dt=h, duration=0.2, on_failure="raise")
    return robot, [state, *(result.state for result in results)]


def ball(name, x=0.0, mass=1.0):
    """A ball of 0.2 m."""
    return free_body(name, Sphere(radius=0.1, friction=0.4), mass=mass, position=(x, 0.0, 0.0))


@pytest.mark.parametrize("method", sorted(INTEGRATORS))
def test_momentum(method):
    """An oblique impact of a spinning ball on a box: linear momentum to rounding, angular to h."""
    box = Box(size=(0.3, 0.2, 0.4), friction=0.4)
    body = free_body("box", box, mass=2.0, position=(0.35, 0.02, 0.03))
    robot = touching(together(ball("ball"), [body]))
    lost = []
    for h in STEPS:
        robot, states = collide(robot, method, h, [2.0, 0.1, 0.0, 0.0, 3.0, 1.0])
        assert states[-1].v[6] > 0.3  # [m/s] the box was hit
        change = np.array([momentum(robot, s) - momentum(robot, states[0]) for s in states])
        left = SOLVED if method in ("pbd", "pbfd") else ROUNDING
        assert np.abs(change[:, :3]).max() <= left
        lost.append(np.abs(change[:, 3:]).max())
    # Falls with h, though where the impact lies within its step differs.
    assert lost[-1] < 0.8 * lost[0] < 0.8 * 2e-3


@pytest.mark.parametrize("method", [*MDP, "ne-ncp"])
def test_inelastic(method):
    """A ball that meets another head on goes on with it at the velocity of their centre of mass."""
    robot = touching(together(ball("a", mass=1.0), [ball("b", x=0.35, mass=3.0)]))
    _, states = collide(robot, method, 0.0025, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(states[-1].v[[0, 6]], 0.5, rtol=0.02)  # a hundredth is still to go


@pytest.mark.parametrize("method", ["pbd", "pbfd"])
def test_springs_do_not_gain(method):
    """Penalty forces give back a part of the energy of an impact, never more."""
    robot = touching(together(ball("a"), [ball("b", x=0.35)]))
    _, states = collide(robot, method, 0.0025, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    v = states[-1].v[[0, 6]]
    assert v.sum() == pytest.approx(2.0, abs=1e-9)
    assert (v**2).sum() <= 4.0


def stack(count):
    """Boxes on each other, each smaller than the one below: corners lie on faces."""
    boxes, top = [], 0.0
    for k in range(count):
        edge = 0.3 - 0.06 * k
        box = Box(size=(edge, edge, 0.1), friction=0.5)
        boxes.append(free_body(f"box{k}", box, mass=1.0, position=(0.0, 0.0, top + 0.05)))
        top += 0.1
    return touching(together(boxes[0], boxes[1:]))


@pytest.mark.parametrize("method", [*IMPLICIT, "pbfd", "ne-ncp"])
def test_stack_rests(method):
    """Three boxes on each other come to rest; each contact carries what is above it."""
    robot = stack(3)
    cone = FrictionCone(stiffness=stiffness_for_static_depth(1.0, 4, 1e-3, 2), power=2)
    sim = Simulator(robot, ground(0.5), law_for(method, cone), method)
    *_, last = sim.run(sim.state(), Passive(), dt=0.01, duration=1.0, on_failure="raise")
    touches, on = robot.contact_points.touches, robot.contact_points.joints
    levels = [2, 4, 6]  # joints of the boxes
    for k, joint in enumerate(levels):
        below = levels[k - 1] if k else 0
        load = last.contact_forces[(touches == below) & (on == joint), 2].sum()
        load -= last.contact_forces[(touches == joint) & (on == below), 2].sum()
        assert load == pytest.approx((3 - k) * G, rel=1e-3)
    assert np.abs(last.state.v).max() < 1e-3


def finger(speed):
    """A sphere on a slider along x at 5 cm of height, and what drives it at a constant speed."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "slider")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(0.2, 0.02), pin.SE3.Identity())
    model.addBodyFrame("tip", joint, pin.SE3.Identity(), 0)
    points = ContactPoints(
        ("tip",), np.array([joint]), np.array([[0.0, 0.0, 0.05]]), np.full(1, 0.02)
    )
    robot = Robot("finger", model, points, np.arange(1), np.zeros(1))
    return robot, partial(Drive, speed)


class Drive(Controller):
    """Velocity control of the slider."""

    def __init__(self, speed, nv):
        self.speed, self.nv = speed, nv

    def command(self, state, h):
        kd, v = np.zeros(self.nv), np.zeros(self.nv)
        kd[0], v[0] = 500.0, self.speed
        return Command(kd=kd, v_target=v)


@pytest.mark.parametrize("method", [*IMPLICIT, "ne-ncp", "pbfd"])
def test_pushed_box(method):
    """A box that is pushed by a smooth finger goes with it, and the finger feels mu m g."""
    robot, drive = finger(0.1)
    box = Box(size=(0.2, 0.3, 0.1), friction=0.0)
    body = free_body("box", box, mass=1.5, position=(0.13, 0.0, 0.05))
    robot = touching(together(robot, [body]), [("tip", "box")])
    cone = FrictionCone(
        stiffness=stiffness_for_static_depth(1.5, 4, 1e-4, 2), power=2, directions=8
    )
    sim = Simulator(robot, ground(0.4), law_for(method, cone), method)
    results = list(
        sim.run(sim.state(), drive(robot.model.nv), dt=0.01, duration=2.0, on_failure="raise")
    )
    last = results[-1].state
    assert last.q[1] > 0.15
    np.testing.assert_allclose(last.v[1], last.v[0], atol=1e-3)
    pushed = -results[-1].contact_forces[-1, 0]
    if method == "pbfd":  # whose friction grows with the speed
        assert 0.0 < pushed < 0.4 * 1.5 * G
    else:
        assert pushed == pytest.approx(0.4 * 1.5 * G, rel=0.01)


@pytest.mark.parametrize("h", STEPS)
def test_friction_between_bodies(h):
    """A box that slides on a cart on ice: each has the acceleration of Coulomb's friction."""
    cart = free_body("cart", Box(size=(1.0, 0.5, 0.1), friction=0.3), mass=2.0)
    small = Box(size=(0.1, 0.1, 0.05))
    robot = touching(together(cart, [free_body("box", small, mass=1.0, position=(0, 0, 0.1))]))
    robot = with_frictions(robot, {("cart", "terrain"): 0.0})
    cone = FrictionCone(stiffness=stiffness_for_static_depth(1.0, 4, 5e-4, 2), power=2)
    sim = Simulator(robot, ground(0.0), cone, "ne-nmdp")
    state = sim.state()
    q, v = state.q.copy(), state.v
    q[2], q[9] = 0.05 - 0.00087, 0.125 - 0.00137  # about as deep as they rest
    v[6] = 1.0
    *_, last = sim.run(sim.state(q, v), Passive(), dt=h, duration=0.15)
    expected = [0.15 * 0.3 * G / 2.0, 1.0 - 0.15 * 0.3 * G]
    np.testing.assert_allclose(last.state.v[[0, 6]], expected, atol=1e-3)


def short(name, method, duration, **options):
    """The end of a bundled scenario's first part, and the robot."""
    overrides = [f"integrator.name={method}"]
    overrides += [f"integrator.{key}={value}" for key, value in options.items()]
    scenario = Scenario.load(name, overrides=overrides)
    setup = scenario.build(visuals=False)
    dt = scenario.integrator.dt
    results = setup.simulator.run(
        setup.state, setup.controller, dt=dt, duration=duration, on_failure="raise"
    )
    return setup, list(results)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-zonmdp", "ne-ncp"])
def test_panda_pushes_a_box(method):
    """The fingertip takes the box along, and feels its friction and what speeds it up."""
    setup, results = short("panda-push", method, 0.8)
    points = setup.robot.contact_points
    forces = np.array([result.contact_forces for result in results[60:]])  # it moves by then
    tip = forces[:, points.names.index("fingertip on box")].mean(axis=0)
    load = forces[:, [name.startswith("box_") for name in points.names], 2].sum(axis=1).mean()
    box = setup.robot.model.getFrameId("box")
    data = setup.robot.model.createData()
    pin.framesForwardKinematics(setup.robot.model, data, results[-1].state.q)
    assert data.oMf[box].translation[0] > 0.47 + 0.04
    assert load == pytest.approx(2.0 * G + tip[2], rel=0.02)
    gained = 2.0 * (results[-1].state.v[7] - results[59].state.v[7]) / 0.2  # [N]
    assert -tip[0] - gained == pytest.approx(0.4 * load, rel=0.03)  # it veers between two edges


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-zonmdp"])
def test_finger_turns_a_block(method):
    """Pushed beside its middle a block turns away, within the ellipsoid of friction loads."""
    setup, results = short("finger-block", method, 1.2)
    block = setup.robot.model.getFrameId("block")
    data = setup.robot.model.createData()
    pin.framesForwardKinematics(setup.robot.model, data, results[-1].state.q)
    yaw = pin.rpy.matrixToRpy(data.oMf[block].rotation)[2]
    assert 0.2 < yaw < 1.0
    names = setup.robot.contact_points.names
    of_block = [name.startswith("block") for name in names]
    for result in results:
        wrenches = result.wrenches[of_block]
        normal = wrenches[:, 2].sum()
        assert np.hypot(*wrenches[:, :2].sum(axis=0)) <= 0.4 * normal * (1.0 + 1e-6) + 1e-6


@pytest.mark.parametrize("objective", ["kinetic", "end_effector"])
def test_objective_never_rises(objective, monkeypatch):
    """K falls along PGM's accepted iterates, first order and zeroth, while bodies touch."""
    found = recorded_solves(monkeypatch)
    for method in ("ne-nmdp", "pbd-zonmdp"):
        robot = stack(2)
        k = stiffness_for_static_depth(1.0, 4, 1e-3, 2)
        cone = FrictionCone(stiffness=k, power=2, recovery=0.0)
        sim = Simulator(robot, ground(0.5), cone, method, objective=objective)
        state = sim.state()
        state.v[6:8] = 0.5, 0.2  # the upper box slides on the lower one
        for result in sim.run(state, Passive(), dt=0.02, duration=0.2, on_failure="raise"):
            w = result.state.warm.w
            assert (w >= 0.0).all()
            assert (w.sum(axis=1) <= 1.0 + 1e-9).all()
    values = [np.array(result.values) for result in found if len(result.values) > 1]
    assert len(values) > 5
    for K in values:
        assert (np.diff(K) <= 1e-12 * K[:-1] + 1e-15).all()


@pytest.mark.parametrize(
    ("shape", "of_box"),
    [
        (Sphere(radius=0.1, position=(0.2, 0.1, -0.3)), 0),
        (Ellipsoid(radii=(0.1, 0.2, 0.3), position=(0.2, 0.1, -0.3), rpy=(0.1, 0.5, 1.0)), 8),
        (Capsule(radius=0.1, length=0.2, position=(0.2, 0.1, -0.3)), 8),
    ],
)
def test_which_shapes_corners_touch(shape, of_box):
    """A ball touches a box by its own point alone; corners touch ellipsoids and capsules, too."""
    box = free_body("box", Box(size=(0.2, 0.3, 0.4)), mass=1.0, position=(1.0, 0.0, 0.0))
    robot = touching(together(free_body("round", shape, mass=1.0), [box]))
    points = robot.contact_points
    (body, other) = sorted({*points.joints.tolist()})
    of_round = int((points.joints[points.touches == 0] == body).sum())
    assert int((points.touches == other).sum()) == of_round
    assert int((points.touches == body).sum()) == of_box


@pytest.mark.parametrize("field", ["radii", "positions", "semi_axes"])
def test_what_has_other_points_needs_corners(field):
    """An ellipsoid whose point is another than its own, and a ball, are touched by a box."""
    for solid in (Sphere(radius=0.1), Ellipsoid(radii=(0.1, 0.2, 0.3))):
        body = free_body("round", solid, mass=1.0)
        points = body.contact_points
        other = replace(points, **{field: getattr(points, field) + 0.01})
        box = free_body("box", Box(size=(0.2, 0.3, 0.4)), mass=1.0, position=(1.0, 0.0, 0.0))
        robot = touching(together(replace(body, contact_points=other), [box]))
        assert (robot.contact_points.touches == points.joints[0]).sum() == 8


def test_surfaces_are_those_of_the_description(tmp_path):
    """Shapes, sizes and places of the collision geometry; none is replaced by its hull."""
    kinds = {
        '<sphere radius="0.1"/>': Sphere(radius=0.1),
        '<box size="0.2 0.4 0.6"/>': Box(size=(0.2, 0.4, 0.6)),
        '<cylinder radius="0.1" length="0.6"/>': Cylinder(radius=0.1, length=0.6),
        '<capsule radius="0.1" length="0.6"/>': Capsule(radius=0.1, length=0.6),
    }
    parts = [link("base")]
    for k, geometry in enumerate(kinds):
        parts += [link(f"l{k}", shapes=shape("collision", geometry, "1 2 3"))]
        parts += [hinge(f"j{k}", "base", f"l{k}")]
    loaded = load_robot(write(tmp_path, urdf(*parts)), base="fixed")
    bodies = touching(loaded, [("l0", "l1"), ("l2", "l3")], friction=0.3)
    assert bodies.notes == loaded.notes
    for joint, expected in enumerate(kinds.values(), 1):
        (found,) = bodies.surfaces[joint].shapes
        assert found == replace(expected, position=(1.0, 2.0, 3.0), friction=0.3)
