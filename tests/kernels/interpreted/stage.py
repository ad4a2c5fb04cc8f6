"""Equations of a stage and their derivatives against pinocchio and central differences."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import DIFFERENCE, KINDS, STEP, Contacts, H, Tree, array_of
from pairwise import pairwise

from nmdp_pin._contact import FrictionCone
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.contact.contact_motion import motion_at
from nmdp_pin._kernels.derivative.stage_rates import StageRates
from nmdp_pin._kernels.derivative.step_derivatives import stage_rates
from nmdp_pin._kernels.step.stage import evaluate, finish, linearise
from nmdp_pin._kernels.step.stage_records import (
    GAP,
    NEWTON_EULER,
    POSITIONS,
    RESIDUAL,
    SLIP,
    VELOCITIES,
)
from nmdp_pin._kernels.step.step_end import add_wrenches
from nmdp_pin._kernels.tree.joints import LEAST_SHARE
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.papers.methods.stage_equations import whole_rows

ROUNDING = 1e-12  # of products of four rotations
RATE = 20.0  # [1/s] of a stage without contacts
ROWS = pytest.mark.parametrize("rows", [3, 6])
FAR, CONE = Terrain([Plane(height=-1e3)]), FrictionCone(stiffness=1e4)


@ROWS
def test_forces_are_those_of_pinocchios_jacobians(rows):
    """G loses J' V w; the wrenches of the subtrees, works, gap and slip are as stated."""
    at = Contacts(rows)
    G = at.rng.standard_normal(at.nv)
    at.stage.torque.constant[:] = -G  # the only other force
    found = at.evaluated()
    wrench = np.einsum("nrm,nm->nr", at.V, at.w)
    assert found.wrench == pytest.approx(wrench, abs=ROUNDING)
    points = at.centre + at.arms
    assert found.G == pytest.approx(G - at.generalised(at.q, points, wrench), abs=ROUNDING)
    origin = at.about_origin(at.q, points, wrench)
    assert found.origin == pytest.approx(origin, abs=ROUNDING)
    loads = np.zeros((5, 6))
    for f, a, b in zip(origin, at.joints, at.touched, strict=True):
        for sign, body in ((-1.0, a), (1.0, b)):
            loads[[above - 1 for above in at.model.supports[int(body)] if above]] += sign * f
    assert found.loads == pytest.approx(loads, abs=ROUNDING)
    assert found.motion == pytest.approx(at.motions(at.q), abs=ROUNDING)
    work = np.einsum("nrm,nr->nm", at.V, at.motions(at.q))
    assert found.work == pytest.approx(work, abs=ROUNDING)
    assert found.sums[RESIDUAL] == pytest.approx(np.linalg.norm(found.G))
    gaps = (work * at.w).sum(axis=1) - np.minimum(work.min(axis=1), 0.0)
    assert found.sums[GAP] == pytest.approx(gaps.sum())
    slips = gaps[at.active] / np.abs(wrench[at.active]).max(axis=1)
    assert found.sums[SLIP] == pytest.approx(slips.max())
    assert found.n_active.tolist() == [3, 3]
    assert np.array_equal(found.active[:3], at.active)


def test_slip_of_a_contact_without_force():
    """Its unit is a share of the largest force that it may have; no work is below zero."""
    at = Contacts()
    found = at.evaluated(w=np.zeros((4, 5)))
    gaps = -np.minimum(found.work.min(axis=1), 0.0)[at.active]
    units = LEAST_SHARE * np.abs(at.V[at.active]).max(axis=(1, 2))
    assert found.sums[GAP] == pytest.approx(gaps.sum())
    assert found.sums[SLIP] == pytest.approx((gaps / units).max())


@ROWS
def test_motions_without_a_reference(rows):
    """They are those of a time at the velocity of the end."""
    at = Contacts(rows, displaced=False)
    expected = H * at.velocities()[:, :rows]
    assert at.evaluated().motion == pytest.approx(expected, abs=H * DIFFERENCE)


@pytest.mark.parametrize("displaced", [True, False])
@ROWS
def test_contacts_are_to_recover(rows, displaced):
    """Where they penetrate, a share of the depth is taken off the motion along the normal.

    It is in proportion to what the weights lack of the largest force.
    """
    plain = Contacts(rows, displaced=displaced).evaluated()
    found = Contacts(rows, displaced=displaced, recovery=7.0).evaluated()
    depth, normal = plain.places.depth[:, None], plain.places.normal
    assert (depth > 0.0).any()
    assert (depth < 0.0).any()
    missing = 1.0 - plain.w.sum(axis=1, keepdims=True)
    expected = plain.motion[:, :3] - 7.0 * H * missing * np.maximum(depth, 0.0) * normal
    assert found.motion[:, :3] == pytest.approx(expected, abs=ROUNDING)
    assert np.array_equal(found.motion[:, 3:], plain.motion[:, 3:])


def test_motions_of_dofs_at_a_point():
    """Differences of places of centres and of rotations, in the axes of the touched bodies."""
    at = Contacts()
    for i, (a, b) in enumerate(zip(at.joints, at.touched, strict=True)):
        M, c, found = at.relative(at.q)[i], at.data.oMi[int(b)].act(at.centre[i]), np.empty(6)

        def place(q, i=i, M=M):
            now = at.relative(q)[i]
            return np.append(now.act(at.local[i]), pin.log3(now.rotation @ M.rotation.T))

        expected = at.differences(place)
        for l in range(at.nv):
            moves = at.form.tree.moves[[a, b], l]
            motion_at(at.P[b], at.S[l], c, moves[0] - moves[1], found)
            assert found == pytest.approx(expected[:, l], abs=DIFFERENCE)


@ROWS
def test_jacobians_are_differences_of_places(rows):
    """Of material points for forces; of centres and rotations for wrenches."""
    at = Contacts(rows)
    linear = at.linearised(at.evaluated())
    found = whole_rows(linear, linear.J_force, len(at.active))
    for x, i in enumerate(at.active):
        M = at.relative(at.q)[i]
        material = M.actInv(at.centre[i] + at.arms[i])

        def place(q, i=i, M=M, material=material):
            now = at.relative(q)[i]
            return np.append(now.act(material), pin.log3(now.rotation @ M.rotation.T))[:rows]

        assert found[x] == pytest.approx(at.differences(place), abs=DIFFERENCE)


@pairwise({"displaced": [True, False], "kinds": KINDS, "recovery": [0.0, 7.0], "columns": [3, 6]})
@ROWS
def test_derivatives_of_contacts(displaced, kinds, recovery, columns, rows):
    """A loses d(J' V w)/dq, and the Jacobians of motions are differences of motions.

    The vertices change linearly with the translation of their centres, or with rotation too, the
    normals are those of balls; motions are counted from a reference, or follow from a velocity,
    which follows the configuration by dv/dq or, in a vector space, by the rate alone.
    """
    at = Contacts(rows, kinds=kinds, columns=columns, displaced=displaced, recovery=recovery)
    if rows == 3:
        at.reference[3] += 0.1 * at.rng.standard_normal((4, 3))
    found = at.linearised(at.evaluated())
    expected = at.differences(lambda q: at.evaluated(q).G)
    assert pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max()) == found.A
    motions = at.differences(lambda q: at.evaluated(q).motion)[at.active]
    assert whole_rows(found, found.J_motion, 3) == pytest.approx(motions, abs=DIFFERENCE)
    for e in range(5):
        sides = [at.evaluated(w=at.w + s * STEP * np.eye(5)[e]).motion for s in (1.0, -1.0)]
        of_weight = (sides[0] - sides[1])[at.active] / (2.0 * STEP)
        assert found.of_load[:3] == pytest.approx(of_weight, abs=DIFFERENCE)


def rates_of(at, record):
    """`stage_rates` of contacts, by the reference configuration."""
    nv, nw, origin = at.nv, at.active.size * at.V.shape[2], at.form.new_point()
    _, origin.P[:], origin.S[:] = at.at(at.q0)
    shapes = {
        "G_q": (nv, nv),
        "G_z": (nv, nv),
        "v_q": (nv, nv),
        "v_z": (nv, nv),
        "w": (nw,),
        "forces": (nw, nv),
        "along": (nw, nv),
        "r": (nw,),
        "r_q": (nw, nv),
        "r_w": (nw, nw) if at.system.recovery else (0, 0),
        "r_z": (nw, nv),
        "bends": (nw, nv),
    }
    arrays = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    rates = StageRates(first=np.zeros(at.active.size + 1, int), **arrays)
    of_q, of_v = np.eye(nv), np.zeros((nv, nv))
    stage_rates(at.system, at.stage, origin, record, of_q, of_v, at.form.new_linear(), rates)
    return rates


@pytest.mark.parametrize("displaced", [True, False])
@ROWS
def test_motions_follow_the_reference(rows, displaced):
    """Differences of works, forces and velocities while the reference moves and the end is held."""
    at = Contacts(rows, displaced=displaced)
    if not displaced:
        at.q0 = at.stage.q_ref.copy()
    at.stage.q_ref[:] = at.q0
    at.stage.torque.kd[:] = at.rng.uniform(0.5, 2.0, at.nv)
    rates = rates_of(at, at.evaluated())

    def moved(q, name):
        at.stage.q_ref[:] = q
        at.reference[:] = [array_of(M) for M in at.relative(q)]
        return getattr(at.evaluated(), name)

    works = at.differences(lambda q: moved(q, "work")[at.active].ravel(), at.q0)
    assert rates.r_z == pytest.approx(works, abs=5.0 * DIFFERENCE)  # works of size 5
    for name, found in (("G", rates.G_z), ("v", rates.v_z)):
        expected = at.differences(lambda q, name=name: moved(q, name), at.q0)
        assert found == pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max())


@pytest.mark.parametrize("displaced", [True, False])
@pytest.mark.parametrize("columns", [3, 6])
@ROWS
def test_derivative_of_works(rows, columns, displaced):
    """V'u where the vertices change with translation, or with rotation too: differences."""
    at = Contacts(rows, columns=columns, displaced=displaced)
    record = at.evaluated()
    rates = rates_of(at, record)
    works = at.differences(lambda q: at.evaluated(q).work[at.active].ravel())
    assert rates.r_q == pytest.approx(works, abs=5.0 * DIFFERENCE)  # works of size 5
    assert np.array_equal(rates.r, record.work[at.active].ravel())
    assert np.array_equal(rates.w, at.w[at.active].ravel())
    assert rates.first.tolist() == [0, 5, 10, 15]
    forces = [
        at.generalised(at.q, at.centre + at.arms, (np.arange(4) == i)[:, None] * at.V[:, :, e])
        for i in at.active
        for e in range(5)
    ]
    assert rates.forces == pytest.approx(np.array(forces), abs=ROUNDING)


def test_cones_on_a_plane():
    """Depths and vertices k d^p (mu t + n) of a horizontal plane, and the force that follows."""
    at = Tree(weightless=True)
    at.touched = np.zeros(4, int)
    centre = at.centres(at.q)
    height = float(np.sort(centre[:, 2] - at.radii)[2]) + 0.1  # three are in contact
    depth = height - (centre[:, 2] - at.radii)
    law = FrictionCone(stiffness=50.0, power=2, directions=3, angle=0.2)
    ground = Terrain([Plane(height=height, friction=0.4)])
    form = CompiledSystem(System(at.robot, ground, law), weights=True)
    angles = 0.2 + 2.0 * np.pi * np.arange(3) / 3.0
    V = np.zeros((4, 3, 3))
    V[:, 0], V[:, 1], V[:, 2] = 0.4 * np.cos(angles), 0.4 * np.sin(angles), 1.0
    V *= (50.0 * np.maximum(depth, 0.0) ** 2)[:, None, None]
    w = at.rng.dirichlet(np.ones(4), 4)[:, :3].copy()
    found = form.new_point()
    found.q[:], found.w[:] = at.q, w
    evaluate(form.record, form.new_stage(), found, True)
    assert found.places.depth == pytest.approx(depth, abs=ROUNDING)
    assert pytest.approx(V, abs=50.0 * ROUNDING) == found.V
    assert found.n_active.tolist() == [(depth > 0.0).sum()] * 2 == [3, 3]
    assert found.active[:3].tolist() == np.flatnonzero(depth > 0.0).tolist()
    points = centre - at.radii[:, None] * [0.0, 0.0, 1.0]
    force = at.generalised(at.q, points, np.einsum("nrm,nm->nr", V, w))
    assert pytest.approx(-force, abs=50.0 * ROUNDING) == found.G
    assert found.sums[RESIDUAL] == pytest.approx(np.linalg.norm(force))


class Forces(Contacts):
    """The same contacts, whose unknowns are forces in their frames; those apart have none.

    Where they touch k d^2 is larger than some and smaller than others.
    """

    def __init__(self, **options):
        super().__init__(cone=FrictionCone(stiffness=20.0, power=2), **options)
        point = self.evaluated()
        self.V, self.touch = point.V.copy(), point.places.depth > 0.0
        self.w[~self.touch] = 0.0


def test_forces_act_in_the_frames_of_contacts():
    """Frames are right-handed, with the normal as the third axis; G does not know the depth."""
    at = Forces()
    found = at.evaluated()
    assert found.V.swapaxes(1, 2) @ found.V == pytest.approx(np.tile(np.eye(3), (4, 1, 1)))
    assert np.linalg.det(found.V) == pytest.approx(1.0)
    assert found.V[:, :, 2] == pytest.approx(at.normal)
    wrench = np.einsum("nrm,nm->nr", found.V, at.w)
    force = at.generalised(at.q, at.centre + at.arms, wrench)
    assert pytest.approx(-force, abs=ROUNDING) == found.G
    assert at.touch.tolist() == [True, True, False, True]
    assert found.n_active.tolist() == [4, 4]
    assert found.work == pytest.approx(
        np.einsum("nrm,nr->nm", found.V, at.motions(at.q)), abs=ROUNDING
    )
    assert (found.sums[GAP], found.sums[SLIP]) == (0.0, 0.0)


@pairwise({"displaced": [True, False], "kinds": KINDS, "recovery": [0.0, 7.0]})
def test_derivatives_of_forces(displaced, kinds, recovery):
    """A, the Jacobians of motions, and those of works are differences, the forces held.

    With a recovery rate motions depend on the loads, as shares of k d^2. What is apart has none of
    the derivatives of its normal, which no force turns there.
    """
    at = Forces(kinds=kinds, displaced=displaced, recovery=recovery)
    record, near = at.evaluated(), at.touch
    found = at.linearised(record)
    expected = at.differences(lambda q: at.evaluated(q).G)
    assert pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max()) == found.A
    motions = at.differences(lambda q: at.evaluated(q).motion)
    J_motion = whole_rows(found, found.J_motion, len(motions))[near]
    assert J_motion == pytest.approx(motions[near], abs=5.0 * DIFFERENCE)
    sides = [at.evaluated(w=at.w + s * STEP * np.eye(3)[2]).motion for s in (1.0, -1.0)]
    assert found.of_load == pytest.approx((sides[0] - sides[1]) / (2.0 * STEP), abs=DIFFERENCE)
    assert found.of_load.any() == (recovery > 0.0)
    rates = rates_of(at, record)
    works = at.differences(lambda q: at.evaluated(q).work.ravel())
    near = np.repeat(near, 3)
    assert rates.r_q[near] == pytest.approx(works[near], abs=5.0 * DIFFERENCE)


@pytest.mark.parametrize("make", [Forces, Contacts], ids=["forces", "weights"])
def test_a_point_without_its_inertia(make):
    """`finish` writes what `evaluate` does, but for G, whose norm is given."""
    at = make(recovery=7.0)
    whole, other = at.evaluated(), at.form.new_point()
    other.q[:], other.w[:] = at.q, at.w
    finish(at.system, at.stage, other, 0.25)
    assert other.sums.tolist() == [0.25, *whole.sums[1:]]
    k = whole.n_active[0]
    assert np.array_equal(other.n_active, whole.n_active)
    assert np.array_equal(other.active[:k], whole.active[:k])
    for name in ("v", "P", "S", "twists", "tau", "error", "V", "wrench", "motion", "work", "loads"):
        assert np.array_equal(getattr(other, name), getattr(whole, name)), name
    for name in ("depth", "normal", "centre", "arm", "friction"):
        assert np.array_equal(getattr(other.places, name), getattr(whole.places, name)), name


@ROWS
def test_wrenches_in_the_world(rows):
    """Forces where the spheres touch have moments about their centres; wrenches are only turned.

    They are weighted and added, at the contact points of the contacts that act.
    """
    at = Contacts(rows)
    found, R = at.evaluated(), [at.data.oMi[int(b)].rotation for b in at.touched]
    wrench = found.wrench
    if rows == 3:
        wrench = np.hstack([wrench, np.cross(at.arms, wrench)])
    expected = [np.append(r @ f[:3], r @ f[3:]) for r, f in zip(R, wrench, strict=True)]
    total = np.ones((4, 6))
    reported = np.ones(len(R), bool)
    add_wrenches(at.system, at.stage.contacts, 0.3, found, reported, total)
    assert total == pytest.approx(1.0 + 0.3 * np.array(expected), abs=ROUNDING)
    found.n_active[1] = 1  # the others are joints
    add_wrenches(at.system, at.stage.contacts, -0.3, found, reported, total)
    assert total[0] == pytest.approx(1.0, abs=ROUNDING)
    assert total[1:] == pytest.approx(1.0 + 0.3 * np.array(expected)[1:], abs=ROUNDING)


class Smooth(Tree):
    """A stage without contacts."""

    def __init__(self, kinds, weightless=False):
        super().__init__(1, kinds, weightless)
        rng, nv = self.rng, self.nv
        self.model.armature = (not weightless) * rng.uniform(0.1, 1.0, nv)
        self.model.damping = rng.uniform(0.1, 0.4, nv)
        self.form = CompiledSystem(System(self.robot, FAR, CONE))
        self.stage = replace(
            self.form.new_stage(),
            rate=RATE,
            q_ref=self.moved(-0.5 * rng.standard_normal(nv)),
            v_ref=rng.standard_normal(nv),
        )

    def evaluated(self):
        """The point at q."""
        at = self.form.new_point()
        at.q[:] = self.q
        evaluate(self.form.record, self.stage, at, True)
        return at

    def motion(self, q):
        """Velocity and acceleration."""
        v = RATE * pin.difference(self.model, self.stage.q_ref, q)
        return v, RATE * (v - self.stage.v_ref)

    def inertia(self, q):
        """Inverse dynamics with the rotors."""
        return pin.rnea(self.model, self.model.createData(), q, *self.motion(q))


@pytest.mark.parametrize("kinds", KINDS)
def test_inverse_dynamics_of_a_stage_and_its_derivative(kinds):
    """Differences of rnea, with velocity and acceleration that follow the configuration."""
    scene = Smooth(kinds)
    found, expected = scene.evaluated(), scene.inertia(scene.q)
    v, a = scene.motion(scene.q)
    assert found.v == pytest.approx(v)
    assert scene.form.record.dynamics.a == pytest.approx(a)
    assert pytest.approx(expected, abs=ROUNDING * np.abs(expected).max()) == found.G
    slope, linear = scene.differences(scene.inertia), scene.form.new_linear()
    linearise(scene.form.record, scene.stage, found, linear)
    assert pytest.approx(slope, abs=DIFFERENCE * np.abs(slope).max()) == found.A
    assert np.array_equal(linear.A, found.A)
    _, P, S = scene.at(scene.q)
    assert np.array_equal(found.P, P)
    assert np.array_equal(found.S, S)


@pytest.mark.parametrize("form", [NEWTON_EULER, POSITIONS, VELOCITIES])
@pytest.mark.parametrize("kinds", KINDS)
def test_equations_without_derivatives(kinds, form):
    """They are the same, to rounding, and the derivatives are not touched."""
    scene = Smooth(kinds)
    stage = replace(
        scene.stage, form=form, target=scene.rng.standard_normal(scene.stage.target.shape)
    )
    full, bare = scene.form.new_point(), scene.form.new_point()
    for at, derived in ((full, True), (bare, False)):
        at.q[:] = scene.q
        at.A.fill(np.nan)
        evaluate(scene.form.record, stage, at, derived)
    assert pytest.approx(full.G, abs=ROUNDING * np.abs(full.G).max()) == bare.G
    for name in ("v", "P", "S", "twists", "tau", "error"):
        assert np.array_equal(getattr(bare, name), getattr(full, name)), name
    assert np.isfinite(full.A).all()
    assert np.isnan(bare.A).all()


@pytest.mark.parametrize("saturated", [False, True])
@pytest.mark.parametrize("kinds", KINDS)
def test_torque_of_a_servo_and_its_derivative(kinds, saturated):
    """It is subtracted from G, and its differences from A; a saturated motor has no gains.

    Motors saturate where the command asks for more than they can.
    """
    scene = Smooth(kinds, weightless=True)
    torque, joints, rng = scene.stage.torque, scene.form.joints, scene.rng
    torque.constant[:], torque.kp[:], torque.kd[:] = rng.uniform(0.5, 2.0, (3, scene.nv))
    torque.kp[1] = torque.kd[2] = 0.0
    torque.q_target[:] = scene.moved(rng.standard_normal(scene.nv))
    joints.effort[:] = rng.uniform(1.0, 2.0, scene.nv) * (1.0 if saturated else 1e3)
    damping = scene.model.damping
    torque.kd[:] += damping

    def servo(q):
        v = scene.motion(q)[0]
        error = pin.difference(scene.model, torque.q_target, q)
        asked = torque.constant - torque.kp * error - (torque.kd - damping) * v
        return np.clip(asked, -joints.effort, joints.effort) - damping * v

    found, expected = scene.evaluated(), servo(scene.q)
    assert torque.signs.any() == saturated
    assert found.tau == pytest.approx(expected, abs=RATE * ROUNDING)
    assert pytest.approx(-expected, abs=RATE * ROUNDING) == found.G
    slope = scene.differences(servo)
    assert pytest.approx(-slope, abs=DIFFERENCE * np.abs(slope).max()) == found.A
