"""Solids that overlap deeper than their contacts: found by coal, held, and missed before."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pinocchio as pin
import pytest
from benchmark_modules import benchmark

from nmdp_pin import Command, FrictionCone, Penalty, Simulator, State, Terrain
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.geometry.solid_pairs import SolidCalls, solid_pairs
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.compiler.callbacks import callee
from nmdp_pin._kernels.geometry.contacts import N_OVERLAPS, OVERLAP
from nmdp_pin._kernels.geometry.polytopes import BORDER, CROSSED_ROUND, NONE
from nmdp_pin._robot import free_body, load_robot, together, touching
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Sphere

LAW = FrictionCone(stiffness=2e5, power=2)
EXACT = 1e-7  # [m] of coal's distances
# Falls of the benchmark that were deep in each other without a contact, or had no step.
UNREPORTED = (51, 230, 401, 482)
WITHOUT_A_STEP = (59, 173)

JOINT = 2  # of a free body, behind that of its translation
COIN = Cylinder(radius=0.06, length=0.006)
TIP_DOWN = (np.pi, 0.0, 0.0)
CONE = Cone(radius=0.05, length=0.1, rpy=TIP_DOWN)


@pytest.fixture
def falls() -> ModuleType:
    """The benchmark."""
    return benchmark("falls")


@pytest.mark.parametrize("number", UNREPORTED + WITHOUT_A_STEP)
def test_falls_of_cones_and_coins(falls: ModuleType, number: int) -> None:
    """All steps converge, and contacts are as deep as the bodies are in each other."""
    found = falls.fall(number, falls.KINDS)
    assert found.failed == ""
    assert found.unreported < falls.UNREPORTED


def test_evaluations_of_a_step_that_begins_again_are_counted(
    falls: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An iteration of `pbfd` has one at least, besides that at the start."""
    held, steps = [], []

    def make(body, terrain, law, order):
        return Simulator(body, terrain, Penalty(), "pbfd")

    def judge(found, result, apart, order):
        steps.append((len(held), result.iterations, result.evaluations))
        held.clear()

    hold = SolidCalls._hold
    monkeypatch.setattr(SolidCalls, "_hold", lambda *some: held.append(hold(*some)) or held[-1])
    monkeypatch.setattr(falls, "Simulator", make)
    monkeypatch.setattr(falls, "judge", judge)
    assert falls.fall(14, ("cone", "coin")).failed == ""
    assert max(times for times, _, _ in steps) > 1
    assert all(evaluations > iterations for _, iterations, evaluations in steps)


class Scene:
    """A solid above the origin, over a terrain, without contacts."""

    def __init__(self, solid, *ground) -> None:
        self.robot = free_body("body", solid, mass=1.0)
        self.form = CompiledSystem(System(self.robot, Terrain(ground), LAW))
        self.contacts = self.form.new_memory().stage.contacts
        self.places = self.form.new_point().places
        self.first = int(np.flatnonzero(self.form.candidates.contact_kinds == OVERLAP)[0])
        self.calls = callee(self.form.candidates.solids)
        self.contacts.listed[:] = False
        self.contacts.n[0] = 0

    def placements(self, *position: float) -> np.ndarray:
        """Placements with the body there, shape (3, 4, 3)."""
        P = np.zeros((JOINT + 1, 4, 3))
        P[:, :3] = np.eye(3)
        P[JOINT, 3] = position
        return P

    def hold(self, position, before, depth: float = 0.0) -> bool:
        """Whether an overlap is found at a position, with a contact of some depth."""
        if depth:
            self.contacts.n[0] = 1
            self.contacts.bodies[0] = JOINT, 0
            self.places.depth[0] = depth
        P, P0 = self.placements(*position), self.placements(*before)
        self.calls.find(self.contacts, P0)
        return self.calls.list_missed(self.contacts, self.places, P, P0)

    @property
    def held(self) -> list[int]:
        """Slots of the contacts."""
        return (np.flatnonzero(self.contacts.listed) - self.first).tolist()


ABOVE = (0.01, 0.0, 0.06)  # [m] of the cone, whose tip is 7 mm above the coin


def test_an_overlap_is_held_by_a_point_and_a_plane() -> None:
    """The tip of a cone, 3 mm in a coin, and the plane of the face from which it came."""
    scene = Scene(CONE, COIN)
    assert not scene.hold(ABOVE, ABOVE)
    assert scene.hold((0.01, 0.0, 0.05), ABOVE)
    assert scene.held == [0]
    np.testing.assert_allclose(scene.contacts.planes[scene.first], [0, 0, 1, 0.003], atol=EXACT)
    np.testing.assert_allclose(scene.contacts.held[scene.first], [0, 0, -0.05], atol=EXACT)


def test_points_that_a_seam_covers_are_left_out() -> None:
    """A rim or corner between two shapes is felt again in the next step; features are no points."""
    beside, apart, ground = (
        Cylinder(radius=0.06, length=0.006, position=(0.12, 0.0, 0.0)),
        Cylinder(radius=0.06, length=0.006, position=(0.122, 0.0, 0.0)),
        Plane(height=-0.003),
    )
    for feature, other, found in (
        (NONE, beside, False),
        (CROSSED_ROUND, beside, True),
        (NONE, apart, True),
        (NONE, ground, True),
    ):
        scene = Scene(CONE, COIN, other)
        scene.contacts.features[0, 0] = feature
        scene.places.on_internal_edge[0] = True
        assert scene.hold((0.01, 0.0, 0.05), ABOVE, 1e-6) is found


IN_A_PROCESS = """
import coal, numpy as np
import pinocchio as pin
from nmdp_pin import Terrain, free_body
from nmdp_pin._dynamics.geometry.solid_pairs import SolidCalls, solid_pairs
from nmdp_pin._terrain import Box, Cylinder

turned = coal.Transform3s(pin.rpy.rpyToMatrix(0.3, 0.5, 0.7), np.ones(3))
box = (coal.Box(0.2, 0.15, 0.1), turned)
log = (coal.Cylinder(0.06, 0.2), coal.Transform3s.Identity())
coal.distance(*{first}, coal.DistanceRequest(), coal.DistanceResult())
robot = free_body("log", Cylinder(radius=0.06, length=0.2), mass=1.0)
ground = Terrain(Box(size=(0.2, 0.15, 0.1)))
pairs = solid_pairs(robot, {{0: ground, **robot.surfaces}}, {{0: [0], 2: [1]}})
calls = SolidCalls(pairs, 0)
P = np.zeros((3, 4, 3))
P[:, :3], P[2, :3], P[2, 3] = np.eye(3), pin.rpy.rpyToMatrix(0.6, 0.2, 0.1), (-0.05, 0.0, -0.1)
print(calls._ask(0, P)[2].hex())
"""


def test_distances_are_the_same_in_every_process() -> None:
    """Whatever box coal has met first in it: its support function keeps one of two sizes."""
    found = [
        subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS.format(first=first)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for first in ("box, *log", "log, *box")
    ]
    assert found[0]
    assert found[0] == found[1]


def test_turned_solids_are_near_where_they_reach() -> None:
    """A rod along x, as z is after a third of a turn about (1, 1, 1), with its end on a coin."""
    scene = Scene(Cylinder(radius=0.01, length=0.4), COIN)
    above, on = scene.placements(0.2, 0.0, 0.02), scene.placements(0.2, 0.0, 0.011)
    above[JOINT, :3] = on[JOINT, :3] = pin.exp3(np.full(3, 2.0 * np.pi / 3.0 / np.sqrt(3.0))).T
    assert scene.calls.list_missed(scene.contacts, scene.places, on, above)
    np.testing.assert_allclose(scene.contacts.planes[scene.first], [0, 0, 1, 0.003], atol=EXACT)


def test_what_is_far_off_is_left_alone() -> None:
    """Beyond a million kilometres, where squares overflow, and nowhere at all."""
    scene = Scene(CONE, COIN)
    for x in (1e10, 1e200, np.inf, np.nan):
        assert not scene.hold((x, 0.0, 0.05), ABOVE)


def test_what_is_through_comes_back() -> None:
    """A tip that went through a coin feels the face from which it came, not the nearer one."""
    scene, under = Scene(Cylinder(radius=0.002, length=0.02), COIN), (0.0, 0.0, -0.01)
    assert scene.hold(under, (0.0, 0.0, 0.02))
    np.testing.assert_allclose(scene.contacts.planes[scene.first], [0, 0, 1, 0.003], atol=EXACT)
    assert scene.contacts.held[scene.first, 2] == pytest.approx(-0.01, abs=EXACT)
    below = Scene(Cylinder(radius=0.002, length=0.02), COIN)
    assert below.hold(under, (0.0, 0.0, -0.03))
    np.testing.assert_allclose(below.contacts.planes[below.first], [0, 0, -1, 0.003], atol=EXACT)


def test_contacts_that_are_as_deep_explain_an_overlap() -> None:
    """Up to `BORDER`, and only those of both bodies."""
    for less, found in ((0.5 * BORDER, False), (2.0 * BORDER, True)):
        scene = Scene(CONE, COIN)
        assert scene.hold((0.01, 0.0, 0.05), ABOVE, 0.003 - less) is found
    scene = Scene(CONE, COIN)
    scene.contacts.bodies[0] = 1, 0
    scene.contacts.n[0], scene.places.depth[0] = 1, 0.003
    assert scene.hold((0.01, 0.0, 0.05), ABOVE)


def test_coal_is_asked_once_about_a_start() -> None:
    """And once about an end; where the next step starts there, it is known."""
    scene, at = Scene(CONE, COIN), (0.01, 0.0, 0.05)
    assert not scene.hold(at, at, 0.003)
    assert scene.calls.asked.tolist() == [1]
    assert not scene.hold(at, ABOVE, 0.003)
    assert scene.calls.asked.tolist() == [2]


def test_an_overlap_has_several_contacts_at_most() -> None:
    """One more each time that something is missed, until there are no more."""
    scene = Scene(CONE, COIN)
    for k in range(N_OVERLAPS):
        assert scene.hold((0.01 + 0.001 * k, 0.0, 0.05), ABOVE)
        assert scene.held == list(range(k + 1))
    assert not scene.hold((0.02, 0.0, 0.05), ABOVE)


def test_faces_inside_other_shapes_are_not_held() -> None:
    """At the seam of two boxes what overlaps one of them a little is not pushed aside."""
    ground = [Box(size=(0.2, 0.2, 0.1), position=(0.1 * s, 0.0, -0.05)) for s in (-1.0, 1.0)]
    standing = Cylinder(radius=0.05, length=0.1)
    scene, alone = Scene(standing, *ground), Scene(standing, ground[0])
    at = (0.0495, 0.0, 0.045)  # 0.5 mm over the left box, 5 mm in both of them
    assert alone.hold(at, at)
    assert alone.contacts.planes[alone.first, 0] == pytest.approx(1.0)
    scene.hold(at, at)
    normals = scene.contacts.planes[scene.first + np.array(scene.held)][:, 2]
    np.testing.assert_allclose(normals, 1.0)


def test_pairs_are_of_round_solids_with_their_own_contact_points() -> None:
    """A cylinder or a cone on another solid; no spheres, planes, or links with chosen points."""
    cone, block = Cone(radius=1.0, length=1.0), Box(size=(1.0, 1.0, 1.0))
    ground = Terrain([Plane(), Sphere(radius=0.1), block, cone])
    cylinder = Cylinder(radius=0.1, length=0.2)
    for solid, expected in (
        (cylinder, {Box, Cone}),
        (Box(size=(0.1,) * 3), {Cone}),
        (Ellipsoid(radii=(0.1, 0.1, 0.2)), {Cone}),
        (Capsule(radius=0.1, length=0.2), {Cone}),
        (Sphere(radius=0.1), set()),
    ):
        robot = free_body("body", solid, mass=1.0)
        surfaces = {0: ground, JOINT: Terrain(solid)}
        pairs = solid_pairs(robot, surfaces, {0: [0, 1, 2, 3], JOINT: [4]})
        assert {pair.solids[1].kind for pair in pairs} == expected
        assert all(pair.bodies == (JOINT, 0) and pair.rows[0] == 4 for pair in pairs)
    chosen = load_robot("go2", visuals=False)
    form = CompiledSystem(System(chosen, ground, LAW))
    assert OVERLAP not in form.candidates.contact_kinds
    assert form.candidates.solids == 0


def test_bodies_feel_each_other() -> None:
    """Two coins of one robot that cross: one pair, of the links, both ways round."""
    bodies = [
        free_body(n, COIN, mass=1.0, position=(0.0, 0.0, 0.1 * k)) for k, n in enumerate("ab")
    ]
    robot = touching(together(bodies[0], bodies[1:]))
    candidates = CompiledSystem(System(robot, Terrain(Plane()), LAW)).candidates
    overlaps = candidates.contact_kinds == OVERLAP
    assert int(overlaps.sum()) == N_OVERLAPS
    assert sorted({*candidates.bodies[overlaps].ravel().tolist()}) == [JOINT, 2 * JOINT]


def test_a_rough_step_holds_what_moves_and_is_repeated_to_the_bit() -> None:
    """What has no step otherwise; the method is as before afterwards."""
    rim = Cylinder(radius=0.05, length=0.1)
    body = free_body("body", rim, mass=0.2, position=(0.0, 0.0, 0.4))
    boxes = Terrain(Capsule(radius=0.05, length=0.3, rpy=(0.0, np.pi / 2, 0.0)))
    simulator = Simulator(body, boxes, LAW, "ne-nmdp", order=1)
    q = np.array([0.0, 0.02, 0.09, *pin.Quaternion(pin.rpy.rpyToMatrix(0.3, 0.4, 0.0)).coeffs()])
    state = State(0.0, q, np.array([0.0, 0.0, -0.5, 1.0, 0.0, 0.0]))
    method = simulator.integrator
    whole = method.step(state, Command(), 0.01)
    rough = [method.rough_step(state, Command(), 0.01) for _ in range(2)]
    assert rough[0].status.ok
    np.testing.assert_array_equal(rough[0].state.q, rough[1].state.q)
    again = method.step(state, Command(), 0.01)
    np.testing.assert_array_equal(whole.state.q, again.state.q)
    assert np.abs(whole.state.q - rough[0].state.q).max() > 0.0, "something moves on the surface"
