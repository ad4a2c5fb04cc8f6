"""Contacts of faces, edges and corners, flat and rounded, against closed forms and coal."""

import itertools

import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh
from derivative_scenes import TIGHT, check
from pairwise import pairwise

from nmdp_pin import (
    Command,
    DryFriction,
    FrictionCone,
    Penalty,
    Scenario,
    Simulator,
    State,
    Terrain,
)
from nmdp_pin._dynamics.geometry.hulls import hulls_of
from nmdp_pin._kernels.geometry.convex_features import _depth_of_end
from nmdp_pin._kernels.geometry.planes import place_contacts
from nmdp_pin._kernels.geometry.polytopes import Polytope
from nmdp_pin._kernels.step.step_start import open_step
from nmdp_pin._robot import Robot, free_body, load_robot, together, touching
from nmdp_pin._robot.catalog import find_robot
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Mesh, Plane, Shape, Sphere

CONE = FrictionCone(stiffness=1e7, power=2, recovery=0.0)  # what rests is still
LAWS = {"pbd": Penalty(), "pbfd": Penalty(), "ne-ncp": DryFriction()}
GRAVITY = 9.81  # [m/s^2]
DEEP = 5e-4  # [m] overlap of random poses, less than what counts as resting
ALIGNED = 1e-4  # [-] cosine between normals of coal and ours
COAL = 2e-6  # [m] to which coal finds distances
REST = 1e-4  # [m/s, rad/s] of what lies
FORCE = 1e-3  # [-] of the weight, to which contacts bear it at rest
WITHIN = 3e-3  # [m] by which edges may cut a rim, 5 % of its radius and of what moves in a step
HOLD = 1e-3  # [m] between the fingers and a face, as asked for
METHODS = ["ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp", "ne-mdp", "pbd", "pbfd", "ne-ncp"]


def box(name: str, size: tuple[float, ...], position=(0.0, 0.0, 0.0), rpy=(0.0, 0.0, 0.0)) -> Robot:
    """A free box of 1 kg."""
    return free_body(name, Box(size=size), mass=1.0, position=position, rpy=rpy)


def settle(robot: Robot, terrain: Terrain, method: str, h: float, time: float, **options):
    """The last result of steps from rest in the standing pose."""
    simulator = Simulator(robot, terrain, LAWS.get(method, CONE), method, **options)
    state = State(0.0, robot.standing, np.zeros(robot.model.nv))
    for _ in range(round(time / h)):
        result = simulator.step(state, Command(), h)
        assert result.status.ok
        state = result.state
    return result


def rotations(robot: Robot, q: np.ndarray) -> list[np.ndarray]:
    """Angles by which the bodies turned from the standing pose [rad]."""
    turned = pin.difference(robot.model, robot.standing, q)
    return turned.reshape(-1, 6)[:, 3:]


def contacts_of(first: Box, second: Box, offset: pin.SE3):
    """Depths, points and normals of the contacts of a free box with one of the terrain."""
    body = free_body("a", first, mass=1.0)
    q = np.concatenate([offset.translation, pin.Quaternion(offset.rotation).coeffs()])
    form = Simulator(body, Terrain(second), CONE, "ne-nmdp").integrator.form
    memory = form.new_memory()
    open_step(form.record, form.start(State(0.0, q, np.zeros(6)), [Command()], 1e-6, None), memory)
    contacts, at = memory.stage.contacts, memory.origin.places
    place_contacts(form.candidates, contacts, memory.origin.P, at)
    found = []
    for i in range(int(contacts.n[0])):
        if at.on_internal_edge[i] or at.depth[i] <= 0.0:
            continue
        x, n = at.centre[i] + at.arm[i], at.normal[i]
        if contacts.bodies[i, 0] == 0:  # a corner of the terrain, seen from the free box
            x, n = offset.act(x), -offset.rotation @ n
        found.append((at.depth[i], x, n))
    return found


def distance(first: Box, M: pin.SE3, second: Box) -> tuple[float, np.ndarray]:
    """Signed distance of two boxes by coal, and the direction from the second to the first."""
    result, request = coal.CollisionResult(), coal.CollisionRequest()
    request.security_margin, request.enable_contact = 1.0, True
    poses = [coal.Transform3s(M.rotation, M.translation), coal.Transform3s()]
    coal.collide(
        second.collision_geometry(), poses[1], first.collision_geometry(), poses[0], request, result
    )
    contact = result.getContact(0)
    return contact.penetration_depth, contact.normal


def test_depths_and_normals_are_coals() -> None:
    """At random poses: the deepest contact is as deep as the boxes overlap, where they touch."""
    rng, kinds = np.random.default_rng(5), set()
    first, second = Box(size=(0.1, 0.06, 0.2)), Box(size=(0.3, 0.1, 0.05))
    for _ in range(200):
        R = pin.Quaternion(*rng.normal(size=4)).normalized().matrix()
        M = pin.SE3(R, np.add(rng.uniform(-0.1, 0.1, 3), (0.0, 0.0, 0.4)))
        for _ in range(3):
            gap, n = distance(first, M, second)
            M.translation = M.translation - (gap + DEEP) * n
        gap, n = distance(first, M, second)
        found = contacts_of(first, second, M)
        assert found
        depth, _, normal = max(found, key=lambda contact: contact[2] @ n)
        assert depth == pytest.approx(-gap, abs=COAL)
        assert normal @ n > 1.0 - ALIGNED
        assert max(contact[0] for contact in found) < 2.0 * DEEP
        for _, x, _ in found:
            for shape, y in ((first, M.actInv(x)), (second, x)):
                assert (np.abs(y) < 0.5 * np.array(shape.size) + 2.0 * DEEP).all()
        kinds.add(len(found))
    assert len(kinds) > 1


@pytest.mark.parametrize("yaw", [0.2, np.pi / 4.0, 1.3])
def test_faces_touch_all_over_the_patch_of_coal(yaw: float) -> None:
    """The corners of coal's contact patch are contacts, and all contacts are in it."""
    first, second = Box(size=(0.1, 0.1, 0.1)), Box(size=(0.1, 0.12, 0.1))
    M = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, yaw), np.array([0.02, -0.01, 0.1 - DEEP]))
    result, request = coal.CollisionResult(), coal.CollisionRequest()
    poses = [coal.Transform3s(M.rotation, M.translation), coal.Transform3s()]
    shapes = [first.collision_geometry(), second.collision_geometry()]
    coal.collide(shapes[0], poses[0], shapes[1], poses[1], request, result)
    patches = coal.ContactPatchResult()
    coal.computeContactPatch(
        shapes[0], poses[0], shapes[1], poses[1], result, coal.ContactPatchRequest(), patches
    )
    patch = patches.getContactPatch(0)
    corners = np.array([patch.getPoint(k)[:2] for k in range(patch.size())])
    points = np.array([x[:2] for _, x, _ in contacts_of(first, second, M)])
    assert len(corners) >= 5
    gaps = np.linalg.norm(corners[:, None] - points[None], axis=2)
    assert gaps.min(axis=1).max() < COAL
    assert gaps.min(axis=0).max() < COAL


@pairwise({"h": [0.005, 0.02], "angle": [90.0, 37.0], "method": METHODS})
def test_crossing_beams_rest(method: str, angle: float, h: float) -> None:
    """Four edges cross four others; they bear the upper beam where it is, level."""
    size = (0.3, 0.04, 0.04)
    pair = together(
        box("low", size, (0.0, 0.0, 0.02)),
        [box("high", size, (0.0, 0.0, 0.06), (0.0, 0.0, np.radians(angle)))],
    )
    robot = touching(pair)
    result = settle(robot, Terrain(Plane()), method, h, 0.6)
    assert np.abs(result.state.v).max() < REST
    assert np.abs(rotations(robot, result.state.q)).max() < REST
    sunk = 0.06 - result.state.q[9]
    assert -1e-6 < sunk < (2e-2 if method == "ne-mdp" else 8e-3)  # ne-mdp sinks in
    of_low = robot.contact_points.joints == 1
    borne = result.contact_forces[: len(of_low)][~of_low | (robot.contact_points.touches > 0)]
    assert borne[:, 2].sum() == pytest.approx(GRAVITY, rel=FORCE)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("h", [0.005, 0.02])
def test_a_plank_rests_on_two_posts(method: str, h: float) -> None:
    """Narrower than it, they touch it by corners; the reported forces have no moment."""
    plank = box("plank", (1.0, 0.2, 0.02), (0.05, 0.01, 0.1101))
    posts = [Box(size=(0.05, 0.05, 0.1), position=(x, 0.0, 0.05)) for x in (-0.3, 0.3)]
    result = settle(plank, Terrain(posts), method, h, 0.6)
    # penalties creep where they carry a load on a slope, here of 0.1 degrees
    assert np.abs(result.state.v).max() < (1e-2 if method in LAWS else REST)
    forces = result.contact_forces
    assert forces.sum(axis=0) == pytest.approx([0.0, 0.0, GRAVITY], abs=FORCE * GRAVITY)
    arms = plank.contact_points.positions
    moment = np.cross(arms, forces).sum(axis=0)
    assert moment == pytest.approx(0.0, abs=FORCE * GRAVITY)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("over", [-5e-3, 5e-3])
def test_a_box_tips_over_an_edge_where_its_centre_says(method: str, over: float) -> None:
    """With its centre 5 mm before the edge of a table it stays, 5 mm behind it falls."""
    body = box("box", (0.2, 0.1, 0.05), (0.5 + over, 0.0, 0.125))
    table = Box(size=(1.0, 1.0, 0.1), position=(0.0, 0.0, 0.05))
    result = settle(body, Terrain(table), method, 0.01, 0.5)
    tilt = np.abs(rotations(body, result.state.q)).max()
    assert tilt < 0.02 if over < 0.0 else tilt > 0.3


@pairwise({"h": [0.005, 0.02], "order": [1, 2], "turn": [0.0, np.pi / 4.0]})
def test_a_stack_stands(turn: float, order: int, h: float) -> None:
    """Three equal boxes, edge over edge, or each turned by 45 degrees."""
    boxes = [
        box(f"b{k}", (0.1, 0.1, 0.1), (0.0, 0.0, 0.05 + 0.1 * k), (0.0, 0.0, turn * k))
        for k in range(3)
    ]
    robot = touching(together(boxes[0], boxes[1:]))
    result = settle(robot, Terrain(Plane()), "ne-nmdp", h, 1.0, order=order)
    assert np.abs(result.state.v).max() < REST
    assert np.abs(rotations(robot, result.state.q)).max() < REST


@pytest.mark.parametrize("h", [0.005, 0.02])
def test_a_peg_slides_into_its_hole(h: float) -> None:
    """Of 1 mm clearance, let go 0.3 mm beside the middle."""
    peg = box("peg", (0.04, 0.04, 0.1), (3e-4, -2e-4, 0.16))
    sides = [(0.0705, 0.0, 0.1, 0.241), (0.0, 0.0705, 0.041, 0.1)]
    walls = [
        Box(size=(a, b, 0.1), position=(s * x, s * y, 0.05), friction=0.1)
        for x, y, a, b in sides
        for s in (-1.0, 1.0)
    ]
    result = settle(peg, Terrain([Plane(), *walls]), "ne-nmdp", h, 0.8)
    assert 0.04 < result.state.q[2] < 0.05 + HOLD
    assert np.abs(result.state.q[:2]).max() < HOLD


@pairwise(
    {
        ("mass", "holds"): [(1.1, True), (1.3, False)],
        "method": ["ne-nmdp", "pbd-nmdp"],
        "h": [0.005, 0.01, 0.02],
    }
)
def test_a_gripper_holds_a_cube(method: str, h: float, mass: float, holds: bool) -> None:
    """Fingers of 10 N each stop at its faces; friction of 0.6 bears 12 N, lifted at 0.2 m/s^2."""
    # with so many directions the cone is round to 2 %
    overrides = [f"integrator.name={method}", f"objects.0.mass={mass}", "contact.directions=16"]
    setup = Scenario.load("gripper-pick", overrides=overrides).build()
    simulator, state = setup.simulator, setup.state
    for k in range(round(1.5 / h)):
        lifted = max((k + 1) * h - 0.5, 0.0)
        target = np.concatenate([[0.1 * lifted**2, 0.05, 0.05], simulator.robot.standing[3:]])
        gains = np.array([1e4, 1e4, 0.0, *np.zeros(6)])
        command = Command(kp=gains, kd=0.02 * gains, q_target=target)
        result = simulator.step(state, command, h)
        assert result.status.ok
        state = result.state
        if lifted == 0.0:
            closed = state.q[1:3].copy()
    assert closed == pytest.approx(0.025, abs=HOLD)
    assert state.q[5] > 0.08 if holds else state.q[5] < 0.05


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_derivatives_of_a_beam_that_slides_over_an_edge(method: str, order: int) -> None:
    """Those of a step are those of its differences: the crossing moves, and its normal turns."""
    beam = box("beam", (0.6, 0.05, 0.05))
    table = Terrain(Box(size=(0.4, 0.4, 0.1), position=(0.0, 0.0, -0.05), rpy=(0.2, 0.3, 0.1)))
    R = pin.rpy.rpyToMatrix(0.9, 0.5, 0.7)
    M = pin.SE3(R, np.array([0.19, 0.0, 0.1]))
    for _ in range(3):
        gap, n = distance(
            Box(size=(0.6, 0.05, 0.05)),
            table.shapes[0].placement.actInv(M),
            Box(size=(0.4, 0.4, 0.1)),
        )
        M.translation = M.translation - (gap + DEEP) * (table.shapes[0].placement.rotation @ n)
    q = np.concatenate([M.translation, pin.Quaternion(R).coeffs()])
    away = table.shapes[0].placement.rotation @ n
    v = np.concatenate([R.T @ (np.array([0.4, 0.3, -0.1]) - 0.5 * away), [0.3, -0.5, 0.4]])
    simulator = Simulator(beam, table, CONE, method, order=order, vi_newton=TIGHT)
    result = simulator.step(State(0.0, q, v), Command(), 0.005)
    assert (np.abs(result.contact_forces).max(axis=1) > 0.0).sum() in (1, 2)
    check(simulator, State(0.0, q, v), Command(), 0.005)


LYING = (np.pi / 2.0, 0.0, 0.0)  # the axis along y
POSTS: dict[str, list[Shape]] = {
    "logs": [
        Capsule(radius=0.05, length=0.3, position=(-0.2, 0.0, 0.05), rpy=LYING),
        Cylinder(radius=0.05, length=0.3, position=(0.2, 0.0, 0.05), rpy=LYING),
    ],
    "balls": [
        Sphere(radius=0.05, position=(x, y, 0.05))
        for x, y in ((-0.2, 0.0), (0.2, 0.03), (0.2, -0.03))
    ],
    "pins": [
        Capsule(radius=0.02, length=0.06, position=(x, y, 0.05))
        for x, y in ((-0.2, 0.0), (0.2, 0.03), (0.2, -0.03))
    ],
}


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "pbfd", "ne-ncp"])
@pytest.mark.parametrize("posts", POSTS)
def test_a_plank_rests_on_round_posts(posts: str, method: str) -> None:
    """Sides and ends bear it beside its corners; the reported forces have no moment."""
    plank = box("plank", (0.6, 0.1, 0.02), (0.05, 0.0, 0.1101))
    result = settle(plank, Terrain(POSTS[posts]), method, 0.01, 0.6)
    assert np.abs(result.state.v).max() < (1e-2 if method in LAWS else REST)
    forces = result.contact_forces
    assert forces.sum(axis=0) == pytest.approx([0.0, 0.0, GRAVITY], abs=FORCE * GRAVITY)
    moment = np.cross(plank.contact_points.positions, forces).sum(axis=0)
    # what is reported at the corners of a face acts on the face, a depth away
    assert moment == pytest.approx(0.0, abs=2.0 * DEEP * GRAVITY)


@pytest.mark.parametrize(
    "shape", [Capsule(radius=0.03, length=0.3), Cylinder(radius=0.03, length=0.3)]
)
@pytest.mark.parametrize("order", [1, 2])
def test_what_is_round_lies_across_a_beam(shape: Capsule | Cylinder, order: int) -> None:
    """Narrower than it is long: two edges bear its side, and keep it level."""
    body = free_body(
        "body", shape, mass=1.0, position=(0.003, 0.0, 0.13), rpy=(0.0, np.pi / 2, 0.0)
    )
    beam = Terrain(Box(size=(0.05, 0.4, 0.1), position=(0.0, 0.0, 0.05)))
    result = settle(body, beam, "ne-nmdp", 0.01, 0.6, order=order)
    assert 0.127 < result.state.q[2] < 0.13
    assert np.abs(rotations(body, result.state.q)).max() < 2.0 * DEEP / 0.025


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_derivatives_of_crossing_capsules(method: str, order: int) -> None:
    """Those of a step are those of its differences, with both sides round."""
    body = free_body("body", Capsule(radius=0.03, length=0.4), mass=1.0)
    log = Capsule(radius=0.05, length=0.6, rpy=(0.1, np.pi / 2, 0.0))
    R = pin.rpy.rpyToMatrix(np.pi / 2, 0.2, 0.4)
    q = np.concatenate([[0.02, 0.03, 0.0795], pin.Quaternion(R).coeffs()])
    v = np.concatenate([R.T @ [0.4, 0.3, -0.1], [0.3, -0.5, 0.4]])
    simulator = Simulator(body, Terrain(log), CONE, method, order=order)
    result = simulator.step(State(0.0, q, v), Command(), 0.005)
    assert np.abs(result.contact_forces).max() > 0.0
    check(simulator, State(0.0, q, v), Command(), 0.005)


@pytest.mark.parametrize(
    "shape",
    [
        Sphere(radius=0.02),
        Capsule(radius=0.02, length=0.02),
        Cylinder(radius=0.02, length=0.04),
        Box(size=(0.04, 0.04, 0.04)),
    ],
    ids=lambda shape: type(shape).__name__,
)
@pytest.mark.parametrize("h", [0.02, 0.05])
def test_nothing_falls_through_a_thin_floor(shape: Shape, h: float) -> None:
    """A floor of 2 cm stops what falls further than that in a step."""
    body = free_body("body", shape, mass=0.1, position=(0.01, 0.02, 0.3), rpy=(0.4, 0.3, 0.0))
    floor = Terrain(Box(size=(1.0, 1.0, 0.02), position=(0.0, 0.0, -0.01)))
    result = settle(body, floor, "ne-nmdp", h, 1.0)
    assert result.state.q[2] > 0.015


def test_how_far_a_crossing_is_from_the_end_of_a_side() -> None:
    """The nearer end of a cylinder, and what a line that leans has to climb; boxes have no end."""
    robot = free_body("body", Cylinder(radius=0.02, length=0.1), mass=1.0)
    cylinder, block = (
        hulls_of(robot, 0, 0, shape)[0]
        for shape in (Cylinder(radius=0.02, length=0.1), Box(size=(0.1, 0.1, 0.1)))
    )
    capsule = hulls_of(robot, 0, 0, Capsule(radius=0.02, length=0.1))[0]
    across, leaning = (1.0, 0.0, 0.0), (0.6, 0.0, -0.8)
    for s, expected in ((0.2, 0.02), (0.7, 0.03)):
        assert _end_of(cylinder, s, across) == pytest.approx(expected)
        assert _end_of(cylinder, s, leaning) == pytest.approx(expected + 0.02 * 0.8)
        assert _end_of(capsule, s, across) == _end_of(block, s, across) == np.inf


def _end_of(hull, s: float, f: tuple[float, float, float]) -> float:
    """How far a crossing at s of the first edge is from leaving by its end [m]."""
    side = Polytope(
        hull.vertices, hull.normals, hull.levels, hull.edges.astype(np.int32), hull.rounding
    )
    return _depth_of_end(side, 0, s, f)


def test_fingers_of_meshes_hold_what_fingers_of_boxes_hold(tmp_path) -> None:
    """The hull of the contact points of a mesh touches by its faces and edges."""
    source = find_robot("gripper").urdf.read_text()
    solid = trimesh.creation.box((0.03, 0.01, 0.08)).subdivide()
    solid.export(tmp_path / "finger.obj")
    mesh = '<mesh filename="finger.obj"/></geometry></collision>'
    source = source.replace('<box size="0.03 0.01 0.08"/></geometry></collision>', mesh)
    (tmp_path / "gripper.urdf").write_text(source)
    cube = free_body("cube", Box(size=(0.05,) * 3, friction=0.6), mass=0.5, position=(0, 0, 0.025))
    robot = load_robot(tmp_path / "gripper.urdf", base="fixed")
    robot = touching(together(robot, [cube]), friction=0.6)
    law = FrictionCone(stiffness=1e8, power=2)
    simulator = Simulator(robot, Terrain(Plane(friction=0.6)), law, "ne-nmdp")
    state, h = State(0.0, robot.standing, np.zeros(robot.model.nv)), 0.01
    for k in range(100):
        lift = 0.4 * max((k + 1) * h - 0.5, 0.0) ** 2
        target = np.concatenate([[lift, 0.05, 0.05], robot.standing[3:]])
        gains = np.array([1e4, 1e4, 0.0, *np.zeros(6)])
        command = Command(kp=gains, kd=0.02 * gains, q_target=target)
        state = simulator.step(state, command, h).state
    assert state.q[1:3] == pytest.approx(0.025, abs=HOLD)
    assert state.q[5] > 0.1


def test_a_convex_mesh_of_the_world_is_a_box_where_it_is_one() -> None:
    """A plank rests on posts that are meshes as on boxes, to the last digit that is left."""
    plank = box("plank", (1.0, 0.2, 0.02), (0.05, 0.01, 0.1101))
    ends = []
    solid = trimesh.creation.box((0.05, 0.05, 0.1))
    for post in (
        lambda at: Box(size=(0.05, 0.05, 0.1), position=at),
        lambda at: Mesh(vertices=solid.vertices, faces=solid.faces, position=at),
    ):
        posts = [post((x, 0.0, 0.05)) for x in (-0.3, 0.3)]
        ends.append(settle(plank, Terrain(posts), "ne-nmdp", 0.01, 0.3).state.q)
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_parts_of_a_pile_stay_apart() -> None:
    """By coal, in every state: no two parts overlap further than the deepest contact is deep."""
    shapes = [
        Cylinder(radius=0.04, length=0.07),
        Box(size=(0.08, 0.06, 0.05)),
        Capsule(radius=0.025, length=0.08),
        Cylinder(radius=0.03, length=0.06),
        Box(size=(0.1, 0.07, 0.06)),
        Sphere(radius=0.04),
    ]
    rng, bodies = np.random.default_rng(1), []
    for k, shape in enumerate(shapes):
        at = (*rng.uniform(-0.02, 0.02, 2), 0.08 + 0.1 * k)
        rpy = tuple(rng.uniform(-1.0, 1.0, 3))
        bodies.append(free_body(f"p{k}", shape, density=500.0, position=at, rpy=rpy))
    robot = touching(together(bodies[0], bodies[1:]))
    simulator = Simulator(robot, Terrain(Plane()), FrictionCone(stiffness=1e6, power=2), order=1)
    state = State(0.0, robot.standing, np.zeros(robot.model.nv))
    solids = [shape.collision_geometry() for shape in shapes]
    deepest = 0.0
    for _ in range(120):
        result = simulator.step(state, Command(), 0.005)
        assert result.status.ok
        state = result.state
        M = [pin.XYZQUATToSE3(q) for q in state.q.reshape(-1, 7)]
        poses = [coal.Transform3s(x.rotation, x.translation) for x in M]
        overlap = 0.0
        for i, j in itertools.combinations(range(len(shapes)), 2):
            found = coal.CollisionResult()
            coal.collide(solids[i], poses[i], solids[j], poses[j], coal.CollisionRequest(), found)
            depths = [-contact.penetration_depth for contact in found.getContacts()]
            overlap = max(overlap, *depths, 0.0)
        assert overlap < result.contact_depths.max() + WITHIN
        deepest = max(deepest, overlap)
    assert deepest > 0.0


def test_edges_that_turn_about_give_no_deep_contact():
    """Go2 tumbles down stairs; edges almost parallel to a far one once felt it 0.4 m deep."""
    setup = Scenario.load("go2-stairs").build(visuals=False)
    steps = setup.simulator.run(setup.state, setup.controller, dt=0.01, duration=0.9)
    assert max(result.contact_depths.max() for result in steps) < 0.02


@pytest.mark.parametrize("pose", [{}, {"position": (0.1, -0.2, 0.3), "rpy": (0.3, -0.4, 0.5)}])
def test_prisms_and_pyramids_have_twelve_sides(pose):
    """In a cylinder and in a cone, 2 % smaller: volume and centre of volume in closed form."""
    r, length, inner = 0.1, 0.3, 0.98
    dozen = 12 * 0.5 * np.sin(np.radians(30.0)) * (inner * r) ** 2  # area of the polygon
    for shape, volume, centre in (
        (Cylinder(radius=r, length=length, **pose), dozen * (length - 0.04 * r), 0.0),
        (Cone(radius=r, length=length, **pose), dozen * inner * length / 3.0, -0.25 * length),
    ):
        prism = hulls_of(free_body("body", shape, mass=1.0), 1, 0, shape)[-1]
        hull = trimesh.convex.convex_hull(prism.vertices)
        assert hull.volume == pytest.approx(volume, rel=1e-9)
        place = shape.placement.act(np.array([0.0, 0.0, centre]))
        np.testing.assert_allclose(hull.center_mass, place, atol=1e-9)


@pairwise({"inset": [0.0, 7e-4], "tall": [0.002, 0.02], "order": [1, 2]})
def test_a_box_rests_on_a_disc_as_wide_as_its_base(inset, tall, order):
    """Its corners are nearer to the side than to the top, and go through a disc of 2 mm.

    Those on the rim touch it with the edges at both sides, so 12 contacts bear the weight.
    """
    static, half, bearing = 2e-3, 0.05, 4 if inset else 12
    radius, law = half * np.sqrt(2.0), FrictionCone(stiffness=0.25 * GRAVITY / static**2, power=2)
    side = 2.0 * half * (1.0 - inset / radius)
    body = box("box", (side, side, 0.04), (0.0, 0.0, 0.5 * tall + 0.021))
    simulator = Simulator(body, Terrain(Cylinder(radius=radius, length=tall)), law, order=order)
    state = State(0.0, body.standing, np.zeros(6))
    for _ in range(60):
        result = simulator.step(state, Command(), 0.01)
        assert result.status.ok
        state = result.state
    deep = 0.5 * tall + 0.02 - state.q[2]
    assert deep == pytest.approx(static * np.sqrt(4.0 / bearing), rel=0.02)
