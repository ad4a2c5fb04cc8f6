"""One penalty contact of a sphere with a ball or a plane: its energy, wrench and derivatives."""

import numpy as np
import pinocchio as pin
import pytest
from core_samples import central_differences

from nmdp_pin._kernels.contact import penalty

H, STEP = 0.02, 1e-6  # [s]; [m, rad] of central differences
DIFFERENCE = 2e-8  # relative to the largest derivative
MU, SPEED, STIFFNESS, FRICTION = 0.6, 0.01, 30.0, 7.0
LAWS = {  # alpha, beta, gamma, and C_par, or -1 where mu gives it
    "of the paper": (2.0, 1.0, 1.0, FRICTION),
    "from mu": (2.0, 1.0, 1.0, -1.0),
    "other exponents": (2.5, 1.7, 1.2, FRICTION),
    "other exponents from mu": (2.5, 1.7, 1.2, -1.0),
}
HERE = np.zeros(6)
every_law = pytest.mark.parametrize("exponents", LAWS.values(), ids=LAWS)
every_scene = pytest.mark.parametrize(
    ("radius", "bent"), [(0.3, True), (0.3, False), (0.0, True), (0.0, False)]
)


class Contact:
    """A sphere that has slid and turned since the start of a step of length H."""

    def __init__(self, exponents, radius, bent, kind=penalty.CONSERVATIVE):
        alpha, beta, gamma, friction = exponents
        rng = np.random.default_rng(0)
        self.law = penalty.PenaltyLaw(kind, friction, SPEED, alpha, beta, gamma)
        self.C = friction
        if friction < 0.0:
            self.C = MU * STIFFNESS / ((beta + 1.0) * (H * SPEED) ** beta)
        self.radius, self.bent = radius, bent
        self.n = np.array([0.36, 0.48, 0.8])
        self.centre = 1.5 * self.n  # from the centre of the ball, which has a radius of 1.3 here
        self.size = 1.5 - radius + 0.2
        self.before = self.centre - 0.1 * rng.standard_normal(3)
        self.R0, self.R = (pin.exp3(0.4 * rng.standard_normal(3)) for _ in range(2))
        self.touch = penalty.new_touch(False)

    def at(self, dx=HERE):
        """The contact, moved by (dx, dphi)."""
        centre, R = self.centre + dx[:3], pin.exp3(dx[3:]) @ self.R
        n, t = self.n, self.touch
        away = centre @ n
        t.sizes[7] = self.bent
        if self.bent:
            away = np.linalg.norm(centre)
            n = centre / away
            t.K[:] = (np.eye(3) - np.outer(n, n)) / away
        self.depth = self.radius + self.size - away
        t.n[:], t.turn[:] = n, self.R0 @ R.T
        u = centre - self.before
        penalty.measure(self.law, H, self.depth, STIFFNESS, MU, u, self.radius, t)
        material = u + self.radius * (t.turn @ n - n)
        self.slip, self.along = material - n * (n @ material), n @ material
        return t

    def energy(self, dx=HERE):
        """Of the normal force and of conservative friction."""
        t = self.at(dx)
        stored, rubbed = penalty.stored_energy(self.law, t), penalty.friction_energy(self.law, t)
        return np.array(stored + rubbed)

    def wrench(self, dx=HERE):
        """About the centre."""
        out = np.full(6, np.nan)
        penalty.wrench_of(self.law, self.at(dx), out)
        return out

    def derivative(self, function, *more):
        """What a kernel says."""
        D = np.full((6, 6), np.nan)
        function(self.law, self.at(), *more, D)
        return D


def assert_near(found, expected):
    """Within the error of central differences."""
    assert found == pytest.approx(expected, abs=DIFFERENCE * np.abs(expected).max())


@every_law
@every_scene
def test_sizes_and_energies_in_closed_form(exponents, radius, bent):
    """C d^(a + 1) / (a + 1), and C_par |u_t|^(b + 1) d^(g + 1) of the material point's slip."""
    contact = Contact(exponents, radius, bent)
    (alpha, beta, gamma, _), t = exponents, contact.at()
    d, speed = contact.depth, np.linalg.norm(contact.slip)
    p, stored = STIFFNESS * d**alpha, STIFFNESS * d ** (alpha + 1.0) / (alpha + 1.0)
    rubbed = contact.C * speed ** (beta + 1.0) * d ** (gamma + 1.0)
    assert t.slip == pytest.approx(contact.slip)
    q = (beta + 1.0) * rubbed / speed**2
    sizes = [d, radius, contact.along, p, q, alpha * p / d, speed, float(bent)]
    assert t.sizes == pytest.approx(sizes)
    assert penalty.stored_energy(contact.law, t) == pytest.approx(stored)
    assert penalty.friction_energy(contact.law, t) == pytest.approx(rubbed)


@every_law
@every_scene
def test_conservative_wrench_is_minus_the_gradient_of_the_energy(exponents, radius, bent):
    """And its derivative is the difference of that wrench."""
    contact = Contact(exponents, radius, bent)
    assert_near(contact.wrench(), -central_differences(contact.energy, 6, STEP))
    found = contact.derivative(penalty.conservative_derivative)
    assert_near(found, central_differences(contact.wrench, 6, STEP))


@every_law
@every_scene
def test_frictional_wrench_acts_where_the_sphere_touches(exponents, radius, bent):
    """P n - q u_t there, and the derivative of that wrench about the centre."""
    contact = Contact(exponents, radius, bent, penalty.FRICTIONAL)
    wrench = contact.wrench()
    force = contact.touch.sizes[3] * contact.n - contact.touch.sizes[4] * contact.slip
    assert wrench[:3] == pytest.approx(force)
    assert wrench[3:] == pytest.approx(np.cross(-radius * contact.n, force))
    found = contact.derivative(penalty.frictional_derivative, wrench)
    assert_near(found, central_differences(contact.wrench, 6, STEP))


@every_law
@every_scene
def test_gauss_newton_is_the_square_of_the_derivatives(exponents, radius, bent):
    """Of sqrt(C_par d^(g + 1)) |u_t|^((b - 1) / 2) u_t, and the slope of p along the normal."""
    contact = Contact(exponents, radius, bent)
    alpha, beta, gamma, _ = exponents

    def vector(dx):
        contact.at(dx)
        speed = np.linalg.norm(contact.slip)
        size = np.sqrt(contact.C * contact.depth ** (gamma + 1.0) * speed ** (beta - 1.0))
        return size * contact.slip

    y = central_differences(vector, 6, STEP)
    expected = 2.0 * y.T @ y
    contact.at()
    slope = alpha * STIFFNESS * contact.depth ** (alpha - 1.0)
    expected[:3, :3] += slope * np.outer(contact.n, contact.n)
    assert_near(contact.derivative(penalty.gauss_newton), expected)


@pytest.mark.parametrize("kind", [penalty.FRICTIONAL, penalty.CONSERVATIVE])
def test_a_contact_that_has_not_slid_is_only_pushed(kind):
    """Its derivatives are finite for exponents of the slip above one."""
    contact = Contact(LAWS["other exponents"], 0.0, False, kind)
    contact.before = contact.centre.copy()
    wrench = contact.wrench()
    assert wrench == pytest.approx(np.append(contact.touch.sizes[3] * contact.n, np.zeros(3)))
    expected = np.zeros((6, 6))
    expected[:3, :3] = -contact.touch.sizes[5] * np.outer(contact.n, contact.n)
    if kind == penalty.FRICTIONAL:
        found = contact.derivative(penalty.frictional_derivative, wrench)
    else:
        found = contact.derivative(penalty.conservative_derivative)
    assert found == pytest.approx(expected)
