"""Limit surfaces: closed forms, the fit and its certificate, mistakes."""

import sys

import numpy as np
import pytest

from nmdp_pin._contact.planar_sliding.limit_surface import exponents, monomials, sphere_directions
from nmdp_pin.contact import LimitSurface, SlidingSamples, fit_limit_surface
from nmdp_pin.errors import ContactError, MissingExtra
from nmdp_pin.testing import central_differences

LENGTH = 0.1  # [m]
AXES = np.array([0.5, 0.3, 0.2])
ELLIPSOID = LimitSurface.ellipsoid(AXES, length=LENGTH)
NEWTON = 1e-8  # where the search for the furthest load stops
DIFFERENCES = 1e-6  # relative; of a polynomial, by steps of 2e-6
SOLVER = 1e-4  # relative; clarabel stops at 1e-8 of the objective, a square of what is compared
NOISE = 0.02  # relative; of the loads
CONVEX = 1e-7  # relative; tolerance of the solver on Q


def form(values, degree):
    """The form of that degree that takes these values, a function of loads."""
    loads = np.random.default_rng(1).standard_normal((80, 3))
    return np.linalg.lstsq(monomials(loads, degree), values(loads), rcond=None)[0]


def quartic(seed=0):
    """A sum of fourth powers of linear forms, so convex, and no ellipsoid."""
    lines = np.random.default_rng(seed).standard_normal((8, 3)) * [2.0, 3.0, 4.0]
    c = form(lambda loads: ((loads @ lines.T) ** 4).sum(axis=1), 4)
    return LimitSurface(degree=4, coefficients=tuple(c), length=LENGTH)


def bent():
    """Coefficients of a quartic that is positive but not convex: a sphere with dents."""
    return form(lambda F: (F**4).sum(axis=1) + 9.0 * (F[:, 0] * F[:, 1]) ** 2, 4)


SURFACES = {"ellipsoid": ELLIPSOID, "quartic": quartic()}


def samples(surface, n, noise=0.0, seed=0):
    """Sliding in random directions under random normal loads."""
    rng = np.random.default_rng(seed)
    loads = surface.furthest(rng.standard_normal((n, 3)))
    twists = surface.gradient(loads) * rng.uniform(0.1, 2.0, (n, 1)) / [1.0, 1.0, LENGTH]
    loads = loads * (1.0 + noise * rng.standard_normal(loads.shape))
    normal = rng.uniform(1.0, 20.0, n)
    return SlidingSamples(
        twists=twists, loads=loads * normal[:, None] * [1.0, 1.0, LENGTH], normal=normal
    )


def test_directions_are_nested_and_symmetric():
    """Each refinement holds the one before and its own mirror images."""
    for r, n in enumerate((6, 18, 66, 258)):
        found = {tuple(u) for u in np.round(sphere_directions(r), 12)}
        assert len(found) == n
        assert {tuple(u) for u in np.round(sphere_directions(max(r - 1, 0)), 12)} <= found
        assert {tuple(-np.array(u) + 0.0) for u in found} == found


def test_furthest_load_of_an_ellipsoid():
    """A u / sqrt(u' A u) in closed form."""
    u = sphere_directions(2)
    A = np.diag(AXES**2)
    expected = u @ A / np.sqrt(np.einsum("ni,ij,nj->n", u, A, u))[:, None]
    np.testing.assert_allclose(ELLIPSOID.furthest(u), expected, atol=NEWTON)


def test_furthest_load_where_the_hessian_is_singular():
    """Of (fx/a)^4 + (fy/b)^4 + (m/c)^4: proportional to u^(1/3) a^(4/3), zeros included."""
    u = sphere_directions(2)
    powers = exponents(4)
    c = np.where(powers.max(axis=1) == 4, AXES[powers.argmax(axis=1)] ** -4.0, 0.0)
    surface = LimitSurface(degree=4, coefficients=tuple(c), length=LENGTH)
    expected = np.cbrt(u) * AXES ** (4.0 / 3.0)
    expected /= surface.value(expected)[:, None] ** 0.25
    np.testing.assert_allclose(surface.furthest(u), expected, atol=NEWTON)


@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
def test_furthest_loads_are_on_the_surface_and_slide_along_u(surface):
    """H = 1 there, and grad H points along u."""
    u = sphere_directions(3)
    loads = surface.furthest(u)
    np.testing.assert_allclose(surface.value(loads), 1.0, rtol=NEWTON)
    slides = surface.twist(loads) * [1.0, 1.0, LENGTH]
    np.testing.assert_allclose(slides, u, atol=NEWTON)


@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
def test_derivatives(surface):
    """Gradient and Hessian agree with central differences."""
    F = np.random.default_rng(2).standard_normal((6, 3))
    slope = central_differences(lambda d: surface.value(F + d), 3)
    curve = central_differences(lambda d: surface.gradient(F + d), 3)
    scale = np.abs(curve).max()
    np.testing.assert_allclose(surface.gradient(F), slope, rtol=DIFFERENCES)
    np.testing.assert_allclose(surface.hessian(F), curve, atol=DIFFERENCES * scale)


@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
def test_fit_recovers_the_surface(surface):
    """From thirty samples without noise."""
    fit = fit_limit_surface(samples(surface, 30), length=LENGTH, degree=surface.degree)
    expected = np.array(surface.coefficients)
    error = np.abs(np.array(fit.surface.coefficients) - expected).max() / np.abs(expected).max()
    assert error < SOLVER
    assert fit.load_error < SOLVER
    assert fit.twist_error < SOLVER


def test_fit_of_an_ellipsoid_by_a_quartic():
    """The square of its form is a quartic: the same loads."""
    fit = fit_limit_surface(samples(ELLIPSOID, 60), length=LENGTH, degree=4)
    u = sphere_directions(1)
    np.testing.assert_allclose(fit.surface.furthest(u), ELLIPSOID.furthest(u), atol=SOLVER)


def test_quartic_fits_better_than_an_ellipsoid():
    """Data of a quartic, with noise: the quartic's errors are near the noise, the other's not."""
    data = samples(quartic(), 300, NOISE)
    fits = {d: fit_limit_surface(data, length=LENGTH, degree=d) for d in (2, 4)}
    assert fits[4].load_error < 3.0 * NOISE
    assert fits[2].load_error > 3.0 * fits[4].load_error


def certified(fit):
    """Least eigenvalue of Q, and the error of z' Hess H z = y' Q y, both relative."""
    rng = np.random.default_rng(3)
    F, z = rng.standard_normal((2, 50, 3))
    degree, scale = fit.surface.degree, fit.load_scale
    hessian = fit.surface.hessian(F * scale) * scale**2
    y = (z[:, :, None] * monomials(F, degree // 2 - 1)[:, None, :]).reshape(50, -1)
    left = np.einsum("ni,nij,nj->n", z, hessian, z)
    right = np.einsum("ni,ij,nj->n", y, fit.gram, y)
    eigenvalues = np.linalg.eigvalsh(fit.gram)
    return eigenvalues[0] / eigenvalues[-1], np.abs(left - right).max() / np.abs(right).max()


@pytest.mark.parametrize("degree", [2, 4])
def test_certificate(degree):
    """Q is positive semidefinite and gives the Hessian, so that it is a sum of squares."""
    fit = fit_limit_surface(samples(quartic(), 100, NOISE), length=LENGTH, degree=degree)
    least, error = certified(fit)
    assert least >= -CONVEX
    assert error < CONVEX


def test_fit_of_loads_that_are_not_convex():
    """The certificate binds: data whose own quartic has dents give a convex surface."""
    c = bent()
    with pytest.raises(ContactError, match="not convex"):
        LimitSurface(degree=4, coefficients=tuple(c), length=LENGTH)
    u = sphere_directions(2)
    loads = u / (monomials(u, 4) @ c)[:, None] ** 0.25 * [1.0, 1.0, LENGTH]
    data = SlidingSamples(twists=loads, loads=loads, normal=1.0)
    fit = fit_limit_surface(data, length=LENGTH, twist_weight=0.0)
    least, error = certified(fit)
    assert abs(least) < 1e-4  # on the border of the convex ones
    assert error < CONVEX
    probes = sphere_directions(4)
    assert np.linalg.eigvalsh(fit.surface.hessian(probes)).min() > -CONVEX
    assert fit.load_error > 1e-2  # so the dents could not be followed


def test_save_and_load(tmp_path):
    """A file gives the same surface, to the bit."""
    path = tmp_path / "surface.json"
    SURFACES["quartic"].save(path)
    assert LimitSurface.load(path) == SURFACES["quartic"]


FILES = {
    "no json": ("{", "cannot be read"),
    "list": ("[1]", "keys"),
    "key missing": ('{"degree": 2, "coefficients": []}', "keys"),
    "text": (
        '{"degree": 2, "coefficients": ["a"], "length": 1}',
        "coefficients.0 must be a number",
    ),
    "length": ('{"degree": 2, "coefficients": [1], "length": "long"}', "length must be"),
    "degree": ('{"degree": 3, "coefficients": [1], "length": 1}', "degree must be 2 or 4"),
    "number": ('{"degree": 2, "coefficients": [1], "length": 1}', "needs 6"),
    "unbounded": ('{"degree": 2, "coefficients": [1,0,0,1,0,0], "length": 1}', "not bounded"),
}


@pytest.mark.parametrize(("content", "message"), FILES.values(), ids=FILES)
def test_bad_files(tmp_path, content, message):
    """A file that is no limit surface is refused by an error that names it."""
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(ContactError, match=message) as caught:
        LimitSurface.load(path)
    assert "bad.json" in str(caught.value)


def test_missing_file(tmp_path):
    """So is one that is not there."""
    with pytest.raises(ContactError, match="there is no"):
        LimitSurface.load(tmp_path / "none.json")


GOOD = samples(ELLIPSOID, 20)
BAD_SAMPLES = {
    "shape": ({"twists": np.ones((20, 2))}, "shape"),
    "normal's shape": ({"normal": np.ones(3)}, "normal"),
    "nan": ({"loads": np.full((20, 3), np.nan)}, "finite"),
    "no normal load": ({"normal": 0.0}, "> 0 N"),
    "at rest": ({"twists": np.zeros((20, 3))}, "no twist"),
    "friction forces": ({"loads": -GOOD.loads}, "oppose"),
}


@pytest.mark.parametrize(("change", "message"), BAD_SAMPLES.values(), ids=BAD_SAMPLES)
def test_bad_samples(change, message):
    """Samples that cannot be meant are refused."""
    good = {"twists": GOOD.twists, "loads": GOOD.loads, "normal": GOOD.normal}
    with pytest.raises(ContactError, match=message):
        SlidingSamples(**(good | change))


BAD_FITS = {
    "degree": ({"degree": 3}, "degree"),
    "length": ({"length": 0.0}, "length"),
    "weight": ({"twist_weight": -1.0}, "twist_weight"),
    "regularisation": ({"regularisation": np.nan}, "regularisation"),
}


@pytest.mark.parametrize(("change", "message"), BAD_FITS.values(), ids=BAD_FITS)
def test_bad_options_of_the_fit(change, message):
    """Options out of their range are refused."""
    with pytest.raises(ContactError, match=message):
        fit_limit_surface(GOOD, **({"length": LENGTH} | change))


def test_too_few_samples():
    """A quartic has fifteen coefficients."""
    with pytest.raises(ContactError, match="15 coefficients"):
        fit_limit_surface(samples(ELLIPSOID, 14), length=LENGTH, degree=4)


def test_loads_in_a_plane():
    """Without any torque nothing is known of torques."""
    flat = SlidingSamples(
        twists=GOOD.twists * [1, 1, 0], loads=GOOD.loads * [1, 1, 0], normal=GOOD.normal
    )
    with pytest.raises(ContactError, match="plane"):
        fit_limit_surface(flat, length=LENGTH, degree=2)


def test_without_the_solver(monkeypatch):
    """The message names the extra."""
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(MissingExtra, match="sdp"):
        fit_limit_surface(GOOD, length=LENGTH, degree=2)
