"""One friction of a pair: order, size and role of the bodies change nothing."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from nmdp_pin import Simulator, free_body, together, touching, with_frictions
from nmdp_pin._contact import FrictionCone
from nmdp_pin._dynamics.geometry.candidates import candidates_of
from nmdp_pin._scenario import Scenario
from nmdp_pin._terrain import Box, Plane, Terrain
from nmdp_pin.derivatives import StepDifferentiator
from nmdp_pin.errors import DerivativeError, RobotError, ScenarioError

LAW = FrictionCone(stiffness=1e7, power=2)
G, H, STEPS = 9.81, 0.005, 10  # [m/s^2], [s]
HEAVY = 100.0  # [kg]


def block(name, edge, height, friction, mass=1.0):
    """A box on z = `height`."""
    shape = Box(size=(edge, edge, 0.1), friction=friction)
    return free_body(name, shape, mass=mass, position=(0.0, 0.0, height + 0.05))


def braking(scene, ground):
    """Coefficient with which the body "top" brakes from 1 m/s: momentum lost over that of N."""
    sim = Simulator(scene, ground, LAW)
    state = sim.state()
    name = "root_translation" if scene.name == "top" else "top/root_translation"
    dof = scene.model.joints[scene.model.getJointId(name)].idx_v
    for k in range(STEPS + 5):
        if k == 5:  # it has settled
            v = state.v.copy()
            v[dof] = 1.0
            state, rising = replace(state, v=v), v[dof + 2]
        result = sim.step(state, None, H)
        assert result.status.ok
        state = result.state
    return (1.0 - state.v[dof]) / (G * H * STEPS + state.v[dof + 2] - rising)


@pytest.mark.parametrize(("top", "below"), [(0.1, 0.8), (0.8, 0.1)])
@pytest.mark.parametrize("edges", [(0.2, 2.0), (0.2, 0.2), (0.3, 0.2)])
def test_a_box_on_a_slab_brakes_with_the_larger_coefficient(top, below, edges):
    """Also if the slab is listed first, is smaller, or is terrain."""
    slab = Box(size=(edges[1], edges[1], 0.1), position=(0.0, 0.0, 0.05), friction=below)
    found = [braking(block("top", edges[0], 0.1, top), Terrain([slab]))]
    for order in itertools.permutations(("top", "slab")):
        bodies = {
            "top": block("top", edges[0], 0.1, top),
            "slab": block("slab", edges[1], 0.0, below, mass=HEAVY),
        }
        scene = touching(together(bodies[order[0]], [bodies[order[1]]]))
        found.append(braking(scene, Terrain([Plane(friction=10.0)])))
    np.testing.assert_allclose(found, 0.8, atol=0.02)


@pytest.mark.parametrize(
    ("body", "ground", "expected"),
    [(None, 0.2, 0.2), (0.2, None, 0.2), (None, None, 0.7), (0.0, 0.2, 0.2), (0.0, None, 0.0)],
)
def test_what_has_no_coefficient_takes_that_of_the_other(body, ground, expected):
    """And 0.7 where neither has one."""
    found = braking(block("top", 0.2, 0.0, body), Terrain([Plane(friction=ground)]))
    assert found == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("names", [("top", "terrain"), ("terrain", "top")])
def test_a_pair_in_the_table_has_its_own_coefficient(names):
    """In both orders of its names; `together` keeps it."""
    robot = with_frictions(block("top", 0.2, 0.0, 0.8), {names: 0.3})
    ground = Terrain([Plane(friction=0.5)])
    assert braking(robot, ground) == pytest.approx(0.3, abs=0.02)
    aside = free_body("aside", Box(size=(0.1, 0.1, 0.1)), mass=1.0, position=(3.0, 0.0, 0.05))
    assert braking(together(robot, [aside]), ground) == pytest.approx(0.3, abs=0.02)
    assert braking(together(aside, [robot]), ground) == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize(
    ("frictions", "says"),
    [
        ({("top", "nothing"): 0.1}, "'nothing' does not exist"),
        ({("top", "top"): 0.1}, "move as one body"),
        ({("top", "terrain"): 0.1, ("terrain", "top"): 0.2}, "given twice"),
        ({("top", "terrain"): -0.1}, ">= 0"),
    ],
)
def test_pairs_that_cannot_be(frictions, says):
    """The pair is named."""
    with pytest.raises(RobotError, match=says):
        with_frictions(block("top", 0.2, 0.0, 0.8), frictions)


def gripped(part, pads, edge):
    """A gripper whose pads are 4 cm wide beside a cube."""
    overrides = [
        f"objects.0.friction={part}",
        f"robot.link_friction={pads}",
        f"objects.0.size=[{edge}, {edge}, {edge}]",
    ]
    return Scenario.load("gripper-pick", overrides=overrides).build(visuals=False)


@pytest.mark.parametrize("edge", [0.039, 0.041])
@pytest.mark.parametrize(("part", "pads"), [(0.1, 0.7), (0.7, 0.1)])
def test_a_part_and_pads_have_one_coefficient_at_any_size(edge, part, pads):
    """In all contacts that they may have."""
    setup = gripped(part, pads, edge)
    pairs, names = candidates_of(setup.robot, setup.terrain), list(setup.robot.model.names)
    cube = pairs.bodies == names.index("cube/root_translation") + 1
    held = cube.any(axis=1) & (pairs.bodies > 0).all(axis=1)
    assert held.sum() > 10
    np.testing.assert_array_equal(pairs.friction[held], 0.7)


@pytest.mark.parametrize(("part", "pads"), [(0.1, 0.7), (0.7, 0.1)])
def test_a_part_is_lifted_by_pads_that_grip_or_if_it_grips(part, pads):
    """The larger coefficient holds it."""
    setup = gripped(part, pads, 0.05)
    *_, last = setup.simulator.run(setup.state, setup.controller, dt=0.02, duration=2.0)
    assert last.status.ok
    joint = setup.robot.model.joints[setup.robot.model.getJointId("cube/root_translation")]
    assert last.state.q[joint.idx_q + 2] > 0.15


def test_pairs_of_scenarios():
    """They are those of `with_frictions`; a pair that is given twice is refused."""
    pairs = 'friction.pairs=[["cube", "terrain", 0.3]]'
    robot = Scenario.load("gripper-pick", overrides=[pairs]).build(visuals=False).robot
    assert list(robot.frictions.values()) == [0.3]
    twice = 'friction.pairs=[["cube", "terrain", 0.3], ["cube", "terrain", 0.4]]'
    with pytest.raises(ScenarioError, match=r"friction\.pairs"):
        Scenario.load("gripper-pick", overrides=[twice]).build(visuals=False)


def test_derivatives_by_the_coefficient_that_counts():
    """Of two that differ, one has the whole derivative; none is refused."""
    sim = Simulator(block("top", 0.2, 0.0, 0.3), Terrain([Plane(friction=0.1)]), LAW)
    state = sim.state()
    state = replace(state, v=np.eye(6)[0])
    for _ in range(5):
        state = sim.step(state, None, H).state
    names = ("friction",)
    found = StepDifferentiator(sim)(state, None, H, with_respect_to=names).parameters["friction"]
    assert found[6, 0] == 0.0
    ends = [
        Simulator(block("top", 0.2, 0.0, mu), sim.terrain, LAW).step(state, None, H).state.v[0]
        for mu in (0.301, 0.299)
    ]
    assert found[6, 1] == pytest.approx((ends[0] - ends[1]) / 0.002, rel=0.01)
    assert found[6, 1] < -0.01
    bare = Simulator(block("top", 0.2, 0.0, None), Terrain([Plane()]), LAW)
    with pytest.raises(DerivativeError, match="no shape has a friction coefficient"):
        StepDifferentiator(bare)(state, None, H, with_respect_to=names)
