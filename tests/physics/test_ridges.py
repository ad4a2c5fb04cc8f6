"""Peaks and ridges of height fields and meshes under faces, edges and round sides of bodies."""

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from contact_laws import law_for
from derivative_scenes import TIGHT, check
from pairwise import pairwise
from physics_scenes import extruded

from nmdp_pin import Command, FrictionCone, Simulator, State, Terrain
from nmdp_pin._robot import free_body
from nmdp_pin._terrain import Box, Capsule, Cylinder, HeightField, Mesh, Plane

CELL, TOP = 0.25, 0.2  # [m] of the height fields, and height of their peaks and ridges
CONE = FrictionCone(stiffness=1e6, power=2, recovery=0.0)  # at rest at once
HARD = FrictionCone(stiffness=1e7, power=2)
DEEP = np.sqrt(9.81 / 1e6)  # [m] static depth of 1 kg on one contact
FORCE = 1e-3  # [-] of the weight, to which contacts bear it at rest
REST = 1e-4  # [m/s, rad/s] of what lies
SAME = 1e-8  # [m, -] between the same surfaces as different shapes
SOLVED = 1e-6  # [m, -] and between steps solved from other guesses
METHODS = ["ne-nmdp", "pbd-nmdp", "ne-zonmdp", "ne-mdp", "pbd", "pbfd", "ne-ncp"]
HALF = 0.025  # [m] thickness of the planks, and radius of the logs
LEVEL = 1e-3  # [rad]
PLATE = Box(size=(0.7, 0.6, 0.05))
PLANKS = {
    "box": Box(size=(0.6, 0.16, 2.0 * HALF)),
    "capsule": Capsule(radius=HALF, length=0.6, rpy=(0.0, np.pi / 2.0, 0.0)),
    "cylinder": Cylinder(radius=HALF, length=0.6, rpy=(0.0, np.pi / 2.0, 0.0)),
}


def field(name: str, friction: float = 0.6, along: float = CELL) -> HeightField:
    """Four peaks, two ridges along y, a peak or a ridge, or a table whose edge lies at x = 0."""
    x = np.arange(-2, 3)
    heights = np.tile(
        TOP
        * {"peaks": np.abs(x) == 1, "ridges": np.abs(x) == 1, "table": x <= 0}.get(name, x == 0),
        (5, 1),
    )
    if "peak" in name:
        heights = np.minimum(heights, heights.T)
    return HeightField(heights=heights, spacing=(CELL, along), friction=friction)


def put(body, ground, method, h, time, *, position, R=None, cone=CONE, **options):
    """The results of a body of 1 kg that is put down at rest; every step must have been made."""
    robot = free_body("body", body, mass=1.0)
    simulator = Simulator(robot, Terrain(ground), law_for(method, cone), method, **options)
    turned = pin.Quaternion(np.eye(3) if R is None else R).coeffs()
    state, results = State(0.0, np.concatenate([position, turned]), np.zeros(6)), []
    for _ in range(round(time / h)):
        results.append(simulator.step(state, Command(), h))
        assert results[-1].status.ok, (results[-1].status, state.t)
        state = results[-1].state
    return results


@pytest.mark.parametrize(
    ("ground", "body", "method"),
    [
        *(("peaks", "plate", method) for method in METHODS),
        *(("ridges", *case) for case in zip(PLANKS, ("ne-nmdp", "pbd-nmdp", "pbfd"), strict=True)),
    ],
)
def test_a_plank_lies_on_what_it_is_put_on(ground: str, body: str, method: str) -> None:
    """On four peaks, or across two ridges, which bear it at their static depth, at three steps."""
    shape = PLATE if body == "plate" else PLANKS[body]
    start = 0.8 * DEEP if method == "ne-mdp" else 1e-4  # an explicit law holds what it can there
    for h in (0.002, 0.01, 0.03):
        last = put(shape, field(ground), method, h, 0.3, position=(0, 0, TOP + HALF - start))[-1]
        assert -1e-6 < TOP + HALF - last.state.q[2] < DEEP
        assert np.abs(pin.log3(pin.Quaternion(last.state.q[3:]).matrix())[:2]).max() < LEVEL
        assert np.abs(last.state.v).max() < REST
        weight = last.contact_forces.sum(axis=0)
        assert weight == pytest.approx([0.0, 0.0, 9.81], abs=9.81 * FORCE)


def slot(half: float) -> Mesh:
    """A block with a slot along y between x = -half and half, from z = 0 up."""
    profile = [(-0.1, -0.05), (0.1, -0.05), (0.1, 0.1), (half, 0.1), (half, 0.0)]
    profile += [(-half, 0.0), (-half, 0.1), (-0.1, 0.1)]
    faces = [(0, 1, 5), (1, 4, 5), (1, 2, 4), (2, 3, 4), (0, 5, 7), (5, 6, 7)]
    return extruded(np.array(profile), faces, friction=0.2)


@pairwise(
    {
        "body": ["plate", "disc"],
        ("aside", "tilt"): [(0.01, 0.2), (0.003, 0.05)],
        "method": ["ne-nmdp", "pbd-nmdp"],
        "order": [1, 2],
    }
)
def test_a_tilted_plate_falls_into_a_slot(body, aside, tilt, method, order) -> None:
    """1 mm wider, past the edge of one side, and stands there, no more tilted than it can be."""
    shape: Box | Cylinder = Box(size=(0.04, 0.1, 0.1))
    if body == "disc":
        shape = Cylinder(radius=0.05, length=0.04, rpy=(0.0, np.pi / 2.0, 0.0))
    at = {"position": (aside, 0.0, 0.17), "R": pin.rpy.rpyToMatrix(0.0, tilt, 0.0)}
    for h in (0.005, 0.01, 0.02):
        last = put(shape, slot(0.0205), method, h, 0.6, cone=HARD, order=order, **at)[-1]
        assert last.state.q[2] == pytest.approx(0.05, abs=DEEP)
        assert abs(last.state.q[0]) < 0.0005 + DEEP
        assert abs(pin.rpy.matrixToRpy(pin.Quaternion(last.state.q[3:]).matrix())[1]) < 0.02


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("yaw", [0.3, 1.2])
def test_a_ridge_is_what_a_convex_mesh_is(yaw: float, order: int) -> None:
    """A plank that slides on a ridge is where it is on a prism of the same shape."""
    corners = [(x, y, z) for y in (-2.0, 2.0) for x, z in ((-CELL, 0.0), (0.0, TOP), (CELL, 0.0))]
    hull = trimesh.convex.convex_hull(np.array(corners))
    prism = Mesh(vertices=np.array(hull.vertices), faces=np.array(hull.faces), friction=0.2)
    R = pin.rpy.rpyToMatrix(0.0, 0.3, yaw)
    ends = [
        put(PLANKS["box"], ground, "ne-nmdp", 0.01, 0.12, order=order,
            position=(0.03, 0.5, TOP + 0.04), R=R)[-1].state
        for ground in (field("ridge", 0.2, along=1.0), prism)
    ]  # fmt: skip
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=SAME)
    assert np.abs(ends[0].v).max() > 0.1


@pytest.mark.parametrize("h", [0.005, 0.02])
@pytest.mark.parametrize("beyond", [-0.01, 0.01])
def test_a_plank_tips_over_an_edge(beyond: float, h: float) -> None:
    """At the end of a table, where its centre of mass says."""
    results = put(
        PLANKS["box"], field("table"), "ne-nmdp", h, 0.4, position=(beyond, 0, TOP + HALF)
    )
    pitch = pin.log3(pin.Quaternion(results[-1].state.q[3:]).matrix())[1]
    assert (pitch > 0.05) if beyond > 0.0 else (abs(pitch) < 0.02)


@pytest.mark.parametrize(("method", "order"), [("ne-nmdp", 2), ("pbd-nmdp", 1)])
def test_a_standing_cylinder_tips_over_an_edge(method: str, order: int) -> None:
    """Its flat end is on the edge, not its side, which once felt the edge a radius deep."""
    table = Box(size=(1.0, 1.0, TOP), position=(-0.5, 0.0, 0.5 * TOP), friction=0.0)
    cylinder, at = Cylinder(radius=0.05, length=0.1), (0.002, 0.0, TOP + 0.05)
    results = put(cylinder, table, method, 0.01, 0.3, order=order, position=at)
    assert max(result.contact_depths.max() for result in results) < 2.0 * DEEP
    assert results[-1].state.v[4] > 1.0


@pytest.mark.parametrize("order", [1, 2])
def test_a_plank_tips_on_a_peak(order: int) -> None:
    """About the peak, off its centre by c, at m g c / (I + m c^2)."""
    c, h, n = 0.03, 0.002, 30
    last = put(
        PLANKS["box"], field("peak"), "ne-nmdp", h, n * h, order=order,
        position=(c, 0, TOP + HALF - DEEP),
    )[-1]  # fmt: skip
    inertia = (0.6**2 + (2.0 * HALF) ** 2) / 12.0 + HALF**2
    assert last.state.v[4] == pytest.approx(9.81 * c / (inertia + c * c) * n * h, rel=0.1)


@pairwise(
    {
        "body": ["box", "capsule"],
        "ground": ["peak", "ridge"],
        "method": ["ne-nmdp", "pbd-nmdp"],
        "order": [1, 2],
    }
)
def test_derivatives_on_peaks_and_ridges(body: str, ground: str, method: str, order: int) -> None:
    """Those of a step are those of its differences: contacts move along edges and sides."""
    R = pin.rpy.rpyToMatrix(0.04, 0.02, 0.3)
    robot = free_body("body", PLANKS[body], mass=1.0)
    simulator = Simulator(robot, Terrain(field(ground)), CONE, method, order=order, vi_newton=TIGHT)
    q = np.concatenate([[0.02, 0.01, TOP + HALF - 0.004], pin.Quaternion(R).coeffs()])
    v = np.concatenate([R.T @ [0.4, 0.3, -0.3], [0.3, -0.5, 0.4]])
    state = State(0.0, q, v)
    assert np.abs(simulator.step(state, Command(), 0.005).contact_forces).max() > 0.0
    check(simulator, state, Command(), 0.005, step=2e-6)  # shorter ones are good to 3e-6


def test_flat_ground_and_valleys_have_no_ridges() -> None:
    """Coplanar triangles and valleys have none inside; a roof has one in each cell along it."""
    inside = {}
    for name, slope in (("flat", 0.0), ("valley", 1.0), ("roof", -1.0), ("slope", None)):
        x = np.arange(-3, 4)
        heights = np.tile(0.3 * x if slope is None else slope * np.abs(x), (7, 1))
        mesh = Terrain(HeightField(heights=heights, spacing=(1.0, 1.0))).arrays.triangles
        middles = mesh.vertices[mesh.ridges[:, :2]].mean(axis=1)
        inside[name] = int((np.abs(middles[:, :2]).max(axis=1) < 2.9).sum())
        for r, ridge in enumerate(mesh.ridges):
            assert (mesh.ridge_of[ridge[2:]] == r).sum() == 2
    assert inside == {"flat": 0, "valley": 0, "roof": 6, "slope": 0}


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_a_box_slides_over_the_seams_of_a_field(friction: float) -> None:
    """Over coplanar triangles, and from the field onto a plane level with it, it feels nothing."""
    robot = free_body("box", Box(size=(0.2, 0.16, 0.1)), mass=1.0)
    plane = Plane(friction=friction)
    level = HeightField(heights=np.zeros((5, 5)), spacing=(CELL, CELL), friction=friction)
    ends = []
    for shapes in ([plane], [plane, level]):
        law = FrictionCone(stiffness=1e6, power=2)
        simulator = Simulator(robot, Terrain(shapes), law, "ne-nmdp", vi_newton=TIGHT)
        state = State(0.0, np.array([0, 0, 0.05 - 0.5 * DEEP, 0, 0, 0, 1.0]), 2.0 * np.eye(6)[0])
        for _ in range(50):
            result = simulator.step(state, Command(), 0.01)
            assert result.status.ok
            state = result.state
        ends.append(state)
    assert ends[0].q[0] > 0.45
    np.testing.assert_allclose(ends[1].q, ends[0].q, atol=SOLVED)


@pytest.mark.parametrize("ground", ["plane", "boxes", "ridges"])
@pytest.mark.parametrize("depth", [0.0, 3e-17, 1e-15, 1e-13, 1e-11])
def test_what_just_touches_is_carried(depth: float, ground: str) -> None:
    """A body put down where it touches: its contacts can give no force, and are left out."""
    sides = [Box(size=(0.1, 1.0, TOP), position=(x, 0.0, 0.5 * TOP)) for x in (-CELL, CELL)]
    shapes = {"plane": Plane(height=TOP), "boxes": sides, "ridges": field("ridges")}[ground]
    for h in (0.002, 0.01):
        middle = (0, 0, TOP + HALF - depth)
        last = put(PLANKS["box"], shapes, "ne-nmdp", h, 0.06, position=middle)[-1]
        assert last.contact_forces[:, 2].sum() > 1.0
