"""The friction cone: closed forms, feasible forces, frames, parameters."""

from dataclasses import replace

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contracts import WrenchSpaceContract

from nmdp_pin._contact import ContactState, FrictionCone, stiffness_for_static_depth
from nmdp_pin._contact.friction_cone import frame_derivative, tangent_frames
from nmdp_pin.errors import ContactError

ROUNDING = 1e-12  # relative; a few operations in double precision
CONES = (
    FrictionCone(stiffness=1e3, power=1),
    FrictionCone(stiffness=1e3, power=1, zeta=1e-2),
    FrictionCone(stiffness=1e4, power=2, directions=3, angle=0.4),
    FrictionCone(stiffness=1e6),
    FrictionCone(stiffness=1e4, power=2, zeta=1e-3),
    FrictionCone(stiffness=1e5, power=3, directions=8, circumscribed=True),
)


class TestFrictionCone(WrenchSpaceContract):
    @pytest.fixture(params=CONES, ids=repr)
    def space(self, request):
        return request.param


def normals(n=200):
    """Unit vectors in all directions, the poles and the seam between the frames among them."""
    rng = np.random.default_rng(0)
    odd = [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, -1, 0], [np.sqrt(0.75), 0, -0.5]]
    near = [[1e-9, 0, -1], [0, 1e-9, 1]]
    found = np.array([*odd, *near, *rng.standard_normal((n, 3))], dtype=float)
    return found / np.linalg.norm(found, axis=1)[:, None]


def contacts(depth, normal=(0.0, 0.0, 1.0), friction=0.5):
    """Contacts of the given depths on flat ground of one normal."""
    depth = np.atleast_1d(np.asarray(depth, dtype=float))
    n = len(depth)
    return ContactState(
        np.zeros((n, 3)),
        np.tile(np.eye(3), (n, 1, 1)),
        depth,
        np.tile(np.asarray(normal, dtype=float), (n, 1)),
        None,
        np.full(n, friction),
        np.zeros(n),
        np.zeros(n, dtype=int),
        np.arange(n),
    )


@pytest.mark.parametrize("power", [1, 2, 3, 5])
def test_vertices_in_closed_form(power):
    """v_j = k (d^p + zeta) (n + mu t_j) on flat ground, t_j at the stated angles."""
    cone = FrictionCone(stiffness=2e3, power=power, directions=5, zeta=1e-4, angle=0.2)
    V = cone.vertices(contacts([0.01, -0.3], friction=0.7))
    angles = 0.2 + 2.0 * np.pi * np.arange(5) / 5
    for i, size in enumerate((2e3 * (0.01**power + 1e-4), 2e3 * 1e-4)):
        expected = size * np.array([0.7 * np.cos(angles), 0.7 * np.sin(angles), np.ones(5)])
        np.testing.assert_allclose(V[i], expected, rtol=ROUNDING, atol=ROUNDING * size)


def test_no_force_without_contact():
    """With zeta = 0 the vertices are exactly zero at touch and above."""
    V = FrictionCone(stiffness=1e6).vertices(contacts([0.0, -1e-12, -1.0, -np.inf]))
    assert not V.any()


@pytest.mark.parametrize("circumscribed", [False, True])
@pytest.mark.parametrize("directions", [3, 4, 6, 7])
def test_forces_lie_in_the_cone(directions, circumscribed):
    """For any weights of the simplex the force is pressing, bounded, and within friction."""
    cone = FrictionCone(stiffness=1e4, power=2, directions=directions, circumscribed=circumscribed)
    rng = np.random.default_rng(directions)
    largest = cone.effective_friction(0.6)[1]
    normal = normals()
    state = contacts(np.full(len(normal), 0.02), friction=0.6)._replace(normal=normal)
    w = samples.weights(len(normal), directions, rng)
    force = (cone.vertices(state) @ w[:, :, None])[:, :, 0]
    pressing = (force * normal).sum(axis=1)
    sliding = np.linalg.norm(force - pressing[:, None] * normal, axis=1)
    assert (pressing >= 0.0).all()
    assert (pressing <= 1e4 * 0.02**2 * (1.0 + ROUNDING)).all()
    assert (sliding <= largest * pressing * (1.0 + ROUNDING)).all()


@pytest.mark.parametrize("circumscribed", [False, True])
@pytest.mark.parametrize("directions", [3, 4, 6, 9])
def test_effective_friction(directions, circumscribed):
    """The stated bounds are those of the largest friction against sliding in any direction."""
    cone = FrictionCone(stiffness=1.0, power=1, directions=directions, circumscribed=circumscribed)
    V = cone.vertices(contacts([1.0], friction=0.5))[0]
    angles = np.linspace(0.0, 2.0 * np.pi, 20 * directions + 1)  # holds edges and their middles
    best = (np.array([np.cos(angles), np.sin(angles)]).T @ V[:2]).max(axis=1)
    low, high = cone.effective_friction(0.5)
    assert best.min() == pytest.approx(low, rel=1e-9)
    assert best.max() == pytest.approx(high, rel=1e-9)
    assert low == pytest.approx(0.5 if circumscribed else 0.5 * np.cos(np.pi / directions))


def test_the_polytope_is_symmetric():
    """Turned by one direction about the normal, the vertices are the same in another order."""
    cone = FrictionCone(stiffness=1e4, power=2, directions=6)
    normal = normals()
    state = contacts(np.full(len(normal), 0.01))._replace(normal=normal)
    V = cone.vertices(state)
    turn = np.array([pin.exp3(2.0 * np.pi / 6 * n) for n in normal])
    turned = turn @ V
    order = np.roll(np.arange(6), -1)
    for i in range(len(normal)):
        # frames of the lower hemisphere are left-handed in their tangents or not: either order
        same = [np.allclose(turned[i], V[i][:, o], atol=1e-9) for o in (order, order.argsort())]
        assert any(same)


def test_mean_of_the_vertices_is_the_normal():
    """Equal weights give a force along the normal: no direction is preferred."""
    for directions in (3, 4, 6, 7):
        cone = FrictionCone(stiffness=1e4, power=2, directions=directions, angle=0.1)
        normal = normals()
        state = contacts(np.full(len(normal), 0.01))._replace(normal=normal)
        force = cone.vertices(state).mean(axis=2)
        np.testing.assert_allclose(force, normal * 1e4 * 1e-4, atol=1e-12)


def test_frames_are_orthonormal():
    """Every frame is a rotation, or its mirror, whose third axis is the normal."""
    normal = normals()
    R = tangent_frames(normal)
    np.testing.assert_allclose(
        R.transpose(0, 2, 1) @ R, np.tile(np.eye(3), (len(R), 1, 1)), atol=1e-9
    )
    np.testing.assert_array_equal(R[:, :, 2], normal)
    np.testing.assert_allclose(np.linalg.det(R), 1.0, atol=1e-9)


def test_frames_do_not_depend_on_the_neighbours():
    """The fast way for level ground is the general one."""
    cone = FrictionCone(stiffness=1e4, power=2)
    level = contacts([0.01, 0.02])
    mixed = level._replace(normal=np.array([[0.0, 0.0, 1.0], [0.6, 0.0, 0.8]]))
    np.testing.assert_array_equal(cone.vertices(level)[0], cone.vertices(mixed)[0])


def test_vertices_rotate_with_the_ground():
    """Ground turned about the vertical turns the cone along, to the spacing of its directions."""
    cone = FrictionCone(stiffness=1e4, power=2, directions=64)
    n = np.array([0.48, 0.36, 0.8])
    Q = pin.exp3(np.array([0.0, 0.0, 1.1]))
    V = cone.vertices(contacts([0.01], normal=n))[0]
    W = cone.vertices(contacts([0.01], normal=Q @ n))[0]
    distance = np.linalg.norm((Q @ V)[:, :, None] - W[:, None, :], axis=0)
    assert distance.min(axis=1).max() <= 1.0 * 0.5 * np.pi / 64 * 1.01  # half an edge at mu k d^2


@pytest.mark.parametrize("power", [1, 2, 3, 6])
@pytest.mark.parametrize("depth", [1e-300, 1e-120, 1e-99, 1e-60, 1e-8])
def test_derivative_just_inside(power, depth):
    """However small the penetration, the derivative is finite."""
    cone = FrictionCone(stiffness=1e6, power=power)
    state = contacts([depth])
    w = np.full((1, 6), 1.0 / 6)
    wrench = (cone.vertices(state) @ w[:, :, None])[:, :, 0]
    assert np.isfinite(cone.derivative(state, w, wrench)).all()


@pytest.mark.parametrize("zeta", [0.0, 1e-3])
@pytest.mark.parametrize("normal", [(0.48, 0.36, 0.8), (0.6, 0.64, -0.48), (-0.48, 0.64, -0.6)])
def test_derivative_on_a_ball(normal, zeta):
    """Central differences of V w as the contact moves over and into a ball, on both its frames."""
    cone = FrictionCone(stiffness=1e4, power=2, zeta=zeta)
    w, x = np.array([[0.1, 0.3, 0.05, 0.2, 0.0, 0.15]]), 0.9 * np.array(normal)

    def at(x):
        size = np.linalg.norm(x)
        n = x / size
        curvature = (np.eye(3) - np.outer(n, n))[None] / size
        return contacts([1.0 - size], normal=n)._replace(curvature=curvature)

    def force(x):
        return cone.vertices(at(x))[0] @ w[0]

    step = 1e-5  # the error is of its square
    expected = [(force(x + e) - force(x - e)) / (2.0 * step) for e in step * np.eye(3)]
    found = cone.derivative(at(x), w, force(x)[None])[0]
    np.testing.assert_allclose(found, np.transpose(expected), atol=1e-5 * np.abs(found).max())


BAD = [
    *({"stiffness": k} for k in (0.0, -1.0, np.nan, "1", None)),
    *({"power": p} for p in (0, -1, 2.5, np.nan, "2", None)),
    *({"directions": n} for n in (0, 2, -6, 6.5, np.nan, "6")),
    *({"zeta": z} for z in (-1e-9, np.nan, np.inf, None)),
    *({"angle": a} for a in (np.nan, np.inf, "x")),
]


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_bad_parameters(bad):
    """A parameter out of its range is named, with what was given."""
    with pytest.raises(ContactError, match=next(iter(bad))) as caught:
        replace(FrictionCone(stiffness=1e6), **bad)
    assert repr(next(iter(bad.values()))) in str(caught.value)


def test_equal_cones_are_equal():
    """By their parameters; what follows from these is neither compared, shown nor given."""
    cone = FrictionCone(stiffness=1e6)
    assert cone == FrictionCone(stiffness=1e6)
    assert cone != FrictionCone(stiffness=1e6, directions=8)
    assert "tangents" not in repr(cone)
    assert replace(cone, directions=8).cone.tangents.shape == (2, 8)


def test_static_depth():
    """At the static depth the feet carry the weight with all their normal force."""
    k = stiffness_for_static_depth(80.0, 4, 0.005, 2)
    V = FrictionCone(stiffness=k, power=2).vertices(contacts([0.005] * 4))
    assert V.mean(axis=2)[:, 2].sum() == pytest.approx(80.0 * 9.81, rel=ROUNDING)
    on_the_moon = stiffness_for_static_depth(80.0, 4, 0.005, 2, gravity=1.62)
    assert on_the_moon == pytest.approx(k * 1.62 / 9.81)


@pytest.mark.parametrize(
    "arguments", [(0.0, 4, 0.01, 2), (80.0, 0, 0.01, 2), (80.0, 4, -1e-3, 2), (80.0, 4, np.nan, 2)]
)
def test_bad_static_depth(arguments):
    """No feet, no mass or a depth below zero: an error that names all three."""
    with pytest.raises(ContactError, match="static_depth"):
        stiffness_for_static_depth(*arguments)


def test_frames_turn_with_the_normal():
    """Differences of R(n) s between neighbours on the sphere, away from the seam of the frames."""
    n = normals()
    n = n[np.abs(n[:, 2] + 0.5) > 0.1]
    rng = np.random.default_rng(1)
    s, aside = rng.standard_normal((2, len(n), 3))
    aside -= (aside * n).sum(axis=1)[:, None] * n
    found = (frame_derivative(n, s) @ aside[:, :, None])[:, :, 0]
    step, sides = 1e-6, []
    for sign in (1.0, -1.0):
        moved = n + sign * step * aside
        moved /= np.linalg.norm(moved, axis=1)[:, None]
        sides.append((tangent_frames(moved) @ s[:, :, None])[:, :, 0])
    expected = (sides[0] - sides[1]) / (2.0 * step)
    assert found == pytest.approx(expected, abs=1e-8)  # of the differences
