"""Places and motions of contacts against pinocchio's kinematics and central differences."""

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import BALL, DIFFERENCE, STEP, Contacts, H, array_of

from nmdp_pin._kernels.contact.contact_motion import (
    displacement,
    relative_velocity,
    spin,
    stiffness_at_origin,
    turn_back,
    velocity_motion,
    wrench_at_origin,
)
from nmdp_pin._kernels.geometry.planes import bend_contacts, place_contacts
from nmdp_pin._kernels.tree.tree import body_twists

ROUNDING = 1e-12  # of products of four rotations
ROWS = pytest.mark.parametrize("rows", [3, 6])


@pytest.fixture
def at():
    """The contacts, with the motions of the bodies."""
    at = Contacts()
    at.twists = np.full((6, 6), np.nan)
    body_twists(at.form.tree, at.S, at.v, at.twists)
    return at


def test_places_are_pinocchios(at):
    """Carriers, centres, normals and curvatures in the frames of the touched bodies."""
    candidates, contacts = at.form.candidates, at.stage.contacts
    found, (ball,) = at.form.new_point().places, BALL.shapes
    place_contacts(candidates, contacts, at.P, found)
    expected = np.array([array_of(M) for M in at.relative(at.q)])
    assert found.placements == pytest.approx(expected, abs=ROUNDING)
    assert found.centre == pytest.approx(at.centre, abs=ROUNDING)
    assert found.normal == pytest.approx(at.normal, abs=ROUNDING)
    depth = at.radii + ball.radius - np.linalg.norm(at.centre, axis=1)
    assert found.depth == pytest.approx(depth, abs=ROUNDING)
    assert found.arm == pytest.approx(at.arms, abs=ROUNDING)
    assert (found.friction == ball.coefficient).all()
    bend_contacts(candidates, contacts, found)
    assert found.curved.all()
    assert found.curvature == pytest.approx(at.curvature, abs=ROUNDING)


@ROWS
def test_motion_since_a_reference_is_that_of_the_material_point(rows):
    """With rotations as axis times sine; the reference of the last contact is sheared."""
    at = Contacts(rows)
    if rows == 3:
        at.reference[3] += 0.1 * at.rng.standard_normal((4, 3))
    found = np.full((4, rows), np.nan)
    for i, M in enumerate(at.relative(at.q)):
        displacement(array_of(M), at.reference[i], at.centre[i], at.arms[i], found[i])
    assert found == pytest.approx(at.motions(at.q), abs=ROUNDING)


def test_velocities_of_centres_are_rates_of_their_places(at):
    """Differences along the velocity, in the axes of the touched bodies."""
    found, work = np.full((4, 3), np.nan), np.empty(3)
    for i, (a, b) in enumerate(zip(at.joints, at.touched, strict=True)):
        relative_velocity(at.P, at.twists, a, b, at.centre[i], found[i], work)
    sides = [at.centres(at.moved(s * STEP * at.v)) for s in (1.0, -1.0)]
    assert found == pytest.approx((sides[0] - sides[1]) / (2.0 * STEP), abs=DIFFERENCE)


@pytest.mark.parametrize("h", [0.0, 0.3])
def test_placements_after_a_turn(at, h):
    """A carrier turned for a time at constant velocity, with its contact at a given place."""
    there = (0.3, -0.2, 0.5)
    for M, local, a, b in zip(at.relative(at.q), at.local, at.joints, at.touched, strict=True):
        found = array_of(M)
        spin(at.P, at.twists, a, b, h, local, there, found)
        rate = at.P[b, :3] @ (at.twists[a, 3:] - at.twists[b, 3:])
        R = pin.exp3(h * rate) @ M.rotation
        assert found[:3] == pytest.approx(R.T, abs=ROUNDING)
        assert found[3] == pytest.approx(there - R @ local, abs=ROUNDING)


def test_motion_by_a_velocity(at):
    """H times the velocity of the material point, and H times the turning: central differences."""
    for i, (a, b, expected) in enumerate(zip(at.joints, at.touched, at.velocities(), strict=True)):
        found, short, point = np.empty(6), np.empty(3), at.centre[i] + at.arms[i]
        velocity_motion(at.P, at.twists, a, b, point, H, found)
        assert found == pytest.approx(H * expected, abs=H * DIFFERENCE)
        velocity_motion(at.P, at.twists, a, b, point, H, short)
        assert np.array_equal(short, found[:3])


@ROWS
def test_wrenches_about_the_origin(rows):
    """In the axes of the world, of a force or a wrench at a point of the touched body."""
    at = Contacts(rows)
    wrench, found = at.rng.standard_normal((4, rows)), np.full((4, 6), np.nan)
    for i, b in enumerate(at.touched):
        wrench_at_origin(at.P, b, at.centre[i], wrench[i], found[i])
    assert found == pytest.approx(at.about_origin(at.q, at.centre, wrench), abs=ROUNDING)


def test_the_rotation_back_to_a_reference(at):
    """Q = R_ref R'."""
    Q = np.full((3, 3), np.nan)
    for M, reference in zip(at.relative(at.q), at.reference, strict=True):
        turn_back(array_of(M), reference, Q)
        assert pytest.approx(reference[:3].T @ M.rotation.T, abs=ROUNDING) == Q


@pytest.mark.parametrize("carried", [False, True])
def test_stiffness_about_the_origin(at, carried):
    """Central differences of the wrench about the origin while the carrier moves."""
    for i, b in enumerate(at.touched):
        wrench, D = at.rng.standard_normal(6), at.rng.standard_normal((6, 6))
        M, found = at.data.oMi[int(b)], np.full(36, np.nan)
        at_centre = pin.SE3(M.rotation, M.act(at.centre[i]))

        def about(moved, i=i, M=M, wrench=wrench, D=D, at_centre=at_centre):
            # The wrench about the centre changes by D times the motion there, in the axes of b.
            motion = at_centre.actInv(pin.Motion(moved)).vector
            point = at_centre.translation + carried * (M.rotation @ motion[:3])
            turned = np.kron(np.eye(2), M.rotation) @ (wrench + D @ motion)
            return np.append(turned[:3], turned[3:] + np.cross(point, turned[:3]))

        stiffness_at_origin(at.P, b, at.centre[i], wrench, D.copy(), carried, found)
        sides = [[about(s * STEP * d) for s in (1.0, -1.0)] for d in np.eye(6)]
        expected = np.transpose([(ahead - behind) / (2.0 * STEP) for ahead, behind in sides])
        size = np.abs(expected).max()
        assert found.reshape(6, 6) == pytest.approx(expected, abs=DIFFERENCE * size)
