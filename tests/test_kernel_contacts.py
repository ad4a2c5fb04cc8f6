"""Contacts of a tree against pinocchio's kinematics and central differences."""

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import DIFFERENCE, STEP, Tree, array_of

from nmdp_pin.kernels import contact_derivatives, contact_jacobians, stage_derivatives
from nmdp_pin.kernels import contact_kinematics as kinematics
from nmdp_pin.kernels import evaluation_arrays as rows
from nmdp_pin.kernels.contact_ends import UNLOADED, contact_ends
from nmdp_pin.kernels.contact_forces import LEAST_SHARE, contact_forces
from nmdp_pin.kernels.evaluation_arrays import Layout, shapes
from nmdp_pin.kernels.stage_forces import subtract_cone_forces
from nmdp_pin.kernels.step_ends import add_world_wrenches, step_ends
from nmdp_pin.kernels.wrenches import world_wrenches
from nmdp_pin.terrain import Plane, Terrain

ROUNDING = 1e-12  # of products of four rotations
H = 0.03  # [s] of a stage
ROWS = pytest.mark.parametrize("rows", [3, 6])
NO_REFERENCE = np.zeros((0, 4, 3))


def motion(M, reference, local, normal, radius, rows):
    """What `motion_of` claims, of a reference that may be sheared: shape (4, 3)."""
    centre = M.act(local)
    material = local - (radius * M.rotation.T @ normal if rows == 3 else 0.0)
    end = M.act(material) if rows == 3 else centre
    change = end - (reference[3] + material @ reference[:3])
    if rows == 3:
        return change
    turn = pin.log3(M.rotation @ reference[:3])
    return np.append(change, turn * np.sinc(np.linalg.norm(turn) / np.pi))


class Contacts(Tree):
    """The tree at a configuration, what the ball-shaped surfaces are there, and a reference."""

    def __init__(self, rows=3, seed=0):
        super().__init__(seed)
        rng, self.rows = self.rng, rows
        self.data, self.P, self.S = self.at(self.q)
        self.placements, self.centre = np.empty((4, 4, 3)), np.empty((4, 3))
        kinematics.locate(
            self.P, self.joints, self.touched, self.local, self.placements, self.centre
        )
        self.normal, self.curvature = self.balls(self.centre)
        self.q0 = self.moved(-0.4 * rng.standard_normal(self.nv))
        self.reference = np.array([array_of(M) for M in self.relative(self.q0)])
        self.V, self.w = rng.standard_normal((4, rows, 5)), rng.dirichlet(np.ones(6), 4)[:, :5]
        self.V[1], self.w = 0.0, self.w.copy()  # the second has left
        self.active = np.array([0, 2, 3])
        self.D = 1.0 / H * (np.eye(self.nv) + 0.1 * rng.standard_normal((self.nv, self.nv)))

    @property
    def acting(self):
        """Radii of the arms on which the forces act."""
        return self.radii if self.rows == 3 else np.zeros(4)

    @property
    def acted(self):
        """Points where the wrenches act."""
        return self.centre - self.acting[:, None] * self.normal

    def motions(self, q):
        """Motions since the reference at a configuration, with the surfaces there."""
        normal = self.balls(self.centres(q))[0]
        parts = zip(self.relative(q), self.reference, self.local, normal, self.radii, strict=True)
        return np.array([motion(*part, self.rows) for part in parts])

    def jacobians(self, i, centre, point):
        """The kernel's Jacobians of contact i."""
        J = np.full((3, 3, self.nv), np.nan)
        contact_jacobians.contact_jacobians(
            self.P, self.S, self.touched[i], self.support[i], centre, point, J[0], J[1], J[2]
        )
        return J

    def forces(self, reference, w=None, G=None):
        """Outputs of `contact_forces`."""
        shape = (4, self.rows)
        out = {
            "wrench": np.full(shape, np.nan),
            "motion": np.full(shape, np.nan),
            "work": np.full((4, 5), np.nan),
            "subtree": np.full((self.nv, 6), np.nan),
            "active": np.full(4, -1),
            "G": np.zeros(self.nv) if G is None else G.copy(),
        }
        out["returned"] = contact_forces(
            self.P,
            self.S,
            self.touched,
            self.support,
            self.local,
            self.radii,
            reference,
            self.placements,
            self.centre,
            self.normal,
            self.V,
            self.w if w is None else w,
            self.v,
            H,
            *out.values(),
        )
        return out


def test_places_are_pinocchios():
    """Carriers and centres in the frames of the touched bodies."""
    at = Contacts()
    expected = np.array([array_of(M) for M in at.relative(at.q)])
    assert at.placements == pytest.approx(expected, abs=ROUNDING)
    assert at.centre == pytest.approx(at.centres(at.q), abs=ROUNDING)
    point, out = np.array([0.3, -0.2, 0.5]), np.empty(3)
    for b in (0, 4):
        kinematics.to_world(at.P, b, point, out)
        assert out == pytest.approx(at.data.oMi[b].act(point), abs=ROUNDING)


@ROWS
def test_motion_since_a_reference_is_that_of_the_material_point(rows):
    """With rotations as axis times sine; the reference of the last contact is sheared."""
    at = Contacts(rows)
    if rows == 3:
        at.reference[3] += 0.1 * at.rng.standard_normal((4, 3))
    found = np.full((4, rows), np.nan)
    for i in range(4):
        kinematics.motion_of(
            at.placements[i],
            at.reference[i],
            at.local[i],
            at.centre[i],
            at.normal[i],
            at.radii[i],
            found[i],
        )
    assert found == pytest.approx(at.motions(at.q), abs=ROUNDING)


def test_velocities_of_centres_are_rates_of_their_places():
    """Differences along the velocity, in the axes of the touched bodies."""
    at, found = Contacts(), np.full((4, 3), np.nan)
    kinematics.contact_velocities(at.P, at.S, at.touched, at.support, at.centre, at.v, found)
    sides = [at.centres(at.moved(s * STEP * at.v)) for s in (1.0, -1.0)]
    assert found == pytest.approx((sides[0] - sides[1]) / (2.0 * STEP), abs=DIFFERENCE)


def test_motion_by_a_velocity():
    """H times the velocity of the material point, and H times the turning: central differences."""
    at, twist, found = Contacts(), np.empty(6), np.empty(6)
    for i in range(4):
        kinematics.relative_twist(at.S, at.support[i], at.v, twist)
        kinematics.motion_by_velocity(at.P, at.touched[i], twist, at.acted[i], H, found)
        ends = [at.relative(at.moved(s * STEP * at.v))[i] for s in (1.0, -1.0)]
        material = at.relative(at.q)[i].actInv(at.acted[i])
        change = ends[0].act(material) - ends[1].act(material)
        turn = pin.log3(ends[0].rotation @ ends[1].rotation.T)
        expected = H / (2.0 * STEP) * np.append(change, turn)
        assert found == pytest.approx(expected, abs=H * DIFFERENCE)
        short = np.empty(3)
        kinematics.motion_by_velocity(at.P, at.touched[i], twist, at.acted[i], H, short)
        assert np.array_equal(short, found[:3])


@ROWS
def test_forces_are_those_of_pinocchios_jacobians(rows):
    """G loses J' V w; the wrenches of the dofs' subtrees, works, gap and slip are as stated."""
    at = Contacts(rows)
    G = at.rng.standard_normal(at.nv)
    found = at.forces(at.reference, G=G)
    wrench = np.einsum("nrm,nm->nr", at.V, at.w)
    assert found["wrench"] == pytest.approx(wrench, abs=ROUNDING)
    assert found["G"] == pytest.approx(G - at.generalised(at.q, at.acted, wrench), abs=ROUNDING)
    assert G - (at.S * found["subtree"]).sum(axis=1) == pytest.approx(found["G"], abs=ROUNDING)
    assert found["motion"] == pytest.approx(at.motions(at.q), abs=ROUNDING)
    work = np.einsum("nrm,nr->nm", at.V, at.motions(at.q))
    assert found["work"] == pytest.approx(work, abs=ROUNDING)
    norm, gap, slip, k = found["returned"]
    assert norm == pytest.approx(np.linalg.norm(found["G"]))
    gaps = (work * at.w).sum(axis=1) - np.minimum(work.min(axis=1), 0.0)
    assert gap == pytest.approx(gaps.sum())
    assert slip == pytest.approx((gaps[at.active] / np.abs(wrench[at.active]).max(axis=1)).max())
    assert np.array_equal(found["active"][:k], at.active)


def test_slip_of_a_contact_without_force():
    """Its unit is a share of the largest force that it may have; no work is below zero."""
    at = Contacts()
    w = np.zeros((4, 5))
    found = at.forces(at.reference, w)
    gaps = -np.minimum(found["work"].min(axis=1), 0.0)[at.active]
    units = LEAST_SHARE * np.abs(at.V[at.active]).max(axis=(1, 2))
    assert found["returned"][1] == pytest.approx(gaps.sum())
    assert found["returned"][2] == pytest.approx((gaps / units).max())


@ROWS
def test_motions_of_forces_without_a_reference(rows):
    """They are those of a time at the velocity of the end."""
    at = Contacts(rows)
    found, twist, expected = at.forces(NO_REFERENCE), np.empty(6), np.empty((4, rows))
    for i in range(4):
        kinematics.relative_twist(at.S, at.support[i], at.v, twist)
        kinematics.motion_by_velocity(at.P, at.touched[i], twist, at.acted[i], H, expected[i])
    assert found["motion"] == pytest.approx(expected, abs=ROUNDING)


def test_jacobians_are_differences_of_places():
    """Of the centre, of the material point, and of the rotation, in the touched body's axes."""
    at = Contacts()
    for i in range(4):
        M = at.relative(at.q)[i]
        material = M.actInv(at.acted[i])

        def place(q, i=i, M=M, material=material):
            now = at.relative(q)[i]
            return [now.act(at.local[i]), now.act(material), pin.log3(now.rotation @ M.rotation.T)]

        found = at.jacobians(i, at.centre[i], at.acted[i])
        assert found == pytest.approx(at.differences(place), abs=DIFFERENCE)


@ROWS
def test_jacobian_of_motions(rows):
    """Differences of the motion, while the normal of a ball turns."""
    at = Contacts(rows)
    expected = at.differences(at.motions)
    for i in range(4):
        J, found = at.jacobians(i, at.centre[i], at.acted[i]), np.full((rows, at.nv), np.nan)
        contact_jacobians.motion_jacobian(
            at.placements[i],
            at.reference[i],
            at.normal[i],
            at.curvature[i],
            at.acting[i],
            J[0],
            J[2],
            found,
        )
        assert found == pytest.approx(expected[i], abs=DIFFERENCE)


class Ahead(Contacts):
    """The same contacts at another configuration, with the velocity that follows it."""

    def __init__(self, at, q):
        super().__init__(at.rows)
        dq = pin.difference(at.model, at.q, q)
        self.v = at.v + at.D @ dq
        self.data, self.P, self.S = self.at(q)
        kinematics.locate(
            self.P, self.joints, self.touched, self.local, self.placements, self.centre
        )
        self.normal, self.curvature = self.balls(self.centre)


@ROWS
@pytest.mark.parametrize("by", ["reference", "velocity", "rate"])
def test_derivatives_of_contacts(by, rows):
    """A loses d(J' V w)/dq, and the Jacobians of motions are differences of motions.

    The wrenches change linearly with the translation of their centres, the normals are those of
    balls; motions are counted from a reference, or follow from a velocity, which follows the
    configuration by D or by the rate alone.
    """
    at = Contacts(rows)
    if by == "rate":
        at.D = np.eye(at.nv) / H
    own = at.rng.standard_normal((4, rows, 3))
    own[1] = 0.0
    wrench = np.einsum("nrm,nm->nr", at.V, at.w)
    reference = at.reference if by == "reference" else NO_REFERENCE
    found = at.forces(reference)

    def force(q):
        centre = at.centres(q)
        points = centre - at.acting[:, None] * at.balls(centre)[0]
        changed = wrench + np.einsum("nrc,nc->nr", own, centre - at.centre)
        return at.generalised(q, points, changed)

    A, J_force, J_motion = np.zeros((at.nv, at.nv)), *np.full((2, 3, rows, at.nv), np.nan)
    contact_derivatives.linearise_contacts(
        at.P,
        at.S,
        at.touched,
        at.support,
        at.moves,
        at.above,
        at.radii,
        reference,
        at.placements,
        at.centre,
        at.normal,
        at.curvature,
        wrench,
        found["subtree"],
        at.active,
        own,
        at.v,
        np.zeros((0, 0)) if by == "rate" else at.D,
        1.0 / H,
        A,
        J_force,
        J_motion,
    )
    expected = at.differences(force)
    assert pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max()) == -A
    for x, i in enumerate(at.active):
        J = at.jacobians(i, at.centre[i], at.acted[i])
        assert np.array_equal(J_force[x], np.concatenate([J[1], J[2]])[:rows])
    motions = at.differences(lambda q: Ahead(at, q).forces(reference)["motion"])[at.active]
    assert J_motion == pytest.approx(motions, abs=DIFFERENCE)


@ROWS
def test_motions_follow_the_reference(rows):
    """Differences of the motion while the reference is moved and the end is held."""
    at, end = Contacts(rows), Contacts(rows)
    at.q = at.q0
    _, P, S = at.at(at.q)
    J = np.full((3, rows, at.nv), np.nan)
    stage_derivatives.reference_motion_jacobians(
        P,
        S,
        at.touched,
        at.support,
        at.local,
        at.radii,
        at.reference,
        at.placements,
        at.normal,
        at.active,
        J,
    )

    def motions(q):
        end.reference = np.array([array_of(M) for M in at.relative(q)])
        return end.motions(end.q)

    assert pytest.approx(at.differences(motions)[at.active], abs=DIFFERENCE) == J


@pytest.mark.parametrize("columns", [3, 6])
@ROWS
def test_derivative_of_works(rows, columns):
    """V'u where the vertices change with translation, or with rotation too: differences."""
    at = Contacts(rows)
    own = at.rng.standard_normal((3, 5, rows, columns))
    J_motion = np.ascontiguousarray(at.differences(at.motions)[at.active])
    r_q = np.full((15, at.nv), np.nan)
    stage_derivatives.work_jacobian(
        at.P,
        at.S,
        at.touched,
        at.support,
        at.centre,
        at.V,
        at.motions(at.q),
        at.active,
        own,
        J_motion,
        r_q,
    )
    start = at.relative(at.q)

    def works(q):
        centre, now = at.centres(q), at.relative(q)
        turns = [pin.log3(b.rotation @ a.rotation.T) for a, b in zip(start, now, strict=True)]
        moved = np.hstack([centre - at.centre, turns])[at.active, :columns]
        V = at.V[at.active] + np.einsum("nmrc,nc->nrm", own, moved)
        return np.einsum("nrm,nr->nm", V, at.motions(q)[at.active]).ravel()

    assert r_q == pytest.approx(at.differences(works), abs=5.0 * DIFFERENCE)  # works of size 5


def test_cones_on_a_plane():
    """Depths and vertices k d^p (mu t + n) of a horizontal plane, and the force that follows."""
    at = Contacts()
    at.touched = np.zeros(4, np.int64)
    at.support = at.carried
    centre = at.centres(at.q)
    height = float(np.sort(centre[:, 2] - at.radii)[2]) + 0.1  # three are in contact
    depth = height - (centre[:, 2] - at.radii)
    arrays = Terrain([Plane(height=height, friction=0.4)]).arrays
    tangents = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
    V = np.zeros((4, 3, 3))
    V[:, :2], V[:, 2] = 0.4 * tangents, 1.0
    V *= (50.0 * np.maximum(depth, 0.0) ** 2)[:, None, None]
    w = at.rng.dirichlet(np.ones(4), 4)[:, :3].copy()
    layout = Layout(at.nv, len(at.P), 4, 4, 3, 3)
    values, none = np.full(layout.size, np.nan), np.empty(0)
    no_dofs, square = np.empty(0, np.int64), np.empty((0, 0))
    out, active = layout.arrays(values), np.empty(4, np.int64)
    out.P[:], out.S[:], out.G[:], out.stiffness[:] = at.P, at.S, 0.0, 0.0
    returned = subtract_cone_forces(
        arrays.kinds,
        arrays.shapes,
        arrays.heights,
        arrays.intervals,
        tangents,
        50.0,
        2,
        0.0,
        at.joints,
        np.empty(4, np.int64),
        *np.zeros((4, at.nv)),  # no torque
        *(square, square),
        *(no_dofs.reshape(0, 2), no_dofs.reshape(0, 2), none, none, none),  # no springs
        *(no_dofs, no_dofs, none, none, none, none),  # no stops
        at.touched,
        at.support,
        at.local,
        at.radii,
        NO_REFERENCE,
        at.q,
        at.v,
        w,
        1.0 / H,
        layout.table,
        values,
        active,
    )
    assert out.depth == pytest.approx(depth, abs=ROUNDING)
    assert pytest.approx(V, abs=50.0 * ROUNDING) == out.V
    assert returned[3:] == ((depth > 0.0).sum(), False) == (3, False)
    assert active[:3].tolist() == np.flatnonzero(depth > 0.0).tolist()
    points = centre - at.radii[:, None] * [0.0, 0.0, 1.0]
    force = at.generalised(at.q, points, np.einsum("nrm,nm->nr", V, w))
    assert pytest.approx(-force, abs=50.0 * ROUNDING) == out.G
    assert returned[0] == pytest.approx(np.linalg.norm(force))


def test_wrenches_in_the_world():
    """Forces where the spheres touch have moments about their centres; wrenches are only turned."""
    at, out = Contacts(6), np.full((4, 6), np.nan)
    R = [at.data.oMi[int(b)].rotation for b in at.touched]
    wrench = at.rng.standard_normal((4, 6))
    world_wrenches(at.P, at.touched, at.radii, at.normal, wrench, out)
    expected = [np.append(r @ f[:3], r @ f[3:]) for r, f in zip(R, wrench, strict=True)]
    assert out == pytest.approx(np.array(expected), abs=ROUNDING)
    force = wrench[:, :3].copy()
    world_wrenches(at.P, at.touched, at.radii, at.normal, force, out)
    moment = np.cross(-at.radii[:, None] * at.normal, force)
    expected = [np.append(r @ f, r @ m) for r, f, m in zip(R, force, moment, strict=True)]
    assert out == pytest.approx(np.array(expected), abs=ROUNDING)


STILL = 0.1  # [m/s]


def ends(force, u, *, normal=(0.0, 0.6, 0.8), friction=None, inward=1.0):
    """What `contact_ends` says of one contact, or of one joint with dry friction, at u m/s."""
    contacts = np.array([normal] if friction is None else []).reshape(-1, 3)
    joints = np.array([] if friction is None else [friction])
    V, rate = np.zeros((1, 3, 2)), 1.0 / H
    V[0, 1, 1] = -20.0
    flags = [np.full(1, value) for value in (False, True, False)]
    slip = np.full((1, 3), np.nan)
    found = contact_ends(
        V,
        np.array([force]),
        H * np.array([u]),
        contacts,
        np.full(len(joints), inward),
        joints,
        rate,
        STILL,
        *flags,
        slip,
    )
    unloaded, thrown, sliding = (bool(flag[0]) for flag in flags)
    assert found == (thrown, sliding)
    return unloaded, thrown, sliding, slip[0]


def test_loads_of_contacts_and_joints():
    """A share of the largest force counts as none; a joint's dry friction is no load."""
    least = 20.0 * UNLOADED
    zero, n = np.zeros(3), np.array([0.0, 0.6, 0.8])
    assert [ends([0.0, -x, 0.0], zero)[0] for x in (0.9 * least, 1.1 * least)] == [True, False]
    along = np.array([1.0, 0.0, 0.0])
    assert [ends(-x * along, zero, friction=3.0)[0] for x in (3.0, 3.1)] == [True, False]
    assert ends(zero, 0.9 * STILL * n)[:2] == (True, False)
    assert ends(zero, 1.1 * STILL * n)[:2] == (True, True)
    assert ends(zero, -1.1 * STILL * n)[:2] == (True, False)
    assert ends(5.0 * n, 1.1 * STILL * n)[:2] == (False, False)


def test_slides_of_contacts_and_joints():
    """Contacts slide across their normals under load, joints where they have dry friction."""
    n, across = np.array([0.0, 0.6, 0.8]), np.array([0.3, 0.8, -0.6])
    found = ends(5.0 * n, 0.7 * n + across)
    assert found[2]
    assert found[3] == pytest.approx(across)
    assert not ends(5.0 * n, 0.7 * n + 0.9 * STILL * across / np.linalg.norm(across))[2]
    assert ends(5.0 * n, 0.7 * n + 1.1 * STILL * across / np.linalg.norm(across))[2]
    assert not ends(np.zeros(3), across)[2]
    u = np.array([-0.4, 9.0, 9.0])
    assert [ends(np.zeros(3), u, friction=3.0, inward=i)[1] for i in (1.0, -1.0)] == [False, True]
    slow = [[f * STILL, 0.0, 0.0] for f in (0.9, 1.1)]
    assert [ends(np.zeros(3), v, friction=3.0)[1] for v in slow] == [False, True]
    found = ends(np.zeros(3), u, friction=3.0)
    assert found[2]
    assert found[3].tolist() == pytest.approx([-0.4, 0.0, 0.0])
    found = ends(np.zeros(3), u, friction=0.0)
    assert not found[2]
    assert found[3].tolist() == [0.0, 0.0, 0.0]


def test_arrays_of_an_evaluation_share_no_memory():
    """Each number belongs to one array, whose name and shape are those of `shapes`."""
    sizes = (5, 4, 2, 3, 6, 3)
    layout = Layout(*sizes)
    parts = layout.arrays(np.arange(layout.size, dtype=float))
    assert parts._fields == tuple(shapes(*sizes))
    assert {name: part.shape for name, part in parts._asdict().items()} == shapes(*sizes)
    assert np.concatenate([part.ravel() for part in parts]).tolist() == list(range(layout.size))
    values, kinds = np.arange(layout.size, dtype=float), (rows.vector, rows.matrix, rows.stack)
    for i, (name, part) in enumerate(parts._asdict().items()):
        assert np.array_equal(kinds[part.ndim - 1](values, layout.table, i), part)
        assert getattr(rows, {"V": "VERTICES"}.get(name, name.upper())) == i


def test_wrenches_are_weighted_and_added():
    """The wrenches of stops, behind those of the contacts, are left out."""
    at = Contacts()
    layout = Layout(at.nv, len(at.P), 4, 6, 5, 3)
    values = at.rng.standard_normal(layout.size)
    parts, expected = layout.arrays(values), np.empty((4, 6))
    parts.P[:] = at.P
    total = np.ones((4, 6))
    add_world_wrenches(0.3, at.touched, at.radii, layout.table, values, total)
    world_wrenches(at.P, at.touched, at.radii, parts.normal, parts.wrench[:4], expected)
    assert total == pytest.approx(1.0 + 0.3 * expected, abs=ROUNDING)


def test_ends_of_a_step():
    """What contacts and stops entered since the first stage; only what acts may be thrown."""
    layout = Layout(3, 2, 2, 4, 1, 3)
    first, end = np.zeros((2, layout.size))
    a, b = (layout.arrays(x) for x in (first, end))
    a.depth[:], b.depth[:] = (-0.2, 0.01), (0.05, 0.03)
    b.normal[:] = (0.0, 0.0, 1.0)
    b.motion[1] = (0.0, 0.0, 1.0)  # leaves
    lower, upper, dofs = np.full(2, -1.0), np.array([1.0, np.inf]), np.array([0, 1])
    flags, slip, entered = np.empty((4, 4), bool), np.empty((4, 3)), np.empty(4)

    def ends(active):
        return step_ends(
            first,
            end,
            np.array([0.9, 0.0, 0.0]),
            np.array([1.3, -0.8, 0.0]),
            np.array([], dtype=np.int64),
            np.array(active, dtype=np.int64),
            dofs,
            lower,
            upper,
            np.zeros(2),
            1.0 / H,
            STILL,
            layout.table,
            *flags[:3],
            slip,
            entered,
            flags[3],
        )

    assert ends([0]) == (False, False, pytest.approx(0.3))
    assert entered.tolist() == pytest.approx([0.05, 0.02, 0.3, -0.2])
    assert flags[3].tolist() == [True, False, False, False]
    assert ends([1]) == (True, False, pytest.approx(0.3))
    assert flags[1].tolist() == [False, True, False, False]
