"""Contacts with planes: which are listed, where they are, what their points are told to bear."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import array_of, robot_of

from nmdp_pin._contact import FrictionCone
from nmdp_pin._dynamics.form import Form
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.contacts import KINDS, NEARBY, REACH, identity, list_contacts, reach_of
from nmdp_pin._kernels.planes import (
    missed_contacts,
    place_contacts,
    place_references,
    report_depths,
    report_wrenches,
    select_contacts,
)
from nmdp_pin._kernels.polytopes import NONE, ON_A
from nmdp_pin._robot import ContactPoints, free_body, together, touching
from nmdp_pin._terrain import Box, Plane, Terrain

ROUNDING = 1e-12
H = 0.1  # [s]
N = np.array([0.36, 0.48, 0.8])  # normal of the ground, through the origin
RADII = np.array([0.1, 0.0, 0.2])
LOCAL = np.array([[0.5, 0.0, 0.0], [0.0, 0.4, 0.1], [0.0, 0.0, -0.3]])
EDGE = 1e-6  # [m] to both sides of a bound


class Ground:
    """A body with three spheres over a slope, turned, its origin 1 m above the slope."""

    def __init__(self):
        model = pin.Model()
        model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
        model.appendBodyToJoint(1, pin.Inertia.Random(), pin.SE3.Identity())
        points = ContactPoints(("a", "b", "c"), np.ones(3, int), LOCAL, RADII)
        system = System(
            robot_of(model, points), Terrain([Plane(normal=N)]), FrictionCone(stiffness=1e3)
        )
        self.form = Form(system)
        self.candidates, self.contacts = self.form.candidates, self.form.new_stage().contacts
        self.R = pin.exp3(np.array([0.3, -0.2, 0.5]))
        self.heights = 1.0 + LOCAL @ self.R.T @ N - RADII  # of the spheres

    def placements(self, lowered=0.0):
        """Of the world and the body, which is lowered."""
        body = pin.SE3(self.R, (1.0 - lowered) * N)
        return np.array([array_of(pin.SE3.Identity()), array_of(body)])

    def listed(self, lowered, velocity=(0.0, 0.0, 0.0)):
        """The contacts of a step of a body with a velocity."""
        twists = np.zeros((2, 6))
        twists[1, :3] = velocity
        select_contacts(self.candidates, self.placements(lowered), twists, H, self.contacts)
        assert (self.contacts.bodies[: self.contacts.n[0]] == (1, 0)).all()
        return self.contacts.index[: self.contacts.n[0]].tolist()


@pytest.mark.parametrize("point", range(3))
def test_contacts_are_what_is_near(point):
    """At the start or at the end, within the reach and the way that a point goes."""
    ground = Ground()
    across = np.array([0.8, -0.6, 0.0])
    for velocity, more in (
        (np.zeros(3), 0.0),
        (2.0 * across, 2.0 * H),
        (-2.0 * N, 4.0 * H),
        (2.0 * N, 2.0 * H),
    ):
        least = ground.heights[point] - REACH - more
        assert point not in ground.listed(least - EDGE, velocity)
        assert point in ground.listed(least + EDGE, velocity)
    order = np.argsort(ground.heights)[:2]
    lowered = ground.heights[order[1]]
    assert ground.listed(lowered - REACH + EDGE) == sorted(order.tolist())


@pytest.mark.parametrize("point", range(3))
def test_missed_contacts_are_listed(point):
    """What touches and is no contact becomes one, beside the others; then nothing is missed."""
    ground = Ground()
    ground.listed(-99.0)
    ground.contacts.listed[point - 1] = True
    list_contacts(ground.candidates, ground.contacts)
    others = [k for k in range(3) if k not in (point, point - 1 + 3 * (point == 0))]
    lowered = ground.heights[point]
    own = ground.placements(lowered - EDGE)
    touching = [k for k in range(3) if ground.heights[k] < lowered - EDGE]
    if not set(touching) & set(others):
        assert not missed_contacts(ground.candidates, own, ground.contacts)
    assert missed_contacts(ground.candidates, ground.placements(lowered + EDGE), ground.contacts)
    assert point in ground.contacts.index[: ground.contacts.n[0]]
    assert (point - 1) % 3 in ground.contacts.index[: ground.contacts.n[0]]
    again = ground.placements(lowered + EDGE)
    assert not missed_contacts(ground.candidates, again, ground.contacts)


def test_places_references_and_reports():
    """Depths and normals of spheres on a slope; points bear the wrenches of their contacts."""
    ground = Ground()
    ground.contacts.listed[:] = (True, False, True)
    list_contacts(ground.candidates, ground.contacts)
    at, P = ground.form.new_point().places, ground.placements(1.2)
    place_contacts(ground.candidates, ground.contacts, P, at)
    own, heights = [0, 2], ground.heights - 1.2
    assert at.depth[:2] == pytest.approx(-heights[own], abs=ROUNDING)
    assert at.normal[:2] == pytest.approx(np.tile(N, (2, 1)))
    assert at.arm[:2] == pytest.approx(-RADII[own, None] * N, abs=ROUNDING)
    place_references(ground.contacts, P)
    assert ground.contacts.reference[:2] == pytest.approx(np.tile(P[1], (2, 1, 1)))
    depths = np.full(3, 9.0)
    report_depths(ground.candidates, ground.contacts, at, depths)
    assert depths == pytest.approx([max(-heights[0], 0.0), 0.0, max(-heights[2], 0.0)])
    assert depths.max() > 0.0
    of_points, wrenches = np.ones((3, 6)), np.arange(18.0).reshape(3, 6)
    report_wrenches(ground.candidates, ground.contacts, at, wrenches, of_points)
    assert of_points == pytest.approx(1.0 + np.array([wrenches[0], np.zeros(6), wrenches[1]]))
    lost = P.copy()
    lost[1, 3] = 1e200
    place_contacts(ground.candidates, ground.contacts, lost, at)
    assert np.isnan(at.depth[:2]).all()


def test_contacts_have_numbers_of_their_own():
    """Those of pairs of features come behind the candidates', each once, whatever the step."""
    box = Box(size=(0.2, 0.3, 0.4))
    below, *above = (
        free_body(name, box, mass=1.0, position=(0.0, 0.0, z))
        for name, z in (("below", 0.2), ("middle", 0.6), ("top", 1.0))
    )
    robot = touching(together(below, above))
    form = Form(System(robot, Terrain(Plane()), FrictionCone(stiffness=1e3)))
    candidates, contacts = form.candidates, form.new_stage().contacts
    pairs = candidates.pairs
    assert identity(candidates, contacts, 3) == 3
    most = max(len(candidates.polytopes.vertices), len(candidates.polytopes.edges))
    n, first = len(candidates.rows), [int(np.flatnonzero(pairs == p)[0]) for p in (0, 1)]
    for pair, c in enumerate(first):
        for kind, i, j in ((0, 0, 0), (0, 2, 5), (1, most - 1, 0), (NONE, 0, 3)):
            contacts.features[c] = kind, i, j
            number = KINDS - 1 if kind == NONE else kind
            expected = n + ((pair * KINDS + number) * most + i) * most + j
            assert identity(candidates, contacts, c) == expected
    contacts.features[first[0], 0] = ON_A
    list_contacts(candidates, contacts)
    bodies = contacts.bodies[contacts.index[: contacts.n[0]].tolist().index(first[0])]
    assert bodies.tolist() == candidates.bodies[first[0], ::-1].tolist()
    of_world = int(np.flatnonzero(candidates.bodies[:, 1] == 0)[0])
    assert reach_of(candidates, of_world) == REACH
    assert reach_of(candidates, first[0]) == (
        NEARBY if candidates.bodies[first[0]].all() else REACH
    )
    assert reach_of(replace(candidates, reach=np.inf), first[0]) == np.inf
