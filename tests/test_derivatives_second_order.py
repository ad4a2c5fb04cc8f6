"""Derivatives of steps of second order, whose state holds the step before."""

import functools
from dataclasses import replace

import body_scenes
import core_samples as samples
import derivative_scenes as scenes
import numpy as np
import pytest

from nmdp_pin.contact import FrictionCone
from nmdp_pin.control import Command
from nmdp_pin.derivatives import StepDifferentiator, horizon_derivatives, step_derivatives
from nmdp_pin.simulator import Simulator
from nmdp_pin.terrain import Terrain

RELATIVE = 1e-5  # error; steps are solved to 1e-13, so their differences are good to 1e-6
LONG = 1e-4  # relative, over a horizon that multiplies the differences' own error
H = scenes.H
SOFT = FrictionCone(stiffness=1e4, power=2)
METHODS = ("ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-nmdp kinetic", "ne-nmdp end_effector")


def after(sim, state, command, steps):
    """The state some steps on, with the step that led there."""
    state = replace(state, warm=None)
    for _ in range(steps):
        result = sim.step(state, command, H)
        assert result.status.ok
        assert len(result.step_sizes) == 1
        state = replace(result.state, t=0.0)
    return state


@functools.cache
def scene(name, method):
    """A simulator of second order, a state with a step before it, and a command."""
    command = Command()
    if name == "robosimian":
        sim, state, command = scenes.standing("planar", method, True)
    elif name == "chain":
        robot, rng = samples.robot("chain fixed"), np.random.default_rng(3)
        q = samples.configuration(robot.model, rng, 0.4)
        sim = scenes.simulator(robot, body_scenes.FAR, method)
        state = sim.state(q, rng.standard_normal(robot.model.nv))
    elif name == "bodies":
        _, q, _ = body_scenes.in_contact("box", SOFT, seed=2)
        robot = body_scenes.robot("box")
        tight = scenes.METHODS[method]
        sim = Simulator(robot, body_scenes.FAR, SOFT, tight[0], **tight[1])
        v = 0.3 * np.random.default_rng(3).standard_normal(robot.model.nv)
        state, command = sim.state(q, v), samples.command(robot.model, np.random.default_rng(4))
    else:
        sim, state = scenes.box(method, name)
    sim = scenes.of_order_two(sim)
    return sim, after(sim, state, command, 2), command


def compare(sim, state, command, h=H, *, directions=4):
    """Compare the derivative of the whole state with differences along random directions."""
    result = sim.step(state, command, h)
    assert result.status.ok
    found = StepDifferentiator(sim)(state, command, h, result=result)
    assert found.status.ok
    n = len(found.of_state)
    assert n == len(scenes.between(sim, result.state, result.state))
    for d in np.random.default_rng(1).standard_normal((directions, n)):
        assert scenes.memory_error(sim, state, command, h, found, d) <= RELATIVE
    return found


@pytest.mark.parametrize("name", ["flight", "sliding", "sticking", "chain", "robosimian"])
@pytest.mark.parametrize("method", METHODS)
def test_the_whole_state(method, name):
    """dz1/dz0 with the memory, in flight, sliding and sticking: error below 1e-5."""
    sim, state, command = scene(name, method)
    found = compare(sim, state, command)
    nv = sim.vector.nv
    if name in ("flight", "chain"):
        assert found.of_state[: 2 * nv, 2 * nv :].any(), "the step before counts"
    assert found.dx_dx.shape == (2 * nv, 2 * nv)
    np.testing.assert_array_equal(found.of_state[2 * nv : 4 * nv, : 2 * nv], np.eye(2 * nv))


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_contacts_between_bodies(method):
    """Differences of second order of the places of a body seen from another: below 1e-5."""
    found = compare(*scene("bodies", method))
    assert found.of_state[: found.nx, found.nx :].any()


@pytest.mark.parametrize("history", ["none", "an impact"])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_steps_of_first_order(method, history):
    """The first step, and the one after an impact: what does not count has no derivative."""
    sim, state, command = scene("flight", method)
    made = None if history == "none" else replace(state.history, smooth=False)
    found = compare(sim, replace(state, history=made), command)
    nv = sim.vector.nv
    assert not found.of_state[: 2 * nv, 2 * nv : 4 * nv].any()
    if made is None or made.rates is None:
        assert not found.of_state[:, 2 * nv :].any()


@pytest.mark.parametrize(("name", "rtol"), [("chain", 0.01), ("sliding", 0.003)])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_sub_steps_leave_one_memory(method, name, rtol):
    """Under error control a step of second order is made of pairs: error below 1e-5."""
    sim, state, command = scene(name, method)
    sim = scenes.of_order_two(sim, rtol=rtol)
    assert len(sim.step(state, command, 2 * H).step_sizes) > 2
    compare(sim, state, command, 2 * H)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_products_along_a_horizon(method):
    """From rest through steps of second order: the gradient is that of differences."""
    sim, state, command = scene("robosimian", method)
    state, steps, space = replace(state, history=None), 5, sim.vector
    horizon = horizon_derivatives(sim, state, [command] * steps, H, with_respect_to=("tau",))
    assert all(step.status.ok for step in horizon.steps)
    assert any(step.of_state[: space.ndx, space.ndx :].any() for step in horizon.steps)
    target = np.random.default_rng(5).standard_normal(space.ndx)
    gradients = np.zeros((steps, space.ndx))
    gradients[-1] = target
    of_z, _, of_parameters = horizon.vjp(gradients)
    assert not of_z[space.ndx :].any(), "there was no step before"
    last = space.pack(horizon.steps[-1].result.state)

    def value(dx, dtau):
        start = space.unpack(space.integrate(space.pack(state), dx))
        told, history = replace(command, tau=dtau), None
        for step in horizon.steps:
            warm = step.result.state.warm
            start = sim.step(replace(start, warm=warm, history=history), told, H).state
            history = start.history
        return target @ space.difference(last, space.pack(start))

    rng, nv = np.random.default_rng(6), space.nv
    d, dtau = rng.standard_normal(space.ndx), rng.standard_normal(nv)
    eps = 1e-6
    expected = (value(eps * d, np.zeros(nv)) - value(-eps * d, np.zeros(nv))) / (2 * eps)
    assert of_z[: space.ndx] @ d == pytest.approx(expected, rel=LONG)
    assert target @ horizon.jvp(d)[-1] == pytest.approx(expected, rel=LONG)
    eps, still = 1e-3, np.zeros(space.ndx)
    expected = (value(still, eps * dtau) - value(still, -eps * dtau)) / (2 * eps)
    assert of_parameters["tau"] @ dtau == pytest.approx(expected, rel=LONG)
    one = horizon.steps[-1].vjp(target)
    assert set(one) == {"x", "u", "memory", "tau"}


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_friction(method):
    """Of parameters all rows are there, those of the memory too: error below 1e-5."""
    sim, state, command = scene("robosimian", method)
    result = sim.step(state, command, H)
    found = step_derivatives(
        sim, state, command, H, result=result, with_respect_to=("friction",)
    ).of_parameters["friction"][:, 0]
    ends = []
    for s in (1e-6, -1e-6):
        ground = Terrain(
            [replace(shape, friction=shape.friction + s) for shape in sim.terrain.shapes]
        )
        other = Simulator(sim.robot, ground, sim.contact, sim.method, **sim.options)
        made = other.step(replace(state, warm=result.state.warm), command, H)
        ends.append(scenes.between(sim, result.state, made.state))
    unit = scenes.units(sim, len(found))
    expected = unit * (ends[0] - ends[1]) / 2e-6
    assert np.abs(unit * found - expected).max() <= RELATIVE * np.abs(expected).max()
