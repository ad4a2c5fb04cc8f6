"""Derivatives of steps in which bodies touch each other, against central differences."""

import functools
from dataclasses import replace

import body_scenes
import core_samples as samples
import derivative_scenes as scenes
import numpy as np
import pytest
from contact_laws import law_for

from nmdp_pin import Scenario
from nmdp_pin._contact import FrictionCone
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Terrain
from nmdp_pin.derivatives import StepDifferentiator, step_derivatives

RELATIVE = 2e-6  # error at the best step; steps are solved to 1e-13
H = scenes.H
STEPS = (3e-8, 1e-7, 3e-7, 1e-6)  # of the differences: rounding spoils the first, a kink the last
AIR_STEPS = (1e-6,)  # pinocchio's difference of a wheel, a continuous joint, may be 0 below 1e-8
FRICTION = 1e-5  # of the differences of friction
SOFT = FrictionCone(stiffness=1e4, power=2)  # bodies that lie centimetres in each other


@functools.cache
def tight(method, name, steps, order):
    """A bundled scenario after some steps: its simulator, solved to the last digits."""
    minimised = "objective" in scenes.METHODS[method][1]
    overrides = ["contact.recovery=0"] * minimised
    made = Scenario.load(name, overrides=overrides).build(visuals=False)
    name, options = scenes.METHODS[method]
    law = law_for(name, made.simulator.contact)
    plain = Simulator(made.simulator.robot, made.simulator.terrain, law, name, order=1)
    state = made.state
    for _ in range(steps):
        command = made.controller.command(state, H)
        state = plain.step(state, command, H).state
    sim = Simulator(plain.robot, plain.terrain, plain.contact, name, order=order, **options)
    return sim, state, plain.checked_command(made.controller.command(state, H))


def compare(sim, state, command, *, directions, steps=STEPS):
    """Derivatives and central differences along random directions; the derivatives."""
    result = sim.step(state, command, H)
    assert result.status.ok
    assert len(result.step_sizes) == 1
    n = sim.robot.contact_points.n_terrain
    assert (result.contact_depths[n:] > 0.0).any(), "no bodies touch"
    found = StepDifferentiator(sim)(state, command, H, result=result)
    assert found.status.ok
    space, warm = sim.vector, result.state.warm
    x, x1 = space.pack(state), space.pack(result.state)
    for d in np.random.default_rng(1).standard_normal((directions, space.ndx)):
        d[space.nv :] /= H
        errors = []
        for step in steps:
            ends = []
            for s in (step, -step):
                start = replace(space.unpack(space.integrate(x, s * d)), warm=warm)
                ends.append(space.difference(x1, scenes.end(sim, start, command, H)))
            expected = (ends[0] - ends[1]) / (2.0 * step)
            found_d = (found.dx_dx @ d)[:, None]
            errors.append(scenes.error(found_d, expected[:, None], H, of_state=False))
        assert min(errors) <= RELATIVE
    return found


@pytest.mark.parametrize(
    ("method", "order"),
    [("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 2), ("ne-zonmdp", 1), ("ne-nmdp kinetic", 1)],
)
def test_a_finger_on_a_ball(method, order):
    """The links of a finger hold a ball that lies on the ground: error below 2e-6."""
    found = compare(*tight(method, "finger-ball", 15, order), directions=3)
    assert not found.one_sided


@pytest.mark.parametrize(("method", "order"), [("ne-nmdp", 2), ("pbd-nmdp", 1)])
def test_a_finger_that_pushes_a_block(method, order):
    """The block slides and turns, its corners share a limit surface: error below 2e-6."""
    found = compare(*tight(method, "finger-block", 60, order), directions=3)
    assert not found.one_sided
    assert np.abs(found.dx_dx[3:6, 0]).max() > 1e-3, "the finger moves the block"


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
@pytest.mark.parametrize(("name", "steps"), [("door", 100), ("suction-pick", 61)])
def test_scripted_bodies(method, name, steps):
    """A door that pushes, a cup that holds: their starts move the others, error below 2e-6."""
    found = scenes.check(*tight(method, name, steps, 2), H, step=1e-7)
    assert np.abs(found.dx_dx[:6, 6:12]).max() > 1e-3, "the scripted body moves the other one"


def in_the_air(method, kind, order):
    """Wheels and another body that lie in each other, and slide."""
    _, q, _ = body_scenes.in_contact(kind, SOFT, seed=2)
    robot = body_scenes.robot(kind)
    name, options = scenes.METHODS[method]
    sim = Simulator(robot, body_scenes.FAR, SOFT, name, order=order, **options)
    v = 0.3 * np.random.default_rng(3).standard_normal(robot.model.nv)
    return sim, sim.state(q, v), samples.command(robot.model, np.random.default_rng(4))


@pytest.mark.parametrize("kind", body_scenes.KINDS)
@pytest.mark.parametrize(("method", "order"), [("ne-nmdp", 2), ("pbd-nmdp", 1), ("pbd-nmdp", 2)])
def test_bodies_in_the_air(method, order, kind):
    """Spheres against all surfaces of a free body, and of a link: both sides feel it."""
    compare(*in_the_air(method, kind, order), directions=2, steps=AIR_STEPS)


@pytest.mark.parametrize("order", [1, 2])
def test_friction_of_bodies(order):
    """One column a shape, those of bodies after those of the terrain: error below 2e-6."""
    sim, state, command = in_the_air("ne-nmdp", "box", order)
    surfaces = {  # the larger coefficient counts
        joint: Terrain([replace(shape, friction=0.4 + 0.1 * joint) for shape in surface.shapes])
        for joint, surface in sim.robot.surfaces.items()
    }
    robot = replace(sim.robot, surfaces=surfaces)
    sim = Simulator(robot, sim.terrain, sim.contact, sim.method, **sim.options)
    result = sim.step(state, command, H)
    found = step_derivatives(
        sim, state, command, H, result=result, with_respect_to=("friction",)
    ).parameters["friction"]
    robot, terrain = sim.robot, sim.terrain
    x1, expected = sim.vector.pack(result.state), []
    for joint, surface in robot.surfaces.items():
        for index, shape in enumerate(surface.shapes):
            ends = []
            for s in (FRICTION, -FRICTION):
                shapes = list(surface.shapes)
                shapes[index] = replace(shape, friction=shape.friction + s)
                surfaces = {**robot.surfaces, joint: Terrain(shapes)}
                other = replace(robot, surfaces=surfaces)
                changed = Simulator(other, terrain, sim.contact, sim.method, **sim.options)
                start = replace(state, warm=result.state.warm)
                ends.append(sim.vector.difference(x1, scenes.end(changed, start, command, H)))
            expected.append((ends[0] - ends[1]) / (2.0 * FRICTION))
    expected = np.array(expected).T
    n = len(terrain.shapes)
    assert found.shape[1] == n + expected.shape[1]
    assert np.abs(expected).max() > 0.0
    assert scenes.error(found[:, n:], expected, H, of_state=False) <= RELATIVE
