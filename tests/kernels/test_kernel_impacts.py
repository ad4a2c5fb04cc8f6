"""Loads and velocities of contacts and joints at the end of a step, and what is made of them."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import robot_of

from nmdp_pin._contact import FrictionCone
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.compiler.jit import jit
from nmdp_pin._kernels.step.impacts import (
    MOVES,
    REBOUNDED,
    SANK,
    UNLOADED,
    confirm_suspects,
    ends_of,
    judge_impacts,
    write_elastic_energies,
)
from nmdp_pin._kernels.step.islands import new_islands
from nmdp_pin._robot import ContactPoints, JointLimits
from nmdp_pin._terrain import Plane, Terrain

H = 0.03  # [s] of a stage
N = np.array([0.0, 0.6, 0.8])  # normal of the surface
ALONG = np.array([1.0, 0.0, 0.0])
REST = np.zeros(3)
FRICTION = 3.0  # [N m] of the first joint
BEYOND = 0.04  # [m] that the ground lies deeper, so that it never matters
FULL = 100.0  # [N] full force of a contact, and of a stop
STIFFNESS = 1e4  # [N/m] of contacts whose unknowns are forces


@jit
def ends_as_arrays(system, stage, at, rate, islands):
    """The fields of what `ends_of` returns."""
    ends = ends_of(system, stage, at, rate, islands)
    return ends.unloaded, ends.thrown, ends.sliding, ends.slip


class Step:
    """Rows of a step at its start and at the ends of two stages, written by hand.

    They are those of a contact, of a joint with stops at -1 and 1 and dry friction, and of one with
    a lower stop at -1 alone. A row has no force, and is at rest, until it is said otherwise.
    """

    def __init__(self, forces=False):
        model = pin.Model()
        for k in range(2):
            model.addJoint(k, pin.JointModelPZ(), pin.SE3.Identity(), f"joint{k}")
            model.appendBodyToJoint(k + 1, pin.Inertia.Random(), pin.SE3.Identity())
        limits = JointLimits.none(2)
        limits.lower[:], limits.upper[0], limits.friction[0] = -1.0, 1.0, FRICTION
        points = ContactPoints(("a",), np.array([1]), np.zeros((1, 3)), np.zeros(1))
        law = FrictionCone(stiffness=STIFFNESS, power=1, directions=3)
        self.form = CompiledSystem(
            System(robot_of(model, points, limits=limits), Terrain([Plane()]), law),
            weights=not forces,
        )
        self.system, self.stage = self.form.record, replace(self.form.new_stage(), rate=1.0 / H)
        self.origin, self.first, self.last = [self.form.new_point() for _ in range(3)]
        for at in (self.first, self.last):
            at.q[:] = 0.5, 0.5
            at.places.normal[0], at.places.depth[0] = N, -BEYOND
            at.places.stiffness[0] = STIFFNESS
        self.velocities, self.suspects = np.zeros((3, 3)), np.ones(3, bool)
        tree = self.system.tree
        self.islands = new_islands(len(tree.parents), model.nv)  # one of all bodies
        self.islands.count[0], self.islands.weight[0] = 1, tree.weight

    def put(self, at, row, force=REST, u=REST, *, acts=True):
        """State the force and the velocity of a row at a point."""
        at.V[row], at.V[row, 0 if row else slice(None), 0] = 0.0, FULL if row else FULL * N
        at.wrench[row], at.motion[row] = force, H * np.asarray(u)
        if acts and row not in at.active[: at.n_active[0]]:
            at.active[at.n_active[0]] = row
            at.n_active[0] += 1

    def ends(self, row, force, u):
        """What `ends_of` says of a row."""
        self.put(self.last, row, force, u, acts=False)
        found = ends_as_arrays(self.system, self.stage, self.last, 1.0 / H, self.islands)
        return tuple(bool(flags[row]) for flags in found[:3]), found[3][row]

    def judged(self, gain=0.0, done=0.0, kinetic=1.0):
        """What `judge_impacts` says of the one island."""
        islands = self.islands
        islands.gain[0], islands.work[0], islands.kinetic0[0] = gain, done, kinetic
        islands.outcome[0], islands.doubtful[0] = 0, False
        judge_impacts(
            self.system,
            self.stage,
            self.origin,
            self.first,
            self.last,
            1.0 / H,
            islands,
            self.velocities,
            self.suspects,
        )
        outcome = int(islands.outcome[0])
        return outcome, bool(islands.doubtful[0]) and outcome == 0

    def confirmed(self, end):
        """Whether a step of first order confirms the suspects."""
        self.islands.doubtful[0] = True
        given = self.system, self.stage, end, self.islands, self.velocities, self.suspects
        confirm_suspects(*given)
        return not self.islands.doubtful[0]

    def elastic(self):
        """What the contacts and stops can give back at the end."""
        found = np.ones(len(self.islands.weight))
        write_elastic_energies(self.system, self.stage, self.last, self.islands, found)
        return found[0]


@pytest.fixture
def step():
    """A step at rest."""
    return Step()


def test_loads_of_contacts_and_joints(step):
    """A share of the largest force counts as none; a joint's dry friction is no load."""
    least = UNLOADED * FULL
    loads = [step.ends(0, [0.0, -x * least, 0.0], REST)[0][0] for x in (0.9, 1.1)]
    assert loads == [True, False]
    assert [step.ends(1, -x * ALONG, REST)[0][0] for x in (FRICTION, 3.1)] == [True, False]
    assert [step.ends(2, x * ALONG, REST)[0][0] for x in (0.0, 0.1)] == [True, False]
    assert step.ends(0, REST, 0.9 * MOVES * N)[0] == (True, False, False)
    assert step.ends(0, REST, 1.1 * MOVES * N)[0] == (True, True, False)
    assert step.ends(0, REST, -1.1 * MOVES * N)[0] == (True, False, False)
    assert step.ends(0, 5.0 * N, 1.1 * MOVES * N)[0] == (False, False, False)


def test_slides_of_contacts_and_joints(step):
    """Contacts slide across their normals under load, joints where they have dry friction."""
    across = np.array([0.3, 0.8, -0.6])
    unit = across / np.linalg.norm(across)
    flags, slip = step.ends(0, 5.0 * N, 0.7 * N + across)
    assert flags[2]
    assert slip == pytest.approx(across)
    slow = [step.ends(0, 5.0 * N, 0.7 * N + x * MOVES * unit)[0][2] for x in (0.9, 1.1)]
    assert slow == [False, True]
    assert not step.ends(0, REST, across)[0][2]
    thrown = []
    for q in (-0.5, 0.5):  # near the lower and near the upper stop
        step.last.q[0] = q
        thrown.append(step.ends(1, REST, -0.4 * ALONG)[0][1])
    assert thrown == [False, True]
    slow = [step.ends(1, REST, x * MOVES * ALONG)[0][2] for x in (0.9, 1.1)]
    assert slow == [False, True]
    for row, sliding in ((1, True), (2, False)):
        flags, slip = step.ends(row, REST, -0.4 * ALONG)
        assert flags[2] == sliding
        assert slip.tolist() == pytest.approx([-0.4 * sliding, 0.0, 0.0])


@pytest.mark.parametrize("row", [0, 2])
def test_what_approached_and_is_thrown_rebounds(step, row):
    """Only what acts in one of the stages may be thrown, and only what approached rebounds."""
    out = ALONG if row else N
    step.put(step.last, row, u=1.1 * MOVES * out, acts=False)
    step.velocities[row] = -1.1 * MOVES * out
    assert step.judged() == (0, False)
    step.put(step.first, row)
    assert step.judged() == (REBOUNDED, False)
    step.put(step.last, row, u=0.9 * MOVES * out)
    assert step.judged() == (0, False)
    step.put(step.last, row, u=1.1 * MOVES * out)
    step.velocities[row] = -0.9 * MOVES * out
    assert step.judged()[0] == 0


@pytest.mark.parametrize("row", [0, 2])
def test_an_impact_that_adds_energy_rebounds(step, row):
    """Beyond a share of the kinetic energy, and of the work of the torques."""
    step.velocities[row] = -(ALONG if row else N)
    assert step.judged(gain=1.0) == (0, False)  # it does not act
    step.put(step.last, row)
    assert step.judged(gain=1.1e-4) == (REBOUNDED, False)
    assert step.judged(gain=0.9e-4)[0] == 0
    assert step.judged(gain=0.9e-2, done=-0.5, kinetic=0.0)[0] == 0
    assert step.judged(gain=1.1e-2, done=-0.5, kinetic=0.0)[0] == REBOUNDED


@pytest.mark.parametrize("row", [0, 2])
@pytest.mark.parametrize("before", [-0.02, 0.03])
def test_what_sinks_deeper_than_its_energy_can_press_it(step, row, before):
    """The penetration that was entered since the first stage, of what approached."""
    step.put(step.last, row)
    stiffness = step.system.joints.stiffness[1]
    most = 0.25 * 0.01 * (stiffness * (max(before, 0.0) + 0.01) if row else FULL)
    for at, depth in ((step.first, before), (step.last, max(before, 0.0) + 0.01)):
        if row:
            at.q[1] = -1.0 - depth
        else:
            at.places.depth[0] = depth
    assert step.judged() == (0, False)  # it did not approach
    step.velocities[row] = -(ALONG if row else N)
    assert step.judged(gain=-0.99 * most) == (SANK, False)
    assert step.judged(gain=-1.01 * most)[0] == 0
    step.last.places.depth[0], step.last.q[1] = -BEYOND, 0.5
    assert step.judged()[0] == 0


def test_loads_and_bounds_of_forces():
    """By forces a load is a share of the weight, and a full force is that of the depth."""
    step = Step(forces=True)
    least = UNLOADED * step.system.tree.weight
    for row, unit, free in ((0, -ALONG, 0.0), (1, ALONG, FRICTION), (2, ALONG, 0.0)):
        loads = [step.ends(row, (free + x * least) * unit, REST)[0][0] for x in (0.9, 1.1)]
        assert loads == [True, False]
    step.put(step.last, 0)
    step.last.places.depth[0], step.velocities[0] = 0.02, -N
    most = 0.25 * STIFFNESS * 0.02 * 0.02
    assert step.judged(gain=-0.99 * most) == (SANK, False)
    assert step.judged(gain=-1.01 * most)[0] == 0
    step.system.recovery = step.system.candidates.rise[0] = 5.0
    energy = step.elastic()
    assert energy == pytest.approx(0.5 * STIFFNESS * 0.02**2)


@pytest.mark.parametrize("power", [1, 2])
def test_elastic_energy(step, power):
    """The integral of k d^p over the penetration of contacts that recover, and of stops."""
    step.system.cone.power, step.system.recovery = power, 5.0
    step.put(step.last, 0)
    expected = [(-0.02, 0.5, 0.0), (0.03, 0.5, FULL * 0.03 / (power + 1))]
    stiffness = step.system.joints.stiffness
    expected += [(0.0, -1.2, 0.5 * stiffness[1] * 0.2**2)]
    for depth, q, energy in expected:
        step.last.places.depth[0], step.last.q[1] = depth, q
        step.system.candidates.rise[0] = 5.0
        assert step.elastic() == pytest.approx(energy)
    step.last.places.depth[0] = 0.03
    step.system.candidates.rise[0] = 0.0
    assert step.elastic() == pytest.approx(energy)
    step.system.recovery = 0.0
    assert step.elastic() == 0.0


def test_what_is_thrown_up_is_a_suspect(step):
    """What bore a load in the first stage and leaves, unless the robot pushes itself off.

    A step of first order confirms that it leaves.
    """
    step.put(step.first, 0, 5.0 * N)
    step.put(step.last, 0, u=N)
    step.put(step.first, 2, 5.0 * ALONG)
    step.put(step.last, 2, u=ALONG)
    for speed, contact in ((-1.0, True), (0.9 * MOVES, True), (1.1 * MOVES, False)):
        # The centre of mass moves so, the light body against the heavy one.
        mass = step.system.tree.moments[:, 3, 3]
        step.origin.twists[1, :3] = 3.0 * speed * N
        step.origin.twists[2, :3] = (mass.sum() - 3.0 * mass[0]) / mass[1] * speed * N
        assert step.judged() == (0, True)
        assert step.suspects.tolist() == [contact, False, True]
    end = step.form.new_point()
    end.places.normal[0] = N
    step.put(end, 2, u=ALONG)
    assert step.confirmed(end)
    step.suspects[0] = True
    assert not step.confirmed(end)
    step.put(end, 0, u=N)
    assert step.confirmed(end)
    step.put(step.first, 0)
    step.put(step.first, 2)
    assert step.judged() == (0, False)
    assert not step.suspects.any()


def test_what_slides_back_is_a_suspect(step):
    """Contacts under load and joints with dry friction, against their motion at the start."""
    across = np.array([0.3, 0.8, -0.6])
    step.put(step.last, 0, 5.0 * N, across)
    step.put(step.last, 1, u=0.3 * ALONG)
    step.put(step.last, 2, 5.0 * ALONG, 0.3 * ALONG)
    for sign in (1.0, -1.0):
        step.velocities[:3] = sign * np.array([across, ALONG, ALONG])
        assert step.judged() == (0, sign < 0.0)
        assert step.suspects.tolist() == [sign < 0.0, sign < 0.0, False]
    assert step.confirmed(step.last)
    step.put(step.last, 0, 5.0 * N, -across)
    assert not step.confirmed(step.last)
