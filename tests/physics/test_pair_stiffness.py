"""One stiffness of a pair: in series, whatever the order, size and role of the bodies."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from pairwise import pairwise

from nmdp_pin import (
    Penalty,
    Simulator,
    free_body,
    load_robot,
    rollout,
    together,
    touching,
    with_stiffnesses,
)
from nmdp_pin._contact import AnisotropicCone, DryFriction, FrictionCone, Mixed
from nmdp_pin._dynamics.geometry.candidates import candidates_of
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._runs.run_warnings import start_warnings
from nmdp_pin._scenario import Scenario
from nmdp_pin._terrain import Box, Plane, Sphere, Terrain
from nmdp_pin.control import Command, ExternalWrench
from nmdp_pin.derivatives import StepDifferentiator
from nmdp_pin.errors import ContactError, IntegratorError, RobotError, ScenarioError, TerrainError

G = 9.81  # [m/s^2]
CORNERS = 4  # of a box on a face, each with the stiffness of the pair
TOP, SLAB, GROUND = 2e5, 3e4, 5e4  # [N/m]
MASS, BELOW = 1.0, 3.0  # [kg]
LAW = FrictionCone(stiffness=1e6, power=1)
AT_REST = 1e-6  # relative error of a depth after two seconds
PRESSED = 1e-4  # likewise, of what swings on its penalty forces
SAME = 1e-9  # [m] by which depths differ whose equations are solved in another order
DERIVED = 5e-7  # error of a derivative against differences
TIGHT = ViNewton(tolerance=1e-13, slip=1e-12)
NEAR = 1e-5  # [-] half the distance of these, relative to the sizes of a state


def series(*stiffnesses, power=1):
    """Stiffness of springs with F = k d^p in a row."""
    return sum(k ** (-1.0 / power) for k in stiffnesses) ** -power


def block(name, edge, height, stiffness, mass=MASS):
    """A box on z = `height`."""
    shape = Box(size=(edge, edge, 0.1), friction=0.5, stiffness=stiffness)
    return free_body(name, shape, mass=mass, position=(0.0, 0.0, height + 0.05))


def sunk(sim, h, names=("top",), seconds=2.0):
    """Depths of bodies at rest below where they stand [m]."""
    state, model = sim.state(), sim.robot.model
    for _ in range(round(seconds / h)):
        result = sim.step(state, None, h)
        assert result.status.ok
        state = result.state
    joints = [model.joints[model.getJointId(base_of(sim.robot, name))] for name in names]
    return np.array([sim.robot.standing[j.idx_q + 2] - state.q[j.idx_q + 2] for j in joints])


def base_of(robot, name):
    """Joint of the base of an object."""
    return "root_translation" if robot.name == name else f"{name}/root_translation"


@pairwise(
    {
        "method": ["ne-nmdp", "pbd-nmdp", "ne-zonmdp", "ne-mdp"],
        "h": [0.005, 0.01, 0.03],
        "order": [1, 2],
        "listed": [*itertools.permutations(("top", "slab"))],
        "edges": [(0.2, 1.0), (0.3, 0.2)],
    }
)
def test_a_stack_of_unlike_softness_sinks_in_closed_form(method, h, order, listed, edges):
    """By m g / (4 k) at both pairs, k in series: at each step, in each order, either one larger."""
    bodies = {
        "top": block("top", edges[0], 0.1, TOP),
        "slab": block("slab", edges[1], 0.0, SLAB, mass=BELOW),
    }
    scene = touching(together(bodies[listed[0]], [bodies[listed[1]]]))
    options = {"order": order} if method in ("ne-nmdp", "pbd-nmdp") else {}
    sim = Simulator(scene, Terrain([Plane(stiffness=GROUND)]), LAW, method, **options)
    top, slab = sunk(sim, h, ("top", "slab"), seconds=max(2.0, 100 * h))
    of_slab = (MASS + BELOW) * G / (CORNERS * series(SLAB, GROUND))
    of_top = MASS * G / (CORNERS * series(TOP, SLAB))
    assert slab == pytest.approx(of_slab, rel=AT_REST)
    assert top - slab == pytest.approx(of_top, rel=AT_REST)


@pytest.mark.parametrize(
    ("method", "power"),
    [*itertools.product(["ne-nmdp"], [1, 2, 3]), *itertools.product(["pbfd", "pbd"], [1.5, 2.0])],
)
def test_two_unlike_balls_that_are_pressed_together(method, power):
    """Their depths add up: d = (F / k_1)^(1/p) + (F / k_2)^(1/p), whichever is listed first."""
    force, depths = 20.0, (1e-3, 4e-4)
    if method == "ne-nmdp":
        law = FrictionCone(stiffness=1e9, power=power)
    else:
        law = Penalty(normal_stiffness=1e9, alpha=power, gamma=power - 1.0)
    for own in (depths, depths[::-1]):
        balls = [
            free_body(
                name,
                Sphere(radius=0.1, stiffness=force / depth**power),
                mass=1.0,
                position=(x, 0.0, 0.0),
            )
            for name, depth, x in zip("ab", own, (0.0, 0.2), strict=True)
        ]
        scene = touching(together(balls[0], balls[1:]))
        sim = Simulator(scene, Terrain([Plane(height=-9.0)]), law, method)
        sim = sim.with_parameters(gravity=(0.0, 0.0, 0.0))
        pushes = (("a", force), ("b", -force))
        command = Command(
            wrenches=tuple(ExternalWrench(frame=name, force=(f, 0.0, 0.0)) for name, f in pushes)
        )
        state = sim.state()
        for _ in range(200):
            result = sim.step(state, command, 0.01)
            assert result.status.ok
            state = result.state
        a, b = (scene.model.joints[scene.model.getJointId(base_of(scene, n))] for n in "ab")
        found = 0.2 - (state.q[b.idx_q] - state.q[a.idx_q])
        assert found == pytest.approx(sum(depths), rel=PRESSED)


@pytest.mark.parametrize(
    ("body", "ground", "expected"),
    [
        (None, 3e4, 3e4),
        (3e4, None, 3e4),
        (None, None, LAW.stiffness),
        (np.inf, 3e4, 3e4),
        (np.inf, None, np.inf),
        (np.inf, np.inf, np.inf),
    ],
)
def test_what_states_nothing_leaves_it_to_the_other(body, ground, expected):
    """And the pair to the law where neither states one; a rigid side adds nothing."""
    for k in ((body, ground), (ground, body)):
        sim = Simulator(block("top", 0.2, 0.0, k[0]), Terrain([Plane(stiffness=k[1])]), LAW)
        depth = MASS * G / (CORNERS * expected)
        np.testing.assert_allclose(sunk(sim, 0.01), depth, rtol=AT_REST, atol=SAME)


def test_scenes_that_state_none_have_the_bits_of_the_law():
    """All pairs of a law have its stiffness, to the last bit."""
    setup = Scenario.load("gripper-pick").build(visuals=False)
    pairs = setup.simulator.integrator.candidates
    assert set(pairs.stiffness.tolist()) == {setup.simulator.contact.stiffness}


@pytest.mark.parametrize("names", [("top", "terrain"), ("terrain", "top")])
def test_a_pair_in_the_table_has_its_own_stiffness(names):
    """In both orders of its names; `together` keeps it."""
    robot = with_stiffnesses(block("top", 0.2, 0.0, TOP), {names: SLAB})
    ground, depth = Terrain([Plane(stiffness=GROUND)]), MASS * G / (CORNERS * SLAB)
    aside = free_body("aside", Box(size=(0.1, 0.1, 0.1)), mass=1.0, position=(3.0, 0.0, 0.05))
    for scene in (robot, together(robot, [aside]), together(aside, [robot])):
        assert sunk(Simulator(scene, ground, LAW), 0.01) == pytest.approx(depth, rel=AT_REST)


@pytest.mark.parametrize(
    ("stiffnesses", "says"),
    [
        ({("top", "nothing"): 1e4}, "'nothing' does not exist"),
        ({("top", "top"): 1e4}, "move as one body"),
        ({("top", "terrain"): 1e4, ("terrain", "top"): 2e4}, "given twice"),
        ({("top", "terrain"): 0.0}, "> 0"),
    ],
)
def test_pairs_that_cannot_be(stiffnesses, says):
    """The pair is named."""
    with pytest.raises(RobotError, match=says):
        with_stiffnesses(block("top", 0.2, 0.0, TOP), stiffnesses)


def test_stiffnesses_of_shapes_are_above_0():
    """Of shapes, too."""
    for value in (0.0, -1.0, np.nan):
        with pytest.raises(TerrainError, match="stiffness"):
            Plane(stiffness=value)


@pytest.mark.parametrize("edge", [0.039, 0.041])
@pytest.mark.parametrize(("part", "pads"), [(1e4, 5e6), (5e6, 1e4)])
def test_a_part_and_pads_have_one_stiffness_at_any_size(edge, part, pads):
    """In all contacts that they may have, of scenarios; and the part and the ground the part's."""
    overrides = [
        f"objects.0.stiffness={part}",
        f"robot.link_stiffness={pads}",
        f"objects.0.size=[{edge}, {edge}, {edge}]",
    ]
    setup = Scenario.load("gripper-pick", overrides=overrides).build(visuals=False)
    power = setup.simulator.contact.power
    pairs, names = setup.simulator.integrator.candidates, list(setup.robot.model.names)
    cube = (pairs.bodies == names.index("cube/root_translation") + 1).any(axis=1)
    held = cube & (pairs.bodies > 0).all(axis=1)
    assert held.sum() > 10
    np.testing.assert_allclose(pairs.stiffness[held], series(part, pads, power=power), rtol=1e-12)
    assert len(set(pairs.stiffness[held].tolist())) == 1
    assert set(pairs.stiffness[cube & ~held].tolist()) == {part}


def test_stiffnesses_of_terrain_and_pairs_of_scenarios():
    """They are those of `with_stiffnesses`, inf too; a pair that is given twice is refused."""
    pairs = 'stiffness.pairs=[["cube", "terrain", inf]]'
    given = ["terrain.shapes.0.stiffness=2e5", pairs]
    scenario = Scenario.load("gripper-pick", overrides=given)
    setup = Scenario.from_dict(scenario.resolved()).build(visuals=False)
    assert list(setup.robot.stiffnesses.values()) == [np.inf]
    assert setup.terrain.shapes[0].stiffness == 2e5
    twice = 'stiffness.pairs=[["cube", "terrain", 1e5], ["cube", "terrain", 2e5]]'
    with pytest.raises(ScenarioError, match=r"stiffness\.pairs"):
        Scenario.load("gripper-pick", overrides=[twice]).build(visuals=False)


def test_links_that_may_touch_have_the_stiffness_of_their_option():
    """On the block, which states none, and on the ground; the block on the ground has the law's."""
    block_alone = block("block", 0.1, 0.0, None)
    scene = together(load_robot("finger"), [block_alone])
    finger = touching(scene, [("tip", "block")], stiffness=3e4)
    pairs = candidates_of(finger, Terrain([Plane()]))
    tip = (pairs.bodies == finger.model.frames[finger.model.getFrameId("tip")].parentJoint).any(
        axis=1
    )
    assert tip.any()
    assert set(pairs.stiffness[tip].tolist()) == {3e4}
    assert np.isnan(pairs.stiffness[~tip]).all()


SOFT = Terrain([Plane(stiffness=GROUND)])


@pytest.mark.parametrize(
    ("law", "method"),
    [
        (DryFriction(), "ne-ncp"),
        (AnisotropicCone(stiffness=1e6, along=1.0, across=1.0), "ne-nmdp"),
        (Mixed(models=(LAW,), by_surface=[0]), "ne-nmdp"),
    ],
)
def test_laws_that_take_none_refuse_it_by_name(law, method):
    """What states it, and the law, are named."""
    name = type(law).__name__
    body = block("top", 0.2, 0.0, None)
    with pytest.raises(ContactError, match=f"law {name} takes no .* a Plane of the terrain has"):
        Simulator(body, SOFT, law, method)
    with pytest.raises(ContactError, match="a Box of top has one"):
        Simulator(block("top", 0.2, 0.0, TOP), Terrain([Plane()]), law, method)
    with pytest.raises(ContactError, match="a pair of bodies has one"):
        Simulator(
            with_stiffnesses(body, {("top", "terrain"): TOP}), Terrain([Plane()]), law, method
        )
    assert Simulator(body, Terrain([Plane()]), law, method).step


def test_rigid_bodies_need_forces_as_unknowns():
    """Weights and penalties refuse a pair that is rigid, also beside a soft law."""
    body = block("top", 0.2, 0.0, np.inf)
    with pytest.raises(IntegratorError, match="rigid contact"):
        Simulator(body, Terrain([Plane()]), LAW, "ne-mdp")
    with pytest.raises(ContactError, match="stiffness of inf"):
        Simulator(body, Terrain([Plane()]), Penalty(normal_stiffness=1e6), "pbfd")


def pressed_in(method, order=1, below=SLAB):
    """A ball that slides down on another one; both still sink, so that no contact is at a kink."""
    balls = [
        free_body(name, Sphere(radius=0.1, friction=0.5, stiffness=k), mass=1.0, position=place)
        for name, k, place in (("top", TOP, (0.02, 0.01, 0.2988)), ("below", below, (0, 0, 0.1)))
    ]
    law = LAW if method.endswith("nmdp") else Penalty(normal_stiffness=1e6)
    options = {"vi_newton": TIGHT, "order": order} if method.endswith("nmdp") else {}
    options |= {} if method.endswith("nmdp") else {"tolerance": 1e-12}
    ground = Terrain([Plane()])  # which states no stiffness
    sim = Simulator(touching(together(balls[0], balls[1:])), ground, law, method, **options)
    q, v = sim.state().q.copy(), np.r_[0.7, 0.3, -0.9, 0.1, -0.1, 1.0, 0.0, 0.1, -0.5, np.zeros(3)]
    q[[2, 9]] -= 3e-4, 1e-4
    return sim, sim.state(q, v)


@pytest.mark.parametrize(
    ("method", "order"), [("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 1), ("pbfd", 1), ("pbd", 1)]
)
def test_derivatives_are_those_of_differences(method, order):
    """By the state, of a box on a slab of other softness."""
    sim, state = pressed_in(method, order)
    h, space = 0.005, sim.vector
    result = sim.step(state, None, h)
    found = StepDifferentiator(sim)(state, None, h, result=result)
    assert result.status.ok
    assert found.status.ok
    x, x1 = space.pack(state), space.pack(result.state)
    for d in np.random.default_rng(1).standard_normal((3, space.ndx)):
        d[: space.nv] *= h
        ends = []
        for sign in (NEAR, -NEAR):
            start = replace(space.unpack(space.integrate(x, sign * d)), warm=result.state.warm)
            ends.append(space.difference(x1, space.pack(sim.step(start, None, h).state)))
        expected = (ends[0] - ends[1]) / (2.0 * NEAR)
        size = np.abs(expected).reshape(2, -1).max(axis=1).repeat(space.nv)
        assert (np.abs(found.dx_dx @ d - expected) / size).max() < DERIVED


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "pbfd", "pbd"])
def test_derivatives_by_the_stiffness_of_the_law(method):
    """They are those of pairs that state none; without these they are zero."""
    sim, state = pressed_in(method, below=None)
    h, names = 0.005, ("stiffness",)
    own = float(getattr(sim.contact, "stiffness", None) or sim.contact.normal_stiffness)
    for stated in ({}, {("below", "terrain"): GROUND}):
        robot = with_stiffnesses(touching(sim.robot), stated)
        other = Simulator(robot, sim.terrain, sim.contact, method, **sim.options)
        result = other.step(state, None, h)
        found = StepDifferentiator(other)(state, None, h, result=result, with_respect_to=names)
        ends = []
        for share in (1.0 + 1e-5, 1.0 - 1e-5):
            varied = other.with_parameters(stiffness=share * own)
            start = replace(state, warm=result.state.warm)
            ends.append(sim.vector.pack(varied.step(start, None, h).state)[-12:])
        expected = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(
            own * found.parameters["stiffness"][-12:, 0], expected, rtol=1e-4, atol=1e-7
        )
        assert (np.abs(expected).max() > 1e-5) == (not stated)


def test_with_parameters_and_rollouts_keep_stated_stiffnesses():
    """A new stiffness is that of pairs that state none; rollouts make the same steps."""
    sim, state = pressed_in("ne-nmdp", below=None)
    softer = sim.with_parameters(stiffness=5e4)
    fresh = Simulator(sim.robot, sim.terrain, replace(LAW, stiffness=5e4), **sim.options)
    before, after = sim.integrator.candidates.stiffness, softer.integrator.candidates.stiffness
    free = before == LAW.stiffness
    assert 0 < free.sum() < len(free)
    assert set(after[free].tolist()) == {5e4}
    np.testing.assert_array_equal(after[~free], before[~free])
    ends = []
    for made in (softer, fresh):
        end = state
        for _ in range(5):
            end = made.step(end, None, 0.005).state
        ends.append(made.vector.pack(end))
    np.testing.assert_array_equal(*ends)
    for n_jobs in (1, 2):
        found = rollout(softer, [state], h=0.005, steps=5, n_jobs=n_jobs)
        np.testing.assert_array_equal(found.x[0, -1], ends[0])


def test_a_soft_ground_explains_a_deep_start():
    """The account of a start counts the stiffness of the pair, not the law's."""
    told = []
    for stiffness in ("5e6", "1e2"):
        setup = Scenario.load("robosimian-jump-paper").build(visuals=False)
        floor = setup.robot.lowest_point + 0.15
        given = [f"terrain.shapes.0.height={floor!r}", f"terrain.shapes.0.stiffness={stiffness}"]
        setup = Scenario.load("robosimian-jump-paper", overrides=given).build(visuals=False)
        told.append(any(text.startswith("contacts are") for text in start_warnings(setup)))
    assert told == [True, False]
