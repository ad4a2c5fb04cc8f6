"""Derivatives with respect to parameters, smoothed ones, and products along trajectories."""

from dataclasses import replace

import core_samples as samples
import derivative_scenes as scenes
import numpy as np
import pinocchio as pin
import pytest
from tight_solves import TIGHT

from nmdp_pin._contact import FiniteDifferences, FrictionCone, Penalty
from nmdp_pin._control import Command
from nmdp_pin._control.controller import ExternalWrench
from nmdp_pin._robot import free_body
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Box, Plane, Sphere, Terrain
from nmdp_pin.derivatives import (
    PARAMETERS,
    Horizon,
    StepDifferentiator,
    horizon_derivatives,
    step_derivatives,
)
from nmdp_pin.errors import DerivativeError

RELATIVE = 1e-5  # error against differences of the step
PRODUCT = 1e-12  # relative; the same products in another order
ONE_SIDED = 1e-3  # error of a difference to one side, where a mass is zero
LONG = 1e-4  # relative, over a horizon that multiplies the differences' own error
SLID = 2e-3  # relative; slides of 0.01 mm, of which the law gives way by some nanometres
H = scenes.H
STEPS = {  # of the differences: a change of the step's end of about 1e-6
    "tau": 1e-2,
    "kp": 1e-1,
    "kd": 1e-2,
    "q_target": 1e-5,
    "v_target": 1e-4,
    "force": 1e-2,
    "friction": 1e-6,
    "stiffness": 1e-6,
    "mass": 1e-5,
}


def stiffness_of(contact):
    """The name and the value of the stiffness of a contact law."""
    field = "stiffness" if hasattr(contact, "stiffness") else "normal_stiffness"
    return field, getattr(contact, field)


def changed(sim, command, name, index, step):
    """A simulator and a command with another value of a parameter."""
    robot, terrain, contact, options = sim.robot, sim.terrain, sim.contact, dict(sim.options)
    if name == "q_target":
        dq = np.zeros(robot.model.nv)
        dq[index] = step
        return sim, replace(command, q_target=pin.integrate(robot.model, command.q_target, dq))
    if name in ("tau", "kp", "kd", "v_target", "force"):
        value = getattr(command, name)
        value = np.zeros(robot.model.nv) if value is None else value.copy()
        value[index] += step
        return sim, replace(command, **{name: value})
    if name == "friction":
        shapes = list(terrain.shapes)
        shapes[index] = replace(shapes[index], friction=shapes[index].friction + step)
        terrain = Terrain(shapes)
    elif name == "stiffness":
        field, value = stiffness_of(contact)
        contact = replace(contact, **{field: value * (1.0 + step)})
    else:
        model = pin.Model(robot.model)
        old = model.inertias[index + 1]
        share = (old.mass + step) / old.mass if old.mass > 0.0 else 0.0
        model.inertias[index + 1] = pin.Inertia(old.mass + step, old.lever, share * old.inertia)
        robot = replace(robot, model=model)
    return Simulator(robot, terrain, contact, sim.method, **options), command


@pytest.mark.parametrize(
    ("method", "order", "name"),
    [
        *(
            (method, order, name)
            for method, order in (("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 2))
            for name in PARAMETERS
        ),
        *((method, 1, name) for method in ("pbd", "pbfd") for name in PARAMETERS),
        *(("ne-nmdp kinetic", 1, name) for name in ("tau", "kp", "q_target", "stiffness", "mass")),
    ],
)
def test_parameters(method, order, name):
    """Robosimian, pushed: the error against differences of the step is below 1e-5."""
    sim, state, command = scenes.standing("planar", method, True, order)
    if method in scenes.PENALTIES:  # a stiffness that stays when masses change
        sim = Simulator(sim.robot, sim.terrain, sim.integrator.law, method, **sim.options)
    command = replace(command, v_target=0.1 * np.ones(sim.robot.model.nv))
    result = sim.step(state, command, H)
    found = step_derivatives(sim, state, command, H, result=result, with_respect_to=(name,))
    assert found.status.ok
    D = found.parameters[name]
    rng = np.random.default_rng(1)
    driven = sim.robot.driven
    columns = driven if name in ("tau", "kp", "kd", "q_target", "v_target") else range(D.shape[1])
    columns = rng.permutation(np.asarray(columns))[:4]
    unit = 1.0
    if name == "stiffness":
        unit = stiffness_of(sim.contact)[1]
    x1, warm, expected = sim.vector.pack(result.state), result.state.warm, []
    for index in map(int, columns):
        ends = []
        for sign in (1.0, -1.0):
            other, told = changed(sim, command, name, index, sign * STEPS[name])
            start = replace(state, warm=warm)
            ends.append(sim.vector.difference(x1, scenes.end(other, start, told, H)))
        expected.append((ends[0] - ends[1]) / (2.0 * STEPS[name]))
    expected = np.array(expected).T
    assert np.abs(expected).max() > 0.0
    assert scenes.error(D[:, columns] * unit, expected, H, of_state=False) <= RELATIVE


@pytest.mark.parametrize("turned", [False, True], ids=["along the world", "along the link"])
@pytest.mark.parametrize(
    ("method", "order"), [("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 2), ("pbd", 1), ("pbfd", 1)]
)
def test_wrenches_act_where_the_start_is(method, order, turned):
    """What a link feels of a push at the start of a step depends on its pose there."""
    sim, state, command = scenes.standing("free-flyer", method, True, order)
    above = state.q + np.eye(len(state.q))[2]  # in the air [m]
    state = sim.state(above, np.random.default_rng(0).standard_normal(len(state.v)))
    wrench = ExternalWrench(
        force=(30.0, -20.0, 10.0),
        torque=(5.0, 2.0, -8.0),
        frame=sim.robot.model.names[-1],
        point=(0.1, 0.2, -0.1),
        turned=turned,
    )
    scenes.check(sim, state, replace(command, wrenches=(wrench,)), H)


def test_forces_act_beside_motors_at_their_limits():
    """A motor at its limit gives no more; a push is added to it."""
    robot = samples.robot("chain fixed")
    limits = replace(robot.limits, effort=np.full(robot.model.nv, 1e-2))
    far, law = Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6)
    sim = Simulator(replace(robot, limits=limits), far, law, vi_newton=TIGHT)
    state, one = sim.state(), np.ones(robot.model.nv)
    found = step_derivatives(sim, state, Command(tau=one), H, with_respect_to=("tau", "force"))
    assert np.all(found.parameters["tau"] == 0.0)
    assert np.linalg.matrix_rank(found.parameters["force"]) == robot.model.nv


def test_friction_of_ice():
    """To one side in penalty methods, of a sliding ball; none where the vertices are one."""
    ball, v = (
        free_body("ball", Sphere(radius=0.1), mass=1.0),
        np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    )
    q, ends = np.array([0.0, 0.0, 0.0999, 0.0, 0.0, 0.0, 1.0]), []
    for friction in (0.0, 1e-4):
        sim = Simulator(
            ball, Terrain(Plane(friction=friction)), Penalty(normal_stiffness=1e5), "pbfd"
        )
        ends.append(sim.vector.pack(sim.step(State(0.0, q, v), Command(), H).state))
        if friction == 0.0:
            found = step_derivatives(
                sim, State(0.0, q, v), Command(), H, with_respect_to=("friction",)
            )
    expected = sim.vector.difference(ends[0], ends[1]) / 1e-4
    assert np.abs(expected).max() > ONE_SIDED
    assert found.parameters["friction"][:, 0] == pytest.approx(expected, abs=ONE_SIDED)
    sim = Simulator(ball, Terrain(Plane(friction=0.0)), FrictionCone(stiffness=1e5), "ne-nmdp")
    with pytest.raises(DerivativeError, match="friction is 0"):
        step_derivatives(sim, State(0.0, q, v), Command(), H, with_respect_to=("friction",))


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd", "pbfd"])
def test_targets_of_a_spherical_joint(method):
    """On a floating base with gains of its own, targets are tangent: the error is below 1e-5."""
    robot, rng = samples.robot("wheels+damping"), np.random.default_rng(2)
    q = samples.configuration(robot.model, rng)
    sim = scenes.simulator(robot, Terrain([Plane(height=-10.0)]), method, order=2)
    state = sim.state(q, rng.standard_normal(robot.model.nv))
    command = samples.command(robot.model, rng)
    result = sim.step(state, command, H)
    found = step_derivatives(
        sim, state, command, H, result=result, with_respect_to=("q_target", "kp", "tau")
    )
    x1 = sim.vector.pack(result.state)
    for name, D in found.parameters.items():
        # pinocchio's difference of a continuous joint may be 0 below 1e-8 rad
        step, expected = 10.0 * STEPS[name], []
        for index in range(robot.model.nv):
            ends = []
            for sign in (step, -step):
                _, told = changed(sim, command, name, index, sign)
                ends.append(sim.vector.difference(x1, scenes.end(sim, state, told, H)))
            expected.append((ends[0] - ends[1]) / (2.0 * step))
        assert scenes.error(D, np.array(expected).T, H, of_state=False) <= RELATIVE


@pytest.mark.parametrize("form", ["ne-nmdp", "pbd-nmdp"])
def test_masses_of_points(form):
    """Links that are points or carry nothing at all: as differences."""
    robot, rng = samples.robot("chain free-flyer"), np.random.default_rng(2)
    model = pin.Model(robot.model)
    model.inertias[2] = pin.Inertia(0.3, np.array([0.0, 0.1, 0.2]), np.zeros((3, 3)))
    model.inertias[3] = pin.Inertia.Zero()
    robot = replace(robot, model=model)
    sim = scenes.simulator(robot, Terrain([Plane(height=-10.0)]), form)
    state = sim.state(samples.configuration(model, rng, 0.4), 0.5 * rng.standard_normal(model.nv))
    result = sim.step(state, None, H)
    found = step_derivatives(sim, state, None, H, result=result, with_respect_to=("mass",))
    x1, columns = sim.vector.pack(result.state), []
    for joint in (2, 3):
        inertia, ends = model.inertias[joint], []
        for s in (1e-4, 0.0 if inertia.mass == 0.0 else -1e-4):
            other = pin.Model(model)
            mass = inertia.mass + s
            other.inertias[joint] = pin.Inertia(mass, inertia.lever, np.zeros((3, 3)))
            changed = scenes.simulator(
                replace(robot, model=other), Terrain([Plane(height=-10.0)]), form
            )
            ends.append(sim.vector.difference(x1, scenes.end(changed, state, Command(), H)))
        columns.append((ends[0] - ends[1]) / (1e-4 if inertia.mass == 0.0 else 2e-4))
    error = scenes.error(found.parameters["mass"][:, 1:3], np.array(columns).T, H, of_state=False)
    assert error <= ONE_SIDED


def test_what_a_command_or_model_lacks():
    """A typed error, not a zero: no target, and a contact model without a stiffness."""
    sim, state = scenes.box("ne-nmdp", "sliding")
    with pytest.raises(DerivativeError, match="no q_target"):
        step_derivatives(sim, state, None, H, with_respect_to=("q_target",))
    contact = FiniteDifferences(model=sim.contact)
    sim = Simulator(sim.robot, sim.terrain, contact, **sim.options)
    with pytest.raises(DerivativeError, match="no single stiffness"):
        step_derivatives(sim, state, None, H, with_respect_to=("stiffness",))


@pytest.mark.parametrize("regime", scenes.REGIMES)
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp kinetic"])
def test_smoothed_derivatives_tend_to_the_exact_ones(method, regime):
    """With less and less smoothing the difference falls, and in the end is nothing."""
    sim, state = scenes.box(method, regime)
    differentiate = StepDifferentiator(sim)
    result = sim.step(state, None, H)
    exact = differentiate(state, None, H, result=result).dx_dx
    errors = []
    for smoothing in (1e-1, 1e-3, 1e-5, 1e-8):
        found = differentiate(state, None, H, result=result, smoothing=smoothing)
        assert found.status.ok
        errors.append(scenes.error(found.dx_dx, exact, H))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] <= RELATIVE
    if regime == "sliding":
        assert errors[0] > 1e-4, "smoothing that changes nothing is none"


def torques(sim, steps):
    """Torques of the driven joints, shape (steps, nu)."""
    return 5.0 * np.random.default_rng(4).standard_normal((steps, len(sim.robot.driven)))


def test_products_along_a_horizon():
    """The gradient of a function of the last state, by one sweep back, is that of differences."""
    sim, state, command = scenes.standing("planar", "ne-nmdp", True, 2)
    steps, driven = 6, sim.robot.driven
    u, space = torques(sim, steps), sim.vector

    def commands(u):
        full = np.zeros((steps, space.nv))
        full[:, driven] = u
        return [replace(command, tau=row) for row in full]

    horizon = horizon_derivatives(sim, state, commands(u), H, with_respect_to=("friction", "kp"))
    assert horizon.dx_dx.shape == (steps, space.ndx, space.ndx)
    np.testing.assert_array_equal(horizon.x[-1], space.pack(horizon.steps[-1].result.state))
    assert horizon.x.shape == (steps, space.nx)
    target = np.random.default_rng(5).standard_normal(space.ndx)
    gradients = np.zeros((steps, space.ndx))
    gradients[-1] = target
    of_x, of_u, of_parameters = horizon.vjp(gradients)
    assert of_u.shape == (steps, len(driven))
    assert of_parameters["friction"].shape == (1,)
    last = space.pack(horizon.steps[-1].result.state)

    def value(dx, du):
        x = space.unpack(space.integrate(space.pack(state), dx))
        for told, step in zip(commands(u + du), horizon.steps, strict=True):
            x = sim.step(replace(x, warm=step.result.state.warm), told, H).state
        return target @ space.difference(last, space.pack(x))

    rng = np.random.default_rng(6)
    d, du = rng.standard_normal(space.ndx), rng.standard_normal(u.shape)
    eps = 1e-6
    zero = np.zeros(space.ndx)
    expected = (value(eps * d, 0.0 * u) - value(-eps * d, 0.0 * u)) / (2 * eps)
    assert of_x @ d == pytest.approx(expected, rel=LONG)
    eps = 1e-3
    expected = (value(zero, eps * du) - value(zero, -eps * du)) / (2 * eps)
    assert np.vdot(of_u, du) == pytest.approx(expected, rel=LONG)
    assert target @ horizon.jvp(d, du)[-1] == pytest.approx(
        of_x @ d + np.vdot(of_u, du), rel=PRODUCT
    )


def test_batched_products_are_those_of_each():
    """Several trajectories, and several functions, at once: the same numbers."""
    sim, state = scenes.box("ne-nmdp", "sliding")
    starts = [state, replace(state, v=1.1 * state.v)]
    each = [
        horizon_derivatives(sim, start, [Command()] * 4, H, with_respect_to=("mass",))
        for start in starts
    ]
    both = Horizon.stacked(each)
    gradients = np.random.default_rng(7).standard_normal((3, 2, 4, 12))
    of_x, of_u, of_parameters = both.vjp(gradients)
    assert of_x.shape == (3, 2, 12)
    assert of_u.shape == (3, 2, 4, 0)
    for f in range(3):
        for b in range(2):
            x, _, parameters = each[b].vjp(gradients[f, b])
            np.testing.assert_allclose(of_x[f, b], x, rtol=PRODUCT, atol=PRODUCT)
            np.testing.assert_allclose(
                of_parameters["mass"][f, b], parameters["mass"], rtol=PRODUCT, atol=PRODUCT
            )
    one = each[0].steps[0].vjp(gradients[0, 0, 0])
    assert set(one) == {"x", "u", "mass"}
    with pytest.raises(DerivativeError, match="one length"):
        Horizon.stacked([each[0], Horizon.of(each[1].steps[:2])])


@pytest.mark.parametrize(("speed", "moves"), [(1.0, 5), (1.2e-3, 2)])
def test_a_slide_by_its_friction(speed, moves):
    """dv/dmu = -g h of a step, and backwards dx_5/dmu = -n (n + 1) / 2 g h^2.

    Of five steps the first n slide; in the next one the cube stops, whatever its friction is.
    """
    cube = free_body("cube", Box(size=(0.2, 0.2, 0.2)), mass=1.0, position=(0.0, 0.0, 0.1 - 1e-4))
    law = FrictionCone(stiffness=9.81 / 4e-8, power=2, recovery=0.0)
    terrain = Terrain([Plane(friction=0.005)])
    sim = Simulator(cube, terrain, law, "ne-nmdp", order=1, vi_newton=TIGHT)
    start, h = sim.state(v=[speed, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.01
    many = horizon_derivatives(sim, start, 5 * [None], h, with_respect_to=("friction",))
    assert many.parameters["friction"][0, 6, 0] == pytest.approx(-9.81 * h, rel=SLID)
    gradients = np.zeros((5, 12))
    gradients[-1, 0] = 1.0
    _, _, sums = many.vjp(gradients)
    # x_5 = h (v_1 + ... + v_n), v_i = v_0 - i mu g h
    assert sums["friction"][0] == pytest.approx(-moves * (moves + 1) / 2 * 9.81 * h**2, rel=SLID)
