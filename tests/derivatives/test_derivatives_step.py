"""Derivatives of steps against central differences of the steps themselves."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import core_samples as samples
import derivative_scenes as scenes
import numpy as np
import physics_scenes as bodies
import pinocchio as pin
import pytest
from contact_laws import law_for
from derivative_scenes import check
from pairwise import pairwise

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Command
from nmdp_pin._control.controller import CommandSource
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._robot import ContactPoints, Robot, free_body
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import ErrorControl, Fixed, Halving
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Box, Plane, Sphere, Terrain
from nmdp_pin.derivatives import StepDifferentiator, Switch, step_derivatives
from nmdp_pin.errors import DerivativeError

RELATIVE = scenes.RELATIVE
REDUNDANT = 1e-5  # of four feet that share a load; their differences are good to 5e-6
MINIMISED = 1e-4  # of velocities that are known to the 1e-11 rad/s that PGM leaves
STEPPED = 1e-9  # [rad/s, m/s] of velocities of steps that are solved to rounding
SHALLOW = 1e-4  # differences over 1e-11 m
# Remainders of feet that stick are those of solutions below: 1e-10 m/s, of motions of 3e-12 m.
SMALLEST = 1e-6
SLOPE = 0.1  # of the order of Taylor remainders over a decade and a half
WRENCHES = {"vi_newton": ViNewton(tolerance=1e-12, slip=1e-10)}
H = scenes.H
FALL = 0.15  # [s] in which a body falls by more than 0.1 m in first order


@pairwise({"method": scenes.METHODS, "regime": scenes.REGIMES, "order": [1, 2]})
def test_a_box_on_a_floating_base(method, regime, order):
    """In flight, sticking and sliding, all methods: the error is below 2e-6, no kink reported."""
    sim, state = scenes.box(method, regime, order)
    minimised = regime != "flight" and order == 2 and " " in method
    found = check(sim, state, Command(), H, tolerance=MINIMISED if minimised else RELATIVE)
    assert not found.one_sided
    if regime == "sticking":
        v1 = found.dx_dx[sim.vector.nv :]
        assert np.abs(v1).max() <= RELATIVE / H, "a box that sticks has no velocity to change"


def test_a_ball_whose_weights_are_minimised():
    """It slides and spins, in second order: the error along one motion is below 1e-4."""
    ball = bodies.ball()
    sim = scenes.simulator(ball, bodies.ground(0.5), "ne-nmdp kinetic", order=2)
    q = ball.standing.copy()
    q[2] -= scenes.DEPTH
    state, space = sim.state(q, np.array([1.0, 0.3, 0.0, 0.2, 0.4, 0.1])), sim.vector
    result = sim.step(state, None, H)
    found = step_derivatives(sim, state, None, H, result=result)
    d = np.random.default_rng(0).standard_normal(space.ndx) * np.repeat([H, 1.0], space.nv)
    ends = []
    for s in (1e-6, -1e-6):
        start = space.unpack(space.integrate(space.pack(state), s * d))
        ends.append(scenes.end(sim, replace(start, warm=result.state.warm), Command(), H))
    slope = space.difference(ends[1], ends[0]) / 2e-6
    assert scenes.error((found.dx_dx @ d)[:, None], slope[:, None], H, False) <= MINIMISED


@pytest.mark.parametrize("regime", scenes.REGIMES)
@pytest.mark.parametrize("method", scenes.PENALTIES)
def test_a_box_on_penalty_contacts(method, regime):
    """Of pbd and pbfd, which have no weights: the error is below 2e-6, no kink reported."""
    sim, state = scenes.box(method, regime)
    found = check(sim, state, Command(), H)
    assert not found.one_sided
    assert found.settled


@pytest.mark.parametrize("method", [*scenes.PENALTIES, "ne-nmdp", "pbd-nmdp"])
def test_a_box_that_touches_unexpectedly(method):
    """It falls to the ground from farther than contacts are looked for where it is at rest."""
    box = free_body("box", Box(size=(0.2, 0.2, 0.2)), mass=1.0, position=(0.0, 0.0, 0.2))
    sim = scenes.simulator(box, bodies.ground(0.5), method)
    state = sim.state(v=np.array([0.1, 0.05, 0.0, 0.0, 0.0, 0.1]))
    assert sim.step(state, None, FALL).contact_depths.max() > 0.0
    check(sim, state, Command(), FALL)


@pytest.mark.parametrize("pushed", [False, True], ids=["standing", "pushed"])
@pytest.mark.parametrize(
    ("base", "method", "order"),
    [
        ("planar", "ne-nmdp", 2),
        ("planar", "pbd-nmdp", 1),
        ("planar", "ne-nmdp kinetic", 1),
        ("free-flyer", "ne-nmdp", 1),
        ("free-flyer", "pbd-nmdp", 2),
    ],
)
def test_robosimian_under_pd(base, method, order, pushed):
    """Many joints, redundant feet and gains: the error is below 1e-5."""
    sim, state, command = scenes.standing(base, method, pushed, order)
    check(sim, state, command, 2 * H, tolerance=REDUNDANT, of_command=REDUNDANT)


def test_threads_that_share_a_differentiator():
    """They get what one thread gets, to the bit."""
    sim, state = scenes.box("ne-nmdp", "sliding", 2)
    differentiate = StepDifferentiator(sim)
    lengths = np.linspace(0.5, 1.5, 40) * H
    expected = [differentiate(state, None, h).dx_dx for h in lengths]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda h: differentiate(state, None, h).dx_dx, lengths))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("order", [1, 2])
def test_a_chain_on_a_fixed_base(order):
    """Some links are held on the ground, the others swing: the error is below 2e-6."""
    sim, state = scenes.chain(order)
    result = sim.step(state, None, H)
    assert 0 < (result.contact_depths > 0.0).sum() < len(result.contact_depths)
    speeds = np.abs(result.state.v)
    assert speeds.min() < 1e-6 < 1.0 < speeds.max()
    check(sim, state, Command(), H)


@pytest.mark.parametrize(("kind", "order"), [("sphere", 1), ("tilted", 2)])
def test_curved_and_tilted_ground(kind, order):
    """Normals that turn: the vertices change with them, and the error is below 2e-6."""
    robot, rng = samples.robot("wheels+damping"), np.random.default_rng(3)
    q = samples.configuration(robot.model, rng, 0.4)
    ground = samples.ground_through(kind, samples.centres(robot, q))
    sim = scenes.simulator(robot, ground, "ne-nmdp", depth=5e-3, order=order)
    state = sim.state(q, rng.standard_normal(robot.model.nv))
    state = scenes.settled(sim, state, Command(), H, 5)
    assert sim.step(state, None, H).max_penetration > 0.0
    check(sim, state, Command(), H)


@pytest.mark.parametrize(
    ("name", "method", "order"),
    [
        ("robosimian-walk-sand", "ne-nmdp", 2),
        ("pushed-block", "ne-nmdp", 1),
        ("pushed-block", "ne-zonmdp", 2),
    ],
)
def test_models_of_wrenches(name, method, order):
    """Sand and a limit surface, six rows each: the error is below 2e-6."""
    setup = Scenario.load(name).build(visuals=False)
    made = setup.simulator
    sim = Simulator(made.robot, made.terrain, made.contact, method, order=order, **WRENCHES)
    assert sim.contact.rows == 6
    state = setup.state
    for _ in range(6):
        command = setup.controller.command(state, H)
        state = sim.step(state, command, H).state
    result = sim.step(state, command, H)
    assert len(result.step_sizes) == 1
    assert result.max_penetration > 0.0
    check(sim, state, command, H)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("regime", scenes.REGIMES)
def test_taylor_remainders_fall_with_the_square(regime, order):
    """|x1(x + s d) - x1(x) - s J d| has slope 2 or more, where the step is not linear."""
    sim, state = scenes.box("ne-nmdp", regime, order)
    if regime == "sticking":  # the box does not move at all: it is linear; so let joints move
        sim, state, command = scenes.standing("planar", "ne-nmdp", False, order)
    else:
        command = Command()
    sizes = np.geomspace(3e-5, 1e-3, 5) if regime != "sticking" else np.geomspace(SMALLEST, 1e-5, 5)
    slope = scenes.taylor_order(sim, state, command, H, sizes)
    assert slope > 2.0 - SLOPE


def test_a_contact_between_holding_and_leaving_is_one_sided():
    """Up, dv1/dv0 is one, down it is zero; the derivative is one of them, and says so."""
    sim, state = scenes.weightless_ball()
    found = step_derivatives(sim, state, None, H)
    assert found.status.ok
    assert {switch.kind for switch in found.one_sided} == {"weight"}
    assert {switch.contact for switch in found.one_sided} == {0}
    v = np.zeros(6)
    sides = []
    for step in (1e-4, -1e-4):
        v[2] = step
        sides.append(sim.step(replace(state, v=v.copy()), None, H).state.v[2] / step)
    assert sides == pytest.approx([1.0, 0.0], abs=1e-4)
    assert min(abs(found.dx_dx[8, 8] - side) for side in sides) <= 1e-4
    smooth = step_derivatives(sim, state, None, H, smoothing=1e-3)
    assert 0.05 < smooth.dx_dx[8, 8] < 0.95


@pytest.mark.parametrize("order", [1, 2])
def test_a_contact_at_touch_is_reported(order):
    """A ball that ends its step at the surface."""
    ball = bodies.weightless(bodies.ball())
    sim = scenes.simulator(ball, bodies.ground(), "ne-nmdp", order=order)
    q = ball.standing.copy()
    q[2] += 0.5 * H
    v = np.array([0.0, 0.0, -0.5, 0.0, 0.0, 0.0])
    assert Switch(0, "touch") in step_derivatives(sim, sim.state(q, v), None, H).one_sided
    assert not step_derivatives(sim, sim.state(q, 0.9 * v), None, H).one_sided


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("depth", [1e-5, 1e-7])
def test_first_touch_while_sliding(depth, order):
    """A ball that slides by centimetres and has sunk in by nanometres: one vertex acts, in full."""
    ball = bodies.ball()
    sim = scenes.simulator(ball, bodies.ground(0.5), "ne-nmdp", order=order)
    q = ball.standing.copy()
    q[2] += 0.02 * H - depth
    fall = 9.81 * H if order == 1 else 0.5 * 9.81 * H
    state = sim.state(q, np.array([3.0, 0.7, fall - 0.02, 0.0, 0.0, 0.0]))
    assert 0.5 * depth < sim.step(state, None, H).max_penetration < 2.0 * depth
    check(sim, state, Command(), H, step=1e-3 * depth, tolerance=SHALLOW)


@pytest.mark.parametrize(
    ("control", "order"),
    [(ErrorControl(rtol=0.2), 1), (ErrorControl(rtol=0.3), 2), (Halving(), 1)],
)
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_sub_steps_are_chained(method, control, order):
    """An impact in sub-steps: their derivatives are multiplied."""
    tight, state = scenes.box(method, "sliding")
    few = replace(tight.options["vi_newton"], max_iterations=3)
    options = {"order": order, "control": control}
    if control.name == "error":
        options |= tight.options | options
    else:
        options |= {"vi_newton": few, "restarts": False}
    sim = Simulator(tight.robot, tight.terrain, tight.contact, method, **options)
    space = sim.vector
    q = pin.integrate(sim.robot.model, state.q, np.array([0.0, 0.0, 1e-3, 0.01, 0.005, 0.0]))
    x = np.concatenate([q, [1.0, 0.3, -0.5, 0.2, 0.1, 0.4]])

    result = sim.step(space.unpack(x), None, 2 * H)
    assert result.status.ok
    assert len(result.step_sizes) >= 2
    found = StepDifferentiator(sim)(space.unpack(x), None, 2 * H, result=result)
    assert found.one_sided.count(Switch(-1, "sub-steps")) == 1
    for d in np.random.default_rng(0).standard_normal((3, space.ndx)):
        d[: space.nv] *= H
        ends = []
        for s in (1e-6, -1e-6):
            made = sim.step(space.unpack(space.integrate(x, s * d)), None, 2 * H)
            assert made.step_sizes == pytest.approx(result.step_sizes, rel=1e-12)
            ends.append(space.pack(made.state))
        slope = space.difference(ends[1], ends[0]) / 2e-6
        assert scenes.error((found.dx_dx @ d)[:, None], slope[:, None], H, False) <= RELATIVE


@pytest.mark.parametrize("field", ["of_state", "of_torque"])
def test_one_number_that_overflows_is_a_status(field, monkeypatch):
    """All derivatives are NaN then, and nothing is raised."""
    sim, state = scenes.box("ne-nmdp", "sliding")
    respond = type(sim.integrator).response

    def overflow(*args, **options):
        found = respond(*args, **options)
        getattr(found, field)[0, 1] = np.inf
        return found

    monkeypatch.setattr(type(sim.integrator), "response", overflow)
    found = step_derivatives(sim, state, None, H)
    assert found.status is Status.NOT_FINITE
    assert np.isnan(found.dx_dx).all()


def test_a_step_that_is_given_is_not_made_again(monkeypatch):
    """Its last sub-step is known, and so is a step without sub-steps."""
    sim, state = scenes.box("ne-nmdp", "sliding")
    result, differentiate = sim.step(state, None, H), StepDifferentiator(sim)
    monkeypatch.setattr(type(sim.integrator), "step", None)
    assert differentiate(state, None, H, result=result).status.ok


def test_a_step_of_second_order_made_in_first():
    """An impact that would rebound is made in first order, and differentiated so: below 2e-6."""
    sim, state = scenes.box("ne-nmdp", "sliding", 2)
    q = pin.integrate(sim.robot.model, state.q, np.array([0.0, 0.0, 1e-3, 0.05, 0.025, 0.0]))
    state = sim.state(q, np.array([1.0, 0.3, -1.0, 0.0, 0.0, 0.4]))
    result = sim.step(state, None, H)
    assert result.order == 1
    kinks = step_derivatives(sim, state, None, H, result=result).one_sided
    assert {switch.kind for switch in kinks} == {"impact"}
    check(sim, state, Command(), H)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_slides_that_end_in_second_order_are_one_sided(method):
    """Where a step would slide back it is repeated in first order, at other speeds it is not."""
    sim, rest = scenes.box(method, "sticking", 2)
    told, orders = [], []
    for speed in (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.5):
        state = sim.state(rest.q, speed * np.eye(6)[0])
        result = sim.step(state, None, 0.02)
        kinks = step_derivatives(sim, state, None, 0.02, result=result).one_sided
        told.append("impact" in {switch.kind for switch in kinks})
        orders.append(result.order)
    assert told == [False, *5 * [True], False]  # it rests, and from 0.5 m/s it slides on
    assert {*orders[1:6]} == {1, 2}


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_landings_in_second_order_are_one_sided(method):
    """A step that is repeated in first order from a height on jumps there: so both sides say."""
    ball = free_body("ball", Sphere(radius=0.1), mass=1.0)
    space, told, orders, ends = FrictionCone(stiffness=1e6, power=2), [], [], []
    for order in (1, 2):
        sim = Simulator(ball, Terrain(Plane()), space, method, order=order)
        for height in (0.0, 0.005, 0.01, 0.015, 0.02, 0.1):
            state = sim.state(np.array([0, 0, 0.1 + height, 0, 0, 0, 1.0]), -3.0 * np.eye(6)[2])
            result = sim.step(state, None, 0.02)
            kinds = step_derivatives(sim, state, None, 0.02, result=result).one_sided
            told.append(Switch(0, "impact") in kinds)
            orders.append(result.order)
            ends.append(result.state.v[2])
    assert told == 6 * [False] + 5 * [True] + [False]  # it falls 6.2 cm, and not from 10 cm
    assert {*orders[6:11]} == {1, 2}
    assert np.abs(np.diff(ends[6:11])).max() > 0.5  # the kink that is told


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_commands_that_move(method):
    """A source is asked at the end of each stage: the error of dx1/dx0 is below 2e-6."""

    class Ramp(CommandSource):
        def at(self, t):
            target = pin.integrate(sim.robot.model, command.q_target, 3.0 * t * rates)
            return replace(command, q_target=target)

    sim, state, command = scenes.standing("planar", method, True, 2)
    rates = np.zeros(sim.vector.nv)
    rates[sim.robot.driven] = 1.0
    result = sim.step(state, Ramp(), H)
    found = StepDifferentiator(sim)(state, Ramp(), H, result=result)
    space, x1 = sim.vector, sim.vector.pack(result.state)
    for d in np.random.default_rng(2).standard_normal((3, space.ndx)):
        ends = []
        for s in (1e-6, -1e-6):
            x = space.integrate(space.pack(state), s * d)
            start = replace(space.unpack(x), warm=result.state.warm)
            made = sim.step(start, Ramp(), H)
            ends.append(space.difference(x1, space.pack(made.state)))
        slope = (ends[0] - ends[1]) / 2e-6
        assert scenes.error((found.dx_dx @ d)[:, None], slope[:, None], H, False) <= RELATIVE


def test_a_failed_step_has_no_derivatives():
    """Bad numbers never raise: NaN, and the status of the step."""
    robot = bodies.block()
    contact = FrictionCone(stiffness=1e9, power=2)
    sim = Simulator(
        robot,
        bodies.ground(),
        contact,
        "ne-nmdp",
        vi_newton=ViNewton(max_iterations=1),
        restarts=False,
        control=Fixed(),
    )
    q = pin.integrate(robot.model, robot.standing, np.array([0, 0, -0.01, 0.02, 0.01, 0]))
    found = step_derivatives(
        sim, sim.state(q, np.full(6, 3.0)), None, H, with_respect_to=("friction", "kd")
    )
    assert found.status is found.result.status is not Status.CONVERGED
    assert found.dx_dx.shape == (12, 12)
    assert found.parameters["friction"].shape == (12, 1)
    assert found.parameters["kd"].shape == (12, 6)
    assert np.isnan(found.dx_dx).all()
    assert np.isnan(found.dx_du).all()


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [("ne-ncp", {}, "no derivatives of 'ne-ncp'"), ("ne-mdp", {}, "ne-nmdp")],
)
def test_what_has_no_derivatives_says_so(method, options, message):
    """A typed error that says what to use."""
    robot = bodies.block()
    sim = Simulator(
        robot, bodies.ground(), law_for(method, FrictionCone(stiffness=1e6)), method, **options
    )
    with pytest.raises(DerivativeError, match=message):
        StepDifferentiator(sim)


def composite(*parts):
    """A composite joint."""
    joint = pin.JointModelComposite(parts[0])
    for part in parts[1:]:
        joint.addJoint(part)
    return joint


def arm_with(joints):
    """A link on a hinge, joints without mass between them, and a link on these."""
    model, parent = pin.Model(), 0
    place = pin.SE3(pin.utils.rotate("x", 0.3), np.array([0.2, 0.0, 0.5]))
    inertia = pin.Inertia(0.7, np.array([0.1, 0.02, -0.03]), np.diag([0.011, 0.012, 0.013]))
    for k, joint in enumerate([pin.JointModelRY(), *joints]):
        parent = model.addJoint(parent, joint, place if k < 2 else pin.SE3.Identity(), f"j{k}")
        if k in (0, len(joints)):
            model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    points = ContactPoints((), np.zeros(0, dtype=int), np.zeros((0, 3)), np.zeros(0))
    robot = Robot("arm", model, points, np.arange(model.nv), pin.neutral(model))
    sim = Simulator(robot, bodies.ground(), FrictionCone(stiffness=1e4), order=1)
    q = pin.integrate(model, robot.standing, np.linspace(0.2, 0.5, model.nv))
    return sim, sim.state(q, np.linspace(-0.5, 0.5, model.nv))


PARTS = {
    "Universal": (pin.JointModelRX(), pin.JointModelRY()),
    "SphericalZYX": (pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX()),
    "Composite": (pin.JointModelRX(), pin.JointModelPY(), pin.JointModelRZ()),
}
TURNING = {
    "Universal": pin.JointModelUniversal(*np.eye(3)[:2]),
    "SphericalZYX": pin.JointModelSphericalZYX(),
    "Composite": composite(*PARTS["Composite"]),
}


@pytest.mark.parametrize("kind", TURNING)
def test_joints_whose_motions_turn(kind):
    """They step as their parts one after the other, which have derivatives; they are refused."""
    sim, state = arm_with([TURNING[kind]])
    with pytest.raises(DerivativeError, match=rf"'j1' \({kind}\) has motions that depend"):
        StepDifferentiator(sim)
    apart, same = arm_with(PARTS[kind])
    whole, parts = scenes.solved_to_rounding(sim), scenes.solved_to_rounding(apart)
    result, expected = whole.step(state, None, H), parts.step(same, None, H)
    np.testing.assert_allclose(result.state.v, expected.state.v, atol=STEPPED)
    check(apart, same, Command(), H)


@pytest.mark.parametrize(
    "joint", [composite(pin.JointModelPX(), pin.JointModelPY()), pin.JointModelHX(0.1)]
)
def test_other_joints_whose_motions_are_constant(joint):
    """Composite joints of slides, and screws: as central differences."""
    sim, state = arm_with([joint])
    check(sim, state, Command(), H)


def test_derivatives_of_steps_that_failed_stay_so():
    """A chain has the status of the first of its parts that failed, and products are plain."""
    sim, state = scenes.box("ne-nmdp", "flight")
    good = step_derivatives(sim, state, None, H, with_respect_to=("mass",))
    bad, worse = replace(good, status=Status.SINGULAR), replace(good, status=Status.NOT_FINITE)
    assert good.then(bad) is bad
    assert bad.then(good) is bad
    assert bad.then(worse) is bad
    both = good.then(good)
    assert both.status.ok
    np.testing.assert_array_equal(both.dx_dx, good.dx_dx @ good.dx_dx)
    twice = good.dx_dx @ good.parameters["mass"] + good.parameters["mass"]
    np.testing.assert_array_equal(both.parameters["mass"], twice)
    covector = np.arange(12.0)
    products = good.vjp(covector)
    np.testing.assert_array_equal(products["x"], covector @ good.dx_dx)
    np.testing.assert_array_equal(products["u"], covector @ good.dx_du)
    np.testing.assert_array_equal(products["mass"], covector @ good.parameters["mass"])
    assert not good.then(replace(good, settled=False)).settled
    assert not replace(good, settled=False).then(good).settled


def test_unknown_parameters_say_so():
    """A typed error with what is allowed."""
    sim, state = scenes.box("ne-nmdp", "flight")
    with pytest.raises(DerivativeError, match="friction"):
        step_derivatives(sim, state, None, H, with_respect_to=("colour",))
    with pytest.raises(DerivativeError, match="q_target"):
        step_derivatives(sim, state, None, H, with_respect_to=("kp",))
    with pytest.raises(DerivativeError, match="smoothing"):
        step_derivatives(sim, state, None, H, smoothing=-1.0)
